"""Hashes of pairs and sets, and a hash table from hashes to numbers, shared by the kernels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import inlined, kernel
from sgp.planning.hash_table import EMPTY, Ints, empty_slots, find_key, insert_keys, mix

Hashes = NDArray[np.uint64]
Hashes2D = Annotated[Hashes, 2]
Hashes3D = Annotated[Hashes, 3]

_FEW = 16


class HashTable(NamedTuple):
    """Map from distinct hashes to numbers."""

    slots: Ints  # index of an entry, or EMPTY
    keys: Hashes  # [n]
    values: Ints  # [n]


def make_table(keys: Hashes, values: Ints) -> HashTable:
    """Return the hash table of distinct keys and their values, at most a quarter full."""
    slots = empty_slots(2 * len(keys))
    insert_keys(slots, keys, 0, len(keys))
    return HashTable(slots, keys, values)


@inlined
def find(slots: Ints, keys: Hashes, values: Ints, key: np.uint64) -> int:
    """Return the value of a key, or EMPTY."""
    entry = slots[find_key(slots, keys, key)]
    return int(values[entry]) if entry >= 0 else EMPTY


@kernel
def pair(salt: int, first: np.uint64, second: np.uint64) -> np.uint64:
    """Return the hash of an ordered pair; different salts separate kinds of hashes."""
    return mix(mix(first + np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15)) ^ (second * np.uint64(0xD6E8FEB86659FD93)))


@kernel
def number(salt: int, value: int) -> np.uint64:
    """Return the hash of a small number."""
    return mix(np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value + 1))


@inlined
def sort_values(values: Hashes) -> None:
    """Sort values in place; a few of them by insertion, which needs no memory."""
    if len(values) > _FEW:
        values.sort()
    else:
        for place in range(1, len(values)):
            value, before = values[place], place
            while before > 0 and values[before - 1] > value:
                values[before] = values[before - 1]
                before -= 1
            values[before] = value


@kernel
def total_of_set(values: Hashes) -> np.uint64:
    """Return the hash of a set: the sum of the hashes of the distinct values, which are sorted in place."""
    sort_values(values)
    total = np.uint64(0)
    for place in range(len(values)):
        if place == 0 or values[place] != values[place - 1]:
            total += mix(values[place])
    return total
