"""Ground actions as arrays and states as bits, for compiled searches that make no states."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix

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
    def of(cls, needs: Lists, forbids: Lists, adds: Lists, deletes: Lists, atoms: int) -> Operators:
        """The operators over fluents below `atoms`."""
        counts = np.diff(needs.first)
        users = np.bincount(needs.values, minlength=atoms)
        owners = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((users[needs.values], owners))  # of each action's fluents the one of fewest users first
        watched = np.full(len(counts), atoms)
        some = np.flatnonzero(counts)
        watched[some] = needs.values[order[needs.first[some]]]
        watchers = grouped(watched, np.arange(len(counts)), atoms + 1)
        return cls(needs, forbids, adds, deletes, watchers)


def grouped(groups: NDArray[np.int64], values: NDArray[np.int64], count: int) -> Lists:
    """The values of each group below `count`, in their order."""
    first = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
    return Lists(first.astype(np.int32), values[np.argsort(groups, kind="stable")].astype(np.int32))


class Goal(NamedTuple):
    """The fluents that a goal wants true and false, and whether its other literals hold or can ever hold."""

    wanted: Ints
    unwanted: Ints
    possible: bool


@compiled
def words_of(fluents: Ints, atoms: int) -> Words:
    """The state [w] over fluents below `atoms` in which just these are true."""
    state = np.zeros(max((atoms + 63) // 64, 1), np.uint64)
    for atom in fluents:
        state[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
    return state


@compiled
def has(state: Words, atom: int) -> bool:
    """Whether an atom is true."""
    return bool((state[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1) != np.uint64(0))


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
def applicable_in(state: Words, operators: Operators, found: Ints) -> int:
    """Writes the actions applicable in a state into `found`, in their order; how many."""
    watchers = operators.watchers
    rest = len(watchers.first) - 2
    total = 0
    for place in range(watchers.first[rest], watchers.first[rest + 1]):
        action = watchers.values[place]
        found[total] = action
        total += applicable(state, operators, action)
    for word in range(len(state)):
        bits = state[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                for place in range(watchers.first[atom], watchers.first[atom + 1]):
                    action = watchers.values[place]
                    found[total] = action
                    total += applicable(state, operators, action)
            bits >>= np.uint64(1)
            atom += 1
    found[:total].sort()
    return total


@compiled
def applicable_near(state: Words, operators: Operators, before: Ints, changed: Ints, found: Ints) -> int:
    """The same for a state that differs in `changed` from the one in which just the fluents `before` are true."""
    watchers = operators.watchers
    rest, total = len(watchers.first) - 2, 0
    for place in range(watchers.first[rest], watchers.first[rest + 1]):
        action = watchers.values[place]
        found[total] = action
        total += applicable(state, operators, action)
    for fluents in (before, changed):
        for atom in fluents:
            if has(state, atom):
                for place in range(watchers.first[atom], watchers.first[atom + 1]):
                    action = watchers.values[place]
                    found[total] = action
                    total += applicable(state, operators, action)
    found[:total].sort()
    return total


@compiled
def applicable_actions(operators: Operators, atoms: int, fluents: Ints) -> Ints:
    """The actions applicable where just these fluents are true, in their order."""
    found = np.empty(len(operators.needs.first), np.int32)
    return found[: applicable_in(words_of(fluents, atoms), operators, found)].copy()


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
def is_in(values: Ints, value: int) -> bool:
    """Whether a number stands among some."""
    for each in values:  # noqa: SIM110 (numba compiles no generators)
        if each == value:
            return True
    return False


@compiled
def toggle(state: Words, fluents: Ints) -> None:
    """Makes true what is false of some different fluents, and false what is true."""
    for atom in fluents:
        state[atom >> 6] ^= np.uint64(1) << np.uint64(atom & 63)


@compiled
def lacking(state: Words, goal: Goal) -> int:
    """How many of the fluents that the goal wants true are not."""
    count = 0
    for atom in goal.wanted:
        if not has(state, atom):
            count += 1
    return count


@compiled
def unsatisfied(state: Words, goal: Goal) -> int:
    """How many of the goal's literals over fluents that can be true do not hold."""
    count = lacking(state, goal)
    for atom in goal.unwanted:
        if has(state, atom):
            count += 1
    return count


@compiled
def reached(state: Words, goal: Goal) -> bool:
    """Whether a state is a goal."""
    if not goal.possible:
        return False
    for atom in goal.wanted:
        if not has(state, atom):
            return False
    for atom in goal.unwanted:  # noqa: SIM110 (numba compiles no generators)
        if has(state, atom):
            return False
    return True


@compiled
def half_identity(atom: int, half: int) -> np.uint64:
    """What a true fluent adds to the first or second half of a state's identity (Zobrist hashing)."""
    return mix(np.uint64(2 * atom + half + 1) * np.uint64(0x9E3779B97F4A7C15))


@compiled
def state_identity(fluents: Ints) -> Words:
    """The identity [2] of the state in which just these fluents are true."""
    found = np.zeros(2, np.uint64)
    for atom in fluents:
        found[0] ^= half_identity(atom, 0)
        found[1] ^= half_identity(atom, 1)
    return found


@compiled
def taller(table: Words) -> Words:
    """A copy [2n, w] with room for twice as many states [n, w]."""
    grown = np.zeros((2 * len(table), table.shape[1]), np.uint64)
    grown[: len(table)] = table
    return grown
