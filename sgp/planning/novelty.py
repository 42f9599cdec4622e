"""Searches over a ground model, compiled: the successors and the candidates of width 1, without making states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.planning.clock import Flag
from sgp.planning.operators import (
    Goal,
    Ints,
    Lists,
    Operators,
    Words,
    applicable_actions,
    applicable_after,
    applicable_in,
    apply,
    half_identity,
    has,
    lacking,
    looked_at,
    looked_at_after,
    reached,
    state_identity,
    taller,
    unsatisfied,
    words_of,
)
from sgp.planning.symmetry import (
    Symmetry,
    ranked,
    representatives,
    signatures_after,
    signatures_in,
    stands_for_all,
)


class Search(NamedTuple):
    """How far a search goes: 0 is no limit, but for `most`."""

    layer: int  # novel states kept at each depth, those that satisfy more of the goal first
    enough: int  # it ends after a depth when so many were novel and one of them has more goal atoms than the state
    most: int  # candidates


class Found(NamedTuple):
    """The n candidates of a state in the order in which they are generated."""

    parents: Ints  # [n], places in this list, -1 for the state itself
    actions: Ints  # [n], which action leads there from the parent
    lengths: Ints  # [n], how many lead there from the state
    goals: NDArray[np.bool_]  # [n], whether it is a goal
    identities: Words  # [n, 2], equal where the states are equal (and else with a probability of 2^-128)
    first: NDArray[np.int64]  # [n + 1]
    changed: Ints  # candidate i differs from the state in the fluents changed[first[i] : first[i + 1]]


class Origin(NamedTuple):
    """The state that a search starts from, and what is asked of it again and again."""

    state: Words
    identity: Words
    applicable: Ints  # the actions in their order
    watched: int  # how many actions were looked at for it
    lacked: int  # how many of the fluents that the goal wants true are not


@compiled
def novel_states(
    operators: Operators,
    forms: Lists,
    form_count: int,
    goal: Goal,
    atoms: int,
    state: Ints,
    search: Search,
    symmetry: Symmetry,
    stop: Flag,
) -> Found:
    """All successors of a state, all novel states, and goal states; none twice, nor the state itself.

    Of actions that differ in objects alone that `symmetry` says are interchangeable, one is applied.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`: a state is novel if one of
    its forms was true in no state generated before it. Novel states are expanded. Ends early once `stop` [1] is true.
    """
    applicable = np.empty(len(operators.adds.first), np.int32)  # actions in the node
    origin = _origin(operators, goal, atoms, state, applicable)
    table, owner = _first_layer(origin.state)
    layer, layer_end, expanded = 0, 1, 1  # where the present layer begins and ends among the expanded states
    seen = _forms_of(state, forms, form_count)
    largest = _most_added(operators.adds)
    records, slots = _no_records(256), np.full(1024, -1, np.int32)
    after, change, one = np.empty_like(origin.state), np.empty(atoms, np.int32), np.empty(2, np.uint64)
    found, novelties, progress = 0, 0, False
    alike, here = len(symmetry.always) > 0, signatures_in(symmetry, origin.state)
    ranks = ranked(here)
    while layer < layer_end and not (0 < search.enough <= novelties and progress):
        for node in range(layer, layer_end):
            present, parent = table[node], owner[node]
            near = len(goal.unwanted) > 0 or lacking(present, goal) <= largest  # one action might reach the goal
            differs = _changed_in(records, parent)
            if looked_at_after(present, operators, origin.applicable, differs) < origin.watched:
                total = applicable_after(present, operators, origin.state, origin.applicable, differs, applicable)
            else:
                total = applicable_in(present, operators, applicable)
            if alike and parent >= 0:
                ranks = ranked(signatures_after(symmetry, here, present, differs))
            for action in applicable[:total]:
                if stop[0]:
                    return _without_room(records, found)
                new = _adds_unseen(operators.adds, action, forms, seen)
                if not (new or near or node == 0) or (alike and not stands_for_all(symmetry, ranks, action)):
                    continue
                after[:] = present
                apply(after, operators, action)
                changes = _difference(after, origin.state, change)
                is_goal = near and reached(after, goal)
                if changes == 0 or not (new or node == 0 or is_goal):
                    continue
                _identify(origin.identity, change, changes, one)
                if found == len(records.parents) or records.first[found] + changes > len(records.changed):
                    records, slots = _with_room(records, slots, found, changes)
                slot = _slot(slots, records.identities, one)
                if slots[slot] >= 0:
                    continue
                slots[slot] = found
                _record(records, found, parent, action, is_goal, one, change, changes)
                found += 1
                if new:
                    _see(operators.adds, action, forms, seen)
                    if expanded == len(table):
                        table, owner = taller(table), longer(owner)
                    table[expanded], owner[expanded] = after, found - 1
                    expanded += 1
                if found >= search.most:
                    return _without_room(records, found)
        novelties += expanded - layer_end
        progress = progress or (search.enough > 0 and _least_lacking(table[layer_end:expanded], goal) < origin.lacked)
        layer, layer_end = layer_end, _layer_end(table, owner, layer_end, expanded, goal, search.layer)
        expanded = layer_end
    return _without_room(records, found)


@compiled
def _origin(operators: Operators, goal: Goal, atoms: int, fluents: Ints, found: Ints) -> Origin:
    """What a search asks of the state in which just these fluents are true; `found` is overwritten."""
    state = words_of(fluents, atoms)
    actions = found[: applicable_in(state, operators, found)].copy()
    return Origin(state, state_identity(fluents), actions, looked_at(state, operators), lacking(state, goal))


@compiled
def _first_layer(origin: Words) -> tuple[Words, Ints]:
    """The states that are expanded, with room for more, and which candidates they are: as yet the state itself."""
    table, owner = np.zeros((256, len(origin)), np.uint64), np.empty(256, np.int32)
    table[0], owner[0] = origin, -1
    return table, owner


@compiled
def _forms_of(state: Ints, forms: Lists, count: int) -> NDArray[np.bool_]:
    """Which novelty forms [count] the true fluents of a state stand for."""
    seen = np.zeros(count, np.bool_)
    for atom in state:
        for place in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[place]] = True
    return seen


@compiled
def _most_added(adds: Lists) -> int:
    """The most atoms that an action adds."""
    most = 0
    for action in range(len(adds.first) - 1):
        most = max(most, adds.first[action + 1] - adds.first[action])
    return most


@compiled
def _changed_in(records: Found, candidate: int) -> Ints:
    """The fluents in which a candidate differs from the state; none for the state itself, -1."""
    if candidate < 0:
        return records.changed[:0]
    return records.changed[records.first[candidate] : records.first[candidate + 1]]


@compiled
def _adds_unseen(adds: Lists, action: int, forms: Lists, seen: NDArray[np.bool_]) -> bool:
    """Whether an action adds an atom with a novelty form that was not seen."""
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        for form in range(forms.first[atom], forms.first[atom + 1]):
            if not seen[forms.values[form]]:
                return True
    return False


@compiled
def _see(adds: Lists, action: int, forms: Lists, seen: NDArray[np.bool_]) -> None:
    """Notes the novelty forms of what an action adds."""
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        for form in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[form]] = True


@compiled
def _difference(after: Words, origin: Words, change: Ints) -> int:
    """Writes the fluents in which two states differ into `change`, ascending; how many."""
    count = 0
    for word in range(len(after)):
        bits = after[word] ^ origin[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                change[count] = atom
                count += 1
            bits >>= np.uint64(1)
            atom += 1
    return count


@compiled
def _identify(here: Words, change: Ints, changes: int, one: Words) -> None:
    """Writes the identity [2] of a state into `one`; it differs from the state of identity `here` in `changes`."""
    one[:] = here
    for which in range(changes):
        one[0] ^= half_identity(change[which], 0)
        one[1] ^= half_identity(change[which], 1)


@compiled
def _no_records(room: int) -> Found:
    """No candidates, and room for some."""
    parents, actions, lengths = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    goals, identities = np.empty(room, np.bool_), np.empty((room, 2), np.uint64)
    return Found(
        parents, actions, lengths, goals, identities, np.zeros(room + 1, np.int64), np.empty(4 * room, np.int32)
    )


@compiled
def _with_room(records: Found, slots: Ints, count: int, changes: int) -> tuple[Found, Ints]:
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
def _record(
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
        slots[_slot(slots, identities, identities[place])] = place
    return slots


@compiled
def _least_lacking(states: Words, goal: Goal) -> int:
    """How many of the fluents that the goal wants true the best of some states lacks; none lacks more than all."""
    least = len(goal.wanted)
    for place in range(len(states)):
        least = min(least, lacking(states[place], goal))
    return least


@compiled
def _layer_end(table: Words, owner: Ints, begin: int, end: int, goal: Goal, most: int) -> int:
    """Where a layer ends that keeps `most` of its states, those that satisfy more of the goal; 0 keeps all."""
    if not 0 < most < end - begin:
        return end
    lacks = np.zeros(end - begin, np.int64)
    for node in range(begin, end):
        lacks[node - begin] = unsatisfied(table[node], goal)
    order = np.argsort(lacks, kind="mergesort")[:most]  # stable: first seen, first kept
    chosen, chosen_owner = table[begin:end][order].copy(), owner[begin:end][order].copy()
    table[begin : begin + most], owner[begin : begin + most] = chosen, chosen_owner
    return begin + most


@compiled
def successor_states(
    operators: Operators, goal: Goal, atoms: int, state: Ints, symmetry: Symmetry, stop: Flag
) -> Found:
    """The states one action away, one for each applicable action: not all need differ, nor from the state itself.

    Of actions that differ in objects alone that `symmetry` says are interchangeable, one is applied.

    Leaves the rest as it comes once `stop` [1] is true.
    """
    words, here = words_of(state, atoms), state_identity(state)
    actions = representatives(symmetry, words, applicable_actions(operators, atoms, state))
    count, room = len(actions), 0
    for action in actions:
        room += operators.adds.first[action + 1] - operators.adds.first[action]
        room += operators.deletes.first[action + 1] - operators.deletes.first[action]
    goals, identities = np.zeros(count, np.bool_), np.empty((count, 2), np.uint64)
    first, changed = np.zeros(count + 1, np.int64), np.empty(room, np.int32)
    after, lacked = np.empty_like(words), lacking(words, goal)
    for number in range(count):
        if stop[0]:
            break
        action, end = actions[number], first[number]
        identities[number] = here
        for effect, value in ((operators.adds, False), (operators.deletes, True)):
            for place in range(effect.first[action], effect.first[action + 1]):
                atom = effect.values[place]
                if has(words, atom) == value and not _is_in(changed[first[number] : end], atom):
                    changed[end] = atom
                    end += 1
                    identities[number, 0] ^= half_identity(atom, 0)
                    identities[number, 1] ^= half_identity(atom, 1)
        first[number + 1] = end
        if lacked <= end - first[number] or len(goal.unwanted) > 0:  # else it cannot be a goal
            after[:] = words
            apply(after, operators, action)
            goals[number] = reached(after, goal)
    parents, lengths = np.full(count, -1, np.int32), np.ones(count, np.int32)
    return Found(parents, actions, lengths, goals, identities, first, changed[: first[count]])


@compiled
def _is_in(atoms: Ints, atom: int) -> bool:
    for each in atoms:  # noqa: SIM110 (numba compiles no generators)
        if each == atom:
            return True
    return False


@compiled
def _without_room(records: Found, count: int) -> Found:
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
def _slot(slots: Ints, identities: Words, one: Words) -> np.int64:
    """Where a state stands in the hash table, or where there is room for it."""
    slot = np.int64(one[0] & np.uint64(len(slots) - 1))
    while slots[slot] >= 0 and (identities[slots[slot], 0] != one[0] or identities[slots[slot], 1] != one[1]):
        slot = (slot + 1) & (len(slots) - 1)
    return slot
