"""Walks in a transition graph: from touched objects over unchanged atoms, open or closed at a touched object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined
from sgp.encoders.kernels.hashing import Hashes, number, pair
from sgp.encoders.kernels.marked_graph import CLOSED, EDGE, OBJECT, OPEN, STEP, MarkedLayout, StateGraph
from sgp.planning.hash_table import Ints, grow


class Steps(NamedTuple):
    """Steps from each object, over each atom that walks may enter at it, to each of the atom's other arguments.

    Object o has the steps `first[o]` to `first[o + 1] - 1`, and the atoms with one argument
    `single[first_single[o] : first_single[o + 1]]`. Objects that no walk leaves have none.
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
def walkable_steps(layout: MarkedLayout, graph: StateGraph, left: Ints) -> Steps:
    """Return the steps from the objects `left` over the atoms of a state's graph."""
    objects, colour = len(layout.object_colour), graph.atom_colour[0]
    steps, singles = np.zeros(objects, np.int32), np.zeros(objects, np.int32)
    for obj in left:
        for edge in range(graph.edges[obj], graph.walkable_ends[obj]):
            atom = graph.edge_atom[edge]
            arity = layout.first_argument[atom + 1] - layout.first_argument[atom]
            steps[obj] += arity - 1
            singles[obj] += arity == 1
    first, first_single = np.zeros(objects + 1, np.int32), np.zeros(objects + 1, np.int32)
    for obj in range(objects):
        first[obj + 1], first_single[obj + 1] = first[obj] + steps[obj], first_single[obj] + singles[obj]
    atoms, targets = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    there, back = np.empty(first[-1], np.uint64), np.empty(first[-1], np.uint64)
    single = np.empty(first_single[-1], np.int32)
    for obj in left:
        step, alone = first[obj], first_single[obj]
        for edge in range(graph.edges[obj], graph.walkable_ends[obj]):
            atom, position = graph.edge_atom[edge], graph.edge_position[edge]
            begin, end = layout.first_argument[atom], layout.first_argument[atom + 1]
            if end - begin == 1:
                single[alone] = atom
                alone += 1
            for place in range(begin, end):
                other = place - begin
                if other != position:
                    atoms[step], targets[step] = atom, layout.arguments[place]
                    there[step] = pair(STEP, colour[atom], np.uint64(position * 64 + other))
                    back[step] = pair(STEP, colour[atom], np.uint64(other * 64 + position))
                    step += 1
    return Steps(first, atoms, targets, there, back, first_single, single)


@compiled
def passed_colours(layout: MarkedLayout, graph: StateGraph) -> Hashes:
    """Return each object's initial colour [n], refined by the atoms of which it is the only argument."""
    passed = layout.object_colour.copy()
    for obj in range(len(passed)):
        alone = np.uint64(0)
        for edge in range(graph.edges[obj], graph.ends[obj]):
            if graph.edge_other[edge] == -1:
                alone += pair(EDGE, graph.atom_colour[0, graph.edge_atom[edge]], np.uint64(0))
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
    first, atom, target = steps.first, steps.atom, steps.target
    most = count = 0
    for which in range(touches):
        most += first[touched[which] + 1] - first[touched[which]]
    while most > len(before):
        before, stepped, origin = grow(before), grow(stepped), grow(origin)
    for which in range(touches):
        obj = touched[which]
        for step in range(first[obj], first[obj + 1]):
            other = target[step]
            if is_touched[other] or is_changed[atom[step]]:
                continue
            before[count], stepped[count], origin[count] = last[other], step, obj
            last[other] = count
            count += 1
    return Links(last, before, stepped, origin)


@compiled
def unlink(steps: Steps, links: Links, touched: Ints, touches: int) -> None:
    """Remove the links of the objects to which the touched objects lead."""
    first, target, last = steps.first, steps.target, links.last
    for which in range(touches):
        for step in range(first[touched[which]], first[touched[which] + 1]):
            last[target[step]] = -1


@inlined
def _appended(buffer: Hashes, filled: int, value: np.uint64) -> int:
    """Write a value behind the first `filled` ones if there is space, and return their number with it."""
    if filled < len(buffer):
        buffer[filled] = value
    return filled + 1


@compiled
def walks_from(
    steps: Steps,
    open_atoms: int,
    closed_atoms: int,
    starts: Ints,
    token: Hashes,
    is_touched: NDArray[np.bool_],
    is_changed: NDArray[np.bool_],
    links: Links,
    search: Search,
    atom_colour: Hashes,
    passed: Hashes,
    buffer: Hashes,
    filled: int,
) -> int:
    """Append the walks from touched objects `starts` that repeat no atom and pass no other touched object.

    An open walk has at most `open_atoms` atoms; a closed walk ends at a touched object after at most `closed_atoms`
    atoms. The last atom of a closed walk is found by the links of the walk's end, not by a search over the end's atoms.
    Returns the number of features; those beyond the end of the buffer are only counted.
    """
    # Arrays in variables: each access to a tuple's member in the loops would count references.
    used, at, next_step, path_hash = search
    first, step_atom, target, there, back, first_single, single = steps
    last_link, link_before, link_step, link_origin = links
    for start in starts:
        depth = 0
        at[0], path_hash[0], next_step[0] = start, pair(STEP, number(STEP, 0), token[start]), first[start]
        while depth >= 0:
            here, step = at[depth], next_step[depth]
            if step == first[here] and depth < open_atoms:
                for place in range(first_single[here], first_single[here + 1]):
                    atom = single[place]
                    if not is_changed[atom]:
                        filled = _appended(buffer, filled, pair(OPEN, path_hash[depth], atom_colour[atom]))
            length = depth + 1
            deeper = length + 2 <= closed_atoms or length + 1 <= open_atoms
            descends = False
            while step < first[here + 1] and not descends:
                atom, obj, hop = step_atom[step], target[step], there[step]
                step += 1
                # A step can precede the last one of a closed walk, lie inside a longer walk, or end an open walk.
                closes = length < closed_atoms and last_link[obj] >= 0
                if is_touched[obj]:
                    # At greater depth, the link already produced this closed walk.
                    if depth == 0 and closed_atoms > 0 and not is_changed[atom]:
                        filled = _appended(buffer, filled, pair(CLOSED, pair(STEP, path_hash[0], hop), token[obj]))
                    continue
                if not (closes or deeper or length <= open_atoms) or is_changed[atom] or used[atom]:
                    continue
                walk = pair(STEP, pair(STEP, path_hash[depth], hop), passed[obj])
                if length <= open_atoms:
                    filled = _appended(buffer, filled, pair(OPEN, walk, np.uint64(0)))
                if closes:
                    link = last_link[obj]
                    while link >= 0:
                        last = step_atom[link_step[link]]
                        if last != atom and not used[last]:
                            end = pair(STEP, walk, back[link_step[link]])
                            filled = _appended(buffer, filled, pair(CLOSED, end, token[link_origin[link]]))
                        link = link_before[link]
                if deeper:
                    used[atom] = True
                    descends = True
                    next_step[depth] = step
                    depth += 1
                    at[depth], path_hash[depth], next_step[depth] = obj, walk, first[obj]
            if not descends:
                depth -= 1
                if depth >= 0:
                    used[step_atom[next_step[depth] - 1]] = False
    return filled
