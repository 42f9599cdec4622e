"""Goal count: a baseline that takes the successor with the fewest open goals, and learns nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.methods.contract import NoTraining, UntrainedMethod
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.states import State
from sgp.planning.task import Task, count_open_goals
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue


class OpenGoals:
    """Value of a state: the number of its open goals."""

    def refuses(self, task: Task) -> str | None:
        """Return None: every task is accepted."""
        return None

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.floating[Any]]:
        """Return the values [n] of the states of several tasks, concatenated in the order of the tasks."""
        counts = [count_open_goals(task, state) for task, of_task in states for state in of_task]
        return np.array(counts, np.float64)


class GoalCount(UntrainedMethod):
    """Method whose planner takes the unvisited successor with the fewest open goals."""

    key = "goal-count"
    variants: Mapping[str, NoTraining] = {"unsatisfied": NoTraining()}
    # The beam of the methods that it is compared with (state-centric, Table 7).
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(3), "greedy": BeamDecoding()}

    def deterministic(self, training: NoTraining) -> bool:
        """Return True: nothing is drawn."""
        return True

    def invariant(self, training: NoTraining) -> bool:
        """Return True: goals are counted, whatever the names of their objects."""
        return True

    def planner(self, decoding: BeamDecoding, seed: int) -> Planner:
        """Return the planner."""
        return decoding.planner(LowestValue(OpenGoals()), one_step)


METHOD = GoalCount()
