"""Searches over a ground model, compiled: the successors and the candidates of width 1, without making states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
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


@compiled
def novel_states(
    operators: Operators, forms: Lists, form_count: int, goal: Goal, atoms: int, state: Ints, search: Search
) -> Found:
    """All successors of a state, all novel states, and goal states; none twice, nor the state itself.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`: a state is novel if one of
    its forms was true in no state generated before it. Novel states are expanded.
    """
    adds = operators.adds
    count = len(adds.first) - 1
    words = max((atoms + 63) // 64, 1)
    table = np.zeros((256, words), np.uint64)  # the states that are expanded
    owner = np.empty(256, np.int32)  # and which candidates they are
    depth_first = 0  # where the present layer begins among them
    seen = np.zeros(form_count, np.bool_)
    here = state_identity(state)
    for atom in state:
        table[0, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
        for place in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[place]] = True
    owner[0] = -1
    expanded = 1
    largest = 0  # most atoms that an action adds
    for action in range(count):
        largest = max(largest, adds.first[action + 1] - adds.first[action])
    parents, actions, lengths = np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32)
    goals, first = np.empty(256, np.bool_), np.zeros(257, np.int64)
    identities = np.empty((256, 2), np.uint64)
    slots = np.full(1024, -1, np.int32)  # a hash table of the candidates by identity
    changed = np.empty(1024, np.int32)
    applicable = np.empty(count + 1, np.int32)  # actions in the node
    after, one = np.empty(words, np.uint64), np.empty(2, np.uint64)
    found = novelties = 0
    progress = False
    before = applicable[: applicable_in(table[0], operators, applicable)].copy()
    all_watched = looked_at(table[0], operators)
    lacked = lacking(table[0], goal)
    while depth_first < expanded and not (0 < search.enough <= novelties and progress):
        layer_end = expanded
        for node in range(depth_first, layer_end):
            near = len(goal.unwanted) > 0 or lacking(table[node], goal) <= largest  # one action might reach the goal
            differs = changed[first[owner[node]] : first[owner[node] + 1]] if node else changed[:0]
            if looked_at_after(table[node], operators, before, differs) < all_watched:
                total = applicable_after(table[node], operators, table[0], before, differs, applicable)
            else:
                total = applicable_in(table[node], operators, applicable)
            for which in range(total):
                action = applicable[which]
                new = False
                for place in range(adds.first[action], adds.first[action + 1]):
                    atom = adds.values[place]
                    for form in range(forms.first[atom], forms.first[atom + 1]):
                        if not seen[forms.values[form]]:
                            new = True
                if not (new or near or node == 0):
                    continue
                after[:] = table[node]
                apply(after, operators, action)
                end = first[found]
                one[:] = here
                for word in range(words):
                    bits = after[word] ^ table[0, word]
                    atom = 64 * word
                    while bits != np.uint64(0):
                        if bits & np.uint64(1) != np.uint64(0):
                            if end == len(changed):
                                changed = longer(changed)
                            changed[end] = atom
                            end += 1
                            one[0] ^= half_identity(atom, 0)
                            one[1] ^= half_identity(atom, 1)
                        bits >>= np.uint64(1)
                        atom += 1
                is_goal = near and reached(after, goal)
                if end == first[found] or not (new or node == 0 or is_goal):
                    continue
                slot = _slot(slots, identities, one)
                if slots[slot] >= 0:
                    continue
                slots[slot] = found
                parents[found], actions[found], goals[found] = owner[node], action, is_goal
                lengths[found] = 1 if owner[node] < 0 else lengths[owner[node]] + 1
                identities[found], first[found + 1] = one, end
                found += 1
                if found == len(parents):
                    parents, actions, lengths, goals = longer(parents), longer(actions), longer(lengths), longer(goals)
                    first, identities = longer(first), taller(identities)
                    slots = np.full(2 * len(slots), -1, np.int32)
                    for candidate in range(found):
                        slots[_slot(slots, identities, identities[candidate])] = candidate
                if new:
                    for place in range(adds.first[action], adds.first[action + 1]):
                        atom = adds.values[place]
                        for form in range(forms.first[atom], forms.first[atom + 1]):
                            seen[forms.values[form]] = True
                    if expanded == len(table):
                        table, owner = taller(table), longer(owner)
                    table[expanded] = after
                    owner[expanded] = found - 1
                    expanded += 1
                    novelties += 1
                    progress = progress or (search.enough > 0 and lacking(after, goal) < lacked)
                if found >= search.most:
                    return _found(found, parents, actions, lengths, goals, identities, first, changed)
        depth_first = layer_end
        width = expanded - layer_end
        if 0 < search.layer < width:
            lacks = np.zeros(width, np.int64)
            for node in range(layer_end, expanded):
                lacks[node - layer_end] = unsatisfied(table[node], goal)
            order = np.argsort(lacks, kind="mergesort")[: search.layer]  # stable: first seen, first kept
            chosen, chosen_owner = table[layer_end:expanded][order].copy(), owner[layer_end:expanded][order].copy()
            expanded = layer_end + search.layer
            table[layer_end:expanded] = chosen
            owner[layer_end:expanded] = chosen_owner
    return _found(found, parents, actions, lengths, goals, identities, first, changed)


@compiled
def successor_states(operators: Operators, goal: Goal, atoms: int, state: Ints) -> Found:
    """The states one action away, one for each applicable action: not all need differ, nor from the state itself."""
    actions = applicable_actions(operators, atoms, state)
    count, room = len(actions), 0
    for action in actions:
        room += operators.adds.first[action + 1] - operators.adds.first[action]
        room += operators.deletes.first[action + 1] - operators.deletes.first[action]
    goals, identities = np.zeros(count, np.bool_), np.empty((count, 2), np.uint64)
    first, changed = np.zeros(count + 1, np.int64), np.empty(room, np.int32)
    words, here = words_of(state, atoms), state_identity(state)
    after, lacked = np.empty_like(words), lacking(words, goal)
    for number in range(count):
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
def _found(
    count: int,
    parents: Ints,
    actions: Ints,
    lengths: Ints,
    goals: NDArray[np.bool_],
    identities: Words,
    first: NDArray[np.int64],
    changed: Ints,
) -> Found:
    """The candidates without the room that was kept for more."""
    return Found(
        parents[:count],
        actions[:count],
        lengths[:count],
        goals[:count],
        identities[:count],
        first[: count + 1],
        changed[: first[count]],
    )


@compiled
def _slot(slots: Ints, identities: Words, one: Words) -> np.int64:
    """Where a state stands in the hash table, or where there is room for it."""
    slot = np.int64(one[0] & np.uint64(len(slots) - 1))
    while slots[slot] >= 0 and (identities[slots[slot], 0] != one[0] or identities[slots[slot], 1] != one[1]):
        slot = (slot + 1) & (len(slots) - 1)
    return slot
