"""What a search finds from a state, as arrays that grow: a hash table tells whether a state is among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.planning.operators import Ints, Words, state_identity, taller


class Found(NamedTuple):
    """The n candidates of a state in the order in which they are generated."""

    parents: Ints  # [n], places in this list, -1 for the state itself
    actions: Ints  # [n], which action leads there from the parent
    lengths: Ints  # [n], how many lead there from the state
    goals: NDArray[np.bool_]  # [n], whether it is a goal
    identities: Words  # [n, 2], equal where the states are equal (and else with a probability of 2^-128)
    first: NDArray[np.int64]  # [n + 1]
    changed: Ints  # candidate i differs from the state in the fluents changed[first[i] : first[i + 1]]


@compiled
def no_records(room: int) -> Found:
    """No candidates, and room for some."""
    parents, actions, lengths = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    goals, identities = np.empty(room, np.bool_), np.empty((room, 2), np.uint64)
    return Found(
        parents, actions, lengths, goals, identities, np.zeros(room + 1, np.int64), np.empty(4 * room, np.int32)
    )


@compiled
def with_room(records: Found, slots: Ints, count: int, changes: int) -> tuple[Found, Ints]:
    """The first candidates and their hash table, with room for another that differs from the state in so much."""
    parents, actions, lengths, goals, identities, first, changed = records
    while first[count] + changes > len(changed):
        changed = longer(changed)
    if count == len(parents):
        parents, actions, lengths, goals = longer(parents), longer(actions), longer(lengths), longer(goals)
        first, identities = longer(first), taller(identities)
        slots = _hash_table(identities, count, 2 * len(slots))
    return Found(parents, actions, lengths, goals, identities, first, changed), slots


@compiled
def record(
    records: Found, place: int, parent: int, action: int, is_goal: bool, one: Words, change: Ints, changes: int
) -> None:
    """Writes a candidate that one action leads to from its parent."""
    begin = records.first[place]
    records.parents[place], records.actions[place], records.goals[place] = parent, action, is_goal
    records.lengths[place] = 1 if parent < 0 else records.lengths[parent] + 1
    records.identities[place], records.first[place + 1] = one, begin + changes
    for which in range(changes):
        records.changed[begin + which] = change[which]


@compiled
def _hash_table(identities: Words, count: int, size: int) -> Ints:
    """The places of the first states in a hash table by identity; the rest of its slots are -1."""
    slots = np.full(size, -1, np.int32)
    for place in range(count):
        slots[slot_of(slots, identities, identities[place])] = place
    return slots


@compiled
def without_room(records: Found, count: int) -> Found:
    """The first candidates without the room that was kept for more."""
    return Found(
        records.parents[:count],
        records.actions[:count],
        records.lengths[:count],
        records.goals[:count],
        records.identities[:count],
        records.first[: count + 1],
        records.changed[: records.first[count]],
    )


@compiled
def slot_of(slots: Ints, identities: Words, one: Words) -> np.int64:
    """Where a state stands in the hash table, or where there is room for it."""
    slot = np.int64(one[0] & np.uint64(len(slots) - 1))
    while slots[slot] >= 0 and (identities[slots[slot], 0] != one[0] or identities[slots[slot], 1] != one[1]):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@compiled
def identified(fluents: Ints, first: NDArray[np.int64], changed: Ints) -> Words:
    """The identities [n, 2] of states that differ from the one with these fluents in some [n]."""
    found = np.empty((len(first) - 1, 2), np.uint64)
    here = state_identity(fluents)
    for place in range(len(found)):
        found[place] = here ^ state_identity(changed[first[place] : first[place + 1]])
    return found
