"""Why a candidate was chosen instead of another one, and the changes that a prediction expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sgp.planning.policy import Contrast, Embedding
from sgp.planning.rollout import Rollout, Step, runners_up
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import NearestEmbedding

FEATURES = 5  # listed by an explanation
OTHERS = 4  # candidates of a step that its chosen one is explained against
_DESCRIBED = 32  # features whose texts are compared
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Reason:
    """A feature, its value for both candidates, and its share of the difference; values are None for several."""

    feature: str
    chosen: float | None
    other: float | None
    share: float


@dataclass(frozen=True)
class Explanation:
    """Why the chosen candidate of a step was preferred over candidate `other`.

    The shares of the reasons sum to the chosen candidate's `measure` minus the other's: negative shares favour it.
    """

    other: int
    measure: str
    reasons: tuple[Reason, ...]

    @property
    def difference(self) -> float:
        """The chosen candidate's measure minus the other's."""
        return sum(reason.share for reason in self.reasons)

    def record(self) -> dict[str, Any]:
        """The explanation as stored in a step's record."""
        why = [{**vars(reason), "share": float(f"{reason.share:.6g}")} for reason in self.reasons]
        return {"against": self.other, "measure": self.measure, "why": why}


def explain(rollout: Rollout, policy: object) -> list[tuple[Explanation, ...]]:
    """For each step, explanations against the cheapest other available candidates, the runner-up first."""
    if not isinstance(policy, Embedding):
        return [()] * len(rollout.steps)
    others = [
        runners_up(step.costs.tolist(), step.open_to_choice.tolist(), step.chosen)[:OTHERS] for step in rollout.steps
    ]
    cut = [
        replace(step, candidates=[step.candidates[place] for place in (step.chosen, *some)], chosen=0)
        for step, some in zip(rollout.steps, others, strict=True)
    ]
    return [
        tuple(
            explained(policy.contrast(rollout.task, step, view, 0, place), other)
            for place, other in enumerate(some, start=1)
        )
        for step, view, some in zip(cut, policy.views(rollout.task, cut), others, strict=True)
    ]


def explanation_records(rollout: Rollout, policy: object) -> list[dict[str, Any]]:
    """`explain` as stored in the records of steps: the explanation against the runner-up, and `others`."""
    found = []
    for explanations in explain(rollout, policy):
        first, others = explanations[:1], [each.record() for each in explanations[1:]]
        found.append({**(first[0].record() if first else {}), **({"others": others} if others else {})})
    return found


def explained(contrast: Contrast, other: int) -> Explanation:
    """The features of the largest shares (one for equal texts and values), then all others together."""
    telling = np.flatnonzero(np.abs(contrast.shares) > _NEGLIGIBLE)
    order = telling[np.argsort(-np.abs(contrast.shares[telling]), kind="stable")].tolist()
    described, rest = order[:_DESCRIBED], order[_DESCRIBED:]
    equal: dict[tuple[str, float, float], list[int]] = {}
    for column, words in zip(described, contrast.words(described), strict=True):
        equal.setdefault((words, float(contrast.first[column]), float(contrast.second[column])), []).append(column)
    named = sorted(equal, key=lambda said: -abs(contrast.shares[equal[said]].sum()))
    rest += [column for said in named[FEATURES:] for column in equal[said]]
    reasons = [Reason(*said, float(contrast.shares[equal[said]].sum())) for said in named[:FEATURES]]
    if rest:
        words = f"{len(rest)} further feature{'s' if len(rest) > 1 else ''} together"
        reasons.append(Reason(words, None, None, float(contrast.shares[rest].sum())))
    return Explanation(other, contrast.measure, tuple(reasons))


_LEAST = 0.05  # score of a change that is listed
_MOST = 6  # changes of a step that are listed
_SPREAD = 0.1  # weight of the distances of the parts, beside that of the mixture


@dataclass(frozen=True)
class Expectation:
    """The changes that a prediction expects, with scores from 0 to 1.

    A change is an atom, whether it becomes true, and the summed shares of the candidates with this change; `nothing` is
    the share of the current state and of candidates that change nothing.
    """

    changes: tuple[tuple[str, bool, float], ...]
    nothing: float

    def record(self) -> dict[str, Any]:
        """The likeliest changes, as stored in a step's record."""
        named = [[atom, true, round(score, 2)] for atom, true, score in self.changes[:_MOST] if score >= _LEAST]
        return {"expects": {"changes": named, "nothing": round(self.nothing, 2)}}


def mixture(vectors: NDArray[np.floating[Any]], predicted: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The shares [n], non-negative and of sum 1, of vectors [n, D] in a predicted one [D].

    They minimise |sum_i w_i u_i|^2 + c sum_i w_i^2 |u_i|^2 over the different vectors, u_i = v_i - predicted, c = 0.1:
    the mixture is near the prediction, and so are its parts. Equal vectors have equal shares; a vector that equals the
    prediction has share 1.
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
    """For each step the expected changes; None if the policy predicts no embedding."""
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
    """The expectation from the shares of the current state and of the candidates."""
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


def step_records(rollout: Rollout, policy: object) -> list[dict[str, Any]]:
    """`explanation_records`, and `expectations` as stored in the records of steps."""
    pairs = zip(explanation_records(rollout, policy), expectations(rollout, policy), strict=True)
    return [{**reasons, **({} if expected is None else expected.record())} for reasons, expected in pairs]


def comparable(metric: str, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The rows [n, D], scaled to length one if angles are compared; zero rows are unchanged."""
    exact = rows.astype(np.float64)
    if metric == "euclidean":
        return exact
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return np.asarray(np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0))
