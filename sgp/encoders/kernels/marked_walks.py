"""Walks of a transition: from touched objects over unchanged atoms, open or closed on a touched object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.encoders.kernels.marked_graph import CLOSED, OPEN, STEP, Hashes, Ints, MarkedLayout, number, pair


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
def new_search(atoms: int, longest: int) -> Search:
    """Room for walks of so many atoms."""
    return Search(
        np.zeros(atoms, np.bool_),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.uint64),
    )


@compiled
def no_links(objects: int) -> Links:
    """No links, and room for some."""
    return Links(
        np.full(objects, -1, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
    )


@compiled
def linked(
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
                    before, atoms, ports, targets = longer(before), longer(atoms), longer(ports), longer(targets)
                before[count], atoms[count], targets[count] = links.last[other], atom, thing
                ports[count] = (place - begin) * 64 + edge_position[edge]
                links.last[other] = count
                count += 1
    return Links(links.last, before, atoms, ports, targets)


@compiled
def walks_from(
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
                    buffer = longer(buffer)
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
                buffer = longer(buffer)
            buffer[found] = pair(CLOSED, walk, token[thing])
            found += 1
            continue
        walk = pair(STEP, walk, layout.object_colour[thing])
        if length <= open_atoms:
            if found == len(buffer):
                buffer = longer(buffer)
            buffer[found] = pair(OPEN, walk, np.uint64(0))
            found += 1
        if closes:
            link = links.last[thing]
            while link >= 0:
                last = links.atom[link]
                if last != atom and not used[last]:
                    if found == len(buffer):
                        buffer = longer(buffer)
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
