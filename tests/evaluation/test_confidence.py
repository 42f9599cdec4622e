"""Confidence by hand: pools with and without the true state are distinguished, and calibration of probabilities."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sgp.evaluation.retrieval import abstention, auroc, calibration_error


def test_auroc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    positive, negative = rng.integers(0, 6, 40), rng.integers(0, 5, 30)
    pairs = [(1.0 if one > other else 0.5 if one == other else 0.0) for one, other in product(positive, negative)]
    assert auroc(positive, negative) == pytest.approx(np.mean(pairs))
    assert auroc([1.0], [0.0]) == 1.0
    assert auroc([1.0, 1.0], [1.0]) == 0.5


def test_abstention_compares_pools_with_those_that_lack_the_truth():
    sure = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.3, 0.0])]
    assert abstention(sure) == 1.0
    blind = [np.ones(4), np.ones(3)]
    assert abstention(blind) == 0.5
    wrong = [np.array([0.1, 0.9]), np.array([0.2, 0.7])]  # the top candidate is the same with and without the truth
    assert abstention(wrong) == 0.5


def test_calibration_is_the_gap_between_probability_and_share():
    temperature = 0.1
    right, wrong = np.array([0.5, 0.4, 0.1]), np.array([0.4, 0.5, 0.1])
    weights = np.exp(np.array([0.5, 0.4, 0.1]) / temperature)
    sure = weights[0] / weights.sum()
    assert calibration_error([right], temperature) == pytest.approx(1 - sure)
    assert calibration_error([wrong], temperature) == pytest.approx(sure)
    assert calibration_error([right, right, wrong], temperature) == pytest.approx(abs(sure - 2 / 3))
    assert calibration_error([np.ones(4)], temperature) == pytest.approx(0.0)  # probability 1/4, share 1/4
