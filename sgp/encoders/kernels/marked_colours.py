"""Marked colours: refined once without a change, and for each candidate anew only where its change reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, longer
from sgp.encoders.kernels.marked_graph import (
    ATOM,
    COLOUR,
    EDGE,
    LEVEL,
    OBJECT,
    Hashes,
    Ints,
    MarkedLayout,
    incidence,
    marked,
    number,
    pair,
)
from sgp.encoders.kernels.marked_sets import Exchange, total_after, total_of_set

Flags = NDArray[np.bool_]


class Unchanged(NamedTuple):
    """The graph of a state and the goal, and the colours that its nodes have at l levels without a change.

    The edges of object o are the numbers from `edges[o]` up to `edges[o + 1]`.
    """

    holds: Flags  # [a], whether the atom is true
    in_graph: Flags  # [a]: true atoms and goals
    edges: Ints  # [n + 1]
    edge_atom: Ints  # [e]
    edge_position: Ints  # [e]
    atom_colour: Hashes  # [l, a]
    object_colour: Hashes  # [l, n]
    around: Hashes  # [l - 1, e], hashes of each object's edges, ascending
    total_around: Hashes  # [l - 1, n]


class Recolouring(NamedTuple):
    """The colours with a change, at l levels, and the nodes that the change reaches; else all is as without it."""

    atom_colour: Hashes  # [l, a]
    object_colour: Hashes  # [l, n]
    atom_differs: Flags  # [l, a], whether the colour is one that the atom has not without the change
    object_differs: Flags  # [l, n]
    atom_reached: Flags  # [a]
    object_reached: Flags  # [n]
    atoms: Ints  # [a], those reached in the order in which they were
    objects: Ints  # [n]


@compiled
def unchanged(layout: MarkedLayout, iterations: int, state: Ints) -> Unchanged:
    """The graph of the state in which these fluent atoms are true, and its colours."""
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
    found = Unchanged(
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
    found.object_colour[0] = layout.object_colour
    for node in range(count):
        atom = nodes[node]
        found.atom_colour[0, atom] = marked(layout.kind[atom], holds[atom], holds[atom])
    for level in range(iterations):
        for node in range(count):
            atom = nodes[node]
            found.atom_colour[level + 1, atom] = _refined_atom(
                layout, atom, found.atom_colour[level], found.object_colour[level]
            )
        _refine_objects(found, level)
    return found


@compiled
def _true_nodes(atoms: Ints, holds: Flags, in_graph: Flags, nodes: Ints, count: int) -> int:
    """Makes atoms true and nodes of the graph; how many nodes it has then."""
    for atom in atoms:
        holds[atom] = True
        if not in_graph[atom]:
            in_graph[atom] = True
            nodes[count] = atom
            count += 1
    return count


@compiled
def _refine_objects(graph: Unchanged, level: int) -> None:
    """Colours of all objects at the next level, by the set of their edges."""
    colour, around = graph.atom_colour[level], graph.around[level]
    for thing in range(graph.object_colour.shape[1]):
        start, end = graph.edges[thing], graph.edges[thing + 1]
        for edge in range(start, end):
            around[edge] = pair(EDGE, colour[graph.edge_atom[edge]], np.uint64(graph.edge_position[edge]))
        total = total_of_set(around[start:end])
        graph.total_around[level, thing] = total
        graph.object_colour[level + 1, thing] = pair(OBJECT, graph.object_colour[level, thing], total)


@compiled
def no_recolouring(graph: Unchanged) -> Recolouring:
    """The colours without a change."""
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
    layout: MarkedLayout, graph: Unchanged, new: Recolouring, exchange: Exchange, change: Ints, buffer: Hashes
) -> tuple[Hashes, int, int, int]:
    """Refines the colours of what a change reaches, and writes those that are new at their node into the buffer.

    The change names no atom twice, so that an exchange with room for all edges has room for those of one level. Gives
    the buffer, grown where it must, how many colours stand there, and how many atoms and objects were reached.
    """
    while len(change) > len(buffer):
        buffer = longer(buffer)
    _mark(layout, graph, new, change, buffer)
    found = atoms = len(change)
    objects = 0
    for level in range(len(graph.around)):
        atoms_before, objects_before = atoms, objects
        objects = _reach_objects(layout, new, level, atoms_before, objects_before)
        atoms = _reach_atoms(graph, new, level, atoms_before, objects_before)
        while found + atoms + objects > len(buffer):
            buffer = longer(buffer)
        found = _recolour_atoms(layout, graph, new, level, atoms, buffer, found)
        _exchange_edges(layout, graph, new, level, atoms_before, exchange)
        found = _recolour_objects(graph, new, level, objects, exchange, buffer, found)
    return buffer, found, atoms, objects


@inlined
def _mark(layout: MarkedLayout, graph: Unchanged, new: Recolouring, change: Ints, buffer: Hashes) -> None:
    """First colours of the changed atoms: all of them are reached, and all are new."""
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
    """Reaches the arguments of the first atoms, where these were recoloured; how many objects are reached then."""
    for which in range(atoms):
        atom = new.atoms[which]
        if new.atom_differs[level, atom]:
            for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
                thing = layout.arguments[place]
                if not new.object_reached[thing]:
                    new.object_reached[thing] = True
                    new.objects[count] = thing
                    count += 1
    return count


@inlined
def _reach_atoms(graph: Unchanged, new: Recolouring, level: int, count: int, objects: int) -> int:
    """Reaches the atoms of the first objects, where these were recoloured; how many atoms are reached then."""
    for which in range(objects):
        thing = new.objects[which]
        if new.object_differs[level, thing]:
            for edge in range(graph.edges[thing], graph.edges[thing + 1]):
                atom = graph.edge_atom[edge]
                if not new.atom_reached[atom]:
                    new.atom_reached[atom] = True
                    new.atoms[count] = atom
                    count += 1
    return count


@inlined
def _recolour_atoms(
    layout: MarkedLayout, graph: Unchanged, new: Recolouring, level: int, atoms: int, buffer: Hashes, found: int
) -> int:
    """Colours of the atoms reached at the next level; how many colours stand in the buffer then."""
    salt = number(LEVEL, level + 1)
    atom_colour, object_colour = new.atom_colour[level], new.object_colour[level]
    for which in range(atoms):
        atom = new.atoms[which]
        colour = _refined_atom(layout, atom, atom_colour, object_colour)
        new.atom_colour[level + 1, atom] = colour
        if not graph.in_graph[atom] or colour != graph.atom_colour[level + 1, atom]:
            new.atom_differs[level + 1, atom] = True
            buffer[found] = pair(COLOUR, salt, colour)
            found += 1
    return found


@inlined
def _exchange_edges(
    layout: MarkedLayout, graph: Unchanged, new: Recolouring, level: int, atoms: int, exchange: Exchange
) -> None:
    """Lists by object what the edges to the recoloured ones of the first atoms were and are."""
    entry = 0
    for which in range(atoms):
        atom = new.atoms[which]
        if new.atom_differs[level, atom]:
            begin = layout.first_argument[atom]
            for place in range(begin, layout.first_argument[atom + 1]):
                thing = layout.arguments[place]
                exchange.before[entry] = exchange.last[thing]
                exchange.was[entry] = pair(EDGE, graph.atom_colour[level, atom], np.uint64(place - begin))
                exchange.has[entry] = graph.in_graph[atom]
                exchange.now[entry] = pair(EDGE, new.atom_colour[level, atom], np.uint64(place - begin))
                exchange.last[thing] = entry
                entry += 1


@inlined
def _recolour_objects(
    graph: Unchanged, new: Recolouring, level: int, objects: int, exchange: Exchange, buffer: Hashes, found: int
) -> int:
    """Colours of the objects reached at the next level; empties the exchange. How many colours stand there then."""
    salt = number(LEVEL, level + 1)
    around = graph.around[level]
    for which in range(objects):
        thing = new.objects[which]
        edges = around[graph.edges[thing] : graph.edges[thing + 1]]
        total = total_after(exchange, thing, graph.total_around[level, thing], edges)
        exchange.last[thing] = -1
        colour = pair(OBJECT, new.object_colour[level, thing], total)
        new.object_colour[level + 1, thing] = colour
        if colour != graph.object_colour[level + 1, thing]:
            new.object_differs[level + 1, thing] = True
            buffer[found] = pair(COLOUR, salt, colour)
            found += 1
    return found


@inlined
def forget_recolouring(graph: Unchanged, new: Recolouring, atoms: int, objects: int) -> None:
    """Makes all as it is without a change that reached so many atoms and objects."""
    levels = len(graph.atom_colour)
    for which in range(atoms):
        atom = new.atoms[which]
        new.atom_reached[atom] = False
        for level in range(levels):
            new.atom_colour[level, atom] = graph.atom_colour[level, atom]
            new.atom_differs[level, atom] = False
    for which in range(objects):
        thing = new.objects[which]
        new.object_reached[thing] = False
        for level in range(levels):
            new.object_colour[level, thing] = graph.object_colour[level, thing]
            new.object_differs[level, thing] = False


@inlined
def _refined_atom(layout: MarkedLayout, atom: int, atom_colour: Hashes, object_colour: Hashes) -> np.uint64:
    """Colour of an atom and its arguments by position."""
    value = np.uint64(0)
    begin = layout.first_argument[atom]
    for place in range(begin, layout.first_argument[atom + 1]):
        value += pair(EDGE, object_colour[layout.arguments[place]], np.uint64(place - begin))
    return pair(ATOM, atom_colour[atom], value)
