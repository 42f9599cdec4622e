"""Rows of trajectories from which predictors learn, and the settings of an LSTM that predicts along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgp.encoders import StateEncoder
from sgp.errors import check_fields
from sgp.planning.task import Trajectory
from sgp.policies.nearest_embedding import Mode

Head = Literal["linear", "two-layer"]
Precision = Literal["single", "double"]
Loss = Literal["cosine", "squared"]
Sequences = Sequence[tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]]  # rows [T, F], targets [T, D]


@dataclass(frozen=True)
class LSTMShape:
    """Layers and precision of the network. Defaults: state-centric, Table 7."""

    hidden: int = 256  # units per layer
    layers: int = 2
    # CPUs round sums differently. In single precision, training amplifies this to different networks; in double, it is
    # slower, and the networks differ only by rounding.
    precision: Precision = "single"

    def __post_init__(self) -> None:
        check_fields(self, "LSTM", hidden=1, layers=1)


@dataclass(frozen=True)
class RecurrentTraining:
    """Hyperparameters of training. Defaults: state-centric, Table 7."""

    epochs: int = 250
    learning_rate: float = 1e-2  # of Adam
    batch: int = 32  # sequences per step

    def __post_init__(self) -> None:
        check_fields(self, "LSTM", ["learning_rate"], epochs=1, batch=1)


def prediction_rows(encoder: StateEncoder, trajectories: Sequence[Trajectory], mode: Mode) -> Sequences:
    """Return rows [T, 2D] of state and goal, and targets [T, D], of each trajectory with at least one action."""
    sequences = []
    for trajectory in trajectories:
        if len(trajectory) == 0:
            continue
        states = encoder.embed(trajectory.task, trajectory.states)
        goal = np.broadcast_to(encoder.embed_goal(trajectory.task), states[1:].shape)
        targets = states[1:] - states[:-1] if mode == "delta" else states[1:]
        sequences.append((np.hstack([states[:-1], goal]), targets))
    return sequences
