"""The numbers that an encoder gives to a task's fluent atoms, looked up by the task's own indices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.candidates import Candidates
from sgp.planning.pddl import Action, Atom
from sgp.planning.task import State, Successor, Task

_UNMET = -1
_Indices = NDArray[np.int32]


class _Effects(NamedTuple):
    """The fluent atoms that an action adds, deletes, and both together."""

    adds: frozenset[int]
    deletes: frozenset[int]
    both: tuple[int, ...]


class Changes(NamedTuple):
    """The fluent atoms true in s states, and those in which each of their b candidates differs.

    Atoms of state i are `atoms[first_atom[i] : first_atom[i + 1]]`, its candidates are the numbers from
    `first_candidate[i]` up to `first_candidate[i + 1]`, and candidate j differs from its state in
    `changed[first_change[j] : first_change[j + 1]]`.
    """

    first_atom: NDArray[np.int64]  # [s + 1]
    atoms: NDArray[np.int32]
    first_candidate: NDArray[np.int64]  # [s + 1]
    first_change: NDArray[np.int64]  # [b + 1]
    changed: NDArray[np.int32]


class Change(NamedTuple):
    """The fluent atoms true in a state, and those in which candidate i differs: `changed[first[i] : first[i + 1]]`."""

    atoms: NDArray[np.int32]
    first: NDArray[np.int64]  # [b + 1]
    changed: NDArray[np.int32]


class FluentNumbers:
    """Remembers each fluent atom's number, so that states become arrays without making atoms again."""

    def __init__(self, task: Task):
        self._of_task = weakref.ref(task)  # a strong one would keep the task alive in the encoder's memo
        self._numbers = np.full(1, _UNMET, np.int32)  # of the fluent atom with the task's index, or _UNMET
        self._effects: dict[Action, _Effects] = {}

    def of(self, states: Sequence[State], number: Callable[[Atom], int]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each state's atoms begin [b + 1], and the numbers of the fluent atoms true in the states.

        `number` gives the number of an atom that was not met before.
        """
        first, fluents = [0], list[int]()
        for state in states:
            fluents += state.get_fluent_atoms()
            first.append(len(fluents))
        return np.array(first, np.int64), self._known(np.array(fluents, np.int32), number)

    def changes(
        self, states: Sequence[State], choices: Sequence[Sequence[Successor]], number: Callable[[Atom], int]
    ) -> Changes:
        """What is true in the states, and what changes from each to its candidates."""
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
        """The same of a single state."""
        atoms, first, changed = self._differences(state, choice)
        return Change(self._known(atoms, number), first, self._known(changed, number))

    def _differences(self, state: State, choice: Sequence[Successor]) -> tuple[_Indices, NDArray[np.int64], _Indices]:
        """A state's fluents, where the changes to each candidate begin, and the changes, by the task's indices."""
        if isinstance(choice, Candidates):
            return choice.fluents, choice.first, choice.changed
        fluents = list(state.get_fluent_atoms())
        before, first, changed = set(fluents), [0], list[int]()
        for candidate in choice:
            changed += self._changed(before, candidate.actions)
            first.append(len(changed))
        return np.array(fluents, np.int32), np.array(first, np.int64), np.array(changed, np.int32)

    def _changed(self, before: set[int], actions: tuple[Action, ...]) -> Sequence[int]:
        """The fluent atoms that differ after the actions."""
        if len(actions) == 1:
            adds, deletes, both = self._effects.get(actions[0]) or self._learn(actions[0])
            if before.isdisjoint(adds) and before.issuperset(deletes):
                return both
            return [*(adds - before), *(deletes & before)]
        after = before.copy()
        for action in actions:
            adds, deletes, _ = self._effects.get(action) or self._learn(action)
            after -= deletes
            after |= adds
        return list(before ^ after)

    def _learn(self, action: Action) -> _Effects:
        ground = self._task.ground(action)
        adds, deletes = frozenset(ground.adds), frozenset(ground.deletes)
        effects = self._effects[action] = _Effects(adds, deletes, (*adds, *deletes))
        return effects

    def _known(self, indices: _Indices, number: Callable[[Atom], int]) -> _Indices:
        """The numbers of fluent atoms; those not met before get one."""
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
