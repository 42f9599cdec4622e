"""How far predictions miss the expert's next state, beside the distance between the states to choose from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.analysis.diagnostics import Met, along_experts, predicting_policy
from sgp.planning.planner import Planner
from sgp.planning.trajectory import Trajectory
from sgp.policies.nearest_embedding import NearestEmbedding


@dataclass(frozen=True)
class Prediction:
    """A prediction on an expert's path, in the space in which candidates are compared.

    Distances are Euclidean; where a policy compares angles, all vectors are scaled to length one first, which orders
    candidates in the same way. `action` and `before` are the names of the expert's action and of the one before it,
    "" at the start. `gap` is the distance from the expert's next state to the nearest other candidate that has another
    vector, infinite where there is none.
    """

    problem: str
    size: int
    step: int
    action: str
    before: str
    error: float  # from the predicted vector to that of the expert's next state
    gap: float
    change: float  # from the state's vector to that of the expert's next state
    predicted_change: float  # from the state's vector to the predicted one

    @property
    def sure(self) -> bool:
        """Whether the error is below half of the gap: then no other candidate can be nearer (triangle inequality)."""
        return self.error < self.gap / 2


def predictions(planner: Planner, trajectories: Sequence[Trajectory]) -> list[Prediction]:
    """A prediction for every decision of the trajectories, met as in `decisions`.

    Raises InputError for a planner that predicts no embeddings.
    """
    policy = predicting_policy(planner)
    return [_prediction(policy, met) for met in along_experts(planner, trajectories)]


def _prediction(policy: NearestEmbedding, met: Met) -> Prediction:
    node, trajectory = met.node, met.trajectory
    rows = policy.encoder.embed(node.task, [node.state, *(each.state for each in met.choice)])
    here, *candidates, predicted = comparable(policy.metric, np.vstack([rows, met.ranking.note["predicted"]]))
    expert = candidates[met.expert]
    distances = [_distance(expert, each) for each in candidates]
    return Prediction(
        problem=node.task.name,
        size=node.task.size,
        step=node.length,
        action=trajectory.actions[node.length].name,
        before=trajectory.actions[node.length - 1].name if node.length else "",
        error=_distance(predicted, expert),
        gap=min((each for each in distances if each > 0), default=math.inf),
        change=_distance(expert, here),
        predicted_change=_distance(predicted, here),
    )


def comparable(metric: str, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The rows [n, D] as they are, or of length one where angles are compared; a zero row stays."""
    exact = rows.astype(np.float64)
    if metric == "euclidean":
        return exact
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return np.asarray(np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0))


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(one - other))
