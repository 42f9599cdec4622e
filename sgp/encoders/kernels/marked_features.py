"""Features of transitions near the change: marked colours, tokens and walks, for all candidates of a state.

A transition (s, s') is a graph of objects and atoms. An atom's colour encodes its predicate, its truth in s and s', and
its sign in the goal. Edges are labelled by the argument's position. Every feature is a 64-bit hash that is present or
absent. Two different features share a hash with a probability of about 10^-19.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.encoders.kernels.hashing import Hashes, HashTable, find, number, pair, total_of_set
from sgp.encoders.kernels.marked_colours import forget_recolouring, no_exchange, recolour
from sgp.encoders.kernels.marked_graph import (
    ATOM,
    EDGE,
    OBJECT,
    TOKEN,
    EdgeGroups,
    MarkedLayout,
    Recolouring,
    StateGraph,
    left_objects,
)
from sgp.encoders.kernels.marked_moves import move
from sgp.encoders.kernels.marked_walks import (
    linked,
    new_search,
    no_links,
    passed_colours,
    unlink,
    walkable_steps,
    walks_from,
)
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, grow, mix

# The upper six bits of 2^i times a de Bruijn sequence differ for all i, so one look-up finds the index of a set bit.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE_OF_BIT = np.empty(64, np.int64)
for _bit in range(64):
    _PLACE_OF_BIT[((1 << _bit) * int(_DE_BRUIJN) % 2**64) >> 58] = _bit


class Touched(NamedTuple):
    """The atoms that a candidate changes, and the touched objects: the arguments of these atoms."""

    is_changed: NDArray[np.bool_]  # [a]
    is_touched: NDArray[np.bool_]  # [n]
    objects: Ints  # [n], the touched objects first


class Tokens(NamedTuple):
    """Colours of objects and changed atoms in the graph of only these, with buffers to refine them.

    The graph's edges are linked lists, one for each object.
    """

    of_object: Hashes  # [n]
    next: Hashes  # [n]
    of_change: Hashes  # at least as long as the number of changed atoms
    last: Ints  # [n], the last edge of each object, or -1
    before: Ints  # at least as long as the number of edges: the previous edge of each edge, or -1
    change: Ints  # the index of each edge's atom among the changed ones
    place: Ints  # its argument position
    around: Hashes


@kernel
def transition_features(
    layout: MarkedLayout,
    graph: StateGraph,
    colours: Recolouring,
    groups: EdgeGroups,
    open_atoms: int,
    closed_atoms: int,
    passed_atoms: bool,
    counted: bool,
    state: Ints,
    first: NDArray[np.int64],
    changed: Ints,
    vocabulary: HashTable,
    stop: StopFlag,
) -> tuple[NDArray[np.int64], Hashes]:
    """Return the features of the transitions from a state to each of b candidates.

    `state` lists the state's true fluent atoms; candidate i differs from it in `changed[first[i] : first[i + 1]]`. The
    graph, which may be another state's, becomes that of this state; if it has no space for this, nothing is returned.
    Returns the start of each candidate's features [b + 1], and the sorted features, once each or, if `counted`, once
    per occurrence. Features are columns of the vocabulary, unknown features dropped, or hashes if the vocabulary is
    empty. The loop ends early once `stop` [1] is true.
    """
    objects, known = len(layout.object_colour), len(layout.kind)
    if not move(layout, graph, colours, groups, state):
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    plain, marked = graph.atom_colour[0], colours.atom_colour[0]
    left = left_objects(layout, graph, changed, max(closed_atoms - 2, open_atoms - 1, 0))
    steps = walkable_steps(layout, graph, left)
    passed = passed_colours(layout, graph) if passed_atoms else layout.object_colour
    exchange = no_exchange(objects, len(layout.arguments))
    touched, tokens = _nothing_touched(known, objects), _no_tokens(layout, first, changed)
    links, search = no_links(objects), new_search(known, max(open_atoms, closed_atoms))
    by_column = len(vocabulary.keys) > 0 and not counted
    present = np.zeros((len(vocabulary.keys) + 63) // 64, np.uint64)  # a bit for each column
    starts, total = np.zeros(len(first), np.int64), 0
    buffer, out = np.empty(256, np.uint64), np.empty(1024, np.uint64)
    for candidate in range(len(first) - 1):
        if stop[0]:
            break
        change = changed[first[candidate] : first[candidate + 1]]
        touches = _touch(layout, change, touched)
        buffer, filled, atoms_reached, objects_reached = recolour(
            layout, graph, colours, groups, exchange, change, counted, buffer
        )
        _refine_tokens(layout, change, marked, touched.objects, touches, tokens)
        while filled + len(change) + touches > len(buffer):
            buffer = grow(buffer)
        filled = _take_tokens(tokens, len(change), touched.objects, touches, buffer, filled)
        if closed_atoms > 1:
            links = linked(steps, links, touched.objects, touches, touched.is_touched, touched.is_changed)
        if open_atoms > 0 or closed_atoms > 0:
            others = filled
            while True:
                filled = walks_from(
                    steps, open_atoms, closed_atoms, touched.objects[:touches], tokens.of_object, touched.is_touched,
                    touched.is_changed, links, search, plain, passed, buffer, others,
                )  # fmt: skip
                if filled <= len(buffer):
                    break
                buffer = grow(buffer)
        if closed_atoms > 1:
            unlink(steps, links, touched.objects, touches)
        while total + filled > len(out):
            out = grow(out)
        if by_column:
            total = _take_known(vocabulary, buffer, filled, present, out, total)
        else:
            if len(vocabulary.keys) > 0:
                filled = _columns(vocabulary, buffer[:filled])
            total = _take_sorted(buffer[:filled], counted, out, total)
        starts[candidate + 1] = total
        forget_recolouring(graph, colours, atoms_reached, objects_reached)
        _forget_touch(change, touched, touches)
    return starts, out[:total].copy()


@compiled
def _nothing_touched(atoms: int, objects: int) -> Touched:
    """Return buffers without a changed atom or touched object."""
    return Touched(np.zeros(atoms, np.bool_), np.zeros(objects, np.bool_), np.empty(objects, np.int32))


@inlined
def _touch(layout: MarkedLayout, change: Ints, touched: Touched) -> int:
    """Record the changed atoms and the objects that they touch; return the number of touched objects."""
    touches = 0
    for atom in change:
        touched.is_changed[atom] = True
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            obj = layout.arguments[place]
            if not touched.is_touched[obj]:
                touched.is_touched[obj] = True
                touched.objects[touches] = obj
                touches += 1
    return touches


@inlined
def _forget_touch(change: Ints, touched: Touched, touches: int) -> None:
    """Clear the records of a change."""
    for atom in change:
        touched.is_changed[atom] = False
    for which in range(touches):
        touched.is_touched[touched.objects[which]] = False


@compiled
def _no_tokens(layout: MarkedLayout, first: NDArray[np.int64], changed: Ints) -> Tokens:
    """Return buffers that are large enough for each candidate's tokens."""
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
        np.full(objects, -1, np.int32),
        np.empty(most_arguments, np.int32),
        np.empty(most_arguments, np.int32),
        np.empty(most_arguments, np.int32),
        np.empty(most_arguments, np.uint64),
    )


@inlined
def _refine_tokens(
    layout: MarkedLayout, change: Ints, colour: Hashes, touched: Ints, touches: int, tokens: Tokens
) -> None:
    """Refine for two rounds the colours in the graph of only the changed atoms and their arguments."""
    for which in range(touches):
        obj = touched[which]
        tokens.of_object[obj] = layout.object_colour[obj]
    edge = 0
    for which in range(len(change)):
        tokens.of_change[which] = colour[change[which]]
        begin = layout.first_argument[change[which]]
        for place in range(begin, layout.first_argument[change[which] + 1]):
            obj = layout.arguments[place]
            tokens.before[edge], tokens.change[edge], tokens.place[edge] = tokens.last[obj], which, place - begin
            tokens.last[obj] = edge
            edge += 1
    for _ in range(2):
        for which in range(touches):
            obj = touched[which]
            tokens.next[obj] = _refined_object(obj, tokens)
        for which in range(len(change)):
            value = np.uint64(0)
            begin = layout.first_argument[change[which]]
            for place in range(begin, layout.first_argument[change[which] + 1]):
                value += pair(EDGE, tokens.of_object[layout.arguments[place]], np.uint64(place - begin))
            tokens.of_change[which] = pair(ATOM, tokens.of_change[which], value)
        for which in range(touches):
            obj = touched[which]
            tokens.of_object[obj] = tokens.next[obj]
    for which in range(touches):
        tokens.last[touched[which]] = -1


@inlined
def _refined_object(obj: int, tokens: Tokens) -> np.uint64:
    """Return an object's token, refined by the set of its edges to changed atoms."""
    size, edge = 0, tokens.last[obj]
    while edge >= 0:
        tokens.around[size] = pair(EDGE, tokens.of_change[tokens.change[edge]], np.uint64(tokens.place[edge]))
        size += 1
        edge = tokens.before[edge]
    return pair(OBJECT, tokens.of_object[obj], total_of_set(tokens.around[:size]))


@inlined
def _take_tokens(tokens: Tokens, changes: int, touched: Ints, touches: int, buffer: Hashes, filled: int) -> int:
    """Append the tokens of changed atoms and touched objects to the features; return the number of features."""
    atom, object_salt = number(ATOM, 0), number(OBJECT, 0)
    for change in range(changes):
        buffer[filled] = pair(TOKEN, atom, tokens.of_change[change])
        filled += 1
    for which in range(touches):
        buffer[filled] = pair(TOKEN, object_salt, tokens.of_object[touched[which]])
        filled += 1
    return filled


@inlined
def _take_known(vocabulary: HashTable, features: Hashes, count: int, present: Hashes, out: Hashes, total: int) -> int:
    """Append the sorted distinct columns of known features to `out`; return the length of `out`."""
    for place in range(count):
        column = find(vocabulary.slots, vocabulary.keys, vocabulary.values, features[place])
        if column >= 0:
            present[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
    return _take_columns(present, out, total)


@inlined
def _take_columns(present: Hashes, out: Hashes, total: int) -> int:
    """Append the indices of set bits to `out` in ascending order and clear the bits; return the length of `out`."""
    for word in range(len(present)):
        bits = present[word]
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            out[total] = 64 * word + _PLACE_OF_BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            total += 1
            bits ^= lowest
        present[word] = 0
    return total


@inlined
def _columns(vocabulary: HashTable, features: Hashes) -> int:
    """Replace known features by their columns and drop the others; return the number that remain."""
    kept = 0
    for feature in features:
        column = find(vocabulary.slots, vocabulary.keys, vocabulary.values, feature)
        if column >= 0:
            features[kept] = np.uint64(column)
            kept += 1
    return kept


@inlined
def _take_sorted(features: Hashes, counted: bool, out: Hashes, total: int) -> int:
    """Append the sorted features to `out`, once each or once per occurrence; return the length of `out`."""
    features.sort()
    for place in range(len(features)):
        if counted or place == 0 or features[place] != features[place - 1]:
            out[total] = features[place]
            total += 1
    return total


@kernel
def measured_rows(
    first: NDArray[np.int64],
    columns: NDArray[np.int64],
    numbers: Annotated[NDArray[np.float64], 2],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], Hashes]:
    """Return each row's product with the weights [b], its squared norm [b], and its 128-bit hash [b, 2].

    Row i has the sorted columns `columns[first[i] : first[i + 1]]`; a column that occurs n times has the value n. The
    last columns of the row are `numbers[i]`.
    """
    rows, last = len(first) - 1, len(weights) - numbers.shape[1]
    products, squares, names = np.zeros(rows), np.zeros(rows), np.empty((rows, 2), np.uint64)
    bits = numbers.view(np.uint64)
    for row in range(rows):
        one, two = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
        times = 0
        for place in range(first[row], first[row + 1]):
            column = columns[place]
            products[row] += weights[column]
            times = times + 1 if place > first[row] and columns[place - 1] == column else 1
            squares[row] += 2 * times - 1  # n^2 is the sum of the first n odd numbers
            one = mix(one + np.uint64(column))
            two = mix(two ^ np.uint64(column))
        for which in range(numbers.shape[1]):
            products[row] += weights[last + which] * numbers[row, which]
            squares[row] += numbers[row, which] ** 2
            one = mix(one + bits[row, which])
            two = mix(two ^ bits[row, which])
        names[row, 0], names[row, 1] = one, two
    return products, squares, names
