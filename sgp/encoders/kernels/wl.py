"""Histograms of Weisfeiler-Leman colours of states and candidates, updated incrementally where atoms change.

Refinement hashes a node's colour with the colours and edge labels of its neighbours. The 64-bit hash of a neighbourhood
is a sum over its members, so it does not depend on their order. The vocabulary maps hashes to colours. As in wlplan, a
node whose hash is not in the vocabulary is unseen from that level on. Two different neighbourhoods share a hash with a
probability of about 10^-19.

A `Colouring` stores the colours of one state's graph at every level of refinement, and the sum of the neighbours'
hashes of each object. A changed atom alters its own colour; at each further level, nodes whose colour changed alter
their neighbours. An object's hash is updated by the changed neighbours only, whatever its degree.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, kernel
from sgp.encoders.kernels.hashing import Hashes2D, Hashes3D, HashTable, find
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Ints2D, mix

UNSEEN = -1  # a colour outside the vocabulary; equals the EMPTY value of its table
ABSENT = -2  # colour of an atom that is not a node
NONE = -1  # the end of a list of edges
ATOM, AFTER, BEFORE = range(3)  # columns of `Colouring.edges`


class GraphLayout(NamedTuple):
    """The state-independent part of a task's instance learning graph.

    Objects are nodes 0 to n-1. Every known atom has an index. The arguments of atom a are
    `arguments[first_argument[a] : first_argument[a + 1]]`; an edge's label is the argument's position. `true_colour`
    and `false_colour` are the atom's initial colours when it is true and false. Only goal atoms are nodes when false;
    other atoms have ABSENT. Colours are columns of the histogram or UNSEEN.
    """

    object_colour: Ints  # [n]
    static_atoms: Ints  # [s], indices of the atoms that are true in every state
    goal_atoms: Ints  # [g]
    first_argument: Ints  # [a + 1]
    arguments: Ints  # [sum of arities]
    true_colour: Ints  # [a]
    false_colour: Ints  # [a]


class Colouring(NamedTuple):
    """The colours of one state's graph, with buffers that record a change so that it can be undone.

    Nodes are the n objects, then the a atoms. Colours are columns, UNSEEN, or ABSENT for an atom that is not a node.
    Edges are indices of `GraphLayout.arguments`; each object has a linked list of its edges to atoms that are nodes.
    """

    colour: Ints2D  # [k + 1, n + a]
    sums: Hashes3D  # [k + 1, n, 2], sum of the neighbours' hashes, number of unseen neighbours; only for multisets
    histogram: NDArray[np.float32]  # [D]
    holds: NDArray[np.bool_]  # [a]
    true: Ints  # [a], the true fluent atoms are the first `counts[0]` entries
    counts: NDArray[np.int64]  # [3]: number of true fluent atoms, last stamp of nodes, last stamp of pairs
    edges: Ints2D  # [e, 3], an edge's atom, and the next and previous edge in its object's list
    head: Ints  # [n], the first edge of an object
    stamps: NDArray[np.int64]  # [n + a], stamp of a node's last visit
    pair_stamps: NDArray[np.int64]  # [arity x D], stamp of a (label, colour) pair's last visit; only for set hashes
    altered: Ints2D  # [(k + 1)(n + a), 2], nodes whose colour changed and their old colours, level by level
    reached: Ints  # [k(n + a)], nodes that were refined again, level by level
    old_sums: Hashes2D  # [k(n + a), 2], earlier `sums` of the reached nodes
    ends: Annotated[NDArray[np.int64], 2]  # [k + 2, 2], start of each level's nodes in `altered` and `reached`


@kernel
def start_hash(level: int, colour: int) -> np.uint64:
    """Return the hash of a node of this colour without neighbours, at a refinement level (from 1)."""
    return mix(np.uint64(0x9E3779B97F4A7C15) * np.uint64(level) + np.uint64(colour) + np.uint64(1))


@kernel
def neighbour_hash(label: int, colour: int) -> np.uint64:
    """Return a neighbour's summand of a neighbourhood's hash."""
    pair = (np.uint64(label + 1) << np.uint64(40)) + np.uint64(colour) + np.uint64(1)
    return mix(pair + np.uint64(0x9E3779B97F4A7C15))  # without a constant, mix(2x) may be 2 mix(x), so sums collide


@kernel
def start_colouring(
    layout: GraphLayout,
    table: HashTable,
    iterations: int,
    multiset: bool,
    max_arity: int,
    with_static: bool,
    dimension: int,
) -> Colouring:
    """Return the colouring of the graph in which no fluent atom is true."""
    objects, known = len(layout.object_colour), len(layout.true_colour)
    nodes = objects + known
    colouring = Colouring(
        np.full((iterations + 1, nodes), ABSENT, np.int32),
        np.zeros((iterations + 1, objects, 2), np.uint64),
        np.zeros(dimension, np.float32),
        np.zeros(known, np.bool_),
        np.empty(known, np.int32),
        np.zeros(3, np.int64),
        np.full((len(layout.arguments), 3), NONE, np.int32),
        np.full(objects, NONE, np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(1 if multiset else max_arity * dimension, np.int64),
        np.empty(((iterations + 1) * nodes, 2), np.int32),
        np.empty(iterations * nodes, np.int32),
        np.empty((iterations * nodes, 2), np.uint64),
        np.zeros((iterations + 2, 2), np.int64),
    )
    for atom in range(known):
        for edge in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            colouring.edges[edge, ATOM] = atom
    for obj in range(objects):
        colour = layout.object_colour[obj]
        for level in range(iterations + 1):
            if level > 0 and colour != UNSEEN:
                colour = find(table.slots, table.keys, table.values, start_hash(level, colour))
            colouring.colour[level, obj] = colour
            if colour != UNSEEN:
                colouring.histogram[colour] += 1
    # Toggling goal atoms marked as true makes them nodes with their false colour.
    for atom in layout.goal_atoms:
        colouring.holds[atom] = True
    _change(layout, table, multiset, colouring, layout.goal_atoms, colouring.histogram)
    if with_static:
        _change(layout, table, multiset, colouring, layout.static_atoms, colouring.histogram)
    return colouring


@kernel
def candidate_histograms(
    layout: GraphLayout,
    table: HashTable,
    multiset: bool,
    colouring: Colouring,
    first_atom: NDArray[np.int64],
    atoms: Ints,
    first_candidate: NDArray[np.int64],
    first_change: NDArray[np.int64],
    changed: Ints,
    out: Annotated[NDArray[np.float32], 2],
    stop: StopFlag,
) -> None:
    """Write the histogram of each of b candidates of s states into its row of `out` [b, D].

    State i has the true fluent atoms `atoms[first_atom[i] : first_atom[i + 1]]` and the candidates `first_candidate[i]`
    to `first_candidate[i + 1] - 1`. Candidate j differs from its state in
    `changed[first_change[j] : first_change[j + 1]]`, each atom once. The colouring may be of any state and becomes that
    of the last state. The loop ends early once `stop` [1] is true; the colouring is consistent then, too.
    """
    for state in range(len(first_atom) - 1):
        _move(layout, table, multiset, colouring, atoms[first_atom[state] : first_atom[state + 1]])
        for candidate in range(first_candidate[state], first_candidate[state + 1]):
            if stop[0]:
                return
            row = out[candidate]
            row[:] = colouring.histogram
            change = changed[first_change[candidate] : first_change[candidate + 1]]
            _change(layout, table, multiset, colouring, change, row)
            _take_back(layout, colouring, change)


@compiled
def _move(layout: GraphLayout, table: HashTable, multiset: bool, colouring: Colouring, state: Ints) -> None:
    """Change the colouring to that of another state; successive states differ little."""
    objects = len(layout.object_colour)
    holds, true, counts, stamps = colouring.holds, colouring.true, colouring.counts, colouring.stamps
    counts[1] += 1
    change = np.empty(len(state) + counts[0], np.int32)
    changes = 0
    for atom in state:
        stamps[objects + atom] = counts[1]
        if not holds[atom]:
            change[changes] = atom
            changes += 1
    for place in range(counts[0]):
        if stamps[objects + true[place]] != counts[1]:
            change[changes] = true[place]
            changes += 1
    _change(layout, table, multiset, colouring, change[:changes], colouring.histogram)
    true[: len(state)] = state
    counts[0] = len(state)


@compiled
def _change(
    layout: GraphLayout,
    table: HashTable,
    multiset: bool,
    colouring: Colouring,
    change: Ints,
    histogram: NDArray[np.float32],
) -> None:
    """Flip the truth of each atom in `change` (each once) and recolour the nodes that the change reaches."""
    # Separate arrays, because passing a tuple of arrays to a function is slow.
    first_argument, arguments = layout.first_argument, layout.arguments
    colour, sums, holds, counts = colouring.colour, colouring.sums, colouring.holds, colouring.counts
    edges, head, stamps, ends = colouring.edges, colouring.head, colouring.stamps, colouring.ends
    altered, reached, old_sums = colouring.altered, colouring.reached, colouring.old_sums
    objects = len(head)
    alterations = reaches = 0
    for atom in change:
        new = layout.false_colour[atom] if holds[atom] else layout.true_colour[atom]
        holds[atom] = not holds[atom]
        old = colour[0, objects + atom]
        if new != old:
            if old == ABSENT:
                _link(first_argument, arguments, edges, head, atom)
            elif new == ABSENT:
                _unlink(first_argument, arguments, edges, head, atom)
            alterations = _alter(colour[0], objects + atom, new, altered, alterations, histogram)
    ends[1, 0] = alterations
    for level in range(1, len(colour)):
        last, here, sums_here = colour[level - 1], colour[level], sums[level]
        counts[1] += 1
        now = counts[1]
        for entry in range(ends[level - 1, 0], ends[level, 0]):
            node = altered[entry, 0]
            if stamps[node] != now:
                stamps[node] = now
                if node < objects:
                    old_sums[reaches, 0], old_sums[reaches, 1] = sums_here[node, 0], sums_here[node, 1]
                reached[reaches] = node
                reaches += 1
            if node < objects:
                edge = head[node]
                while edge != NONE:
                    neighbour = objects + edges[edge, ATOM]
                    if stamps[neighbour] != now:
                        stamps[neighbour] = now
                        reached[reaches] = neighbour
                        reaches += 1
                    edge = edges[edge, AFTER]
                continue
            old, new = altered[entry, 1], last[node]
            begin = first_argument[node - objects]
            for edge in range(begin, first_argument[node - objects + 1]):
                obj = arguments[edge]
                if stamps[obj] != now:
                    stamps[obj] = now
                    old_sums[reaches, 0], old_sums[reaches, 1] = sums_here[obj, 0], sums_here[obj, 1]
                    reached[reaches] = obj
                    reaches += 1
                if multiset:
                    if old >= 0:
                        sums_here[obj, 0] -= neighbour_hash(edge - begin, old)
                    elif old == UNSEEN:
                        sums_here[obj, 1] -= np.uint64(1)
                    if new >= 0:
                        sums_here[obj, 0] += neighbour_hash(edge - begin, new)
                    elif new == UNSEEN:
                        sums_here[obj, 1] += np.uint64(1)
        for entry in range(ends[level, 1], reaches):
            node = reached[entry]
            new = last[node]
            if new >= 0:
                value = start_hash(level, new)
                if node >= objects:
                    begin = first_argument[node - objects]
                    for edge in range(begin, first_argument[node - objects + 1]):
                        seen = last[arguments[edge]]
                        if seen == UNSEEN:
                            new = UNSEEN
                        value += neighbour_hash(edge - begin, seen)
                elif multiset:
                    if sums_here[node, 1] > 0:
                        new = UNSEEN
                    value += sums_here[node, 0]
                else:
                    counts[2] += 1
                    edge = head[node]
                    while edge != NONE:
                        atom = edges[edge, ATOM]
                        label, seen = edge - first_argument[atom], last[objects + atom]
                        if seen == UNSEEN:
                            new = UNSEEN
                            break
                        if colouring.pair_stamps[label * len(histogram) + seen] != counts[2]:
                            colouring.pair_stamps[label * len(histogram) + seen] = counts[2]
                            value += neighbour_hash(label, seen)
                        edge = edges[edge, AFTER]
                if new != UNSEEN:
                    new = find(table.slots, table.keys, table.values, value)
            if new != here[node]:
                alterations = _alter(here, node, new, altered, alterations, histogram)
        ends[level + 1, 0], ends[level + 1, 1] = alterations, reaches


@compiled
def _take_back(layout: GraphLayout, colouring: Colouring, change: Ints) -> None:
    """Undo the last change of the colouring, except for the histogram."""
    colour, sums, ends, altered = colouring.colour, colouring.sums, colouring.ends, colouring.altered
    edges, head, reached, old_sums = colouring.edges, colouring.head, colouring.reached, colouring.old_sums
    objects = len(head)
    for atom in change:
        colouring.holds[atom] = not colouring.holds[atom]
    for entry in range(ends[1, 0]):
        node, old = altered[entry, 0], altered[entry, 1]
        if old == ABSENT:
            _unlink(layout.first_argument, layout.arguments, edges, head, node - objects)
        elif colour[0, node] == ABSENT:
            _link(layout.first_argument, layout.arguments, edges, head, node - objects)
    for level in range(len(colour)):
        for entry in range(ends[level, 0], ends[level + 1, 0]):
            colour[level, altered[entry, 0]] = altered[entry, 1]
        for entry in range(ends[level, 1], ends[level + 1, 1]):
            node = reached[entry]
            if node < objects:
                sums[level, node, 0], sums[level, node, 1] = old_sums[entry, 0], old_sums[entry, 1]


@compiled
def _alter(colour: Ints, node: int, new: int, altered: Ints, alterations: int, histogram: NDArray[np.float32]) -> int:
    """Record a node's new colour at a level; return the number of alterations."""
    old = colour[node]
    altered[alterations, 0], altered[alterations, 1] = node, old
    colour[node] = new
    if old >= 0:
        histogram[old] -= 1
    if new >= 0:
        histogram[new] += 1
    return alterations + 1


@compiled
def _link(first_argument: Ints, arguments: Ints, edges: Ints, head: Ints, atom: int) -> None:
    """Insert an atom's edges into the lists of its objects."""
    for edge in range(first_argument[atom], first_argument[atom + 1]):
        after = head[arguments[edge]]
        edges[edge, BEFORE], edges[edge, AFTER] = NONE, after
        if after != NONE:
            edges[after, BEFORE] = edge
        head[arguments[edge]] = edge


@compiled
def _unlink(first_argument: Ints, arguments: Ints, edges: Ints, head: Ints, atom: int) -> None:
    """Remove an atom's edges from the lists of its objects."""
    for edge in range(first_argument[atom], first_argument[atom + 1]):
        before, after = edges[edge, BEFORE], edges[edge, AFTER]
        if before == NONE:
            head[arguments[edge]] = after
        else:
            edges[before, AFTER] = after
        if after != NONE:
            edges[after, BEFORE] = before
