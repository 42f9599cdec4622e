from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import sgp
from sgp.encoders.trees import TreeConfig, TreeEncoder
from sgp.errors import ConfigurationError
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.policies.tree_scores import TreeScores, tree_scores
from sgp.training.episodes import Transition
from sgp.training.fit import FitContext
from sgp.training.jump_learning import JumpLearning, fit_q, targets
from sgp.training.labels import followed
from sgp.training.tree_ranking import LabelledTrees, TreeTraining
from tests.conftest import blocks_problem

QUICK = TreeTraining(epochs=4, steps=3, batch=6, learning_rate=0.01)
LEARNING = JumpLearning(trajectories=2, jumps=6)
AIW = Lookahead("types")
SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("gripper"), TreeConfig())


@pytest.fixture(scope="module")
def trajectories():
    return sgp.load_training_data(SUITE, "gripper").train[:2]


@pytest.fixture(scope="module")
def epochs(trajectories):
    """Return the epochs of a training on two tasks, or on the given ones."""
    own = [each.task for each in trajectories]
    validation = LabelledTrees.of(ENCODER, list(followed(trajectories[:1], AIW)))

    def train(folder, after=0, seed=3, tasks=own, config=QUICK, learning=LEARNING, model=None, encoder=ENCODER):
        model = model or network()
        return fit_q(
            model, config, learning, tasks, AIW, encoder, validation, FitContext(seed, "cpu", folder, "t", after)
        )

    return train


def network(layers=2, hidden=8):
    torch.manual_seed(0)
    return LookaheadModel(ENCODER.relations, RelationalShape(layers, hidden))


def test_targets_count_the_jumps_that_are_left(trajectories):
    task = trajectories[0].task
    tree = ENCODER.encode(task, task.init, AIW(task, task.init))
    model = network()
    with torch.no_grad():
        model.read_candidate._outer.bias.fill_(-7.0)
    best = float(tree_scores(model, tree, "cpu")[0].max())
    ways = [Transition(tree, 0, None, False), Transition(tree, 0, None, True), Transition(tree, 1, tree, False)]
    learning = JumpLearning(discount=0.9)
    assert targets(model, learning, ways, "cpu").tolist() == pytest.approx([-1, -1 - 0.9 * 10, -1 + 0.9 * best])
    with torch.no_grad():
        model.read_candidate._outer.bias.fill_(50.0)
    assert targets(model, learning, ways, "cpu")[2] == -1, "nothing is better than the goal"


def test_trying_teaches_to_plan(epochs, trajectories, tmp_path):
    config = TreeTraining(epochs=6, steps=10, batch=12, learning_rate=0.01)
    model = network(layers=3)
    found = list(epochs(tmp_path, config=config, learning=replace(LEARNING, jumps=12), model=model))
    assert [each.number for each in found] == list(range(1, 7))
    planner = Planner(TreeScores(ENCODER, model.eval(), "cpu"), AIW)
    rollouts = planner.solve_many([each.task for each in trajectories], Limit(actions=40))
    assert [each.outcome for each in rollouts] == [Outcome.SOLVED] * 2


def test_temperatures_fall():
    learning = JumpLearning()
    assert [learning.temperature(number, 1000) for number in (1, 1000)] == pytest.approx([1.0, 0.1])
    assert learning.never == pytest.approx(-1000)


def test_problems_that_are_solved_teach_nothing(epochs, tmp_path):
    task = Task(blocks_problem("a", "(ontable a) (clear a)", "(ontable a)"))
    encoder = TreeEncoder(task.domain_text, TreeConfig())
    model = LookaheadModel(encoder.relations, RelationalShape(1, 4))
    training = epochs(tmp_path, tasks=[task], model=model, encoder=encoder)
    with pytest.raises(ConfigurationError, match="no jump of a training problem was evaluated; expected problems who"):
        next(training)
