"""The numbers that an encoder gives to a task's fluent atoms, looked up by the task's own indices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Atom
from sgp.planning.task import State, Task

_UNMET = -1


class FluentNumbers:
    """Remembers each fluent atom's number, so that states become arrays without making atoms again."""

    def __init__(self, task: Task):
        self._task = weakref.ref(task)  # a strong one would keep the task alive in the encoder's memo
        self._numbers = np.empty(0, np.int32)  # of the fluent atom with the task's index, or _UNMET

    def of(self, states: Sequence[State], number: Callable[[Atom], int]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each state's atoms begin [b + 1], and the numbers of the fluent atoms true in the states.

        `number` gives the number of an atom that was not met before.
        """
        indices = [np.fromiter(state.get_fluent_atoms(), np.int64) for state in states]
        first = np.zeros(len(states) + 1, np.int64)
        np.cumsum([len(each) for each in indices], out=first[1:])
        flat = np.concatenate(indices) if indices else np.empty(0, np.int64)
        if len(flat) and (flat.max() >= len(self._numbers) or (self._numbers[flat] == _UNMET).any()):
            self._meet(np.unique(flat), number)
        return first, self._numbers[flat]

    def _meet(self, fluents: NDArray[np.int64], number: Callable[[Atom], int]) -> None:
        task = self._task()
        assert task is not None, "states outlived their task"
        if fluents[-1] >= len(self._numbers):
            grown = np.full(2 * int(fluents[-1]) + 64, _UNMET, np.int32)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        for index in fluents[self._numbers[fluents] == _UNMET].tolist():
            self._numbers[index] = number(task.fluent(index))
