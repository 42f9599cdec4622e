"""The states that a search of width 1 expands, and what it asks of them: none costs more in a larger problem.

States are what they differ from the first one in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled
from sgp.planning.found import Found
from sgp.planning.operators import (
    Goal,
    Ints,
    Words,
    half_identity,
    has,
    lacking,
    reached,
    state_identity,
    toggle,
    unsatisfied,
    words_of,
)


class Search(NamedTuple):
    """How far a search goes: 0 is no limit, but for `most`."""

    layer: int  # novel states kept at each depth, those that satisfy more of the goal first
    enough: int  # it ends after a depth when so many were novel and one of them has more goal atoms than the state
    most: int  # candidates


class Origin(NamedTuple):
    """The state that a search starts from, and what is asked of it again and again."""

    state: Words
    identity: Words
    wanted: NDArray[np.bool_]  # [a], by the goal
    unwanted: NDArray[np.bool_]  # [a]


class Nodes(NamedTuple):
    """The states that are expanded."""

    candidate: Ints  # which each is, -1 for the state itself
    lacking: Ints  # how many of the fluents that the goal wants true are not
    unsatisfied: Ints  # how many of the goal's fluents are not as it wants them


@compiled
def origin_of(goal: Goal, atoms: int, fluents: Ints) -> Origin:
    """What a search asks of the state in which just these fluents are true."""
    wanted, unwanted = np.zeros(atoms, np.bool_), np.zeros(atoms, np.bool_)
    wanted[goal.wanted], unwanted[goal.unwanted] = True, True
    return Origin(words_of(fluents, atoms), state_identity(fluents), wanted, unwanted)


@compiled
def first_node(goal: Goal, origin: Words) -> Nodes:
    """The state itself, and room for more."""
    nodes = Nodes(np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32))
    nodes.candidate[0], nodes.lacking[0], nodes.unsatisfied[0] = -1, lacking(origin, goal), unsatisfied(origin, goal)
    return nodes


@compiled
def expand(nodes: Nodes, place: int, candidate: int, origin: Origin, changed: Ints) -> None:
    """Writes a node that differs from the state in some fluents."""
    lacks = wrong = 0
    for fluent in changed:
        held = has(origin.state, fluent)
        if origin.wanted[fluent]:
            lacks += 1 if held else -1
        if origin.unwanted[fluent]:
            wrong += -1 if held else 1
    nodes.candidate[place], nodes.lacking[place] = candidate, nodes.lacking[0] + lacks
    nodes.unsatisfied[place] = nodes.unsatisfied[0] + lacks + wrong


@compiled
def changed_in(records: Found, candidate: int) -> Ints:
    """The fluents in which a candidate differs from the state; none for the state itself, -1."""
    if candidate < 0:
        return records.changed[:0]
    return records.changed[records.first[candidate] : records.first[candidate + 1]]


@compiled
def exchanged(change: Ints, count: int, fluent: int) -> int:
    """Takes a fluent out of ascending ones, or puts it in; how many there are then."""
    place = count
    while place > 0 and change[place - 1] >= fluent:
        place -= 1
    if place < count and change[place] == fluent:
        for later in range(place, count - 1):
            change[later] = change[later + 1]
        return count - 1
    for later in range(count, place, -1):
        change[later] = change[later - 1]
    change[place] = fluent
    return count + 1


@compiled
def reaches(present: Words, differs: Ints, change: Ints, goal: Goal) -> bool:
    """Whether the state that differs in `change` is a goal, where the present one differs in `differs`."""
    toggle(present, differs)
    toggle(present, change)
    found = reached(present, goal)
    toggle(present, change)
    toggle(present, differs)
    return found


@compiled
def identify(here: Words, change: Ints, changes: int, one: Words) -> None:
    """Writes the identity [2] of a state into `one`; it differs from the state of identity `here` in `changes`."""
    one[:] = here
    for which in range(changes):
        one[0] ^= half_identity(change[which], 0)
        one[1] ^= half_identity(change[which], 1)


@compiled
def layer_end_of(nodes: Nodes, begin: int, end: int, most: int) -> int:
    """Where a layer ends that keeps `most` of its states, those that satisfy more of the goal; 0 keeps all."""
    if not 0 < most < end - begin:
        return end
    order = begin + np.argsort(nodes.unsatisfied[begin:end], kind="mergesort")[:most]  # stable: first seen, first kept
    for values in (nodes.candidate, nodes.lacking, nodes.unsatisfied):
        values[begin : begin + most] = values[order]
    return begin + most
