"""Methods with small networks over graphs: what they learn, their checkpoints and their costs."""

from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.datasets.runs import RunKey, new_run, open_run
from sgp.methods.configuration import configure, with_settings
from sgp.methods.nameless import probability_ranking
from sgp.planning.policy import Node, one_step
from sgp.planning.task import Trajectory
from sgp.policies.lowest_value import LowestValue
from tests.conftest import LONE, origin_of

SUITE = sgp.load_suite("state-centric")
METHOD, TREES_METHOD = sgp.get_method("gnn-value"), sgp.get_method("aiw-ad")
SMALL = {"shape.layers": "2", "shape.hidden": "8", "training.batch": "16", "training.learning_rate": "0.01"}
TREES = {
    **{"shape.layers": "3", "shape.hidden": "8", "labels.states": "60", "labels.space": "3000"},
    **{"training.compared": "8", "training.steps": "8", "training.batch": "8", "training.learning_rate": "0.01"},
}
LOOKAHEAD = {**TREES, "training.epochs": "12"}
NAMELESS = {
    **{"shape.layers": "4", "shape.hidden": "32", "labels.states": "300", "labels.space": "3000"},
    **{"training.steps": "20", "training.batch": "16", "training.compared": "8"},
    **{"training.epochs": "6", "training.learning_rate": "0.003"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "settings"), [("gnn-value", {"training.epochs": "80"}), ("aiw-ad", LOOKAHEAD)])
def test_a_tiny_network_solves_what_it_was_trained_on(method, settings, home):
    run = sgp.train(method, "gripper", "state-centric", overrides={**SMALL, **settings}, device="cpu")
    tasks = [sgp.Task(problem) for problem in SUITE.problems("gripper", "train")]
    rollouts = sgp.load_planner(run).solve_many(tasks, sgp.Limit(actions=60))
    assert [rollout.outcome for rollout in rollouts] == [sgp.Outcome.SOLVED] * 4
    longest = max(len(step.candidates[step.chosen].actions) for rollout in rollouts for step in rollout.steps)
    assert (longest > 1) is (method == "aiw-ad"), "jumps"
    assert method != "gnn-value" or run.record["facts"]["train_loss"] < 1.0


def saved(checkpoint, data, name):
    key = RunKey("gnn-value", name, "state-centric", "gripper", 5)
    with new_run(key, origin_of(METHOD, checkpoint.training, data)) as draft:
        checkpoint.save(draft)
    return open_run(key.folder)


def test_every_epoch_is_a_planner_and_training_keeps_the_one_of_least_loss(home, tmp_path):
    settings = SMALL | {"training.epochs": "5"}
    _, config = configure(METHOD, None, settings)
    data = sgp.load_training_data(SUITE, "gripper")
    checkpoints = list(METHOD.checkpoints(config, data, tmp_path, 5, "cpu"))
    assert [each.name for each in checkpoints] == [f"epoch {number}" for number in range(1, 6)]
    task = sgp.Task(SUITE.problems("gripper", "validation")[0])
    values = []
    for place, checkpoint in enumerate(checkpoints):  # training has changed the network since the checkpoint
        run = saved(checkpoint, data, f"e{place}")
        assert run.record["facts"]["epoch"] == place + 1
        assert run.record["facts"]["validation_loss"] == checkpoint.loss
        values.append(float(sgp.load_planner(run).policy.value([(task, [task.init])])[0]))
    assert len(set(values)) == 5
    best = min(checkpoints, key=lambda each: each.loss)
    run = sgp.train("gnn-value", "gripper", "state-centric", seed=5, overrides=settings, device="cpu")
    assert f"epoch {run.record['facts']['epoch']}" == best.name
    assert float(sgp.load_planner(run).policy.value([(task, [task.init])])[0]) == values[checkpoints.index(best)]
    later = METHOD.checkpoints(config, data, tmp_path, 5, "cpu", after=4)
    assert [(each.name, each.loss) for each in later] == [("epoch 5", checkpoints[4].loss)]


class Unreached:
    """Known value function: the number of open goal atoms."""

    def refuses(self, task):
        return None

    def __call__(self, states):
        pairs = ((task, each) for task, some in states for each in some)
        return np.array([sum(atom not in task.atoms(each) for atom in task.goal_atoms) for task, each in pairs])


def test_costs_are_the_values_of_each_nodes_own_candidates_and_near_ones_are_tied(three_blocks, two_blocks):
    policy = LowestValue(Unreached())
    assert not policy.rules.additive
    nodes = [Node(three_blocks, three_blocks.init), Node(two_blocks, two_blocks.init)]
    rankings = policy.rank(nodes, [one_step(node.task, node.state) for node in nodes])
    assert [each.costs.tolist() for each in rankings] == [[2.0, 2.0], [1.0, 1.0]]
    assert sgp.Planner(policy).solve(two_blocks).outcome is sgp.Outcome.SOLVED
    costs = probability_ranking(0, (-np.arange(200) * 0.9e-4).astype(np.float32))
    assert len(set(costs.keys)) == 100
    assert costs.costs.max() - costs.costs.min() == pytest.approx(0.9e-4 * 198, rel=0.01)


def test_learning_by_trying_looks_at_no_experts_plan(tmp_path):
    """The loss is independent of training problems' expert plans; validation problems keep theirs to compare epochs."""
    quick = {"training.epochs": "1", "training.steps": "2", "learning.trajectories": "1", "learning.jumps": "3"}
    config = configure(TREES_METHOD, "aiw", TREES | quick)[1]
    data = sgp.load_training_data(SUITE, "gripper")
    bare = replace(data, train=tuple(Trajectory(each.task, (), each.states[:1]) for each in data.train))
    given = ((data, tmp_path / "whole"), (bare, tmp_path / "bare"))
    one, two = (next(TREES_METHOD.checkpoints(config, *each, 1, "cpu")).loss for each in given)
    assert one == two


@pytest.mark.parametrize("settings", TREES_METHOD.ablations, ids=lambda each: "+".join(each.values()))
def test_every_ablation_trains(settings, tmp_path):
    quick = {"training.epochs": "1", "training.steps": "1", "labels.states": "8"}
    config = with_settings(configure(TREES_METHOD, "exact", TREES | quick)[1], settings)
    data = sgp.load_training_data(SUITE, "gripper")
    assert next(TREES_METHOD.checkpoints(config, data, tmp_path, 1, "cpu")).loss > 0


@pytest.mark.slow
def test_a_small_network_without_names_extrapolates_with_optimal_plans(home):
    run = sgp.train("nameless", "gripper", "state-centric", overrides=NAMELESS, device="cpu")
    tasks = [sgp.Task(problem) for problem in SUITE.problems("gripper", "extrapolation")[:4]]
    for task, rollout in zip(tasks, sgp.load_planner(run).solve_many(tasks, sgp.Limit(actions=200)), strict=True):
        balls = len([literal for literal in task.goal if literal.atom.predicate == "at"])
        assert rollout.solved
        # Two balls a trip: two picks and drops, the way there, and the way back except after the last trip.
        assert len(rollout.plan) <= 2 * balls + 2 * -(-balls // 2) + 1


@pytest.mark.parametrize(
    ("key", "variant", "decoding"),
    [("nameless", "pointer", "default"), *(("symt", "ed", each) for each in ("applicable", "regrounding", "ranked"))],
)
def test_an_action_over_an_object_that_occurs_in_no_atom_is_done(key, variant, decoding):
    """Without names, such objects cannot be distinguished: their actions have one key. symt has no token for them."""
    task, method = sgp.Task(LONE), sgp.get_method(key)
    training = method.variants[variant]
    policy = method.learned(training, task.domain_text, method.network(training, task.domain_text, 1).eval(), "cpu")
    planner = method.planner(training, policy, method.decodings[decoding])
    rollout = planner.solve(task)
    assert (rollout.solved, len(rollout.plan)) == (True, 1)
    if key == "nameless":
        (ranking,) = planner.policy.rank([Node(task, task.init)], [one_step(task, task.init)])
        assert len(set(ranking.keys)) == 1
