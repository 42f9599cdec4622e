"""Decisions that recur are repeated: the same plans in fewer decisions, and only where class sizes change no cost."""

from dataclasses import replace

import numpy as np
import pytest

from sgp.domains import get_domain
from sgp.errors import PlanError
from sgp.methods.loading import load_planner
from sgp.planning.lookahead import successors_for
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.policy import one_step
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task, replay
from sgp.solving import run_for


def problem(name, **arguments):
    domain = get_domain(name)
    return Problem("drawn", domain.pddl, domain.generate(np.random.default_rng(5), **arguments))


def solved(planner, given, **more):
    """Return the rollout of a problem whose actions are not all instantiated; its plan is replayed on its own."""
    rollout = planner.solve(Task(given, "lifted"), Limit(seconds=120, **more))
    task = Task(given)
    assert rollout.solved == task.is_goal(replay(task, rollout.plan)[-1])
    return rollout


def jumps(rollout):
    return [len(step.successor.actions) for step in rollout.steps if "because" in step.note]


@pytest.mark.parametrize(
    ("given", "most"),
    [
        (problem("gripper", balls=70, delivered=3), 40),
        (problem("ferry", cars=60, locations=2), 80),
        (problem("miconic", passengers=60, floors=2), 90),
        (problem("satellite", satellites=1, instruments=1, modes=1, directions=60), 40),
        (problem("blocksworld", blocks=15), 1000),  # no two blocks are interchangeable
    ],
    ids=["gripper", "ferry", "miconic", "satellite", "blocksworld"],
)
def test_the_plan_is_that_of_all_decisions(given, most):
    planner = replace(load_planner(run_for(given)), fallbacks=())
    repeated, single = (solved(replace(planner, recurring=recurring), given) for recurring in (True, False))
    assert repeated.solved
    assert repeated.plan == single.plan
    assert single.decisions == len(single.plan)
    assert repeated.decisions == len(repeated.steps) - len(jumps(repeated)) <= most
    assert all(length > 1 for length in jumps(repeated))


def test_a_jump_ends_within_the_limit_on_actions():
    given = problem("gripper", balls=70, delivered=3)
    planner = replace(load_planner(run_for(given)), fallbacks=())
    rollout = solved(planner, given, actions=100)
    assert jumps(rollout)
    assert rollout.outcome is Outcome.HORIZON
    assert len(rollout.plan) <= 100


def test_decisions_are_repeated_only_where_class_sizes_change_neither_candidates_nor_costs():
    given = problem("gripper", balls=70, delivered=3)
    planner = replace(load_planner(run_for(given)), fallbacks=())
    weights = planner.policy.weights
    by_goals = replace(planner.policy, weights=np.vstack([weights, 0 * weights]))  # change with the satisfied goals
    assert jumps(solved(planner, given))
    assert jumps(solved(replace(planner, successors=one_step), given))
    for other in (
        replace(planner, recurring=False),
        replace(planner, width=2),
        replace(planner, revisits=True),
        replace(planner, policy=by_goals),
        replace(planner, successors=successors_for("iw", 0, representatives=True)),
    ):
        assert not jumps(solved(other, given, decisions=60))


def test_after_all_is_apply_in_turn_and_refuses_what_is_not_applicable():
    given = problem("logistics", cities=2, locations=2, airplanes=1, packages=3)
    task, random = Task(given), np.random.default_rng(3)
    states, actions = [task.init], []
    for _ in range(40):
        applicable = task.applicable(states[-1])
        actions.append(applicable[random.integers(len(applicable))])
        states.append(task.apply(states[-1], actions[-1]))
    for begin in range(0, 40, 7):
        assert task.after_all(states[begin], actions[begin:]) == states[-1]
    impossible = next(action for action in task.applicable(states[-1]) if action not in task.applicable(task.init))
    with pytest.raises(PlanError, match="is not applicable"):
        task.after_all(task.init, [impossible])
