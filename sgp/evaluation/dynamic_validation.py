"""Dynamic coverage validation: coverage on generated problems of growing size, for as long as it tells something.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 2, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import mean

from sgp.errors import ConfigurationError
from sgp.evaluation.parallel import run_all
from sgp.evaluation.scaling import Evaluated, Source
from sgp.planning.planner import Limit
from sgp.workers import Jobs, workers

VALIDATION_SEED = 2**32  # no seed of an evaluation can be it


@dataclass(frozen=True)
class DynamicConfig:
    """How many problems a size has, and which coverage ends the validation (dynamic validation, appendix A).

    Raises ConfigurationError for values that cannot be.
    """

    problems: int = 10  # m
    threshold: float = 0.3  # tau

    def __post_init__(self) -> None:
        if self.problems < 1:
            raise ConfigurationError(f"problems is {self.problems}; expected at least 1")
        if not 0 < self.threshold < 1:
            raise ConfigurationError(f"threshold is {self.threshold}; expected a number between 0 and 1")


def dynamic_coverage(
    planner: Evaluated, source: Source, after: int, bound: int, config: DynamicConfig, jobs: Jobs = 1
) -> Mapping[int, float]:
    """Coverage by size, from the first size above `after` to the first at which it is at most the threshold.

    Their sum is the score of the planner. Each planner sees the same problems; a plan has at most `bound` actions.
    Sizes without problems are skipped; where a domain has no larger ones, the validation ends. A size
    for each worker is tried at a time, so that some beyond the last are in vain; the result does not depend on it.
    """
    coverage: dict[int, float] = {}
    sizes = source.domain.scaled.above(after)
    while batch := list(islice(sizes, workers(jobs).slots)):
        problems = [[source.problem(size, number) for number in range(1, config.problems + 1)] for size in batch]
        works = [
            planner.work(tuple({each.sha256: each for each in found}.values()), Limit(bound)) for found in problems
        ]
        tried = run_all(works, planner.load, jobs, f"dynamic validation, {source.domain.name}, {batch[0]} objects")
        for size, found, attempts in zip(batch, problems, tried, strict=True):
            solved = {each.sha256: each.solved for each in attempts}
            coverage[size] = mean(solved[each.sha256] for each in found)
            if coverage[size] <= config.threshold:
                return coverage
    return coverage
