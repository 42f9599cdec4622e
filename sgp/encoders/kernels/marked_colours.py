"""Colours of marked transition graphs, updated where a candidate's change reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined
from sgp.encoders.kernels.hashing import Hashes, number, pair, sort_values
from sgp.encoders.kernels.marked_graph import (
    ATOM,
    COLOUR,
    EDGE,
    LEVEL,
    OBJECT,
    EdgeGroups,
    MarkedLayout,
    Recolouring,
    StateGraph,
    beside,
    find_group,
    group_key,
    is_first,
    learn_groups,
    marked,
    refined_atom,
)
from sgp.planning.hash_table import Ints, grow, mix


class Exchange(NamedTuple):
    """For each object, its edges to recoloured atoms before and after the change, as linked lists."""

    last: Ints  # [n], the last entry of each object, or -1
    before: Ints  # the previous entry of each entry, or -1
    was: Hashes
    has: NDArray[np.bool_]  # whether the edge existed before
    now: Hashes
    old_values: Hashes  # buffers of one object's values
    new_values: Hashes


@inlined
def recolour(
    layout: MarkedLayout,
    graph: StateGraph,
    new: Recolouring,
    groups: EdgeGroups,
    exchange: Exchange,
    change: Ints,
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
        objects = reach_objects(layout, new, level, atoms_before, objects_before)
        ends = level + 1 == len(graph.around)
        if ends:
            atoms = _reach_shared_atoms(layout, graph, new, level, atoms_before, objects_before)
        else:
            atoms = reach_atoms(graph, new, level, atoms_before, objects_before)
        around = _edges_around(graph, new, level, objects_before) if ends else 0
        while filled + atoms + objects + around > len(buffer):
            buffer = grow(buffer)
        filled = _recolour_atoms(layout, graph, new, level, atoms_before, atoms, buffer, filled)
        if ends:
            filled = _recolour_around(layout, graph, new, groups, level, atoms, objects_before, counted, buffer, filled)
        _exchange_edges(layout, graph, new, level, atoms_before, exchange)
        filled = _recolour_objects(graph, new, level, objects, exchange, buffer, filled)
    return buffer, filled, atoms, objects


@inlined
def _mark(layout: MarkedLayout, graph: StateGraph, new: Recolouring, change: Ints, buffer: Hashes) -> None:
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
def reach_objects(layout: MarkedLayout, new: Recolouring, level: int, atoms: int, count: int) -> int:
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
def reach_atoms(graph: StateGraph, new: Recolouring, level: int, count: int, objects: int) -> int:
    """Mark the atoms of recoloured objects among the first `objects` as reached; return the number of atoms."""
    for which in range(objects):
        obj = new.objects[which]
        if new.object_differs[level, obj]:
            for edge in range(graph.edges[obj], graph.ends[obj]):
                atom = graph.edge_atom[edge]
                if not new.atom_reached[atom]:
                    new.atom_reached[atom] = True
                    new.atoms[count] = atom
                    count += 1
    return count


@inlined
def _reach_shared_atoms(
    layout: MarkedLayout, graph: StateGraph, new: Recolouring, level: int, count: int, objects: int
) -> int:
    """Mark the atoms of several recoloured objects among the first `objects` as reached; return the number of atoms."""
    # Arrays in variables: each access to a tuple's member in the loops would count references.
    differs, nodes, found, reached = new.object_differs[level], new.objects, new.atoms, new.atom_reached
    edges, ends, edge_atom, edge_other = graph.edges, graph.ends, graph.edge_atom, graph.edge_other
    first_argument, arguments = layout.first_argument, layout.arguments
    longest, most = -1, -1
    for which in range(objects):
        obj = nodes[which]
        if differs[obj] and ends[obj] - edges[obj] > most:
            longest, most = obj, ends[obj] - edges[obj]
    for which in range(objects):
        obj = nodes[which]
        if not differs[obj] or obj == longest:  # each of its shared atoms is also another object's
            continue
        for edge in range(edges[obj], ends[obj]):
            other = edge_other[edge]
            if other == -1 or (other >= 0 and (other == obj or not differs[other])):
                continue
            atom = edge_atom[edge]
            shared = other >= 0
            if not shared:
                for place in range(first_argument[atom], first_argument[atom + 1]):
                    shared |= arguments[place] != obj and differs[arguments[place]]
            if shared and not reached[atom]:
                reached[atom] = True
                found[count] = atom
                count += 1
    return count


@inlined
def _recolour_atoms(
    layout: MarkedLayout,
    graph: StateGraph,
    new: Recolouring,
    level: int,
    before: int,
    atoms: int,
    buffer: Hashes,
    filled: int,
) -> int:
    """Compute the reached atoms' colours at the next level; return the number of colours in the buffer.

    Atoms that were not among the first `before` have a recoloured argument, so that their colours differ.
    """
    salt, ends = number(LEVEL, level + 1), level + 1 == len(graph.around)
    atom_colour, object_colour = new.atom_colour[level], new.object_colour[level]
    for which in range(atoms):
        atom = new.atoms[which]
        colour = refined_atom(layout, atom, atom_colour, object_colour)
        new.atom_colour[level + 1, atom] = colour
        differs = not graph.in_graph[atom] or new.atom_differs[level, atom] or which >= before
        if not differs and ends:
            differs = colour != refined_atom(layout, atom, graph.atom_colour[level], graph.object_colour[level])
        elif not differs:
            differs = colour != graph.atom_colour[level + 1, atom]
        if differs:
            new.atom_differs[level + 1, atom] = True
            buffer[filled] = pair(COLOUR, salt, colour)
            filled += 1
    return filled


@inlined
def _edges_around(graph: StateGraph, new: Recolouring, level: int, objects: int) -> int:
    """Count the edges of recoloured objects among the first `objects`."""
    count = 0
    for which in range(objects):
        obj = new.objects[which]
        if new.object_differs[level, obj]:
            count += graph.ends[obj] - graph.edges[obj]
    return count


@inlined
def _recolour_around(
    layout: MarkedLayout,
    graph: StateGraph,
    new: Recolouring,
    groups: EdgeGroups,
    level: int,
    atoms: int,
    objects: int,
    counted: bool,
    buffer: Hashes,
    filled: int,
) -> int:
    """Compute the last colours of the other atoms of recoloured objects; return the number of colours in the buffer.

    No later colour depends on them, so they are not stored. They differ from the unchanged ones, because one argument's
    colour does. Of a group of edges one colour is enough, unless colours are counted.
    """
    salt, differs, taken = number(LEVEL, level + 1), new.object_differs[level], 0
    # Arrays in variables: each access to a tuple's member in the loops would count references.
    is_known, group_ends, sizes, keys, atom_colours, all_others, all_positions, groups_taken, _ = groups
    plain_atom, plain_object, object_colour = (
        graph.atom_colour[level],
        graph.object_colour[level],
        new.object_colour[level],
    )
    first_argument, arguments, edges, in_graph = layout.first_argument, layout.arguments, graph.edges, graph.in_graph
    nodes, reached = new.objects, new.atoms
    for which in range(objects):
        if differs[nodes[which]] and not is_known[nodes[which]]:
            learn_groups(layout, graph, groups, nodes[which])
    for which in range(atoms):  # reached atoms were recoloured already
        atom = reached[which]
        begin, end = first_argument[atom], first_argument[atom + 1]
        for place in range(begin, end if in_graph[atom] else begin):
            obj = arguments[place]
            if differs[obj]:
                positions, others = beside(arguments, begin, end, plain_object, obj)
                if is_first(positions, place - begin):
                    key = group_key(plain_atom[atom], others, positions)
                    group = find_group(keys, sizes, edges[obj], group_ends[obj], key)
                    sizes[group] -= 1
                    groups_taken[taken] = group
                    taken += 1
    for which in range(objects):
        obj = nodes[which]
        if not differs[obj]:
            continue
        colour = object_colour[obj]
        for group in range(edges[obj], group_ends[obj]):
            size = sizes[group]
            if size > 0:
                value, positions, position = all_others[group], all_positions[group], np.uint64(0)
                while positions != np.uint64(0):
                    if positions & np.uint64(1):
                        value += pair(EDGE, colour, position)
                    positions >>= np.uint64(1)
                    position += np.uint64(1)
                last = pair(COLOUR, salt, pair(ATOM, atom_colours[group], value))
                for _ in range(size if counted else 1):
                    buffer[filled] = last
                    filled += 1
    for which in range(taken):
        sizes[groups_taken[which]] += 1
    return filled


@inlined
def _exchange_edges(
    layout: MarkedLayout, graph: StateGraph, new: Recolouring, level: int, atoms: int, exchange: Exchange
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
    graph: StateGraph, new: Recolouring, level: int, objects: int, exchange: Exchange, buffer: Hashes, filled: int
) -> int:
    """Compute the reached objects' next colours and empty the exchange; return the number of colours in the buffer."""
    salt = number(LEVEL, level + 1)
    around = graph.around[level]
    for which in range(objects):
        obj = new.objects[which]
        edges = around[graph.edges[obj] : graph.ends[obj]]
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
def forget_recolouring(graph: StateGraph, new: Recolouring, atoms: int, objects: int) -> None:
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
