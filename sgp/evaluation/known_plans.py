"""Shortest known plans and proofs of unsolvability of problems that a planner did not solve; classical baselines.

A bound on plan length limits the coverage of every planner to the share of problems with a plan so short. Known plans
give a lower bound of that share: those in the store, of every planner and bound, and those that Fast Downward finds.
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
from sgp.planning.task import checked
from sgp.planning.validation import validate

Again = Callable[[Attempt], Problem]  # generates the problem of an attempt again


@dataclass(frozen=True)
class Reference:
    """Searches of Fast Downward: for at most `most` problems, `seconds` a search, `jobs` at a time.

    No search starts after the time `until` (`time.monotonic`). `solvable`: every problem should have a plan.
    """

    most: int
    seconds: float
    jobs: int
    until: float
    solvable: bool
    title: str

    def search(self, problems: Sequence[Problem], stage: Stage) -> tuple[dict[str, ExpertPlan], set[str]]:
        """The plans found, by SHA-256, and the problems proven unsolvable."""
        plans, errors = plans_of(problems, (stage,), self.jobs, f"{self.title}, {stage.name}")
        names = {problem.sha256: problem.name for problem in problems}
        for sha256, error in errors.items():
            if not isinstance(error, UnsolvableProblem):
                raise error
            if self.solvable:
                raise UnsolvableProblem(
                    f"{names[sha256]} is proven to have no plan, but its domain promises one; mend the generator, or "
                    f"set solvable=False in the domain's file"
                ) from error
        return plans, set(errors)


def shortest_known(
    unsolved: Sequence[Attempt], again: Again, size: int, bound: int, reference: Reference
) -> dict[str, int] | None:
    """The length of the shortest known plan of each problem that a planner did not solve, by SHA-256.

    Problems without a known plan are absent. LAMA searches for plans of the first `reference.most` problems without a
    known plan within `bound`: its first plan and, if that is too long, its best one within the time limit. Plans are
    cached. None if a search would start too late.
    """
    first = {attempt.sha256: attempt for attempt in unsolved}
    known = _of_planners(first, size)

    def open_(attempts: Sequence[Attempt]) -> list[Attempt]:
        return [attempt for attempt in attempts if known.get(attempt.sha256, math.inf) > bound]

    def learn(attempt: Attempt, plan: ExpertPlan) -> None:
        if plan.plan is not None and len(plan.plan) < known.get(attempt.sha256, math.inf):
            if not validate(again(attempt), plan.plan).valid:
                raise ValidationDisagreement(f"VAL rejects the plan of {plan.planner} for {attempt.problem}")
            known[attempt.sha256] = len(plan.plan)

    for attempt in open_(list(first.values())):
        for plan in cached_plans(attempt.sha256):
            learn(attempt, plan)
    for stage in [Stage(alias, reference.seconds, alias=alias) for alias in ("lama-first", "lama")]:
        without = open_(list(first.values())[: reference.most])
        late = time.monotonic() >= reference.until
        if late and not all(is_cached(attempt.sha256, (stage,)) for attempt in without):
            return None
        plans, _ = reference.search([again(attempt) for attempt in without], stage)
        for sha256, plan in plans.items():
            learn(first[sha256], plan)
    return known


def _of_planners(wanted: dict[str, Attempt], size: int) -> dict[str, int]:
    """The lengths of the shortest plans among all attempts of a size in the store, by SHA-256."""
    known: dict[str, int] = {}
    for file in (home() / "scaling").glob(f"*/{size}.json") if wanted else ():
        for attempt in saved_attempts(file, wanted):
            if attempt.solved:
                length = len(attempt.plan)
                known[attempt.sha256] = min(length, known.get(attempt.sha256, length))
    return known


def proven_unsolvable(unsolved: Sequence[Attempt], again: Again, reference: Reference) -> set[str]:
    """The problems, by SHA-256, that A* proves unsolvable; not searched if all should have a plan."""
    if reference.solvable:
        return set()
    problems = {each.sha256: again(each) for each in unsolved}
    return reference.search(list(problems.values()), replace(OPTIMAL, seconds=reference.seconds))[1]


FAST_DOWNWARD = "fast-downward"
BASELINES: Mapping[str, Sequence[Stage]] = {
    "astar-lmcut": (OPTIMAL,),  # state-centric, Table 1, column FD
    "lama-first": (Stage("lama-first", 60.0, alias="lama-first"),),
}


def baseline_attempts(suite: Suite, domain: str, split: str, variant: str, jobs: int = 1) -> list[Attempt]:
    """A classical planner's attempts at a split, from the cache if possible; VAL validates every plan."""
    if variant not in BASELINES:
        raise ConfigurationError(f"unknown baseline '{variant}'; {expected_one_of(BASELINES, variant)}")
    plans = expert_plans(suite, domain, split, BASELINES[variant], jobs, baseline=variant)
    attempts = []
    for problem in suite.problems(domain, split):
        expert = plans[problem.sha256]
        if expert.plan is not None and not validate(problem, expert.plan).valid:
            raise ValidationDisagreement(f"VAL rejects the plan of Fast Downward ({variant}) for {problem.name}")
        plan = tuple(map(str, expert.plan or ()))
        outcome = Outcome.TIMEOUT if expert.plan is None else Outcome.SOLVED
        domain_text, text = checked(problem)
        size = len(domain_text.constants) + len(text.objects)
        attempts.append(Attempt(problem.name, problem.sha256, size, outcome, plan, len(plan), expert.seconds))
    return attempts
