from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.encoders.trees import TreeConfig, tree_encoder
from sgp.methods import get_method
from sgp.methods.configuration import configure, with_settings
from sgp.methods.loading import load_planner
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.policies.tree_scores import TreeScores
from tests.conftest import COURIER, COURIER_PROBLEM

SUITE = sgp.load_suite("state-centric")
METHOD = get_method("aiw-ad")
SMALL = {
    **{"shape.layers": "3", "shape.hidden": "8", "labels.states": "60", "labels.space": "3000"},
    **{"training.compared": "8", "training.steps": "8", "training.batch": "8", "training.learning_rate": "0.01"},
}


@pytest.mark.slow
def test_a_tiny_network_solves_what_it_was_trained_on(home):
    run = sgp.train("aiw-ad", "gripper", "state-centric", overrides=SMALL | {"training.epochs": "12"}, device="cpu")
    planner = load_planner(run)
    tasks = [Task(problem) for problem in SUITE.problems("gripper", "train")]
    rollouts = planner.solve_many(tasks, Limit(actions=60))
    assert [rollout.outcome for rollout in rollouts] == [Outcome.SOLVED] * 4
    jumps = [step.candidates[step.chosen].actions for rollout in rollouts for step in rollout.steps]
    assert max(map(len, jumps)) > 1


def test_trying_looks_at_no_experts_plan(tmp_path):
    """The loss is independent of training problems' expert plans; validation problems keep theirs to compare epochs."""
    quick = {"training.epochs": "1", "training.steps": "2", "learning.trajectories": "1", "learning.jumps": "3"}
    config = configure(METHOD, "aiw", SMALL | quick)[1]
    data = sgp.load_training_data(SUITE, "gripper")
    bare = replace(data, train=tuple(Trajectory(each.task, (), each.states[:1]) for each in data.train))
    one, two = (
        next(METHOD.checkpoints(config, each, tmp_path / name, 1, "cpu")).loss
        for name, each in (("whole", data), ("bare", bare))
    )
    assert one == two


@pytest.mark.parametrize("settings", METHOD.ablations, ids=lambda each: "+".join(each.values()))
def test_every_ablation_trains(settings, tmp_path):
    quick = {"training.epochs": "1", "training.steps": "1", "labels.states": "8"}
    config = with_settings(configure(METHOD, "exact", SMALL | quick)[1], settings)
    checkpoint = next(METHOD.checkpoints(config, sgp.load_training_data(SUITE, "gripper"), tmp_path, 1, "cpu"))
    assert checkpoint.loss > 0


@pytest.mark.parametrize("encoding", ["changes", "internal"])
def test_negative_goals_are_refused_in_planning(encoding):
    task = Task(Problem("courier-1", COURIER, COURIER_PROBLEM))
    encoder = tree_encoder(task.domain_text, TreeConfig(encoding))
    model = LookaheadModel(encoder.relations, RelationalShape(1, 4), encoder.config.copied)
    rollout = Planner(TreeScores(encoder, model, "cpu")).solve(task)
    assert rollout.outcome is Outcome.REFUSED
    assert "wants (in q1 v1) to be false" in rollout.reason
