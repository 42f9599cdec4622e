from dataclasses import replace

import pytest

import sgp
from sgp.domains.domain import Domain, Sizes
from sgp.encoders.fsf import DONT_CARE, PADDING, FSFEncoder
from sgp.errors import ConfigurationError, DomainMismatch
from sgp.methods.loading import load_planner
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from tests.conftest import pddl_problem

BLOCKS, GRIPPER, LOGISTICS, VISITALL = map(sgp.get_domain, ("blocksworld", "gripper", "logistics", "visitall"))


X, P = DONT_CARE, PADDING
ROOMS = (
    "(room r1) (room r2) (ball b1) (ball b2) (gripper g1) (gripper g2) (at-robby r2) (at b1 r1) (carry b2 g1) (free g2)"
)
PLACES = "(package p1) (package p2) (truck t1) (location l1) (location l2) (city c1) (in-city l1 c1) (in-city l2 c1)"
CELLS = "(place x) (place y) (connected x y) (connected y x) (at-robot y) (visited x) (visited y)"
EXAMPLES = {
    "the paper's": (
        *(BLOCKS, "a b c d", "(ontable a) (on b a) (holding c) (ontable d) (clear b) (clear d)", "(on c d)"),
        *([0, 0, 1, -1, 0, P, P], [0, X, X, 4, X, P, P]),
    ),
    # Rooms have no variable; b1 is in room 1, b2 in gripper 5, which holds ball 4; gripper 6 is free.
    "rooms": (GRIPPER, "r1 r2 b1 b2 g1 g2", ROOMS, "(at b1 r2)", [2, 0, 0, 1, -5, 4, 0], [X, X, X, 2, X, X, X]),
    "vehicles": (
        *(LOGISTICS, "p1 p2 t1 l1 l2 c1", f"{PLACES} (at t1 l2) (at p1 l1) (in p2 t1)", "(at p1 l2)"),
        *([0, 4, -3, 5, 0, 0, 0, P], [0, 5, X, X, X, X, X, P]),
    ),
    "cells": (VISITALL, "x y", CELLS, "(and (visited x) (visited y))", [2, 1, 1, P], [X, 1, 1, P]),
}


@pytest.mark.parametrize(("domain", "objects", "init", "goal", "state", "wanted"), EXAMPLES.values(), ids=EXAMPLES)
def test_states_and_goals_by_hand(domain, objects, init, goal, state, wanted):
    example = Task(pddl_problem(domain.models["untyped"], objects, init, goal))
    encoder = FSFEncoder(domain, len(state) - 1)
    assert encoder.dimension == len(state)
    assert encoder.embed(example, [example.init]).tolist() == [state]
    assert encoder.embed_goal(example).tolist() == wanted


def test_more_objects_than_slots_are_refused_and_other_domains_are_an_error(two_blocks, three_blocks, courier):
    encoder = FSFEncoder(BLOCKS, 2)
    assert encoder.refuses(two_blocks) is None
    assert encoder.refuses(three_blocks) == "the problem has 3 objects, the encoding 'fsf' was made for at most 2"
    with pytest.raises(DomainMismatch, match="courier-1 is of domain 'courier', whose predicates and actions are not"):
        encoder.refuses(courier)
    bare = Domain("bare", "Bare", BLOCKS.models, Sizes(bounds={}, count=lambda: 0), BLOCKS.generator)
    with pytest.raises(ConfigurationError, match="domain bare defines no slots for the encoding 'fsf'; use 'wl' inste"):
        FSFEncoder(bare, 3)


def test_a_refused_problem_is_an_outcome(quick_run):
    planner = load_planner(quick_run("state-centric", "gripper", "fsf-xgboost-delta"))
    small = replace(planner, policy=replace(planner.policy, encoder=FSFEncoder(GRIPPER, 12)))
    problems = sgp.load_suite("state-centric").problems("gripper", "validation")
    for rollout in small.solve_many(map(Task, problems)):
        assert rollout.outcome is Outcome.REFUSED
        assert "the encoding 'fsf' was made for at most 12" in rollout.reason


def test_slots_are_named_by_their_objects(two_blocks):
    encoder = FSFEncoder(sgp.get_domain("blocksworld"), 3)
    words = ["the global variable", "the slot of a", "the slot of b", "a slot without an object"]
    assert encoder.in_words(two_blocks, [0, 1, 2, 3]) == words
