"""Properties of trajectories over size: what beside coverage a scaling evaluation can tell.

Source: dynamic validation, section 4 ("Analyzing further properties"), where it is the length of plans.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgp.errors import ConfigurationError
from sgp.evaluation.coverage import Attempt
from sgp.evaluation.scaling import Curve, Measured, Source
from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory


@dataclass(frozen=True)
class Sample:
    """One problem of a scaling curve and what came of it, as a property sees it.

    `attempt` has the outcome, the plan (empty where there is none), decisions and seconds; `bound` is the most actions
    that a plan could have; `size` is the number of objects. Problem and trajectory are made when they are asked for.
    """

    attempt: Attempt
    size: int
    bound: int
    source: Source

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found within the bound."""
        return self.attempt.solved

    @cached_property
    def problem(self) -> Problem:
        """The problem, generated anew. Raises StoreError where the domain's generator makes another one today."""
        return self.source.again(self.attempt)

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The plan with the states along it, replayed; None where the problem was not solved.

        Raises StoreError where the domain's generator makes another problem today, and PddlError, PlanError or
        UnsupportedPddl for texts that cannot be used.
        """
        if not self.solved:
            return None
        return Trajectory.of(Task(self.problem), parse_plan("\n".join(self.attempt.plan)))


Property = Callable[[Sample], float | None]  # None: the sample does not have it, and is left out of the mean


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


def samples(curve: Curve, measured: Measured) -> list[Sample]:
    """The samples of one size of a curve."""
    return [Sample(each, measured.size, measured.bound, curve.source) for each in measured.attempts]


def property_values(curve: Curve, measured: Measured, name: str, property_: Property) -> list[float]:
    """A property of the samples of one size, of those that have it."""
    found = []
    for sample in samples(curve, measured):
        value = property_(sample)
        if value is None:
            continue
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ConfigurationError(
                f"property '{name}' of {sample.attempt.problem} is {value!r}; expected a finite number, or None where "
                f"the problem does not have it"
            )
        found.append(float(value))
    return found
