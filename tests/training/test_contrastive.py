from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from sgp.errors import ConfigurationError
from sgp.training import contrastive


def fit(config, rows, first, positive, weights):
    given = contrastive.sparse_rows(csr_array(rows)), (rows**2).sum(axis=1), first, positive, weights
    return contrastive.fit_contrastive(config, *given)


def loss_of(w, config, rows, first, positive, weights):
    total = 0.0
    for decision in range(len(first) - 1):
        part = slice(first[decision], first[decision + 1])
        psi = rows[part]
        scores = psi @ w - config.alpha * (psi**2).sum(axis=1)
        powers = np.exp(scores)
        total -= weights[decision] * np.log(powers[positive[part]].sum() / powers.sum())
    return 1000 * total / weights.sum() + 0.5 * config.l2 * w @ w


def problem(seed=0, decisions=12, dimension=6):
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 6, size=decisions)
    first = np.concatenate([[0], np.cumsum(counts)])
    rows = rng.integers(0, 2, size=(first[-1], dimension)).astype(float)
    positive = np.zeros(first[-1], bool)
    for start, end in pairwise(first):
        positive[start + rng.integers(end - start)] = True
        positive[start] |= rng.random() < 0.3
    return rows, first, positive, rng.random(decisions) + 0.1


def test_the_minimum_is_one_of_the_defined_loss_and_by_squared_error_the_mean_of_the_positives():
    config = contrastive.ContrastiveConfig(alpha=0.05, l2=1.0)
    rows, first, positive, weights = problem()
    w, facts = fit(config, rows, first, positive, weights)
    value = loss_of(w, config, rows, first, positive, weights)
    assert value == pytest.approx(facts["loss"], rel=1e-9)
    for axis in range(len(w)):  # no step along an axis is better
        for step in (-1e-3, 1e-3):
            moved = w.copy()
            moved[axis] += step
            assert loss_of(moved, config, rows, first, positive, weights) > value - 1e-6
    config = contrastive.ContrastiveConfig("squared", alpha=0.05)
    w, _ = fit(config, rows, first, positive, weights)
    means = [rows[a:b][positive[a:b]].mean(axis=0) for a, b in pairwise(first)]
    assert np.allclose(w / (2 * config.alpha), np.average(means, axis=0, weights=weights))
    with pytest.raises(ConfigurationError, match="loss kind is 'hinge'; expected one of contrastive, squared"):
        contrastive.ContrastiveConfig("hinge")


def test_what_can_be_separated_is_ranked_first_and_weights_of_decisions_count():
    rng = np.random.default_rng(3)
    wanted = rng.normal(size=8)
    rows = rng.integers(0, 2, size=(200, 8)).astype(float)
    first = np.arange(0, 201, 5)
    positive = np.zeros(200, bool)
    for start in first[:-1]:
        positive[start + np.argmax(rows[start : start + 5] @ wanted)] = True
    config = contrastive.ContrastiveConfig(l2=0.01)
    w, _ = fit(config, rows, first, positive, np.ones(40))
    scores = rows @ w - config.alpha * (rows**2).sum(axis=1)
    right = [positive[start + np.argmax(scores[start : start + 5])] for start in first[:-1]]
    assert np.mean(right) > 0.9
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    positive = np.array([True, False, False, True])  # two decisions that contradict each other
    for weights in ([3.0, 1.0], [1.0, 3.0]):
        w, _ = fit(contrastive.ContrastiveConfig(), rows, np.array([0, 2, 4]), positive, np.array(weights))
        assert (w[0] > w[1]) == (weights[0] > weights[1])


def test_bilinear_rows_are_the_products_of_change_and_context():
    rng = np.random.default_rng(5)
    first = np.array([0, 2, 5, 6])
    contexts, changes = rng.normal(size=(3, 4)), rng.normal(size=(6, 2))
    of = np.searchsorted(first, range(6), "right") - 1
    dense = np.stack([np.outer(change, context).ravel() for change, context in zip(changes, contexts[of], strict=True)])
    rows = contrastive.bilinear_rows(contexts, changes, first)
    w, g = rng.normal(size=8), rng.normal(size=6)
    assert np.allclose(rows.matvec(w), dense @ w)
    assert np.allclose(rows.rmatvec(g), dense.T @ g)


def test_weights_are_the_sum_of_what_each_decision_pulls():
    rows, first, positive, weights = problem(3)
    config = contrastive.ContrastiveConfig(iterations=2000)
    w, _ = fit(config, rows, first, positive, weights)
    columns = np.array([4, 1])
    given = contrastive.RankingProblem(csr_array(rows), (rows**2).sum(axis=1), first, positive, weights)
    found = contrastive.contributions(config, given, w, columns)
    for decision, (start, end) in enumerate(pairwise(first)):
        psi = rows[start:end]
        powers = np.exp(psi @ w - config.alpha * (psi**2).sum(axis=1))
        right = powers * positive[start:end]
        pull = right @ psi / right.sum() - powers @ psi / powers.sum()
        expected = 1000 * weights[decision] / weights.sum() * pull / config.l2
        assert found[decision] == pytest.approx(expected[columns])
    assert found.sum(axis=0) == pytest.approx(w[columns], rel=0.01), "as far as the fit came"
