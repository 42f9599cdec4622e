"""Interchangeable objects: types, static atoms, goal and current state do not distinguish them.

An object's signature is the sum of strongly mixed hashes, one for each true atom with the object, and is updated with
the atoms. Sums of weakly mixed hashes can collide, and actions would be lost. Of the actions that differ only in
interchangeable objects, the representative takes the objects of each class in order.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from sgp.compilation import compiled, kernel
from sgp.planning.hash_table import EMPTY, Ints, Ints2D, Mask, Words, Words2D, find_key, hash_step, mix
from sgp.planning.operators import half_identity, has, is_in, true_atoms
from sgp.planning.problem_index import ProblemIndex

_KIND, _FLUENT = np.uint64(1), np.uint64(2)  # hash seeds of kinds and of atoms


class Symmetry(NamedTuple):
    """Symmetry data of a task with n objects and a atoms.

    Fluent a adds `marks[a, place]` to the signature of its argument at that position.
    """

    symmetric: Mask  # [n], whether the object may be interchangeable by its types, the static atoms and the goal
    always: Words  # [n], signatures without true fluents
    merged: Mask  # [n], whether states that differ only in names of these objects are merged; no atom has two of them
    arguments: Ints2D  # [a, w]
    marks: Words2D  # [a, w]

    @classmethod
    def of(cls, index: ProblemIndex, predicates: Ints, arguments: Ints) -> Symmetry:
        """Build the symmetry of a problem; fluents have predicates [a], -1 for none, and arguments [a, w]."""
        symmetric, kinds = index.symmetric_objects
        if not symmetric.any():
            return NO_SYMMETRY
        marks = _marks(symmetric, predicates, arguments)
        return cls(symmetric, signatures_of(kinds), merged_of(kinds, arguments), arguments, marks)


_NO_MARKS = np.zeros((0, 0), np.uint64)
NO_SYMMETRY = Symmetry(
    np.zeros(0, np.bool_), np.zeros(0, np.uint64), np.zeros(0, np.bool_), np.zeros((0, 0), np.int32), _NO_MARKS
)
"""No objects: every action is its own representative."""


@kernel
def signatures_of(kinds: Ints) -> Words:
    """Return the signatures [n] of objects of these kinds, without true fluents."""
    signatures = np.empty(len(kinds), np.uint64)
    for number in range(len(kinds)):
        signatures[number] = hash_step(_KIND, kinds[number])
    return signatures


@compiled
def mark_of(predicate: int, row: Ints, place: int) -> np.uint64:
    """Return an atom's contribution to the signature of one argument [w]; 0 for a repeated argument."""
    if is_in(row[:place], row[place]):
        return np.uint64(0)
    mark = hash_step(_FLUENT, predicate)
    for other in row:
        mark = hash_step(mark, -1 if other == row[place] else other)
    return mark


@kernel
def _marks(symmetric: Mask, predicates: Ints, arguments: Ints2D) -> Words2D:
    marks = np.zeros(arguments.shape, np.uint64)
    for atom in range(len(predicates)):
        for place in range(arguments.shape[1]):
            if arguments[atom, place] >= 0 and symmetric[arguments[atom, place]]:
                marks[atom, place] = mark_of(predicates[atom], arguments[atom], place)
    return marks


def merged_of(kinds: Ints, arguments: Ints) -> Mask:
    """Return a mask [n] of merged objects: largest kinds first, no two in one atom."""
    together = _together(kinds, arguments)
    chosen: list[int] = []
    for kind, _ in Counter(kinds[kinds >= 0].tolist()).most_common():
        if not together[kind, [*chosen, kind]].any():
            chosen.append(kind)
    return np.isin(kinds, chosen)


@kernel
def _together(kinds: Ints, arguments: Ints2D) -> Mask:
    """Return a mask [k, k] of kinds of which two different objects are in one atom."""
    count = kinds.max() + 1
    together = np.zeros((count, count), np.bool_)
    for atom in range(len(arguments)):
        for place in range(arguments.shape[1]):
            one = arguments[atom, place]
            for before in range(place):
                other = arguments[atom, before]
                if one >= 0 and other >= 0 and one != other and kinds[one] >= 0 and kinds[other] >= 0:
                    together[kinds[one], kinds[other]] = together[kinds[other], kinds[one]] = True
    return together


@kernel
def signatures_in(symmetry: Symmetry, fluents: Ints) -> Words:
    """Return the signatures [n] in the state of these fluents."""
    signatures = symmetry.always.copy()
    if len(signatures) > 0:
        for atom in fluents:
            for place in range(symmetry.arguments.shape[1]):
                if symmetry.arguments[atom, place] >= 0:
                    signatures[symmetry.arguments[atom, place]] += symmetry.marks[atom, place]
    return signatures


@compiled
def turn_signatures(symmetry: Symmetry, state: Words, changed: Ints, signatures: Words) -> None:
    """Update the signatures after the truth values of `changed` atoms have changed to those in `state`."""
    for atom in changed:
        true = has(state, atom)
        for place in range(symmetry.arguments.shape[1]):
            argument = symmetry.arguments[atom, place]
            if argument >= 0 and true:
                signatures[argument] += symmetry.marks[atom, place]
            elif argument >= 0:
                signatures[argument] -= symmetry.marks[atom, place]


@compiled
def rank_objects(symmetric: Mask, signatures: Words, ranks: Ints) -> None:
    """Write the rank of each object [n] within its current class of interchangeable objects, from 0."""
    size = 16
    while size < 2 * len(ranks):
        size *= 2
    slots, members = np.full(size, EMPTY, np.int32), np.zeros(size, np.int32)  # a hash table of classes
    for number in range(len(ranks)):
        ranks[number] = 0
        if symmetric[number]:
            slot = find_key(slots, signatures, signatures[number])
            if slots[slot] < 0:
                slots[slot] = number
            ranks[number] = members[slot]
            members[slot] += 1


class Classes(NamedTuple):
    """Classes of interchangeable objects in a root state, from which ranks in similar states are computed.

    Ranks are at most `most`, because an action of so many parameters is a representative only with lower ones.
    """

    symmetric: Mask  # [n]
    signatures: Words  # [n], in the root state
    slots: Ints  # hash table of the first members
    following: Ints  # [n], the next member of the same class, -1 for none
    ranks: Ints  # [n], in the root state
    most: int
    is_moved: Mask  # [n], the objects now passed as `moved`


@compiled
def classes_of(symmetric: Mask, signatures: Words, most: int) -> Classes:
    """Return the classes of objects [n] with these signatures."""
    size = 16
    while size < 2 * len(symmetric):
        size *= 2
    slots, following = np.full(size, EMPTY, np.int32), np.full(len(symmetric), EMPTY, np.int32)
    ranks = np.zeros(len(symmetric), np.int32)
    for number in range(len(symmetric) - 1, -1, -1):
        if symmetric[number]:
            ranks[number] = most
            slot = find_key(slots, signatures, signatures[number])
            following[number], slots[slot] = slots[slot], number
    for first in slots:
        member, rank = int(first), 0
        while member >= 0 and rank < most:
            ranks[member] = rank
            member, rank = int(following[member]), rank + 1
    return Classes(symmetric, signatures.copy(), slots, following, ranks, most, np.zeros(len(symmetric), np.bool_))


@compiled
def write_moved(classes: Classes, arguments: Ints2D, changed: Ints, moved: Ints, count: int) -> int:
    """Add the symmetric objects of atoms to `moved`, which has `count` objects; return their new number."""
    for atom in changed:
        for number in arguments[atom]:
            if number >= 0 and classes.symmetric[number] and not classes.is_moved[number]:
                classes.is_moved[number] = True
                moved[count] = number
                count += 1
    return count


@compiled
def first_members(classes: Classes, moved: Ints, signatures: Words, signature: np.uint64, members: Ints) -> int:
    """Write the first members of the class with a signature, in order, and return how many there are.

    Only `moved` objects, in order, may have other signatures than in the root state.
    """
    at_root = classes.slots[find_key(classes.slots, classes.signatures, signature)]
    place, count = 0, 0
    while count < len(members):
        while at_root >= 0 and classes.is_moved[at_root]:
            at_root = classes.following[at_root]
        while place < len(moved) and signatures[moved[place]] != signature:
            place += 1
        if place < len(moved) and (at_root < 0 or moved[place] < at_root):
            members[count] = moved[place]
            place += 1
        elif at_root >= 0:
            members[count] = at_root
            at_root = classes.following[at_root]
        else:
            break
        count += 1
    return count


@compiled
def rank_moved(classes: Classes, moved: Ints, signatures: Words, ranks: Ints, members: Ints) -> None:
    """Change the ranks [n] of the root state to those of another state, in which only `moved` objects may differ.

    `members` is a buffer of at least `most` and as many numbers as objects are moved.
    """
    for number in moved:
        same = signatures[number] == classes.signatures[number]
        ranks[number] = classes.ranks[number] if same else classes.most
    _rank_changed(classes, moved, moved, signatures, ranks, members)


@compiled
def rank_back(classes: Classes, moved: Ints, signatures: Words, ranks: Ints, members: Ints) -> None:
    """Undo `rank_moved`; nothing is moved any longer."""
    for number in moved:
        classes.is_moved[number] = False
        ranks[number] = classes.ranks[number]
    _rank_changed(classes, moved, moved[:0], signatures, ranks, members)


@compiled
def _rank_changed(
    classes: Classes, moved: Ints, differing: Ints, signatures: Words, ranks: Ints, members: Ints
) -> None:
    """Rank the members of all classes that moved objects left or joined, where `differing` objects left or joined."""
    found = members[: classes.most + len(moved)]
    for which in range(len(moved)):
        left, joined = classes.signatures[moved[which]], signatures[moved[which]]
        done, before = left == joined, which - 1  # objects moved alike are mostly side by side
        while before >= 0 and not done:
            other = moved[before]
            done = classes.signatures[other] == left and signatures[other] == joined
            before -= 1
        for signature in (left, joined):
            for rank in range(0 if done else first_members(classes, differing, signatures, signature, found)):
                ranks[found[rank]] = min(rank, classes.most)


@compiled
def is_representative(ranks: Ints, signatures: Words, arguments: Ints) -> bool:
    """Whether arguments, padded with -1, take the objects of each class in order, from the first."""
    for place in range(len(arguments)):
        number, used = arguments[place], -1
        if number < 0:
            break
        if ranks[number] == 0:
            continue
        for before in range(place):
            if signatures[arguments[before]] == signatures[number]:
                used = max(used, ranks[arguments[before]])
        if ranks[number] > used + 1:
            return False
    return True


@compiled
def representatives(symmetry: Symmetry, fluents: Ints, rows: Ints, actions: Ints) -> Ints:
    """Select the representatives among a state's applicable actions, with rows [m, 1 + p]."""
    if len(symmetry.always) == 0:
        return actions
    signatures, ranks = signatures_in(symmetry, fluents), np.empty(len(symmetry.always), np.int32)
    rank_objects(symmetry.symmetric, signatures, ranks)
    chosen, count = np.empty_like(actions), 0
    for action in actions:
        if is_representative(ranks, signatures, rows[action, 1:]):
            chosen[count] = action
            count += 1
    return chosen[:count]


@compiled
def symmetric_identity(symmetry: Symmetry, state: Words) -> Words:
    """Return the identity [2] of a state, equal for states that differ only in names of merged objects.

    Other states collide with probability 2^-64.
    """
    identity, fluents = np.zeros(2, np.uint64), true_atoms(state)
    for atom in fluents:
        merged = False
        for place in range(symmetry.arguments.shape[1]):
            argument = symmetry.arguments[atom, place]
            merged = merged or (argument >= 0 and symmetry.merged[argument])
        if not merged:
            identity[0] ^= half_identity(atom, 0)
            identity[1] ^= half_identity(atom, 1)
    signatures = signatures_in(symmetry, fluents)
    for number in range(len(signatures)):
        if symmetry.merged[number]:
            value = mix(signatures[number])
            identity[0] += value
            identity[1] += mix(value + np.uint64(1))
    return identity


@kernel
def symmetric_identities(symmetry: Symmetry, states: Words2D) -> Words:
    """Return the identities [n, 2] of states [n, w]."""
    identities = np.empty((len(states), 2), np.uint64)
    for row in range(len(states)):
        identities[row] = symmetric_identity(symmetry, states[row])
    return identities
