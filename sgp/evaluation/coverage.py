"""Attempts at problems, and the scores of many attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sgp.errors import StoreError
from sgp.evaluation.scores import Measurement, Score
from sgp.files import read_json
from sgp.memory import most_memory
from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.rollout import Outcome
from sgp.planning.validation import confirm

if TYPE_CHECKING:  # who reads scores needs no planning library
    from sgp.evaluation.keeping import Keeping
    from sgp.planning.planner import Limit, Planner
    from sgp.planning.task import Task


MEGABYTE = 10**6


@dataclass(frozen=True)
class Attempt:
    """One problem tried once: how it ended, and the plan, which VAL accepted where the outcome is SOLVED.

    `cost` is that of the plan where the problem has a metric, None where there is none or no plan.
    """

    problem: str
    sha256: str
    size: int
    outcome: Outcome
    plan: tuple[str, ...]
    decisions: int
    seconds: float
    reason: str = ""
    cost: float | None = None
    memory: int = 0  # bytes that the process had held at most by then, other problems' among them; 0: not measured

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found."""
        return self.outcome is Outcome.SOLVED

    def to_record(self) -> dict[str, Any]:
        """The attempt as JSON holds it."""
        return {**self.__dict__, "outcome": self.outcome.value, "plan": list(self.plan)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Attempt:
        """The attempt in a record. Raises KeyError, TypeError or ValueError for anything else."""
        plan = tuple(map(str, parse_plan("\n".join(record["plan"]))))
        return cls(**{**record, "outcome": Outcome(record["outcome"]), "plan": plan})


def kept_attempts(file: Path, only: Container[str] | None = None) -> list[Attempt]:
    """The attempts in a file of the store, those at the problems of these SHA-256 alone; none where it is missing.

    Raises StoreError for a damaged file.
    """
    if not file.is_file():
        return []
    try:
        return [Attempt.from_record(each) for each in read_json(file) if only is None or each["sha256"] in only]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no attempts ({error!r}); remove it, and they are made again") from error


def attempt(
    planner: Planner, problems: Sequence[Problem], limit: Limit, keeping: Keeping | None = None
) -> list[Attempt]:
    """Tries problems in lockstep and has every plan judged by VAL; `keeping` keeps the rollouts, else their plans do.

    A problem that cannot be read within the limit ends like one that cannot be solved within it; its size is told as 0.
    Where VAL fails, the reason of an attempt says who judged its plan, and why. Raises ValidationDisagreement where VAL
    rejects a plan that our simulator accepts.
    """
    from sgp.planning.clock import LimitReached
    from sgp.planning.planner import ENDINGS, read_task

    planner = replace(planner, keep="plan" if keeping is None else keeping.what)
    attempts: dict[int, Attempt] = {}
    read: list[int] = []  # places of the problems that were

    def tasks() -> Iterator[Task]:
        for place, problem in enumerate(problems):
            try:
                task = read_task(problem, limit)
            except (LimitReached, MemoryError) as error:
                reason = "the problem was not read within the limit"
                attempts[place] = Attempt(
                    problem=problem.name,
                    sha256=problem.sha256,
                    size=0,
                    outcome=ENDINGS[type(error)],
                    plan=(),
                    decisions=0,
                    seconds=limit.seconds or 0.0,
                    reason=reason,
                    memory=most_memory(),
                )
                continue
            read.append(place)
            yield task
            del task

    for number, rollout in planner.solve_each(tasks(), limit):
        place = read[number]
        verdict = confirm(rollout)
        if keeping is not None:
            keeping.keep(rollout)
        attempts[place] = Attempt(
            problem=rollout.task.name,
            sha256=rollout.task.problem.sha256,
            size=rollout.task.size,
            outcome=rollout.outcome,
            plan=tuple(map(str, rollout.plan)) if rollout.solved else (),
            decisions=len(rollout.steps),
            seconds=round(rollout.seconds, 6),
            reason="; ".join(filter(None, (rollout.reason, verdict.note))),
            cost=float(costs.of_plan(rollout.plan)) if rollout.solved and (costs := rollout.task.costs) else None,
            memory=most_memory(),
        )
    return [attempts[place] for place in sorted(attempts)]


def scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    expert_lengths: Mapping[str, int],
    likes: Mapping[str, str] | None = None,
    expert_costs: Mapping[str, float] = MappingProxyType({}),
) -> list[Score]:
    """The scores of a whole split, then of each size.

    Metrics: coverage; plan_length, the mean of solved problems; plan_cost, the mean of those with a metric;
    plan_length_ratio, the mean quotient of lengths by the expert's, where that is known and not 0 (`expert_lengths` by
    SHA-256), or of costs by the expert's where the problem has a metric (`expert_costs`); seconds and decisions, means
    over all problems; memory, the most that a process held, of the whole split; outcome_X, how many ended as X.
    `likes` names, by SHA-256, the problem that one equals up to renaming (`Suite.likes`); where it is None, problems
    are a sample, and coverage tells no number of distinct ones.
    """
    ratios = _ratios(attempts, expert_lengths, expert_costs)
    found = list(_scores(subject, attempts, None, ratios, likes))
    for size in sorted({each.size for each in attempts}):
        found += _scores(subject, [each for each in attempts if each.size == size], size, ratios, likes)
    return found


def _ratios(attempts: Sequence[Attempt], lengths: Mapping[str, int], costs: Mapping[str, float]) -> dict[str, float]:
    """The quotients of plans by the expert's, of costs where the problem has a metric, by SHA-256."""
    found = {}
    for each in attempts:
        by_cost = each.cost is not None or each.sha256 in costs
        own, theirs = (each.cost, costs.get(each.sha256)) if by_cost else (len(each.plan), lengths.get(each.sha256))
        if each.solved and own is not None and theirs:
            found[each.sha256] = own / theirs
    return found


def _scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    size: int | None,
    by_experts: Mapping[str, float],
    likes: Mapping[str, str] | None,
) -> Iterable[Score]:
    def score(metric: str, value: float, count: int) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, count=count)

    count = len(attempts)
    distinct = None if likes is None else len({likes.get(each.sha256, each.problem) for each in attempts})
    solved = [each for each in attempts if each.solved]
    yield replace(score("coverage", len(solved) / count, count), distinct=distinct)
    if solved:
        yield score("plan_length", sum(len(each.plan) for each in solved) / len(solved), len(solved))
    costs = [each.cost for each in solved if each.cost is not None]
    if costs:
        yield score("plan_cost", sum(costs) / len(costs), len(costs))
    ratios = [by_experts[each.sha256] for each in solved if each.sha256 in by_experts]
    if ratios:
        yield score("plan_length_ratio", sum(ratios) / len(ratios), len(ratios))
    yield score("seconds", sum(each.seconds for each in attempts) / count, count)
    memory = max(each.memory for each in attempts)
    if memory and size is None:
        yield score("memory", round(memory / MEGABYTE), count)
    yield score("decisions", sum(each.decisions for each in attempts) / count, count)
    for outcome, times in sorted(Counter(each.outcome for each in attempts).items()):
        yield score(f"outcome_{outcome.value}", times, count)
