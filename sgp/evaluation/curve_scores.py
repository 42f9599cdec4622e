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
    """One problem of a curve and its attempt, as a property sees it.

    `bound` is the number of actions that a plan could have, `size` the number of objects. Problem and trajectory are
    computed when used.
    """

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
        """The problem, generated again. Raises StoreError where the domain's generator makes another one today."""
        return self.source.again(self.attempt)

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The plan with the states along it; None where the problem was not solved."""
        if not self.solved:
            return None
        return Trajectory.of(Task(self.problem), parse_plan("\n".join(self.attempt.plan)))


Property = Callable[[Sample], float | None]  # None: the sample does not have it and is left out of the mean


def plan_length(sample: Sample) -> float | None:
    """Actions of the plan; of solved problems."""
    return len(sample.attempt.plan) if sample.solved else None


def plan_length_per_object(sample: Sample) -> float | None:
    """Actions of the plan for each object; of solved problems."""
    return len(sample.attempt.plan) / sample.size if sample.solved else None


def seconds(sample: Sample) -> float:
    """Seconds of the attempt, failed ones too."""
    return sample.attempt.seconds


PROPERTIES: Mapping[str, Property] = {each.__name__: each for each in (plan_length, plan_length_per_object, seconds)}


def samples(curve: Curve, point: CurvePoint) -> list[Sample]:
    """The samples of one size of a curve."""
    return [Sample(attempt, point.size, point.bound, curve.source) for attempt in point.attempts]


def property_values(curve: Curve, point: CurvePoint, name: str, property_: Property) -> list[float]:
    """A property of the samples of one size, of those that have it."""
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

    By size: `coverage`; `fits`, a lower bound of the share of problems with a plan within the bound; `with_plan`, the
    share with any known plan; `unsolvable`, the number of problems left out because they have no plan; and the means of
    properties over the attempts that have them: plan_length, plan_length_per_object, seconds and further ones by name.
    Raises ConfigurationError for a property that has the name of a metric or gives no number.
    """
    wanted = {**PROPERTIES, **(properties or {})}
    for name in wanted:
        if name in OWN_METRICS:
            raise ConfigurationError(f"property '{name}' has the name of a metric; choose another name")

    def score(metric: str, value: float, count: int, size: int | None = None) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, count=count)

    count = sum(len(point.attempts) for point in curve.sizes)
    note = "; ".join(filter(None, (subject.note, curve.note)))
    for metric, value in (("scale", curve.scale), ("sumcov", curve.sumcov), (curve.stop_reason.metric, 1)):
        yield replace(score(metric, value, count), note=note)
    for point in curve.sizes:
        for metric in ("coverage", "fits", "with_plan"):
            yield score(metric, getattr(point, metric), len(point.attempts), point.size)
        if point.unsolvable:
            yield score("unsolvable", point.unsolvable, len(point.attempts) + point.unsolvable, point.size)
        for name, property_ in wanted.items():
            values = property_values(curve, point, name, property_)
            if values:
                yield score(name, mean(values), len(values), point.size)
