"""Features of transitions, local to the change: marked colours, tokens and walks, for all candidates of a state.

A transition (s, s') is a graph of objects and atoms. An atom's colour tells its predicate, whether it is true in s and
in s', and its place in the goal; edges carry the argument's position. Every feature is a 64-bit hash that is present
or not. Two different features share a hash with a probability of about 10^-19.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.encoders.kernels.marked_graph import (
    ATOM,
    COLOUR,
    EDGE,
    LEVEL,
    OBJECT,
    TOKEN,
    Hashes,
    Ints,
    MarkedLayout,
    incidence,
    marked,
    number,
    pair,
)
from sgp.encoders.kernels.marked_sets import (
    Vocabulary,
    find,
    no_exchange,
    take_columns,
    total_after,
    total_of_set,
    wider_exchange,
)
from sgp.encoders.kernels.marked_walks import linked, new_search, no_links, unlink, walkable_steps, walks_from


@compiled
def transition_features(
    layout: MarkedLayout,
    iterations: int,
    open_atoms: int,
    closed_atoms: int,
    counted: bool,
    state: Ints,
    first: NDArray[np.int64],
    changed: Ints,
    vocabulary: Vocabulary,
) -> tuple[NDArray[np.int64], Hashes]:
    """The features of the transitions from a state to each of b candidates.

    The fluent atoms true in the state are `state`; candidate i differs from it in `changed[first[i] : first[i + 1]]`.
    Gives where each candidate's features begin [b + 1], and the features, ascending and each once, or as often as it
    occurs if `counted`: as their places in the vocabulary, others dropped, or as hashes where the vocabulary is empty.
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
    edges, edge_atom, edge_position = incidence(layout, nodes, count)

    # The colours that all nodes have without a change.
    atom_colour = np.zeros((iterations + 1, known), np.uint64)
    object_colour = np.zeros((iterations + 1, objects), np.uint64)
    object_colour[0] = layout.object_colour
    around = np.empty((iterations, len(edge_atom)), np.uint64)  # hashes of each object's edges, ascending
    total_around = np.zeros((iterations, objects), np.uint64)
    for node in range(count):
        atom = nodes[node]
        atom_colour[0, atom] = marked(layout.kind[atom], before[atom], before[atom])
    for level in range(iterations):
        for node in range(count):
            atom_colour[level + 1, nodes[node]] = _refined_atom(
                layout, nodes[node], atom_colour[level], object_colour[level]
            )
        for thing in range(objects):
            start, end = edges[thing], edges[thing + 1]
            for edge in range(start, end):
                around[level, edge] = pair(EDGE, atom_colour[level, edge_atom[edge]], np.uint64(edge_position[edge]))
            total_around[level, thing] = total_of_set(around[level, start:end])
            object_colour[level + 1, thing] = pair(OBJECT, object_colour[level, thing], total_around[level, thing])

    new_atom, new_object = atom_colour.copy(), object_colour.copy()
    atom_differs = np.zeros((iterations + 1, known), np.bool_)
    object_differs = np.zeros((iterations + 1, objects), np.bool_)
    atom_reached, object_reached = np.zeros(known, np.bool_), np.zeros(objects, np.bool_)
    reached_atoms, reached_objects = np.empty(known, np.int32), np.empty(objects, np.int32)
    is_changed = np.zeros(known, np.bool_)
    touched, is_touched = np.empty(objects, np.int32), np.zeros(objects, np.bool_)
    token, next_token = np.zeros(objects, np.uint64), np.zeros(objects, np.uint64)
    exchange = no_exchange(objects)
    steps = walkable_steps(layout, edges, edge_atom, edge_position, atom_colour[0])
    links = no_links(objects)
    search = new_search(known, max(open_atoms, closed_atoms))

    by_column = len(vocabulary.hashes) > 0 and not counted
    present = np.zeros((len(vocabulary.hashes) + 63) // 64, np.uint64)  # a bit for each column
    starts = np.zeros(len(first), np.int64)
    out = np.empty(1024, np.uint64)
    total = 0
    buffer = np.empty(256, np.uint64)
    small, near = np.empty(64, np.uint64), np.empty(64, np.uint64)
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
                buffer = longer(buffer)
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
                        buffer = longer(buffer)
                    buffer[found] = pair(COLOUR, number(LEVEL, level + 1), colour)
                    found += 1
            # What the edges to recoloured atoms were and are, listed by object.
            exchanged = 0
            for which in range(atoms_before):
                atom = reached_atoms[which]
                if atom_differs[level, atom]:
                    begin = layout.first_argument[atom]
                    while exchanged + layout.first_argument[atom + 1] - begin > len(exchange.before):
                        exchange = wider_exchange(exchange)
                    for place in range(begin, layout.first_argument[atom + 1]):
                        thing = layout.arguments[place]
                        exchange.before[exchanged] = exchange.last[thing]
                        exchange.was[exchanged] = pair(EDGE, atom_colour[level, atom], np.uint64(place - begin))
                        exchange.has[exchanged] = in_graph[atom]
                        exchange.now[exchanged] = pair(EDGE, new_atom[level, atom], np.uint64(place - begin))
                        exchange.last[thing] = exchanged
                        exchanged += 1
            for which in range(objects_reached):
                thing = reached_objects[which]
                total_now = total_after(
                    exchange, thing, total_around[level, thing], around[level, edges[thing] : edges[thing + 1]]
                )
                exchange.last[thing] = -1
                colour = pair(OBJECT, new_object[level, thing], total_now)
                new_object[level + 1, thing] = colour
                if colour != object_colour[level + 1, thing]:
                    object_differs[level + 1, thing] = True
                    if found == len(buffer):
                        buffer = longer(buffer)
                    buffer[found] = pair(COLOUR, number(LEVEL, level + 1), colour)
                    found += 1

        # Tokens: two rounds on the graph of the changed atoms and their arguments alone.
        for which in range(touches):
            token[touched[which]] = layout.object_colour[touched[which]]
        arguments = 0
        for change in range(begins, ends):
            arguments += layout.first_argument[changed[change] + 1] - layout.first_argument[changed[change]]
        while max(changes, arguments) > len(small):
            small, near = longer(small), longer(near)
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
                            near[size] = pair(EDGE, small[change], np.uint64(place - begin))
                            size += 1
                next_token[thing] = pair(OBJECT, token[thing], total_of_set(near[:size]))
            for change in range(changes):
                value = np.uint64(0)
                begin = layout.first_argument[changed[begins + change]]
                for place in range(begin, layout.first_argument[changed[begins + change] + 1]):
                    value += pair(EDGE, token[layout.arguments[place]], np.uint64(place - begin))
                small[change] = pair(ATOM, small[change], value)
            for which in range(touches):
                token[touched[which]] = next_token[touched[which]]
        while found + changes + touches > len(buffer):
            buffer = longer(buffer)
        for change in range(changes):
            buffer[found] = pair(TOKEN, number(ATOM, 0), small[change])
            found += 1
        for which in range(touches):
            buffer[found] = pair(TOKEN, number(OBJECT, 0), token[touched[which]])
            found += 1

        # Walks over what did not change.
        if open_atoms > 0 or closed_atoms > 0:
            if closed_atoms > 1:
                links = linked(steps, links, touched, touches, is_touched, is_changed)
            for which in range(touches):
                buffer, found = walks_from(
                    steps, open_atoms, closed_atoms, touched[which], token, is_touched, is_changed, links, search,
                    atom_colour[0], layout.object_colour, buffer, found,
                )  # fmt: skip
            if closed_atoms > 1:
                unlink(steps, links, touched, touches)

        # Each feature once, unless they are counted.
        while total + found > len(out):
            out = longer(out)
        if by_column:
            for place in range(found):
                column = find(vocabulary, buffer[place])
                if column >= 0:
                    present[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
            total = take_columns(present, out, total)
        else:
            kept = found
            if counted and len(vocabulary.hashes) > 0:
                kept = 0
                for place in range(found):
                    column = find(vocabulary, buffer[place])
                    if column >= 0:
                        buffer[kept] = np.uint64(column)
                        kept += 1
            features = buffer[:kept]
            features.sort()
            for place in range(kept):
                if counted or place == 0 or features[place] != features[place - 1]:
                    out[total] = features[place]
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
