"""Kernels that enumerate a state space."""

from __future__ import annotations

import numpy as np

from sgp.compilation import kernel
from sgp.planning.hash_table import Ints, Mask, Words, find_row, grow, hash_row
from sgp.planning.operators import CSR, apply, is_goal, true_atoms, write_applicable
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
