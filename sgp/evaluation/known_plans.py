"""What is known of problems that a planner did not solve: the shortest plan of anyone, or a proof that there is none.

A bound on plan length bounds the coverage of every planner: no more can be solved than have a plan so short. What is
known gives a lower end of that share: plans that the store keeps, of every planner and bound, and those that Fast
Downward finds when it is asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sgp.datasets.experts import cached_plans, expert_plans, is_cached, plans_of
from sgp.datasets.store import home
from sgp.datasets.suite import Suite
from sgp.errors import ConfigurationError, UnsolvableProblem, ValidationDisagreement, expected_one_of
from sgp.evaluation.attempts import Attempt, saved_attempts
from sgp.planning.experts import OPTIMAL, ExpertPlan, Stage
from sgp.planning.pddl import Problem
from sgp.planning.rollout import Outcome
from sgp.planning.task import check
from sgp.planning.validation import validate

Again = Callable[[Attempt], Problem]  # generates the problem of an attempt anew


@dataclass(frozen=True)
class Reference:
    """How Fast Downward is asked: about at most so many problems, for so many seconds a search, `jobs` at a time.

    Nothing that would take time is asked after `until`, by `time.monotonic`. `solvable` says that every problem is to
    have a plan; `title` names the work in the progress bar.
    """

    most: int
    seconds: float
    jobs: int
    until: float
    solvable: bool
    title: str

    def ask(self, problems: Sequence[Problem], stage: Stage) -> tuple[dict[str, ExpertPlan], set[str]]:
        """What a search found, by SHA-256, and the problems that it proved to be unsolvable.

        Raises UnsolvableProblem where there is to be none, ToolError where Fast Downward fails, StoreError where the
        cache is damaged.
        """
        plans, errors = plans_of(problems, (stage,), self.jobs, f"{self.title}, {stage.name}")
        names = {problem.sha256: problem.name for problem in problems}
        for sha256, error in errors.items():
            if not isinstance(error, UnsolvableProblem):
                raise error
            if self.solvable:
                raise UnsolvableProblem(
                    f"{names[sha256]} is proven to have no plan, and its domain promises one; mend the generator, or "
                    f"say solvable=False in the domain's file"
                ) from error
        return plans, set(errors)


def shortest_known(
    unsolved: Sequence[Attempt], again: Again, size: int, bound: int, reference: Reference
) -> dict[str, int] | None:
    """Actions of the shortest known plan of problems that a planner did not solve, by SHA-256, of those with one.

    The first of them, as many as the reference takes, are given to LAMA where no known plan is within `bound`: for its
    first plan, then, where that is too long, for its best one, which the time limit decides: machines may differ, but
    what was found is kept. None where asking would begin too late.
    Raises ValidationDisagreement where VAL rejects a plan, StoreError where the store is damaged, and what
    `Reference.ask` raises.
    """
    first = {each.sha256: each for each in unsolved}
    known = _of_planners(first, size)

    def open_(attempts: Sequence[Attempt]) -> list[Attempt]:
        return [each for each in attempts if known.get(each.sha256, math.inf) > bound]

    def learn(attempt: Attempt, plan: ExpertPlan) -> None:
        if plan.plan is not None and len(plan.plan) < known.get(attempt.sha256, math.inf):
            if not validate(again(attempt), plan.plan).valid:
                raise ValidationDisagreement(f"VAL rejects the plan of {plan.planner} for {attempt.problem}")
            known[attempt.sha256] = len(plan.plan)

    for attempt in open_(list(first.values())):
        for plan in cached_plans(attempt.sha256):
            learn(attempt, plan)
    for stage in [Stage(alias, reference.seconds, alias=alias) for alias in ("lama-first", "lama")]:
        asked = open_(list(first.values())[: reference.most])
        if time.monotonic() >= reference.until and not all(is_cached(each.sha256, (stage,)) for each in asked):
            return None
        plans, _ = reference.ask([again(each) for each in asked], stage)
        for sha256, plan in plans.items():
            learn(first[sha256], plan)
    return known


def _of_planners(wanted: dict[str, Attempt], size: int) -> dict[str, int]:
    """Actions of the shortest plans among all attempts of a size in the store, by SHA-256; VAL accepted them."""
    known: dict[str, int] = {}
    for file in (home() / "scaling").glob(f"*/{size}.json") if wanted else ():
        for each in saved_attempts(file, wanted):
            if each.solved:
                known[each.sha256] = min(len(each.plan), known.get(each.sha256, len(each.plan)))
    return known


def proven_unsolvable(unsolved: Sequence[Attempt], again: Again, reference: Reference) -> set[str]:
    """The problems, by SHA-256, that A* proves to have no plan; none where all are to have one.

    Raises ToolError where Fast Downward fails, StoreError where the cache is damaged.
    """
    if reference.solvable:
        return set()
    problems = {each.sha256: again(each) for each in unsolved}
    return reference.ask(list(problems.values()), replace(OPTIMAL, seconds=reference.seconds))[1]


FAST_DOWNWARD = "fast-downward"
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
