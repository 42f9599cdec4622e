"""Planners for those who think in scikit-learn: fit on problems, predict plans, score by coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

from sgp.api import DEFAULT_SEED, configured, train_given
from sgp.datasets.given_problems import Plan
from sgp.datasets.runs import Run
from sgp.errors import ConfigurationError, InputError
from sgp.methods import planning_method
from sgp.methods.configuration import configure_decoding
from sgp.methods.loading import planner_of
from sgp.planning.pddl import Action, Problem
from sgp.planning.planner import NO_LIMIT, Limit
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.planning.validation import confirm
from sgp.policies.decoding import DEFAULT

if TYPE_CHECKING:
    from sklearn.utils import Tags

_NESTED = "__"  # scikit-learn's mark of a parameter within another, "." in settings


class Estimator:
    """Any method that plans, by the conventions of scikit-learn, which it works with and does not need.

    `settings` override fields of the method's configuration of training, with "__" for the dots of
    `sgp train --set`: `Estimator("contrastive-jumps", loss__alpha=0.5)`. `decoding` is the way to plan, `limit` ends a
    rollout, `jobs` experts work at a time. After `fit`, `run_` is the run, which stands in the store like any other.
    Nothing is checked before `set_params` or `fit`.
    """

    def __init__(
        self,
        method: str = "contrastive-jumps",
        variant: str | None = None,
        decoding: str = DEFAULT,
        seed: int = DEFAULT_SEED,
        device: str = "auto",
        jobs: int = 1,
        limit: Limit = NO_LIMIT,
        **settings: Any,
    ):
        self.method, self.variant, self.decoding = method, variant, decoding
        self.seed, self.device, self.jobs, self.limit = seed, device, jobs, limit
        self.settings = settings

    def __repr__(self) -> str:
        defaults = _defaults()
        shown = {name: value for name, value in self.get_params().items() if value != defaults.get(name, self)}
        return f"Estimator({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, settings among them; `deep` changes nothing, there are no estimators within."""
        return {**{name: getattr(self, name) for name in _defaults()}, **self.settings}

    def set_params(self, **params: Any) -> Estimator:
        """This estimator with other parameters; nothing is changed where one is refused.

        Raises InputError for an unknown method and for one that does not plan, MissingLibrary for one whose library is
        not installed, ConfigurationError for an unknown variant, decoding or setting.
        """
        changed = Estimator(**{**self.get_params(), **params})
        changed._check()
        for name in _defaults():
            setattr(self, name, getattr(changed, name))
        self.settings = changed.settings
        return self

    def fit(self, problems: Sequence[Problem], plans: Sequence[Plan] | None = None) -> Estimator:
        """Trains on problems of one domain, with a plan of each, or with experts' plans.

        Raises InputError, MissingLibrary and ConfigurationError as `set_params` does, SuiteError for problems of
        several domains, PddlError and PlanError for texts
        that cannot be used, UnsolvableProblem for a problem without a plan, ToolError where Fast Downward fails,
        StoreError for a damaged file.
        """
        self._check()
        self.run_: Run = train_given(
            self.method, problems, plans, self.variant, self.seed, self.device, self.jobs, self._overrides
        )
        return self

    def rollouts(self, problems: Sequence[Problem]) -> list[Rollout]:
        """What happens on each problem, by batches.

        Raises InputError where nothing was fitted, MissingLibrary where the method needs one, DomainMismatch for a
        problem of another domain, PddlError for text
        that cannot be used, StoreError for a damaged run, ConfigurationError for an unknown decoding.
        """
        if not self.__sklearn_is_fitted__():
            raise InputError("this estimator was not fitted; call 'fit' with problems first")
        tasks = [Task(problem) for problem in problems]
        for task in tasks:
            task.require_domain(self.run_.domain_text)
        return planner_of(self.run_, self.decoding).solve_many(tasks, self.limit)

    def predict(self, problems: Sequence[Problem]) -> list[tuple[Action, ...] | None]:
        """A plan for each problem, None where none was found.

        Raises InputError, PddlError, MissingLibrary, StoreError and ConfigurationError as `rollouts` does.
        """
        return [rollout.plan if rollout.solved else None for rollout in self.rollouts(problems)]

    def score(self, problems: Sequence[Problem], plans: Any = None) -> float:
        """Coverage, the share of problems whose plan VAL accepts; `plans` is not looked at.

        Raises PddlError, MissingLibrary, StoreError and ConfigurationError as `rollouts` does, InputError without a
        problem, ToolError where VAL is missing, and
        ValidationDisagreement where it refuses a plan that our simulator accepts.
        """
        if not problems:
            raise InputError("no problem to score on is given; expected at least one")
        return sum(confirm(each).valid for each in self.rollouts(problems)) / len(problems)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags  # asked for by scikit-learn alone

        inputs = InputTags(two_d_array=False, dict=False, string=False)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=inputs)

    @property
    def _overrides(self) -> Mapping[str, str]:
        """The settings as `sgp train --set` takes them."""
        return {
            name.replace(_NESTED, "."): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in self.settings.items()
        }

    def _check(self) -> None:
        """Raises what `set_params` raises."""
        for name in ("method", "decoding"):
            if not isinstance(getattr(self, name), str):
                raise ConfigurationError(f"{name} is {getattr(self, name)!r}; expected a name")
        configured(self.method, self.variant, self._overrides)
        configure_decoding(planning_method(self.method), self.decoding)


def _defaults() -> dict[str, Any]:
    """The parameters that are no settings, with their defaults."""
    parameters = signature(Estimator.__init__).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}
