"""Ground actions as arrays and states as bit sets, for compiled searches without state objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, kernel
from sgp.planning.hash_table import Ints, Mask, Words, mix


class CSR(NamedTuple):
    """Compressed sparse rows: list i is `indices[indptr[i] : indptr[i + 1]]`."""

    indptr: Ints
    indices: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> CSR:
        """Build from nested lists."""
        indptr = np.zeros(len(lists) + 1, np.int32)
        np.cumsum([len(values) for values in lists], out=indptr[1:])
        return cls(indptr, np.fromiter(chain.from_iterable(lists), np.int32, int(indptr[-1])))

    @property
    def owners(self) -> NDArray[np.int64]:
        """Return the list of each number."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def where(self, chosen: NDArray[np.bool_]) -> CSR:
        """Keep only the chosen numbers."""
        ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(chosen, dtype=np.int32)])
        return CSR(ends[self.indptr], self.indices[chosen])

    def rows(self, chosen: NDArray[np.bool_]) -> CSR:
        """Select the chosen lists."""
        counts = np.diff(self.indptr)
        indptr = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts[chosen], dtype=np.int32)])
        return CSR(indptr, self.indices[np.repeat(chosen, counts)])

    def transposed(self, columns: int) -> CSR:
        """Return, for each number below `columns`, the lists that contain it."""
        return grouped(self.indices, self.owners, columns)


def grouped(groups: NDArray[np.integer], values: NDArray[np.integer], count: int) -> CSR:
    """Group values by group number below `count`, in order."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
    return CSR(indptr.astype(np.int32), values[np.argsort(groups, kind="stable")].astype(np.int32))


class Operators(NamedTuple):
    """Fluents that each action needs, forbids, adds and deletes; added fluents are not deleted.

    `watchers` has, for each fluent, actions that need it. Each action is in the list of its fluent that the fewest
    actions need; the last list has the actions that need none. The lists of a state's true fluents therefore contain
    all applicable actions.
    """

    needs: CSR
    forbids: CSR
    adds: CSR
    deletes: CSR
    watchers: CSR

    @classmethod
    def of(cls, needs: CSR, forbids: CSR, adds: CSR, deletes: CSR, atoms: int) -> Operators:
        """Build operators over fluents below `atoms`."""
        return cls(needs, forbids, adds, deletes, watchers_of(needs, np.bincount(needs.indices, minlength=atoms)))


def watchers_of(needs: CSR, costs: NDArray[np.int64]) -> CSR:
    """Return, for each fluent, the actions that need it, each in the list of its fluent of the least cost [a].

    The last list has the actions that need none.
    """
    counts, atoms = np.diff(needs.indptr), len(costs)
    order = np.lexsort((costs[needs.indices], needs.owners))
    watched = np.full(len(counts), atoms)
    some = np.flatnonzero(counts)
    watched[some] = needs.indices[order[needs.indptr[some]]]
    return grouped(watched, np.arange(len(counts)), atoms + 1)


class Goal(NamedTuple):
    """Fluents that the goal requires true and false, and whether its other literals are true or can become true."""

    wanted: Ints
    unwanted: Ints
    possible: bool


@kernel
def words_of(fluents: Ints, atoms: int) -> Words:
    """Return the state [w] with exactly these fluents true: bit a % 64 of word a // 64 is fluent a."""
    state = np.zeros(max((atoms + 63) // 64, 1), np.uint64)
    toggle(state, fluents)
    return state


@compiled
def true_atoms(state: Words) -> Ints:
    """Return the true fluents of a state, ascending."""
    atoms, count = np.empty(64 * len(state), np.int32), 0
    for word in range(len(state)):
        bits, atom = state[word], 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                atoms[count] = atom
                count += 1
            bits >>= np.uint64(1)
            atom += 1
    return atoms[:count]


@compiled
def has(state: Words, atom: int) -> bool:
    """Whether an atom is true."""
    return bool((state[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1) != np.uint64(0))


@compiled
def toggle(state: Words, fluents: Ints) -> None:
    """Flip the truth values of distinct fluents."""
    for atom in fluents:
        state[atom >> 6] ^= np.uint64(1) << np.uint64(atom & 63)


@compiled
def is_in(values: Ints, value: int) -> bool:
    """Whether `values` contains a number."""
    for other in values:  # noqa: SIM110 (numba compiles no generators)
        if other == value:
            return True
    return False


@compiled
def applicable(state: Words, operators: Operators, action: int) -> bool:
    """Whether an action's precondition is satisfied."""
    needs, forbids = operators.needs, operators.forbids
    for place in range(needs.indptr[action], needs.indptr[action + 1]):
        if not has(state, needs.indices[place]):
            return False
    for place in range(forbids.indptr[action], forbids.indptr[action + 1]):
        if has(state, forbids.indices[place]):
            return False
    return True


@compiled
def write_applicable(state: Words, operators: Operators, before: Ints, changed: Ints, actions: Ints) -> int:
    """Write the applicable actions of a state into `actions`, in order, and return their number.

    The state differs in `changed` from the state in which exactly the fluents `before` are true.
    """
    watchers = operators.watchers
    rest, total = len(watchers.indptr) - 2, 0
    for place in range(watchers.indptr[rest], watchers.indptr[rest + 1]):
        action = watchers.indices[place]
        actions[total] = action
        total += applicable(state, operators, action)
    for fluents in (before, changed):
        for atom in fluents:
            if has(state, atom):
                for place in range(watchers.indptr[atom], watchers.indptr[atom + 1]):
                    action = watchers.indices[place]
                    actions[total] = action
                    total += applicable(state, operators, action)
    actions[:total].sort()
    return total


@compiled
def apply(state: Words, operators: Operators, action: int) -> None:
    """Apply an action to the state in place."""
    deletes, adds = operators.deletes, operators.adds
    for place in range(deletes.indptr[action], deletes.indptr[action + 1]):
        atom = deletes.indices[place]
        state[atom >> 6] &= ~(np.uint64(1) << np.uint64(atom & 63))
    for place in range(adds.indptr[action], adds.indptr[action + 1]):
        atom = adds.indices[place]
        state[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)


@compiled
def missing_atoms(state: Words, goal: Goal) -> int:
    """Count the positive goal fluents that are false."""
    count = 0
    for atom in goal.wanted:
        count += not has(state, atom)
    return count


@compiled
def unsatisfied(state: Words, goal: Goal) -> int:
    """Count the unsatisfied goal literals over fluents that can be true."""
    count = missing_atoms(state, goal)
    for atom in goal.unwanted:
        count += has(state, atom)
    return count


@compiled
def is_goal(state: Words, goal: Goal) -> bool:
    """Whether the state satisfies the goal."""
    return goal.possible and unsatisfied(state, goal) == 0


@compiled
def half_identity(atom: int, half: int) -> np.uint64:
    """Return the Zobrist hash of a true fluent for one half of the state identity."""
    return mix(np.uint64(2 * atom + half + 1) * np.uint64(0x9E3779B97F4A7C15))


@kernel
def state_identity(fluents: Ints) -> Words:
    """Return the identity [2] of the state of these fluents; two states collide with probability 2^-128."""
    identity = np.zeros(2, np.uint64)
    for atom in fluents:
        identity[0] ^= half_identity(atom, 0)
        identity[1] ^= half_identity(atom, 1)
    return identity


@kernel
def identity_changes(indptr: NDArray[np.int64], changed: Ints) -> Words:
    """Return how the identity of a state changes [n, 2], by exclusive or, with those of its fluents in each row."""
    identities = np.empty((len(indptr) - 1, 2), np.uint64)
    for row in range(len(identities)):
        identities[row] = state_identity(changed[indptr[row] : indptr[row + 1]])
    return identities


@compiled
def exchanged(change: Ints, count: int, fluent: int) -> int:
    """Toggle membership of a fluent in a sorted array, and return the new length."""
    place = count
    while place > 0 and change[place - 1] >= fluent:
        place -= 1
    if place < count and change[place] == fluent:
        for later in range(place, count - 1):
            change[later] = change[later + 1]
        return count - 1
    for later in range(count, place, -1):
        change[later] = change[later - 1]
    change[place] = fluent
    return count + 1


@compiled
def write_change(adds: Ints, deletes: Ints, present: Words, differs: Ints, change: Ints) -> int:
    """Write the successor state's differences from the root state into `change`, ascending; return their number.

    The current state, before the action, differs from the root state in `differs`. Of `deletes`, -1 and added fluents
    are not deleted.
    """
    count = len(differs)
    for place in range(count):
        change[place] = differs[place]
    for effect, value in ((adds, True), (deletes, False)):
        for which in range(len(effect)):
            fluent = effect[which]
            if fluent < 0 or has(present, fluent) == value or is_in(effect[:which], fluent):
                continue
            if value or not is_in(adds, fluent):
                count = exchanged(change, count, fluent)
    return count


@kernel
def symmetric_difference(one: Ints, other: Ints) -> Ints:
    """Return the numbers that are in one of two ascending arrays alone, ascending."""
    differing, count, first, second = np.empty(len(one) + len(other), np.int32), 0, 0, 0
    while first < len(one) or second < len(other):
        if second == len(other) or (first < len(one) and one[first] < other[second]):
            differing[count] = one[first]
            first += 1
        elif first == len(one) or other[second] < one[first]:
            differing[count] = other[second]
            second += 1
        else:
            first += 1
            second += 1
            continue
        count += 1
    return differing[:count]


@kernel
def relaxed_reachable(needs: CSR, users: CSR, adds: CSR, initial: Ints, possible: Mask) -> tuple[Mask, Mask]:
    """Return masks of the actions and atoms reachable under delete relaxation.

    Only `possible` actions are considered. `users` has for each atom the actions that need it.
    """
    atoms = len(users.indptr) - 1
    missing = needs.indptr[1:] - needs.indptr[:-1]
    usable, true = np.zeros(len(possible), np.bool_), np.zeros(atoms, np.bool_)
    waiting, count = np.empty(atoms, np.int32), 0
    for atom in initial:
        if not true[atom]:
            true[atom] = True
            waiting[count] = atom
            count += 1
    ready, total = np.empty(len(possible), np.int32), 0
    for action in range(len(possible)):
        if possible[action] and missing[action] == 0:
            ready[total] = action
            total += 1
    done = 0
    while total or done < count:
        while total:
            total -= 1
            action = ready[total]
            usable[action] = True
            for place in range(adds.indptr[action], adds.indptr[action + 1]):
                atom = adds.indices[place]
                if not true[atom]:
                    true[atom] = True
                    waiting[count] = atom
                    count += 1
        if done < count:
            atom = waiting[done]
            done += 1
            for place in range(users.indptr[atom], users.indptr[atom + 1]):
                action = users.indices[place]
                missing[action] -= 1
                if possible[action] and missing[action] == 0:
                    ready[total] = action
                    total += 1
    return usable, true


@kernel
def deletes_are_restorable(needs: CSR, users: CSR, adds: CSR, deletes: CSR) -> bool:
    """Whether every atom that an action deletes can be added by one that is applicable just after it.

    Of negative preconditions nothing is required. `users` has for each atom the actions that need it. Only actions that
    need the added atom with the fewest users are considered, so that the answer may be False without need.
    """
    for action in range(len(needs.indptr) - 1):
        before = needs.indices[needs.indptr[action] : needs.indptr[action + 1]]
        added = adds.indices[adds.indptr[action] : adds.indptr[action + 1]]
        deleted = deletes.indices[deletes.indptr[action] : deletes.indptr[action + 1]]
        first, last = 0, 0
        for atom in added:
            start, end = users.indptr[atom], users.indptr[atom + 1]
            if start < end and (first == last or end - start < last - first):
                first, last = start, end
        for atom in deleted:
            restored = False
            for other in users.indices[first:last]:
                ready = is_in(adds.indices[adds.indptr[other] : adds.indptr[other + 1]], atom)
                for needed in needs.indices[needs.indptr[other] : needs.indptr[other + 1]]:
                    ready = ready and (is_in(added, needed) or (is_in(before, needed) and not is_in(deleted, needed)))
                restored = restored or ready
            if not restored:
                return False
    return True
