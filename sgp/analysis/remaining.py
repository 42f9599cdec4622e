"""How far the goal is from each state of a rollout, and so what each step gave away: its regret."""

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
from sgp.planning.regret import recorded_left, regrets
from sgp.planning.rollout import Rollout
from sgp.planning.state_space import StateSpace
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory
from sgp.progress import track

SPACE = 100_000  # states of a state space that is expanded
_CHEAP = 20_000  # of one that is expanded in passing, within a fraction of a second
_IN_PASSING = Limit(seconds=10.0)  # where its actions alone take longer, as where a rollout ended by its limit
ASKED = 24  # states from which plans are looked for where it is not
Edge = tuple[State, State, int]  # from a state to another one by so many actions


@dataclass(frozen=True)
class Remaining:
    """The least number of actions to the goal from each state of a rollout, the last one included.

    Infinite in a dead end, None where no plan is known. Where `optimal` the whole state space was searched, else they
    are the lengths of the best plans known, which others may beat.
    """

    actions: tuple[float | None, ...]
    optimal: bool

    def regrets(self, rollout: Rollout) -> list[float | None]:
        """What each step gave away (`sgp.planning.regret`)."""
        return regrets(self.actions, (len(step.successor.actions) for step in rollout.steps))

    def record(self) -> dict[str, Any]:
        """What a rollout's record holds of it (`left`)."""
        return recorded_left(self.actions, self.optimal)


def remaining_exactly(rollout: Rollout, space: int = SPACE) -> Remaining | None:
    """What is left from each state of a rollout by the whole state space, interchangeable objects as one.

    None where that has more than `space` states.
    """
    states = _states(rollout)
    for up_to_symmetry in (True, False):  # one that is alike may be reached under names that no representative takes
        whole = StateSpace.expand(rollout.task, space, up_to_symmetry)
        if whole is None:
            return None
        if not up_to_symmetry or all(whole.place(state) is not None for state in states):
            return Remaining(tuple(whole.distance(states).tolist()), True)
    return None


def remaining_in_passing(rollout: Rollout) -> Remaining | None:
    """What `remaining_exactly` finds in a small state space; None where it is large or takes long."""
    try:
        with clock_of(_IN_PASSING) as clock, clock.within(_IN_PASSING.seconds or math.inf):
            return remaining_exactly(rollout, _CHEAP)
    except (LimitReached, MemoryError):
        return None


def remaining(
    rollout: Rollout,
    expert: Sequence[Action] = (),
    space: int = SPACE,
    asked: int = ASKED,
    stages: Sequence[Stage] = QUICK,
) -> Remaining:
    """What is left from each state of a rollout.

    By the whole state space where it has at most `space` states. Else by what is known: the expert's plan, what Fast
    Downward finds from up to `asked` of the states, evenly chosen, and the rollout itself, whose every step is a way to
    what is known further on, and back where its action can be undone at once.
    Raises PlanError for an expert's action that cannot be taken, ToolError where Fast Downward is missing or fails.
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
    places = np.unique(np.linspace(0, len(different) - 1, min(asked, len(different))).round().astype(int))
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
    return Remaining(tuple(_told(known[state], state in dead) for state in states), False)


def _states(rollout: Rollout) -> list[State]:
    """The states of a rollout, the last one included."""
    return [*(step.state for step in rollout.steps), rollout.end]


def _told(left: float, dead: bool) -> float | None:
    return math.inf if dead else None if left == math.inf else left


def _leads(task: Task, state: State, to: State) -> bool:
    """Whether an action leads from a state to another one."""
    return any(each.state == to for each in task.successors(state))


def _relax(known: dict[State, float], edges: Sequence[Edge]) -> None:
    """Lowers what is known to what the edges make of it, until nothing changes (Bellman and Ford)."""
    changed = True
    while changed:
        changed = False
        for before, after, taken in reversed(edges):
            if known[after] + taken < known[before]:
                known[before] = known[after] + taken
                changed = True
