"""The atoms of a problem whose actions are not all instantiated: numbered as they are met, the true ones in lists.

A list has the true atoms of one predicate that have given objects in given places, so that joins look at no others. An
index is the lists of one predicate for the same places. What objects are told from each other by changes with the
atoms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, longer, mix
from sgp.planning.operators import Ints, Words, taller
from sgp.planning.symmetry_marks import mark_of

FULL = -1  # what stands for the number of an atom that has no room
_NONE = -1
SEVERAL = -2  # stands for the places of an index that has more than one
HEAD, SIZE, _EXAMPLE, _INDEX = range(4)  # columns of `Atoms.lists`
_LIST, NEXT, _PREVIOUS = range(3)  # of `Atoms.links`


class Indexes(NamedTuple):
    """The indexes of p predicates, those of one predicate together.

    An index of no place has one list, an index of one place has one for each object, beginning at `begins`; the lists
    of an index of several places are found in a hash table.
    """

    first: Ints  # [p + 1], where those of each predicate begin
    places: NDArray[np.bool_]  # [i, w], the places whose objects are given
    direct: Ints  # [i, 2], the only one of them, _NONE for no place, SEVERAL for more; and the first list but for these
    lists: int  # of all indexes of at most one place
    hashed: int  # the most indexes of several places that a predicate has


class Atoms(NamedTuple):
    """At most c atoms of at most w arguments, over n objects, in at most l lists.

    Two objects that may be interchangeable are so where `told_by` is equal.
    """

    met: Ints  # [2], how many there are, and how many lists
    predicates: Ints  # [c]
    arguments: Ints  # [c, w], -1 behind the last one
    slots: Ints  # [4 c], a hash table of them
    marks: Words  # [c, w], what it tells of its arguments; 0 of those that are like no other, or stood before
    true: Words
    indexes: Indexes
    links: Ints  # [c, k, 3], by indexes of its predicate the list that it belongs to, the next and the previous there
    lists: Ints  # [l, 4], of each the first atom, how many it has, one that it is for, and its index
    list_slots: Ints  # a hash table of those of indexes of several places
    alike: NDArray[np.bool_]  # [n], whether there is another object that types, static atoms and goal do not tell apart
    told_by: Words  # [n]


def indexes_of(places: Sequence[Collection[Sequence[int]]], objects: int, width: int) -> Indexes:
    """The indexes of predicates [p], each with the places that its indexes are for."""
    flat = [sorted(each) for own in places for each in own]
    given = np.zeros((len(flat), width), np.bool_)
    for row, each in zip(given, flat, strict=True):
        row[each] = True
    counts = np.array([1 if not each else objects if len(each) == 1 else 0 for each in flat], np.int64)
    single = [_NONE if not each else each[0] if len(each) == 1 else SEVERAL for each in flat]
    return Indexes(
        np.cumsum([0, *map(len, places)]).astype(np.int32),
        given,
        np.column_stack([np.array(single, np.int64), np.cumsum(counts) - counts]).astype(np.int32),
        int(counts.sum()),
        max((sum(len(each) > 1 for each in own) for own in places), default=0),
    )


def no_atoms(indexes: Indexes, room: int, alike: NDArray[np.bool_], kinds: Words) -> Atoms:
    """No atoms, and room for some (a power of 2), over objects of some kinds [n]."""
    width, columns = indexes.places.shape[1], int(np.diff(indexes.first).max(initial=0))
    return Atoms(
        np.array([0, indexes.lists], np.int32),
        np.empty(room, np.int32),
        np.empty((room, width), np.int32),
        np.full(4 * room, _NONE, np.int32),
        np.zeros((room, width), np.uint64),
        np.zeros(room // 64, np.uint64),
        indexes,
        np.empty((room, columns, 3), np.int32),
        _no_lists(indexes.lists + room * indexes.hashed),
        _list_slots(indexes, room),
        alike,
        kinds.copy(),
    )


def _no_lists(count: int) -> Ints:
    return np.tile(np.array([_NONE, 0, _NONE, _NONE], np.int32), (count, 1))


def _list_slots(indexes: Indexes, room: int) -> Ints:
    """A hash table with room for the lists of as many atoms; its size is a power of 2."""
    size = 2 * room << (indexes.hashed - 1).bit_length() if indexes.hashed else 1
    return np.full(size, _NONE, np.int32)


def with_twice_the_room(atoms: Atoms) -> Atoms:
    """The same atoms, with room for twice as many."""
    room, indexes = len(atoms.predicates), atoms.indexes
    slots, list_slots = np.full(2 * len(atoms.slots), _NONE, np.int32), _list_slots(indexes, 2 * room)
    grown = atoms._replace(
        predicates=longer(atoms.predicates),
        arguments=_taller(atoms.arguments),
        slots=slots,
        marks=taller(atoms.marks),
        true=np.concatenate([atoms.true, np.zeros_like(atoms.true)]),
        links=_taller(atoms.links),
        lists=np.concatenate([atoms.lists, _no_lists(room * indexes.hashed)]),
        list_slots=list_slots,
    )
    _fill(slots, grown.predicates, grown.arguments, int(atoms.met[0]))
    _fill_lists(grown)
    return grown


def _taller(table: Ints) -> Ints:
    return np.concatenate([table, np.empty_like(table)])


@compiled
def _fill(slots: Ints, predicates: Ints, arguments: Ints, count: int) -> None:
    for atom in range(count):
        slots[slot_of_atom(slots, predicates, arguments, predicates[atom], arguments[atom])] = atom


@compiled
def _fill_lists(atoms: Atoms) -> None:
    slots, lists, arguments, places = atoms.list_slots, atoms.lists, atoms.arguments, atoms.indexes.places
    for which in range(atoms.indexes.lists, atoms.met[1]):
        row = arguments[lists[which, _EXAMPLE]]
        slots[slot_of_list(slots, lists, arguments, places, lists[which, _INDEX], row)] = which


@compiled
def slot_of_list(
    slots: Ints, lists: Ints, arguments: Ints, places: NDArray[np.bool_], index: int, row: Ints
) -> np.int64:
    """Where the list of an index of several places stands in the hash table, or where there is room for it.

    `row` [w] has its objects in their places.
    """
    value = mix(np.uint64(index + 1) * np.uint64(0x9E3779B97F4A7C15))
    for place in range(len(row)):
        if places[index, place]:
            value = mix(value + np.uint64(row[place] + 2) * np.uint64(0x9E3779B97F4A7C15))
    slot = np.int64(value & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        same, example = lists[slots[slot], _INDEX] == index, lists[slots[slot], _EXAMPLE]
        for place in range(len(row)):
            same = same and (not places[index, place] or arguments[example, place] == row[place])
        if same:
            break
        slot = (slot + 1) & np.int64(len(slots) - 1)
    return slot


@inlined
def slot_of_atom(slots: Ints, predicates: Ints, arguments: Ints, predicate: int, row: Ints) -> np.int64:
    """Where an atom with these arguments [w] stands in the hash table, or where there is room for it."""
    value = mix(np.uint64(predicate + 1) * np.uint64(0x9E3779B97F4A7C15))
    for place in range(len(row)):
        value = mix(value + np.uint64(row[place] + 2) * np.uint64(0x9E3779B97F4A7C15))
    slot = np.int64(value & np.uint64(len(slots) - 1))
    searching = slots[slot] >= 0
    while searching:
        other = slots[slot]
        same = predicates[other] == predicate
        for place in range(len(row)):
            same = same and arguments[other, place] == row[place]
        if same:
            searching = False
        else:
            slot = (slot + 1) & np.int64(len(slots) - 1)
            searching = slots[slot] >= 0
    return slot


@compiled
def add(atoms: Atoms, slot: np.int64, predicate: int, row: Ints) -> int:
    """Numbers an atom that was not met before, and belongs to this slot; FULL where there is no room."""
    number = atoms.met[0]
    if number == len(atoms.predicates):
        return FULL
    atoms.predicates[number], atoms.arguments[number] = predicate, row
    arity = 0
    while arity < len(row) and row[arity] >= 0:
        arity += 1
    for place in range(len(row)):
        known = place < arity and atoms.alike[row[place]]
        atoms.marks[number, place] = mark_of(predicate, row[:arity], place) if known else np.uint64(0)
    first = atoms.indexes.first[predicate]
    for index in range(first, atoms.indexes.first[predicate + 1]):
        place, which = atoms.indexes.direct[index, 0], atoms.indexes.direct[index, 1]
        if place == SEVERAL:
            slots = atoms.list_slots
            free = slot_of_list(slots, atoms.lists, atoms.arguments, atoms.indexes.places, index, row)
            which = slots[free]
            if which < 0:
                which = slots[free] = atoms.met[1]
                atoms.lists[which, _EXAMPLE], atoms.lists[which, _INDEX] = number, index
                atoms.met[1] += 1
        elif place >= 0:
            which += row[place]
        atoms.links[number, index - first, _LIST] = which
    atoms.slots[slot] = number
    atoms.met[0] += 1
    return int(number)


@inlined
def number_of(atoms: Atoms, predicate: int, row: Ints) -> int:
    """The number of an atom, which it gets when it is first met; FULL where there is no room."""
    slot = slot_of_atom(atoms.slots, atoms.predicates, atoms.arguments, predicate, row)
    number = atoms.slots[slot]
    if number < 0:
        number = add(atoms, slot, predicate, row)
    return int(number)


@compiled
def numbers_of(atoms: Atoms, predicates: Ints, rows: Ints) -> Ints:
    """The numbers of atoms [k]; FULL for the last ones where there is no room."""
    found = np.empty(len(rows), np.int32)
    for place in range(len(rows)):
        found[place] = number_of(atoms, predicates[place], rows[place])
    return found


@inlined
def turn(atoms: Atoms, atom: int) -> None:
    """Makes an atom true that is false, or false that is true."""
    bit = np.uint64(1) << np.uint64(atom & 63)
    atoms.true[atom >> 6] ^= bit
    becomes_true = atoms.true[atom >> 6] & bit != np.uint64(0)
    for place in range(atoms.arguments.shape[1]):
        thing = atoms.arguments[atom, place]
        if thing >= 0:
            if becomes_true:
                atoms.told_by[thing] += atoms.marks[atom, place]
            else:
                atoms.told_by[thing] -= atoms.marks[atom, place]
    first = atoms.indexes.first[atoms.predicates[atom]]
    for place in range(atoms.indexes.first[atoms.predicates[atom] + 1] - first):
        which = atoms.links[atom, place, _LIST]
        head = atoms.lists[which, HEAD]
        if becomes_true:
            atoms.links[atom, place, _PREVIOUS], atoms.links[atom, place, NEXT] = _NONE, head
            if head >= 0:
                atoms.links[head, place, _PREVIOUS] = atom
            atoms.lists[which, HEAD] = atom
            atoms.lists[which, SIZE] += 1
        else:
            before, after = atoms.links[atom, place, _PREVIOUS], atoms.links[atom, place, NEXT]
            if before >= 0:
                atoms.links[before, place, NEXT] = after
            else:
                atoms.lists[which, HEAD] = after
            if after >= 0:
                atoms.links[after, place, _PREVIOUS] = before
            atoms.lists[which, SIZE] -= 1


@compiled
def turn_all(atoms: Atoms, changed: Ints) -> None:
    """Makes true what is false of some different atoms, and false what is true."""
    for atom in changed:
        turn(atoms, atom)


@compiled
def make_true(atoms: Atoms, wanted: Words) -> None:
    """Makes just the atoms true that are so in a state [c / 64]."""
    for word in range(len(wanted)):
        bits = wanted[word] ^ atoms.true[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                turn(atoms, atom)
            bits >>= np.uint64(1)
            atom += 1


@compiled
def rank_all(atoms: Atoms, ranks: Ints) -> None:
    """Writes of each object [n] its place among those that are interchangeable with it now."""
    size = 16
    while size < 2 * len(ranks):
        size *= 2
    first, members = np.full(size, _NONE, np.int32), np.zeros(size, np.int32)  # a hash table of classes
    for thing in range(len(ranks)):
        ranks[thing] = 0
        if not atoms.alike[thing]:
            continue
        one = atoms.told_by[thing]
        slot = np.int64(mix(one) & np.uint64(size - 1))
        while first[slot] >= 0 and atoms.told_by[first[slot]] != one:
            slot = (slot + 1) & (size - 1)
        if first[slot] < 0:
            first[slot] = thing
        ranks[thing] = members[slot]
        members[slot] += 1
