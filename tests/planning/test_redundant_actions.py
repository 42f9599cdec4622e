"""Elimination of redundant actions, against the published algorithm on whole states."""

import random
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.planning.declarations import Literal
from sgp.planning.pddl import Problem, format_problem, parse_plan
from sgp.planning.redundant_actions import without_redundant_actions
from sgp.planning.task import Task
from tests.conftest import pddl_problem
from tests.planning.test_ground_model import random_problem


def walk(task, count, seed):
    """Actions and end of a random walk."""
    rng, state, actions = np.random.default_rng(seed), task.init, []
    for _ in range(count):
        choice = task.successors(state)
        if not choice:
            break
        successor = choice[int(rng.integers(len(choice)))]
        actions += successor.actions
        state = successor.state
    return actions, state


def reached(problem, state, task, seed):
    """The problem with another goal: some literals that are satisfied in a state."""
    rng, true = random.Random(seed), set(map(task.fluent, task.fluents(state)))
    changed = sorted(true ^ set(map(task.fluent, task.fluents(task.init))))
    literals = [Literal(atom, atom in true) for atom in rng.sample(changed, min(len(changed), rng.randint(1, 3)))]
    return Problem(problem.name, problem.domain_pddl, format_problem(replace(task.text, goal=tuple(literals))))


def after(task, state, action):
    """The state after an action; None if it is not applicable."""
    return next((each.state for each in task.successors(state) if each.actions == (action,)), None)


def eliminated(task, plan):
    """Oracle: action elimination as published, by applying whole plans to whole states."""
    place, left = 0, list(plan)
    while place < len(left):
        state = task.init
        for action in left[:place]:
            state = after(task, state, action)
        others = []
        for action in left[place + 1 :]:
            successor = after(task, state, action)
            if successor is not None:
                others.append(action)
                state = successor
        if task.is_goal(state):
            left[place:] = others
        else:
            place += 1
    return tuple(left)


def check(problem, count, seed):
    """Compare with the oracle on a random walk; return how many actions are removed, of how many."""
    task = Task(problem)
    plan, end = walk(task, count, seed)
    task = Task(reached(problem, end, task, seed))
    found = without_redundant_actions(task, plan)
    assert found == eliminated(task, plan)
    assert sgp.validate(task.problem, tuple(map(task.original, found))).valid
    return len(plan) - len(found), len(plan)


@pytest.mark.parametrize("domain", ["blocksworld", "childsnack", "ferry", "floortile", "miconic", "rovers", "sokoban"])
def test_plans_are_those_of_the_published_algorithm(domain):
    problem = sgp.load_suite("track").problems(domain, "train")[0]
    removed, actions = map(sum, zip(*(check(problem, 25, seed) for seed in range(8)), strict=True))
    assert 0 < removed < actions


def test_plans_of_random_domains_are_those_of_the_published_algorithm():
    removed, actions = map(sum, zip(*(check(random_problem(seed), 12, seed) for seed in range(120)), strict=True))
    assert 0 < removed < actions


DOORS = """(define (domain doors) (:requirements :strips :conditional-effects)
 (:predicates (open ?d) (lit) (passed))
 (:action push :parameters (?d) :effect (and (open ?d) (when (lit) (passed))))
 (:action light :parameters () :effect (lit)))"""


def test_compiled_cases_of_an_action_become_declared_actions():
    task = Task(pddl_problem(DOORS, "a b", "", "(and (open a) (passed))"))
    state, plan = task.init, []
    for text in ("(push b)", "(light)", "(push a)", "(push a)"):
        plan.append(task.own(state, parse_plan(text)[0]))
        state = task.after(state, plan[-1])
    assert [str(task.original(each)) for each in without_redundant_actions(task, plan)] == ["(light)", "(push a)"]


def test_visits_are_limited():
    problem = sgp.load_suite("track").problems("rovers", "train")[0]
    task = Task(problem)
    plan, end = walk(task, 40, 0)
    task = Task(reached(problem, end, task, 0))
    lengths = [len(without_redundant_actions(task, plan, most)) for most in (0, 1, 10**6)]
    assert lengths[0] == len(plan) > lengths[1] > lengths[2]
