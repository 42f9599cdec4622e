from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

import sgp
from sgp.encoders.trees import TreeConfig, TreeEncoder
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.policy import REPLACE, Ranking, one_step
from sgp.planning.task import Task, replay
from sgp.training.hindsight import aimed
from sgp.training.jumps import Replay, explored, in_hindsight, place_of, transitions

SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("blocksworld"), TreeConfig())
AIW = Lookahead("types")


@pytest.fixture(scope="module")
def tasks():
    return [Task(problem) for problem in SUITE.problems("blocksworld", "train")]


@dataclass
class Longest:
    """Prefers the candidate that is most actions away, by one unit an action."""

    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.array([-len(each.actions) for each in choice], float)) for choice in choices]


def tried(tasks, temperature, seed=0):
    return explored(tasks, range(4), Longest(), AIW, temperature, 5, np.random.default_rng(seed))


def test_cold_exploration_is_greedy_and_hot_one_is_not(tasks):
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


def test_transitions_are_the_trajectorys_own(tasks):
    for found in tried(tasks, 1.0):
        task = tasks[found.problem]
        ends = np.cumsum([0, *map(len, found.jumps)])
        states = replay(task, list(chain.from_iterable(found.jumps)))
        kept = transitions(task, found, AIW, ENCODER)
        assert len(kept) == len(found.jumps)
        for number, each in enumerate(kept):
            choice = AIW(task, states[ends[number]])
            assert choice[each.chosen].state == states[ends[number + 1]]
            assert each.tree.candidates == [len(choice)]
            assert (each.after is None) is (found.solved and number == len(kept) - 1)
            assert not each.lost


def test_the_end_of_a_dead_end_is_lost():
    """Once the only spanner was passed, no nut can be tightened; at the gate nothing is left to do."""
    house = sgp.get_domain("spanner")
    text = house.generate(np.random.default_rng(0), **next(iter(house.sizes.solutions(6))))
    task = Task(Problem("spanner", house.pddl, text))
    encoder = TreeEncoder(task.domain_text, TreeConfig())

    class Walks(Longest):
        def rank(self, nodes, choices):
            return [
                Ranking(np.array([0.0 if each.actions[-1].name == "walk" else 9.0 for each in choice]))
                for choice in choices
            ]

    (found,) = explored([task], [0], Walks(), one_step, 1e-6, 30, np.random.default_rng(0))
    last = transitions(task, found, one_step, encoder)[-1]
    assert (found.solved, last.after, last.lost) == (False, None, True)


def test_in_hindsight_a_way_led_where_it_went(tasks):
    rng, told = np.random.default_rng(3), 0
    for seed in range(4):
        for each in tried(tasks, 1.0, seed):
            again = in_hindsight(tasks[each.problem], each, AIW, rng)
            if again is None:
                continue
            told += 1
            task = Task(aimed(tasks[each.problem], again.goal))
            path, new = (list(chain.from_iterable(found.jumps)) for found in (each, again))
            assert new == path[: len(new)]
            states = replay(task, new)
            assert [task.is_goal(state) for state in states] == [False] * len(new) + [True]
            state = task.init
            for jump in again.jumps:
                choice = AIW(task, state)
                place = next(place for place, other in enumerate(choice) if other.actions == jump)
                state = choice[place].state
                assert place_of(task, choice, state) == place
            kept = transitions(task, again, AIW, ENCODER)
            assert kept[-1].after is None
            assert not kept[-1].lost
    assert told > 5


def test_a_replay_keeps_the_last_and_comes_back_from_words(tasks):
    replay_of = [Replay(tasks, AIW, ENCODER, 12) for _ in range(2)]
    rng = np.random.default_rng(0)
    for each in tried(tasks, 1.0) + tried(tasks, 1.0, seed=1):
        replay_of[0].add(each)
        again = in_hindsight(tasks[each.problem], each, AIW, rng)
        if again is not None:
            replay_of[0].add(again)
    assert len(replay_of[0].transitions) == 12
    replay_of[1].load_state_dict(replay_of[0].state_dict())
    assert replay_of[1].state_dict() == replay_of[0].state_dict()
    for one, two in zip(replay_of[0].transitions, replay_of[1].transitions, strict=True):
        assert (one.chosen, one.lost) == (two.chosen, two.lost)
        for name, relation in one.tree.graphs.relations.items():
            assert np.array_equal(relation.arguments, two.tree.graphs.relations[name].arguments)
