import math
from collections import deque
from itertools import pairwise

import pytest

import sgp
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.policy import one_step
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Candidates, Task
from tests.conftest import pddl_problem

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
