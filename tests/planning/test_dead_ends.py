"""Relaxed dead ends against the fixpoint by hand, and planners that prune dead ends."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.planning.clock import check_limits
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import one_step
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.state_space import StateSpace
from sgp.planning.strategies import Restarts
from sgp.planning.task import Task
from tests.training.test_labels import Last

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
def test_hopeless_are_the_states_whose_relaxed_goal_is_out_of_reach(domain):
    rng, told = np.random.default_rng(3), set()
    for problem in TRACK.problems(domain, "train")[3:30:9]:
        task = Task(problem)
        wanted = {int(each) for each in task.model.goal.wanted}
        for _ in range(3):
            state = task.init
            for _ in range(12):
                assert task.is_relaxed_dead_end(state) == (not wanted <= relaxed(task, state))
                told.add(task.is_relaxed_dead_end(state))
                choice = one_step(task, state)
                if not choice:
                    break
                state = choice[int(rng.integers(len(choice)))].state
    assert False in told
    assert (True in told) == (domain != "rovers")


def test_a_hopeless_state_is_a_dead_end():
    task = Task(TRACK.problems("floortile", "train")[8])
    space = StateSpace.expand(task, 50_000)
    states = [space.state(place) for place in range(len(space.distances))]
    hopeless = np.array([task.is_relaxed_dead_end(state) for state in states])
    assert hopeless.any()
    assert np.isinf(space.distances[hopeless]).all()
    assert np.isfinite(space.distances[~hopeless]).any()


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


def test_none_is_told_where_not_all_actions_are_instantiated():
    for mode, told in (("grounded", True), ("lifted", False)):
        task, wrong = box(mode)
        assert task.is_relaxed_dead_end(wrong) == told


def test_a_planner_shuns_them_where_it_is_asked_to():
    task, _ = box()
    careless = Planner(Last())
    assert not careless.solve(task).solved
    wary = replace(careless, prune_dead_ends=True)
    rollout = wary.solve(task)
    assert [str(action) for action in rollout.plan] == ["(fix a)", "(close a)"]
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
    assert rollout.outcome is Outcome.TIMEOUT
    assert rollout.steps == ()


def test_where_all_are_dead_ends_the_planner_says_so():
    task, wrong = box()
    rollout = Planner(Last(), prune_dead_ends=True).solve(Task(task.restarted(wrong)))
    assert rollout.outcome is Outcome.STUCK
    assert rollout.reason == "every candidate is a dead end under delete relaxation"
    assert rollout.plan == ()
