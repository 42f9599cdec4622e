"""Models that predict the embedding of the state after an action, for measurement or planning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Action
from sgp.planning.task import State, Task


class TransitionModel(Protocol):
    """An embedding of states, with predictions of successor states' embeddings."""

    def refuses(self, task: Task) -> str | None:
        """Return why the model cannot represent this problem; None if it can."""

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D]."""
        ...

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted successor embeddings [n, D] of states and their applicable actions."""
        ...


class GoalModel(TransitionModel, Protocol):
    """A transition model that also embeds goals among states, so that a policy can use it."""

    def embed_goal(self, task: Task) -> NDArray[np.floating[Any]]:
        """Return the goal's embedding [D]."""
        ...


@runtime_checkable
class SeenFromAction(Protocol):
    """A transition model whose state embeddings depend on the action, for example by renamed arguments.

    Its predictions are compared with these embeddings, not with those of `embed`.
    """

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D] for comparison with predictions of `action`."""
        ...


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Scale embeddings [n, D] to length 1 for cosine similarity; zero vectors are unchanged."""
    exact = np.asarray(rows, np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-30))
