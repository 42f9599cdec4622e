from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.domains.domain import Domain, Sizes
from sgp.encoders.fsf import DONT_CARE, PADDING, FSFEncoder
from sgp.errors import ConfigurationError, DomainMismatch
from sgp.methods.loading import load_planner
from sgp.planning.pddl import Problem
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from tests.conftest import blocks_problem, pddl_problem

BLOCKS, GRIPPER, LOGISTICS, VISITALL = map(sgp.get_domain, ("blocksworld", "gripper", "logistics", "visitall"))


def task(domain, *texts):
    return Task(pddl_problem(domain.models["untyped"], *texts))


def test_blocks_are_encoded_as_in_the_papers_example():
    problem = blocks_problem("a b c d", "(ontable a) (on b a) (holding c) (ontable d) (clear b) (clear d)", "(on c d)")
    problem = Problem(problem.name, problem.domain_pddl, problem.problem_pddl.replace("(handempty)", ""))
    example, encoder = Task(problem), FSFEncoder(BLOCKS, 6)
    assert encoder.dimension == 7
    assert encoder.embed(example, [example.init]).tolist() == [[0, 0, 1, -1, 0, PADDING, PADDING]]
    assert encoder.embed_goal(example).tolist() == [0, DONT_CARE, DONT_CARE, 4, DONT_CARE, PADDING, PADDING]


def test_gripper_has_the_robots_room_balls_and_grippers():
    init = "(room r1) (room r2) (ball b1) (ball b2) (gripper g1) (gripper g2) (at-robby r2) (at b1 r1) (carry b2 g1)"
    init += "(free g2)"
    example = task(GRIPPER, "r1 r2 b1 b2 g1 g2", init, "(at b1 r2)")
    encoder = FSFEncoder(GRIPPER, 6)
    # Rooms have no variable; b1 is in room 1, b2 in gripper 5, which holds ball 4; gripper 6 is free.
    assert encoder.embed(example, [example.init]).tolist() == [[2, 0, 0, 1, -5, 4, 0]]
    assert encoder.embed_goal(example)[[0, 3, 4]].tolist() == [DONT_CARE, 2, DONT_CARE]


def test_logistics_has_places_and_vehicles():
    init = "(package p1) (package p2) (truck t1) (location l1) (location l2) (city c1) (in-city l1 c1) (in-city l2 c1)"
    init += "(at t1 l2) (at p1 l1) (in p2 t1)"
    example = task(LOGISTICS, "p1 p2 t1 l1 l2 c1", init, "(at p1 l2)")
    encoder = FSFEncoder(LOGISTICS, 7)
    assert encoder.embed(example, [example.init]).tolist() == [[0, 4, -3, 5, 0, 0, 0, PADDING]]
    assert encoder.embed_goal(example)[[0, 1, 2]].tolist() == [0, 5, DONT_CARE]


def test_visitall_has_the_robots_cell_and_visited_cells():
    init = "(place x) (place y) (connected x y) (connected y x) (at-robot x) (visited x)"
    example = task(VISITALL, "x y", init, "(and (visited x) (visited y))")
    encoder = FSFEncoder(VISITALL, 3)
    (successor,) = example.successors(example.init)
    assert encoder.embed(example, [example.init, successor.state]).tolist() == [[1, 1, 0, PADDING], [2, 1, 1, PADDING]]
    assert encoder.embed_goal(example).tolist() == [DONT_CARE, 1, 1, PADDING]


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
    assert encoder.in_words(two_blocks, [0, 1, 2, 3]) == [
        "the global variable",
        "the slot of a",
        "the slot of b",
        "a slot without an object",
    ]
