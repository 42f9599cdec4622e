"""Kernels on pairs of atoms that can be true together (h², Haslum and Geffner 2000).

A table of pairs is symmetric, with one row of bits per atom. It also has pairs of an atom with itself, for the atoms
that can be true.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, kernel
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Mask, Words, Words2D
from sgp.planning.operators import CSR, has, words_of


class PairRules(NamedTuple):
    """Rules that derive pairs of atoms.

    A rule applies where all pairs of its `premises` are in the table. Then each of `gained` is in a pair with the
    others, and with all atoms that are in pairs with all premises and are not in `lost`.
    """

    premises: CSR
    lost: CSR
    gained: CSR


@kernel
def add_derived_pairs(pairs: Words2D, rules: PairRules, bounds: CSR, bound: Words2D, stop: StopFlag) -> Mask:
    """Add derived pairs until there are no more, and return which rules apply.

    The atoms of a derived pair are in a pair of the table `bound`, and each is in pairs of it with all `bounds` of the
    rule; a table without rows excludes nothing. If `stop[0]` becomes true, pairs are missing.
    """
    premises, gained = rules.premises, rules.gained
    count = len(premises.indptr) - 1
    applies, applied, now = np.zeros(count, np.bool_), np.zeros(count, np.int64), 1
    changed = np.ones(len(pairs), np.int64)  # by atom, the number of the application that last changed its row
    row, grows = np.empty(pairs.shape[1], np.uint64), True
    while grows:
        grows = False
        for rule in range(count):
            if stop[0]:
                return applies
            first, last = premises.indptr[rule], premises.indptr[rule + 1]
            if not _must_apply(pairs, premises.indices[first:last], changed, applied[rule]):
                continue
            now += 1
            applies[rule], applied[rule] = True, now
            _write_common(pairs, premises.indices[first:last], row)
            for atom in rules.lost.indices[rules.lost.indptr[rule] : rules.lost.indptr[rule + 1]]:
                row[atom >> 6] &= ~(np.uint64(1) << np.uint64(atom & 63))
            new = gained.indices[gained.indptr[rule] : gained.indptr[rule + 1]]
            for atom in new:
                row[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
            if len(bound):
                for atom in bounds.indices[bounds.indptr[rule] : bounds.indptr[rule + 1]]:
                    row &= bound[atom]
            for atom in new:
                if has(row, atom) and _add_pairs(pairs, atom, row, bound, changed, now):
                    grows = True
    return applies


@compiled
def _must_apply(pairs: Words2D, premises: Ints, changed: NDArray[np.int64], applied: int) -> bool:
    """Whether a rule applies and may derive more than it did at its last application."""
    recent = len(premises) == 0
    for place in range(len(premises)):
        recent |= changed[premises[place]] >= applied
    if not recent:
        return False
    for place in range(len(premises)):
        for other in range(place + 1):
            if not has(pairs[premises[place]], premises[other]):
                return False
    return True


@compiled
def _write_common(pairs: Words2D, premises: Ints, row: Words) -> None:
    """Write the atoms that are in pairs with all premises."""
    if len(premises):
        row[:] = pairs[premises[0]]
        for place in range(1, len(premises)):
            row &= pairs[premises[place]]
    else:
        row[:] = 0
        for atom in range(len(pairs)):
            if has(pairs[atom], atom):
                row[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)


@compiled
def _add_pairs(pairs: Words2D, atom: int, row: Words, bound: Words2D, changed: NDArray[np.int64], now: int) -> bool:
    """Add the pairs of an atom with those of a row within the bound; return whether any is new."""
    grows = False
    for word in range(len(row)):
        new = row[word] & ~pairs[atom, word]
        if len(bound):
            new &= bound[atom, word]
        if new == np.uint64(0):
            continue
        grows = True
        pairs[atom, word] |= new
        changed[atom], other = now, 64 * word
        while new != np.uint64(0):
            if new & np.uint64(1) != np.uint64(0):
                pairs[other, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
                changed[other] = now
            new >>= np.uint64(1)
            other += 1
    return grows


@kernel
def has_pair_of(pairs: Words2D, atoms: Ints) -> bool:
    """Whether the table has a pair of these atoms."""
    row = words_of(atoms, 64 * pairs.shape[1])
    for atom in atoms:
        for word in range(len(row)):
            if pairs[atom, word] & row[word] != np.uint64(0):
                return True
    return False
