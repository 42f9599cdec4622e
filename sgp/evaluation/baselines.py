"""Classical planners as rows of the same tables; their results are kept, never made by the demo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgp.datasets.experts import expert_plans
from sgp.datasets.suite import Suite
from sgp.errors import ConfigurationError, ValidationDisagreement, expected_one_of
from sgp.evaluation.coverage import Attempt
from sgp.planning.experts import OPTIMAL, Stage
from sgp.planning.rollout import Outcome
from sgp.planning.task import check
from sgp.planning.validation import validate

METHOD = "fast-downward"
BASELINES: Mapping[str, Sequence[Stage]] = {
    "astar-lmcut": (OPTIMAL,),  # state-centric, Table 1, column FD
    "lama-first": (Stage("lama-first", 60.0, alias="lama-first"),),
}


def baseline_attempts(suite: Suite, domain: str, split: str, variant: str, jobs: int = 1) -> list[Attempt]:
    """A classical planner's attempts at a split, made where they are not kept; VAL judges every plan.

    Seconds are those of the whole planner, its translation included. Raises ConfigurationError for an unknown variant.
    """
    if variant not in BASELINES:
        raise ConfigurationError(f"unknown baseline '{variant}'; {expected_one_of(BASELINES, variant)}")
    plans = expert_plans(suite, domain, split, BASELINES[variant], jobs, baseline=variant)
    attempts = []
    for problem in suite.problems(domain, split):
        kept = plans[problem.sha256]
        if kept.plan is not None and not validate(problem, kept.plan).valid:
            raise ValidationDisagreement(f"VAL rejects the plan of Fast Downward ({variant}) for {problem.name}")
        plan = tuple(map(str, kept.plan or ()))
        outcome = Outcome.TIMEOUT if kept.plan is None else Outcome.SOLVED
        attempts.append(Attempt(problem.name, problem.sha256, check(problem), outcome, plan, len(plan), kept.seconds))
    return attempts
