"""Features of transitions, local to the change: marked colours, tokens and walks, for all candidates of a state.

A transition (s, s') is a graph of objects and atoms. An atom's colour tells its predicate, whether it is true in s and
in s', and its place in the goal; edges carry the argument's position. Every feature is a 64-bit hash that is present
or not. Two different features share a hash with a probability of about 10^-19.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled

Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]

# Salts keep the kinds of features and of hashes apart.
COLOUR, TOKEN, OPEN, CLOSED, ATOM, OBJECT, EDGE, LEVEL, STEP = range(1, 10)


class MarkedLayout(NamedTuple):
    """The atoms and objects of a task, as far as they are the same in all transitions.

    The arguments of atom a are `arguments[first_argument[a] : first_argument[a + 1]]`. `kind` is the hash of an atom's
    predicate and its place in the goal. Static atoms of one argument are part of the object's colour and no nodes.
    """

    object_colour: Hashes  # [n]
    static_atoms: Ints  # [s]
    goal_atoms: Ints  # [g], positive and negative
    first_argument: Ints  # [a + 1]
    arguments: Ints  # [sum of arities]
    kind: Hashes  # [a]
    walkable: NDArray[np.bool_]  # [a], whether walks may use the atom


@compiled
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def pair(salt: int, first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash of an ordered pair."""
    return mix(mix(first + np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15)) ^ (second * np.uint64(0xD6E8FEB86659FD93)))


@compiled
def number(salt: int, value: int) -> np.uint64:
    """Hash of a small number."""
    return mix(np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value + 1))


@compiled
def marked(kind: np.uint64, before: bool, after: bool) -> np.uint64:
    """Colour of an atom by whether it is true before and after."""
    return pair(ATOM, kind, np.uint64(2 * before + after))


@compiled
def refine(own: np.uint64, neighbours: Hashes, count: int) -> np.uint64:
    """Colour of a node and the set of its neighbours' hashes; the first `count` are reordered."""
    values = neighbours[:count]
    values.sort()
    total = np.uint64(0)
    for place in range(count):
        if place == 0 or values[place] != values[place - 1]:
            total += mix(values[place])
    return pair(OBJECT, own, total)


@compiled
def _grown(buffer: Hashes) -> Hashes:
    larger = np.empty(2 * len(buffer), np.uint64)
    larger[: len(buffer)] = buffer
    return larger


@compiled
def _incidence(layout: MarkedLayout, nodes: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """For each object where its edges begin [n + 1], and of each edge the atom and the argument's position."""
    first = np.zeros(len(layout.object_colour) + 1, np.int32)
    for node in range(count):
        for place in range(layout.first_argument[nodes[node]], layout.first_argument[nodes[node] + 1]):
            first[layout.arguments[place] + 1] += 1
    for thing in range(len(layout.object_colour)):
        first[thing + 1] += first[thing]
    atoms, positions = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    filled = first[:-1].copy()
    for node in range(count):
        begin = layout.first_argument[nodes[node]]
        for place in range(begin, layout.first_argument[nodes[node] + 1]):
            thing = layout.arguments[place]
            atoms[filled[thing]] = nodes[node]
            positions[filled[thing]] = place - begin
            filled[thing] += 1
    return first, atoms, positions


@compiled
def transition_features(
    layout: MarkedLayout,
    iterations: int,
    open_atoms: int,
    closed_atoms: int,
    state: Ints,
    first: NDArray[np.int64],
    changed: Ints,
) -> tuple[NDArray[np.int64], Hashes]:
    """The features of the transitions from a state to each of b candidates.

    The fluent atoms true in the state are `state`; candidate i differs from it in `changed[first[i] : first[i + 1]]`.
    Gives where each candidate's features begin [b + 1], and the features, ascending and each once.
    """
    objects, known = len(layout.object_colour), len(layout.kind)
    before = np.zeros(known, np.bool_)
    in_graph = np.zeros(known, np.bool_)  # of the state: true atoms and goals
    nodes = np.empty(known, np.int32)
    count = 0
    for part in (layout.static_atoms, state):
        for atom in part:
            before[atom] = True
            if not in_graph[atom]:
                in_graph[atom] = True
                nodes[count] = atom
                count += 1
    for atom in layout.goal_atoms:
        if not in_graph[atom]:
            in_graph[atom] = True
            nodes[count] = atom
            count += 1
    edges, edge_atom, edge_position = _incidence(layout, nodes, count)

    # The colours that all nodes have without a change.
    atom_colour = np.zeros((iterations + 1, known), np.uint64)
    object_colour = np.zeros((iterations + 1, objects), np.uint64)
    object_colour[0] = layout.object_colour
    around = np.empty(len(edge_atom) + known + 1, np.uint64)
    for node in range(count):
        atom = nodes[node]
        atom_colour[0, atom] = marked(layout.kind[atom], before[atom], before[atom])
    for level in range(iterations):
        for node in range(count):
            atom_colour[level + 1, nodes[node]] = _refined_atom(
                layout, nodes[node], atom_colour[level], object_colour[level]
            )
        for thing in range(objects):
            size = 0
            for edge in range(edges[thing], edges[thing + 1]):
                around[size] = pair(EDGE, atom_colour[level, edge_atom[edge]], np.uint64(edge_position[edge]))
                size += 1
            object_colour[level + 1, thing] = refine(object_colour[level, thing], around, size)

    new_atom, new_object = atom_colour.copy(), object_colour.copy()
    atom_differs = np.zeros((iterations + 1, known), np.bool_)
    object_differs = np.zeros((iterations + 1, objects), np.bool_)
    atom_reached, object_reached = np.zeros(known, np.bool_), np.zeros(objects, np.bool_)
    reached_atoms, reached_objects = np.empty(known, np.int32), np.empty(objects, np.int32)
    is_changed = np.zeros(known, np.bool_)
    touched, is_touched = np.empty(objects, np.int32), np.zeros(objects, np.bool_)
    token, next_token = np.zeros(objects, np.uint64), np.zeros(objects, np.uint64)
    links = _no_links(objects)
    search = _search(known, max(open_atoms, closed_atoms))

    starts = np.zeros(len(first), np.int64)
    out = np.empty(1024, np.uint64)
    total = 0
    buffer = np.empty(256, np.uint64)
    for candidate in range(len(first) - 1):
        found = 0
        # What changed, and which objects it touches.
        begins, ends = first[candidate], first[candidate + 1]
        changes = ends - begins
        touches = 0
        for change in range(begins, ends):
            atom = changed[change]
            is_changed[atom] = True
            for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
                thing = layout.arguments[place]
                if not is_touched[thing]:
                    is_touched[thing] = True
                    touched[touches] = thing
                    touches += 1

        # Marked colours: only what the change reaches is refined anew.
        atoms_reached = 0
        for change in range(begins, ends):
            atom = changed[change]
            new_atom[0, atom] = marked(layout.kind[atom], before[atom], not before[atom])
            atom_differs[0, atom] = True
            atom_reached[atom] = True
            reached_atoms[atoms_reached] = atom
            atoms_reached += 1
            if found == len(buffer):
                buffer = _grown(buffer)
            buffer[found] = pair(COLOUR, number(LEVEL, 0), new_atom[0, atom])
            found += 1
        objects_reached = 0
        for level in range(iterations):
            atoms_before, objects_before = atoms_reached, objects_reached
            for which in range(atoms_before):
                atom = reached_atoms[which]
                if atom_differs[level, atom]:
                    for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
                        thing = layout.arguments[place]
                        if not object_reached[thing]:
                            object_reached[thing] = True
                            reached_objects[objects_reached] = thing
                            objects_reached += 1
            for which in range(objects_before):
                thing = reached_objects[which]
                if object_differs[level, thing]:
                    for edge in range(edges[thing], edges[thing + 1]):
                        if not atom_reached[edge_atom[edge]]:
                            atom_reached[edge_atom[edge]] = True
                            reached_atoms[atoms_reached] = edge_atom[edge]
                            atoms_reached += 1
            for which in range(atoms_reached):
                atom = reached_atoms[which]
                colour = _refined_atom(layout, atom, new_atom[level], new_object[level])
                new_atom[level + 1, atom] = colour
                if not in_graph[atom] or colour != atom_colour[level + 1, atom]:
                    atom_differs[level + 1, atom] = True
                    if found == len(buffer):
                        buffer = _grown(buffer)
                    buffer[found] = pair(COLOUR, number(LEVEL, level + 1), colour)
                    found += 1
            for which in range(objects_reached):
                thing = reached_objects[which]
                size = 0
                for edge in range(edges[thing], edges[thing + 1]):
                    around[size] = pair(EDGE, new_atom[level, edge_atom[edge]], np.uint64(edge_position[edge]))
                    size += 1
                for change in range(begins, ends):
                    atom = changed[change]
                    if not in_graph[atom]:
                        begin = layout.first_argument[atom]
                        for place in range(begin, layout.first_argument[atom + 1]):
                            if layout.arguments[place] == thing:
                                around[size] = pair(EDGE, new_atom[level, atom], np.uint64(place - begin))
                                size += 1
                colour = refine(new_object[level, thing], around, size)
                new_object[level + 1, thing] = colour
                if colour != object_colour[level + 1, thing]:
                    object_differs[level + 1, thing] = True
                    if found == len(buffer):
                        buffer = _grown(buffer)
                    buffer[found] = pair(COLOUR, number(LEVEL, level + 1), colour)
                    found += 1

        # Tokens: two rounds on the graph of the changed atoms and their arguments alone.
        for which in range(touches):
            token[touched[which]] = layout.object_colour[touched[which]]
        small = np.empty(changes, np.uint64)
        for change in range(changes):
            small[change] = new_atom[0, changed[begins + change]]
        for _ in range(2):
            for which in range(touches):
                thing = touched[which]
                size = 0
                for change in range(changes):
                    begin = layout.first_argument[changed[begins + change]]
                    for place in range(begin, layout.first_argument[changed[begins + change] + 1]):
                        if layout.arguments[place] == thing:
                            around[size] = pair(EDGE, small[change], np.uint64(place - begin))
                            size += 1
                next_token[thing] = refine(token[thing], around, size)
            for change in range(changes):
                value = np.uint64(0)
                begin = layout.first_argument[changed[begins + change]]
                for place in range(begin, layout.first_argument[changed[begins + change] + 1]):
                    value += pair(EDGE, token[layout.arguments[place]], np.uint64(place - begin))
                small[change] = pair(ATOM, small[change], value)
            for which in range(touches):
                token[touched[which]] = next_token[touched[which]]
        while found + changes + touches > len(buffer):
            buffer = _grown(buffer)
        for change in range(changes):
            buffer[found] = pair(TOKEN, number(ATOM, 0), small[change])
            found += 1
        for which in range(touches):
            buffer[found] = pair(TOKEN, number(OBJECT, 0), token[touched[which]])
            found += 1

        # Walks over what did not change.
        if open_atoms > 0 or closed_atoms > 0:
            if closed_atoms > 1:
                links = _linked(
                    layout, links, touched, touches, is_touched, is_changed, edges, edge_atom, edge_position
                )
            for which in range(touches):
                buffer, found = _walks(
                    layout, open_atoms, closed_atoms, touched[which], token, is_touched, is_changed, links, search,
                    edges, edge_atom, edge_position, atom_colour[0], buffer, found,
                )  # fmt: skip
            for which in range(touches):
                thing = touched[which]
                for edge in range(edges[thing], edges[thing + 1]):
                    atom = edge_atom[edge]
                    for place in range(layout.first_argument[atom], layout.first_argument[atom + 1]):
                        links.last[layout.arguments[place]] = -1

        # Each feature once.
        present = buffer[:found]
        present.sort()
        while total + found > len(out):
            out = _grown(out)
        for place in range(found):
            if place == 0 or present[place] != present[place - 1]:
                out[total] = present[place]
                total += 1
        starts[candidate + 1] = total

        # Everything as it was.
        for which in range(atoms_reached):
            atom = reached_atoms[which]
            atom_reached[atom] = False
            for level in range(iterations + 1):
                new_atom[level, atom] = atom_colour[level, atom]
                atom_differs[level, atom] = False
        for which in range(objects_reached):
            thing = reached_objects[which]
            object_reached[thing] = False
            for level in range(iterations + 1):
                new_object[level, thing] = object_colour[level, thing]
                object_differs[level, thing] = False
        for change in range(begins, ends):
            is_changed[changed[change]] = False
        for which in range(touches):
            is_touched[touched[which]] = False
    return starts, out[:total].copy()


@compiled
def _refined_atom(layout: MarkedLayout, atom: int, atom_colour: Hashes, object_colour: Hashes) -> np.uint64:
    """Colour of an atom and its arguments by position."""
    value = np.uint64(0)
    begin = layout.first_argument[atom]
    for place in range(begin, layout.first_argument[atom + 1]):
        value += pair(EDGE, object_colour[layout.arguments[place]], np.uint64(place - begin))
    return pair(ATOM, atom_colour[atom], value)


class Links(NamedTuple):
    """For each object the unchanged atoms that join it to a touched object, as linked lists: how closed walks end."""

    last: Ints  # [n], of each object, or -1
    before: Ints  # of each link the one before it, or -1
    atom: Ints
    ports: Ints  # the argument's position on this side, and on the touched object's
    target: Ints  # the touched object


class Search(NamedTuple):
    """Where a walk stands: after so many atoms the object, the edge and the argument to be tried next, and its hash."""

    used: NDArray[np.bool_]  # [a]
    at: Ints
    edge: Ints
    place: Ints
    said: Hashes


@compiled
def _search(atoms: int, longest: int) -> Search:
    return Search(
        np.zeros(atoms, np.bool_),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.uint64),
    )


@compiled
def _no_links(objects: int) -> Links:
    return Links(
        np.full(objects, -1, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
    )


@compiled
def _wider(values: Ints) -> Ints:
    wider = np.empty(2 * len(values), np.int32)
    wider[: len(values)] = values
    return wider


@compiled
def _linked(
    layout: MarkedLayout,
    links: Links,
    touched: Ints,
    touches: int,
    is_touched: NDArray[np.bool_],
    is_changed: NDArray[np.bool_],
    edges: Ints,
    edge_atom: Ints,
    edge_position: Ints,
) -> Links:
    """The links of untouched objects to the touched ones. No object has links before."""
    before, atoms, ports, targets = links.before, links.atom, links.ports, links.target
    count = 0
    for which in range(touches):
        thing = touched[which]
        for edge in range(edges[thing], edges[thing + 1]):
            atom = edge_atom[edge]
            if is_changed[atom] or not layout.walkable[atom]:
                continue
            begin = layout.first_argument[atom]
            for place in range(begin, layout.first_argument[atom + 1]):
                other = layout.arguments[place]
                if place - begin == edge_position[edge] or is_touched[other]:
                    continue
                if count == len(before):
                    before, atoms, ports, targets = _wider(before), _wider(atoms), _wider(ports), _wider(targets)
                before[count], atoms[count], targets[count] = links.last[other], atom, thing
                ports[count] = (place - begin) * 64 + edge_position[edge]
                links.last[other] = count
                count += 1
    return Links(links.last, before, atoms, ports, targets)


@compiled
def _walks(
    layout: MarkedLayout,
    open_atoms: int,
    closed_atoms: int,
    start: int,
    token: Hashes,
    is_touched: NDArray[np.bool_],
    is_changed: NDArray[np.bool_],
    links: Links,
    search: Search,
    edges: Ints,
    edge_atom: Ints,
    edge_position: Ints,
    colour: Hashes,
    buffer: Hashes,
    found: int,
) -> tuple[Hashes, int]:
    """Adds the walks from a touched object that use no atom twice and pass no other touched object.

    A walk ends open after at most `open_atoms` atoms, or closed on a touched object after at most `closed_atoms`. The
    last atom of a closed walk is found by its link, not by looking at all atoms of the last object but one.
    """
    used, at, edge, place, said = search
    depth = 0
    at[0], said[0] = start, pair(STEP, number(STEP, 0), token[start])
    edge[0], place[0] = edges[start], -1
    while depth >= 0:
        if edge[depth] == edges[at[depth] + 1]:
            depth -= 1
            if depth >= 0:
                used[edge_atom[edge[depth]]] = False
            continue
        atom = edge_atom[edge[depth]]
        begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
        if place[depth] == -1:
            if used[atom] or is_changed[atom] or not layout.walkable[atom]:
                edge[depth] += 1
                continue
            if end - begin == 1 and depth < open_atoms:
                if found == len(buffer):
                    buffer = _grown(buffer)
                buffer[found] = pair(OPEN, said[depth], colour[atom])
                found += 1
            place[depth] = begin
        if place[depth] == end:
            edge[depth] += 1
            place[depth] = -1
            continue
        argument = place[depth]
        place[depth] += 1
        if argument - begin == edge_position[edge[depth]]:
            continue
        thing = layout.arguments[argument]
        length = depth + 1
        if is_touched[thing] and (depth > 0 or length > closed_atoms):
            continue  # the link to it was followed already
        # What a further step could still be: the last of a closed walk, one inside a walk, the end of an open walk.
        closes = length + 1 <= closed_atoms and not is_touched[thing] and links.last[thing] >= 0
        deeper = length + 2 <= closed_atoms or length + 1 <= open_atoms
        if not (is_touched[thing] or closes or deeper or length <= open_atoms):
            continue
        ports = np.uint64(edge_position[edge[depth]] * 64 + (argument - begin))
        walk = pair(STEP, said[depth], pair(STEP, colour[atom], ports))
        if is_touched[thing]:
            if found == len(buffer):
                buffer = _grown(buffer)
            buffer[found] = pair(CLOSED, walk, token[thing])
            found += 1
            continue
        walk = pair(STEP, walk, layout.object_colour[thing])
        if length <= open_atoms:
            if found == len(buffer):
                buffer = _grown(buffer)
            buffer[found] = pair(OPEN, walk, np.uint64(0))
            found += 1
        if closes:
            link = links.last[thing]
            while link >= 0:
                last = links.atom[link]
                if last != atom and not used[last]:
                    if found == len(buffer):
                        buffer = _grown(buffer)
                    step = pair(STEP, walk, pair(STEP, colour[last], np.uint64(links.ports[link])))
                    buffer[found] = pair(CLOSED, step, token[links.target[link]])
                    found += 1
                link = links.before[link]
        if deeper:
            used[atom] = True
            depth += 1
            at[depth], said[depth] = thing, walk
            edge[depth], place[depth] = edges[thing], -1
    return buffer, found
