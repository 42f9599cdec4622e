import random

import pytest
from pyperplan import grounding
from pyperplan.pddl.parser import Parser

import sgp
from sgp.errors import PlanError
from sgp.planning import states
from sgp.planning import task as task_module
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Action, Atom
from sgp.planning.task import Task, count_open_goals, missing_goal_atoms, replay
from tests.conftest import blocks_problem, pddl_problem, python
from tests.planning.test_symmetry import problem_of
from tests.sampling import walked

SUITE = sgp.load_suite("state-centric")


def on_table(count):
    names = [f"b{number}" for number in range(count)]
    return blocks_problem(" ".join(names), " ".join(f"(ontable {name}) (clear {name})" for name in names), "(on b0 b1)")


def texts(task, state):
    return sorted(map(str, task.atoms(state)))


def test_types_constants_negative_preconditions_and_equality(courier):
    assert courier.size == 6  # five objects and the constant
    assert [thing.name for thing in courier.objects] == ["depot", "v1", "b1", "q1", "shop", "mill"]
    found = [str(successor.actions[0]) for successor in courier.successors(courier.init)]
    # The mill is closed, the depot may not be driven to, and a bike cannot be loaded.
    assert found == ["(drive v1 depot shop)", "(load q1 v1 depot)"]
    states = replay(courier, [Action("load", ("q1", "v1", "depot")), Action("drive", ("v1", "depot", "shop"))])
    assert not courier.is_goal(states[-1])
    assert [str(literal.atom) for literal in missing_goal_atoms(courier, states[-1])] == ["(at q1 shop)", "(in q1 v1)"]
    assert courier.is_goal(courier.apply(states[-1], Action("unload", ("q1", "v1", "shop"))))


def test_atoms_hold_static_facts_first_and_no_types(courier):
    atoms = courier.atoms(courier.init)
    roads = ["depot", "shop"], ["shop", "depot"], ["depot", "mill"], ["shop", "mill"]
    assert atoms[:5] == (Atom("closed", ("mill",)), *(Atom("road", tuple(each)) for each in roads))
    assert {atom.predicate for atom in atoms} == {"closed", "road", "at"}
    assert len(atoms) == 8


def test_successors_stand_in_the_order_of_the_pddl():
    problem = blocks_problem("c a b", "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (clear c)", "(on a b)")
    task = Task(problem)
    held = task.apply(task.init, Action("pick-up", ("a",)))
    for state, names in (
        (task.init, ["(pick-up c)", "(pick-up a)", "(pick-up b)"]),
        (held, ["(put-down a)", "(stack a c)", "(stack a b)"]),
    ):
        assert [str(successor.actions[0]) for successor in task.successors(state)] == names


def _pyperplan(problem, folder):
    (folder / "d.pddl").write_text(problem.domain_pddl)
    (folder / "p.pddl").write_text(problem.problem_pddl)
    parser = Parser(str(folder / "d.pddl"), str(folder / "p.pddl"))
    parsed = parser.parse_problem(parser.parse_domain())
    return grounding.ground(parsed, remove_statics_from_initial_state=False, remove_irrelevant_operators=False)


BUNDLED = [(domain, split) for domain, each in SUITE.domains.items() for split in each.splits]


@pytest.mark.parametrize(("domain", "split"), [*BUNDLED[:-1], pytest.param(*BUNDLED[-1], marks=pytest.mark.slow)])
def test_successors_and_goals_agree_with_pyperplan_on_the_bundled_problems(domain, split, tmp_path):
    """Oracle: pyperplan with static facts; a random walk of three steps on every problem."""
    walk = random.Random(7)
    for problem in sgp.load_suite("state-centric").problems(domain, split):
        task, oracle = Task(problem), _pyperplan(problem, tmp_path)
        state, facts = task.init, oracle.initial_state
        for _ in range(3):
            assert texts(task, state) == sorted(facts)
            assert task.is_goal(state) == oracle.goal_reached(facts)
            found = {str(each.actions[0]): each.state for each in task.successors(state)}
            expected = {operator.name: after for operator, after in oracle.get_successor_states(facts)}
            assert found.keys() == expected.keys()
            if not found:
                break
            name = walk.choice(sorted(found))
            state, facts = found[name], expected[name]
        assert texts(task, state) == sorted(facts)


def test_an_action_that_is_not_applicable_is_named_with_its_step(two_blocks):
    with pytest.raises(PlanError, match=r"step 2 of 2: action \(pick-up b\) is not applicable in p"):
        replay(two_blocks, [Action("pick-up", ("a",)), Action("pick-up", ("b",))])
    for objects in ((), ("a", "b"), ("z",)):
        with pytest.raises(PlanError, match=r"step 1 of 1: action \(pick-up.*\) is not applicable in p"):
            replay(two_blocks, [Action("pick-up", objects)])


def test_large_problems_stay_lifted(monkeypatch):
    problem, instances = on_table(60), 2 * 60 * 60 + 2 * 60
    monkeypatch.setattr(task_module, "MOST_SEARCHED", instances)
    assert Task(problem).mode == "grounded"
    monkeypatch.setattr(task_module, "MOST_SEARCHED", instances - 1)
    lifted = Task(problem)
    assert (lifted.mode, len(lifted.successors(lifted.init))) == ("lifted", 60)
    assert len(lifted.model) == instances
    assert Task(problem, "grounded").mode == "grounded"
    monkeypatch.setattr(task_module, "MOST_INSTANCES", 60 * 60 - 1)
    assert Task(problem).model is None


@pytest.mark.parametrize("name", ["blocksworld", "logistics", "courier", "glue", "rovers", "towers"])
def test_arrays_of_many_fluents_are_the_lists_of_few(name, monkeypatch):
    task, other = Task(problem_of(name)), Task(problem_of(name))
    for state in walked(task, 8, 5):
        choice = Lookahead()(task, state)
        expected = [task.fluents(each.state) for each in choice]
        with monkeypatch.context() as patch:
            patch.setattr(task_module, "FEW_FLUENTS", 0)
            patch.setattr(states, "FEW_FLUENTS", 0)
            begin = other.state_of(task.fluents(state))
            for each, fluents in zip(Lookahead()(other, begin), expected, strict=True):
                assert other.fluents(each.state) == other.fluent_array(each.state).tolist() == fluents
                assert count_open_goals(other, each.state) == len(missing_goal_atoms(other, each.state))


def test_tens_of_thousands_of_typed_objects_are_read():
    """A parser that recurses over a typed list must not meet one entry for each object."""
    domain = """(define (domain d) (:requirements :strips :typing) (:types box lid)
      (:predicates (open ?b - box) (shut ?b - box) (loose ?l - lid))
      (:action close :parameters (?b - box) :precondition (open ?b) :effect (and (shut ?b) (not (open ?b)))))"""
    boxes, lids = ([f"{kind}{number}" for number in range(20_000)] for kind in ("b", "l"))
    objects = " ".join([*(f"{name} - box" for name in boxes), *(f"{name} - lid" for name in lids)])
    problem = pddl_problem(domain, objects, "(open b0) (loose l0)", "(shut b0)")
    task = Task(problem)
    assert [thing.name for thing in task.objects] == [*boxes, *lids]
    assert [str(successor.actions[0]) for successor in task.successors(task.init)] == ["(close b0)"]


@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        ("(= a a)", True),
        ("(= a b)", False),
        ("(not (= a b))", True),
        ("(s a)", True),
        ("(s b)", False),
        ("(not (s b))", True),
    ],
)
def test_the_static_part_of_a_goal(goal, holds):
    domain = """(define (domain d) (:requirements :strips :equality :negative-preconditions)
      (:predicates (p ?x) (s ?x)) (:action go :parameters (?x) :precondition (s ?x) :effect (p ?x)))"""
    task = Task(pddl_problem(domain, "a b", "(s a) (p b)", f"(and (p b) {goal})"))
    assert (not task.missing_static) is holds


PROGRAM = """
import os
from sgp.planning.native import native_output_silenced

print("before")
with native_output_silenced():
    os.write(1, b"noise\\n")
    with native_output_silenced():
        os.write(1, b"noise\\n")
    os.write(1, b"noise\\n")
os.write(1, b"between\\n")
try:
    with native_output_silenced():
        raise KeyError
except KeyError:
    os.write(1, b"after\\n")
"""


def test_standard_output_is_as_it_was_before_and_after():
    found = python("-c", PROGRAM)
    assert (found.stdout.split(), found.stderr, found.returncode) == (["before", "between", "after"], "", 0)
