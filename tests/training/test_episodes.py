from collections import Counter
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

import sgp
from sgp.encoders.trees import TreeConfig, TreeEncoder
from sgp.methods import aiw_ad as episodes
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Atom, Problem
from sgp.planning.policy import REPLACE, Ranking, one_step
from sgp.planning.task import Task, replay
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem
from tests.planning.test_planner import by_name

SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("blocksworld"), TreeConfig())
AIW = Lookahead("types")


@pytest.fixture(scope="module")
def tasks():
    return [Task(problem) for problem in SUITE.problems("blocksworld", "train")]


@dataclass
class Longest:
    """Prefers the longest candidate, by one unit an action."""

    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.array([-len(each.actions) for each in choice], float)) for choice in choices]


def tried(tasks, temperature, seed=0):
    return episodes.collect_episodes(tasks, range(4), Longest(), AIW, temperature, 5, np.random.default_rng(seed))


def test_cold_exploration_is_greedy_and_hot_one_is_not_and_transitions_are_the_trajectorys_own(tasks):
    for found in tried(tasks, 1e-6):
        task, states = tasks[found.problem], [tasks[found.problem].init]
        for jump in found.jumps:
            choice = AIW(task, states[-1])
            assert len(jump) == max(len(each.actions) for each in choice)
            states.append(next(each.state for each in choice if each.actions == jump))
        assert found.solved is task.is_goal(states[-1])
        assert found.solved or len(found.jumps) == 5
    assert tried(tasks, 1.0) == tried(tasks, 1.0), "the same generator gives the same trajectories"
    assert tried(tasks, 1.0) != tried(tasks, 1.0, seed=1)
    for found in tried(tasks, 1.0):
        task = tasks[found.problem]
        ends = np.cumsum([0, *map(len, found.jumps)])
        states = replay(task, list(chain.from_iterable(found.jumps)))
        kept = episodes.transitions(task, found, AIW, ENCODER)
        assert len(kept) == len(found.jumps)
        for number, each in enumerate(kept):
            choice = AIW(task, states[ends[number]])
            assert choice[each.chosen].state == states[ends[number + 1]]
            assert each.tree.candidates == [len(choice)]
            assert (each.after is None) is (found.solved and number == len(kept) - 1)
            assert not each.dead_end


def test_the_end_of_a_dead_end_is_marked():
    """Once the only spanner was passed, no nut can be tightened; at the gate no action is applicable."""
    domain = sgp.get_domain("spanner")
    text = domain.generate(np.random.default_rng(0), **next(iter(domain.sizes.solutions(6))))
    task = Task(Problem("spanner", domain.pddl, text))
    (found,) = episodes.collect_episodes([task], [0], by_name(walk=0.0), one_step, 1e-6, 30, np.random.default_rng(0))
    last = episodes.transitions(task, found, one_step, TreeEncoder(task.domain_text, TreeConfig()))[-1]
    assert (found.solved, last.after, last.dead_end) == (False, None, True)


def test_a_relabelled_episode_leads_to_its_goal(tasks):
    rng, told = np.random.default_rng(3), 0
    for seed in range(4):
        for each in tried(tasks, 1.0, seed):
            again = episodes.relabel_with_hindsight_goal(tasks[each.problem], each, AIW, rng)
            if again is None:
                continue
            told += 1
            task = Task(episodes.with_goal(tasks[each.problem], again.goal))
            path, new = (list(chain.from_iterable(found.jumps)) for found in (each, again))
            assert new == path[: len(new)]
            states = replay(task, new)
            assert [task.is_goal(state) for state in states] == [False] * len(new) + [True]
            state = task.init
            for jump in again.jumps:
                choice = AIW(task, state)
                place = next(place for place, other in enumerate(choice) if other.actions == jump)
                state = choice[place].state
                assert episodes.place_of(choice, state) == place
            kept = episodes.transitions(task, again, AIW, ENCODER)
            assert kept[-1].after is None
            assert not kept[-1].dead_end
    assert told > 5


def test_a_replay_keeps_the_last_and_comes_back_from_its_record(tasks):
    replay_of = [episodes.ReplayBuffer(tasks, AIW, ENCODER, 12) for _ in range(2)]
    rng = np.random.default_rng(0)
    for each in tried(tasks, 1.0) + tried(tasks, 1.0, seed=1):
        again = episodes.relabel_with_hindsight_goal(tasks[each.problem], each, AIW, rng)
        for episode in filter(None, (each, again)):
            replay_of[0].add(episode)
    assert len(replay_of[0].transitions) == 12
    replay_of[1].load_state_dict(replay_of[0].state_dict())
    assert replay_of[1].state_dict() == replay_of[0].state_dict()
    for one, two in zip(replay_of[0].transitions, replay_of[1].transitions, strict=True):
        assert (one.chosen, one.dead_end) == (two.chosen, two.dead_end)
        for name, relation in one.tree.graphs.relations.items():
            assert np.array_equal(relation.arguments, two.tree.graphs.relations[name].arguments)


@pytest.fixture
def tower():
    atoms = "(ontable a) (on b a) (clear b) (ontable c) (on d c) (clear d)"
    return Task(blocks_problem("a b c d", atoms, "(on a b) (on b c)"))


def test_a_goal_keeps_its_shape_and_what_is_new_comes_first(tower):
    """Two atoms that share b: (on b a) and (on d c) share no object, so the new goal is one of them."""
    three = [Atom("on", ("d", "a")), Atom("on", ("a", "c"))]
    unstacked = next(each.state for each in one_step(tower, tower.init) if str(each.actions[0]) == "(unstack b a)")
    onto = next(each.state for each in one_step(tower, unstacked) if str(each.actions[0]) == "(stack b d)")
    for seed in range(10):
        goal = episodes.matched(tower, tower.atoms(tower.init), np.random.default_rng(seed))
        assert goal in ((Atom("on", ("b", "a")),), (Atom("on", ("d", "c")),))
        found = set(episodes.matched(tower, three, np.random.default_rng(seed)))
        assert found == set(three) or len(found) == 1
        goal = episodes.hindsight_goal(tower, onto, np.random.default_rng(seed))
        assert Atom("on", ("b", "d")) in goal
        assert set(goal) <= {Atom("on", ("b", "d")), Atom("on", ("d", "c"))}


@pytest.mark.parametrize("domain", ["blocksworld", "logistics", "visitall"])
def test_a_new_goal_holds_where_it_was_drawn_and_not_at_the_start(domain):
    rng, drawn = np.random.default_rng(0), 0
    for problem in sgp.load_suite("state-centric").problems(domain, "train")[-6:]:
        task = Task(problem)
        state = task.init
        for _ in range(20):
            choice = one_step(task, state)
            state = choice[int(rng.integers(len(choice)))].state if choice else state
        goal = episodes.hindsight_goal(task, state, rng)
        if goal is None:
            continue
        drawn += 1
        assert set(goal) <= set(task.atoms(state))
        assert not set(goal) <= set(task.atoms(task.init))
        wanted, new = (Counter(atom.predicate for atom in each) for each in (task.goal_atoms, goal))
        assert new <= wanted
        other = Task(episodes.with_goal(task, goal))
        assert set(other.goal_atoms) == set(goal)
        assert set(other.atoms(other.init)) == set(task.atoms(task.init))
    assert drawn > 2


def test_objects_keep_their_types_and_constants_are_themselves():
    text = COURIER_PROBLEM.replace("(and (at q1 shop) (not (in q1 v1)))", "(and (at q1 depot) (at v1 shop))")
    task = Task(Problem("courier-2", COURIER, text))
    for seed in range(20):
        goal = episodes.matched(task, task.atoms(task.init), np.random.default_rng(seed))
        assert Atom("at", ("q1", "depot")) in goal, "no other parcel, and the depot is a constant"
        assert not {Atom("at", ("v1", "shop")), Atom("at", ("b1", "shop"))} & set(goal), "the bike is no van"
    shop = [Atom("at", ("v1", "mill")), Atom("at", ("q1", "shop"))]
    assert episodes.matched(task, shop, np.random.default_rng(0)) == (Atom("at", ("v1", "mill")),)
