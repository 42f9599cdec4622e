"""Walks in a transition graph: from touched objects over unchanged atoms, open or closed at a touched object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled
from sgp.encoders.kernels.hashing import Hashes, number, pair
from sgp.encoders.kernels.marked_colours import CLOSED, EDGE, OBJECT, OPEN, STEP, MarkedLayout
from sgp.planning.hash_table import Ints, grow


class Steps(NamedTuple):
    """Steps from each object, over each atom that walks may enter at it, to each of the atom's other arguments.

    Object o has the steps `first[o]` to `first[o + 1] - 1`, and the atoms with one argument
    `single[first_single[o] : first_single[o + 1]]`.
    """

    first: Ints  # [n + 1]
    atom: Ints
    target: Ints
    there: Hashes  # hash of the atom's colour and the positions of both arguments
    back: Hashes  # the same hash from the target's side
    first_single: Ints  # [n + 1]
    single: Ints


class Links(NamedTuple):
    """For each object, the steps to it from touched objects, as linked lists: possible last steps of closed walks."""

    last: Ints  # [n], the last link of each object, or -1
    before: Ints  # the previous link of each link, or -1
    step: Ints  # from the touched object to this one
    origin: Ints  # the touched object


class Search(NamedTuple):
    """Stack of a depth-first search over walks: per depth, the object, the next step, and the walk's hash."""

    used: NDArray[np.bool_]  # [a]
    at: Ints
    step: Ints
    path_hash: Hashes


@compiled
def new_search(atoms: int, longest: int) -> Search:
    """Return a search for walks of at most `longest` atoms."""
    return Search(
        np.zeros(atoms, np.bool_),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.int32),
        np.empty(longest + 1, np.uint64),
    )


@compiled
def no_links(objects: int) -> Links:
    """Return empty links."""
    return Links(
        np.full(objects, -1, np.int32), np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32)
    )


@compiled
def walkable_steps(layout: MarkedLayout, edges: Ints, edge_atom: Ints, edge_position: Ints, colour: Hashes) -> Steps:
    """Return the steps over the atoms of a state's graph."""
    objects = len(layout.object_colour)
    first, first_single = np.zeros(objects + 1, np.int32), np.zeros(objects + 1, np.int32)
    for obj in range(objects):
        steps = singles = 0
        for edge in range(edges[obj], edges[obj + 1]):
            atom = edge_atom[edge]
            if layout.walkable[layout.first_argument[atom] + edge_position[edge]]:
                arity = layout.first_argument[atom + 1] - layout.first_argument[atom]
                steps += arity - 1
                singles += arity == 1
        first[obj + 1], first_single[obj + 1] = first[obj] + steps, first_single[obj] + singles
    atoms, targets = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    there, back = np.empty(first[-1], np.uint64), np.empty(first[-1], np.uint64)
    single = np.empty(first_single[-1], np.int32)
    step = singles = 0
    for obj in range(objects):
        for edge in range(edges[obj], edges[obj + 1]):
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
    """Return each object's initial colour [n], refined by the atoms of which it is the only argument."""
    passed = layout.object_colour.copy()
    for obj in range(len(passed)):
        alone = np.uint64(0)
        for edge in range(edges[obj], edges[obj + 1]):
            atom = edge_atom[edge]
            if layout.first_argument[atom + 1] - layout.first_argument[atom] == 1:
                alone += pair(EDGE, colour[atom], np.uint64(0))
        if alone != 0:
            passed[obj] = pair(OBJECT, passed[obj], alone)
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
    """Return the links from touched objects to untouched objects. No object may have links before."""
    last, before, stepped, origin = links
    count = 0
    for which in range(touches):
        obj = touched[which]
        for step in range(steps.first[obj], steps.first[obj + 1]):
            other = steps.target[step]
            if is_touched[other] or is_changed[steps.atom[step]]:
                continue
            if count == len(before):
                before, stepped, origin = grow(before), grow(stepped), grow(origin)
            before[count], stepped[count], origin[count] = last[other], step, obj
            last[other] = count
            count += 1
    return Links(last, before, stepped, origin)


@compiled
def unlink(steps: Steps, links: Links, touched: Ints, touches: int) -> None:
    """Remove the links of the objects to which the touched objects lead."""
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
    filled: int,
) -> tuple[Hashes, int]:
    """Append the walks from a touched object that repeat no atom and pass no other touched object.

    An open walk has at most `open_atoms` atoms; a closed walk ends at a touched object after at most `closed_atoms`
    atoms. The last atom of a closed walk is found by the links of the walk's end, not by a search over the end's atoms.
    """
    used, at, next_step, path_hash = search
    depth = 0
    at[0], path_hash[0], next_step[0] = start, pair(STEP, number(STEP, 0), token[start]), steps.first[start]
    while depth >= 0:
        here, step = at[depth], next_step[depth]
        if step == steps.first[here] and depth < open_atoms:
            for place in range(steps.first_single[here], steps.first_single[here + 1]):
                atom = steps.single[place]
                if not is_changed[atom]:
                    if filled == len(buffer):
                        buffer = grow(buffer)
                    buffer[filled] = pair(OPEN, path_hash[depth], atom_colour[atom])
                    filled += 1
        length = depth + 1
        deeper = length + 2 <= closed_atoms or length + 1 <= open_atoms
        descends = False
        while step < steps.first[here + 1] and not descends:
            atom, obj, hop = steps.atom[step], steps.target[step], steps.there[step]
            step += 1
            # A step can precede the last one of a closed walk, lie inside a longer walk, or end an open walk.
            closes = length < closed_atoms and links.last[obj] >= 0
            if is_touched[obj]:
                # At greater depth, the link already produced this closed walk.
                if depth == 0 and closed_atoms > 0 and not is_changed[atom]:
                    if filled == len(buffer):
                        buffer = grow(buffer)
                    buffer[filled] = pair(CLOSED, pair(STEP, path_hash[0], hop), token[obj])
                    filled += 1
                continue
            if not (closes or deeper or length <= open_atoms) or is_changed[atom] or used[atom]:
                continue
            walk = pair(STEP, pair(STEP, path_hash[depth], hop), passed[obj])
            if length <= open_atoms:
                if filled == len(buffer):
                    buffer = grow(buffer)
                buffer[filled] = pair(OPEN, walk, np.uint64(0))
                filled += 1
            if closes:
                link = links.last[obj]
                while link >= 0:
                    last = steps.atom[links.step[link]]
                    if last != atom and not used[last]:
                        if filled == len(buffer):
                            buffer = grow(buffer)
                        end = pair(STEP, walk, steps.back[links.step[link]])
                        buffer[filled] = pair(CLOSED, end, token[links.origin[link]])
                        filled += 1
                    link = links.before[link]
            if deeper:
                used[atom] = True
                descends = True
                next_step[depth] = step
                depth += 1
                at[depth], path_hash[depth], next_step[depth] = obj, walk, steps.first[obj]
        if not descends:
            depth -= 1
            if depth >= 0:
                used[steps.atom[next_step[depth] - 1]] = False
    return buffer, filled
