"""Ground actions as arrays and states as bits, for compiled searches that make no states."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled

Ints = NDArray[np.int32]
Words = NDArray[np.uint64]
"""A state [w]: fluent atom a is true where bit a % 64 of word a // 64 is set."""


class Lists(NamedTuple):
    """Lists of numbers, one after the other: list i is `values[first[i] : first[i + 1]]`."""

    first: Ints
    values: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Lists:
        """The lists as two arrays."""
        first = np.zeros(len(lists) + 1, np.int32)
        np.cumsum([len(each) for each in lists], out=first[1:])
        return cls(first, np.fromiter(chain.from_iterable(lists), np.int32, int(first[-1])))


class Operators(NamedTuple):
    """For each action the fluents that it needs, forbids, adds and deletes.

    For each fluent `watchers` has actions that need it, each action at the one of its fluents that the fewest need;
    the last list has those that need none. So the lists of a state's true fluents hold all its applicable actions.
    """

    needs: Lists
    forbids: Lists
    adds: Lists
    deletes: Lists
    watchers: Lists

    @classmethod
    def of(
        cls,
        needs: Sequence[Sequence[int]],
        forbids: Sequence[Sequence[int]],
        adds: Sequence[Sequence[int]],
        deletes: Sequence[Sequence[int]],
        atoms: int,
    ) -> Operators:
        """The operators over fluents below `atoms`."""
        users = np.zeros(atoms, np.int64)
        for atom in chain.from_iterable(needs):
            users[atom] += 1
        watchers: list[list[int]] = [[] for _ in range(atoms + 1)]
        for action, needed in enumerate(needs):
            watchers[min(needed, key=users.__getitem__) if needed else atoms].append(action)
        return cls(*map(Lists.of, (needs, forbids, adds, deletes, watchers)))


@compiled
def has(state: Words, atom: int) -> bool:
    """Whether an atom is true."""
    return bool((state[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1) != np.uint64(0))


@compiled
def possible(state: Words, operators: Operators, found: Ints) -> int:
    """Writes actions into `found`, in their order, among which are all that are applicable; how many."""
    watchers = operators.watchers
    rest = len(watchers.first) - 2
    total = 0
    for place in range(watchers.first[rest], watchers.first[rest + 1]):
        found[total] = watchers.values[place]
        total += 1
    for word in range(len(state)):
        bits = state[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                for place in range(watchers.first[atom], watchers.first[atom + 1]):
                    found[total] = watchers.values[place]
                    total += 1
            bits >>= np.uint64(1)
            atom += 1
    found[:total].sort()
    return total


@compiled
def applicable(state: Words, operators: Operators, action: int) -> bool:
    """Whether an action's precondition holds."""
    needs, forbids = operators.needs, operators.forbids
    for place in range(needs.first[action], needs.first[action + 1]):
        if not has(state, needs.values[place]):
            return False
    for place in range(forbids.first[action], forbids.first[action + 1]):
        if has(state, forbids.values[place]):
            return False
    return True


@compiled
def apply(state: Words, operators: Operators, action: int) -> None:
    """Makes the state the one after an action."""
    deletes, adds = operators.deletes, operators.adds
    for place in range(deletes.first[action], deletes.first[action + 1]):
        atom = deletes.values[place]
        state[atom >> 6] &= ~(np.uint64(1) << np.uint64(atom & 63))
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        state[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)


@compiled
def taller(table: Words) -> Words:
    """A copy [2n, w] with room for twice as many states [n, w]."""
    grown = np.zeros((2 * len(table), table.shape[1]), np.uint64)
    grown[: len(table)] = table
    return grown
