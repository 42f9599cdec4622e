"""Histograms of Weisfeiler-Leman colours for batches of states, equal to wlplan's.

A colour is refined by hashing a node's colour and those of its neighbours with their edge labels. The 64-bit hash of a
neighbourhood is a sum over its members, so that their order does not matter; the vocabulary maps hashes to colours,
and a hash that it lacks makes the node's colour unseen from there on, as in wlplan. Two different neighbourhoods share
a hash with a probability of about 10^-19 each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix

UNSEEN = -1
ABSENT = -2  # of an atom that is no node
Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]


class GraphLayout(NamedTuple):
    """The instance learning graph of one task, as far as it is the same in all states.

    Objects are nodes 0 to n-1. Every atom that was met has an index; the arguments of atom a are
    `arguments[first_argument[a] : first_argument[a + 1]]`, and an edge's label is the argument's position.
    `true_colour` and `false_colour` are the atom's initial colours where it holds and where it does not (only goal
    atoms are nodes then; others have ABSENT). Colours are columns of the histogram or UNSEEN.
    """

    object_colour: Ints  # [n]
    static_atoms: Ints  # [s], indices of the atoms that hold in every state
    goal_atoms: Ints  # [g]
    first_argument: Ints  # [a + 1]
    arguments: Ints  # [sum of arities]
    true_colour: Ints  # [a]
    false_colour: Ints  # [a]


class ColourTable(NamedTuple):
    """Hashes of neighbourhoods and their colours, open addressing; an empty slot has colour UNSEEN."""

    hashes: Hashes  # [2^m]
    colours: Ints  # [2^m]


@compiled
def start_hash(level: int, colour: int) -> np.uint64:
    """Hash of a node of this colour without neighbours, at a level of refinement (from 1)."""
    return mix(np.uint64(0x9E3779B97F4A7C15) * np.uint64(level) + np.uint64(colour) + np.uint64(1))


@compiled
def neighbour_hash(label: int, colour: int) -> np.uint64:
    """What a neighbour adds to the hash."""
    return mix((np.uint64(label + 1) << np.uint64(40)) + np.uint64(colour) + np.uint64(1))


@compiled
def insert(hashes: Hashes, colours: Ints, key: np.uint64, colour: int) -> bool:
    """Puts a hash into the table; False where it is there already."""
    mask = np.uint64(len(hashes) - 1)
    slot = key & mask
    while colours[slot] != UNSEEN:
        if hashes[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & mask
    hashes[slot] = key
    colours[slot] = colour
    return True


@compiled
def find(hashes: Hashes, colours: Ints, key: np.uint64) -> int:
    """The colour of a hash, UNSEEN where the table lacks it."""
    mask = np.uint64(len(hashes) - 1)
    slot = key & mask
    while colours[slot] != UNSEEN:
        if hashes[slot] == key:
            return int(colours[slot])
        slot = (slot + np.uint64(1)) & mask
    return UNSEEN


@compiled
def histograms(
    layout: GraphLayout,
    table: ColourTable,
    iterations: int,
    multiset: bool,
    max_arity: int,
    with_static: bool,
    first: NDArray[np.int64],
    atoms: Ints,
    out: NDArray[np.float32],
) -> None:
    """Adds the histogram of each state to its row of `out` [b, D].

    The true fluent atoms of state i are `atoms[first[i] : first[i + 1]]`. `with_static` False leaves the static atoms
    out. A set hash (`multiset` False) counts each pair of label and colour once.
    """
    objects = len(layout.object_colour)
    known = len(layout.true_colour)
    colours_count = out.shape[1]
    holds = np.zeros(known, np.bool_)
    nodes = np.empty(known, np.int32)  # atoms that are nodes of this state's graph
    colour = np.empty(objects + known, np.int32)
    refined = np.empty(objects + known, np.int32)
    sums = np.empty(objects, np.uint64)
    unseen = np.empty(objects, np.bool_)
    # For set hashes: which object last met a pair of label and colour, so that it is added once.
    met = np.full((1 if multiset else objects, 1 if multiset else max_arity * colours_count), -1, np.int64)
    stamp = 0
    for state in range(len(first) - 1):
        count = 0
        if with_static:
            for atom in layout.static_atoms:
                holds[atom] = True
                nodes[count] = atom
                count += 1
        for place in range(first[state], first[state + 1]):
            holds[atoms[place]] = True
            nodes[count] = atoms[place]
            count += 1
        for atom in layout.goal_atoms:
            if not holds[atom]:
                nodes[count] = atom
                count += 1
        for thing in range(objects):
            colour[thing] = layout.object_colour[thing]
        for node in range(count):
            atom = nodes[node]
            colour[objects + node] = layout.true_colour[atom] if holds[atom] else layout.false_colour[atom]
        total = objects + count
        for node in range(total):
            if colour[node] != UNSEEN:
                out[state, colour[node]] += 1
        for level in range(1, iterations + 1):
            stamp += 1
            for thing in range(objects):
                sums[thing] = start_hash(level, colour[thing])
                unseen[thing] = colour[thing] == UNSEEN
            for node in range(count):
                atom = nodes[node]
                own = colour[objects + node]
                value = start_hash(level, own)
                lost = own == UNSEEN
                begin = layout.first_argument[atom]
                for place in range(begin, layout.first_argument[atom + 1]):
                    thing = layout.arguments[place]
                    label = place - begin
                    if colour[thing] == UNSEEN:
                        lost = True
                    else:
                        value += neighbour_hash(label, colour[thing])
                    if own == UNSEEN:
                        unseen[thing] = True
                    elif multiset:
                        sums[thing] += neighbour_hash(label, own)
                    elif met[thing, label * colours_count + own] != stamp:
                        met[thing, label * colours_count + own] = stamp
                        sums[thing] += neighbour_hash(label, own)
                refined[objects + node] = UNSEEN if lost else find(table.hashes, table.colours, value)
            for thing in range(objects):
                refined[thing] = UNSEEN if unseen[thing] else find(table.hashes, table.colours, sums[thing])
            for node in range(total):
                colour[node] = refined[node]
                if refined[node] != UNSEEN:
                    out[state, refined[node]] += 1
        for node in range(count):
            holds[nodes[node]] = False
