"""Distance to the goal from each state of a rollout, against breadth-first search, and actions lost by steps."""

import json
import math
from itertools import pairwise

import pytest

from sgp.analysis.diagnostics import exact_distances, remaining
from sgp.datasets.recorded import decode_bounds, regrets
from sgp.datasets.recording import records, with_distances
from sgp.datasets.suite import load_suite
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from tests.planning.test_planner import Costs, by_name

BRIDGE = """(define (domain bridge) (:predicates (at ?p) (road ?a ?b) (wet ?p))
  (:action walk :parameters (?a ?b) :precondition (and (at ?a) (road ?a ?b)) :effect (and (at ?b) (not (at ?a)))))"""
ONE_WAY = """(define (problem one-way) (:domain bridge) (:objects a b c d)
  (:init (at a) (road a b) (road b a) (road b c) (road a d) (road d d)) (:goal (at c)))"""
DOWN = Costs(lambda task, action, state: "d)" not in action)  # goes to d wherever it can


def searched(task, state):
    level, seen, depth = [state], {state}, 0
    while level:
        if any(map(task.is_goal, level)):
            return depth
        level = list(dict.fromkeys(each.state for one in level for each in task.successors(one)))
        level = [each for each in level if each not in seen]
        seen.update(level)
        depth += 1
    return math.inf


def is_exact(left):
    return all(low == high for low, high in left.states)


def regrets_of(left, rollout):
    return regrets(left.states, (len(step.successor.actions) for step in rollout.steps))


def exact(left):
    """The exact distances of the states."""
    assert is_exact(left)
    return [low for low, _ in left.states]


def wandering(task, actions=9):
    """A rollout that moves away from the goal before it ends."""
    return Planner(by_name(pick_up=0.1, stack=0.4, unstack=0.2, put_down=0.3)).solve(task, Limit(actions=actions))


def test_the_whole_state_space_tells_what_is_left_and_regrets_are_what_a_plan_has_too_many(three_blocks):
    rollout = wandering(three_blocks)
    left = remaining(rollout)
    states = [*(step.state for step in rollout.steps), rollout.steps[-1].successor.state]
    assert is_exact(left)
    assert exact(left) == [searched(three_blocks, state) for state in states]
    for step, found in zip(rollout.steps, left.candidates, strict=True):
        assert [low for low, _ in found] == [searched(three_blocks, each.state) for each in step.candidates]
    lost = regrets_of(left, rollout)
    assert sum(lost) == len(rollout.steps) + exact(left)[-1] - exact(left)[0]
    assert max(lost) > 0
    assert min(lost) >= 0
    assert exact_distances(rollout) == remaining(rollout)
    assert exact_distances(rollout, 5) is None


def test_without_the_state_space_plans_bound_distances_and_regrets(three_blocks):
    rollout = wandering(three_blocks)
    left, known = remaining(rollout), remaining(rollout, space=1)
    assert (is_exact(known), known.states) == (True, left.states), "plans of the first stage are optimal"
    for bounded in (known, remaining(rollout, space=1, samples=1), remaining(rollout, space=1, samples=9, optimal=())):
        pairs = [*zip(bounded.states, left.states, strict=True)]
        for some, best in zip(bounded.candidates, left.candidates, strict=True):
            pairs += zip(some, best, strict=True)
        assert all(low <= distance <= high for (low, high), (distance, _) in pairs)
        for lost, true in zip(regrets_of(bounded, rollout), regrets_of(left, rollout), strict=True):
            assert lost is None or 0 <= lost <= true, "no regret is reported that is not proved"
    assert not is_exact(bounded), "plans that may be too long are no lower bounds"
    rollout = Planner(by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2), width=50).solve(three_blocks)
    plan = [action for step in rollout.steps for action in step.successor.actions]
    left = remaining(rollout, plan, space=1, samples=0)
    assert [high for _, high in left.states] == [float(count) for count in range(len(plan), -1, -1)]
    assert set(regrets_of(left, rollout)) <= {None, 0.0}, "an expert's plan alone proves no loss"


@pytest.mark.parametrize("space", [100, 1])
def test_a_dead_end_is_told_and_nothing_is_lost_within(space):
    task = Task(Problem("one-way", BRIDGE, ONE_WAY))
    rollout = Planner(DOWN, one_step, revisits=True).solve(task, Limit(actions=3))
    left = remaining(rollout, space=space)
    assert exact(left) == [2, math.inf, math.inf, math.inf]
    assert regrets_of(left, rollout) == [math.inf, None, None]


def test_what_is_left_is_recorded_and_read_back_with_dead_ends():
    rollout = Planner(DOWN).solve(Task(Problem("one-way", BRIDGE, ONE_WAY)), Limit(actions=3))
    left = remaining(rollout)
    assert math.inf in exact(left)
    made = list(with_distances(records(rollout), left.record()))
    head, *steps = json.loads(json.dumps(made, allow_nan=False))
    assert tuple(map(decode_bounds, head["left"])) == left.states
    for step, found in zip(steps, left.candidates, strict=True):
        assert tuple(decode_bounds(each["left"]) for each in step["candidates"]) == found


def test_a_regret_is_what_the_bounds_prove():
    left = [(5, 5), (5, 5), (3, 9), (4, 6), (9, 9), (2, 3), (math.inf, math.inf), (math.inf, math.inf)]
    assert regrets(left, [1] * 7) == [1, None, None, 4, 0.0, math.inf, None]
    assert regrets([(5, math.inf), (7, 7)], [1]) == [None]
    assert regrets([(3, 5), (2, 2)], [1]) == [0.0]


def test_interchangeable_objects_count_as_one_in_the_whole_state_space():
    """Each of eighteen balls is picked and dropped once; two are carried at a time, with an empty way back."""
    problems = load_suite("state-centric").problems("gripper", "extrapolation")
    task = Task(next(each for each in problems if each.name == "p04"))
    rollout = Planner(by_name(drop=0.1, pick=0.2, move=0.3)).solve(task, Limit(actions=6))
    left = exact_distances(rollout, 1_000)
    assert left is not None
    assert exact(left)[0] == 18 + 18 + 9 + 8
    for (before, after), step in zip(pairwise(exact(left)), rollout.steps, strict=True):
        assert abs(before - after) <= len(step.successor.actions)
