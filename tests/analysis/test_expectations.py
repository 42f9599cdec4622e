"""Predictions read as changes of atoms, against candidates' own effects and a grid search over mixes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sgp.analysis.explanations import expectations, mixture
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.planner import Limit, Planner
from sgp.policies.nearest_embedding import NearestEmbedding
from tests.planning.test_planner import by_name


def test_a_prediction_that_is_a_vector_has_all_of_it_whatever_else_makes_it_up():
    vectors = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    assert mixture(vectors, vectors[2]) == pytest.approx([0, 0, 1, 0, 0], abs=1e-12)


def test_equal_vectors_share_alike():
    vectors = np.array([[0.0, 1.0], [3.0, 0.0], [0.0, 1.0]])
    assert mixture(vectors, vectors[0]) == pytest.approx([0.5, 0, 0.5], abs=1e-12)


@pytest.mark.parametrize("predicted", [(0.3, 0.4), (2.0, 2.0), (-1.0, 0.5)])
def test_shares_minimise_what_they_are_said_to(predicted):
    vectors, goal = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 1.0]]), np.array(predicted)
    away = vectors - goal

    def worth(shares):
        return np.sum((shares @ away) ** 2) + 0.1 * np.sum(shares**2 * np.sum(away**2, axis=1))

    grid = [np.array([a, b, 100 - a - b]) / 100 for a, b in product(range(101), repeat=2) if a + b <= 100]
    best = min(grid, key=worth)
    found = mixture(vectors, goal)
    assert found.sum() == pytest.approx(1)
    assert worth(found) <= worth(best) + 1e-12
    assert found == pytest.approx(best, abs=0.02)


class Foreseeing:
    """Predicts the embedding of a given candidate for each known state."""

    def __init__(self, answers):
        self.answers = answers

    def __call__(self, states, goals, carried):
        return np.stack([self.answers[row.tobytes()] for row in states]), [None] * len(states)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_prediction_of_a_candidates_state_expects_its_effects_and_no_others(three_blocks, metric):
    task = three_blocks
    rollout = Planner(by_name(pick_up=0.1, stack=0.2, unstack=0.2, put_down=0.3)).solve(task, Limit(actions=3))
    encoder = WLEncoder.fit(WLConfig(), [(task, [each.state for step in rollout.steps for each in step.candidates])])
    answers, wanted = {}, []
    for step in rollout.steps:
        rows = encoder.embed(task, [step.state, *(each.state for each in step.candidates)])
        place = next(place for place in range(1, len(rows)) if sum((rows == rows[place]).all(axis=1)) == 1)
        answers[rows[0].tobytes()] = rows[place]
        here, there = (set(map(str, task.atoms(each))) for each in (step.state, step.candidates[place - 1].state))
        wanted.append({*((atom, True) for atom in there - here), *((atom, False) for atom in here - there)})
    found = expectations(rollout, NearestEmbedding(encoder, Foreseeing(answers), metric))
    for expected, effects in zip(found, wanted, strict=True):
        scores = {(atom, true): score for atom, true, score in expected.changes if score > 1e-6}
        assert set(scores) == effects
        assert list(scores.values()) == pytest.approx([1.0] * len(scores))
        assert expected.nothing == pytest.approx(0, abs=1e-6)


def test_a_policy_that_predicts_no_embedding_expects_nothing(three_blocks):
    solved = Planner(by_name()).solve(three_blocks, Limit(actions=2))
    assert expectations(solved, by_name()) == [None] * len(solved.steps)
