"""Fitting of the target vector of transition embeddings: positives above the other candidates, or their mean.

scipy is imported lazily: its import takes a third of the time in which a process solves a small problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.errors import check_fields

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

_SCALE = 1000.0  # factor of the mean loss, so that L2 weights have convenient magnitudes


Loss = Literal["contrastive", "squared"]


@dataclass(frozen=True)
class ContrastiveConfig:
    """The loss and its optimisation."""

    kind: Loss = "contrastive"  # positives against their siblings, or squared error of the positives alone
    alpha: float = 0.01  # weight of |psi|^2 in the score; makes ranking equivalent to distance from w / (2 alpha)
    l2: float = 0.1  # weight of |w|^2 / 2, relative to 1000 times the mean loss
    iterations: int = 200  # of L-BFGS, from zero

    def __post_init__(self) -> None:
        check_fields(self, "loss", ["alpha", "l2"], iterations=1)


def fit_contrastive(
    config: ContrastiveConfig,
    rows: LinearOperator,
    squared_norms: NDArray[np.float64],
    first: NDArray[np.int64],
    positive: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Return the vector w [P] of least loss, and facts about the optimisation.

    `rows` [b, P] are linear features of candidates, `squared_norms` [b] the squared norms of their embeddings psi.
    Decision i has the rows `first[i]` to `first[i + 1]`, at least one of them positive, and the weight `weights[i]`.
    The scores are rows w - alpha |psi|^2. A decision's loss is -log(sum of exp over the positives / sum of exp over
    all), which is convex for a single positive. With squared error, for rows that are the embeddings, w / (2 alpha) is
    the weighted mean of the positives; the positives of a decision share its weight.
    """
    counts = np.diff(first)
    begins = first[:-1]
    if config.kind == "squared":
        positives = np.add.reduceat(positive.astype(np.float64), begins)
        each = positive * np.repeat(weights / positives, counts) / weights.sum()
        return np.asarray(2 * config.alpha * rows.rmatvec(each)), {}
    penalty = config.alpha * squared_norms
    share = _SCALE * weights / weights.sum()
    masked = np.where(positive, 0.0, -np.inf)

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = rows.matvec(w) - penalty
        chosen, over_all = _normalised(scores, begins, counts)
        wanted, over_positive = _normalised(scores + masked, begins, counts)
        value = float(share @ (over_all - over_positive)) + 0.5 * config.l2 * float(w @ w)
        return value, rows.rmatvec(np.repeat(share, counts) * (chosen - wanted)) + config.l2 * w

    from scipy.optimize import minimize

    found = minimize(
        loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": config.iterations, "maxcor": 20}
    )
    return np.asarray(found.x), {"loss": float(found.fun), "iterations": int(found.nit)}


class RankingProblem(NamedTuple):
    """Arguments of `fit_contrastive`, with the rows as a matrix [b, P]."""

    rows: csr_array
    squared_norms: NDArray[np.float64]
    first: NDArray[np.int64]
    positive: NDArray[np.bool_]
    weights: NDArray[np.float64]


def contributions(
    config: ContrastiveConfig, problem: RankingProblem, w: NDArray[np.float64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the contributions [n, c] of the decisions to selected columns of the fitted weights w [P].

    At the minimum of the contrastive loss, w is their sum over all decisions: each is proportional to the softmax mean
    of the decision's positive rows minus that of all its rows.
    """
    rows, squared_norms, first, positive, weights = problem
    counts, begins = np.diff(first), first[:-1]
    scores = rows @ w - config.alpha * squared_norms
    chosen, _ = _normalised(scores, begins, counts)
    wanted, _ = _normalised(np.where(positive, scores, -np.inf), begins, counts)
    pull = np.repeat(_SCALE * weights / weights.sum() / config.l2, counts) * (wanted - chosen)
    return np.asarray(np.add.reduceat(rows[:, columns].multiply(pull[:, None]).toarray(), begins, axis=0))


def _normalised(
    scores: NDArray[np.float64], begins: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the softmax within each decision, and the log of its normaliser."""
    largest = np.maximum.reduceat(scores, begins)
    powers = np.exp(scores - np.repeat(largest, counts))
    sums = np.add.reduceat(powers, begins)
    return powers / np.repeat(sums, counts), np.log(sums) + largest


def sparse_rows(matrix: csr_array) -> LinearOperator:
    """Return the linear operator of rows that are the embeddings themselves."""
    from scipy.sparse.linalg import LinearOperator

    transposed = matrix.T.tocsr()
    return LinearOperator(matrix.shape, matvec=matrix.dot, rmatvec=transposed.dot, dtype=np.float64)


def bilinear_rows(
    contexts: NDArray[np.float64], changes: NDArray[np.float64], first: NDArray[np.int64]
) -> LinearOperator:
    """Return rows [b, D C] with `rows w` = change . (W context): contexts [n, C], changes [b, D], W [D, C] from w."""
    from scipy.sparse.linalg import LinearOperator

    decision = np.repeat(np.arange(len(contexts)), np.diff(first))
    width, length = changes.shape[1], contexts.shape[1]

    def matvec(w: NDArray[np.float64]) -> NDArray[np.float64]:
        aims = contexts @ w.reshape(width, length).T  # [n, D]
        return np.asarray((aims[decision] * changes).sum(axis=1))

    def rmatvec(g: NDArray[np.float64]) -> NDArray[np.float64]:
        pulls = np.add.reduceat(np.ravel(g)[:, None] * changes, first[:-1], axis=0)  # [n, D]
        return np.asarray((pulls.T @ contexts).ravel())

    return LinearOperator((len(changes), width * length), matvec=matvec, rmatvec=rmatvec, dtype=np.float64)
