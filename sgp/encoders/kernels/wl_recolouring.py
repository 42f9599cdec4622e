"""Histograms of Weisfeiler-Leman colours for all candidates of a state, recolouring only what their changes reach.

A colouring holds the colours of one state's graph at every level of refinement, and for each object the sum of its
neighbours' hashes. An atom that changes alters its own colour; at each further level the nodes whose colour changed
alter their neighbours. As sums do not depend on order, an object's hash is kept up by what leaves and what joins,
however many neighbours it has. The result is that of `wl_histogram.histograms`, bit by bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled
from sgp.encoders.kernels.wl_histogram import (
    ABSENT,
    UNSEEN,
    ColourTable,
    GraphLayout,
    Hashes,
    Ints,
    find,
    neighbour_hash,
    start_hash,
)
from sgp.planning.clock import Flag

NONE = -1  # the end of a list of edges
ATOM, AFTER, BEFORE = range(3)  # columns of `Colouring.edges`


class Colouring(NamedTuple):
    """The colours of one state's graph, and room to note what a change alters, so that it can be taken back.

    Nodes are the n objects, then the a atoms; colours are columns, UNSEEN, or ABSENT where an atom is no node. Edges
    are the places of `GraphLayout.arguments`; those of the atoms that are nodes stand in one list per object.
    """

    colour: Ints  # [k + 1, n + a]
    sums: Hashes  # [k + 1, n, 2], of the neighbours' hashes, and how many are unseen; only of multiset hashes
    histogram: NDArray[np.float32]  # [D]
    holds: NDArray[np.bool_]  # [a]
    true: Ints  # [a], the fluent atoms that hold; the first `counts[0]`
    counts: NDArray[np.int64]  # [3]: fluent atoms that hold, last stamp of nodes, last stamp of pairs
    edges: Ints  # [e, 3], an edge's atom, and the next and last edge in the list of its object
    head: Ints  # [n], the first edge of an object
    stamps: NDArray[np.int64]  # [n + a], when a node was reached
    pair_stamps: NDArray[np.int64]  # [arity x D], when a pair of label and colour was met; only of set hashes
    altered: Ints  # [(k + 1)(n + a), 2], nodes whose colour changed and their old colours, level by level
    reached: Ints  # [k(n + a)], nodes that were refined anew, level by level
    old_sums: Hashes  # [k(n + a), 2], of the nodes reached
    ends: NDArray[np.int64]  # [k + 2, 2], where a level's nodes begin in `altered` and `reached`


@compiled
def start_colouring(
    layout: GraphLayout,
    table: ColourTable,
    iterations: int,
    multiset: bool,
    max_arity: int,
    with_static: bool,
    dimension: int,
) -> Colouring:
    """The colouring of the graph in which no fluent atom holds."""
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
    for thing in range(objects):
        colour = layout.object_colour[thing]
        for level in range(iterations + 1):
            if level > 0 and colour != UNSEEN:
                colour = find(table.hashes, table.colours, start_hash(level, colour))
            colouring.colour[level, thing] = colour
            if colour != UNSEEN:
                colouring.histogram[colour] += 1
    # A goal atom that held and was no node becomes a node that does not hold.
    for atom in layout.goal_atoms:
        colouring.holds[atom] = True
    _change(layout, table, multiset, colouring, layout.goal_atoms, colouring.histogram)
    if with_static:
        _change(layout, table, multiset, colouring, layout.static_atoms, colouring.histogram)
    return colouring


@compiled
def candidate_histograms(
    layout: GraphLayout,
    table: ColourTable,
    multiset: bool,
    colouring: Colouring,
    first_atom: NDArray[np.int64],
    atoms: Ints,
    first_candidate: NDArray[np.int64],
    first_change: NDArray[np.int64],
    changed: Ints,
    out: NDArray[np.float32],
    stop: Flag,
) -> None:
    """Writes the histogram of each of b candidates of s states into its row of `out` [b, D].

    The true fluent atoms of state i are `atoms[first_atom[i] : first_atom[i + 1]]`; its candidates are those from
    `first_candidate[i]` up to `first_candidate[i + 1]`, of which j differs from it in
    `changed[first_change[j] : first_change[j + 1]]`, each once. The colouring, of whatever state it was, becomes
    that of the last state. Ends early once `stop` [1] is true; the colouring is whole then, too.
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
def _move(layout: GraphLayout, table: ColourTable, multiset: bool, colouring: Colouring, state: Ints) -> None:
    """Makes the colouring that of another state: between a state and its successor little changes."""
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
    table: ColourTable,
    multiset: bool,
    colouring: Colouring,
    change: Ints,
    histogram: NDArray[np.float32],
) -> None:
    """Makes what holds not hold and the other way round, each atom once, and recolours what that reaches."""
    # Arrays of their own: a tuple of arrays is slow to hand to a function.
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
                thing = arguments[edge]
                if stamps[thing] != now:
                    stamps[thing] = now
                    old_sums[reaches, 0], old_sums[reaches, 1] = sums_here[thing, 0], sums_here[thing, 1]
                    reached[reaches] = thing
                    reaches += 1
                if multiset:
                    if old >= 0:
                        sums_here[thing, 0] -= neighbour_hash(edge - begin, old)
                    elif old == UNSEEN:
                        sums_here[thing, 1] -= np.uint64(1)
                    if new >= 0:
                        sums_here[thing, 0] += neighbour_hash(edge - begin, new)
                    elif new == UNSEEN:
                        sums_here[thing, 1] += np.uint64(1)
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
                    new = find(table.hashes, table.colours, value)
            if new != here[node]:
                alterations = _alter(here, node, new, altered, alterations, histogram)
        ends[level + 1, 0], ends[level + 1, 1] = alterations, reaches


@compiled
def _take_back(layout: GraphLayout, colouring: Colouring, change: Ints) -> None:
    """Makes the colouring, but for the histogram, what it was before the last change."""
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
    """Notes a node's new colour at a level; gives the number of alterations."""
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
    """Puts an atom's edges into the lists of its objects."""
    for edge in range(first_argument[atom], first_argument[atom + 1]):
        after = head[arguments[edge]]
        edges[edge, BEFORE], edges[edge, AFTER] = NONE, after
        if after != NONE:
            edges[after, BEFORE] = edge
        head[arguments[edge]] = edge


@compiled
def _unlink(first_argument: Ints, arguments: Ints, edges: Ints, head: Ints, atom: int) -> None:
    """Takes an atom's edges out of the lists of its objects."""
    for edge in range(first_argument[atom], first_argument[atom + 1]):
        before, after = edges[edge, BEFORE], edges[edge, AFTER]
        if before == NONE:
            head[arguments[edge]] = after
        else:
            edges[before, AFTER] = after
        if after != NONE:
            edges[after, BEFORE] = before
