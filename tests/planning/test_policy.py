"""Four kinds of policy, each in a few lines, as a test of the interface."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sgp.planning.pddl import Action, Atom
from sgp.planning.planner import Planner
from sgp.planning.policy import ADD_UP, REPLACE, Ranking
from sgp.planning.rollout import Outcome
from sgp.planning.task import Successor

PLAN = [Action("unstack", ("c", "a")), Action("put-down", ("c",)), Action("pick-up", ("b",))]
PLAN += [Action("stack", ("b", "c")), Action("pick-up", ("a",)), Action("stack", ("a", "b"))]


class Accepts:
    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [self.one(node, choice) for node, choice in zip(nodes, choices, strict=True)]


def unreached(task, state):
    """Number of open goals: a value function that is accurate enough for three blocks."""
    return sum(atom not in task.atoms(state) for atom in task.goal_atoms)


class NearestEmbedding(Accepts):
    """Embeds a state by its true atoms, and predicts the current state with all goal atoms added."""

    rules = ADD_UP

    def embed(self, task, atoms):
        names = [thing.name for thing in task.objects]
        pairs = [Atom("on", pair) for pair in product(names, names)]
        return np.array([atom in atoms for atom in [*pairs, *(Atom("holding", (name,)) for name in names)]], float)

    def one(self, node, choice):
        task, here = node.task, node.task.atoms(node.state)
        rows = [self.embed(task, task.atoms(each.state)) for each in choice]
        predicted = np.maximum(self.embed(task, here), self.embed(task, task.goal_atoms))
        return Ranking(np.linalg.norm(np.array(rows) - predicted, axis=1), keys=[row.tobytes() for row in rows])


class ValueFunction(Accepts):
    def one(self, node, choice):
        return Ranking(np.array([float(unreached(node.task, each.state)) for each in choice]))


class PairRanker(Accepts):
    """Embeds the pair of state and candidate: how many goal atoms the jump gains for each action."""

    def one(self, node, choice):
        gains = [unreached(node.task, node.state) - unreached(node.task, each.state) for each in choice]
        return Ranking(np.array([-gain / len(each.actions) for gain, each in zip(gains, choice, strict=True)]))


class TokenPrefix(Accepts):
    """Generates a fixed plan action by action; the prefix is the memory, every other action is rejected."""

    def one(self, node, choice):
        prefix = node.memory or ()
        wanted = (PLAN[len(prefix)],)
        costs = np.array([0.0 if each.actions == wanted else np.inf for each in choice])
        return Ranking(costs, memories=[prefix + each.actions for each in choice])


def two_steps(task, state):
    """All successors and their successors: a lookahead tree of depth two with parents."""
    found = list(task.successors(state))
    for parent, child in enumerate(tuple(found)):
        for grandchild in task.successors(child.state):
            found.append(Successor(child.actions + grandchild.actions, grandchild.state, parent))
    return found


@pytest.mark.parametrize(
    "planner",
    [
        Planner(NearestEmbedding(), width=8),
        Planner(ValueFunction(), width=4),
        Planner(PairRanker(), successors=two_steps, width=8),
        Planner(TokenPrefix()),
    ],
    ids=lambda planner: type(planner.policy).__name__,
)
def test_each_kind_of_policy_solves_sussmans_anomaly(planner, three_blocks):
    rollout = planner.solve(three_blocks)
    assert rollout.outcome is Outcome.SOLVED
    assert three_blocks.is_goal(rollout.end)
    assert len(rollout.plan) >= 6
    assert rollout.plan[-1] == Action("stack", ("a", "b"))


def test_a_token_prefix_is_carried_to_the_chosen_node(three_blocks):
    rollout = Planner(TokenPrefix()).solve(three_blocks)
    assert rollout.plan == tuple(PLAN)


def test_lookahead_jumps_are_unrolled_into_the_plan(three_blocks):
    rollout = Planner(PairRanker(), successors=two_steps, width=8).solve(three_blocks)
    assert any(len(step.successor.actions) == 2 for step in rollout.steps)
    assert len(rollout.steps) < len(rollout.plan)
    assert all(
        step.candidates[step.successor.parent].actions == step.successor.actions[:1]
        for step in rollout.steps
        if step.successor.parent is not None
    )
