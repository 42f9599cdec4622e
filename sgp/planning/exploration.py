"""Kernels that enumerate a state space."""

from __future__ import annotations

import numpy as np

from sgp.compilation import compiled, kernel
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


@compiled
def _path_of(parents: Ints, actions: Ints, last: int) -> Ints:
    """Return the actions from state 0 to state `last`; none if it is below 0."""
    length, node = 0, last
    while node > 0:
        length, node = length + 1, parents[node]
    path, node = np.empty(length, np.int32), last
    while node > 0:
        length -= 1
        path[length], node = actions[node], parents[node]
    return path


@kernel
def path_to(
    operators: Operators, watchers: CSR, start: Words, watched: Ints, targets: Ints, most: int, stop: StopFlag
) -> Ints:
    """Return the actions of a shortest path to a state with the fluents `targets`; none if there is no path.

    The targets are not all true in the first state.

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
                reached = True
                for target in targets:
                    if has(start, target) == is_in(change[:changes], target):
                        reached = False
                        break
                if reached:
                    found = count
                count += 1
        toggle(present, changed[begin:end])
        place += 1
    return _path_of(parents, actions, found)


@kernel
def greedy_path_to(operators: Operators, users: CSR, start: Words, targets: Ints, most: int, stop: StopFlag) -> Ints:
    """Return the actions of a path to a state with the fluents `targets`, found by greedy best-first search, or none.

    States are expanded by the length of a relaxed plan, of equal ones the state reached last. About `most` states are
    reached. `users` has, for each fluent, the actions that need it.
    """
    size = 1024
    while size < 2 * most:
        size *= 2
    count, found, table = 1, -1, np.zeros((256, len(start)), np.uint64)
    parents, actions, slots = np.full(256, -1, np.int32), np.empty(256, np.int32), np.full(size, EMPTY, np.int32)
    # The state reached last whose relaxed plan has so many actions, and for each state the one before it.
    newest, before = np.full(len(operators.needs.indptr) + 1, -1, np.int32), np.full(256, -1, np.int32)
    missing, achievers = np.empty(len(operators.needs.indptr) - 1, np.int32), np.empty(64 * len(start), np.int32)
    options, after, waiting = np.empty(len(missing) + 1, np.int32), start.copy(), np.empty(len(achievers), np.int32)
    table[0] = start
    slots[find_row(slots, table, start, hash_row(start))] = 0
    low = relaxed_plan_length(operators, users, start, targets, missing, achievers, waiting)
    if low >= 0:
        newest[low] = 0
    while 0 <= low < len(newest) and count <= most and found < 0 and not stop[0]:
        place = newest[low]
        if place < 0:
            low += 1
            continue
        newest[low] = before[place]
        fluents = true_atoms(table[place])
        for action in options[: write_applicable(table[place], operators, fluents, fluents[:0], options)]:
            after[:] = table[place]
            apply(after, operators, action)
            slot = find_row(slots, table, after, hash_row(after))
            if slots[slot] >= 0 or found >= 0 or count > most or stop[0]:
                continue
            if count == len(table):
                table, parents, actions, before = grow(table), grow(parents), grow(actions), grow(before)
            table[count], parents[count], actions[count], slots[slot] = after, place, action, count
            length = relaxed_plan_length(operators, users, after, targets, missing, achievers, waiting)
            if length >= 0:
                before[count], newest[length], low = newest[length], count, min(low, length)
            if length == 0:
                found = count
            count += 1
    return _path_of(parents, actions, found)


@compiled
def relaxed_plan_length(
    operators: Operators, users: CSR, state: Words, targets: Ints, missing: Ints, achievers: Ints, waiting: Ints
) -> int:
    """Return the number of actions of a relaxed plan to some fluents, -1 if there is none.

    Each atom is achieved by the first action that adds it, in breadth-first order (Hoffmann and Nebel 2001, section 4).
    `missing` [actions], `achievers` and `waiting` [atoms] are overwritten.
    """
    needs, adds, count, done, left = operators.needs, operators.adds, 0, 0, 0
    given = len(missing)  # in place of an achiever
    missing[:] = needs.indptr[1:] - needs.indptr[:-1]
    achievers[:] = -1
    for atom in true_atoms(state):
        achievers[atom], waiting[count], count = given, atom, count + 1
    for target in targets:
        left += achievers[target] < 0
    begin, end = operators.watchers.indptr[-2], operators.watchers.indptr[-1]
    for place in range(begin, end):  # actions that need no fluent
        count, left = _achieve(adds, operators.watchers.indices[place], targets, achievers, waiting, count, left)
    while done < count and left > 0:
        for place in range(users.indptr[waiting[done]], users.indptr[waiting[done] + 1]):
            action = users.indices[place]
            missing[action] -= 1
            if missing[action] == 0:
                count, left = _achieve(adds, action, targets, achievers, waiting, count, left)
        done += 1
    if left > 0:
        return -1
    count, length = _demand(targets, achievers, missing, waiting, 0), 0
    while count > 0:
        action, length = waiting[count - 1], length + 1
        demanded = needs.indices[needs.indptr[action] : needs.indptr[action + 1]]
        count = _demand(demanded, achievers, missing, waiting, count - 1)
    return length


@compiled
def _achieve(
    adds: CSR, action: int, targets: Ints, achievers: Ints, waiting: Ints, count: int, left: int
) -> tuple[int, int]:
    """Let an action achieve its fluents that have no achiever; return the numbers of waiting fluents and targets."""
    for place in range(adds.indptr[action], adds.indptr[action + 1]):
        atom = adds.indices[place]
        if achievers[atom] < 0:
            achievers[atom], waiting[count], count = action, atom, count + 1
            left -= is_in(targets, atom)
    return count, left


@compiled
def _demand(atoms: Ints, achievers: Ints, missing: Ints, waiting: Ints, count: int) -> int:
    """Append the achievers of atoms that are not yet in the relaxed plan; return the number of waiting actions.

    Every action of the plan is the achiever of another atom, so there are at most as many as atoms.
    """
    for atom in atoms:
        action = achievers[atom]
        if action < len(missing) and missing[action] == 0:
            missing[action], waiting[count], count = -1, action, count + 1
    return count


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
