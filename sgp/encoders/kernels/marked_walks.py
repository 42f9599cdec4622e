"""Walks of a transition: from touched objects over unchanged atoms, open or closed on a touched object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.encoders.kernels.marked_graph import CLOSED, EDGE, OBJECT, OPEN, STEP, Hashes, Ints, MarkedLayout, number, pair


class Steps(NamedTuple):
    """From each object over each atom of a state's graph that may be entered there to each of its other arguments.

    Those of object o are the numbers from `first[o]` up to `first[o + 1]`; its atoms of one argument are
    `single[first_single[o] : first_single[o + 1]]`.
    """

    first: Ints  # [n + 1]
    atom: Ints
    target: Ints
    there: Hashes  # the atom's colour and the positions of both arguments
    back: Hashes  # the same, seen from the target
    first_single: Ints  # [n + 1]
    single: Ints


class Links(NamedTuple):
    """For each object the steps that join it to a touched object, as linked lists: how closed walks end."""

    last: Ints  # [n], of each object, or -1
    before: Ints  # of each link the one before it, or -1
    step: Ints  # from the touched object to this one
    origin: Ints  # the touched object


class Search(NamedTuple):
    """Where a walk stands: after so many atoms the object, the step to be tried next, and its hash."""

    used: NDArray[np.bool_]  # [a]
    at: Ints
    step: Ints
    said: Hashes


@compiled
def new_search(atoms: int, longest: int) -> Search:
    """Room for walks of so many atoms."""
    return Search(
        np.zeros(atoms, np.bool_),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.uint64),
    )


@compiled
def no_links(objects: int) -> Links:
    """No links, and room for some."""
    return Links(
        np.full(objects, -1, np.int32), np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32)
    )


@compiled
def walkable_steps(layout: MarkedLayout, edges: Ints, edge_atom: Ints, edge_position: Ints, colour: Hashes) -> Steps:
    """The steps over the atoms of a state's graph."""
    objects = len(layout.object_colour)
    first, first_single = np.zeros(objects + 1, np.int32), np.zeros(objects + 1, np.int32)
    for thing in range(objects):
        steps = singles = 0
        for edge in range(edges[thing], edges[thing + 1]):
            atom = edge_atom[edge]
            if layout.walkable[layout.first_argument[atom] + edge_position[edge]]:
                arity = layout.first_argument[atom + 1] - layout.first_argument[atom]
                steps += arity - 1
                singles += arity == 1
        first[thing + 1], first_single[thing + 1] = first[thing] + steps, first_single[thing] + singles
    atoms, targets = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    there, back = np.empty(first[-1], np.uint64), np.empty(first[-1], np.uint64)
    single = np.empty(first_single[-1], np.int32)
    step = singles = 0
    for thing in range(objects):
        for edge in range(edges[thing], edges[thing + 1]):
            atom, position = edge_atom[edge], edge_position[edge]
            begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
            if not layout.walkable[begin + position]:
                continue
            if end - begin == 1:
                single[singles] = atom
                singles += 1
            for place in range(begin, end):
                other = place - begin
                if other != position:
                    atoms[step], targets[step] = atom, layout.arguments[place]
                    there[step] = pair(STEP, colour[atom], np.uint64(position * 64 + other))
                    back[step] = pair(STEP, colour[atom], np.uint64(other * 64 + position))
                    step += 1
    return Steps(first, atoms, targets, there, back, first_single, single)


@compiled
def passed_colours(layout: MarkedLayout, edges: Ints, edge_atom: Ints, colour: Hashes) -> Hashes:
    """Of each object [n] its first colour, with the atoms of it alone in a state's graph."""
    passed = layout.object_colour.copy()
    for thing in range(len(passed)):
        alone = np.uint64(0)
        for edge in range(edges[thing], edges[thing + 1]):
            atom = edge_atom[edge]
            if layout.first_argument[atom + 1] - layout.first_argument[atom] == 1:
                alone += pair(EDGE, colour[atom], np.uint64(0))
        if alone != 0:
            passed[thing] = pair(OBJECT, passed[thing], alone)
    return passed


@compiled
def linked(
    steps: Steps,
    links: Links,
    touched: Ints,
    touches: int,
    is_touched: NDArray[np.bool_],
    is_changed: NDArray[np.bool_],
) -> Links:
    """The links of untouched objects to the touched ones. No object has links before."""
    last, before, stepped, origin = links
    count = 0
    for which in range(touches):
        thing = touched[which]
        for step in range(steps.first[thing], steps.first[thing + 1]):
            other = steps.target[step]
            if is_touched[other] or is_changed[steps.atom[step]]:
                continue
            if count == len(before):
                before, stepped, origin = longer(before), longer(stepped), longer(origin)
            before[count], stepped[count], origin[count] = last[other], step, thing
            last[other] = count
            count += 1
    return Links(last, before, stepped, origin)


@compiled
def unlink(steps: Steps, links: Links, touched: Ints, touches: int) -> None:
    """Forgets the links of the objects that the touched ones lead to."""
    for which in range(touches):
        for step in range(steps.first[touched[which]], steps.first[touched[which] + 1]):
            links.last[steps.target[step]] = -1


@compiled
def walks_from(
    steps: Steps,
    open_atoms: int,
    closed_atoms: int,
    start: int,
    token: Hashes,
    is_touched: NDArray[np.bool_],
    is_changed: NDArray[np.bool_],
    links: Links,
    search: Search,
    atom_colour: Hashes,
    passed: Hashes,
    buffer: Hashes,
    found: int,
) -> tuple[Hashes, int]:
    """Adds the walks from a touched object that use no atom twice and pass no other touched object.

    A walk ends open after at most `open_atoms` atoms, or closed on a touched object after at most `closed_atoms`. The
    last atom of a closed walk is found by its link, from the walk's end, not by looking at all atoms of the last object
    but one.
    """
    used, at, next_step, said = search
    depth = 0
    at[0], said[0], next_step[0] = start, pair(STEP, number(STEP, 0), token[start]), steps.first[start]
    while depth >= 0:
        here, step = at[depth], next_step[depth]
        if step == steps.first[here] and depth < open_atoms:
            for place in range(steps.first_single[here], steps.first_single[here + 1]):
                atom = steps.single[place]
                if not is_changed[atom]:
                    if found == len(buffer):
                        buffer = longer(buffer)
                    buffer[found] = pair(OPEN, said[depth], atom_colour[atom])
                    found += 1
        length = depth + 1
        deeper = length + 2 <= closed_atoms or length + 1 <= open_atoms
        descends = False
        while step < steps.first[here + 1] and not descends:
            atom, thing, hop = steps.atom[step], steps.target[step], steps.there[step]
            step += 1
            # What a further step could still be: the last of a closed walk, one inside a walk, the end of an open one.
            closes = length < closed_atoms and links.last[thing] >= 0
            if is_touched[thing]:
                # Later on the way the link to it was followed already.
                if depth == 0 and closed_atoms > 0 and not is_changed[atom]:
                    if found == len(buffer):
                        buffer = longer(buffer)
                    buffer[found] = pair(CLOSED, pair(STEP, said[0], hop), token[thing])
                    found += 1
                continue
            if not (closes or deeper or length <= open_atoms) or is_changed[atom] or used[atom]:
                continue
            walk = pair(STEP, pair(STEP, said[depth], hop), passed[thing])
            if length <= open_atoms:
                if found == len(buffer):
                    buffer = longer(buffer)
                buffer[found] = pair(OPEN, walk, np.uint64(0))
                found += 1
            if closes:
                link = links.last[thing]
                while link >= 0:
                    last = steps.atom[links.step[link]]
                    if last != atom and not used[last]:
                        if found == len(buffer):
                            buffer = longer(buffer)
                        end = pair(STEP, walk, steps.back[links.step[link]])
                        buffer[found] = pair(CLOSED, end, token[links.origin[link]])
                        found += 1
                    link = links.before[link]
            if deeper:
                used[atom] = True
                descends = True
                next_step[depth] = step
                depth += 1
                at[depth], said[depth], next_step[depth] = thing, walk, steps.first[thing]
        if not descends:
            depth -= 1
            if depth >= 0:
                used[steps.atom[next_step[depth] - 1]] = False
    return buffer, found
