import math
import random
import time
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

import sgp
from sgp.planning import dead_ends
from sgp.planning.clock import Clock, OutOfTime, check_limits, stop_flag
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import one_step
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.state_space import StateSpace
from sgp.planning.strategies import Restarts
from sgp.planning.task import Task
from tests.conftest import pddl_problem
from tests.planning.test_ground_model import random_problem
from tests.planning.test_planner import Last, said
from tests.sampling import walked

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


def pairs_of(task):
    """Oracle: the pairs of atoms of reachable states, and those from which the goal may be reached, by definition.

    A pair is a set of one or two atoms.
    """
    model = task.model
    operators = [[set(each) for each in split(lists)] for lists in model.operators[:4]]
    wanted, unwanted = (set(values.tolist()) for values in (model.goal.wanted, model.goal.unwanted))
    atoms = set(range(model.atoms))

    def all_in(values, table):
        return all(frozenset(pair) in table for pair in product(values, repeat=2))

    reachable = closed(
        {frozenset(pair) for pair in product(task.fluents(task.init), repeat=2)},
        lambda table: (
            frozenset((one, other))
            for needs, forbids, adds, deletes in zip(*operators, strict=True)
            if all_in(needs, table)
            for one, other in product(adds, atoms)
            if other in adds or (other not in forbids | deletes and all_in(needs | {other}, table))
        ),
    )
    solvable = closed(
        {pair for pair in reachable if not pair & unwanted and all_in(wanted | pair, reachable)},
        lambda table: (
            pair
            for needs, forbids, adds, deletes in zip(*operators, strict=True)
            for pair in reachable - table
            if not pair & forbids and all_in(needs | pair, reachable) and all_in((needs | pair) - deletes | adds, table)
        ),
    )
    return reachable, solvable


def closed(table, derive):
    """Add derived members until there are no more."""
    before = -1
    while before != len(table):
        before = len(table)
        table |= set(derive(table))
    return table


def solvable_problem(seed):
    """A random problem whose goal is that some atoms of a random walk's last state are true or false."""
    problem, rng = random_problem(seed), random.Random(seed)
    task = Task(problem)
    *_, last = walked(task, 5, seed)
    true = set(map(str, map(task.fluent, task.fluents(last))))
    met = sorted({str(task.fluent(each)) for state in walked(task, 5, seed) for each in task.fluents(state)})
    chosen = rng.sample(met, min(len(met), rng.randint(1, 3)))
    goal = [atom if atom in true else f"(not {atom})" for atom in chosen]
    return replace(problem, problem_pddl=problem.problem_pddl.replace("(never)", f"(and {' '.join(goal)})"))


# A robot may paint the tile in front of it or step back, but never step on a painted tile.
PAINTING = """\
(define (domain painting) (:requirements :strips)
  (:predicates (at ?x) (before ?x ?y) (painted ?x) (clear ?x))
  (:action paint :parameters (?x ?y) :precondition (and (at ?x) (before ?x ?y) (clear ?y))
    :effect (and (painted ?y) (not (clear ?y))))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (before ?x ?y) (clear ?y))
    :effect (and (at ?y) (clear ?x) (not (at ?x)) (not (clear ?y))))
  (:action return :parameters (?x ?y) :precondition (and (at ?y) (before ?x ?y) (clear ?x))
    :effect (and (at ?x) (clear ?y) (not (at ?y)) (not (clear ?x)))))
"""


# The same with negative preconditions.
NEGATIVE = """\
(define (domain painting) (:requirements :strips :negative-preconditions)
  (:predicates (at ?x) (before ?x ?y) (painted ?x))
  (:action paint :parameters (?x ?y) :precondition (and (at ?x) (before ?x ?y) (not (painted ?y)))
    :effect (painted ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (before ?x ?y) (not (painted ?y)))
    :effect (and (at ?y) (not (at ?x))))
  (:action return :parameters (?x ?y) :precondition (and (at ?y) (before ?x ?y) (not (painted ?x)))
    :effect (and (at ?x) (not (at ?y)))))
"""


def painting_problem(seed):
    """A robot on a random graph of tiles; some shall be painted, and some not."""
    rng = random.Random(seed)
    tiles = list("abcdef")[: rng.randint(3, 6)]
    edges = {*pairwise(tiles), *(tuple(sorted(rng.sample(tiles, 2))) for _ in range(2))}
    before = [f"(before {one} {other})" for one, other in sorted(edges)]
    painted = set(rng.sample(tiles[1:], rng.randint(1, len(tiles) - 1)))
    goal = [
        f"(painted {tile})" if tile in painted else f"(not (painted {tile}))" for tile in tiles if rng.random() < 0.7
    ]
    if seed % 2:
        return pddl_problem(NEGATIVE, " ".join(tiles), " ".join(["(at a)", *before]), f"(and {' '.join(goal)})")
    init = ["(at a)", *before, *(f"(clear {tile})" for tile in tiles[1:])]
    return pddl_problem(PAINTING, " ".join(tiles), " ".join(init), f"(and {' '.join(goal)})")


def small_problems():
    """Problems of all domains of the track and of random domains, small enough for the oracle."""
    named = [TRACK.problems(domain, "train")[0] for domain in TRACK.domains]
    problems = [*named, *map(solvable_problem, range(120)), *map(painting_problem, range(30))]
    return [problem for problem in problems if 0 < Task(problem, "grounded").model.atoms <= 40]


def test_pairs_of_atoms_are_those_of_their_definition():
    found = 0
    for problem in small_problems():
        task = Task(problem, "grounded")
        reachable, solvable = pairs_of(task)
        dead = {frozenset(pair) for pair in np.argwhere(bits(task._dead_ends.dead_pairs())).tolist()}
        assert dead == reachable - solvable, problem.name
        found += bool(dead)
    assert found > 20


def bits(table):
    """The rows of a table as a matrix."""
    return np.unpackbits(table.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)


def test_only_dead_ends_are_recognised():
    """In complete state spaces; the proof that delete relaxation recognises none holds there, too."""
    by_pairs, by_relaxation, never = 0, 0, 0
    for problem in [*small_problems(), TRACK.problems("floortile", "train")[8]]:
        task = Task(problem, "grounded")
        space = StateSpace.expand(task, 50_000)
        if space is None:
            continue
        wanted = {int(each) for each in task.model.goal.wanted}
        for place, distance in enumerate(space.distances[:2000].tolist()):
            state = space.state(place)
            hopeless = not task.model.goal.possible or not wanted <= relaxed(task, state)
            found = task.is_dead_end(state)
            assert found >= hopeless
            assert not found or distance == math.inf
            assert not (hopeless and task._dead_ends._never_relaxed)
            by_relaxation += hopeless
            by_pairs += found and not hopeless
            never += task._dead_ends._never_relaxed
    assert min(by_pairs, by_relaxation, never) > 100


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "floortile", "sokoban", "spanner", "rovers", "childsnack"])
def test_relaxed_dead_ends_are_the_states_whose_relaxed_goal_is_unreachable(domain):
    found = set()
    for seed, problem in enumerate(TRACK.problems(domain, "train")[3:30:9] * 3):
        task = Task(problem)
        wanted = {int(each) for each in task.model.goal.wanted}
        assert task._dead_ends._never_relaxed == (domain in ("blocksworld", "ferry"))
        for state in walked(task, 12, seed):
            hopeless = not wanted <= relaxed(task, state)
            assert task._dead_ends._is_relaxed(task.fluent_array(state)) == hopeless
            found.add(hopeless)
    assert False in found
    assert (True in found) == (domain not in ("rovers", "blocksworld", "ferry"))


def test_a_painted_tile_before_an_unpainted_one_is_a_dead_end():
    task = Task(pddl_problem(PAINTING, "a b c", "(at a) (before a b) (before b c) (clear b) (clear c)", "(painted c)"))
    states = {tuple(map(str, each.actions)): each.state for each in task.successors(task.init)}
    assert task.is_dead_end(states[("(paint a b)",)])
    assert not task.is_dead_end(states[("(go a b)",)])


FRAGILE = """\
(define (domain fragile) (:requirements :strips :negative-preconditions)
  (:predicates (ready) (broken) (done))
  (:action break :parameters () :precondition () :effect (broken))
  (:action finish :parameters () :precondition (and (ready) (not (broken))) :effect (and (done) (not (ready)))))
"""


def test_a_precondition_that_stays_false_makes_a_dead_end():
    task = Task(pddl_problem(FRAGILE, "", "(ready)", "(done)"))
    broken, done = (each.state for each in task.successors(task.init))
    assert task.is_dead_end(broken)
    assert not task.is_dead_end(done)


@pytest.mark.parametrize("limit", ["MOST_ATOMS", "MOST_PAIRS"])
def test_pairs_of_large_tasks_are_not_computed(limit, monkeypatch):
    task = Task(TRACK.problems("floortile", "train")[8])
    most = task.model.atoms * (1 if limit == "MOST_ATOMS" else len(task.model))
    monkeypatch.setattr(dead_ends, limit, most - 1)
    assert task._dead_ends._pairs is None
    monkeypatch.setattr(dead_ends, limit, most)
    assert Task(task.problem)._dead_ends._pairs is not None


def test_a_limit_holds_while_pairs_are_computed():
    task = Task(TRACK.problems("floortile", "train")[8])
    assert task._dead_ends is not None
    with Clock() as clock, pytest.raises(OutOfTime), clock.within(0.1):  # noqa: PT012  the flag is raised in between
        while not stop_flag()[0]:
            time.sleep(0.01)
        task.is_dead_end(task.init)
    assert task.is_dead_end(task.init) is False, "and are complete afterwards"


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
    assert not task.is_dead_end(right.state)
    return task, wrong.state


def test_dead_ends_and_state_spaces_need_all_actions_instantiated():
    for mode, found in (("grounded", True), ("lifted", False)):
        task, wrong = box(mode)
        assert task.is_dead_end(wrong) == found
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

    monkeypatch.setattr(Task, "is_dead_end", slowly)
    problem = Problem("b", BOX, BOX_PROBLEM.replace("a b -", "a b c d e f g h i j k l m n o p q r -"))
    rollout = Planner(Last(), prune_dead_ends=True).solve(Task(problem), Limit(seconds=0.5))
    assert (rollout.outcome, rollout.steps) == (Outcome.TIMEOUT, ())


def test_where_all_are_dead_ends_the_planner_says_so():
    task, wrong = box()
    rollout = Planner(Last(), prune_dead_ends=True).solve(Task(task.restarted(wrong)))
    assert (rollout.outcome, rollout.plan) == (Outcome.STUCK, ())
    assert rollout.reason == "every candidate is a dead end"
