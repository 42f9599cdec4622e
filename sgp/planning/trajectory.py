"""An expert's plan and the states along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgp.errors import ConfigurationError, PlanError
from sgp.planning.hash_table import Ints
from sgp.planning.pddl import Action
from sgp.planning.symmetry import Symmetry, signatures_in
from sgp.planning.task import State, Task, replay


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a plan: `states[t]` is reached after `actions[:t]`; the last one is a goal state."""

    task: Task
    actions: tuple[Action, ...]
    states: tuple[State, ...]

    @classmethod
    def of(cls, task: Task, actions: tuple[Action, ...]) -> Trajectory:
        """Replay a plan. Raises PlanError if an action is not applicable or the goal is not reached.

        The trajectory has the task's actions: compiled cases of the declared actions, if any.
        """
        states = replay(task, actions)
        if not task.is_goal(states[-1]):
            raise PlanError(f"the plan of {len(actions)} actions for {task.name} ends short of the goal")
        own = (task.own(state, action) for state, action in zip(states, actions, strict=False))
        return cls(task, tuple(own), tuple(states))

    def __len__(self) -> int:
        """Return the number of actions."""
        return len(self.actions)


def represented(trajectory: Trajectory) -> Trajectory:
    """Rename interchangeable objects so that each action of the plan is a representative.

    Raises ConfigurationError if the task's actions are not all instantiated.
    """
    task = trajectory.task
    if task.model is None:
        raise ConfigurationError(
            f"{task.name} has too many actions to rename its plan by interchangeable objects; leave it out, or train "
            "without representatives"
        )
    symmetry, names = task.model.arrays(symmetric=True).symmetry, [parameter.name for parameter in task.objects]
    if not symmetry.symmetric.any():
        return trajectory
    numbers = {name: number for number, name in enumerate(names)}
    renamed = {name: name for name in names}  # current names of the plan's objects
    state, states, actions = task.init, [task.init], list[Action]()
    for action in trajectory.actions:
        used = [numbers[renamed[name]] for name in dict.fromkeys(action.objects)]
        swapped = _to_representative(symmetry, np.array(task.fluents(state), np.int32), used)
        renamed = {name: names[swapped[numbers[other]]] for name, other in renamed.items()}
        actions.append(Action(action.name, tuple([renamed[name] for name in action.objects])))
        state = task.apply(state, actions[-1])
        states.append(state)
    return Trajectory(task, tuple(actions), tuple(states))


def _to_representative(symmetry: Symmetry, fluents: Ints, used: Sequence[int]) -> list[int]:
    """Return the permutation [n] of objects by which an action with the `used` objects becomes a representative."""
    signatures = signatures_in(symmetry, fluents).tolist()
    members: dict[int, list[int]] = {}
    for number in np.flatnonzero(symmetry.symmetric).tolist():
        members.setdefault(signatures[number], []).append(number)
    becomes, taken = list(range(len(signatures))), Counter[int]()
    for number in used:
        if symmetry.symmetric[number]:
            wanted = members[signatures[number]][taken[signatures[number]]]
            taken[signatures[number]] += 1
            holder = becomes.index(wanted)
            becomes[number], becomes[holder] = becomes[holder], becomes[number]
    return becomes
