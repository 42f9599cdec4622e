from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.methods.state_centric import METRICS
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import ADD_UP, Node, one_step
from sgp.planning.task import Task, replay
from sgp.policies.nearest_embedding import NearestEmbedding, RowPredictor, distances
from sgp.policies.nearest_transition import NearestTransition, goal_share
from sgp.policies.random_successor import RandomSuccessor
from sgp.training.recurrent import prediction_rows


def test_distances_by_hand():
    rows = np.array([[3, 4], [0, 0], [6, 8], [-4, 3]], np.float32)
    target = np.array([3, 4], np.float32)
    assert distances("euclidean", rows, target).tolist() == pytest.approx([0, 5, 5, np.sqrt(50)])
    assert distances("cosine", rows, target).tolist() == pytest.approx([0, 1, 0, 1])
    assert distances("cosine", rows, np.zeros(2)).tolist() == [1, 1, 1, 1]


def test_the_metrics_are_those_of_the_paper():
    assert METRICS == {"state": "cosine", "delta": "euclidean"}


SUSSMAN = "(unstack c a) (put-down c) (pick-up b) (stack b c) (pick-up a) (stack a b)".replace(") (", ")\n(")


class CountEncoder:
    """Embeds a state as its number of `on` atoms and its number of `holding` atoms."""

    def refuses(self, task):
        return None

    def embed(self, task, states):
        return np.array([self.count(task.atoms(state)) for state in states], np.float32)

    def embed_candidates(self, task, states, choices):
        return self.embed(task, [candidate.state for choice in choices for candidate in choice])

    def embed_goal(self, task):
        return np.array(self.count(task.goal_atoms), np.float32)

    def count(self, atoms):
        return [sum(atom.predicate == name for atom in atoms) for name in ("on", "holding")]


class Recorder:
    """Predicts the goal; its memory counts the calls along the path."""

    def __init__(self):
        self.asked = []

    def __call__(self, states, goals, carried):
        self.asked.append((states.copy(), goals.copy(), list(carried)))
        return goals, [(each or 0) + 1 for each in carried]


def test_the_nearest_successor_is_taken_and_what_is_carried_follows_the_path(three_blocks):
    recorder = Recorder()
    rollout = Planner(NearestEmbedding(CountEncoder(), recorder, "euclidean")).solve(three_blocks, Limit(actions=3))
    first = rollout.steps[0]
    # on 1 holding 1 after pick-up b, on 0 holding 1 after unstack c a; the goal has on 2, holding 0.
    assert first.costs.tolist() == pytest.approx([np.sqrt(2), np.sqrt(5)])
    assert str(first.successor.actions[0]) == "(pick-up b)"
    assert first.note["predicted"].tolist() == [2, 0]
    assert [carried for _, _, carried in recorder.asked] == [[None], [1], [2]]
    assert [states.tolist() for states, _, _ in recorder.asked][:2] == [[[1, 0]], [[1, 1]]]


def test_equal_embeddings_have_equal_keys(three_blocks):
    policy = NearestEmbedding(CountEncoder(), Recorder(), "euclidean")
    held = three_blocks.apply(three_blocks.init, three_blocks.successors(three_blocks.init)[0].actions[0])
    from sgp.planning.policy import Node

    (ranking,) = policy.rank([Node(three_blocks, held)], [three_blocks.successors(held)])
    names = [str(each.actions[0]) for each in three_blocks.successors(held)]
    keys = dict(zip(names, ranking.keys, strict=True))
    assert keys.keys() == {"(put-down b)", "(stack b c)"}
    assert keys["(put-down b)"] != keys["(stack b c)"]
    (again,) = policy.rank([Node(three_blocks, held)], [three_blocks.successors(held)])
    assert list(again.keys) == list(ranking.keys)


def test_predictions_of_a_tree_model_are_added_in_delta_mode():
    class Model:
        def predict(self, rows):
            assert rows.shape == (2, 4)
            return rows[:, :2] * 10

    states, goals = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    delta, carried = RowPredictor(Model(), "delta")(states, goals, [None, None])
    assert delta.tolist() == [[11, 22], [33, 44]]
    assert carried == [None, None]
    assert RowPredictor(Model(), "state")(states, goals, [None, None])[0].tolist() == [[10, 20], [30, 40]]


def test_transitions_hold_state_goal_and_target(home):
    from sgp.datasets.training_data import load_training_data

    trajectory = load_training_data(sgp.load_suite("state-centric"), "blocksworld").train[0]
    encoder = CountEncoder()
    ((rows, delta),) = prediction_rows(encoder, [trajectory], "delta")
    ((_, state),) = prediction_rows(encoder, [trajectory], "state")
    assert rows.shape == (len(trajectory), 4)
    assert np.array_equal(rows[:, :2] + delta, state)
    assert np.array_equal(rows[1:, :2], state[:-1])
    assert (rows[:, 2:] == encoder.embed_goal(trajectory.task)).all()
    assert state[-1].tolist() == encoder.embed(trajectory.task, [trajectory.states[-1]])[0].tolist()


def test_random_costs_follow_seed_problem_and_step_alone(three_blocks, two_blocks):
    walks = {seed: Planner(RandomSuccessor(seed)).solve(three_blocks, Limit(actions=12)) for seed in range(6)}
    assert len({walk.plan for walk in walks.values()}) > 1
    again = Planner(RandomSuccessor(3)).solve_many([two_blocks, Task(three_blocks.problem)], Limit(actions=12))
    assert again[1] == walks[3]


def test_shares_of_the_softmax_add_up_to_one_and_rank_alike(three_blocks):
    choice = Lookahead()(three_blocks, three_blocks.init)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(three_blocks, three_blocks.init, choice)])
    weights = np.random.default_rng(0).normal(size=(1, encoder.dimension))
    node = Node(three_blocks, three_blocks.init)
    (plain,) = NearestTransition(encoder, weights, 0.01).rank([node], [choice])
    (shares,) = NearestTransition(encoder, weights, 0.01, rules=ADD_UP).rank([node], [choice])
    assert np.exp(-shares.costs).sum() == pytest.approx(1)
    assert np.allclose(np.diff(shares.costs), np.diff(plain.costs))


def test_the_change_moves_with_the_share_of_the_goal_that_is_reached(three_blocks):
    state = three_blocks.successors(three_blocks.init)[0].state
    choice = one_step(three_blocks, state)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(three_blocks, state, choice)])
    base, slope = np.random.default_rng(0).normal(size=(2, encoder.dimension))
    assert goal_share(three_blocks, state) == 0
    solved = replay(three_blocks, parse_plan(SUSSMAN))
    assert [goal_share(three_blocks, each) for each in solved[-3:]] == [0.5, 0.5, 1]
    node = Node(three_blocks, solved[-2])
    choice = one_step(three_blocks, solved[-2])
    (moved,) = NearestTransition(encoder, np.stack([base, slope]), 0.01).rank([node], [choice])
    (fixed,) = NearestTransition(encoder, (base + 0.5 * slope)[None], 0.01).rank([node], [choice])
    assert np.allclose(moved.costs, fixed.costs)
