"""An encoder's numbers of fluent atoms, looked up by the indices that the task assigns to the atoms."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.candidates import Candidates
from sgp.planning.pddl import Atom
from sgp.planning.task import State, Successor, Task

_UNMET = -1
_Indices = NDArray[np.int32]


class Changes(NamedTuple):
    """The true fluent atoms of s states, and the atoms in which each of their b candidates differs from its state.

    State i has the atoms `atoms[first_atom[i] : first_atom[i + 1]]` and the candidates `first_candidate[i]` to
    `first_candidate[i + 1] - 1`. Candidate j differs from its state in
    `changed[first_change[j] : first_change[j + 1]]`.
    """

    first_atom: NDArray[np.int64]  # [s + 1]
    atoms: NDArray[np.int32]
    first_candidate: NDArray[np.int64]  # [s + 1]
    first_change: NDArray[np.int64]  # [b + 1]
    changed: NDArray[np.int32]


class Change(NamedTuple):
    """The true fluent atoms of a state, and those in which candidate i differs: `changed[first[i] : first[i + 1]]`."""

    atoms: NDArray[np.int32]
    first: NDArray[np.int64]  # [b + 1]
    changed: NDArray[np.int32]


class FluentNumbers:
    """Cache of each fluent atom's number, so that states become arrays without constructing atoms again."""

    def __init__(self, task: Task):
        self._of_task = weakref.ref(task)  # a strong reference would keep the task alive in the encoder's cache
        self._numbers = np.full(1, _UNMET, np.int32)  # by the task's index of the fluent atom; _UNMET if unknown

    def of(self, states: Sequence[State], number: Callable[[Atom], int]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the start of each state's atoms [b + 1] and the numbers of the states' true fluent atoms.

        `number` assigns a number to an atom that is not cached yet.
        """
        first, fluents = [0], list[int]()
        for state in states:
            fluents += state.get_fluent_atoms()
            first.append(len(fluents))
        return np.array(first, np.int64), self._known(np.array(fluents, np.int32), number)

    def changes(
        self, states: Sequence[State], choices: Sequence[Sequence[Successor]], number: Callable[[Atom], int]
    ) -> Changes:
        """Return the true atoms of states and the changes to their candidates."""
        parts = [self._differences(state, choice) for state, choice in zip(states, choices, strict=True)]
        nothing = np.empty(0, np.int32)
        atoms = np.concatenate([nothing, *(atoms for atoms, _, _ in parts)])
        changed = np.concatenate([nothing, *(changed for _, _, changed in parts)])
        before = np.cumsum([0, *(len(changed) for _, _, changed in parts)])  # changes of earlier states' candidates
        firsts = (first[1:] + more for (_, first, _), more in zip(parts, before, strict=False))
        return Changes(
            np.cumsum([0, *(len(atoms) for atoms, _, _ in parts)]),
            self._known(atoms, number),
            np.cumsum([0, *map(len, choices)]),
            np.concatenate([[0], *firsts]),
            self._known(changed, number),
        )

    def change(self, state: State, choice: Sequence[Successor], number: Callable[[Atom], int]) -> Change:
        """Return the true atoms of one state and the changes to its candidates."""
        atoms, first, changed = self._differences(state, choice)
        return Change(self._known(atoms, number), first, self._known(changed, number))

    def _differences(self, state: State, choice: Sequence[Successor]) -> tuple[_Indices, NDArray[np.int64], _Indices]:
        """Return a state's fluents, the start of each candidate's changes, and the changes, by the task's indices."""
        candidates = Candidates.of(self._task, state, choice)
        return candidates.fluents, candidates.indptr, candidates.changed

    def _known(self, indices: _Indices, number: Callable[[Atom], int]) -> _Indices:
        """Return the numbers of fluent atoms, assigning numbers to new atoms."""
        try:
            numbers = self._numbers[indices]
        except IndexError:
            numbers = np.full(1, _UNMET, np.int32)
        if len(indices) and numbers.min() == _UNMET:
            self._meet(np.unique(indices), number)
            numbers = self._numbers[indices]
        return np.asarray(numbers)

    def _meet(self, fluents: NDArray[np.int32], number: Callable[[Atom], int]) -> None:
        if fluents[-1] >= len(self._numbers):
            grown = np.full(2 * int(fluents[-1]) + 64, _UNMET, np.int32)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        for index in fluents[self._numbers[fluents] == _UNMET].tolist():
            self._numbers[index] = number(self._task.fluent(index))

    @property
    def _task(self) -> Task:
        task = self._of_task()
        assert task is not None, "states outlived their task"
        return task
