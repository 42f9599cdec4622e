"""The graph of a state and the goal: nodes, edges, and colours without a change."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.encoders.kernels.hashing import Hashes, Hashes2D, pair, total_of_set
from sgp.planning.hash_table import Ints

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
                graph.atom_colour[level + 1, atom] = refined_atom(
                    layout, atom, graph.atom_colour[level], graph.object_colour[level]
                )
        for obj in near.objects[: near.objects_within[reach]] if near_only else every:
            refine_object(graph, graph.atom_colour, graph.object_colour, obj, level)
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
            atoms[edge], positions[edge], others[edge] = atom, place - begin, other_argument(layout, begin, end, place)
    return first, low, ends, atoms, positions, others


@inlined
def other_argument(layout: MarkedLayout, begin: int, end: int, place: int) -> int:
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
def refine_object(graph: StateGraph, atom_colour: Hashes2D, object_colour: Hashes2D, obj: int, level: int) -> None:
    """Compute an object's colour at the next level from the set of its edges."""
    start, end = graph.edges[obj], graph.ends[obj]
    around, colour = graph.around[level, start:end], atom_colour[level]
    for edge in range(start, end):
        around[edge - start] = pair(EDGE, colour[graph.edge_atom[edge]], np.uint64(graph.edge_position[edge]))
    total = total_of_set(around)
    graph.total_around[level, obj] = total
    object_colour[level + 1, obj] = pair(OBJECT, object_colour[level, obj], total)


@inlined
def refined_atom(layout: MarkedLayout, atom: int, atom_colour: Hashes, object_colour: Hashes) -> np.uint64:
    """Return the refined colour of an atom from its arguments' colours by position."""
    value = np.uint64(0)
    begin = layout.first_argument[atom]
    for place in range(begin, layout.first_argument[atom + 1]):
        value += pair(EDGE, object_colour[layout.arguments[place]], np.uint64(place - begin))
    return pair(ATOM, atom_colour[atom], value)


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
def learn_groups(layout: MarkedLayout, graph: StateGraph, groups: EdgeGroups, obj: int) -> None:
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
        positions, others = beside(arguments, begin, end, object_colour, obj)
        if not is_first(positions, edge_position[edge]):
            continue
        key = group_key(atom_colour[atom], others, positions)
        group = recent[key >> np.uint64(58)]
        if group < 0 or keys[group] != key:
            group = last
            last += 1
            set_group(groups, group, key, atom_colour[atom], others, positions)
            recent[key >> np.uint64(58)] = group
        sizes[group] += 1
    groups.ends[obj] = last


@inlined
def beside(arguments: Ints, begin: int, end: int, colour: Hashes, obj: int) -> tuple[np.uint64, np.uint64]:
    """Return an object's positions in an atom, as bits, and the sum of the hashes of the other arguments."""
    positions, others = np.uint64(0), np.uint64(0)
    for place in range(begin, end):
        if arguments[place] == obj:
            positions |= np.uint64(1) << np.uint64(place - begin)
        else:
            others += pair(EDGE, colour[arguments[place]], np.uint64(place - begin))
    return positions, others


@inlined
def is_first(positions: np.uint64, position: int) -> bool:
    """Return whether a position is the first of these; the edge at this one stands for all."""
    return bool(positions & (~positions + np.uint64(1)) == np.uint64(1) << np.uint64(position))


@inlined
def group_key(atom_colour: np.uint64, others: np.uint64, positions: np.uint64) -> np.uint64:
    """Return the key of an edge's group."""
    return pair(EDGE, pair(ATOM, atom_colour, others), positions)


@inlined
def find_group(keys: Hashes, sizes: Ints, first: int, last: int, key: np.uint64) -> int:
    """Return a group with this key that is not empty."""
    group = first
    while group < last and (keys[group] != key or sizes[group] == 0):
        group += 1
    return group


@inlined
def set_group(
    groups: EdgeGroups, group: int, key: np.uint64, atom_colour: np.uint64, others: np.uint64, positions: np.uint64
) -> None:
    """Begin an empty group."""
    groups.sizes[group], groups.key[group], groups.atom_colour[group] = 0, key, atom_colour
    groups.others[group], groups.positions[group] = others, positions
