import numpy as np
import pytest

from sgp.encoders.relations import RelationalEncoder, concatenate
from sgp.errors import DomainMismatch
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem, pddl_problem


def tuples(encoded, state):
    """Return the non-empty relations of one state, by name."""
    found = {}
    for name, relation in encoded.relations.items():
        rows = relation.arguments[relation.first[state] : relation.first[state + 1]]
        if len(rows):
            found[name] = sorted(map(tuple, rows.tolist()))
    return found


def test_a_state_by_hand(three_blocks):
    encoder = RelationalEncoder(three_blocks.domain_text)
    after = three_blocks.successors(three_blocks.init)
    unstacked = next(each.state for each in after if each.actions[0].name == "unstack")  # c from a
    encoded = encoder.encode(three_blocks, [three_blocks.init, unstacked])
    assert encoded.objects.tolist() == [3, 3]
    assert tuples(encoded, 0) == {
        "ontable": [(0,), (1,)],
        "on": [(2, 0)],
        "clear": [(1,), (2,)],
        "handempty": [(0,), (1,), (2,)],  # one tuple per object
        "on:goal-false": [(0, 1), (1, 2)],
    }
    after = {"ontable": [(0,), (1,)], "holding": [(2,)], "clear": [(0,), (1,)], "on:goal-false": [(0, 1), (1, 2)]}
    assert tuples(encoded, 1) == after
    assert encoded.weights.tolist() == [2 + 2 + 2 + 3 + 4, 2 + 1 + 2 + 4]


def test_goal_atoms_that_hold_stand_in_a_relation_of_their_own():
    task = Task(blocks_problem("a b", "(on a b) (ontable b) (clear a)", "(on a b) (ontable a) (handempty)"))
    encoded = RelationalEncoder(task.domain_text).encode(task, [task.init])
    assert tuples(encoded, 0) == {
        "on": [(0, 1)],
        "on:goal-true": [(0, 1)],
        "ontable": [(1,)],
        "ontable:goal-false": [(0,)],
        "clear": [(0,)],
        "handempty": [(0,), (1,)],
        "handempty:goal-true": [(0,), (1,)],
    }


def test_objects_know_their_types_and_static_atoms_are_seen(courier):
    text = COURIER_PROBLEM.replace(" (not (in q1 v1))", "")
    task = Task(Problem("courier-2", COURIER, text))
    encoder = RelationalEncoder(task.domain_text)
    names = [thing.name for thing in task.objects]
    found = tuples(encoder.encode(task, [task.init]), 0)

    def named(name):
        return {tuple(names[place] for place in row) for row in found[name]}

    assert named("vehicle:type") == {("v1",), ("b1",)}
    assert named("thing:type") == {("v1",), ("b1",), ("q1",)}
    assert named("van:type") == {("v1",)}
    assert named("place:type") == {("depot",), ("shop",), ("mill",)}
    assert named("road") == {("depot", "shop"), ("shop", "depot"), ("depot", "mill"), ("shop", "mill")}
    assert "object:type" not in encoder.relations
    assert encoder.refuses(task) is None
    assert encoder.refuses(courier) == (
        "the goal wants (in q1 v1) to be false, but relations have only the positive atoms of a goal; replace it by "
        "a predicate that is true instead"
    )


def test_other_domains_and_problems_without_objects_are_refused(three_blocks, courier):
    encoder = RelationalEncoder(three_blocks.domain_text)
    with pytest.raises(DomainMismatch, match="is of another domain than the model"):
        encoder.refuses(courier)
    lamp = "(define (domain lamp) (:predicates (lit)) (:action press :parameters () :precondition () :effect (lit)))"
    task = Task(pddl_problem(lamp, "", "", "(lit)"))
    assert "has no objects" in RelationalEncoder(task.domain_text).refuses(task)


def test_states_are_selected_cut_and_joined(three_blocks, two_blocks):
    encoder = RelationalEncoder(three_blocks.domain_text)
    three = [three_blocks.init, *(each.state for each in three_blocks.successors(three_blocks.init))]
    encoded = concatenate([encoder.encode(three_blocks, three), encoder.encode(two_blocks, [two_blocks.init])])
    assert encoded.objects.tolist() == [3] * len(three) + [2]
    places = np.array([len(three), 1, 1, 0])
    selected = encoded.select(places)
    assert selected.objects.tolist() == [2, 3, 3, 3]
    for place, source in enumerate(places):
        assert tuples(selected, place) == tuples(encoded, source)
    joined = selected.joined_arguments()
    first_on = selected.relations["on"].first
    shift = np.repeat([0, 2, 5, 8], np.diff(first_on))
    assert (joined["on"] - shift[:, None] == selected.relations["on"].arguments).all()

    parts = list(encoded.parts(int(encoded.weights.max())))
    assert sum(map(len, parts)) == len(encoded)
    assert all(part.weights.sum() <= encoded.weights.max() for part in parts)
    again = concatenate(parts)
    assert len(again) == len(encoded)
    assert all(tuples(again, place) == tuples(encoded, place) for place in range(len(encoded)))
    assert [len(part) for part in encoded.parts(1)] == [1] * len(encoded)  # a state is never split


def test_lifted_and_grounded_tasks_are_encoded_alike(three_blocks):
    lifted = Task(three_blocks.problem, mode="lifted")
    encoder = RelationalEncoder(lifted.domain_text)
    for _ in range(3):  # new atoms are added on the way
        for one, two in zip(lifted.successors(lifted.init), three_blocks.successors(three_blocks.init), strict=True):
            ours, theirs = encoder.encode(lifted, [one.state]), encoder.encode(three_blocks, [two.state])
            assert tuples(ours, 0) == tuples(theirs, 0)
