"""The graph of a transition as arrays, and the hashes that its colours are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix

Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]

# Salts keep the kinds of features and of hashes apart.
COLOUR, TOKEN, OPEN, CLOSED, ATOM, OBJECT, EDGE, LEVEL, STEP = range(1, 10)


class MarkedLayout(NamedTuple):
    """The atoms and objects of a task, as far as they are the same in all transitions.

    The arguments of atom a are `arguments[first_argument[a] : first_argument[a + 1]]`. `kind` is the hash of an atom's
    predicate and its place in the goal. Static atoms of one argument are part of the object's colour and no nodes.
    """

    object_colour: Hashes  # [n]
    static_atoms: Ints  # [s]
    goal_atoms: Ints  # [g], positive and negative
    first_argument: Ints  # [a + 1]
    arguments: Ints  # [sum of arities]
    kind: Hashes  # [a]
    walkable: NDArray[np.bool_]  # of each argument, whether walks may enter the atom there


@compiled
def pair(salt: int, first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash of an ordered pair."""
    return mix(mix(first + np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15)) ^ (second * np.uint64(0xD6E8FEB86659FD93)))


@compiled
def number(salt: int, value: int) -> np.uint64:
    """Hash of a small number."""
    return mix(np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value + 1))


@compiled
def marked(kind: np.uint64, before: bool, after: bool) -> np.uint64:
    """Colour of an atom by whether it is true before and after."""
    return pair(ATOM, kind, np.uint64(2 * before + after))


@compiled
def incidence(layout: MarkedLayout, nodes: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """For each object where its edges begin [n + 1], and of each edge the atom and the argument's position."""
    first = np.zeros(len(layout.object_colour) + 1, np.int32)
    for node in range(count):
        for place in range(layout.first_argument[nodes[node]], layout.first_argument[nodes[node] + 1]):
            first[layout.arguments[place] + 1] += 1
    for thing in range(len(layout.object_colour)):
        first[thing + 1] += first[thing]
    atoms, positions = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    filled = first[:-1].copy()
    for node in range(count):
        begin = layout.first_argument[nodes[node]]
        for place in range(begin, layout.first_argument[nodes[node] + 1]):
            thing = layout.arguments[place]
            atoms[filled[thing]] = nodes[node]
            positions[filled[thing]] = place - begin
            filled[thing] += 1
    return first, atoms, positions
