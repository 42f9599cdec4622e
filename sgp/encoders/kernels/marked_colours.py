"""Colours of marked transition graphs, refined once per state and updated where a candidate's change reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.encoders.kernels.hashing import Hashes, number, pair, sort_values, total_of_set
from sgp.planning.hash_table import Ints, grow, mix

Flags = NDArray[np.bool_]

# Salts separate the kinds of features and hashes.
COLOUR, TOKEN, OPEN, CLOSED, ATOM, OBJECT, EDGE, LEVEL, STEP = range(1, 10)


class MarkedLayout(NamedTuple):
    """The transition-independent atoms and objects of a task.

    The arguments of atom a are `arguments[first_argument[a] : first_argument[a + 1]]`. `kind` is the hash of an atom's
    predicate and its sign in the goal. Static atoms with one argument are part of the object's colour and are not
    nodes.
    """

    object_colour: Hashes  # [n]
    static_atoms: Ints  # [s]
    goal_atoms: Ints  # [g], positive and negative
    first_argument: Ints  # [a + 1]
    arguments: Ints  # [sum of arities]
    kind: Hashes  # [a]
    walkable: NDArray[np.bool_]  # for each argument, whether walks may enter the atom at it


class Unchanged(NamedTuple):
    """The graph of a state and the goal, and its nodes' colours without a change at l levels.

    Object o has the edges `edges[o]` to `edges[o + 1] - 1`. Only nodes that a change can reach, or whose colours enter
    those of these nodes, have colours above level 0.
    """

    holds: Flags  # [a], whether the atom is true
    in_graph: Flags  # [a]: true atoms and goals
    edges: Ints  # [n + 1]
    edge_atom: Ints  # [e]
    edge_position: Ints  # [e]
    atom_colour: Hashes  # [l, a]
    object_colour: Hashes  # [l, n]
    around: Hashes  # [l - 1, e], hashes of each object's edges, sorted
    total_around: Hashes  # [l - 1, n]


class Surroundings(NamedTuple):
    """The nodes near the touched objects, nearest first, and how many are within each distance in edges.

    Touched objects have distance 0, their atoms 1, the other arguments of these 2.
    """

    atoms: Ints
    objects: Ints
    atoms_within: Ints  # [d + 1]
    objects_within: Ints  # [d + 1]


class Recolouring(NamedTuple):
    """The colours with a change at l levels, and the nodes that it reaches; other nodes have unchanged colours."""

    atom_colour: Hashes  # [l, a]
    object_colour: Hashes  # [l, n]
    atom_differs: Flags  # [l, a], whether the colour differs from the atom's unchanged colour
    object_differs: Flags  # [l, n]
    atom_reached: Flags  # [a]
    object_reached: Flags  # [n]
    atoms: Ints  # [a], the reached atoms, in the order of reaching
    objects: Ints  # [n], the reached objects, likewise


class Exchange(NamedTuple):
    """For each object, its edges to recoloured atoms before and after the change, as linked lists."""

    last: Ints  # [n], the last entry of each object, or -1
    before: Ints  # the previous entry of each entry, or -1
    was: Hashes
    has: NDArray[np.bool_]  # whether the edge existed before
    now: Hashes
    old_values: Hashes  # buffers of one object's values
    new_values: Hashes


class LastRound(NamedTuple):
    """For the edges of some objects, what the last colour of the atom depends on besides the object's colour."""

    is_known: Flags  # [n], whether the object's edges have values
    rests: Hashes  # [e], equal for equal atom colours and colours of the other arguments, by place
    others: Ints  # [e], the other argument, -1 for none, -2 for several
    recent: Hashes  # [64], a rest of the present object for each beginning of six bits; 0 for none


@kernel
def marked(kind: np.uint64, before: bool, after: bool) -> np.uint64:
    """Return an atom's colour by its truth before and after the transition."""
    return pair(ATOM, kind, np.uint64(2 * before + after))


@compiled
def incidence(layout: MarkedLayout, nodes: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Return the start of each object's edges [n + 1], and each edge's atom and argument position."""
    first = np.zeros(len(layout.object_colour) + 1, np.int32)
    for node in range(count):
        for place in range(layout.first_argument[nodes[node]], layout.first_argument[nodes[node] + 1]):
            first[layout.arguments[place] + 1] += 1
    for obj in range(len(layout.object_colour)):
        first[obj + 1] += first[obj]
    atoms, positions = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    filled = first[:-1].copy()
    for node in range(count):
        begin = layout.first_argument[nodes[node]]
        for place in range(begin, layout.first_argument[nodes[node] + 1]):
            obj = layout.arguments[place]
            atoms[filled[obj]] = nodes[node]
            positions[filled[obj]] = place - begin
            filled[obj] += 1
    return first, atoms, positions


@compiled
def unchanged(
    layout: MarkedLayout, iterations: int, state: Ints, changed: Ints, distance: int
) -> tuple[Unchanged, Surroundings]:
    """Return the graph of the state with these true fluent atoms, its colours, and the nodes within a distance.

    `changed` has the atoms of all changes, whose arguments are the touched objects.
    """
    objects, known = len(layout.object_colour), len(layout.kind)
    holds, in_graph, nodes = np.zeros(known, np.bool_), np.zeros(known, np.bool_), np.empty(known, np.int32)
    count = _true_nodes(layout.static_atoms, holds, in_graph, nodes, 0)
    count = _true_nodes(state, holds, in_graph, nodes, count)
    for atom in layout.goal_atoms:
        if not in_graph[atom]:
            in_graph[atom] = True
            nodes[count] = atom
            count += 1
    edges, edge_atom, edge_position = incidence(layout, nodes, count)
    graph = Unchanged(
        holds,
        in_graph,
        edges,
        edge_atom,
        edge_position,
        np.zeros((iterations + 1, known), np.uint64),
        np.zeros((iterations + 1, objects), np.uint64),
        np.empty((iterations, len(edge_atom)), np.uint64),
        np.zeros((iterations, objects), np.uint64),
    )
    graph.object_colour[0] = layout.object_colour
    for node in range(count):
        atom = nodes[node]
        graph.atom_colour[0, atom] = marked(layout.kind[atom], holds[atom], holds[atom])
    # A change reaches nodes up to distance `iterations` - 1. The next colour of a node needs the colours around it.
    near = _surroundings(layout, graph, changed, max(distance, 2 * iterations - 1, 0))
    for level in range(iterations):
        reach = 2 * iterations - 2 - level
        ends = level + 1 == iterations  # a change gives the atoms that only the last round reaches new colours
        for atom in near.atoms[: near.atoms_within[max(reach - 1, 0) if ends else reach]]:
            graph.atom_colour[level + 1, atom] = _refined_atom(
                layout, atom, graph.atom_colour[level], graph.object_colour[level]
            )
        for atom in changed[: len(changed) if ends else 0]:
            graph.atom_colour[level + 1, atom] = _refined_atom(
                layout, atom, graph.atom_colour[level], graph.object_colour[level]
            )
        _refine_objects(graph, near.objects[: near.objects_within[reach]], level)
    return graph, near


@compiled
def _surroundings(layout: MarkedLayout, graph: Unchanged, changed: Ints, distance: int) -> Surroundings:
    """Return the nodes within a distance of the arguments of changed atoms."""
    near_atom, near_object = np.zeros(len(layout.kind), np.bool_), np.zeros(len(layout.object_colour), np.bool_)
    atoms, objects = np.empty(len(near_atom), np.int32), np.empty(len(near_object), np.int32)
    atoms_within, objects_within = np.zeros(distance + 1, np.int32), np.zeros(distance + 1, np.int32)
    atom_count, atoms_done, objects_done = 0, 0, 0
    object_count = _take_arguments(layout, changed, near_object, objects, 0)
    objects_within[0] = object_count
    for away in range(1, distance + 1):
        if away % 2:
            for obj in objects[objects_done:object_count]:
                for edge in range(graph.edges[obj], graph.edges[obj + 1]):
                    atom = graph.edge_atom[edge]
                    if not near_atom[atom]:
                        near_atom[atom] = True
                        atoms[atom_count] = atom
                        atom_count += 1
            objects_done = object_count
        else:
            object_count = _take_arguments(layout, atoms[atoms_done:atom_count], near_object, objects, object_count)
            atoms_done = atom_count
        atoms_within[away], objects_within[away] = atom_count, object_count
    return Surroundings(atoms, objects, atoms_within, objects_within)


@compiled
def _take_arguments(layout: MarkedLayout, atoms: Ints, taken: Flags, objects: Ints, count: int) -> int:
    """Append the arguments of atoms that are not taken yet to the objects; return their number."""
    for atom in atoms:
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            obj = layout.arguments[place]
            if not taken[obj]:
                taken[obj] = True
                objects[count] = obj
                count += 1
    return count


@compiled
def _true_nodes(atoms: Ints, holds: Flags, in_graph: Flags, nodes: Ints, count: int) -> int:
    """Make atoms true and nodes of the graph; return its number of nodes."""
    for atom in atoms:
        holds[atom] = True
        if not in_graph[atom]:
            in_graph[atom] = True
            nodes[count] = atom
            count += 1
    return count


@compiled
def _refine_objects(graph: Unchanged, objects: Ints, level: int) -> None:
    """Compute the colours of some objects at the next level from the sets of their edges."""
    colour, around = graph.atom_colour[level], graph.around[level]
    for obj in objects:
        start, end = graph.edges[obj], graph.edges[obj + 1]
        for edge in range(start, end):
            around[edge] = pair(EDGE, colour[graph.edge_atom[edge]], np.uint64(graph.edge_position[edge]))
        total = total_of_set(around[start:end])
        graph.total_around[level, obj] = total
        graph.object_colour[level + 1, obj] = pair(OBJECT, graph.object_colour[level, obj], total)


@compiled
def no_recolouring(graph: Unchanged) -> Recolouring:
    """Return a recolouring without a change."""
    known, objects = graph.atom_colour.shape[1], graph.object_colour.shape[1]
    return Recolouring(
        graph.atom_colour.copy(),
        graph.object_colour.copy(),
        np.zeros(graph.atom_colour.shape, np.bool_),
        np.zeros(graph.object_colour.shape, np.bool_),
        np.zeros(known, np.bool_),
        np.zeros(objects, np.bool_),
        np.empty(known, np.int32),
        np.empty(objects, np.int32),
    )


@inlined
def recolour(
    layout: MarkedLayout,
    graph: Unchanged,
    new: Recolouring,
    exchange: Exchange,
    change: Ints,
    last_round: LastRound,
    counted: bool,
    buffer: Hashes,
) -> tuple[Hashes, int, int, int]:
    """Refine the colours that a change reaches, and write those that are new at their node into the buffer.

    The change names each atom once, so an exchange with space for all edges suffices for one level. Unless `counted`,
    a colour may be left out where it is already in the buffer. Returns the buffer (grown if necessary), its number of
    colours, and the numbers of reached atoms and objects whose colours changed in `new`.
    """
    while len(change) > len(buffer):
        buffer = grow(buffer)
    _mark(layout, graph, new, change, buffer)
    filled = atoms = len(change)
    objects = 0
    for level in range(len(graph.around)):
        atoms_before, objects_before = atoms, objects
        objects = _reach_objects(layout, new, level, atoms_before, objects_before)
        ends = level + 1 == len(graph.around)
        if not ends:
            atoms = _reach_atoms(graph, new, level, atoms_before, objects_before)
        around = _edges_around(graph, new, level, objects_before) if ends else 0
        while filled + atoms + objects + around > len(buffer):
            buffer = grow(buffer)
        filled = _recolour_atoms(layout, graph, new, level, atoms, buffer, filled)
        if ends:
            filled = _recolour_around(layout, graph, new, level, objects_before, last_round, counted, buffer, filled)
        _exchange_edges(layout, graph, new, level, atoms_before, exchange)
        filled = _recolour_objects(graph, new, level, objects, exchange, buffer, filled)
    return buffer, filled, atoms, objects


@inlined
def _mark(layout: MarkedLayout, graph: Unchanged, new: Recolouring, change: Ints, buffer: Hashes) -> None:
    """Set the initial colours of the changed atoms; all of these atoms are reached and recoloured."""
    salt = number(LEVEL, 0)
    for which in range(len(change)):
        atom = change[which]
        colour = marked(layout.kind[atom], graph.holds[atom], not graph.holds[atom])
        new.atom_colour[0, atom] = colour
        new.atom_differs[0, atom] = True
        new.atom_reached[atom] = True
        new.atoms[which] = atom
        buffer[which] = pair(COLOUR, salt, colour)


@inlined
def _reach_objects(layout: MarkedLayout, new: Recolouring, level: int, atoms: int, count: int) -> int:
    """Mark the arguments of recoloured atoms among the first `atoms` as reached; return the number of objects."""
    for which in range(atoms):
        atom = new.atoms[which]
        if new.atom_differs[level, atom]:
            for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
                obj = layout.arguments[place]
                if not new.object_reached[obj]:
                    new.object_reached[obj] = True
                    new.objects[count] = obj
                    count += 1
    return count


@inlined
def _reach_atoms(graph: Unchanged, new: Recolouring, level: int, count: int, objects: int) -> int:
    """Mark the atoms of recoloured objects among the first `objects` as reached; return the number of atoms."""
    for which in range(objects):
        obj = new.objects[which]
        if new.object_differs[level, obj]:
            for edge in range(graph.edges[obj], graph.edges[obj + 1]):
                atom = graph.edge_atom[edge]
                if not new.atom_reached[atom]:
                    new.atom_reached[atom] = True
                    new.atoms[count] = atom
                    count += 1
    return count


@inlined
def _recolour_atoms(
    layout: MarkedLayout, graph: Unchanged, new: Recolouring, level: int, atoms: int, buffer: Hashes, filled: int
) -> int:
    """Compute the reached atoms' colours at the next level; return the number of colours in the buffer."""
    salt = number(LEVEL, level + 1)
    atom_colour, object_colour = new.atom_colour[level], new.object_colour[level]
    for which in range(atoms):
        atom = new.atoms[which]
        colour = _refined_atom(layout, atom, atom_colour, object_colour)
        new.atom_colour[level + 1, atom] = colour
        if not graph.in_graph[atom] or colour != graph.atom_colour[level + 1, atom]:
            new.atom_differs[level + 1, atom] = True
            buffer[filled] = pair(COLOUR, salt, colour)
            filled += 1
    return filled


@inlined
def _edges_around(graph: Unchanged, new: Recolouring, level: int, objects: int) -> int:
    """Count the edges of recoloured objects among the first `objects`."""
    count = 0
    for which in range(objects):
        obj = new.objects[which]
        if new.object_differs[level, obj]:
            count += graph.edges[obj + 1] - graph.edges[obj]
    return count


@inlined
def _recolour_around(
    layout: MarkedLayout,
    graph: Unchanged,
    new: Recolouring,
    level: int,
    objects: int,
    last_round: LastRound,
    counted: bool,
    buffer: Hashes,
    filled: int,
) -> int:
    """Compute the last colours of the other atoms of recoloured objects; return the number of colours in the buffer.

    No later colour depends on them, so they are not stored. They differ from the unchanged ones, because an argument's
    colour does. Of the edges of an object that have equal rests, one is enough, unless colours are counted.
    """
    salt = number(LEVEL, level + 1)
    atom_colour, object_colour, differs = new.atom_colour[level], new.object_colour[level], new.object_differs[level]
    first_argument, arguments, reached = layout.first_argument, layout.arguments, new.atom_reached
    edges, edge_atom, edge_position = graph.edges, graph.edge_atom, graph.edge_position
    is_known, rests, others, recent = last_round
    for which in range(objects):
        obj = new.objects[which]
        if not differs[obj]:
            continue
        if not is_known[obj]:
            _learn_rests(layout, graph, level, obj, last_round)
        recent[:] = 0
        for edge in range(edges[obj], edges[obj + 1]):
            other, rest = others[edge], rests[edge]
            if recent[rest >> np.uint64(58)] == rest and other != -2 and (other < 0 or not differs[other]):
                continue
            atom = edge_atom[edge]
            begin, end, place = first_argument[atom], first_argument[atom + 1], edge_position[edge]
            found, alone = reached[atom], True  # written already; without another recoloured argument
            for argument in range(begin, end):
                if argument != begin + place and differs[arguments[argument]]:
                    alone = False
                    found = found or argument < begin + place
            if found:
                continue
            value = np.uint64(0)
            for argument in range(begin, end):
                value += pair(EDGE, object_colour[arguments[argument]], np.uint64(argument - begin))
            buffer[filled] = pair(COLOUR, salt, pair(ATOM, atom_colour[atom], value))
            filled += 1
            if alone and not counted:
                recent[rest >> np.uint64(58)] = rest
    return filled


@compiled
def _learn_rests(layout: MarkedLayout, graph: Unchanged, level: int, obj: int, last_round: LastRound) -> None:
    """Compute the rests of an object's edges at the last level but one."""
    atom_colour, object_colour = graph.atom_colour[level], graph.object_colour[level]
    first_argument, arguments = layout.first_argument, layout.arguments
    edge_atom, edge_position = graph.edge_atom, graph.edge_position
    last_round.is_known[obj] = True
    for edge in range(graph.edges[obj], graph.edges[obj + 1]):
        atom, other, value = edge_atom[edge], -1, np.uint64(0)
        begin = first_argument[atom]
        for argument in range(begin, first_argument[atom + 1]):
            if argument != begin + edge_position[edge]:
                other = arguments[argument] if other == -1 else -2
                value += pair(EDGE, object_colour[arguments[argument]], np.uint64(argument - begin))
        last_round.rests[edge], last_round.others[edge] = pair(ATOM, atom_colour[atom], value), other


@compiled
def no_last_round(graph: Unchanged) -> LastRound:
    """Return the buffers of the last round, without values."""
    objects, edges = graph.object_colour.shape[1], len(graph.edge_atom)
    return LastRound(
        np.zeros(objects, np.bool_), np.empty(edges, np.uint64), np.empty(edges, np.int32), np.zeros(64, np.uint64)
    )


@inlined
def _exchange_edges(
    layout: MarkedLayout, graph: Unchanged, new: Recolouring, level: int, atoms: int, exchange: Exchange
) -> None:
    """List by object the earlier and new edges to recoloured atoms among the first `atoms`."""
    entry = 0
    for which in range(atoms):
        atom = new.atoms[which]
        if new.atom_differs[level, atom]:
            begin = layout.first_argument[atom]
            for place in range(begin, layout.first_argument[atom + 1]):
                obj = layout.arguments[place]
                exchange.before[entry] = exchange.last[obj]
                exchange.was[entry] = pair(EDGE, graph.atom_colour[level, atom], np.uint64(place - begin))
                exchange.has[entry] = graph.in_graph[atom]
                exchange.now[entry] = pair(EDGE, new.atom_colour[level, atom], np.uint64(place - begin))
                exchange.last[obj] = entry
                entry += 1


@inlined
def _recolour_objects(
    graph: Unchanged, new: Recolouring, level: int, objects: int, exchange: Exchange, buffer: Hashes, filled: int
) -> int:
    """Compute the reached objects' next colours and empty the exchange; return the number of colours in the buffer."""
    salt = number(LEVEL, level + 1)
    around = graph.around[level]
    for which in range(objects):
        obj = new.objects[which]
        edges = around[graph.edges[obj] : graph.edges[obj + 1]]
        total = total_after(exchange, obj, graph.total_around[level, obj], edges)
        exchange.last[obj] = -1
        colour = pair(OBJECT, new.object_colour[level, obj], total)
        new.object_colour[level + 1, obj] = colour
        if colour != graph.object_colour[level + 1, obj]:
            new.object_differs[level + 1, obj] = True
            buffer[filled] = pair(COLOUR, salt, colour)
            filled += 1
    return filled


@inlined
def forget_recolouring(graph: Unchanged, new: Recolouring, atoms: int, objects: int) -> None:
    """Restore the unchanged colours after a change that reached this many atoms and objects."""
    levels = len(graph.atom_colour)
    for which in range(atoms):
        atom = new.atoms[which]
        new.atom_reached[atom] = False
        for level in range(levels):
            new.atom_colour[level, atom] = graph.atom_colour[level, atom]
            new.atom_differs[level, atom] = False
    for which in range(objects):
        obj = new.objects[which]
        new.object_reached[obj] = False
        for level in range(levels):
            new.object_colour[level, obj] = graph.object_colour[level, obj]
            new.object_differs[level, obj] = False


@inlined
def _refined_atom(layout: MarkedLayout, atom: int, atom_colour: Hashes, object_colour: Hashes) -> np.uint64:
    """Return the refined colour of an atom from its arguments' colours by position."""
    value = np.uint64(0)
    begin = layout.first_argument[atom]
    for place in range(begin, layout.first_argument[atom + 1]):
        value += pair(EDGE, object_colour[layout.arguments[place]], np.uint64(place - begin))
    return pair(ATOM, atom_colour[atom], value)


@compiled
def no_exchange(objects: int, edges: int) -> Exchange:
    """Return an empty exchange with space for this many edges."""
    return Exchange(
        np.full(objects, -1, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.uint64),
        np.empty(edges, np.bool_),
        np.empty(edges, np.uint64),
        np.empty(edges, np.uint64),
        np.empty(edges, np.uint64),
    )


@inlined
def total_after(exchange: Exchange, obj: int, total: np.uint64, values: Hashes) -> np.uint64:
    """Return the hash of an object's edge set after the exchange.

    `total` is the hash before it, of the sorted `values` with repetition. A value leaves the set with its last
    occurrence, unless it is also new, and enters the set with its first occurrence.
    """
    new = old = 0
    entry = exchange.last[obj]
    while entry >= 0:
        exchange.new_values[new] = exchange.now[entry]
        new += 1
        if exchange.has[entry]:
            exchange.old_values[old] = exchange.was[entry]
            old += 1
        entry = exchange.before[entry]
    entering, leaving = exchange.new_values[:new], exchange.old_values[:old]
    sort_values(entering)
    sort_values(leaving)
    for place in range(new):
        value = entering[place]
        if (place == 0 or value != entering[place - 1]) and _occurrences(values, value) == 0:
            total += mix(value)
    begin = 0
    for place in range(old):
        value = leaving[place]
        if place + 1 == old or leaving[place + 1] != value:
            if place + 1 - begin == _occurrences(values, value) and _occurrences(entering, value) == 0:
                total -= mix(value)
            begin = place + 1
    return total


@inlined
def _occurrences(values: Hashes, value: np.uint64) -> int:
    """Count a value in a sorted array."""
    return int(np.searchsorted(values, value, side="right") - np.searchsorted(values, value, side="left"))
