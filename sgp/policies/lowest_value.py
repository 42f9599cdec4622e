"""The policy that goes to the state of lowest value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.planning.candidates import parts
from sgp.planning.clock import looking
from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.task import State, Successor, Task

_AT_ONCE = 4096  # states that are valued together, so that memory stays bounded


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
        """One ranking per node; the states of all candidates are valued together, unless they are many."""
        sizes = [len(choice) for choice in choices]
        if sum(sizes) <= _AT_ONCE:
            values = self._values(nodes, choices)
        else:
            pieces = [
                self._values([node], [part])
                for node, choice in zip(nodes, choices, strict=True)
                for part in parts(choice, _AT_ONCE)
            ]
            values = np.concatenate(pieces)
        return [Ranking(costs) for costs in np.split(values, np.cumsum(sizes)[:-1])]

    def _values(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> NDArray[np.float64]:
        """The values of all candidates, of the first node, then of the second."""
        states = [
            (node.task, [candidate.state for candidate in looking(choice)])
            for node, choice in zip(nodes, choices, strict=True)
        ]
        return np.asarray(self.value(states), np.float64)
