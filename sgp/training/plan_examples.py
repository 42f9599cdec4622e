"""Examples of a state with a plan to the goal, drawn at random from state spaces and experts' trajectories.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 6, trains on optimal plans; which
states it draws, its text at hand does not say. Here: a problem, all with the same probability, then a state of it from
which the goal can be reached, then one of its optimal plans, each action drawn among all that lie on one. A problem
whose state space is too large gives the states of its expert's plan and what that plan has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sgp.planning.candidates import lengths
from sgp.planning.pddl import Action
from sgp.planning.policy import one_step
from sgp.planning.state_space import StateSpace
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory


class Example(NamedTuple):
    """A state of a task, and a plan from it to the goal."""

    task: Task
    state: State
    plan: tuple[Action, ...]


class Source(Protocol):
    """What examples of one problem are drawn from."""

    def draw(self, random: np.random.Generator) -> Example:
        """One of them."""
        ...


@dataclass(frozen=True)
class OptimalPlans:
    """A problem whose state space is known."""

    space: StateSpace
    solvable: np.ndarray  # places of the states from which the goal can be reached; goal states where `goals`
    known: dict[State, list[tuple[Action, State]]]  # the right ways on, where they were asked for before

    @classmethod
    def of(cls, space: StateSpace, goals: bool) -> OptimalPlans:
        """The plans of a state space, of which the empty ones are some where `goals` says so."""
        least = 0 if goals else 1
        return cls(space, np.flatnonzero((space.distances >= least) & (space.distances < np.inf)), {})

    def draw(self, random: np.random.Generator) -> Example:
        """A random state with a random optimal plan."""
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
            left = lengths(choice) + self.space.distance_beyond(choice)
            best = [choice[place] for place in np.flatnonzero(left == left.min()).tolist()]
            found = self.known[state] = [(each.actions[0], each.state) for each in best]
        return found


@dataclass(frozen=True)
class ExpertsPlan:
    """A problem of which one plan is known."""

    trajectory: Trajectory
    goals: bool

    def draw(self, random: np.random.Generator) -> Example:
        """A random state of the plan, and what is left of it."""
        place = int(random.integers(len(self.trajectory) + self.goals))
        return Example(self.trajectory.task, self.trajectory.states[place], self.trajectory.actions[place:])


def sources(trajectories: Sequence[Trajectory], space: int, goals: bool) -> list[Source]:
    """What the problems' examples are drawn from, for state spaces of at most `space` states.

    Goal states, whose plans are empty, are among them where `goals` says so; a problem without others is left out.
    """
    found: list[Source] = []
    for each in trajectories:
        if len(each):
            whole = StateSpace.expand(each.task, space)
            found.append(ExpertsPlan(each, goals) if whole is None else OptimalPlans.of(whole, goals))
    return found


def draw(of: Sequence[Source], count: int, random: np.random.Generator) -> list[Example]:
    """So many examples, each of a problem drawn with the same probability."""
    return [of[place].draw(random) for place in random.integers(len(of), size=count)]
