"""Features of transitions, local to the change: marked colours, tokens and walks, for all candidates of a state.

A transition (s, s') is a graph of objects and atoms. An atom's colour tells its predicate, whether it is true in s and
in s', and its place in the goal; edges carry the argument's position. Every feature is a 64-bit hash that is present
or not. Two different features share a hash with a probability of about 10^-19.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, longer
from sgp.encoders.kernels.marked_colours import forget_recolouring, no_recolouring, recolour, unchanged
from sgp.encoders.kernels.marked_graph import ATOM, EDGE, OBJECT, TOKEN, Hashes, Ints, MarkedLayout, number, pair
from sgp.encoders.kernels.marked_sets import Vocabulary, find, no_exchange, take_columns, total_of_set
from sgp.encoders.kernels.marked_walks import (
    linked,
    new_search,
    no_links,
    passed_colours,
    unlink,
    walkable_steps,
    walks_from,
)
from sgp.planning.clock import Flag


class Touched(NamedTuple):
    """The atoms that a candidate changes, and the objects that they touch."""

    is_changed: NDArray[np.bool_]  # [a]
    is_touched: NDArray[np.bool_]  # [n]
    objects: Ints  # [n], the touched ones first


class Tokens(NamedTuple):
    """The colours of objects and changed atoms on the graph of these alone, and room to refine them."""

    of_object: Hashes  # [n]
    next: Hashes  # [n]
    of_change: Hashes  # at least as many as atoms change
    around: Hashes  # at least as many as these have arguments


@compiled
def transition_features(
    layout: MarkedLayout,
    iterations: int,
    open_atoms: int,
    closed_atoms: int,
    passed_atoms: bool,
    counted: bool,
    state: Ints,
    first: NDArray[np.int64],
    changed: Ints,
    vocabulary: Vocabulary,
    stop: Flag,
) -> tuple[NDArray[np.int64], Hashes]:
    """The features of the transitions from a state to each of b candidates.

    The fluent atoms true in the state are `state`; candidate i differs from it in `changed[first[i] : first[i + 1]]`.
    Gives where each candidate's features begin [b + 1], and the features, ascending and each once, or as often as it
    occurs if `counted`: as their places in the vocabulary, others dropped, or as hashes where the vocabulary is empty.
    Leaves the rest as it comes once `stop` [1] is true.
    """
    objects, known = len(layout.object_colour), len(layout.kind)
    graph = unchanged(layout, iterations, state)
    colours = no_recolouring(graph)
    plain, marked = graph.atom_colour[0], colours.atom_colour[0]
    steps = walkable_steps(layout, graph.edges, graph.edge_atom, graph.edge_position, plain)
    passed = layout.object_colour
    if passed_atoms:
        passed = passed_colours(layout, graph.edges, graph.edge_atom, plain)
    exchange = no_exchange(objects, len(layout.arguments))
    touched, tokens = _nothing_touched(known, objects), _no_tokens(layout, first, changed)
    links, search = no_links(objects), new_search(known, max(open_atoms, closed_atoms))
    by_column = len(vocabulary.hashes) > 0 and not counted
    present = np.zeros((len(vocabulary.hashes) + 63) // 64, np.uint64)  # a bit for each column
    starts, total = np.zeros(len(first), np.int64), 0
    buffer, out = np.empty(256, np.uint64), np.empty(1024, np.uint64)
    for candidate in range(len(first) - 1):
        if stop[0]:
            break
        change = changed[first[candidate] : first[candidate + 1]]
        touches = _touch(layout, change, touched)
        buffer, found, atoms_reached, objects_reached = recolour(layout, graph, colours, exchange, change, buffer)
        _refine_tokens(layout, change, marked, touched.objects, touches, tokens)
        while found + len(change) + touches > len(buffer):
            buffer = longer(buffer)
        found = _take_tokens(tokens, len(change), touched.objects, touches, buffer, found)
        if closed_atoms > 1:
            links = linked(steps, links, touched.objects, touches, touched.is_touched, touched.is_changed)
        if open_atoms > 0 or closed_atoms > 0:
            for which in range(touches):
                buffer, found = walks_from(
                    steps, open_atoms, closed_atoms, touched.objects[which], tokens.of_object, touched.is_touched,
                    touched.is_changed, links, search, plain, passed, buffer, found,
                )  # fmt: skip
        if closed_atoms > 1:
            unlink(steps, links, touched.objects, touches)
        while total + found > len(out):
            out = longer(out)
        if by_column:
            total = _take_known(vocabulary, buffer, found, present, out, total)
        else:
            if len(vocabulary.hashes) > 0:
                found = _columns(vocabulary, buffer[:found])
            total = _take_sorted(buffer[:found], counted, out, total)
        starts[candidate + 1] = total
        forget_recolouring(graph, colours, atoms_reached, objects_reached)
        _forget_touch(change, touched, touches)
    return starts, out[:total].copy()


@compiled
def _nothing_touched(atoms: int, objects: int) -> Touched:
    """No atom changed and no object touched."""
    return Touched(np.zeros(atoms, np.bool_), np.zeros(objects, np.bool_), np.empty(objects, np.int32))


@inlined
def _touch(layout: MarkedLayout, change: Ints, touched: Touched) -> int:
    """Notes what changed and which objects it touches; how many."""
    touches = 0
    for atom in change:
        touched.is_changed[atom] = True
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            thing = layout.arguments[place]
            if not touched.is_touched[thing]:
                touched.is_touched[thing] = True
                touched.objects[touches] = thing
                touches += 1
    return touches


@inlined
def _forget_touch(change: Ints, touched: Touched, touches: int) -> None:
    """Makes all as it was before a change."""
    for atom in change:
        touched.is_changed[atom] = False
    for which in range(touches):
        touched.is_touched[touched.objects[which]] = False


@compiled
def _no_tokens(layout: MarkedLayout, first: NDArray[np.int64], changed: Ints) -> Tokens:
    """Room for the tokens of each candidate."""
    objects, most_atoms, most_arguments = len(layout.object_colour), 0, 0
    for candidate in range(len(first) - 1):
        arguments = 0
        for change in range(first[candidate], first[candidate + 1]):
            arguments += layout.first_argument[changed[change] + 1] - layout.first_argument[changed[change]]
        most_atoms = max(most_atoms, first[candidate + 1] - first[candidate])
        most_arguments = max(most_arguments, arguments)
    return Tokens(
        np.zeros(objects, np.uint64),
        np.zeros(objects, np.uint64),
        np.empty(most_atoms, np.uint64),
        np.empty(most_arguments, np.uint64),
    )


@inlined
def _refine_tokens(
    layout: MarkedLayout, change: Ints, colour: Hashes, touched: Ints, touches: int, tokens: Tokens
) -> None:
    """Two rounds on the graph of the changed atoms, of these colours, and their arguments alone."""
    for which in range(touches):
        thing = touched[which]
        tokens.of_object[thing] = layout.object_colour[thing]
    for which in range(len(change)):
        tokens.of_change[which] = colour[change[which]]
    for _ in range(2):
        for which in range(touches):
            thing = touched[which]
            tokens.next[thing] = _refined_object(layout, change, thing, tokens)
        for which in range(len(change)):
            value = np.uint64(0)
            begin = layout.first_argument[change[which]]
            for place in range(begin, layout.first_argument[change[which] + 1]):
                value += pair(EDGE, tokens.of_object[layout.arguments[place]], np.uint64(place - begin))
            tokens.of_change[which] = pair(ATOM, tokens.of_change[which], value)
        for which in range(touches):
            thing = touched[which]
            tokens.of_object[thing] = tokens.next[thing]


@inlined
def _refined_object(layout: MarkedLayout, change: Ints, thing: int, tokens: Tokens) -> np.uint64:
    """Token of an object and the set of its edges to changed atoms."""
    size = 0
    for which in range(len(change)):
        begin = layout.first_argument[change[which]]
        for place in range(begin, layout.first_argument[change[which] + 1]):
            if layout.arguments[place] == thing:
                tokens.around[size] = pair(EDGE, tokens.of_change[which], np.uint64(place - begin))
                size += 1
    return pair(OBJECT, tokens.of_object[thing], total_of_set(tokens.around[:size]))


@inlined
def _take_tokens(tokens: Tokens, changes: int, touched: Ints, touches: int, buffer: Hashes, found: int) -> int:
    """Adds the tokens of the changed atoms and touched objects to the features; how many there are then."""
    atom, thing_salt = number(ATOM, 0), number(OBJECT, 0)
    for change in range(changes):
        buffer[found] = pair(TOKEN, atom, tokens.of_change[change])
        found += 1
    for which in range(touches):
        buffer[found] = pair(TOKEN, thing_salt, tokens.of_object[touched[which]])
        found += 1
    return found


@inlined
def _take_known(vocabulary: Vocabulary, features: Hashes, count: int, present: Hashes, out: Hashes, total: int) -> int:
    """Adds the places of known features to `out`, ascending and each once; how many stand there then."""
    for place in range(count):
        column = find(vocabulary, features[place])
        if column >= 0:
            present[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
    return take_columns(present, out, total)


@inlined
def _columns(vocabulary: Vocabulary, features: Hashes) -> int:
    """Replaces known features by their places, and drops others; how many are left."""
    kept = 0
    for feature in features:
        column = find(vocabulary, feature)
        if column >= 0:
            features[kept] = np.uint64(column)
            kept += 1
    return kept


@inlined
def _take_sorted(features: Hashes, counted: bool, out: Hashes, total: int) -> int:
    """Adds features to `out`, ascending, each once or as often as it occurs; how many stand there then."""
    features.sort()
    for place in range(len(features)):
        if counted or place == 0 or features[place] != features[place - 1]:
            out[total] = features[place]
            total += 1
    return total
