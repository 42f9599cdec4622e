"""Kernels that enumerate a state space."""

from __future__ import annotations

import numpy as np

from sgp.compilation import kernel
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import EMPTY, Ints, Mask, Words, find_row, grow, hash_row, insert_keys
from sgp.planning.operators import (
    CSR,
    Operators,
    applicable,
    apply,
    half_identity,
    has,
    is_goal,
    is_in,
    toggle,
    true_atoms,
    write_applicable,
    write_change,
)
from sgp.planning.symmetry import representatives, symmetric_identity
from sgp.planning.width_search import Ground


@kernel
def reachable_states(ground: Ground, start: Words, most: int, slots: Ints) -> tuple[Words, Ints, Ints, Mask]:
    """Return the states [n, w] in breadth-first order, the edges' origins and targets, and a mask [n] of goal states.

    There are `most` + 1 states if the space is larger. `slots` is an empty hash table.
    """
    operators, symmetry, goal = ground.operators, ground.symmetry, ground.goal
    table = np.zeros((256, len(start)), np.uint64)
    table[0] = start
    symmetric = len(symmetry.always) > 0
    keys = np.zeros((256, 2), np.uint64) if symmetric else table  # keys that distinguish states
    keys[0] = symmetric_identity(symmetry, start) if symmetric else start
    slots[find_row(slots, keys, keys[0], hash_row(keys[0]))] = 0
    origins, targets = np.empty(1024, np.int32), np.empty(1024, np.int32)  # edges
    actions, after = np.empty(len(ground.rows) + 1, np.int32), np.empty(len(start), np.uint64)
    count, edges, place = 1, 0, 0
    while place < count and count <= most:
        fluents = true_atoms(table[place])
        total = write_applicable(table[place], operators, fluents, fluents[:0], actions)
        for action in representatives(symmetry, fluents, ground.rows, actions[:total]):
            after[:] = table[place]
            apply(after, operators, action)
            key = symmetric_identity(symmetry, after) if symmetric else after
            slot = find_row(slots, keys, key, hash_row(key))
            if slots[slot] < 0:
                if count == len(table):
                    table = grow(table)
                    keys = grow(keys) if symmetric else table
                table[count] = after
                if symmetric:
                    keys[count] = key
                slots[slot] = count
                count += 1
            if edges == len(origins):
                origins, targets = grow(origins), grow(targets)
            origins[edges], targets[edges] = place, slots[slot]
            edges += 1
            if count > most:
                break
        place += 1
    goals = np.array([is_goal(table[place], goal) for place in range(count)])
    return table[:count].copy(), origins[:edges], targets[:edges], goals


@kernel
def path_to(
    operators: Operators, watchers: CSR, start: Words, watched: Ints, target: int, most: int, stop: StopFlag
) -> Ints:
    """Return the actions of a shortest path from a state to one with the fluent `target`; none if there is no path.

    At most `most` states are reached. `watchers` has each action in the list of one of the fluents that it needs, in
    the last list if it needs none; `watched` are the fluents of the state with a list. A state is stored as its
    differences from the first one.
    """
    parents, actions = np.full(256, -1, np.int32), np.empty(256, np.int32)
    identities, indptr, changed = np.zeros((256, 2), np.uint64), np.zeros(257, np.int64), np.empty(1024, np.int32)
    slots, present, identity = np.full(1024, EMPTY, np.int32), start.copy(), np.zeros(2, np.uint64)
    slots[find_row(slots, identities, identities[0], identities[0, 0])] = 0
    change = np.empty(64 * len(start), np.int32)
    count, place, found = 1, 0, -1
    while place < count and count <= most and found < 0 and not stop[0]:
        begin, end = indptr[place], indptr[place + 1]
        toggle(present, changed[begin:end])
        for which in range(len(watched) + end - begin + 1):
            fluent = len(watchers.indptr) - 2
            if which < len(watched) + end - begin:
                fluent = watched[which] if which < len(watched) else changed[begin + which - len(watched)]
                if not has(present, fluent):
                    continue
            for action in watchers.indices[watchers.indptr[fluent] : watchers.indptr[fluent + 1]]:
                if found >= 0 or not applicable(present, operators, action):
                    continue
                adds = operators.adds.indices[operators.adds.indptr[action] : operators.adds.indptr[action + 1]]
                deletes = operators.deletes.indices[
                    operators.deletes.indptr[action] : operators.deletes.indptr[action + 1]
                ]
                changes = write_change(adds, deletes, present, changed[begin:end], change)
                identity[:] = 0
                for fluent_changed in change[:changes]:
                    identity[0] ^= half_identity(fluent_changed, 0)
                    identity[1] ^= half_identity(fluent_changed, 1)
                if slots[find_row(slots, identities, identity, identity[0])] >= 0:
                    continue
                if count == len(parents):
                    parents, actions = grow(parents), grow(actions)
                    identities, indptr = grow(identities), grow(indptr)
                    slots = np.full(2 * len(slots), EMPTY, np.int32)
                    insert_keys(slots, np.ascontiguousarray(identities[:, 0]), 0, count)
                while indptr[count] + changes > len(changed):
                    changed = grow(changed)
                slots[find_row(slots, identities, identity, identity[0])] = count
                parents[count], actions[count], identities[count] = place, action, identity
                indptr[count + 1] = indptr[count] + changes
                changed[indptr[count] : indptr[count + 1]] = change[:changes]
                if is_in(adds, target):
                    found = count
                count += 1
        toggle(present, changed[begin:end])
        place += 1
    length, node = 0, found
    while node > 0:
        length, node = length + 1, parents[node]
    path, node = np.empty(length, np.int32), found
    while node > 0:
        length -= 1
        path[length], node = actions[node], parents[node]
    return path


@kernel
def goal_distances(predecessors: CSR, goals: Mask) -> Ints:
    """Return the shortest distances [n] along edges to goals, -1 if there is none."""
    count = len(goals)
    distances, queue, waiting = np.full(count, -1, np.int32), np.empty(count, np.int32), 0
    for place in range(count):
        if goals[place]:
            distances[place] = 0
            queue[waiting] = place
            waiting += 1
    done = 0
    while done < waiting:
        place = queue[done]
        done += 1
        for origin in predecessors.indices[predecessors.indptr[place] : predecessors.indptr[place + 1]]:
            if distances[origin] < 0:
                distances[origin] = distances[place] + 1
                queue[waiting] = origin
                waiting += 1
    return distances
