"""What a prediction expects to change: the predicted embedding read as a mix of what the candidates change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sgp.analysis.predictions import comparable
from sgp.planning.rollout import Rollout, Step
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import NearestEmbedding

_LEAST = 0.05  # of a score that is named
_MOST = 6  # changes of a step that are named
_SPREAD = 0.1  # how much the parts' own distances count beside that of the mix


@dataclass(frozen=True)
class Expectation:
    """What a prediction makes of the atoms that candidates change, scores from 0 to 1.

    A change is an atom, whether it becomes true, and the summed shares of the candidates that change it so; `nothing`
    is the share of the state as it is, candidates that change no atom included.
    """

    changes: tuple[tuple[str, bool, float], ...]
    nothing: float

    def record(self) -> dict[str, Any]:
        """What a step's record holds of it: the likeliest changes."""
        named = [[atom, true, round(score, 2)] for atom, true, score in self.changes[:_MOST] if score >= _LEAST]
        return {"expects": {"changes": named, "nothing": round(self.nothing, 2)}}


def mixture(vectors: NDArray[np.floating[Any]], predicted: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The shares [n], at least 0 and 1 together, in which vectors [n, D] make up a predicted one [D].

    They minimise |sum_i w_i u_i|^2 + c sum_i w_i^2 |u_i|^2 over the different vectors, u_i = v_i - predicted and
    c = 0.1: the mix is near the prediction and, as several can be, so are its parts. Equal vectors, which no model
    tells apart, share alike. A vector that is the predicted one has all: with any other the sum is above 0.
    """
    different, which, count = np.unique(vectors.astype(np.float64), axis=0, return_inverse=True, return_counts=True)
    away = different - predicted.astype(np.float64)
    lengths = np.linalg.norm(away, axis=1)
    scale = float(lengths.max()) or 1.0
    # Shares of sum 1 by a row of ones: w = t x with x of sum 1 costs t^2 q(x) + (t - 1)^2, of which x minimises q.
    rows = np.vstack([away.T / scale, np.diag(np.sqrt(_SPREAD) * lengths / scale), np.ones(len(different))])
    found, _ = nnls(rows, np.append(np.zeros(len(rows) - 1), 1.0), maxiter=30 * len(different))
    shares = found / found.sum()
    return np.asarray((shares / count)[which.reshape(-1)])


def expectations(rollout: Rollout, policy: object) -> list[Expectation | None]:
    """For each step what the policy's prediction expects to change; None where it predicts no embedding.

    Where the policy compares angles, all vectors are scaled to length one first.
    """
    if not isinstance(policy, NearestEmbedding):
        return [None] * len(rollout.steps)
    found = list[Expectation | None]()
    for step, view in zip(rollout.steps, policy.views(rollout.task, rollout.steps), strict=True):
        assert view.state is not None
        assert view.predicted is not None
        rows = comparable(policy.metric, np.vstack([view.state, view.candidates, view.predicted]))
        found.append(_expectation(rollout.task, step, mixture(rows[:-1], rows[-1]).tolist()))
    return found


def _expectation(task: Task, step: Step, shares: Sequence[float]) -> Expectation:
    """Of the shares of the state as it is and of the candidates."""
    here, nothing = set(task.fluents(step.state)), shares[0]
    scores: dict[tuple[str, bool], float] = {}
    for candidate, share in zip(step.candidates, shares[1:], strict=True):
        changed = here.symmetric_difference(task.fluents(candidate.state))
        nothing += 0.0 if changed else share
        for fluent in changed:
            change = (str(task.fluent(fluent)), fluent not in here)
            scores[change] = scores.get(change, 0.0) + share
    order = sorted(scores, key=lambda change: (-scores[change], change))
    return Expectation(tuple((*change, scores[change]) for change in order), nothing)


def expectation_records(rollout: Rollout, policy: object) -> list[dict[str, Any]]:
    """What the records of a rollout's steps hold of `expectations`."""
    return [{} if each is None else each.record() for each in expectations(rollout, policy)]
