"""Interfaces of models with embeddings: for display, and transition models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Action
from sgp.planning.rollout import Step
from sgp.planning.states import State
from sgp.planning.task import Task

Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class View:
    """The vectors of one step: its state [D], the prediction [D], and its candidates [n, D].

    State and prediction are None if the model embeds transitions and predicts no single point.
    """

    state: Vector | None
    predicted: Vector | None
    candidates: Vector


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two candidates of a step by feature: their values [D], and each feature's share of the difference.

    `shares` [D] sum to the first candidate's `measure` minus the second's; negative shares favour the first. `words`
    describes the features of some columns.
    """

    measure: str  # "cost", or "squared distance"
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    shares: NDArray[np.float64]
    words: Callable[[Sequence[int]], list[str]]


@runtime_checkable
class Embedding(Protocol):
    """A policy whose costs come from an embedding. Policies without one (random choice) do not implement it."""

    @property
    def embeds(self) -> Literal["states", "transitions"]:
        """The embedded objects."""

    def vectors(self, task: Task, steps: Sequence[Step]) -> Vector:
        """Return the vectors [n, D] of the steps' states, or of the transitions to all of their candidates."""
        ...

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """Yield the vectors of the steps of one path from the initial state, in order."""
        ...

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Compare two candidates of a step by feature; `view` is the step's."""
        ...


class TransitionModel(Protocol):
    """An embedding of states, with predictions of successor states' embeddings."""

    def refuses(self, task: Task) -> str | None:
        """Return why the model cannot represent this problem; None if it can."""

    def embed(self, task: Task, states: Sequence[State]) -> Vector:
        """Return the states' embeddings [n, D]."""
        ...

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> Vector:
        """Return the predicted successor embeddings [n, D] of states and their applicable actions."""
        ...


class GoalModel(TransitionModel, Protocol):
    """A transition model that also embeds goals among states, so that a policy can use it."""

    def embed_goal(self, task: Task) -> Vector:
        """Return the goal's embedding [D]."""
        ...


@runtime_checkable
class SeenFromAction(Protocol):
    """A transition model whose state embeddings depend on the action, for example by renamed arguments.

    Its predictions are compared with these embeddings, not with those of `embed`.
    """

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> Vector:
        """Return the states' embeddings [n, D] for comparison with predictions of `action`."""
        ...


def unit(rows: Vector) -> NDArray[np.float64]:
    """Scale embeddings [n, D] to length 1 for cosine similarity; zero vectors are unchanged."""
    exact = np.asarray(rows, np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-30))
