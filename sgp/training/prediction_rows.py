"""What predictors of the next embedding are fitted to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.contract import StateEncoder
from sgp.planning.trajectory import Trajectory
from sgp.policies.predictors import Mode

Sequences = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]  # rows [T, F] and targets [T, D]


def prediction_rows(encoder: StateEncoder, trajectories: Sequence[Trajectory], mode: Mode) -> Sequences:
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
