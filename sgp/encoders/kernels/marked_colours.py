"""Colours of marked transition graphs, updated where the change of a state or of a candidate reaches."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.encoders.kernels.hashing import Hashes, Hashes2D, number, pair, sort_values, total_of_set
from sgp.planning.hash_table import Ints, grow, mix

Flags = NDArray[np.bool_]
Flags2D = Annotated[Flags, 2]

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


class StateGraph(NamedTuple):
    """The graph of a state and the goal, and its nodes' colours without a change at l levels.

    Object o has the edges `edges[o]` to `ends[o] - 1`, first those at which walks enter, before `walkable_ends[o]`. Up
    to `edges[o + 1]` is space for more. An atom has no colour at the last level, on which no other depends.
    """

    state: Ints  # [a], the true fluent atoms first
    size: Ints  # [1], the number of these
    is_goal: Flags  # [a]
    holds: Flags  # [a], whether the atom is true
    in_graph: Flags  # [a]: true atoms and goals
    edges: Ints  # [n + 1]
    walkable_ends: Ints  # [n]
    ends: Ints  # [n]
    edge_atom: Ints  # [e]
    edge_position: Ints  # [e]
    edge_other: Ints  # [e], the atom's other argument, -1 for none, -2 for several
    atom_colour: Hashes2D  # [l, a]
    object_colour: Hashes2D  # [l, n]
    around: Hashes2D  # [l - 1, e], hashes of each object's edges, sorted
    total_around: Hashes2D  # [l - 1, n]


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

    atom_colour: Hashes2D  # [l, a]
    object_colour: Hashes2D  # [l, n]
    atom_differs: Flags2D  # [l, a], whether the colour differs from the atom's unchanged colour
    object_differs: Flags2D  # [l, n]
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


class EdgeGroups(NamedTuple):
    """Groups of an object's edges whose atoms have equal last colours, whatever the object's colour is.

    Object o has the groups `edges[o]` to `ends[o] - 1` of the graph's edges. Two groups may have the same key.
    """

    is_known: Flags  # [n], whether the object's groups are known
    ends: Ints  # [n]
    sizes: Ints  # [e], number of edges
    key: Hashes  # [e], the hash of the next three
    atom_colour: Hashes  # [e], at the last level but one
    others: Hashes  # [e], sum of the hashes of the other arguments
    positions: Hashes  # [e], a bit for each position of the object in the atom
    taken: Ints  # [e], buffer
    recent: Ints  # [64], buffer: a group of the present object for each beginning of six bits, or -1


@kernel
def marked(kind: np.uint64, before: bool, after: bool) -> np.uint64:
    """Return an atom's colour by its truth before and after the transition."""
    return pair(ATOM, kind, np.uint64(2 * before + after))


@kernel
def state_graph(
    layout: MarkedLayout, iterations: int, state: Ints, changed: Ints, near_only: bool
) -> tuple[StateGraph, Recolouring, EdgeGroups]:
    """Return the graph of the state with these true fluent atoms, with colours and buffers.

    `changed` has the atoms of all candidates. If `near_only`, nodes that no candidate reaches have no colours, and
    there is no space for the atoms of other states.
    """
    objects, known = len(layout.object_colour), len(layout.kind)
    capacity = known if near_only else known + known // 4 + 64
    holds, in_graph, nodes = np.zeros(capacity, np.bool_), np.zeros(capacity, np.bool_), np.empty(known, np.int32)
    is_goal, true = np.zeros(capacity, np.bool_), np.empty(capacity, np.int32)
    count = _true_nodes(layout.static_atoms, holds, in_graph, nodes, 0)
    count = _true_nodes(state, holds, in_graph, nodes, count)
    for atom in layout.goal_atoms:
        is_goal[atom] = True
        if not in_graph[atom]:
            in_graph[atom] = True
            nodes[count] = atom
            count += 1
    true[: len(state)] = state
    edges, walkable_ends, ends, edge_atom, edge_position, edge_other = _incidence(layout, nodes[:count], near_only)
    graph = StateGraph(
        true,
        np.full(1, len(state), np.int32),
        is_goal,
        holds,
        in_graph,
        edges,
        walkable_ends,
        ends,
        edge_atom,
        edge_position,
        edge_other,
        np.zeros((iterations + 1, capacity), np.uint64),
        np.zeros((iterations + 1, objects), np.uint64),
        np.empty((iterations, len(edge_atom)), np.uint64),
        np.zeros((iterations, objects), np.uint64),
    )
    graph.object_colour[0] = layout.object_colour
    for node in range(count):
        atom = nodes[node]
        graph.atom_colour[0, atom] = marked(layout.kind[atom], holds[atom], holds[atom])
    every = np.arange(objects).astype(np.int32)
    # A change reaches nodes up to distance `iterations` - 1. The next colour of a node needs the colours around it.
    near = _surroundings(layout, graph, changed, max(2 * iterations - 1, 0) if near_only else 0)
    for level in range(iterations):
        reach = 2 * iterations - 2 - level
        if level + 1 < iterations:
            for atom in near.atoms[: near.atoms_within[reach]] if near_only else nodes[:count]:
                graph.atom_colour[level + 1, atom] = _refined_atom(
                    layout, atom, graph.atom_colour[level], graph.object_colour[level]
                )
        for obj in near.objects[: near.objects_within[reach]] if near_only else every:
            _refine_object(graph, graph.atom_colour, graph.object_colour, obj, level)
    return graph, _no_recolouring(graph), _no_groups(graph)


@compiled
def _incidence(layout: MarkedLayout, nodes: Ints, exact: bool) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Return the edges of a graph with these atoms, with space for more unless `exact`; see `StateGraph`."""
    objects = len(layout.object_colour)
    degrees, first = np.zeros(objects, np.int32), np.zeros(objects + 1, np.int32)
    for atom in nodes:
        for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
            degrees[layout.arguments[place]] += 1
    for obj in range(objects):
        first[obj + 1] = first[obj] + degrees[obj] + (0 if exact else degrees[obj] // 4 + 4)
    atoms, positions = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    others, low, high = np.empty(first[-1], np.int32), first[:-1].copy(), first[:-1] + degrees
    ends = high.copy()
    for atom in nodes:
        begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
        for place in range(begin, end):
            obj = layout.arguments[place]
            if layout.walkable[place]:
                edge = low[obj]
                low[obj] += 1
            else:
                high[obj] -= 1
                edge = high[obj]
            atoms[edge], positions[edge], others[edge] = atom, place - begin, _other(layout, begin, end, place)
    return first, low, ends, atoms, positions, others


@inlined
def _other(layout: MarkedLayout, begin: int, end: int, place: int) -> int:
    """Return the argument beside that at `place`, -1 if there is none, -2 if there are several."""
    return -2 if end - begin > 2 else -1 if end - begin == 1 else int(layout.arguments[begin + end - 1 - place])


@compiled
def _surroundings(layout: MarkedLayout, graph: StateGraph, changed: Ints, distance: int) -> Surroundings:
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
                for edge in range(graph.edges[obj], graph.ends[obj]):
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
def left_objects(layout: MarkedLayout, graph: StateGraph, changed: Ints, steps: int) -> Ints:
    """Return the objects that walks of at most so many steps from the arguments of changed atoms reach."""
    taken, objects = np.zeros(len(layout.object_colour), np.bool_), np.empty(len(layout.object_colour), np.int32)
    done, count = 0, _take_arguments(layout, changed, taken, objects, 0)
    for _ in range(steps):
        begin, done = done, count
        for obj in objects[begin:done]:
            first, last = graph.edges[obj], graph.walkable_ends[obj]
            count = _take_arguments(layout, graph.edge_atom[first:last], taken, objects, count)
    return objects[:count]


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


@inlined
def _refine_object(graph: StateGraph, atom_colour: Hashes2D, object_colour: Hashes2D, obj: int, level: int) -> None:
    """Compute an object's colour at the next level from the set of its edges."""
    start, end = graph.edges[obj], graph.ends[obj]
    around, colour = graph.around[level, start:end], atom_colour[level]
    for edge in range(start, end):
        around[edge - start] = pair(EDGE, colour[graph.edge_atom[edge]], np.uint64(graph.edge_position[edge]))
    total = total_of_set(around)
    graph.total_around[level, obj] = total
    object_colour[level + 1, obj] = pair(OBJECT, object_colour[level, obj], total)


@compiled
def _no_recolouring(graph: StateGraph) -> Recolouring:
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


@compiled
def _no_groups(graph: StateGraph) -> EdgeGroups:
    """Return groups without a known object."""
    objects, edges = graph.object_colour.shape[1], len(graph.edge_atom)
    return EdgeGroups(
        np.zeros(objects, np.bool_),
        np.zeros(objects, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.uint64),
        np.empty(edges, np.uint64),
        np.empty(edges, np.uint64),
        np.empty(edges, np.uint64),
        np.empty(edges, np.int32),
        np.empty(64, np.int32),
    )


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
        objects = _reach_objects(layout, new, level, atoms_before, objects_before)
        if level + 1 < iterations:
            atoms = _reach_atoms(graph, new, level, atoms_before, objects_before)
            for atom in new.atoms[:atoms]:
                colour = _refined_atom(layout, atom, new.atom_colour[level], new.object_colour[level])
                new.atom_colour[level + 1, atom] = colour
                new.atom_differs[level + 1, atom] = colour != graph.atom_colour[level + 1, atom]
        for obj in new.objects[:objects]:
            _refine_object(graph, new.atom_colour, new.object_colour, obj, level)
            differs = new.object_colour[level + 1, obj] != graph.object_colour[level + 1, obj]
            new.object_differs[level + 1, obj] = differs
    if iterations > 1:
        atoms = _reach_atoms(graph, new, iterations - 1, atoms, objects)
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
                graph.edge_other[last] = _other(layout, begin, end, place)
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
        positions, others = _beside(layout.arguments, begin, end, graph.object_colour[level], obj)
        if not _is_first(positions, place - begin):
            continue
        was = _group_key(graph.atom_colour[level, atom], others, positions)
        positions, others = _beside(layout.arguments, begin, end, new.object_colour[level], obj)
        key = _group_key(new.atom_colour[level, atom], others, positions)
        if key == was and stays and graph.in_graph[atom]:
            continue
        first, last = graph.edges[obj], groups.ends[obj]
        if graph.in_graph[atom]:
            groups.sizes[_group(groups.key, groups.sizes, first, last, was)] -= 1
        if stays:
            free, group = last, first
            while group < last and groups.key[group] != key:
                if groups.sizes[group] == 0:
                    free = group
                group += 1
            if group == last:
                group = free
                groups.ends[obj] += free == last
                _set_group(groups, group, key, new.atom_colour[level, atom], others, positions)
            groups.sizes[group] += 1


@inlined
def _beside(arguments: Ints, begin: int, end: int, colour: Hashes, obj: int) -> tuple[np.uint64, np.uint64]:
    """Return an object's positions in an atom, as bits, and the sum of the hashes of the other arguments."""
    positions, others = np.uint64(0), np.uint64(0)
    for place in range(begin, end):
        if arguments[place] == obj:
            positions |= np.uint64(1) << np.uint64(place - begin)
        else:
            others += pair(EDGE, colour[arguments[place]], np.uint64(place - begin))
    return positions, others


@inlined
def _is_first(positions: np.uint64, position: int) -> bool:
    """Return whether a position is the first of these; the edge at this one stands for all."""
    return bool(positions & (~positions + np.uint64(1)) == np.uint64(1) << np.uint64(position))


@inlined
def _group_key(atom_colour: np.uint64, others: np.uint64, positions: np.uint64) -> np.uint64:
    """Return the key of an edge's group."""
    return pair(EDGE, pair(ATOM, atom_colour, others), positions)


@inlined
def _group(keys: Hashes, sizes: Ints, first: int, last: int, key: np.uint64) -> int:
    """Return a group with this key that is not empty."""
    group = first
    while group < last and (keys[group] != key or sizes[group] == 0):
        group += 1
    return group


@inlined
def _set_group(
    groups: EdgeGroups, group: int, key: np.uint64, atom_colour: np.uint64, others: np.uint64, positions: np.uint64
) -> None:
    """Begin an empty group."""
    groups.sizes[group], groups.key[group], groups.atom_colour[group] = 0, key, atom_colour
    groups.others[group], groups.positions[group] = others, positions


@compiled
def _learn_groups(layout: MarkedLayout, graph: StateGraph, groups: EdgeGroups, obj: int) -> None:
    """Group the edges of an object."""
    level, first_argument, arguments = len(graph.around) - 1, layout.first_argument, layout.arguments
    atom_colour, object_colour = graph.atom_colour[level], graph.object_colour[level]
    edge_atom, edge_position, keys, sizes, recent = (
        graph.edge_atom,
        graph.edge_position,
        groups.key,
        groups.sizes,
        groups.recent,
    )
    groups.is_known[obj] = True
    recent[:] = -1
    last = graph.edges[obj]
    for edge in range(graph.edges[obj], graph.ends[obj]):
        atom = edge_atom[edge]
        begin, end = first_argument[atom], first_argument[atom + 1]
        positions, others = _beside(arguments, begin, end, object_colour, obj)
        if not _is_first(positions, edge_position[edge]):
            continue
        key = _group_key(atom_colour[atom], others, positions)
        group = recent[key >> np.uint64(58)]
        if group < 0 or keys[group] != key:
            group = last
            last += 1
            _set_group(groups, group, key, atom_colour[atom], others, positions)
            recent[key >> np.uint64(58)] = group
        sizes[group] += 1
    groups.ends[obj] = last


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
        objects = _reach_objects(layout, new, level, atoms_before, objects_before)
        ends = level + 1 == len(graph.around)
        if ends:
            atoms = _reach_shared_atoms(layout, graph, new, level, atoms_before, objects_before)
        else:
            atoms = _reach_atoms(graph, new, level, atoms_before, objects_before)
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
def _reach_atoms(graph: StateGraph, new: Recolouring, level: int, count: int, objects: int) -> int:
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
        colour = _refined_atom(layout, atom, atom_colour, object_colour)
        new.atom_colour[level + 1, atom] = colour
        differs = not graph.in_graph[atom] or new.atom_differs[level, atom] or which >= before
        if not differs and ends:
            differs = colour != _refined_atom(layout, atom, graph.atom_colour[level], graph.object_colour[level])
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
            _learn_groups(layout, graph, groups, nodes[which])
    for which in range(atoms):  # reached atoms were recoloured already
        atom = reached[which]
        begin, end = first_argument[atom], first_argument[atom + 1]
        for place in range(begin, end if in_graph[atom] else begin):
            obj = arguments[place]
            if differs[obj]:
                positions, others = _beside(arguments, begin, end, plain_object, obj)
                if _is_first(positions, place - begin):
                    key = _group_key(plain_atom[atom], others, positions)
                    group = _group(keys, sizes, edges[obj], group_ends[obj], key)
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
