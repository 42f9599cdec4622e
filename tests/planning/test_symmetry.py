"""Representatives of interchangeable objects against full enumeration by the definition, which swaps objects."""

import gc
import weakref
from itertools import combinations, product

import numpy as np
import pytest

import sgp
from sgp.datasets.training_data import load_training_data
from sgp.domains import all_domains
from sgp.errors import ConfigurationError, PlanError
from sgp.planning import instantiation
from sgp.planning import task as task_module
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Action, Atom, Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import one_of_each, one_step
from sgp.planning.rollout import Outcome
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task, Trajectory
from sgp.training.labels import represented
from tests.conftest import COURIER, blocks_problem, pddl_problem
from tests.planning.test_planner import Indifferent
from tests.planning.test_state_space import GLUE, GLUE_PROBLEM
from tests.sampling import each_value, walked

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


SMALL = {  # domains with the shortest rows possible
    "equality beside predicates of one argument": (
        """(define (domain d) (:predicates (p ?x) (q ?x)) (:action a :parameters (?x ?y)
          :precondition (and (p ?x) (p ?y) (not (= ?x ?y))) :effect (and (q ?x) (not (p ?y)))))""",
        *("a b c", "(p a) (p b) (p c)", "(and (q a) (q b))"),
    ),
    "no objects": (
        "(define (domain d) (:predicates (p) (q)) (:action a :precondition (p) :effect (and (q) (not (p)))))",
        *("", "(p)", "(q)"),
    ),
    "a goal that names an atom again": (
        """(define (domain d) (:predicates (p ?x ?y) (q ?x))
          (:action a :parameters (?x ?y) :precondition (q ?x) :effect (p ?x ?y))
          (:action b :parameters (?x ?y) :precondition (p ?x ?y) :effect (and (q ?y) (not (p ?x ?y)))))""",
        *("a b c d", "(q a)", "(and (p d c) (p d c) (p d c) (p d c) (p d c) (p d c))"),
    ),
}
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
    if name in SMALL:
        return pddl_problem(*SMALL[name])
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


@pytest.mark.parametrize(
    ("name", "mode"), each_value([*DOMAINS, "courier", "glue", "wires", *SMALL], ["grounded", "lifted"])
)
def test_one_action_of_each_kind_is_left(name, mode):
    task, left_out = Task(problem_of(name), mode), False
    for state in walked(task, 12, 7):
        of = classes(task, state)
        every = [kind(of, each.actions[0]) for each in one_step(task, state)]
        few = [kind(of, each.actions[0]) for each in one_of_each(task, state)]
        assert set(few) == set(every)
        left_out |= len(few) < len(every)
        if not symmetric_relations(task, state, of):
            assert len(few) == len(set(few))
    assert left_out or name not in ("childsnack", "gripper", "logistics", "spanner", "transport")


def symmetric_relations(task, state, of):
    """Whether an atom has two interchangeable objects; such pairs are not detected as interchangeable."""
    return any(len({of[each] for each in names}) < len(set(names)) for _, names in task.atoms(state))


@pytest.mark.parametrize(
    ("name", "abstraction", "representatives"),
    [
        *each_value([*DOMAINS, "courier", "glue", "towers", "wires"], ["none", "types", "goals"], [True]),
        *product(SMALL, ["none", "types", "base"], [True, False]),
    ],
)
def test_lookaheads_are_the_same_whether_or_not_actions_are_instantiated(name, abstraction, representatives):
    grounded, lifted = Task(problem_of(name), "grounded"), Task(problem_of(name), "lifted")
    lookahead = Lookahead(abstraction, min_novel=64, representatives=representatives)
    for state in walked(grounded, 6, 11):
        fluents = [atom for atom in grounded.atoms(state) if atom.predicate in grounded.domain_text.fluent_predicates]
        same = lifted.state_of(lifted._indices(fluents))
        candidates, others = lookahead(grounded, state), lookahead(lifted, same)
        assert candidates or state != grounded.init
        assert [(each.actions, each.parent) for each in candidates] == [(each.actions, each.parent) for each in others]
        assert candidates.goals.tolist() == others.goals.tolist()
        for one, other in zip(candidates, others, strict=True):
            assert set(grounded.atoms(one.state)) == set(lifted.atoms(other.state))
            assert other.state.key in set(others.keys)


@pytest.mark.parametrize("name", ["blocksworld", "childsnack", "courier", "transport"])
def test_where_very_many_actions_are_applicable_joins_find_the_same_candidates(name, monkeypatch):
    def candidates(task):
        choices = [find(task, task.init) for find in (one_of_each, Lookahead("types", representatives=True))]
        return [[(each.actions, set(task.atoms(each.state))) for each in choice] for choice in choices]

    few = Task(problem_of(name))
    assert not few.has_many_actions
    expected = candidates(few)
    monkeypatch.setattr(task_module, "MOST_LISTED", 0)
    monkeypatch.setattr(task_module, "MOST_SEARCHED", 0)
    many = Task(problem_of(name))
    assert (many.mode, many.has_many_actions) == ("lifted", True)
    assert candidates(many) == expected


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
    with pytest.raises(ConfigurationError, match=r"too many actions to rename its plan .* train without repres"):
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


SNACKS = sgp.get_domain("childsnack")


def snacks(children, trays=2, allergic=None):
    text = SNACKS.generator(np.random.default_rng(5), children, trays, children + 2, allergic)
    return Problem(f"snacks-{children}", SNACKS.models["typed"], text)


@pytest.fixture
def whole(monkeypatch):
    """A task that lists all its actions, and the same with representatives."""

    def made(problem):
        every = Task(problem, "lifted")
        assert not every.has_many_actions
        monkeypatch.setattr(task_module, "MOST_LISTED", 1)
        few = Task(problem, "lifted")
        assert few.has_many_actions
        return every, few

    return made


def test_what_nothing_tells_apart_is_one_candidate(whole):
    every, few = whole(snacks(6, allergic=3))
    made = [str(each.actions[0]) for each in few.successors(few.init) if "make" in str(each.actions[0])]
    # Bread and content, each with gluten or without: four sandwiches, one of which can also be made without gluten.
    assert len(made) == 5
    assert sum("make" in str(each.actions[0]) for each in every.successors(every.init)) == 8 * (6 * 6 + 3 * 3)


@pytest.mark.parametrize("candidates", [one_of_each, Lookahead("types", representatives=True)])
def test_room_for_atoms_grows_without_a_trace(candidates, monkeypatch):
    wide = Task(snacks(12, 4), "lifted")
    monkeypatch.setattr(instantiation, "_ROOM", 64)
    narrow = Task(snacks(12, 4), "lifted")
    state, same = wide.init, narrow.init
    for _ in range(12):
        choice, again = candidates(wide, state), candidates(narrow, same)
        assert [each.actions for each in choice] == [each.actions for each in again]
        assert [set(wide.atoms(each.state)) for each in choice] == [set(narrow.atoms(each.state)) for each in again]
        state, same = choice[-1].state, again[-1].state
    assert len(narrow.lifted._lifted.atoms.predicates) > 64


def test_a_task_is_let_go_of_at_once():
    task = Task(snacks(3), "lifted")
    assert Lookahead(representatives=True)(task, task.init)
    assert one_of_each(task, task.init)
    gone = weakref.ref(task)
    gc.disable()
    try:
        del task
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "action", [Action("put_on_tray", ("sandw1", "tray1")), Action("eat", ()), Action("move_tray", ("x", "y", "z"))]
)
def test_actions_that_are_not_applicable_are_refused(whole, action):
    _, few = whole(snacks(3))
    with pytest.raises(PlanError, match="not applicable"):
        few.apply(few.init, action)


def test_hundreds_of_children_are_planned_for_with_few_candidates():
    task = Task(snacks(150, 6))  # 3 million ways to make a sandwich
    assert task.mode == "lifted"
    rollout = Planner(Indifferent()).solve(task, Limit(actions=3))
    assert rollout.outcome is Outcome.HORIZON
    assert all(len(step.candidates) < 200 for step in rollout.steps)


def test_more_actions_than_can_be_ranked_end_the_problem_with_memory():
    names = [f"?x{number}" for number in range(12)]
    pairs = " ".join(f"(q {one} {two})" for one, two in zip(names[::2], names[1::2], strict=True))
    domain = f"""(define (domain wide) (:requirements :strips) (:predicates (p ?a) (q ?a ?b))
      (:action all :parameters ({" ".join(names)}) :precondition (p ?x0) :effect (and {pairs})))"""
    things = [f"o{number}" for number in range(20)]
    init = " ".join(f"(p {thing})" for thing in things)
    goal = " ".join(f"(q {one} {two})" for one, two in product(things[:3], things[4:7]))
    problem = pddl_problem(domain, " ".join(things), init, f"(and {goal})")
    rollout = Planner(Indifferent(), one_step).solve(Task(problem))
    assert rollout.outcome is Outcome.MEMORY
    assert "more than 100,000 instances" in rollout.reason
