"""The numbers that an encoder gives to a task's fluent atoms, looked up by the task's own indices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Atom
from sgp.planning.task import Candidates, State, Successor, Task

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
        return self._listed([list(state.get_fluent_atoms()) for state in states], number)

    def changed(
        self, state: State, choice: Sequence[Successor], number: Callable[[Atom], int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each candidate's changes begin [b + 1], and the numbers of the fluent atoms that change."""
        if isinstance(choice, Candidates):
            return choice.first, self._known(choice.changed, number)
        before = set(state.get_fluent_atoms())
        return self._listed(
            [sorted(before.symmetric_difference(each.state.get_fluent_atoms())) for each in choice], number
        )

    def _listed(
        self, lists: Sequence[Sequence[int]], number: Callable[[Atom], int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        first = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(each) for each in lists], out=first[1:])
        return first, self._known(np.fromiter(chain.from_iterable(lists), np.int64, int(first[-1])), number)

    def _known(self, flat: NDArray[np.integer[Any]], number: Callable[[Atom], int]) -> NDArray[np.int32]:
        if len(flat) and (flat.max() >= len(self._numbers) or (self._numbers[flat] == _UNMET).any()):
            self._meet(np.unique(flat), number)
        return np.asarray(self._numbers[flat])

    def _meet(self, fluents: NDArray[np.integer[Any]], number: Callable[[Atom], int]) -> None:
        task = self._task()
        assert task is not None, "states outlived their task"
        if fluents[-1] >= len(self._numbers):
            grown = np.full(2 * int(fluents[-1]) + 64, _UNMET, np.int32)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        for index in fluents[self._numbers[fluents] == _UNMET].tolist():
            self._numbers[index] = number(task.fluent(index))
