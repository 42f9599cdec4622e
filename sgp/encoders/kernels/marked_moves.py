"""Moves of a coloured graph from one state to another."""

from __future__ import annotations

import numpy as np

from sgp.compilation import compiled, inlined
from sgp.encoders.kernels.marked_colours import reach_atoms, reach_objects
from sgp.encoders.kernels.marked_graph import (
    EdgeGroups,
    MarkedLayout,
    Recolouring,
    StateGraph,
    beside,
    find_group,
    group_key,
    is_first,
    marked,
    other_argument,
    refine_object,
    refined_atom,
    set_group,
)
from sgp.planning.hash_table import Ints


@compiled
def move(layout: MarkedLayout, graph: StateGraph, new: Recolouring, groups: EdgeGroups, state: Ints) -> bool:
    """Make a graph that of another state, with work only where they differ.

    Returns whether there was space for the edges; otherwise the graph is of no use any more. It must have been made by
    `state_graph` without `near_only`, and the layout must not have more atoms than the graph has space for.
    """
    iterations = len(graph.around)
    change = _differences(graph, new, state)
    if not _exchange_atoms(layout, graph, change):
        return False
    atoms, objects = len(change), 0
    for which in range(atoms):
        atom = change[which]
        holds = not graph.holds[atom]
        new.atom_colour[0, atom] = marked(layout.kind[atom], holds, holds)
        new.atom_differs[0, atom] = True
        new.atom_reached[atom] = True
        new.atoms[which] = atom
    for level in range(iterations):
        atoms_before, objects_before = atoms, objects
        objects = reach_objects(layout, new, level, atoms_before, objects_before)
        if level + 1 < iterations:
            atoms = reach_atoms(graph, new, level, atoms_before, objects_before)
            for atom in new.atoms[:atoms]:
                colour = refined_atom(layout, atom, new.atom_colour[level], new.object_colour[level])
                new.atom_colour[level + 1, atom] = colour
                new.atom_differs[level + 1, atom] = colour != graph.atom_colour[level + 1, atom]
        for obj in new.objects[:objects]:
            refine_object(graph, new.atom_colour, new.object_colour, obj, level)
            differs = new.object_colour[level + 1, obj] != graph.object_colour[level + 1, obj]
            new.object_differs[level + 1, obj] = differs
    if iterations > 1:
        atoms = reach_atoms(graph, new, iterations - 1, atoms, objects)
        for atom in new.atoms[:atoms]:
            _regroup(layout, graph, new, groups, atom)
    for atom in change:
        graph.holds[atom] = not graph.holds[atom]
        graph.in_graph[atom] = graph.holds[atom] or graph.is_goal[atom]
    graph.state[: len(state)] = state
    graph.size[0] = len(state)
    _accept_recolouring(graph, new, atoms, objects)
    return True


@compiled
def _differences(graph: StateGraph, new: Recolouring, state: Ints) -> Ints:
    """Return the atoms in which another state differs from the graph's: first those that are true in the graph's."""
    before = graph.state[: graph.size[0]]
    differences, count = np.empty(len(before) + len(state), np.int32), 0
    for atom in state:
        new.atom_reached[atom] = True
    for atom in before:
        if not new.atom_reached[atom]:
            differences[count] = atom
            count += 1
    for atom in state:
        new.atom_reached[atom] = False
        if not graph.holds[atom]:
            differences[count] = atom
            count += 1
    return differences[:count]


@compiled
def _exchange_atoms(layout: MarkedLayout, graph: StateGraph, change: Ints) -> bool:
    """Remove the edges of atoms that leave the graph and add those of new ones; return whether there was space."""
    for atom in change:
        if graph.is_goal[atom]:
            continue
        begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
        for place in range(begin, end):
            obj = layout.arguments[place]
            if graph.holds[atom]:
                _remove_edge(graph, obj, atom, place - begin)
            else:
                last = graph.ends[obj]
                if last == graph.edges[obj + 1]:
                    return False
                graph.ends[obj] += 1
                if layout.walkable[place]:
                    middle = graph.walkable_ends[obj]
                    _copy_edge(graph, middle, last)
                    graph.walkable_ends[obj] += 1
                    last = middle
                graph.edge_atom[last], graph.edge_position[last] = atom, place - begin
                graph.edge_other[last] = other_argument(layout, begin, end, place)
    return True


@compiled
def _remove_edge(graph: StateGraph, obj: int, atom: int, position: int) -> None:
    """Remove an object's edge; another one takes its place."""
    edge = graph.edges[obj]
    while graph.edge_atom[edge] != atom or graph.edge_position[edge] != position:
        edge += 1
    middle = graph.walkable_ends[obj]
    if edge < middle:
        _copy_edge(graph, middle - 1, edge)
        graph.walkable_ends[obj] -= 1
        edge = middle - 1
    graph.ends[obj] -= 1
    _copy_edge(graph, graph.ends[obj], edge)


@inlined
def _copy_edge(graph: StateGraph, source: int, to: int) -> None:
    """Copy an edge to another place."""
    graph.edge_atom[to], graph.edge_position[to] = graph.edge_atom[source], graph.edge_position[source]
    graph.edge_other[to] = graph.edge_other[source]


@compiled
def _regroup(layout: MarkedLayout, graph: StateGraph, new: Recolouring, groups: EdgeGroups, atom: int) -> None:
    """Take an atom's edges out of their groups, and into those by the new colours if it is in the next graph."""
    level = len(graph.around) - 1
    changes = new.atom_differs[0, atom]  # so its truth is another one
    stays = graph.is_goal[atom] or graph.holds[atom] != changes
    begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
    for place in range(begin, end):
        obj = layout.arguments[place]
        if not groups.is_known[obj]:
            continue
        positions, others = beside(layout.arguments, begin, end, graph.object_colour[level], obj)
        if not is_first(positions, place - begin):
            continue
        was = group_key(graph.atom_colour[level, atom], others, positions)
        positions, others = beside(layout.arguments, begin, end, new.object_colour[level], obj)
        key = group_key(new.atom_colour[level, atom], others, positions)
        if key == was and stays and graph.in_graph[atom]:
            continue
        first, last = graph.edges[obj], groups.ends[obj]
        if graph.in_graph[atom]:
            groups.sizes[find_group(groups.key, groups.sizes, first, last, was)] -= 1
        if stays:
            free, group = last, first
            while group < last and groups.key[group] != key:
                if groups.sizes[group] == 0:
                    free = group
                group += 1
            if group == last:
                group = free
                groups.ends[obj] += free == last
                set_group(groups, group, key, new.atom_colour[level, atom], others, positions)
            groups.sizes[group] += 1


@compiled
def _accept_recolouring(graph: StateGraph, new: Recolouring, atoms: int, objects: int) -> None:
    """Make the new colours of this many reached atoms and objects the graph's, and forget that they are new."""
    for level in range(len(graph.atom_colour)):
        for atom in new.atoms[:atoms]:
            graph.atom_colour[level, atom] = new.atom_colour[level, atom]
            new.atom_differs[level, atom] = False
        for obj in new.objects[:objects]:
            graph.object_colour[level, obj] = new.object_colour[level, obj]
            new.object_differs[level, obj] = False
    new.atom_reached[new.atoms[:atoms]] = False
    new.object_reached[new.objects[:objects]] = False
