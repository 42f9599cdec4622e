"""What predicts the state after an action, in an embedding. It is measured; with a goal's embedding, it can plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Action
from sgp.planning.task import State, Task


class TransitionModel(Protocol):
    """Embeds states, and predicts the embeddings of the states that actions lead to."""

    def refuses(self, task: Task) -> str | None:
        """Why the model cannot represent this problem, or None where it can."""

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """The states' embeddings [n, D]."""
        ...

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """For each state and an action that is applicable there, the embedding [n, D] of the state after."""
        ...


class GoalModel(TransitionModel, Protocol):
    """A model of transitions that embeds goals among states, so that a policy can go by it."""

    def embed_goal(self, task: Task) -> NDArray[np.floating[Any]]:
        """The goal's embedding [D]."""
        ...


@runtime_checkable
class SeenFromAction(Protocol):
    """A model of transitions to which states look different from each action, as where its arguments are renamed.

    Its predictions are compared with these embeddings, not with those of `embed`.
    """

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> NDArray[np.floating[Any]]:
        """The states' embeddings [n, D] as they are compared with what is predicted of an action."""
        ...


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Embeddings [n, D] made of length 1, as they are compared by their cosine; what is nothing stays so."""
    exact = np.asarray(rows, np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-30))
