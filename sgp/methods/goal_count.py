"""Goal count: a baseline that takes the successor with the fewest open goals, and learns nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Problems
from sgp.methods.contract import MethodBase
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import State, Task, missing_goal_atoms
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue


@dataclass(frozen=True)
class GoalCountTraining:
    """Empty configuration."""


class OpenGoals:
    """Value of a state: the number of its open goals."""

    def refuses(self, task: Task) -> str | None:
        """Return None: every task is accepted."""
        return None

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.floating[Any]]:
        """Return the values [n] of the states of several tasks, concatenated in the order of the tasks."""
        counts = [len(missing_goal_atoms(task, state)) for task, of_task in states for state in of_task]
        return np.array(counts, np.float64)


class GoalCount(MethodBase):
    """Method whose planner takes the unvisited successor with the fewest open goals."""

    key = "goal-count"
    title = "Goal count"
    learns_from = Problems
    variants: Mapping[str, GoalCountTraining] = {"unsatisfied": GoalCountTraining()}
    # The beam of the methods that it is compared with (state-centric, Table 7).
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(3), "greedy": BeamDecoding()}

    def deterministic(self, training: GoalCountTraining) -> bool:
        """Return True: nothing is drawn."""
        return True

    def invariant(self, training: GoalCountTraining) -> bool:
        """Return True: goals are counted, whatever the names of their objects."""
        return True

    def train(self, training: GoalCountTraining, data: Problems, draft: RunDraft) -> Planner:
        """Return the planner; nothing is learned."""
        return self.decodings[DEFAULT].planner(LowestValue(OpenGoals()), one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner."""
        return decoding.planner(LowestValue(OpenGoals()), one_step)


METHOD = GoalCount()
