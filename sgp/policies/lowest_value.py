"""Policy that takes the state of lowest value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import with_limit_checks
from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, parts

_AT_ONCE = 4096  # states valued at once, so that memory stays bounded


class StateValue(Protocol):
    """Estimated distance of states to the goal, learned or heuristic."""

    def refuses(self, task: Task) -> str | None:
        """Return why the task's states have no value, or None."""

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.floating[Any]]:
        """Return the values [n] of the states of several tasks, concatenated in the order of the tasks."""


@dataclass(frozen=True)
class LowestValue:
    """Policy that costs a candidate by its state's value, not by its path (dynamic-validation, section 4)."""

    value: StateValue
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return why the task's states have no value, or None."""
        return self.value.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; all candidates are valued in one batch, unless there are too many."""
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
        """Return the values of all candidates, concatenated in the order of the nodes."""
        states = [
            (node.task, [candidate.state for candidate in with_limit_checks(choice)])
            for node, choice in zip(nodes, choices, strict=True)
        ]
        return np.asarray(self.value(states), np.float64)
