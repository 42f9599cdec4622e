from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.datasets.runs import RunKey, new_run, open_run
from sgp.encoders.relations import RelationalEncoder
from sgp.methods import get_method
from sgp.methods.configuration import configure
from sgp.methods.gnn_value import LearnedValue
from sgp.methods.loading import load_planner
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import Node, one_step
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.policies.lowest_value import LowestValue
from tests.conftest import COURIER, COURIER_PROBLEM, origin_of

SUITE = sgp.load_suite("state-centric")
METHOD = get_method("gnn-value")
SMALL = {"shape.layers": "2", "shape.hidden": "8", "training.batch": "16", "training.learning_rate": "0.01"}


@pytest.mark.slow
def test_a_tiny_network_solves_what_it_was_trained_on(home):
    run = sgp.train("gnn-value", "gripper", "state-centric", overrides=SMALL | {"training.epochs": "80"}, device="cpu")
    assert run.record["facts"]["train_loss"] < 1.0
    planner = load_planner(run)
    tasks = [Task(problem) for problem in SUITE.problems("gripper", "train")]
    assert [rollout.outcome for rollout in planner.solve_many(tasks, Limit(actions=60))] == [Outcome.SOLVED] * 4


def saved(checkpoint, data, name):
    """The planner of a checkpoint, saved as a run and loaded."""
    key = RunKey("gnn-value", name, "state-centric", "gripper", 5)
    with new_run(key, origin_of(METHOD, checkpoint.training, data)) as draft:
        checkpoint.save(draft)
    run = open_run(key.folder)
    return run, load_planner(run)


def test_every_epoch_is_a_planner_and_training_keeps_the_one_of_least_loss(home, tmp_path):
    _, config = configure(METHOD, None, SMALL | {"training.epochs": "5"})
    data = sgp.load_training_data(SUITE, "gripper")
    checkpoints = list(METHOD.checkpoints(config, data, tmp_path, 5, "cpu"))
    assert [each.name for each in checkpoints] == [f"epoch {number}" for number in range(1, 6)]
    task = Task(SUITE.problems("gripper", "validation")[0])
    values = []
    for place, checkpoint in enumerate(checkpoints):  # training has changed the network since the checkpoint
        run, planner = saved(checkpoint, data, f"e{place}")
        assert run.record["facts"]["epoch"] == place + 1
        assert run.record["facts"]["validation_loss"] == checkpoint.loss
        values.append(float(planner.policy.value([(task, [task.init])])[0]))
    assert len(set(values)) == 5
    best = min(checkpoints, key=lambda each: each.loss)
    run = sgp.train(
        "gnn-value", "gripper", "state-centric", seed=5, overrides=SMALL | {"training.epochs": "5"}, device="cpu"
    )
    assert f"epoch {run.record['facts']['epoch']}" == best.name
    assert float(load_planner(run).policy.value([(task, [task.init])])[0]) == values[checkpoints.index(best)]
    later = METHOD.checkpoints(config, data, tmp_path, 5, "cpu", after=4)
    assert [(each.name, each.loss) for each in later] == [("epoch 5", checkpoints[4].loss)]


def test_a_negative_goal_is_refused_by_its_outcome(home):
    task = Task(Problem("courier-1", COURIER, COURIER_PROBLEM))
    encoder = RelationalEncoder(task.domain_text)
    model = RelationalModel(encoder.relations, RelationalShape(1, 4))
    rollout = Planner(LowestValue(LearnedValue(encoder, model, "cpu"))).solve(task)
    assert rollout.outcome is Outcome.REFUSED
    assert "wants (in q1 v1) to be false" in rollout.reason


class Unreached:
    """Known value function: the number of open goal atoms."""

    def refuses(self, task):
        return None

    def __call__(self, states):
        return np.array(
            [sum(atom not in task.atoms(each) for atom in task.goal_atoms) for task, some in states for each in some]
        )


def test_costs_are_the_values_of_each_nodes_own_candidates(three_blocks, two_blocks):
    policy = LowestValue(Unreached())
    assert not policy.rules.additive
    nodes = [Node(three_blocks, three_blocks.init), Node(two_blocks, two_blocks.init)]
    choices = [one_step(node.task, node.state) for node in nodes]
    rankings = policy.rank(nodes, choices)
    assert [len(each.costs) for each in rankings] == [len(choice) for choice in choices]
    assert rankings[0].costs.tolist() == [2.0, 2.0]
    assert rankings[1].costs.tolist() == [1.0, 1.0]
    assert Planner(policy).solve(two_blocks).outcome is Outcome.SOLVED
