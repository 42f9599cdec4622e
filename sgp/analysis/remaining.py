"""The distance to the goal from each state of a rollout, and the regret of each step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgp.errors import UnsolvableProblem
from sgp.planning.clock import LimitReached
from sgp.planning.experts import QUICK, Stage, find_plan
from sgp.planning.pddl import Action
from sgp.planning.planner import Limit, clock_of
from sgp.planning.recorded import recorded_left, regrets
from sgp.planning.rollout import Rollout
from sgp.planning.state_space import StateSpace
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory
from sgp.progress import track

SPACE = 100_000  # states of a state space that is expanded
_CHEAP = 20_000  # of one that is expanded within a fraction of a second
_IN_PASSING = Limit(seconds=10.0)  # for problems in which even few states take long
SAMPLES = 24  # states from which plans are searched otherwise
Edge = tuple[State, State, int]  # from a state to another one by so many actions


@dataclass(frozen=True)
class Remaining:
    """The number of actions to the goal from each state of a rollout, including the last one.

    Infinite in a dead end, None if no plan is known. If `optimal`, the whole state space was searched; otherwise they
    are upper bounds by the best known plans.
    """

    actions: tuple[float | None, ...]
    optimal: bool

    def regrets(self, rollout: Rollout) -> list[float | None]:
        """The regret of each step (`sgp.planning.recorded`)."""
        return regrets(self.actions, (len(step.successor.actions) for step in rollout.steps))

    def record(self) -> dict[str, Any]:
        """The distances as stored in a rollout's record (`left`)."""
        return recorded_left(self.actions, self.optimal)


def remaining_exactly(rollout: Rollout, space: int = SPACE) -> Remaining | None:
    """The exact distances by expanding the whole state space, up to symmetry; None beyond `space` states."""
    states = _states(rollout)
    for up_to_symmetry in (True, False):  # a state can be symmetric to none of the representatives by its names
        whole = StateSpace.expand(rollout.task, space, up_to_symmetry)
        if whole is None:
            return None
        if not up_to_symmetry or all(whole.place(state) is not None for state in states):
            return Remaining(tuple(whole.distance(states).tolist()), True)
    return None


def remaining_in_passing(rollout: Rollout) -> Remaining | None:
    """`remaining_exactly` for a small state space; None if it is large or takes long."""
    try:
        with clock_of(_IN_PASSING) as clock, clock.within(_IN_PASSING.seconds or math.inf):
            return remaining_exactly(rollout, _CHEAP)
    except (LimitReached, MemoryError):
        return None


def remaining(
    rollout: Rollout,
    expert: Sequence[Action] = (),
    space: int = SPACE,
    samples: int = SAMPLES,
    stages: Sequence[Stage] = QUICK,
) -> Remaining:
    """The distances of a rollout's states, exact if the state space has at most `space` states.

    Otherwise upper bounds by known plans: the expert's, those of Fast Downward from up to `samples` evenly chosen
    states, and the steps of the rollout itself, in both directions if an action can be undone at once.
    """
    exact = remaining_exactly(rollout, space)
    if exact is not None:
        return exact
    task, states = rollout.task, _states(rollout)
    edges = [(step.state, step.successor.state, len(step.successor.actions)) for step in rollout.steps]
    edges += [(after, before, 1) for before, after, taken in edges if taken == 1 and _leads(task, after, before)]
    known = {state: 0.0 if task.is_goal(state) else math.inf for state in states}
    for place, state in enumerate(Trajectory.of(task, tuple(expert)).states if expert else ()):
        known[state] = min(known.get(state, math.inf), float(len(expert) - place))
    dead, different = set[State](), list(dict.fromkeys(states))
    places = np.unique(np.linspace(0, len(different) - 1, min(samples, len(different))).round().astype(int))
    for place in track(places.tolist(), f"plans from states of {task.name}", len(places)):
        state = different[place]
        try:
            plan = find_plan(task.restarted(state), stages).plan
        except UnsolvableProblem:
            dead.add(state)
            continue
        if plan is not None:
            known[state] = min(known[state], float(len(plan)))
    _relax(known, edges)
    return Remaining(tuple(_distance(known[state], state in dead) for state in states), False)


def _states(rollout: Rollout) -> list[State]:
    """The states of a rollout, the last one included."""
    return [*(step.state for step in rollout.steps), rollout.end]


def _distance(left: float, dead: bool) -> float | None:
    return math.inf if dead else None if left == math.inf else left


def _leads(task: Task, state: State, to: State) -> bool:
    """Whether an action leads from a state to another one."""
    return any(each.state == to for each in task.successors(state))


def _relax(known: dict[State, float], edges: Sequence[Edge]) -> None:
    """Lower the known distances along the edges until nothing changes (Bellman-Ford)."""
    changed = True
    while changed:
        changed = False
        for before, after, taken in reversed(edges):
            if known[after] + taken < known[before]:
                known[before] = known[after] + taken
                changed = True
