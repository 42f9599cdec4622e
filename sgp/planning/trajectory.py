"""An expert's plan and the states along it."""

from __future__ import annotations

from dataclasses import dataclass

from sgp.errors import PlanError
from sgp.planning.pddl import Action
from sgp.planning.task import State, Task, replay


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a plan: `states[t]` is reached after `actions[:t]`; the last one is a goal state."""

    task: Task
    actions: tuple[Action, ...]
    states: tuple[State, ...]

    @classmethod
    def of(cls, task: Task, actions: tuple[Action, ...]) -> Trajectory:
        """Replays a plan. Raises PlanError where an action is not applicable or the goal is missed.

        Its actions are those of the task: cases where the file's were compiled.
        """
        states = replay(task, actions)
        if not task.is_goal(states[-1]):
            raise PlanError(f"the plan of {len(actions)} actions for {task.name} ends short of the goal")
        own = (task.own(state, action).actions[0] for state, action in zip(states, actions, strict=False))
        return cls(task, tuple(own), tuple(states))

    def __len__(self) -> int:
        """Number of actions."""
        return len(self.actions)
