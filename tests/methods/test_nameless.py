from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.methods import get_method
from sgp.methods.loading import load_planner
from sgp.planning.planner import Limit
from sgp.planning.policy import Node, one_step
from sgp.planning.task import Task
from sgp.policies.tree_scores import probability_ranking
from tests.conftest import LONE

SUITE = sgp.load_suite("state-centric")
METHOD = get_method("nameless")
SMALL = {
    **{"shape.layers": "4", "shape.hidden": "32", "labels.states": "300", "labels.space": "3000"},
    **{"training.steps": "20", "training.batch": "16", "training.compared": "8"},
}


@pytest.mark.slow
def test_a_small_network_extrapolates_with_optimal_plans(home):
    overrides = SMALL | {"training.epochs": "6", "training.learning_rate": "0.003"}
    run = sgp.train("nameless", "gripper", "state-centric", overrides=overrides, device="cpu")
    tasks = [Task(problem) for problem in SUITE.problems("gripper", "extrapolation")[:4]]
    rollouts = load_planner(run).solve_many(tasks, Limit(actions=200))
    assert all(rollout.solved for rollout in rollouts)
    for task, rollout in zip(tasks, rollouts, strict=True):
        balls = len([literal for literal in task.goal if literal.atom.predicate == "at"])
        # Two balls a trip: two picks and drops, the way there, and the way back except after the last trip.
        assert len(rollout.plan) <= 2 * balls + 2 * -(-balls // 2) + 1


def test_an_action_over_an_object_that_occurs_in_no_atom_is_done():
    """Without names, such objects cannot be distinguished: their actions have one key."""
    task, training = Task(LONE), METHOD.variants["pointer"]
    policy = METHOD.learned(training, task.domain_text, METHOD.network(training, task.domain_text, 1).eval(), "cpu")
    planner = METHOD.planner(training, policy, METHOD.decodings["default"])
    rollout = planner.solve(task)
    assert (rollout.solved, len(rollout.plan)) == (True, 1)
    (ranking,) = planner.policy.rank([Node(task, task.init)], [one_step(task, task.init)])
    assert len(set(ranking.keys)) == 1


def test_few_scores_that_are_near_each_other_are_one_and_many_are_not():
    costs = probability_ranking(0, (-np.arange(200) * 0.9e-4).astype(np.float32))
    assert len(set(costs.keys)) == 100
    assert costs.costs.max() - costs.costs.min() == pytest.approx(0.9e-4 * 198, rel=0.01)
