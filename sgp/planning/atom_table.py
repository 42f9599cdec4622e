"""Numbered atoms of a problem, with the true atoms indexed for joins.

Atoms are numbered in the order of first use. A list has true atoms of one predicate with given objects at given
argument positions. An index is the set of lists of one predicate for the same positions. Object signatures are updated
with the true atoms; they distinguish objects that are not interchangeable.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.planning.hash_table import (
    EMPTY,
    Ints,
    Ints2D,
    Ints3D,
    Mask,
    Mask2D,
    Words,
    Words2D,
    empty_slots,
    find_key,
    hash_step,
    insert_keys,
)
from sgp.planning.operators import toggle, true_atoms
from sgp.planning.symmetry import mark_of

FULL = -1  # marks an atom for which the table has no capacity
SEVERAL = -2  # marks an index of several positions
HEAD, SIZE = range(2)  # columns of `Atoms.lists`
_LIST, NEXT, _PREVIOUS = range(3)  # columns of `Atoms.links`


class Indexes(NamedTuple):
    """The indexes of p predicates, grouped by predicate.

    An index of no position has one list. An index of one position has one list per object. The lists of an index of
    several positions are found in a hash table.
    """

    indptr: Ints  # [p + 1], start of each predicate's indexes
    places: Mask2D  # [i, w], the argument positions whose objects are given
    direct: Ints2D  # [i, 2], (position, first list): position -1 for none, SEVERAL for more (then no first list)
    lists: int  # number of lists of all indexes of at most one position
    hashed: int  # greatest number of indexes of several positions per predicate

    @classmethod
    def of(cls, places: Sequence[Collection[Sequence[int]]], objects: int, width: int) -> Indexes:
        """Build the indexes of predicates [p] from the argument positions of each index."""
        flat = [sorted(index) for indexes in places for index in indexes]
        given = np.zeros((len(flat), width), np.bool_)
        for row, index in zip(given, flat, strict=True):
            row[index] = True
        counts = np.array([{0: 1, 1: objects}.get(len(index), 0) for index in flat], np.int64)
        single = [-1 if not index else index[0] if len(index) == 1 else SEVERAL for index in flat]
        return cls(
            np.cumsum([0, *map(len, places)]).astype(np.int32),
            given,
            np.column_stack([np.array(single, np.int64), np.cumsum(counts) - counts]).astype(np.int32),
            int(counts.sum()),
            max((sum(len(index) > 1 for index in indexes) for indexes in places), default=0),
        )


class Atoms(NamedTuple):
    """At most c atoms of at most w arguments, over n objects, in at most l lists.

    Two symmetric objects are interchangeable if their signatures are equal.
    """

    counts: Ints  # [2], the numbers of atoms and of lists
    predicates: Ints  # [c]
    arguments: Ints2D  # [c, w], padded with -1
    keys: Words  # [c], hashes; two atoms collide with probability 2^-64
    slots: Ints  # hash table over `keys`
    marks: Words2D  # [c, w], contribution of an atom to the signatures of its arguments
    true: Words  # [c / 64], bit set of the true atoms
    listed: Words  # [c / 64], bit set of the atoms in lists
    indexes: Indexes
    links: Ints3D  # [c, k, 3], per index of the atom's predicate: list, next atom, previous atom
    lists: Ints2D  # [l, 2], first atom and length
    list_keys: Words  # [l], hashes of the lists of indexes of several positions
    list_slots: Ints  # hash table over `list_keys`
    symmetric: Mask  # [n], whether the object may be interchangeable by its types, the static atoms and the goal
    signatures: Words  # [n]

    @classmethod
    def empty(cls, indexes: Indexes, room: int, symmetric: NDArray[np.bool_], signatures: Words) -> Atoms:
        """An empty table of capacity `room` (a power of 2, at least 64) over objects [n] with initial signatures."""
        width, columns = indexes.places.shape[1], int(np.diff(indexes.indptr).max(initial=0))
        lists = indexes.lists + room * indexes.hashed
        return cls(
            np.array([0, indexes.lists], np.int32),
            np.empty(room, np.int32),
            np.empty((room, width), np.int32),
            np.empty(room, np.uint64),
            empty_slots(2 * room),
            np.zeros((room, width), np.uint64),
            np.zeros(room // 64, np.uint64),
            np.zeros(room // 64, np.uint64),
            indexes,
            np.empty((room, columns, 3), np.int32),
            np.tile(np.array([EMPTY, 0], np.int32), (lists, 1)),
            np.zeros(lists, np.uint64),
            empty_slots(lists),
            symmetric,
            signatures.copy(),
        )

    def doubled(self) -> Atoms:
        """Return a copy of twice the capacity."""
        more = self.empty(self.indexes, 2 * len(self.predicates), self.symmetric, self.signatures)
        for name in self._fields:
            if name not in ("slots", "indexes", "list_slots"):
                old = getattr(self, name)
                getattr(more, name)[: len(old)] = old
        insert_keys(more.slots, more.keys, 0, int(self.counts[0]))
        insert_keys(more.list_slots, more.list_keys, self.indexes.lists, int(self.counts[1]))
        return more


@inlined
def _key_of_atom(predicate: int, row: Ints) -> np.uint64:
    key = hash_step(np.uint64(0), predicate)
    for value in row:
        key = hash_step(key, value)
    return key


@inlined
def _key_of_list(places: NDArray[np.bool_], index: int, row: Ints) -> np.uint64:
    key = hash_step(np.uint64(0), index)
    for place in range(len(row)):
        if places[index, place]:
            key = hash_step(key, row[place])
    return key


@compiled
def list_of_several(slots: Ints, keys: Words, places: NDArray[np.bool_], index: int, row: Ints) -> int:
    """Return the list of an index of several positions for the objects in `row` [w]; -1 for none."""
    return int(slots[find_key(slots, keys, _key_of_list(places, index, row))])


@inlined
def find_atom(slots: Ints, keys: Words, predicate: int, row: Ints) -> int:
    """Return the number of an atom with arguments [w] in the hash table of `Atoms`; -1 if it has none."""
    return int(slots[find_key(slots, keys, _key_of_atom(predicate, row))])


@compiled
def _add(atoms: Atoms, slot: np.int64, key: np.uint64, predicate: int, row: Ints) -> int:
    """Number a new atom that belongs to this hash slot; FULL if the table is full."""
    number = atoms.counts[0]
    if number == len(atoms.predicates):
        return FULL
    atoms.predicates[number], atoms.arguments[number], atoms.keys[number] = predicate, row, key
    for place in range(len(row)):
        known = row[place] >= 0 and atoms.symmetric[row[place]]
        atoms.marks[number, place] = mark_of(predicate, row, place) if known else np.uint64(0)
    first = atoms.indexes.indptr[predicate]
    for index in range(first, atoms.indexes.indptr[predicate + 1]):
        place, which = atoms.indexes.direct[index, 0], atoms.indexes.direct[index, 1]
        if place == SEVERAL:
            list_key = _key_of_list(atoms.indexes.places, index, row)
            free = find_key(atoms.list_slots, atoms.list_keys, list_key)
            which = atoms.list_slots[free]
            if which < 0:
                which = atoms.list_slots[free] = atoms.counts[1]
                atoms.list_keys[which] = list_key
                atoms.counts[1] += 1
        elif place >= 0:
            which += row[place]
        atoms.links[number, index - first, _LIST] = which
    atoms.slots[slot] = number
    atoms.counts[0] += 1
    return int(number)


@compiled
def number_of(atoms: Atoms, predicate: int, row: Ints) -> int:
    """Return the number of an atom, assigned on first use; FULL if the table is full."""
    key = _key_of_atom(predicate, row)
    slot = find_key(atoms.slots, atoms.keys, key)
    number = atoms.slots[slot]
    if number < 0:
        number = _add(atoms, slot, key, predicate, row)
    return int(number)


@kernel
def numbers_of(atoms: Atoms, predicates: Ints, rows: Ints2D) -> Ints:
    """Return the numbers of atoms [k]; FULL for the last atoms if the table is full."""
    numbers = np.empty(len(rows), np.int32)
    for place in range(len(rows)):
        numbers[place] = number_of(atoms, predicates[place], rows[place])
    return numbers


@compiled
def turn_truth(atoms: Atoms, changed: Ints) -> None:
    """Flip the truth values of distinct atoms and update the signatures, but not the lists."""
    true, arguments, marks, signatures = atoms.true, atoms.arguments, atoms.marks, atoms.signatures
    for atom in changed:
        bit = np.uint64(1) << np.uint64(atom & 63)
        true[atom >> 6] ^= bit
        becomes_true = true[atom >> 6] & bit != np.uint64(0)
        for place in range(arguments.shape[1]):
            argument = arguments[atom, place]
            if argument >= 0:
                if becomes_true:
                    signatures[argument] += marks[atom, place]
                else:
                    signatures[argument] -= marks[atom, place]


@compiled
def turn_lists(atoms: Atoms, changed: Ints) -> None:
    """Remove distinct atoms from the lists, and add those that are not in lists."""
    listed, predicates = atoms.listed, atoms.predicates
    ends, links, lists = atoms.indexes.indptr, atoms.links, atoms.lists
    for atom in changed:
        bit = np.uint64(1) << np.uint64(atom & 63)
        listed[atom >> 6] ^= bit
        is_listed = listed[atom >> 6] & bit != np.uint64(0)
        for place in range(ends[predicates[atom] + 1] - ends[predicates[atom]]):
            which = links[atom, place, _LIST]
            head = lists[which, HEAD]
            if is_listed:
                links[atom, place, _PREVIOUS], links[atom, place, NEXT] = EMPTY, head
                if head >= 0:
                    links[head, place, _PREVIOUS] = atom
                lists[which, HEAD] = atom
                lists[which, SIZE] += 1
            else:
                before, after = links[atom, place, _PREVIOUS], links[atom, place, NEXT]
                if before >= 0:
                    links[before, place, NEXT] = after
                else:
                    lists[which, HEAD] = after
                if after >= 0:
                    links[after, place, _PREVIOUS] = before
                lists[which, SIZE] -= 1


@kernel
def make_true(atoms: Atoms, wanted: Ints, static: Words) -> None:
    """Make exactly these distinct atoms true, and those in the bit set `static`, which has others; list them."""
    true, listed = atoms.true ^ static, atoms.listed ^ static
    toggle(true, wanted)
    toggle(listed, wanted)
    turn_truth(atoms, true_atoms(true))
    turn_lists(atoms, true_atoms(listed))
