"""Instantiation against pymimir's grounded mode, an independent implementation of the delete relaxation."""

from __future__ import annotations

import numpy as np
import pytest
from pymimir.advanced import formalism, search

from sgp.domains import all_domains
from sgp.planning.candidates import Candidates
from sgp.planning.ground_model import GroundModel, TooLarge
from sgp.planning.native import native_output_silenced
from sgp.planning.pddl import Atom, Problem
from sgp.planning.pddl_syntax import normalise
from sgp.planning.policy import one_step
from sgp.planning.problem_index import ProblemIndex
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem


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
    text = "(define (problem p) (:domain locks) (:objects a b c) (:init (key a) (key b)) (:goal (and (open) (held b))))"
    return Task(Problem("p", LOCKS, text))


def test_what_is_never_reached_is_left_out(locks):
    """No key is ever lost and c is no key; atoms without arguments and empty effects are supported."""
    found = [str(locks.model.action(number)) for number in range(len(locks.model))]
    assert found == [
        *("(take a)", "(take b)"),
        *("(swap a a)", "(swap a b)", "(swap b a)", "(swap b b)"),
        *("(unlock a)", "(unlock b)"),
    ]
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


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_successors_without_states_are_those_with_states(locks, mode):
    """Includes a state reached by two actions, one that is its own successor, and goals."""
    locks, courier = Task(locks.problem, mode), Task(Problem("courier", COURIER, COURIER_PROBLEM), mode)
    for task in (locks, courier):
        met = [task.init]
        for state in met:
            ours, theirs = one_step(task, state), task.successors(state)
            assert isinstance(ours, Candidates)
            assert list(ours) == theirs
            assert ours.goals.tolist() == [task.is_goal(each.state) for each in theirs]
            names = dict(zip(ours.identities, (each.state for each in ours), strict=True))
            assert len(names) == len({each.state for each in theirs})
            for place, each in enumerate(theirs):
                changed = set(ours.changed[ours.indptr[place] : ours.indptr[place + 1]].tolist())
                assert changed == set(task.fluents(state)) ^ set(task.fluents(each.state))
            met += [each.state for each in theirs if each.state not in met]
        assert len(met) == (8 if task is locks else 5)


@pytest.mark.parametrize("domain", all_domains(), ids=lambda domain: domain.name)
def test_successors_are_those_of_pymimir_in_every_domain_and_mode(domain):
    rng = np.random.default_rng(7)
    text = domain.generate_scaled(rng, next(filter(domain.scaled.has, range(8, 40))))
    tasks = [Task(Problem(domain.name, domain.pddl, text), mode) for mode in ("grounded", "lifted")]
    assert [task.mode for task in tasks] == ["grounded", "lifted"]
    states = [task.init for task in tasks]
    for _ in range(15):
        found = []
        for task, state in zip(tasks, states, strict=True):
            ours, theirs = one_step(task, state), task.successors(state)
            assert list(ours) == theirs
            assert ours.goals.tolist() == [task.is_goal(each.state) for each in theirs]
            found.append([(str(each.actions), set(map(str, task.atoms(each.state)))) for each in ours])
        assert found[0] == found[1]
        if not found[0]:
            return
        place = int(rng.integers(len(found[0])))
        states = [one_step(task, state)[place].state for task, state in zip(tasks, states, strict=True)]


def test_instances_are_limited():
    names = [f"b{number}" for number in range(20)]
    problem = blocks_problem(
        " ".join(names), " ".join(f"(ontable {name}) (clear {name})" for name in names), "(on b0 b1)"
    )
    index = ProblemIndex(*problem.read())

    def count(most, in_all=None):
        return len(GroundModel(index, lambda atoms: range(len(atoms)), True, most, in_all))

    assert count(400) == count(None, 840) == 840
    for bounds in ((399,), (None, 839)):  # 400 pairs of blocks to stack
        with pytest.raises(TooLarge):
            count(*bounds)


def test_the_arguments_of_atoms_and_actions_stand_beside_them(locks):
    model, names = locks.model, [thing.name for thing in locks.objects]

    def named(row):
        return tuple(names[each] for each in row.tolist() if each >= 0)

    for atom, index in model.fluents.items():
        assert named(model.arguments[index]) == atom.objects
    for number in range(len(model)):
        assert named(model.rows[number, 1:]) == model.action(number).objects
    kinds = {(atom.predicate, int(model.predicates[index])) for atom, index in model.fluents.items()}
    assert len(kinds) == len({number for _, number in kinds}) == 2
    assert (model.predicates >= 0).sum() == len(model.fluents)
