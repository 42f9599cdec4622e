import math
import time
from collections import deque
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import sgp
from sgp.planning.clock import check_limits
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import one_step
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.state_space import StateSpace
from sgp.planning.strategies import Restarts
from sgp.planning.task import Candidates, Task
from tests.conftest import pddl_problem
from tests.planning.test_planner import Last, said
from tests.sampling import walked

SUITE = sgp.load_suite("state-centric")
DOMAINS = ["blocksworld", "gripper", "logistics", "visitall"]

# Glue runs out: after gluing the wrong part first, the goal is unreachable.
GLUE = """\
(define (domain glue) (:requirements :strips :typing)
  (:types part) (:predicates (glue) (wanted ?p - part) (fixed ?p - part))
  (:action fix :parameters (?p - part) :precondition (glue) :effect (and (fixed ?p) (not (glue)))))
"""
GLUE_PROBLEM = "(define (problem g) (:domain glue) (:objects a b - part) (:init (glue) (wanted a)) (:goal (fixed a)))"


# More places than a word has bits; each one leads to the next, and can fall.
CORRIDOR = """\
(define (domain corridor) (:requirements :strips)
  (:predicates (at ?x) (next ?x ?y) (fallen))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x))))
  (:action fall :parameters (?x) :precondition (at ?x) :effect (and (fallen) (not (at ?x)))))
"""


def corridor(places):
    names = [f"p{number}" for number in range(places)]
    facts = " ".join(f"(next {one} {two})" for one, two in pairwise(names))
    return Task(pddl_problem(CORRIDOR, " ".join(names), f"(at p0) {facts}", f"(at {names[-1]})"))


def shortest(task, state):
    """Oracle: length of a shortest plan from a state, by a plain forward search."""
    met, waiting = {state}, deque([(state, 0)])
    while waiting:
        here, length = waiting.popleft()
        if task.is_goal(here):
            return length
        for successor in task.successors(here):
            if successor.state not in met:
                met.add(successor.state)
                waiting.append((successor.state, length + 1))
    return math.inf


def reachable(task):
    found = {task.init: None}
    for state in (waiting := [task.init]):
        for successor in task.successors(state):
            if successor.state not in found:
                found[successor.state] = None
                waiting.append(successor.state)
    return list(found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_all_states_and_their_distances(domain):
    problem = min(SUITE.problems(domain, "train"), key=lambda each: Task(each).size)
    task = Task(problem)
    states = reachable(task)
    space = StateSpace.expand(task, len(states))
    assert space is not None
    assert len(space) == len(states)
    assert {space.state(place) for place in range(len(space))} == set(states)
    some = states[:: max(1, len(states) // 40)]
    assert space.distance(some).tolist() == [shortest(task, state) for state in some]
    assert StateSpace.expand(task, len(states) - 1) is None
    for state in some[::4]:
        for choice in (Candidates.of(task, state, list(task.successors(state))), Lookahead()(task, state)):
            assert space.distance_beyond(choice).tolist() == space.distance([each.state for each in choice]).tolist()


@pytest.mark.parametrize("places", [64, 65, 130])
def test_a_state_may_take_several_words(places):
    task = corridor(places)
    space = StateSpace.expand(task, places + 1)
    assert space is not None
    states = reachable(task)[:: places // 8]
    assert space.distance(states).tolist() == [shortest(task, state) for state in states]
    for state in states:
        choice = one_step(task, state)
        assert space.distance_beyond(choice).tolist() == [shortest(task, each.state) for each in choice]
    assert space.distance([]).tolist() == []


def test_dead_ends_negative_goals_and_unreachable_goals(courier):
    glue = Task(Problem("g", GLUE, GLUE_PROBLEM))
    space = StateSpace.expand(glue, 10)
    assert space is not None
    assert sorted(space.distances.tolist()) == [0, 1, math.inf]
    space = StateSpace.expand(courier, 1000)
    assert space is not None
    states = reachable(courier)
    assert space.distance(states).tolist() == [shortest(courier, state) for state in states]
    hopeless = Task(Problem("g", GLUE, GLUE_PROBLEM.replace("(:goal (fixed a))", "(:goal (wanted b))")))
    space = StateSpace.expand(hopeless, 10)
    assert space is not None
    assert set(space.distances) == {math.inf}


TRACK = sgp.load_suite("track")


def relaxed(task, state):
    """Oracle: the atoms reachable without deletes, by applying one action after the other."""
    model = task.model
    needs, adds = ([set(values) for values in split(lists)] for lists in (model.operators.needs, model.operators.adds))
    true, before = set(task.fluents(state)), None
    while before != len(true):
        before = len(true)
        for needed, added in zip(needs, adds, strict=True):
            if needed <= true:
                true |= added
    return true


def split(lists):
    return np.split(lists.indices, lists.indptr[1:-1])


@pytest.mark.parametrize("domain", ["floortile", "sokoban", "spanner", "rovers", "childsnack"])
def test_relaxed_dead_ends_are_the_states_whose_relaxed_goal_is_unreachable(domain):
    found = set()
    for seed, problem in enumerate(TRACK.problems(domain, "train")[3:30:9] * 3):
        task = Task(problem)
        wanted = {int(each) for each in task.model.goal.wanted}
        for state in walked(task, 12, seed):
            assert task.is_relaxed_dead_end(state) == (not wanted <= relaxed(task, state))
            found.add(task.is_relaxed_dead_end(state))
    assert False in found
    assert (True in found) == (domain != "rovers")


def test_a_relaxed_dead_end_is_a_dead_end():
    task = Task(TRACK.problems("floortile", "train")[8])
    space = StateSpace.expand(task, 50_000)
    states = [space.state(place) for place in range(len(space.distances))]
    dead = np.array([task.is_relaxed_dead_end(state) for state in states])
    assert dead.any()
    assert np.isinf(space.distances[dead]).all()
    assert np.isfinite(space.distances[~dead]).any()


BOX = """\
(define (domain box) (:requirements :strips :typing)
  (:types part) (:predicates (glue) (fixed ?p - part) (closed ?p - part))
  (:action fix :parameters (?p - part) :precondition (glue) :effect (and (fixed ?p) (not (glue))))
  (:action close :parameters (?p - part) :precondition (fixed ?p) :effect (closed ?p)))
"""
BOX_PROBLEM = "(define (problem b) (:domain box) (:objects a b - part) (:init (glue)) (:goal (closed a)))"


def box(mode=None):
    """A task, and the state in which the only glue went to the wrong part."""
    task = Task(Problem("b", BOX, BOX_PROBLEM), mode=mode)
    right, wrong = one_step(task, task.init)
    assert not task.is_relaxed_dead_end(right.state)
    return task, wrong.state


def test_dead_ends_and_state_spaces_need_all_actions_instantiated():
    for mode, found in (("grounded", True), ("lifted", False)):
        task, wrong = box(mode)
        assert task.is_relaxed_dead_end(wrong) == found
        assert (StateSpace.expand(task, 100) is not None) == found


def test_a_planner_prunes_dead_ends_where_it_is_asked_to():
    task, _ = box()
    careless = Planner(Last())
    assert not careless.solve(task).solved
    wary = replace(careless, prune_dead_ends=True)
    rollout = wary.solve(task)
    assert said(rollout.plan) == "(fix a) (close a)"
    assert Mark.REJECTED in Mark(int(rollout.steps[0].marks[1]))
    assert Restarts(1, 0).noisy(wary, 0).prune_dead_ends, "nor when it tries again"


def test_a_limit_holds_while_dead_ends_are_looked_for(monkeypatch):
    """The check is slow, as in a problem with very many actions."""

    def slowly(task, state):
        time.sleep(0.2)
        check_limits()
        return True

    monkeypatch.setattr(Task, "is_relaxed_dead_end", slowly)
    problem = Problem("b", BOX, BOX_PROBLEM.replace("a b -", "a b c d e f g h i j k l m n o p q r -"))
    rollout = Planner(Last(), prune_dead_ends=True).solve(Task(problem), Limit(seconds=0.5))
    assert (rollout.outcome, rollout.steps) == (Outcome.TIMEOUT, ())


def test_where_all_are_dead_ends_the_planner_says_so():
    task, wrong = box()
    rollout = Planner(Last(), prune_dead_ends=True).solve(Task(task.restarted(wrong)))
    assert (rollout.outcome, rollout.plan) == (Outcome.STUCK, ())
    assert rollout.reason == "every candidate is a dead end under delete relaxation"
