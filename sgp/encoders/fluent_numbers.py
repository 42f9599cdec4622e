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
        return np.array(first, np.int64), self._known(fluents, number)

    def changes(
        self, states: Sequence[State], choices: Sequence[Sequence[Successor]], number: Callable[[Atom], int]
    ) -> Changes:
        """What is true in the states, and what changes from each to its candidates."""
        first_atom, fluents = [0], list[int]()
        first_candidate, first_change, changed = [0], [0], list[int]()
        for state, choice in zip(states, choices, strict=True):
            true = list(state.get_fluent_atoms())
            fluents += true
            first_atom.append(len(fluents))
            if isinstance(choice, Candidates):
                first_change += (choice.first[1:] + len(changed)).tolist()
                changed += choice.changed.tolist()
            else:
                before = set(true)
                for candidate in choice:
                    changed += self._changed(before, candidate.actions)
                    first_change.append(len(changed))
            first_candidate.append(len(first_change) - 1)
        numbers = self._known(fluents + changed, number)
        return Changes(
            np.array(first_atom, np.int64),
            numbers[: len(fluents)],
            np.array(first_candidate, np.int64),
            np.array(first_change, np.int64),
            numbers[len(fluents) :],
        )

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

    def _known(self, fluents: list[int], number: Callable[[Atom], int]) -> NDArray[np.int32]:
        """The numbers of fluent atoms; those not met before get one."""
        indices = np.array(fluents, np.int32)
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
