"""Representatives of interchangeable objects against full enumeration by the definition, which swaps objects."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sgp
from sgp.datasets.training_data import load_training_data
from sgp.domains import all_domains
from sgp.errors import ConfigurationError
from sgp.planning import task as task_module
from sgp.planning.candidates import state_keys
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Action, Atom, Problem
from sgp.planning.policy import one_of_each, one_step
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory, represented
from tests.conftest import COURIER, blocks_problem
from tests.planning.test_state_space import GLUE, GLUE_PROBLEM
from tests.sampling import each_value

DOMAINS = sorted(domain.name for domain in all_domains())
SIZE = {"blocksworld": 6, "floortile": 12, "logistics": 10, "rovers": 14, "satellite": 12, "sokoban": 20, "visitall": 9}

# Two subtypes of one type, a constant of a subtype, a relation that may be true of two objects in both orders.
WIRES = """\
(define (domain wires) (:requirements :strips :typing :negative-preconditions :equality)
  (:types plug lamp - thing thing) (:constants main - plug)
  (:predicates (wired ?a ?b - thing) (lit ?a - thing))
  (:action wire :parameters (?a ?b - thing) :precondition (and (not (wired ?a ?b)) (not (= ?a ?b)) (not (= ?b main)))
    :effect (wired ?a ?b))
  (:action cut :parameters (?a ?b - thing) :precondition (wired ?a ?b) :effect (not (wired ?a ?b)))
  (:action light :parameters (?a - plug ?b - lamp) :precondition (and (wired ?a ?b) (wired main ?a)) :effect (lit ?b)))
"""
WIRES_PROBLEM = """\
(define (problem w) (:domain wires) (:objects p q r - plug a b c d - lamp)
  (:init (lit p) (lit q)) (:goal (and (lit a) (lit b) (not (lit p)))))
"""
COURIERS = """\
(define (problem couriers) (:domain courier)
  (:objects v1 v2 v3 - van b1 b2 - bike q1 q2 q3 q4 - parcel shop mill yard - place)
  (:init (at v1 depot) (at v2 depot) (at v3 shop) (at b1 shop) (at b2 shop)
         (at q1 depot) (at q2 depot) (at q3 depot) (at q4 depot) (closed mill)
         (road depot shop) (road shop depot) (road depot yard) (road yard depot) (road shop mill))
  (:goal (and (at q1 shop) (at q2 shop) (at q3 yard) (at q4 yard))))
"""


TOWERS = "(ontable a) (on b a) (clear b) (ontable c) (ontable d) (ontable e) (clear c) (clear d) (clear e)"


def problem_of(name):
    own = {
        "courier": Problem("couriers", COURIER, COURIERS),
        "glue": Problem("g", GLUE, GLUE_PROBLEM),
        "towers": blocks_problem("a b c d e", TOWERS, "(on a b)"),
        "wires": Problem("w", WIRES, WIRES_PROBLEM),
    }
    if name in own:
        return own[name]
    domain = sgp.get_domain(name)
    return scaled(domain, SIZE.get(name, 10), 3)


def scaled(domain, least, seed):
    """The smallest problem with at least `least` objects, as used in measurements over sizes."""
    size = next(filter(domain.scaled.has, range(least, 200)))
    return Problem(domain.name, domain.pddl, domain.generate_scaled(np.random.default_rng(seed), size))


def swapped(atoms, one, other):
    change = {one: other, other: one}
    return {Atom(name, tuple(change.get(each, each) for each in names)) for name, names in atoms}


def classes(task, state):
    """Class of each object, by the definition: swapping two of a class changes neither atoms nor goal."""
    true, of = set(task.atoms(state)), {}
    constants = {each.name for each in task.domain_text.constants}
    goals = [{each.atom for each in task.goal if each.positive is sign} for sign in (True, False)]
    for each in task.objects:
        of[each.name] = each.name
    for one, other in combinations(task.objects, 2):
        if one.types == other.types and not {one.name, other.name} & constants:
            same = all(swapped(atoms, one.name, other.name) == atoms for atoms in (true, *goals))
            if same:
                of[other.name] = of[one.name]
    return of


def kind(of, action):
    """Action with each interchangeable object replaced by its class and its index among the used ones."""
    used = {}
    for each in action.objects:
        used.setdefault(of[each], {}).setdefault(each, len(used.get(of[each], ())))
    return action.name, tuple((of[each], used[of[each]][each]) for each in action.objects)


def walk(task, steps, rng):
    state = task.init
    for _ in range(steps):
        yield state
        choice = task.successors(state)
        if not choice:
            return
        state = choice[rng.integers(len(choice))].state


@pytest.mark.parametrize(("name", "mode"), each_value([*DOMAINS, "courier", "glue", "wires"], ["grounded", "lifted"]))
def test_one_action_of_each_kind_is_left(name, mode):
    task, rng = Task(problem_of(name), mode), np.random.default_rng(7)
    for state in walk(task, 12, rng):
        of = classes(task, state)
        every = [kind(of, each.actions[0]) for each in one_step(task, state)]
        few = [kind(of, each.actions[0]) for each in one_of_each(task, state)]
        assert set(few) == set(every)
        if not symmetric_relations(task, state, of):
            assert len(few) == len(set(few))


def symmetric_relations(task, state, of):
    """Whether an atom has two interchangeable objects; such pairs are not detected as interchangeable."""
    return any(len({of[each] for each in names}) < len(set(names)) for _, names in task.atoms(state))


@pytest.mark.parametrize(
    ("name", "abstraction"), each_value([*DOMAINS, "courier", "glue", "towers", "wires"], ["none", "types", "goals"])
)
def test_lookaheads_are_the_same_whether_or_not_actions_are_instantiated(name, abstraction):
    grounded, lifted = Task(problem_of(name), "grounded"), Task(problem_of(name), "lifted")
    lookahead = Lookahead(abstraction, min_novel=64, representatives=True)
    for state in walk(grounded, 6, np.random.default_rng(11)):
        same = lifted.state_of(lifted._indices([atom for atom in grounded.atoms(state) if is_fluent(grounded, atom)]))
        candidates, others = lookahead(grounded, state), lookahead(lifted, same)
        assert [(each.actions, each.parent) for each in candidates] == [(each.actions, each.parent) for each in others]
        assert candidates.goals.tolist() == others.goals.tolist()
        for one, other in zip(candidates, others, strict=True):
            assert set(grounded.atoms(one.state)) == set(lifted.atoms(other.state))
            assert state_keys(lifted, other.state)[1] in set(others.identities)


@pytest.mark.parametrize("name", ["blocksworld", "childsnack", "courier", "transport"])
def test_where_very_many_actions_are_applicable_joins_find_the_same_candidates(name, monkeypatch):
    few = Task(problem_of(name))
    with monkeypatch.context() as patch:
        patch.setattr(task_module, "MOST_LISTED", 0)
        many = Task(problem_of(name))
        assert many.joins(representatives=True)
    assert not many.joins(representatives=False)
    assert not few.joins(representatives=True)
    for candidates in (one_of_each, Lookahead("types", representatives=True)):
        assert [each.actions for each in candidates(few, few.init)] == [
            each.actions for each in candidates(many, many.init)
        ]
        assert [set(few.atoms(each.state)) for each in candidates(few, few.init)] == [
            set(many.atoms(each.state)) for each in candidates(many, many.init)
        ]


def is_fluent(task, atom):
    return atom.predicate in task.domain_text.fluent_predicates


@pytest.mark.parametrize("name", ["childsnack", "gripper", "logistics", "spanner", "transport"])
def test_there_is_something_to_leave_out(name):
    task = Task(problem_of(name))
    assert task.model.arrays(symmetric=True).symmetry.symmetric.any()
    walked = list(walk(task, 30, np.random.default_rng(1)))
    assert any(len(one_of_each(task, state)) < len(one_step(task, state)) for state in walked)


@pytest.mark.parametrize("name", [*DOMAINS, "courier", "glue", "towers"])
def test_state_spaces_up_to_symmetry_have_the_distances_of_whole_ones(name):
    own = name in ("courier", "glue", "towers")
    spaces = 0
    for problem in [problem_of(name)] if own else [scaled(sgp.get_domain(name), least, least) for least in (3, 6, 8)]:
        task = Task(problem)
        whole, part = StateSpace.expand(task, 60_000), StateSpace.expand(task, 60_000, up_to_symmetry=True)
        if whole is None or part is None:
            continue
        spaces += 1
        states = [part.state(place) for place in range(len(part))]
        assert part.distances.tolist() == whole.distance(states).tolist()
        for candidates in (one_of_each, Lookahead("types", representatives=True)):
            for state in states[:: max(len(states) // 20, 1)]:
                choice = candidates(task, state)
                assert part.distance_beyond(choice).tolist() == whole.distance_beyond(choice).tolist()
        rng, state = np.random.default_rng(5), task.init
        for _ in range(40):  # reached states, not those of the table
            choice = Lookahead("types", representatives=True)(task, state)
            if not choice:
                break
            assert part.distance_beyond(choice).tolist() == whole.distance_beyond(choice).tolist()
            state = choice[rng.integers(len(choice))].state
    assert spaces


def test_a_state_space_has_one_state_of_all_that_differ_in_names_of_balls():
    task = Task(sgp.load_suite("state-centric").problems("gripper", "train")[-1])
    symmetry = task.model.arrays(symmetric=True).symmetry
    alike, names = (
        [each.name for each, chosen in zip(task.objects, mask, strict=True) if chosen]
        for mask in (symmetry.symmetric, symmetry.merged)
    )
    assert set(names) == {each.name for each in task.objects if each.name.startswith("ball")}
    assert set(alike) - set(names) == {"left", "right"}
    whole, part = StateSpace.expand(task, 60_000), StateSpace.expand(task, 60_000, up_to_symmetry=True)

    def without_names(state):
        atoms = task.atoms(state)
        of = sorted(sorted(str(atom).replace(name, "*") for atom in atoms if name in atom.objects) for name in names)
        return str((sorted(map(str, (atom for atom in atoms if not {*atom.objects} & {*names}))), of))

    every = {without_names(whole.state(place)) for place in range(len(whole))}
    assert {without_names(part.state(place)) for place in range(len(part))} == every
    assert len(part) == len(every) < len(whole) / 20


@pytest.mark.parametrize("name", ["gripper", "logistics", "blocksworld"])
def test_a_plan_of_representatives_is_a_plan_of_the_same_length_along_candidates(name):
    for trajectory in load_training_data(sgp.load_suite("state-centric"), name).train[:4]:
        same = represented(trajectory)
        assert len(same) == len(trajectory)
        assert same.task.is_goal(same.states[-1])
        assert [each.name for each in same.actions] == [each.name for each in trajectory.actions]
        for state, action, after in zip(same.states, same.actions, same.states[1:], strict=False):
            assert (action,) in [each.actions for each in one_of_each(same.task, state)]
            assert same.task.apply(state, action) == after


def test_a_plan_of_a_task_that_is_not_grounded_is_refused():
    given = load_training_data(sgp.load_suite("state-centric"), "gripper").train[0]
    task = Task(given.task.problem, "lifted")
    with pytest.raises(
        ConfigurationError, match=r"too many actions to rename its plan .* train without representatives"
    ):
        represented(Trajectory.of(task, given.actions))


def test_names_that_a_goal_tells_apart_are_kept():
    task = Task(problem_of("courier"))
    symmetric = task.model.arrays(symmetric=True).symmetry.symmetric
    names = [each.name for each, chosen in zip(task.objects, symmetric, strict=True) if chosen]
    assert names == ["v1", "v2", "v3", "b1", "b2", "q1", "q2", "q3", "q4"]
    made = {each.actions[0] for each in one_of_each(task, task.init)}
    assert Action("load", ("q1", "v1", "depot")) in made
    assert Action("load", ("q3", "v1", "depot")) in made
    assert Action("load", ("q2", "v1", "depot")) not in made
    assert Action("load", ("q1", "v2", "depot")) not in made
