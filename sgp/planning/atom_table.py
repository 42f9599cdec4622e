"""The atoms of a problem whose actions are not all instantiated: numbered as they are met, the true ones in lists.

A list has the true atoms of one predicate that have one object in one place, so that joins look at no others. What
objects are told from each other by changes with the atoms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, longer, mix
from sgp.planning.operators import Ints, Words, taller
from sgp.planning.symmetry_marks import mark_of

FULL = -1  # what stands for the number of an atom that has no room
_NONE = -1


class Atoms(NamedTuple):
    """At most c atoms of at most w arguments, over n objects and p predicates.

    The lists of predicate i begin at `begins[i]`: one of all its atoms, then one for each object in the first place,
    and so on. Two objects that may be interchangeable are so where `told_by` is equal.
    """

    met: Ints  # [1], how many there are
    predicates: Ints  # [c]
    arguments: Ints  # [c, w], -1 behind the last one
    slots: Ints  # [4 c], a hash table of them
    marks: Words  # [c, w], what it tells of its arguments; 0 of those that are like no other, or stood before
    true: Words
    following: Ints  # [c, w + 1], the next one of each list that it stands in; the last for that of its predicate
    preceding: Ints  # [c, w + 1]
    begins: Ints  # [p]
    heads: Ints
    sizes: Ints
    alike: NDArray[np.bool_]  # [n], whether there is another object that types, static atoms and goal do not tell apart
    told_by: Words  # [n]


def no_atoms(arities: Ints, room: int, width: int, alike: NDArray[np.bool_], kinds: Words) -> Atoms:
    """No atoms, and room for some (a power of 2), over predicates of some arities [p] and objects of some kinds [n]."""
    counts = 1 + arities.astype(np.int64) * len(alike)
    begins = np.cumsum(counts) - counts
    return Atoms(
        np.zeros(1, np.int32),
        np.empty(room, np.int32),
        np.empty((room, width), np.int32),
        np.full(4 * room, _NONE, np.int32),
        np.zeros((room, width), np.uint64),
        np.zeros(room // 64, np.uint64),
        np.empty((room, width + 1), np.int32),
        np.empty((room, width + 1), np.int32),
        begins.astype(np.int32),
        np.full(counts.sum(), _NONE, np.int32),
        np.zeros(counts.sum(), np.int32),
        alike,
        kinds.copy(),
    )


def with_twice_the_room(atoms: Atoms) -> Atoms:
    """The same atoms, with room for twice as many."""
    slots = np.full(2 * len(atoms.slots), _NONE, np.int32)
    grown = atoms._replace(
        predicates=longer(atoms.predicates),
        arguments=_taller(atoms.arguments),
        slots=slots,
        marks=taller(atoms.marks),
        true=np.concatenate([atoms.true, np.zeros_like(atoms.true)]),
        following=_taller(atoms.following),
        preceding=_taller(atoms.preceding),
    )
    _fill(slots, grown.predicates, grown.arguments, int(atoms.met[0]))
    return grown


def _taller(table: Ints) -> Ints:
    return np.concatenate([table, np.empty_like(table)])


@compiled
def _fill(slots: Ints, predicates: Ints, arguments: Ints, count: int) -> None:
    for atom in range(count):
        slots[slot_of_atom(slots, predicates, arguments, predicates[atom], arguments[atom])] = atom


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
    number = int(atoms.met[0])
    if number == len(atoms.predicates):
        return FULL
    atoms.predicates[number], atoms.arguments[number] = predicate, row
    arity = 0
    while arity < len(row) and row[arity] >= 0:
        arity += 1
    for place in range(len(row)):
        known = place < arity and atoms.alike[row[place]]
        atoms.marks[number, place] = mark_of(predicate, row[:arity], place) if known else np.uint64(0)
    atoms.slots[slot] = number
    atoms.met[0] += 1
    return number


@compiled
def number_of(atoms: Atoms, predicate: int, row: Ints) -> int:
    """The number of an atom, which it gets when it is first met; FULL where there is no room."""
    slot = slot_of_atom(atoms.slots, atoms.predicates, atoms.arguments, predicate, row)
    known = atoms.slots[slot]
    return known if known >= 0 else add(atoms, slot, predicate, row)


@compiled
def numbers_of(atoms: Atoms, predicates: Ints, rows: Ints) -> Ints:
    """The numbers of atoms [k]; FULL for the last ones where there is no room."""
    found = np.empty(len(rows), np.int32)
    for place in range(len(rows)):
        found[place] = number_of(atoms, predicates[place], rows[place])
    return found


@compiled
def turn(atoms: Atoms, atom: int) -> None:
    """Makes an atom true that is false, or false that is true."""
    bit = np.uint64(1) << np.uint64(atom & 63)
    atoms.true[atom >> 6] ^= bit
    becomes_true = atoms.true[atom >> 6] & bit != np.uint64(0)
    width = atoms.arguments.shape[1]
    begin = atoms.begins[atoms.predicates[atom]]
    for place in range(width + 1):
        which = begin
        if place < width:
            thing = atoms.arguments[atom, place]
            if thing < 0:
                continue
            which += 1 + place * len(atoms.told_by) + thing
            if becomes_true:
                atoms.told_by[thing] += atoms.marks[atom, place]
            else:
                atoms.told_by[thing] -= atoms.marks[atom, place]
        if becomes_true:
            atoms.preceding[atom, place], atoms.following[atom, place] = _NONE, atoms.heads[which]
            if atoms.heads[which] >= 0:
                atoms.preceding[atoms.heads[which], place] = atom
            atoms.heads[which] = atom
            atoms.sizes[which] += 1
        else:
            before, after = atoms.preceding[atom, place], atoms.following[atom, place]
            if before >= 0:
                atoms.following[before, place] = after
            else:
                atoms.heads[which] = after
            if after >= 0:
                atoms.preceding[after, place] = before
            atoms.sizes[which] -= 1


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
