"""Reduction of a marked transition graph to a few members of each class of interchangeable objects.

Interchangeable objects have the same static atoms, goals and true fluents up to their own name, so that no atom has two
of a class. A permutation of the untouched members of a class maps a candidate's graph onto itself. Features are sets of
hashes: they do not change if untouched members are removed, as long as enough of each class remain for every walk. The
same holds for members that a candidate changes alike, such as packages loaded into one truck. The cost of an embedding
then grows with the number of classes and not with the number of objects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, kernel
from sgp.encoders.kernels.hashing import Hashes, pair
from sgp.encoders.kernels.marked_graph import EDGE, Flags, MarkedLayout
from sgp.planning.hash_table import EMPTY, Ints, find_key, grow, mix


class Interchangeable(NamedTuple):
    """Objects that only fluents distinguish, and what each fluent atom adds to the signatures of its arguments."""

    symmetric: Flags  # [n], whether the static atoms and the goal do not distinguish the object from another
    kinds: Hashes  # [n], signatures without true fluents
    marks: Hashes  # as long as the layout's `arguments`


@kernel
def argument_marks(layout: MarkedLayout, symmetric: Flags, begin: int) -> Hashes:
    """Return the marks of the arguments of the atoms from number `begin` on.

    A mark hashes the atom with a gap at the argument, and is 0 for an object that is not symmetric or repeated.
    """
    start = layout.first_argument[begin]
    marks = np.zeros(len(layout.arguments) - start, np.uint64)
    for atom in range(begin, len(layout.kind)):
        first, last = layout.first_argument[atom], layout.first_argument[atom + 1]
        for place in range(first, last):
            own, repeated = layout.arguments[place], False
            for before in range(first, place):
                repeated = repeated or layout.arguments[before] == own
            if symmetric[own] and not repeated:
                mark = mix(layout.kind[atom])
                for other in range(first, last):
                    argument = layout.arguments[other]
                    mark = pair(EDGE, mark, np.uint64(0 if argument == own else argument + 1))
                marks[place - start] = mark
    return marks


@kernel
def reduced(
    layout: MarkedLayout,
    interchangeable: Interchangeable,
    members: int,
    state: Ints,
    first: NDArray[np.int64],
    changed: Ints,
) -> tuple[MarkedLayout, Ints, NDArray[np.int64], Ints]:
    """Return layout, state and changes without most interchangeable objects.

    Candidate i changes the atoms `changed[first[i] : first[i + 1]]`. Of each class remain the objects that a candidate
    touches, but two of those that it changes alike, and `members` others. Of a class of which a candidate leaves fewer
    objects, these remain, too.
    """
    objects, arguments = len(layout.object_colour), layout.arguments
    signatures = interchangeable.kinds.copy()
    for atom in state:
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            signatures[layout.arguments[place]] += interchangeable.marks[place]
    classes, sizes = _classes(interchangeable.symmetric, signatures)
    kept, omitted = _kept_objects(layout, interchangeable, members, signatures, classes, sizes, first, changed)
    first, changed = _kept_changes(layout, kept, omitted, first, changed)
    names, count = np.full(objects, -1, np.int32), 0
    for obj in range(objects):
        if kept[obj]:
            names[obj] = count
            count += 1
    numbers, order, total = np.full(len(layout.kind), -1, np.int32), np.empty(256, np.int32), 0
    order, total, static = _number_atoms(layout, kept, layout.static_atoms, numbers, order, total)
    order, total, true = _number_atoms(layout, kept, state, numbers, order, total)
    order, total, goals = _number_atoms(layout, kept, layout.goal_atoms, numbers, order, total)
    order, total, changes = _number_atoms(layout, kept, changed, numbers, order, total)
    order = order[:total]
    first_argument = np.zeros(total + 1, np.int32)
    for place in range(total):
        atom = order[place]
        first_argument[place + 1] = (
            first_argument[place] + layout.first_argument[atom + 1] - layout.first_argument[atom]
        )
    few, walkable = np.empty(first_argument[total], np.int32), np.empty(first_argument[total], np.bool_)
    for place in range(total):
        begin, start = layout.first_argument[order[place]], first_argument[place]
        for which in range(first_argument[place + 1] - start):
            few[start + which] = names[arguments[begin + which]]
            walkable[start + which] = layout.walkable[begin + which]
    small = MarkedLayout(layout.object_colour[kept], static, goals, first_argument, few, layout.kind[order], walkable)
    return small, true, first, changes


@compiled
def _classes(symmetric: Flags, signatures: Hashes) -> tuple[Ints, Ints]:
    """Return the class of each object [n], and the number of objects of each class."""
    size = 16
    while size < 2 * len(symmetric):
        size *= 2
    slots, classes, sizes = np.full(size, EMPTY, np.int32), np.empty(len(symmetric), np.int32), np.zeros(size, np.int32)
    for obj in range(len(symmetric)):
        classes[obj] = EMPTY
        if symmetric[obj]:
            slot = find_key(slots, signatures, signatures[obj])
            if slots[slot] < 0:
                slots[slot] = obj
            classes[obj] = slot
            sizes[slot] += 1
    return classes, sizes


@compiled
def _kept_objects(
    layout: MarkedLayout,
    interchangeable: Interchangeable,
    members: int,
    signatures: Hashes,
    classes: Ints,
    sizes: Ints,
    first: NDArray[np.int64],
    changed: Ints,
) -> tuple[Flags, Flags]:
    """Return a mask [n] of the objects that remain, and a mask of the changes that are omitted.

    No walk has more than two touched objects, its ends, so two of each group of objects of a class that a candidate
    changes alike are enough. Where it leaves `members` untouched objects of the class, the others of the group are like
    these, and their changes are omitted. Where it leaves fewer, all of these remain, and no change is omitted, so that
    all other remaining objects of the class are touched.
    """
    first_argument, arguments, marks = layout.first_argument, layout.arguments, interchangeable.marks
    touched, changes = np.empty(len(classes), np.int32), np.zeros(len(classes), np.uint64)  # objects, sums of marks
    is_touched, is_omitted = np.zeros(len(classes), np.bool_), np.zeros(len(classes), np.bool_)
    kept, omitted, untouched = ~interchangeable.symmetric, np.zeros(len(changed), np.bool_), sizes.copy()
    following, last = np.full(len(classes), EMPTY, np.int32), np.full(len(sizes), EMPTY, np.int32)
    for obj in range(len(classes)):  # lists of the objects of each class
        if classes[obj] >= 0:
            following[obj], last[classes[obj]] = last[classes[obj]], obj
    for candidate in range(len(first) - 1):
        count, begin, end = 0, first[candidate], first[candidate + 1]
        for atom in changed[begin:end]:
            for place in range(first_argument[atom], first_argument[atom + 1]):
                obj = arguments[place]
                if classes[obj] >= 0:
                    changes[obj] += marks[place]
                    if not is_touched[obj]:
                        is_touched[obj] = True
                        touched[count] = obj
                        count += 1
                        untouched[classes[obj]] -= 1
        keys = np.empty(count, np.uint64)
        for which in range(count):
            keys[which] = pair(EDGE, signatures[touched[which]], changes[touched[which]])
        order = np.argsort(keys, kind="mergesort") if count > 2 else np.arange(count)  # stable: the first two remain
        for place in range(count):
            obj = touched[order[place]]
            if place < 2 or keys[order[place]] != keys[order[place - 2]]:
                kept[obj] = True
            elif untouched[classes[obj]] >= members:
                is_omitted[obj] = True
            elif place == 2 or keys[order[place]] != keys[order[place - 3]]:  # once for each group
                member = last[classes[obj]]
                while member >= 0:
                    kept[member] |= not is_touched[member]
                    member = following[member]
        for which in range(begin, end):
            for place in range(first_argument[changed[which]], first_argument[changed[which] + 1]):
                omitted[which] |= is_omitted[arguments[place]]
        for which in range(count):
            obj = touched[which]
            is_touched[obj], is_omitted[obj], changes[obj] = False, False, 0
            untouched[classes[obj]] += 1
    met = np.zeros(len(sizes), np.int32)  # further members of each class
    for obj in range(len(kept)):
        if not kept[obj] and met[classes[obj]] < members:
            met[classes[obj]] += 1
            kept[obj] = True
    return kept, omitted


@compiled
def _kept_changes(
    layout: MarkedLayout, kept: Flags, omitted: Flags, first: NDArray[np.int64], changed: Ints
) -> tuple[NDArray[np.int64], Ints]:
    """Return the changes of remaining objects without the omitted ones."""
    starts, few, total = np.zeros(len(first), np.int64), np.empty(len(changed), np.int32), 0
    for candidate in range(len(first) - 1):
        for which in range(first[candidate], first[candidate + 1]):
            remains = not omitted[which]
            for place in range(layout.first_argument[changed[which]], layout.first_argument[changed[which] + 1]):
                remains = remains and kept[layout.arguments[place]]
            if remains:
                few[total] = changed[which]
                total += 1
        starts[candidate + 1] = total
    return starts, few[:total]


@compiled
def _number_atoms(
    layout: MarkedLayout, kept: Flags, atoms: Ints, numbers: Ints, order: Ints, total: int
) -> tuple[Ints, int, Ints]:
    """Number the atoms whose arguments remain; return the numbered atoms, their count, and the given ones' numbers."""
    found, count = np.empty(len(atoms), np.int32), 0
    for atom in atoms:
        whole = True
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            whole = whole and kept[layout.arguments[place]]
        if whole:
            if numbers[atom] < 0:
                if total == len(order):
                    order = grow(order)
                numbers[atom] = total
                order[total] = atom
                total += 1
            found[count] = numbers[atom]
            count += 1
    return order, total, found[:count].copy()
