"""Numbers of a task's objects and atoms, by which states become arrays for the kernels and networks."""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import Atom
from sgp.planning.task import Candidates, State, Successor, Task

_UNKNOWN = -1


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


class AtomNumbers:
    """A task's objects and atoms as numbers; atoms are numbered when first needed.

    The objects of atom a are `arguments[first_argument[a] : first_argument[a + 1]]`. A subclass stores more of each
    atom in `describe`.
    """

    def __init__(self, task: Task):
        self._task_reference = weakref.ref(task)  # a strong reference would keep the task alive in the encoder's cache
        self.objects = {item.name: place for place, item in enumerate(task.objects)}
        self.atoms: dict[Atom, int] = {}
        # Typed arrays, because these grow over a rollout and are copied often.
        self.first_argument, self.arguments = array("i", [0]), array("i")
        self._fluents = np.full(1, _UNKNOWN, np.int32)  # numbers by the task's indices of fluent atoms

    def number(self, atom: Atom) -> int:
        """Return the number of an atom."""
        number = self.atoms.get(atom)
        if number is None:
            number = self.atoms[atom] = len(self.atoms)
            self.arguments.extend([self.objects[name] for name in self.describe(atom)])
            self.first_argument.append(len(self.arguments))
        return number

    def describe(self, atom: Atom) -> Sequence[str]:
        """Return the names of a new atom's arguments."""
        return atom.objects

    def of(self, states: Sequence[State]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the start of each state's atoms [b + 1] and the numbers of the states' true fluent atoms."""
        first, fluents = [0], list[int]()
        for state in states:
            fluents += state.get_fluent_atoms()
            first.append(len(fluents))
        return np.array(first, np.int64), self._numbers(np.array(fluents, np.int32))

    def changes(self, states: Sequence[State], choices: Sequence[Sequence[Successor]]) -> Changes:
        """Return the true atoms of states and the changes to their candidates."""
        pairs = zip(states, choices, strict=True)
        parts = [Candidates.of(self._task, state, choice) for state, choice in pairs]
        nothing = np.empty(0, np.int32)
        before = np.cumsum([0, *(len(part.changed) for part in parts)])  # changes of earlier states' candidates
        return Changes(
            np.cumsum([0, *(len(part.fluents) for part in parts)]),
            self._numbers(np.concatenate([nothing, *(part.fluents for part in parts)])),
            np.cumsum([0, *map(len, parts)]),
            np.concatenate([[0], *(part.indptr[1:] + more for part, more in zip(parts, before, strict=False))]),
            self._numbers(np.concatenate([nothing, *(part.changed for part in parts)])),
        )

    def _numbers(self, fluents: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of fluent atoms by the task's indices."""
        try:
            numbers = self._fluents[fluents]
        except IndexError:
            numbers = np.full(1, _UNKNOWN, np.int32)
        if len(fluents) and numbers.min() == _UNKNOWN:
            new = np.unique(fluents)
            if new[-1] >= len(self._fluents):
                grown = np.full(2 * int(new[-1]) + 64, _UNKNOWN, np.int32)
                grown[: len(self._fluents)] = self._fluents
                self._fluents = grown
            for index in new[self._fluents[new] == _UNKNOWN].tolist():
                self._fluents[index] = self.number(self._task.fluent(index))
            numbers = self._fluents[fluents]
        return np.asarray(numbers)

    @property
    def _task(self) -> Task:
        task = self._task_reference()
        assert task is not None, "states outlived their task"
        return task
