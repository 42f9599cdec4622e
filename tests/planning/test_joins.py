"""Applicable actions by joins and by instantiation, against pymimir's."""

from __future__ import annotations

import random
from pathlib import Path
from time import perf_counter

import pytest

import sgp
from sgp.analysis import remaining
from sgp.planning import lifted_model
from sgp.planning.clock import Clock, OutOfTime
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.task import Task
from tests.planning.pymimir_oracle import PymimirOracle

WIDE = Path(__file__).parents[1] / "cases" / "wide-predicate"


def by_joins(task, state):
    instances = task.lifted.applicable(task.fluents(state), representatives=False)
    return [str(instances.action(number)) for number in range(len(instances))]


def changing(problem):
    """Return the same problem with an action that deletes the wide atom, so that it is not static."""
    domain = problem.domain_pddl.replace(
        "(not (loose ?p))", "(not (loose ?p)) (not (plan-of ?p ?h1 ?h2 ?h3 ?f1 ?f2 ?f3))"
    )
    assert domain != problem.domain_pddl
    return Problem("changing", domain, problem.problem_pddl)


@pytest.mark.parametrize("changes", [False, True])
def test_atoms_of_a_wide_predicate_bind_all_that_they_hold(changes):
    problem = Problem.from_files(WIDE / "domain.pddl", WIDE / "problem.pddl")
    problem = changing(problem) if changes else problem
    tasks, oracle = (Task(problem), Task(problem, "lifted")), PymimirOracle(problem)
    assert tasks[0].mode == ("lifted" if changes else "grounded")
    for task in tasks:
        state = task.init
        for left in range(30, 0, -3):  # each of ten parts has three plans
            found = by_joins(task, state)
            assert len(found) == left
            assert found == oracle.applicable(task, state) == list(map(str, task.applicable(state)))
            state = task.successors(state)[-1].state
        assert task.is_goal(state)


def test_a_problem_with_a_wide_predicate_is_solved(home):
    sgp.import_folder(WIDE / "suite", "assembly")
    run = sgp.train("contrastive-jumps", "suite", "assembly")
    problem = Problem.from_files(WIDE / "domain.pddl", WIDE / "problem.pddl")
    for each in (problem, changing(problem)):
        sgp.solve(each, run.folder)  # compiles missing kernels, which no limit interrupts
        rollout = sgp.solve(each, run.folder, Limit(seconds=20))
        assert (rollout.outcome, len(rollout.plan)) == (Outcome.SOLVED, 10)
        assert rollout.seconds < 10


def random_problem(seed):
    """Problem with predicates of up to six arguments, constants, repeated variables and every kind of literal."""
    rng = random.Random(seed)
    arities = {f"p{number}": rng.choice([0, 1, 1, 2, 2, 3, 4, 6]) for number in range(rng.randint(2, 6))}
    objects = {f"o{number}": rng.choice("st") for number in range(rng.randint(2, 5))}
    names, actions = [*objects, "c"], []
    for number in range(rng.randint(1, 3)):
        parameters = [f"?x{place} - {rng.choice(['s', 't', 'object'])}" for place in range(rng.randint(0, 4))]
        terms = [*(each.split()[0] for each in parameters), "c"]
        atoms = [f"({name}{''.join(f' {rng.choice(terms)}' for _ in range(arities[name]))})" for name in arities]
        needs = [each if rng.random() < 0.8 else f"(not {each})" for each in rng.sample(atoms, rng.randrange(3))]
        if parameters and rng.random() < 0.3:
            needs.append(f"(not (= {terms[0]} {terms[-2]}))")
        does = [each if rng.random() < 0.6 else f"(not {each})" for each in rng.sample(atoms, 2)]
        actions.append(
            f"(:action a{number} :parameters ({' '.join(parameters)}) :precondition (and {' '.join(needs)}) "
            f":effect (and {' '.join(does)}))"
        )
    init = {
        f"({name}{''.join(f' {rng.choice(names)}' for _ in range(arity))})"
        for name, arity in arities.items()
        for _ in range(rng.choice([0, 1, 3, 8, 30]))
    }
    declared = " ".join(f"({name}{''.join(f' ?v{at}' for at in range(arity))})" for name, arity in arities.items())
    return Problem(
        f"random {seed}",
        "(define (domain d) (:requirements :typing :negative-preconditions :equality) (:types s t) (:constants c - s)\n"
        f"(:predicates (never) {declared}) {' '.join(actions)})",
        f"(define (problem p) (:domain d) (:objects {' '.join(f'{name} - {kind}' for name, kind in objects.items())})\n"
        f"(:init {' '.join(sorted(init))}) (:goal (never)))",
    )


def test_applicable_actions_of_random_domains_are_those_of_pymimir(monkeypatch):
    monkeypatch.setattr(lifted_model, "_ROOM", 64)  # so that tables grow
    met = 0
    for seed in range(100):
        problem, rng = random_problem(seed), random.Random(seed)
        lifted, grounded, oracle = Task(problem, "lifted"), Task(problem, "grounded"), PymimirOracle(problem)
        state, same = lifted.init, grounded.init
        for _ in range(4):
            expected = oracle.applicable(lifted, state)
            assert by_joins(lifted, state) == expected, seed
            assert list(map(str, grounded.applicable(same))) == expected, seed
            if not expected:
                break
            met, place = met + 1, rng.randrange(len(expected))
            state = lifted.apply(state, lifted.applicable(state)[place])
            same = grounded.apply(same, grounded.applicable(same)[place])
    assert met > 100


def endless(objects):
    """A problem without applicable actions; this is found only after enumerating seven of eight parameters."""
    parameters = " ".join(f"?x{number}" for number in range(8))
    domain = (
        f"(define (domain d) (:requirements :equality) (:predicates (p ?x)) (:action a :parameters ({parameters})\n"
        ":precondition (not (= ?x7 ?x7)) :effect (p ?x0)))"
    )
    names = " ".join(f"o{number}" for number in range(objects))
    return Problem("p", domain, f"(define (problem p) (:domain d) (:objects {names}) (:init) (:goal (p o0)))")


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_a_limit_holds_within_one_listing(mode):
    small, task = Task(endless(1)), Task(endless(60), mode)
    assert by_joins(small, small.init) == []
    started = perf_counter()
    with pytest.raises(OutOfTime), Clock() as clock, clock.within(0.5):
        by_joins(task, task.init) if mode == "lifted" else task.model
    assert perf_counter() - started < 10


def test_what_ended_by_its_limit_is_recorded_within_one_too(monkeypatch):
    monkeypatch.setattr(remaining, "_IN_PASSING", Limit(seconds=0.5))
    task, started = Task(endless(60)), perf_counter()
    rollout = Rollout(task, (), Outcome.TIMEOUT, 0.5)
    assert remaining.remaining_in_passing(rollout) is None
    assert perf_counter() - started < 10
