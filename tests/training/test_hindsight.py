from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sgp
from sgp.planning.pddl import Atom, Problem
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.training.hindsight import aimed, hindsight_goal, matched
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem


@pytest.fixture
def tower():
    return Task(
        blocks_problem("a b c d", "(ontable a) (on b a) (clear b) (ontable c) (on d c) (clear d)", "(on a b) (on b c)")
    )


def test_a_goal_keeps_its_shape(tower):
    """Two atoms that share b: (on b a) and (on d c) share nothing, so one of them has to do."""
    for seed in range(10):
        goal = matched(tower, tower.atoms(tower.init), np.random.default_rng(seed))
        assert goal in ((Atom("on", ("b", "a")),), (Atom("on", ("d", "c")),))
    three = [Atom("on", ("d", "a")), Atom("on", ("a", "c"))]
    for seed in range(10):
        found = set(matched(tower, three, np.random.default_rng(seed)))
        assert found == set(three) or len(found) == 1


@pytest.mark.parametrize("domain", ["blocksworld", "logistics", "visitall"])
def test_a_new_goal_holds_where_it_was_drawn_and_not_at_the_start(domain):
    rng, drawn = np.random.default_rng(0), 0
    for problem in sgp.load_suite("state-centric").problems(domain, "train")[-6:]:
        task = Task(problem)
        state = task.init
        for _ in range(20):
            choice = one_step(task, state)
            state = choice[int(rng.integers(len(choice)))].state if choice else state
        goal = hindsight_goal(task, state, rng)
        if goal is None:
            continue
        drawn += 1
        assert set(goal) <= set(task.atoms(state))
        assert not set(goal) <= set(task.atoms(task.init))
        wanted, new = (Counter(atom.predicate for atom in each) for each in (task.goal_atoms, goal))
        assert new <= wanted
        other = Task(aimed(task, goal))
        assert set(other.goal_atoms) == set(goal)
        assert set(other.atoms(other.init)) == set(task.atoms(task.init))
    assert drawn > 2


def test_what_is_new_comes_first(tower):
    (unstacked,) = [each.state for each in one_step(tower, tower.init) if str(each.actions[0]) == "(unstack b a)"]
    onto = next(each.state for each in one_step(tower, unstacked) if str(each.actions[0]) == "(stack b d)")
    for seed in range(10):
        goal = hindsight_goal(tower, onto, np.random.default_rng(seed))
        assert Atom("on", ("b", "d")) in goal
        assert set(goal) <= {Atom("on", ("b", "d")), Atom("on", ("d", "c"))}


def test_objects_keep_their_types_and_constants_are_themselves():
    text = COURIER_PROBLEM.replace("(and (at q1 shop) (not (in q1 v1)))", "(and (at q1 depot) (at v1 shop))")
    task = Task(Problem("courier-2", COURIER, text))
    for seed in range(20):
        goal = matched(task, task.atoms(task.init), np.random.default_rng(seed))
        assert Atom("at", ("q1", "depot")) in goal, "no other parcel, and the depot is a constant"
        assert not {Atom("at", ("v1", "shop")), Atom("at", ("b1", "shop"))} & set(goal), "the bike is no van"
    shop = [Atom("at", ("v1", "mill")), Atom("at", ("q1", "shop"))]
    assert matched(task, shop, np.random.default_rng(0)) == (Atom("at", ("v1", "mill")),)
