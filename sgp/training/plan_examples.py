"""Training examples: a state with a plan to the goal, sampled from state spaces and experts' trajectories.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 6, trains on optimal plans; its
available text does not state how states are sampled. Here a problem is drawn uniformly, then a state of it from which
the goal is reachable, then one of its optimal plans, each action drawn uniformly among the optimal actions. For a
problem with too large a state space, states are drawn from the expert's plan, with the rest of that plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgp.planning.pddl import Action
from sgp.planning.policy import one_step
from sgp.planning.state_space import StateSpace
from sgp.planning.task import State, Task, Trajectory


class Example(NamedTuple):
    """A state of a task, and a plan from it to the goal."""

    task: Task
    state: State
    plan: tuple[Action, ...]


@dataclass(frozen=True)
class OptimalPlans:
    """Optimal plans of a problem with a known state space."""

    space: StateSpace
    solvable: np.ndarray  # indices of states from which the goal is reachable; goal states only with `goals`
    known: dict[State, list[tuple[Action, State]]]  # cache of the optimal steps of a state

    @classmethod
    def of(cls, space: StateSpace, goals: bool) -> OptimalPlans:
        """Return the plans of a state space, with the empty plans of goal states only with `goals`."""
        least = 0 if goals else 1
        return cls(space, np.flatnonzero((space.distances >= least) & (space.distances < np.inf)), {})

    def draw(self, random: np.random.Generator) -> Example:
        """Draw a state and an optimal plan."""
        state = start = self.space.state(int(random.choice(self.solvable)))
        plan = list[Action]()
        while not self.space.task.is_goal(state):
            ways = self._ways(state)
            action, state = ways[random.integers(len(ways))]
            plan.append(action)
        return Example(self.space.task, start, tuple(plan))

    def _ways(self, state: State) -> list[tuple[Action, State]]:
        found = self.known.get(state)
        if found is None:
            choice = one_step(self.space.task, state)
            left = choice.lengths + self.space.distance_beyond(choice)
            best = [choice[place] for place in np.flatnonzero(left == left.min()).tolist()]
            found = self.known[state] = [(each.actions[0], each.state) for each in best]
        return found


@dataclass(frozen=True)
class ExpertsPlan:
    """A problem with one known plan."""

    trajectory: Trajectory
    goals: bool

    def draw(self, random: np.random.Generator) -> Example:
        """Draw a state of the plan with the remaining plan."""
        place = int(random.integers(len(self.trajectory) + self.goals))
        return Example(self.trajectory.task, self.trajectory.states[place], self.trajectory.actions[place:])


Source = OptimalPlans | ExpertsPlan  # a distribution of examples of one problem


def sources(trajectories: Sequence[Trajectory], space: int, goals: bool) -> list[Source]:
    """Return the problems' sources of examples, expanding state spaces of at most `space` states.

    Goal states, whose plans are empty, are included with `goals`. A problem whose initial state is a goal state is
    skipped.
    """
    found: list[Source] = []
    for each in trajectories:
        if len(each):
            whole = StateSpace.expand(each.task, space)
            found.append(ExpertsPlan(each, goals) if whole is None else OptimalPlans.of(whole, goals))
    return found


def draw(of: Sequence[Source], count: int, random: np.random.Generator) -> list[Example]:
    """Draw `count` examples, the problem of each uniformly."""
    return [of[place].draw(random) for place in random.integers(len(of), size=count)]
