"""Instantiation and joins against pymimir and a plain interpreter."""

import random
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from pymimir.advanced import formalism, search

import sgp
from sgp.analysis import diagnostics
from sgp.domains import all_domains
from sgp.planning import instantiation
from sgp.planning.clock import Clock, OutOfTime
from sgp.planning.instantiation import GroundModel, TooLarge
from sgp.planning.native import native_output_silenced
from sgp.planning.pddl import Atom, Problem
from sgp.planning.pddl_syntax import normalise
from sgp.planning.planner import Limit
from sgp.planning.policy import one_step
from sgp.planning.problem_index import ProblemIndex
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Successor, Task
from sgp.planning.width_search import ONE_STEP
from tests.conftest import COURIER, COURIER_PROBLEM, pddl_problem
from tests.planning.test_adl import Interpreter
from tests.planning.test_task import on_table


def generated(domain):
    """Problems of three sizes in every model of a domain."""
    sizes = [size for size in range(1, 22) if domain.sizes.has(size)]
    for size in (sizes[0], sizes[len(sizes) // 2], sizes[-1]):
        text = domain.generate_size(np.random.default_rng(size), size)
        for model, pddl in domain.models.items():
            yield Problem(f"{domain.name}-{model}-{size}", pddl, domain.translated(text, model))


def atoms_of_pymimir(problem):
    """Fluent atoms, initially true or added by an action, that pymimir instantiates.

    pymimir also instantiates atoms that are never true and that actions only delete.
    """
    parser = formalism.Parser(normalise(problem.domain_pddl), "", formalism.ParserOptions())
    parsed = parser.parse_problem(normalise(problem.problem_pddl), "", formalism.ParserOptions())
    with native_output_silenced():
        actions = search.LiftedGrounder(parsed).create_ground_actions()
    effects = [each.get_conjunctive_effect() for action in actions for each in action.get_conditional_effects()]
    added = {index for each in effects for index in each.get_positive_effects()}
    known = parsed.get_repositories().get_fluent_ground_atoms_from_indices(sorted(added))
    return {
        Atom(each.get_predicate().get_name(), tuple(thing.get_name() for thing in each.get_objects()))
        for each in (*known, *parsed.get_fluent_initial_atoms())
    }


@pytest.mark.parametrize("domain", all_domains(), ids=lambda domain: domain.name)
def test_atoms_that_can_be_reached_are_those_of_pymimir(domain):
    for problem in generated(domain):
        task = Task(problem)
        goal = {literal.atom for literal in task.goal}
        ours = set(task.model.fluents)
        assert ours | goal == atoms_of_pymimir(problem) | goal  # goal atoms are known, reachable or not
        for atom, index in task.model.fluents.items():
            assert task.fluent(index) == atom


LOCKS = """(define (domain locks) (:requirements :strips :negative-preconditions)
  (:predicates (open) (key ?x) (held ?x) (lost ?x))
  (:action take :parameters (?x) :precondition (key ?x) :effect (held ?x))
  (:action swap :parameters (?x ?y) :precondition (and (held ?x) (held ?y)) :effect (and (not (held ?x)) (held ?y)))
  (:action unlock :parameters (?x) :precondition (and (held ?x) (not (open))) :effect (and (open) (not (held ?x))))
  (:action find :parameters (?x) :precondition (lost ?x) :effect (and (held ?x) (not (lost ?x)))))"""


@pytest.fixture
def locks():
    return Task(pddl_problem(LOCKS, "a b c", "(key a) (key b)", "(and (open) (held b))"))


def test_what_is_never_reached_is_left_out(locks):
    """No key is ever lost and c is no key; atoms without arguments and empty effects are supported."""
    found = " ".join(str(locks.model.action(number)) for number in range(len(locks.model)))
    assert found == "(take a) (take b) (swap a a) (swap a b) (swap b a) (swap b b) (unlock a) (unlock b)"
    assert set(locks.model.fluents) == {Atom("open", ()), Atom("held", ("a",)), Atom("held", ("b",))}


@pytest.mark.parametrize(
    ("goal", "possible"),
    [("(held c)", False), ("(held c) (open)", False), ("(not (held c))", True), ("(not (held c)) (open)", True)],
)
def test_a_goal_that_speaks_of_what_is_never_reached(locks, goal, possible):
    text = locks.problem.problem_pddl.replace("(open) (held b)", goal)
    task = Task(Problem("p", LOCKS, text))
    assert task.model.goal.possible is possible
    assert (StateSpace.expand(task, 100).distances < np.inf).any() == possible


def one_by_one(task, state):
    return [Successor((action,), task.after(state, action)) for action in task.applicable(state)]


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_successors_without_states_are_those_with_states(locks, mode):
    """Includes a state reached by two actions, one that is its own successor, and goals."""
    locks, courier = Task(locks.problem, mode), Task(Problem("courier", COURIER, COURIER_PROBLEM), mode)
    for task in (locks, courier):
        met = [task.init]
        for state in met:
            ours, theirs = task.successors(state), one_by_one(task, state)
            assert list(ours) == theirs
            assert ours.goals.tolist() == [task.is_goal(each.state) for each in theirs]
            names = dict(zip(ours.keys, (each.state for each in ours), strict=True))
            assert len(names) == len({each.state for each in theirs})
            for place, each in enumerate(theirs):
                changed = set(ours.changed[ours.indptr[place] : ours.indptr[place + 1]].tolist())
                assert changed == set(task.fluents(state)) ^ set(task.fluents(each.state))
            met += [each.state for each in theirs if each.state not in met]
        assert len(met) == (8 if task is locks else 5)


@pytest.mark.parametrize("domain", all_domains(), ids=lambda domain: domain.name)
def test_successors_are_those_of_every_applicable_action_in_every_domain_and_mode(domain):
    rng = np.random.default_rng(7)
    text = domain.generate_scaled(rng, next(filter(domain.scaled.has, range(8, 40))))
    tasks = [Task(Problem(domain.name, domain.pddl, text), mode) for mode in ("grounded", "lifted")]
    assert [task.mode for task in tasks] == ["grounded", "lifted"]
    states = [task.init for task in tasks]
    for _ in range(15):
        found = []
        for task, state in zip(tasks, states, strict=True):
            ours, theirs = task.successors(state), one_by_one(task, state)
            assert list(ours) == theirs
            assert ours.goals.tolist() == [task.is_goal(each.state) for each in theirs]
            found.append([(str(each.actions), set(map(str, task.atoms(each.state)))) for each in ours])
        assert found[0] == found[1]
        if not found[0]:
            return
        place = int(rng.integers(len(found[0])))
        states = [one_step(task, state)[place].state for task, state in zip(tasks, states, strict=True)]


def test_instances_are_limited():
    index = ProblemIndex(*on_table(20).read())

    def count(most, in_all=None):
        return len(GroundModel(index, lambda atoms: range(len(atoms)), True, most, in_all))

    assert count(400) == count(None, 840) == 840
    for bounds in ((399,), (None, 839)):  # 400 pairs of blocks to stack
        with pytest.raises(TooLarge):
            count(*bounds)


WIDE = Path(__file__).parents[1] / "cases" / "wide-predicate"


def by_joins(task, state):
    instances, _ = task.lifted.search(np.array(task.fluents(state), np.int32), "none", ONE_STEP, False)
    return [str(instances.action(number)) for number in range(len(instances))]


def changing(problem):
    deleted = "(not (loose ?p)) (not (plan-of ?p ?h1 ?h2 ?h3 ?f1 ?f2 ?f3))"
    domain = problem.domain_pddl.replace("(not (loose ?p))", deleted)
    assert domain != problem.domain_pddl
    return Problem("changing", domain, problem.problem_pddl)


@pytest.mark.parametrize("changes", [False, True])
def test_atoms_of_a_wide_predicate_bind_all_that_they_hold(changes):
    problem = Problem.from_files(WIDE / "domain.pddl", WIDE / "problem.pddl")
    problem = changing(problem) if changes else problem
    tasks = Task(problem), Task(problem, "lifted")
    assert tasks[0].mode == ("lifted" if changes else "grounded")
    for task in tasks:
        state = task.init
        for left in range(30, 0, -3):  # each of ten parts has three plans
            found = by_joins(task, state)
            assert len(found) == left
            assert found == list(map(str, task.applicable(state)))
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
    domain = (
        "(define (domain d) (:requirements :typing :negative-preconditions :equality) (:types s t) (:constants c - s)\n"
        f"(:predicates (never) {declared}) {' '.join(actions)})"
    )
    listed = " ".join(f"{name} - {kind}" for name, kind in objects.items())
    return pddl_problem(domain, listed, " ".join(sorted(init)), "(never)")


def test_applicable_actions_of_random_domains_are_those_of_a_plain_interpreter(monkeypatch):
    monkeypatch.setattr(instantiation, "_ROOM", 64)  # so that tables grow
    met = 0
    for seed in range(100):
        problem, rng = random_problem(seed), random.Random(seed)
        lifted, grounded = Task(problem, "lifted"), Task(problem, "grounded")
        interpreter = Interpreter(problem.domain_pddl, {each.name: each.types[0] for each in lifted.objects})
        state, same = lifted.init, grounded.init
        for _ in range(4):
            expected = list(interpreter.successors(frozenset(map(str, lifted.atoms(state)))))
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
    return pddl_problem(domain, " ".join(f"o{number}" for number in range(objects)), "", "(p o0)")


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_a_limit_holds_within_one_listing(mode):
    small, task = Task(endless(1)), Task(endless(60), mode)
    assert by_joins(small, small.init) == []
    started = perf_counter()
    with pytest.raises(OutOfTime), Clock() as clock, clock.within(0.5):
        by_joins(task, task.init) if mode == "lifted" else task.model
    assert perf_counter() - started < 10


def test_what_ended_by_its_limit_is_recorded_within_one_too(monkeypatch):
    monkeypatch.setattr(diagnostics, "_IN_PASSING", Limit(seconds=0.5))
    task, started = Task(endless(60)), perf_counter()
    rollout = Rollout(task, (), Outcome.TIMEOUT, 0.5)
    assert diagnostics.remaining_in_passing(rollout) is None
    assert perf_counter() - started < 10
