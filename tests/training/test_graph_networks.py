"""Trainings of graph networks: values, rankings of lookahead trees, and jumps by trying."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.encoders.trees import TreeConfig, TreeEncoder
from sgp.errors import ConfigurationError
from sgp.methods import gnn_value
from sgp.methods.aiw_ad import JumpLearning, Transition, fit_q, targets
from sgp.methods.gnn_value import RelationalTraining, costs_to_go, fit_values, mean_error, predict
from sgp.models.relational import LookaheadModel, RelationalModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.training import tree_ranking
from sgp.training.fit import FitContext
from sgp.training.labels import followed
from sgp.training.tree_ranking import PART, TreeScores, tree_scores
from tests.conftest import blocks_problem


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")


@pytest.fixture(scope="module")
def state_encoder(data):
    return RelationalEncoder(data.train[0].task.domain_text)


@pytest.fixture(scope="module")
def valued(data, state_encoder):
    return costs_to_go(state_encoder, data.train)


def value_network(state_encoder, seed=0):
    torch.manual_seed(seed)
    return RelationalModel(state_encoder.relations, RelationalShape(layers=2, hidden=8))


def value_epochs(state_encoder, valued, config):
    return fit_values(value_network(state_encoder), config, valued, valued, FitContext(3))


def test_targets_count_down_to_the_goal_and_the_loss_is_the_mean_absolute_error(data, state_encoder, valued):
    ends = np.cumsum([len(each) + 1 for each in data.train])
    assert len(valued.states) == len(valued.values) == ends[-1]
    assert valued.values[ends - 1].tolist() == [0.0] * len(data.train)
    assert valued.values[: ends[0]].tolist() == list(range(len(data.train[0]), -1, -1))
    model = value_network(state_encoder)
    with torch.no_grad():
        for parameter in model.read_value.parameters():
            parameter.zero_()
        model.read_value._outer.bias.fill_(5.0)  # every state is at distance 5
    assert set(predict(model, valued.states, "cpu")) == {5.0}
    expected = np.mean([abs(left - 5.0) for length in (5, 11, 17, 23) for left in range(length + 1)])
    assert mean_error(model, valued, "cpu") == pytest.approx(expected)


@pytest.mark.slow
def test_training_lowers_the_loss(state_encoder, valued):
    config = RelationalTraining(epochs=40, learning_rate=0.01, batch=16)
    losses = [each.validation_loss for each in value_epochs(state_encoder, valued, config)]
    assert losses[-1] < 0.25 * losses[0]


def test_parts_change_no_gradient(state_encoder, valued, monkeypatch):
    (whole,) = value_epochs(state_encoder, valued, RelationalTraining(epochs=1, batch=32))
    monkeypatch.setitem(gnn_value.PART, "cpu", 40)
    (parts,) = value_epochs(state_encoder, valued, RelationalTraining(epochs=1, batch=32))
    assert parts.train_loss == pytest.approx(whole.train_loss, rel=1e-5)
    for name, value in whole.weights.items():
        assert torch.allclose(value, parts.weights[name], atol=1e-5)


@pytest.fixture(scope="module")
def decisions():
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    return list(followed(data.train, Lookahead("types")))


@pytest.fixture(scope="module")
def encoder(decisions):
    return TreeEncoder(decisions[0].task.domain_text, TreeConfig())


@pytest.fixture(scope="module")
def labelled(encoder, decisions):
    return tree_ranking.LabelledTrees.of(encoder, decisions)


def network(encoder, seed=0):
    torch.manual_seed(seed)
    return LookaheadModel(encoder.relations, RelationalShape(layers=2, hidden=8))


def test_losses_of_depths_and_of_right_candidates_and_the_rate_by_hand():
    """Deeper nodes shall score higher: three depths in the first tree, one in the second, two in the third."""
    scores, trees = torch.tensor([0.0, 1.0, 5.0, 2.0, 3.0, 3.0]), torch.tensor([0, 0, 0, 1, 2, 2])
    near, far = math.log1p(math.exp(-1)) + math.log1p(math.exp(-4)), math.log1p(math.exp(-5))
    expected = [(near + far / 2) / 2.5, 0.0, math.log(2)]
    assert tree_ranking.depth_ranking_loss(scores, trees, 3).tolist() == pytest.approx(expected)
    assert tree_ranking.depth_ranking_loss(scores[:0], trees[:0], 2).tolist() == [0.0, 0.0]
    scores, trees = torch.tensor([0.0, math.log(3), 500.0, 500.0]), torch.tensor([0, 0, 1, 1])
    found = tree_ranking.contrastive_losses(scores, torch.tensor([False, True, True, False]), trees, 2)
    assert found.tolist() == pytest.approx([-math.log(3 / 4), math.log(2)], rel=1e-4), "of the share of the right ones"
    config = tree_ranking.TreeTraining(epochs=300)
    assert (config.rate(0), config.rate(300 * 32 - 1), config.rate(10**6)) == pytest.approx((1e-3, 1e-5, 1e-5))


def test_training_lowers_both_losses(encoder, labelled):
    config = tree_ranking.TreeTraining(epochs=6, steps=8, batch=8, learning_rate=0.02, depth_weight=1.0)
    model = network(encoder)

    def ordered():
        graphs = model.graphs(*labelled.trees.joined())
        losses = tree_ranking.depth_ranking_loss(model(graphs)[1].detach(), graphs.depth_trees, len(labelled.trees))
        return float(losses.mean())

    before = tree_ranking.mean_loss(model, labelled, "cpu"), ordered()
    last = list(tree_ranking.fit_ranking(model, config, labelled, labelled, FitContext(0)))[-1]
    assert last.validation_loss == tree_ranking.mean_loss(model, labelled, "cpu") < 0.6 * before[0]
    assert ordered() < before[1]


def test_the_mean_is_by_weight_and_parts_change_nothing(encoder, labelled, decisions, monkeypatch):
    model = network(encoder)
    whole = tree_ranking.mean_loss(model, labelled, "cpu")
    alone = [tree_ranking.LabelledTrees.of(encoder, [each]) for each in decisions]
    losses = [tree_ranking.mean_loss(model, each, "cpu") for each in alone]
    assert whole == pytest.approx(np.average(losses, weights=[each.weight for each in decisions]), rel=1e-5)
    config = tree_ranking.TreeTraining(epochs=1, steps=2, batch=16)
    (one,) = tree_ranking.fit_ranking(network(encoder), config, labelled, labelled, FitContext(3))
    monkeypatch.setitem(PART, "cpu", 500)
    assert tree_ranking.mean_loss(model, labelled, "cpu") == pytest.approx(whole, rel=1e-5)
    (other,) = tree_ranking.fit_ranking(network(encoder), config, labelled, labelled, FitContext(3))
    assert other.train_loss == pytest.approx(one.train_loss, rel=1e-5)


QUICK = tree_ranking.TreeTraining(epochs=4, steps=3, batch=6, learning_rate=0.01)
LEARNING = JumpLearning(trajectories=2, jumps=6)
AIW = Lookahead("types")
SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("gripper"), TreeConfig())


@pytest.fixture(scope="module")
def trajectories():
    return sgp.load_training_data(SUITE, "gripper").train[:2]


@pytest.fixture(scope="module")
def q_epochs(trajectories):
    own = [each.task for each in trajectories]
    validation = tree_ranking.LabelledTrees.of(ENCODER, list(followed(trajectories[:1], AIW)))

    def train(folder, model, tasks=own, config=QUICK, learning=LEARNING, encoder=ENCODER):
        return fit_q(model, config, learning, tasks, AIW, encoder, validation, FitContext(3, "cpu", folder, "t"))

    return train


def q_network(layers=2):
    torch.manual_seed(0)
    return LookaheadModel(ENCODER.relations, RelationalShape(layers, 8))


def test_targets_count_the_jumps_that_are_left_and_temperatures_fall(trajectories):
    learning = JumpLearning()
    assert [learning.temperature(number, 1000) for number in (1, 1000)] == pytest.approx([1.0, 0.1])
    assert learning.never == pytest.approx(-1000)
    task = trajectories[0].task
    tree = ENCODER.encode(task, task.init, AIW(task, task.init))
    model = q_network()
    with torch.no_grad():
        model.read_candidate._outer.bias.fill_(-7.0)
    best = float(tree_scores(model, tree, "cpu")[0].max())
    ways = [Transition(tree, 0, None, False), Transition(tree, 0, None, True), Transition(tree, 1, tree, False)]
    learning = JumpLearning(discount=0.9)
    assert targets(model, learning, ways, "cpu").tolist() == pytest.approx([-1, -1 - 0.9 * 10, -1 + 0.9 * best])
    with torch.no_grad():
        model.read_candidate._outer.bias.fill_(50.0)
    assert targets(model, learning, ways, "cpu")[2] == -1, "nothing is better than the goal"


def test_trying_teaches_to_plan(q_epochs, trajectories, tmp_path):
    config = tree_ranking.TreeTraining(epochs=6, steps=10, batch=12, learning_rate=0.01)
    model = q_network(layers=3)
    found = list(q_epochs(tmp_path, model, config=config, learning=replace(LEARNING, jumps=12)))
    assert [each.number for each in found] == list(range(1, 7))
    planner = sgp.Planner(TreeScores(ENCODER, model.eval(), "cpu"), AIW)
    rollouts = planner.solve_many([each.task for each in trajectories], sgp.Limit(actions=40))
    assert [each.outcome for each in rollouts] == [sgp.Outcome.SOLVED] * 2


def test_problems_that_are_solved_teach_nothing(q_epochs, tmp_path):
    task = sgp.Task(blocks_problem("a", "(ontable a) (clear a)", "(ontable a)"))
    encoder = TreeEncoder(task.domain_text, TreeConfig())
    model = LookaheadModel(encoder.relations, RelationalShape(1, 4))
    training = q_epochs(tmp_path, model, tasks=[task], encoder=encoder)
    with pytest.raises(ConfigurationError, match="no jump of a training problem was evaluated; expected problems who"):
        next(training)
