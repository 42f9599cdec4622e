from __future__ import annotations

import math

import numpy as np
import pytest

import sgp
from sgp.analysis.diagnostics import decisions, predictions
from sgp.methods.loading import load_planner
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.policies.nearest_embedding import NearestEmbedding
from tests.conftest import blocks_problem


class Counts:
    """Embeds a state as [number of blocks on the table, number of clear blocks]."""

    def embed(self, task, states):
        counts = [[atom.predicate for atom in task.atoms(state)] for state in states]
        return np.array([[each.count("ontable"), each.count("clear")] for each in counts], np.float32)

    def refuses(self, task):
        return None

    def embed_candidates(self, task, states, choices):
        return np.vstack([self.embed(task, [each.state for each in choice]) for choice in choices])

    def embed_goal(self, task):
        return np.zeros(2, np.float32)


def constant(*predicted, metric="euclidean"):
    """Return a model that predicts the same vector in every state."""
    return NearestEmbedding(
        Counts(), lambda states, goals, carried: (np.array([predicted] * len(states), np.float32), carried), metric
    )


@pytest.fixture
def towers():
    """Three blocks on the table and a fourth on one of them; one of the other two is stacked on the other."""
    facts = "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (on d c) (clear d)"
    task = Task(blocks_problem("a b c d", facts, "(on a b)"))
    return Trajectory.of(task, parse_plan("(pick-up a)\n(stack a b)"))


def test_distances_are_worked_by_hand(towers):
    # The initial vector is [3, 3]. Picking up a or b leads to [2, 2], taking d from c to [3, 3].
    first, second = predictions(Planner(constant(2.0, 5.0)), [towers])
    assert (first.before, first.action, second.before, second.action) == ("", "pick-up", "pick-up", "stack")
    assert first.change == pytest.approx(math.sqrt(2))
    assert first.predicted_change == pytest.approx(math.sqrt(5))
    assert first.error == pytest.approx(3)
    assert first.gap == pytest.approx(math.sqrt(2)), "picking up b has the same vector and is no rival"
    # Holding a at [2, 2]: stacking a anywhere keeps the vector; putting a down returns to the start.
    assert (second.step, second.change, second.gap) == (1, 0, math.inf)
    assert second.sure
    assert not first.sure


def test_angles_do_not_know_lengths(towers):
    near, far = (
        predictions(Planner(constant(*each, metric="cosine")), [towers]) for each in ((2.0, 2.0), (16.0, 16.0))
    )
    assert near == far
    assert near[0].error == pytest.approx(0)


def test_a_sure_prediction_is_ranked_first(quick_run):
    expert = sgp.trajectories(sgp.load_suite("state-centric"), "blocksworld", "interpolation")
    planner = load_planner(quick_run("state-centric", "blocksworld"))
    pairs = [*zip(predictions(planner, expert), decisions(planner, expert), strict=True)]
    assert [(one.problem, one.step) for one, _ in pairs] == [(two.problem, two.step) for _, two in pairs]
    assert any(one.sure for one, _ in pairs)
    assert all(two.top1 == 1 for one, two in pairs if one.sure)
