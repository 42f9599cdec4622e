"""The policy that goes to the state of lowest value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.task import State, Successor, Task


class StateValue(Protocol):
    """Values states: how far each is from the goal, as learned or estimated."""

    def refuses(self, task: Task) -> str | None:
        """Why the task's states have no value, or None where they have."""

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.floating[Any]]:
        """The values [n] of states of some tasks, all of the first task, then of the second."""
        ...


@dataclass(frozen=True)
class LowestValue:
    """Costs a candidate by the value of its state, so that the best-looking state is gone to next.

    Source: dynamic-validation, section 4. A value says all about a state, so it replaces the path's cost.
    """

    value: StateValue
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """What the value says."""
        return self.value.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node; the states of all candidates are valued at once."""
        states = [
            (node.task, [candidate.state for candidate in choice]) for node, choice in zip(nodes, choices, strict=True)
        ]
        values = self.value(states).astype(np.float64)
        ends = np.cumsum([len(choice) for choice in choices])
        return [Ranking(costs) for costs in np.split(values, ends[:-1])]
