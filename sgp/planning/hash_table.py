"""Array types of kernels, growing arrays, and open-addressing hash tables with 64-bit keys or rows of 64-bit words."""

from __future__ import annotations

from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel

Ints = NDArray[np.int32]
Ints2D = Annotated[Ints, 2]
Ints3D = Annotated[Ints, 3]
Words = NDArray[np.uint64]
Words2D = Annotated[Words, 2]
Mask = NDArray[np.bool_]
Mask2D = Annotated[Mask, 2]
Number = TypeVar("Number", bound=np.generic)
EMPTY = -1  # a slot without an entry

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def empty_slots(entries: int) -> Ints:
    """Return an empty table for so many entries, at most half full; its size is a power of 2."""
    return np.full(1 << max(4, (2 * entries - 1).bit_length()), EMPTY, np.int32)


@compiled
def grow(values: NDArray[Number]) -> NDArray[Number]:
    """Return a copy with capacity for twice as many values or rows."""
    grown = np.empty((2 * len(values),) + values.shape[1:], values.dtype)  # noqa: RUF005  numba unpacks no tuples here
    grown[: len(values)] = values
    return grown


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Return the finaliser of splitmix64, a bijective hash of 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def hash_step(value: np.uint64, number: int) -> np.uint64:
    """Extend the hash of a sequence by one number, which is at least -1."""
    return mix(value + np.uint64(number + 2) * _GOLDEN)


@inlined
def find_key(slots: Ints, keys: Words, key: np.uint64) -> np.int64:
    """Return the slot of a well-mixed key, or the free slot where it belongs."""
    slot = np.int64(key & np.uint64(len(slots) - 1))
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & np.int64(len(slots) - 1)
    return slot


@inlined
def find_row(slots: Ints, rows: Words, row: Words, key: np.uint64) -> np.int64:
    """Return the slot of `row` [w] with hash `key` in `rows` [n, w], or the free slot where it belongs."""
    slot = np.int64(key & np.uint64(len(slots) - 1))
    searching = slots[slot] >= 0
    while searching:
        same = True
        for place in range(len(row)):
            same = same and rows[slots[slot], place] == row[place]
        if same:
            searching = False
        else:
            slot = (slot + 1) & np.int64(len(slots) - 1)
            searching = slots[slot] >= 0
    return slot


@kernel
def insert_keys(slots: Ints, keys: Words, begin: int, end: int) -> None:
    """Insert the keys from `begin` to `end` into an empty table."""
    for entry in range(begin, end):
        slots[find_key(slots, keys, keys[entry])] = entry


@compiled
def hash_row(row: Words) -> np.uint64:
    """Hash a row of words."""
    value = np.uint64(0)
    for word in row:
        value = mix(value ^ word)
    return value
