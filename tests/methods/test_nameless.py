from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.methods import get_method
from sgp.methods.configuration import configure
from sgp.methods.loading import planner_of
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.policy import Node, one_step
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.policies.action_probabilities import _ranking
from tests.conftest import COURIER, COURIER_PROBLEM, LONE

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
    rollouts = planner_of(run).solve_many(tasks, Limit(actions=200))
    assert all(rollout.solved for rollout in rollouts)
    for task, rollout in zip(tasks, rollouts, strict=True):
        balls = len([literal for literal in task.goal if literal.atom.predicate == "at"])
        # Two balls a trip: two picks and drops, the way there, and the way back except after the last trip.
        assert len(rollout.plan) <= 2 * balls + 2 * -(-balls // 2) + 1


@pytest.mark.slow
def test_an_interrupted_training_gives_what_an_uninterrupted_one_gives(tmp_path):
    data = sgp.load_training_data(SUITE, "gripper")
    quick = SMALL | {"training.epochs": "3", "training.steps": "2", "shape.hidden": "16"}
    for variant in METHOD.variants:
        training = configure(METHOD, variant, quick)[1]
        whole = [each.loss for each in METHOD.snapshots(training, data, tmp_path / variant, 1, "cpu")]
        first = METHOD.snapshots(training, data, tmp_path / f"{variant}-cut", 1, "cpu")
        cut = [next(first).loss]
        first.close()
        cut += [each.loss for each in METHOD.snapshots(training, data, tmp_path / f"{variant}-cut", 1, "cpu", after=1)]
        assert cut == whole


def test_negative_goals_are_refused(tmp_path):
    task = Task(Problem("courier-1", COURIER, COURIER_PROBLEM))
    data = sgp.load_training_data(SUITE, "gripper")
    wrong = replace(data, train=(Trajectory(task, (), (task.init,)),), validation=())
    with pytest.raises(ConfigurationError, match=r"courier-1 cannot be trained on: the goal wants \(in q1 v1\) to"):
        next(METHOD.snapshots(METHOD.variants["pointer"], wrong, tmp_path, 1, "cpu"))


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
    costs = _ranking(0, (-np.arange(200) * 0.9e-4).astype(np.float32))
    assert len(set(costs.keys)) == 100
    assert costs.costs.max() - costs.costs.min() == pytest.approx(0.9e-4 * 198, rel=0.01)


def test_settings_that_cannot_be_are_told():
    for settings, words in (
        (
            {"labels.source": "dagger-optimal"},
            "labels.source is dagger-optimal; expected optimal-only, optimal",
        ),
        ({"training.depth_weight": "0.1"}, "training.depth_weight is 0.1; expected 0, because all candidates are one"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            configure(METHOD, "pointer", settings)
