"""What predicts the state after an action, in an embedding; it is measured, and is no planner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

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
