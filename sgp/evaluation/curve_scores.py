"""Scaling curves as scores, with properties of the plans over size (dynamic validation, section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean

import numpy as np

from sgp.errors import ConfigurationError
from sgp.evaluation.attempts import Attempt
from sgp.evaluation.metrics import StopReason
from sgp.evaluation.scaling import Curve, CurvePoint, ProblemSource
from sgp.evaluation.scores import Measurement, Score
from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory

OWN_METRICS = ("scale", "sumcov", *(each.metric for each in StopReason), "coverage", "fits", "with_plan", "unsolvable")


@dataclass(frozen=True)
class Sample:
    """One problem of a curve and its attempt, the argument of a property."""

    attempt: Attempt
    size: int
    bound: int
    source: ProblemSource

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found within the bound."""
        return self.attempt.solved

    @cached_property
    def problem(self) -> Problem:
        """The problem, generated again."""
        return self.source.again(self.attempt)

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The plan with its states; None if the problem was not solved."""
        plan = parse_plan("\n".join(self.attempt.plan))
        return Trajectory.of(Task(self.problem), plan) if self.solved else None


Property = Callable[[Sample], float | None]  # None: not defined for the sample, which is left out of the mean


def plan_length(sample: Sample) -> float | None:
    """Actions of the plan of a solved problem."""
    return len(sample.attempt.plan) if sample.solved else None


def plan_length_per_object(sample: Sample) -> float | None:
    """Actions of the plan of a solved problem, divided by its objects."""
    return len(sample.attempt.plan) / sample.size if sample.solved else None


def seconds(sample: Sample) -> float:
    """Seconds of the attempt, solved or not."""
    return sample.attempt.seconds


PROPERTIES: Mapping[str, Property] = {
    function.__name__: function for function in (plan_length, plan_length_per_object, seconds)
}


def samples(curve: Curve, point: CurvePoint) -> list[Sample]:
    """The samples of one size of a curve."""
    return [Sample(attempt, point.size, point.max_actions, curve.source) for attempt in point.attempts]


def property_values(curve: Curve, point: CurvePoint, name: str, property_: Property) -> list[float]:
    """The values of a property over the samples of one size that have it."""
    values = []
    for sample in samples(curve, point):
        value = property_(sample)
        if value is None:
            continue
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ConfigurationError(
                f"property '{name}' of {sample.attempt.problem} is {value!r}; expected a finite number, or None where "
                f"the problem does not have it"
            )
        values.append(float(value))
    return values


def curve_scores(
    curve: Curve, subject: Measurement, properties: Mapping[str, Property] | None = None
) -> Iterator[Score]:
    """The scores of a curve: `scale`, `sumcov` and `ended_X` (the stop reason, also in the note), then those by size.

    By size: `coverage`; `fits` and `with_plan` (see `CurvePoint`); `unsolvable`, a number of problems; and means of
    properties.
    """
    wanted = {**PROPERTIES, **(properties or {})}
    for name in wanted:
        if name in OWN_METRICS:
            raise ConfigurationError(f"property '{name}' has the name of a metric; choose another name")

    def score(metric: str, value: float, count: int, size: int | None = None) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, count=count)

    count = sum(len(point.attempts) for point in curve.points)
    note = "; ".join(filter(None, (subject.note, curve.note)))
    for metric, value in (("scale", curve.scale), ("sumcov", curve.sumcov), (curve.stop_reason.metric, 1)):
        yield replace(score(metric, value, count), note=note)
    for point in curve.points:
        shares = {"coverage": point.coverage, "fits": point.within_bound, "with_plan": point.with_plan}
        for metric, share in shares.items():
            yield score(metric, share, len(point.attempts), point.size)
        if point.unsolvable:
            yield score("unsolvable", point.unsolvable, len(point.attempts) + point.unsolvable, point.size)
        for name, property_ in wanted.items():
            values = property_values(curve, point, name, property_)
            if values:
                yield score(name, mean(values), len(values), point.size)
