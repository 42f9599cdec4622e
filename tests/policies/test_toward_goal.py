"""Policy that goes where the predicted state is most similar to the goal."""

from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.errors import TextTooLong
from sgp.planning.planner import Limit
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.policies.toward_goal import GoalwardDecoding, TowardGoal

SUITE = sgp.load_suite("state-centric")


class Atoms:
    """Embeds a state by its satisfied goals and its number of atoms; predictions are exact up to a scale of 3."""

    def __init__(self, task):
        self.goal = list(task.goal_atoms)

    def refuses(self, task):
        return "no" if len(task.objects) > 30 else None

    def embed(self, task, states):
        held = [set(task.atoms(state)) for state in states]
        return np.array([[*(float(each in some) for each in self.goal), 0.01 * len(some)] for some in held])

    def embed_goal(self, task):
        return np.array([*np.ones(len(self.goal)), 0.0])

    def predict(self, task, states, actions):
        after = []
        for state, action in zip(states, actions, strict=True):
            (found,) = [each.state for each in task.successors(state) if each.actions[0] == action]
            after.append(found)
        return 3.0 * self.embed(task, after)


@pytest.mark.parametrize("compared", ["predicted", "true"])
def test_costs_are_two_less_the_cosine_with_the_goal(compared):
    task = Task(SUITE.problems("gripper", "validation")[0])
    model = Atoms(task)
    rollout = GoalwardDecoding(compared=compared).planner(model).solve(task, Limit(actions=6))
    assert rollout.steps
    goal = model.embed_goal(task)
    for step in rollout.steps:
        rows = model.embed(task, [each.state for each in step.candidates])
        near = rows @ goal / np.linalg.norm(rows, axis=1) / np.linalg.norm(goal)
        assert np.allclose(step.costs, 2.0 - near)
        assert step.costs[step.chosen] == pytest.approx(step.costs[step.open_to_choice].min())


def test_what_a_model_cannot_embed_is_refused():
    small, large = SUITE.problems("gripper", "validation")[0], SUITE.problems("gripper", "extrapolation")[-1]
    policy = TowardGoal(Atoms(Task(small)))
    assert policy.refuses(Task(small)) is None
    assert policy.refuses(Task(large)) == "no"


@pytest.mark.parametrize("compared", ["predicted", "true"])
def test_a_text_that_grows_too_long_refuses_its_problem_and_no_other(compared):
    class Short(Atoms):
        def embed(self, task, states):
            if task.name == large.name and any(state != task.init for state in states):
                raise TextTooLong("a text has 300 tokens")
            return super().embed(task, states)

    small, large = (Task(problem) for problem in SUITE.problems("gripper", "validation"))
    model = Short(small)
    model.goal = [*small.goal_atoms, *large.goal_atoms]
    planner = GoalwardDecoding(compared=compared).planner(model)
    one, other = planner.solve_many([small, large], Limit(actions=3))
    assert one.steps
    assert not one.reason
    assert (other.outcome, other.reason, len(other.steps)) == (Outcome.REFUSED, "a text has 300 tokens", 0)
