"""Dynamic coverage validation: coverage on generated problems of growing size, for as long as it tells something.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 2, algorithm 2, which tries every size above training (`PAPER_CONFIG`). Ours, `LARGER_SIZES`, tries a few sizes
up to several times the largest training problem, where planners that solve all problems of training's sizes differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from statistics import mean

from sgp.errors import ConfigurationError
from sgp.evaluation.attempts import Attempt
from sgp.evaluation.parallel import run_all
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource
from sgp.planning.domain import Sizes
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.workers import Jobs, executor

VALIDATION_SEED = 2**32  # no seed of an evaluation can be it


@dataclass(frozen=True)
class DynamicConfig:
    """How many problems a size has, and which coverage ends the validation (dynamic validation, appendix A).

    Sizes are all those above the largest training problem's, or the first ones from each of its `multiples` on.
    `seconds` of the processor bound a problem instead of the number of actions. Raises ConfigurationError for values
    that cannot be.
    """

    problems: int = 10  # m
    threshold: float = 0.3  # tau
    multiples: tuple[float, ...] = ()
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.problems < 1:
            raise ConfigurationError(f"problems is {self.problems}; expected at least 1")
        if not 0 < self.threshold < 1:
            raise ConfigurationError(f"threshold is {self.threshold}; expected a number between 0 and 1")
        if list(self.multiples) != sorted(self.multiples) or min(self.multiples, default=2) <= 1:
            raise ConfigurationError(f"multiples are {self.multiples}; expected numbers above 1 that grow")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigurationError(f"seconds is {self.seconds}; expected a positive number")

    def sizes(self, there: Sizes, after: int) -> Iterator[int]:
        """Those of the sizes to try where the largest training problem has `after` objects, the smallest first."""
        if not self.multiples:
            return there.above(after)
        found = (next(there.above(max(after, round(after * multiple) - 1)), None) for multiple in self.multiples)
        return iter(dict.fromkeys(size for size in found if size is not None))

    def limit(self, bound: int) -> Limit:
        """When a problem is given up whose plans may have so many actions.

        Raises ConfigurationError for a number that is not positive.
        """
        return Limit(bound) if self.seconds is None else Limit(seconds=self.seconds, processor=True)


PAPER_CONFIG = DynamicConfig()
LARGER_SIZES = DynamicConfig(problems=4, multiples=(2, 3, 4, 5), seconds=10.0)


@dataclass(frozen=True)
class DynamicCoverage:
    """Coverage by size, and the mean number of actions of the plans that were found (0 where none was)."""

    sizes: Mapping[int, float]
    actions: float = 0.0


def dynamic_coverage(
    planner: EvaluatedPlanner,
    source: ProblemSource,
    after: int,
    bound: int,
    config: DynamicConfig = PAPER_CONFIG,
    jobs: Jobs = 1,
) -> DynamicCoverage:
    """Coverage from the first size above `after` to the first at which it is at most the threshold.

    Their sum is the score of the planner. Each planner sees the same problems; a plan has at most `bound` actions.
    Sizes without problems are skipped; where a domain has no larger ones, the validation ends. A size
    for each worker is tried at a time, so that some beyond the last are in vain; the result does not depend on it.
    """
    coverage: dict[int, float] = {}
    lengths: list[int] = []
    sizes = config.sizes(source.sizes, after)
    while batch := list(islice(sizes, executor(jobs).slots)):
        problems = [[source.problem(size, number) for number in range(1, config.problems + 1)] for size in batch]
        works = [
            planner.work(tuple({each.sha256: each for each in found}.values()), config.limit(bound))
            for found in problems
        ]
        tried = run_all(works, planner.load, jobs, f"dynamic validation, {source.domain.name}, {batch[0]} objects")
        for size, found, attempts in zip(batch, problems, tried, strict=True):
            solved = {each.sha256: each.solved for each in attempts}
            coverage[size] = mean(solved[each.sha256] for each in found)
            lengths += _lengths(attempts)
            if coverage[size] <= config.threshold:
                return DynamicCoverage(coverage, _mean(lengths))
    return DynamicCoverage(coverage, _mean(lengths))


def coverage_of_given(
    planner: EvaluatedPlanner, problems: Sequence[Problem], bound: int, config: DynamicConfig, jobs: Jobs = 1
) -> DynamicCoverage:
    """Coverage by size on given problems, where none can be generated."""
    (attempts,) = run_all(
        [planner.work(tuple(problems), config.limit(bound))], planner.load, jobs, "validation on given problems"
    )
    by_size = sorted(attempts, key=lambda each: each.size)
    coverage = {
        size: mean(each.solved for each in found) for size, found in groupby(by_size, key=lambda each: each.size)
    }
    return DynamicCoverage(coverage, _mean(_lengths(attempts)))


def _lengths(attempts: Sequence[Attempt]) -> list[int]:
    return [len(each.plan) for each in attempts if each.solved]


def _mean(lengths: Sequence[int]) -> float:
    return mean(lengths) if lengths else 0.0
