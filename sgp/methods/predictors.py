"""Predictors of the next embedding, and what they are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgp.methods.policies import StateEncoder
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.linear import LinearModel
from sgp.models.recurrent import RecurrentModel
from sgp.planning.trajectory import Trajectory

Mode = Literal["state", "delta"]
Sequences = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]  # rows [T, F] and targets [T, D]


@dataclass(frozen=True)
class RowPredictor:
    """Predicts by boosted trees or a linear map; every prediction depends on state and goal alone."""

    model: BoostedTrees | LinearModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D]."""
        output = self.model.predict(np.hstack([states, goals]))
        return (states + output if self.mode == "delta" else output).astype(np.float32), carried


@dataclass(frozen=True)
class RecurrentPredictor:
    """Predicts by an LSTM, whose hidden state is carried along the path."""

    model: RecurrentModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D] and hidden states."""
        output, hidden = self.model.step(np.hstack([states, goals]), list(carried))
        return (states + output if self.mode == "delta" else output), hidden


def transitions(encoder: StateEncoder, trajectories: Sequence[Trajectory], mode: Mode) -> Sequences:
    """For each trajectory of at least one action, rows [T, 2D] and targets [T, D].

    A row is a state's embedding and the goal's; its target is the next embedding, or the difference to it.
    """
    found = []
    for trajectory in trajectories:
        if len(trajectory) == 0:
            continue
        states = encoder.embed(trajectory.task, trajectory.states)
        goal = np.broadcast_to(encoder.embed_goal(trajectory.task), states[1:].shape)
        found.append((np.hstack([states[:-1], goal]), states[1:] - states[:-1] if mode == "delta" else states[1:]))
    return found
