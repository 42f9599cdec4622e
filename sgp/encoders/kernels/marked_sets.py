"""Sets of hashes: their totals, how a total changes with few elements, and the vocabulary of features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, mix
from sgp.encoders.kernels.marked_graph import Hashes, Ints

# The upper six bits of 2^i times a de Bruijn sequence differ for all i: which bit is set, without looking at each.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE_OF_BIT = np.empty(64, np.int64)
for _bit in range(64):
    _PLACE_OF_BIT[((1 << _bit) * int(_DE_BRUIJN) % 2**64) >> 58] = _bit


class Vocabulary(NamedTuple):
    """Known features by their places, in a hash table with open addressing."""

    hashes: Hashes  # [D]
    slots: Ints  # a power of two of them: a place, or -1


class Exchange(NamedTuple):
    """For each object what its edges to recoloured atoms were and are, as linked lists."""

    last: Ints  # [n], of each object, or -1
    before: Ints  # of each entry the one before it, or -1
    was: Hashes
    has: NDArray[np.bool_]  # whether there was an edge
    now: Hashes


@compiled
def make_vocabulary(hashes: Hashes) -> Vocabulary:
    """The table of different features."""
    size = 16
    while size < 4 * len(hashes):
        size *= 2
    slots = np.full(size, -1, np.int32)
    for place in range(len(hashes)):
        slot = np.int64(hashes[place] & np.uint64(size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = place
    return Vocabulary(hashes, slots)


@inlined
def find(vocabulary: Vocabulary, value: np.uint64) -> int:
    """A feature's place in the vocabulary, or -1."""
    mask = len(vocabulary.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while vocabulary.slots[slot] >= 0:
        if vocabulary.hashes[vocabulary.slots[slot]] == value:
            return int(vocabulary.slots[slot])
        slot = (slot + 1) & mask
    return -1


@inlined
def take_columns(present: Hashes, out: Hashes, total: int) -> int:
    """Adds the places of the set bits to `out`, ascending, and clears them; how many stand there then."""
    for word in range(len(present)):
        bits = present[word]
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            out[total] = 64 * word + _PLACE_OF_BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            total += 1
            bits ^= lowest
        present[word] = 0
    return total


@compiled
def total_of_set(values: Hashes) -> np.uint64:
    """The total of the different values, which are sorted in place."""
    values.sort()
    total = np.uint64(0)
    for place in range(len(values)):
        if place == 0 or values[place] != values[place - 1]:
            total += mix(values[place])
    return total


@compiled
def no_exchange(objects: int, edges: int) -> Exchange:
    """Nothing exchanged, and room for so many edges."""
    return Exchange(
        np.full(objects, -1, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.uint64),
        np.empty(edges, np.bool_),
        np.empty(edges, np.uint64),
    )


@inlined
def total_after(exchange: Exchange, thing: int, total: np.uint64, values: Hashes) -> np.uint64:
    """The total of an object's set after the exchange; before it was `total`, of `values`, ascending with repetition.

    An element leaves the set with its last occurrence, unless it is also new; it joins with its first.
    """
    entry = exchange.last[thing]
    while entry >= 0:
        value = exchange.now[entry]
        if not _earlier(exchange, entry, value, True) and _occurrences(values, value) == 0:
            total += mix(value)
        if exchange.has[entry] and not _earlier(exchange, entry, exchange.was[entry], False):
            value = exchange.was[entry]
            gone, back = 0, False
            other = exchange.last[thing]
            while other >= 0:
                gone += exchange.has[other] and exchange.was[other] == value
                back = back or exchange.now[other] == value
                other = exchange.before[other]
            if not back and gone == _occurrences(values, value):
                total -= mix(value)
        entry = exchange.before[entry]
    return total


@inlined
def _earlier(exchange: Exchange, entry: int, value: np.uint64, now: bool) -> bool:
    """Whether an entry before this one has the value, now or formerly."""
    other = exchange.before[entry]
    while other >= 0:
        if (now and exchange.now[other] == value) or (not now and exchange.has[other] and exchange.was[other] == value):
            return True
        other = exchange.before[other]
    return False


@inlined
def _occurrences(values: Hashes, value: np.uint64) -> int:
    """How often a value stands among ascending ones."""
    return int(np.searchsorted(values, value, side="right") - np.searchsorted(values, value, side="left"))
