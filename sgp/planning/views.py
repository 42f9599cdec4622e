"""What a model sees of a decision: the vectors of its embedding, and what sets two candidates apart in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.planning.rollout import Step
from sgp.planning.task import Task

Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class View:
    """The vectors of one step: of its state [D], the predicted one [D], and its candidates' [n, D].

    State and prediction are None where transitions are embedded and no single point is predicted.
    """

    state: Vector | None
    predicted: Vector | None
    candidates: Vector


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two candidates of a step, feature by feature: their values [D], and what each feature adds to the difference.

    `shares` [D] add up to the first candidate's `measure` less the second's: below 0 speaks for the first. `words`
    says in words what the features of some columns are.
    """

    measure: str  # "cost", or "squared distance"
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    shares: NDArray[np.float64]
    words: Callable[[Sequence[int]], list[str]]


@runtime_checkable
class Embedding(Protocol):
    """A policy whose costs come from an embedding. Policies without one (a random choice) have none of this."""

    @property
    def embeds(self) -> Literal["states", "transitions"]:
        """What has a vector."""

    def vectors(self, task: Task, steps: Sequence[Step]) -> Vector:
        """The vectors [n, D] of the steps' states, or of the transitions to all of their candidates."""
        ...

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """The vectors of the steps of one path from the initial state, in order."""
        ...

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """What sets two candidates of a step apart; `view` is the step's."""
        ...
