"""Policies that rank by embeddings, weights and noise, and toward the goal."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.errors import TextTooLong
from sgp.methods.baselines import RandomSuccessor
from sgp.methods.embedplan import GoalwardDecoding, TowardGoal
from sgp.methods.state_centric import METRICS
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import ADD_UP, REPLACE, Node, one_step
from sgp.planning.task import Task, replay
from sgp.policies import nearest_transition as stagnation
from sgp.policies.nearest_embedding import NearestEmbedding, RowPredictor, distances
from sgp.policies.nearest_transition import NearestTransition, goal_share
from sgp.training.trajectory_rows import prediction_rows
from tests.conftest import QUICK_OF, blocks_problem


def test_metrics_their_distances_and_predictions_of_a_tree_model_by_hand():
    assert METRICS == {"state": "cosine", "delta": "euclidean"}, "those of the paper"
    rows = np.array([[3, 4], [0, 0], [6, 8], [-4, 3]], np.float32)
    target = np.array([3, 4], np.float32)
    assert distances("euclidean", rows, target).tolist() == pytest.approx([0, 5, 5, np.sqrt(50)])
    assert distances("cosine", rows, target).tolist() == pytest.approx([0, 1, 0, 1])
    assert distances("cosine", rows, np.zeros(2)).tolist() == [1, 1, 1, 1]

    class Model:
        def predict(self, rows):
            return rows[:, :2] * 10 + rows.shape[1] - 4

    states, goals = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    for mode, expected in (("delta", [[11, 22], [33, 44]]), ("state", [[10, 20], [30, 40]])):
        rows, carried = RowPredictor(Model(), mode)(states, goals, [None, None])
        assert (rows.tolist(), carried) == (expected, [None, None])


SUSSMAN = "(unstack c a) (put-down c) (pick-up b) (stack b c) (pick-up a) (stack a b)".replace(") (", ")\n(")


class CountEncoder:
    """Embeds a state as its numbers of atoms of some predicates."""

    def __init__(self, *predicates):
        self.predicates = predicates

    def refuses(self, task):
        return None

    def embed(self, task, states):
        return np.array([self.count(task.atoms(state)) for state in states], np.float32)

    def embed_candidates(self, task, states, choices):
        return self.embed(task, [candidate.state for choice in choices for candidate in choice])

    def embed_goal(self, task):
        return np.array(self.count(task.goal_atoms), np.float32)

    def count(self, atoms):
        return [sum(atom.predicate == name for atom in atoms) for name in self.predicates]


ENCODER = CountEncoder("on", "holding")


class Recorder:
    """Predicts the goal; its memory counts the calls along the path."""

    def __init__(self):
        self.asked = []

    def __call__(self, states, goals, carried):
        self.asked.append((states.copy(), goals.copy(), list(carried)))
        return goals, [(each or 0) + 1 for each in carried]


def test_the_nearest_successor_is_taken_memory_follows_the_path_and_equal_embeddings_have_equal_keys(three_blocks):
    recorder = Recorder()
    rollout = Planner(NearestEmbedding(ENCODER, recorder, "euclidean")).solve(three_blocks, Limit(actions=3))
    first = rollout.steps[0]
    # on 1 holding 1 after pick-up b, on 0 holding 1 after unstack c a; the goal has on 2, holding 0.
    assert first.costs.tolist() == pytest.approx([np.sqrt(2), np.sqrt(5)])
    assert str(first.successor.actions[0]) == "(pick-up b)"
    assert first.note["predicted"].tolist() == [2, 0]
    assert [carried for _, _, carried in recorder.asked] == [[None], [1], [2]]
    assert [states.tolist() for states, _, _ in recorder.asked][:2] == [[[1, 0]], [[1, 1]]]
    policy = NearestEmbedding(ENCODER, Recorder(), "euclidean")
    held = three_blocks.apply(three_blocks.init, three_blocks.successors(three_blocks.init)[0].actions[0])
    choice = three_blocks.successors(held)
    (ranking,), (again,) = (policy.rank([Node(three_blocks, held)], [choice]) for _ in range(2))
    keys = dict(zip((str(each.actions[0]) for each in choice), ranking.keys, strict=True))
    assert keys.keys() == {"(put-down b)", "(stack b c)"}
    assert keys["(put-down b)"] != keys["(stack b c)"]
    assert list(again.keys) == list(ranking.keys)


def test_transitions_hold_state_goal_and_target(home):
    trajectory = sgp.load_training_data(sgp.load_suite("state-centric"), "blocksworld").train[0]
    encoder = ENCODER
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


def test_shares_of_the_softmax_add_up_to_one_and_the_change_moves_with_the_share_of_the_goal(three_blocks):
    choice = Lookahead()(three_blocks, three_blocks.init)
    encoder, _ = sgp.data.MarkedTransitionEncoder.fit(
        sgp.data.MarkedConfig(), [(three_blocks, three_blocks.init, choice)]
    )
    weights = np.random.default_rng(0).normal(size=(1, encoder.dimension))
    node = Node(three_blocks, three_blocks.init)
    (plain,) = NearestTransition(encoder, weights, 0.01).rank([node], [choice])
    (shares,) = NearestTransition(encoder, weights, 0.01, rules=ADD_UP).rank([node], [choice])
    assert np.exp(-shares.costs).sum() == pytest.approx(1)
    assert np.allclose(np.diff(shares.costs), np.diff(plain.costs))
    choice = one_step(three_blocks, three_blocks.init)
    encoder, _ = sgp.data.MarkedTransitionEncoder.fit(
        sgp.data.MarkedConfig(), [(three_blocks, three_blocks.init, choice)]
    )
    base, slope = np.random.default_rng(0).normal(size=(2, encoder.dimension))
    assert goal_share(three_blocks, three_blocks.init) == 0
    solved = replay(three_blocks, parse_plan(SUSSMAN))
    assert [goal_share(three_blocks, each) for each in solved[-3:]] == [0.5, 0.5, 1]
    node = Node(three_blocks, solved[-2])
    choice = one_step(three_blocks, solved[-2])
    (moved,) = NearestTransition(encoder, np.stack([base, slope]), 0.01).rank([node], [choice])
    (fixed,) = NearestTransition(encoder, (base + 0.5 * slope)[None], 0.01).rank([node], [choice])
    assert np.allclose(moved.costs, fixed.costs)


ATOMS = "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (clear c)"


def blocks():
    return Task(blocks_problem("a b c", ATOMS, "(on a b) (on b c)"))


def walked(task, names):
    node = Node(task, task.init)
    progress = stagnation.update_progress(node)
    for name in names:
        (found,) = [each for each in one_step(task, node.state) if str(each.actions[0]) == name]
        node = Node(task, found.state, memory=progress)
        progress = stagnation.update_progress(node)
    return node, progress


def test_progress_counts_decisions_since_the_fewest_open_goals_and_those_that_were_denied():
    task = blocks()
    back = ["(pick-up a)", "(put-down a)"]
    for names, progress in (([], (2,)), (back, (2, 2)), ([*back, "(pick-up b)", "(stack b c)"], (1,))):
        assert walked(task, names)[1] == stagnation.Progress(*progress)
    costs = np.array([0.0, 1.0, 1e-12])
    kept, denied, tied = stagnation.progress_of_candidates(stagnation.Progress(3, 7, denied=2), costs, REPLACE.tie)
    assert (kept.denied, denied.denied, tied.denied) == (2, 3, 2)
    assert stagnation.progress_of_candidates(stagnation.Progress(1), np.empty(0), 0.0) == []
    _, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 40)
    assert (progress.since, progress.denied) == (80, 0)
    node = Node(task, task.init, memory=stagnation.Progress(3, 9, denied=5))
    assert stagnation.update_progress(node) == stagnation.Progress(2), "progress forgives"


def test_a_path_that_stalled_draws_until_there_is_progress(quick_run, in_shared_home):
    run = quick_run("contrastive-jumps", "blocksworld")
    greedy, escaping = (sgp.load_planner(run.folder, name) for name in ("greedy", "escaping+noise_after=50+seed=5"))
    problem = sgp.load_suite("state-centric").problems("blocksworld", "validation")[0]
    assert greedy.solve(Task(problem)).plan == escaping.solve(Task(problem)).plan, "where no path stalls"
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2)
    choice = one_step(task, node.state)
    found = {}
    for denied in (3, 4):
        at = replace(node, memory=progress._replace(denied=denied))
        for seed in (5, 6):
            policies = (replace(escaping.policy, noise_after=after, seed=seed) for after in (0, 3))
            (plain,), (drawn,) = (policy.rank([at], [choice]) for policy in policies)
            found[denied, seed] = (drawn.costs - plain.costs).tolist()
            least = plain.costs == plain.costs.min()
            assert [each.denied for each in drawn.memories] == np.where(least, denied, denied + 1).tolist()
            assert {each.since for each in drawn.memories} == {progress.since + 1}
    assert found[3, 5] == found[3, 6] == [0.0] * len(choice), "no decision too early"
    assert 0.0 not in found[4, 5]
    assert found[4, 5] != found[4, 6]


def test_candidates_are_drawn_by_their_softmax_and_now_and_then_their_schema_first():
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2 + ["(pick-up a)"])
    choice = one_step(task, node.state)
    assert [str(each.actions[0]) for each in choice] == ["(put-down a)", "(stack a b)", "(stack a c)"]
    costs = np.array([9.0, 0.0, 1.0])
    progress = progress._replace(denied=4)
    assert stagnation.sample_with_gumbel(costs, progress, node, choice, 0, 0) is costs
    assert stagnation.sample_with_gumbel(costs, progress, node, choice, 4, 0) is costs
    for since, share in (
        (stagnation.SCHEMA_DRAW_PERIOD, 0.5),
        (stagnation.SCHEMA_DRAW_PERIOD + 1, np.exp(-9) / (np.exp(-9) + 1 + np.exp(-1))),
    ):
        at = progress._replace(since=since)
        drawn = (stagnation.sample_with_gumbel(costs, at, node, choice, 3, seed) for seed in range(4000))
        first = Counter(int(each.argmin()) for each in drawn)
        assert first[0] / 4000 == pytest.approx(share, abs=0.03)
        assert first[1] / (first[1] + first[2]) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.03)


def test_a_run_plans_by_the_decoding_that_it_was_validated_by(home):
    settings = {**QUICK_OF["contrastive-jumps"], "decoding": "escaping"}
    run = sgp.train("contrastive-jumps", "blocksworld", "state-centric", overrides=settings)
    own, beam, default = (sgp.load_planner(run.folder, name) for name in ("default", "default+beam=2", "greedy"))
    assert (own.policy.noise_after, own.width) == (10, 1)
    assert (beam.policy.noise_after, beam.width) == (10, 2)
    assert (default.policy.noise_after, default.width) == (0, 1)


SUITE = sgp.load_suite("state-centric")


class Atoms:
    """Embeds a state by its satisfied goals and its number of atoms; predictions are exact up to a scale of 3."""

    def __init__(self, task):
        self.goal = list(task.goal_atoms)

    def refuses(self, task):
        return "no" if len(task.objects) > 30 else None

    def embed(self, task, states):
        held = [set(task.atoms(state)) for state in states]
        return np.array([[*(float(each in some) for each in self.goal), 0.01 * len(some)] for some in held])

    def embed_goal(self, task):
        return np.array([*np.ones(len(self.goal)), 0.0])

    def predict(self, task, states, actions):
        pairs = zip(states, actions, strict=True)
        return 3.0 * self.embed(task, [task.apply(state, action) for state, action in pairs])


@pytest.mark.parametrize("compared", ["predicted", "true"])
def test_costs_are_two_less_the_cosine_with_the_goal(compared):
    task = Task(SUITE.problems("gripper", "validation")[0])
    model = Atoms(task)
    rollout = GoalwardDecoding(compared=compared).planner(model).solve(task, Limit(actions=6))
    assert rollout.steps
    goal = model.embed_goal(task)
    for step in rollout.steps:
        rows = model.embed(task, [each.state for each in step.candidates])
        near = rows @ goal / np.linalg.norm(rows, axis=1) / np.linalg.norm(goal)
        assert np.allclose(step.costs, 2.0 - near)
        assert step.costs[step.chosen] == pytest.approx(step.costs[step.open_to_choice].min())


@pytest.mark.parametrize("compared", ["predicted", "true"])
def test_a_task_is_refused_as_by_its_model_also_when_a_text_grows_too_long_and_no_other_is(compared):
    class Short(Atoms):
        def embed(self, task, states):
            if task.name == large.name and any(state != task.init for state in states):
                raise TextTooLong("a text has 300 tokens")
            return super().embed(task, states)

    small, large = (Task(problem) for problem in SUITE.problems("gripper", "validation"))
    model = Short(small)
    model.goal = [*small.goal_atoms, *large.goal_atoms]
    assert TowardGoal(model).refuses(Task(SUITE.problems("gripper", "extrapolation")[-1])) == "no"
    planner = GoalwardDecoding(compared=compared).planner(model)
    one, other = planner.solve_many([small, large], Limit(actions=3))
    assert one.steps
    assert not one.reason
    assert (other.outcome, other.reason, len(other.steps)) == (sgp.Outcome.REFUSED, "a text has 300 tokens", 0)
