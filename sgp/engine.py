"""sgp as an engine of unified-planning: `OneshotPlanner(name="sgp", params={"run": FOLDER})`.

The library finds engines of other packages by the lines of `up.ini`, or once they are registered:
`sgp.engine.register()`. It has no entry points. Its operation modes have none for few-shot planning either, so that the
problems to learn from are a parameter: `OneshotPlanner(name="sgp", params={"problems": [...]})`.

Nothing imports this module but unified-planning; the package is imported when it plans.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any
from warnings import warn

from unified_planning.engines import Credits, Engine, PlanGenerationResult
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.mixins import OneshotPlannerMixin
from unified_planning.engines.results import LogLevel, LogMessage
from unified_planning.environment import Environment, get_environment
from unified_planning.exceptions import UPException
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, ProblemKind, State
from unified_planning.model import Problem as UnifiedProblem
from unified_planning.model.problem_kind_versioning import LATEST_PROBLEM_KIND_VERSION
from unified_planning.plans import ActionInstance, Plan, SequentialPlan

import sgp
from sgp.datasets.runs import Run, open_run
from sgp.errors import DomainMismatch, InputError, PddlError, PlanError, SuiteError, ToolError, ValidationDisagreement
from sgp.planning.pddl import parse_plan

if TYPE_CHECKING:
    from pathlib import Path

    from sgp.planning.pddl import Action, Problem
    from sgp.planning.rollout import Rollout
    from sgp.planning.task import Task

NAME = "sgp"

FEATURES = (
    "ACTION_BASED",
    "FLAT_TYPING",
    "HIERARCHICAL_TYPING",
    "NEGATIVE_CONDITIONS",
    "EQUALITIES",
    # Compiled away. Quantifiers that cannot be lifted are read, and refused where a run is to be trained or to fit.
    "DISJUNCTIVE_CONDITIONS",
    "CONDITIONAL_EFFECTS",
    "EXISTENTIAL_CONDITIONS",
    "UNIVERSAL_CONDITIONS",
    "FORALL_EFFECTS",
    # Costs are read and not minimised: any plan satisfies, none is called optimal.
    "ACTIONS_COST",
    "INT_NUMBERS_IN_ACTIONS_COST",
    "REAL_NUMBERS_IN_ACTIONS_COST",
    "STATIC_FLUENTS_IN_ACTIONS_COST",
    "PLAN_LENGTH",
)
"""What of a problem is read today, in the words of unified-planning."""

CREDITS = Credits(
    "sgp",
    "The sgp developers",
    "",
    "",
    "GPL-3.0-or-later",
    "Learned generalized planning.",
    "Plans by a policy that was learned from a few small problems of the domain.",
)


def register(environment: Environment | None = None) -> None:
    """Makes the engine known to an environment of unified-planning, the global one where none is given."""
    factory = (environment or get_environment()).factory
    if NAME not in factory.engines:
        factory.add_engine(NAME, __name__, SgpEngine.__name__)


class SgpEngine(Engine, OneshotPlannerMixin):  # type: ignore[misc]  # unified-planning has no types
    """Plans by a trained run, which stays loaded from one problem to the next.

    The run is the one in the folder `run`, or one trained on `problems` of the library (few-shot planning; `plans` has
    a plan or None for each) with the parameters of `sgp.api.train_given` in `learning`, or else the one that
    `sgp.run_for` finds for each problem. `decoding` is the way to plan, `memory` the most bytes of this process. Raises
    what `sgp.api.train_given` and `sgp.load_planner` raise, and InputError for both `run` and `problems`.
    """

    def __init__(
        self,
        run: Path | str | None = None,
        problems: Sequence[UnifiedProblem] = (),
        plans: Sequence[Plan | None] | None = None,
        decoding: str = "default",
        memory: int | None = None,
        **learning: Any,
    ):
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        if (run is not None and problems) or (learning and not problems):
            unused = (
                "'run' and 'problems' are both" if problems else f"{', '.join(sorted(learning))} without 'problems'"
            )
            raise InputError(f"{unused} given to the engine; expected a trained run, or problems to learn from and how")
        self._memory = memory
        self._decoding = decoding
        self._run: Run | None = None
        if problems:
            self._run = _learned(problems, plans, learning)
        elif run is not None:
            self._run = open_run(run)
        if self._run is not None:
            sgp.load_planner(self._run.folder, decoding)

    @property
    def name(self) -> str:
        """What the library calls the engine."""
        return NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        """What problems may have."""
        return ProblemKind(set(FEATURES), version=LATEST_PROBLEM_KIND_VERSION)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Whether problems of a kind are read; whether a run fits one shows when it is solved."""
        return bool(problem_kind <= SgpEngine.supported_kind())

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        """Whose engine this is."""
        return CREDITS

    def _solve(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[State], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        return self._solve_with_params(problem, heuristic, timeout, output_stream)

    def _solve_with_params(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[State], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Plan | None = None,
        **_: Any,
    ) -> PlanGenerationResult:
        if heuristic is not None:
            warn("sgp plans by a learned policy and ignores the heuristic", stacklevel=2)
        attempt = _Attempt(problem, timeout, self._memory, time.perf_counter())
        result = attempt.made(self._run, self._decoding, warm_start_plan)
        if output_stream is not None:
            output_stream.writelines(f"{message}\n" for message in result.log_messages)
        return result


class _Attempt:
    """One problem of the library on its way through PDDL and back."""

    def __init__(self, problem: AbstractProblem, timeout: float | None, memory: int | None, started: float):
        self.problem, self.timeout, self.memory, self.started = problem, timeout, memory, started

    def made(self, run: Run | None, decoding: str, start: Plan | None) -> PlanGenerationResult:
        """The result. Raises what the run's files and Fast Downward's absence raise, never for a problem."""
        if type(self.problem) is not UnifiedProblem:
            kind = type(self.problem).__name__
            return self._result(Status.UNSUPPORTED_PROBLEM, f"problem is a {kind}; expected one of actions alone")
        try:
            writer = PDDLWriter(self.problem, empty_preconditions=True)
            problem = _written(self.problem, writer)
            tasks = [sgp.Task(each) for each in problem.alternatives()]
            run = run or sgp.run_for(problem)
            tasks[0].require_domain(run.domain_text)
        except (UPException, NotImplementedError, PddlError, DomainMismatch) as error:
            return self._result(Status.UNSUPPORTED_PROBLEM, str(error))
        if isinstance(start, SequentialPlan) and (held := _holds(tasks, writer.get_plan(start))) is not None:
            return self._result(Status.SOLVED_SATISFICING, "the plan to start from holds", _plan(held, self, writer))
        seconds = None if self.timeout is None else self.timeout - (time.perf_counter() - self.started)
        if seconds is not None and seconds <= 0:
            return self._result(Status.TIMEOUT, f"reading the problem took more than {self.timeout} s")
        rollouts = sgp.load_planner(run.folder, decoding).solve_many(
            tasks, sgp.Limit(seconds=seconds, memory=self.memory)
        )
        rollout = next((each for each in rollouts if each.solved), rollouts[0])
        from sgp.planning.validation import confirm

        try:
            verdict = confirm(rollout)
        except (ToolError, ValidationDisagreement) as error:
            return self._result(Status.INTERNAL_ERROR, str(error))
        plan = _plan(rollout.plan, self, writer) if verdict.valid else None
        said = ": ".join(filter(None, (rollout.outcome.value, rollout.reason, verdict.note)))
        return self._result(_status(rollout, run, decoding), f"{said}, {len(rollout.plan)} actions", plan)

    def _result(self, status: Status, words: str, plan: SequentialPlan | None = None) -> PlanGenerationResult:
        level = LogLevel.INFO if plan is not None else LogLevel.WARNING
        seconds = time.perf_counter() - self.started
        return PlanGenerationResult(
            status,
            plan,
            engine_name=NAME,
            metrics={"engine_internal_time": str(seconds)},
            log_messages=[LogMessage(level, words)],
        )


def _learned(problems: Sequence[UnifiedProblem], plans: Sequence[Plan | None] | None, learning: dict[str, Any]) -> Run:
    """A run trained on problems of the library."""
    writers = [PDDLWriter(problem, empty_preconditions=True) for problem in problems]
    texts = [_written(problem, writer) for problem, writer in zip(problems, writers, strict=True)]
    shown = None
    if plans is not None:
        if len(plans) != len(problems):
            raise SuiteError(f"{len(plans)} plans are given for {len(problems)} problems; expected as many")
        shown = [None if plan is None else one.get_plan(plan) for one, plan in zip(writers, plans, strict=True)]
    from sgp.api import train_given

    run: Run = train_given(problems=texts, plans=shown, **{"method": "contrastive-jumps", **learning})
    return run


def _written(problem: AbstractProblem, writer: PDDLWriter) -> Problem:
    """A problem of the library as PDDL."""
    name = problem.name or "problem"
    domain, text = writer.get_domain(), writer.get_problem()  # in this order: names of the domain are taken first
    found: Problem = sgp.Problem(name, domain, text, f"domain of {name}", f"problem {name}")
    return found


def _holds(tasks: Sequence[Task], text: str) -> tuple[Action, ...] | None:
    """The actions of a plan that solves one of the tasks that a problem's goal leaves; None where it does not."""
    actions: tuple[Action, ...] = parse_plan(text)
    from sgp.planning.trajectory import Trajectory

    for task in tasks:
        with suppress(PlanError):
            Trajectory.of(task, actions)
            return actions
    return None


def _plan(actions: Sequence[Action], attempt: _Attempt, writer: PDDLWriter) -> SequentialPlan:
    """A plan of the library, its names mapped back."""
    environment = attempt.problem.environment
    reference, named = environment.expression_manager.ObjectExp, writer.get_item_named
    instances = [
        ActionInstance(named(action.name), tuple(reference(named(each)) for each in action.objects))
        for action in actions
    ]
    return SequentialPlan(instances, environment)


def _status(rollout: Rollout, run: Run, decoding: str) -> Status:
    """How a rollout ended in the library's words. A policy that finds no plan proves nothing."""
    outcome = sgp.Outcome
    if rollout.outcome is outcome.REFUSED:
        unread = sgp.load_planner(run.folder, decoding).policy.refuses(rollout.task) is not None
        return Status.UNSUPPORTED_PROBLEM if unread else Status.UNSOLVABLE_INCOMPLETELY
    return {
        outcome.SOLVED: Status.SOLVED_SATISFICING,
        outcome.HORIZON: Status.UNSOLVABLE_INCOMPLETELY,
        outcome.STUCK: Status.UNSOLVABLE_INCOMPLETELY,
        outcome.TIMEOUT: Status.TIMEOUT,
        outcome.MEMORY: Status.MEMOUT,
    }[rollout.outcome]
