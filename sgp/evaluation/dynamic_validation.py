"""Dynamic coverage validation: coverage on generated problems of growing size, until it falls to a threshold.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 2, algorithm 2, which tries every size above training (`PAPER_CONFIG`). Ours, `LARGER_SIZES`, tries a few sizes
up to several times the largest training problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean

from sgp.errors import ConfigurationError
from sgp.evaluation.attempts import Attempt
from sgp.evaluation.parallel import run_all
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource
from sgp.planning.domain import Sizes
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.workers import Jobs, executor

VALIDATION_SEED = 2**32  # not a valid seed of an evaluation


@dataclass(frozen=True)
class DynamicConfig:
    """Number of problems of a size, and the coverage that ends the validation (dynamic validation, appendix A).

    Sizes are all above the largest training problem's, or with `multiples` the first one from each multiple of it on.
    `seconds` of CPU time limit a problem instead of the number of actions.
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

    def sizes(self, known: Sizes, after: int) -> Iterator[int]:
        """The sizes to try, ascending, if the largest training problem has `after` objects."""
        if not self.multiples:
            return known.above(after)
        sizes = (next(known.above(max(after, round(after * multiple) - 1)), None) for multiple in self.multiples)
        return iter(dict.fromkeys(size for size in sizes if size is not None))

    def limit(self, bound: int) -> Limit:
        """The limit of a problem whose plans may have `bound` actions."""
        return Limit(bound) if self.seconds is None else Limit(seconds=self.seconds, processor=True)


PAPER_CONFIG = DynamicConfig()
LARGER_SIZES = DynamicConfig(problems=4, multiples=(2, 3, 4, 5), seconds=10.0)


@dataclass(frozen=True)
class DynamicCoverage:
    """Coverage by size, and the mean number of actions of the plans found (0 if there is none)."""

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

    The sum of coverages is the score of the planner. All planners try the same problems; a plan has at most `bound`
    actions. Each worker tries one size at a time.
    """
    coverage: dict[int, float] = {}
    evaluated: list[Attempt] = []
    sizes = config.sizes(source.sizes, after)
    while batch := list(islice(sizes, executor(jobs).slots)):
        problems = [[source.problem(size, number) for number in range(1, config.problems + 1)] for size in batch]
        works = [
            planner.work(tuple({each.sha256: each for each in drawn}.values()), config.limit(bound))
            for drawn in problems
        ]
        title = f"dynamic validation, {source.domain.name}, {batch[0]} objects"
        for size, drawn, attempts in zip(batch, problems, run_all(works, planner.load, jobs, title), strict=True):
            solved = {attempt.sha256: attempt.solved for attempt in attempts}
            coverage[size] = mean(solved[problem.sha256] for problem in drawn)
            evaluated += attempts
            if coverage[size] <= config.threshold:
                return _result(coverage, evaluated)
    return _result(coverage, evaluated)


def coverage_of_given(
    planner: EvaluatedPlanner, problems: Sequence[Problem], bound: int, config: DynamicConfig, jobs: Jobs = 1
) -> DynamicCoverage:
    """Coverage by size on given problems, if none can be generated."""
    work = planner.work(tuple(problems), config.limit(bound))
    (attempts,) = run_all([work], planner.load, jobs, "validation on given problems")
    sizes = sorted({attempt.size for attempt in attempts})
    return _result({size: mean(each.solved for each in attempts if each.size == size) for size in sizes}, attempts)


def _result(coverage: Mapping[int, float], attempts: Sequence[Attempt]) -> DynamicCoverage:
    lengths = [len(attempt.plan) for attempt in attempts if attempt.solved]
    return DynamicCoverage(coverage, mean(lengths) if lengths else 0.0)
