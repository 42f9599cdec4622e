"""Interchangeable objects: those that types, static atoms, goal and the present state do not tell apart.

An object's signature is a sum of strongly mixed hashes, one for each true atom that it stands in, so that it changes
with the atoms. Sums of weakly mixed ones are equal where nothing else is, and actions vanish. Of the actions that
differ in interchangeable objects alone one is a representative: it takes the objects of each class in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix
from sgp.planning.clock import with_limit_checks
from sgp.planning.hash_table import EMPTY, Ints, Words, find_key, hash_step
from sgp.planning.operators import half_identity, has, is_in, true_atoms
from sgp.planning.pddl import Atom
from sgp.planning.problem_index import ProblemIndex

_KIND, _FLUENT = np.uint64(1), np.uint64(2)  # where hashes of kinds and of atoms begin


class Symmetry(NamedTuple):
    """What tells the n objects of a task with a atoms apart.

    Fluent a adds `marks[a, place]` to the signature of its argument in a place.
    """

    symmetric: NDArray[np.bool_]  # [n], whether types, static atoms and goal do not tell an object from another one
    always: Words  # [n], signatures where no fluent is true
    merged: NDArray[np.bool_]  # [n], whether states are one that differ in names of these alone; no atom has two
    arguments: Ints  # [a, w]
    marks: Words  # [a, w]

    @classmethod
    def of(cls, index: ProblemIndex, predicates: Ints, arguments: Ints) -> Symmetry:
        """The symmetry of a problem with fluents of some predicates [a], -1 for none, and arguments [a, w]."""
        symmetric, kinds = symmetric_objects(index)
        if not symmetric.any():
            return NO_SYMMETRY
        marks = _marks(symmetric, predicates, arguments)
        return cls(symmetric, signatures_of(kinds), _merged(kinds, arguments), arguments, marks)


_NO_MARKS = np.zeros((0, 0), np.uint64)
NO_SYMMETRY = Symmetry(
    np.zeros(0, np.bool_), np.zeros(0, np.uint64), np.zeros(0, np.bool_), np.zeros((0, 0), np.int32), _NO_MARKS
)
"""No objects: every action is its own representative."""


def symmetric_objects(index: ProblemIndex) -> tuple[NDArray[np.bool_], Ints]:
    """Which objects [n] another one is like but for fluent atoms, and the number of each one's kind, -1 for none."""
    own = [parameter.name for parameter in index.problem.objects]  # constants are like no other
    fluent = index.domain.fluent_predicates
    static = ((atom, "") for atom in index.problem.init if atom.predicate not in fluent)
    always = _occurrences(own, [*static, *((atom, sign) for atom, sign in index.problem.goal)])
    kinds: dict[object, list[str]] = {}
    for parameter in index.problem.objects:
        kinds.setdefault((parameter.types, always[parameter.name]), []).append(parameter.name)
    numbers = np.full(len(index.names), -1, np.int32)
    for kind, names in enumerate(kinds.values()):
        if len(names) > 1:
            numbers[[index.numbers[name] for name in names]] = kind
    return numbers >= 0, numbers


def _occurrences(
    names: Iterable[str], atoms: Iterable[tuple[Atom, object]]
) -> dict[str, frozenset[tuple[object, ...]]]:
    """Of each object the marked atoms that it stands in, with a gap in its own place."""
    found: dict[str, set[tuple[object, ...]]] = {name: set() for name in names}
    for atom, mark in with_limit_checks(atoms):
        for name in dict.fromkeys(atom.objects):
            if name in found:
                found[name].add((mark, atom.predicate, *(None if other == name else other for other in atom.objects)))
    return {name: frozenset(own) for name, own in found.items()}


@compiled
def signatures_of(kinds: Ints) -> Words:
    """The signatures [n] of objects of some kinds, where no fluent is true."""
    signatures = np.empty(len(kinds), np.uint64)
    for number in range(len(kinds)):
        signatures[number] = hash_step(_KIND, kinds[number])
    return signatures


@compiled
def mark_of(predicate: int, row: Ints, place: int) -> np.uint64:
    """What a true atom with arguments [w] adds to the signature of one, with a gap there; 0 where it stood before."""
    if is_in(row[:place], row[place]):
        return np.uint64(0)
    mark = hash_step(_FLUENT, predicate)
    for other in row:
        mark = hash_step(mark, -1 if other == row[place] else other)
    return mark


@compiled
def _marks(symmetric: NDArray[np.bool_], predicates: Ints, arguments: Ints) -> Words:
    marks = np.zeros(arguments.shape, np.uint64)
    for atom in range(len(predicates)):
        for place in range(arguments.shape[1]):
            if arguments[atom, place] >= 0 and symmetric[arguments[atom, place]]:
                marks[atom, place] = mark_of(predicates[atom], arguments[atom], place)
    return marks


def _merged(kinds: Ints, arguments: Ints) -> NDArray[np.bool_]:
    """Which objects [n] are merged: the largest kinds first, and no two that stand in one atom."""
    together = _together(kinds, arguments)
    chosen: list[int] = []
    for kind, _ in Counter(kinds[kinds >= 0].tolist()).most_common():
        if not together[kind, [*chosen, kind]].any():
            chosen.append(kind)
    return np.isin(kinds, chosen)


@compiled
def _together(kinds: Ints, arguments: Ints) -> NDArray[np.bool_]:
    """Of which kinds [k, k] two different objects stand in one atom."""
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


@compiled
def signatures_in(symmetry: Symmetry, fluents: Ints) -> Words:
    """The signatures [n] where just these fluents are true."""
    signatures = symmetry.always.copy()
    if len(signatures) > 0:
        for atom in fluents:
            for place in range(symmetry.arguments.shape[1]):
                if symmetry.arguments[atom, place] >= 0:
                    signatures[symmetry.arguments[atom, place]] += symmetry.marks[atom, place]
    return signatures


@compiled
def signatures_after(symmetry: Symmetry, before: Words, state: Words, changed: Ints) -> Words:
    """The same for a state that differs in some fluents from the one with the signatures `before`."""
    signatures = before.copy()
    for atom in changed:
        true = has(state, atom)
        for place in range(symmetry.arguments.shape[1]):
            argument = symmetry.arguments[atom, place]
            if argument >= 0 and true:
                signatures[argument] += symmetry.marks[atom, place]
            elif argument >= 0:
                signatures[argument] -= symmetry.marks[atom, place]
    return signatures


@compiled
def rank_objects(symmetric: NDArray[np.bool_], signatures: Words, ranks: Ints) -> None:
    """Writes of each object [n] its place among those that are interchangeable with it now, from 0."""
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


@compiled
def is_representative(ranks: Ints, signatures: Words, arguments: Ints) -> bool:
    """Whether arguments, -1 behind the last one, take the objects of each class in their order, the first one first."""
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
    """Those of a state's applicable actions, with rows [m, 1 + p], that are representatives."""
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
    """The identity [2] of a state: equal where two differ in names of merged objects alone.

    Others have the same one with a probability of 2^-64.
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


@compiled
def symmetric_identities(symmetry: Symmetry, states: Words) -> Words:
    """The identities [n, 2] of states [n, w]."""
    identities = np.empty((len(states), 2), np.uint64)
    for row in range(len(states)):
        identities[row] = symmetric_identity(symmetry, states[row])
    return identities
