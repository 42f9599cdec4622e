"""Complete state spaces of small problems, with goal distances."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, grow
from sgp.planning.hash_table import Ints, Words, empty_slots, find_row, hash_row
from sgp.planning.operators import CSR, apply, grouped, is_goal, true_atoms, words_of, write_applicable
from sgp.planning.symmetry import Symmetry, representatives, symmetric_identities, symmetric_identity
from sgp.planning.task import Candidates, State, Task, rows_as_bytes
from sgp.planning.width_search import Ground


@dataclass(frozen=True)
class StateSpace:
    """All reachable states with their shortest plan lengths (infinite: a dead end)."""

    task: Task
    table: Words  # [n, w], the initial state first
    distances: NDArray[np.float64]  # [n]
    _symmetry: Symmetry
    _places: dict[Hashable, int]  # indices of states by key

    @classmethod
    def expand(cls, task: Task, most: int, up_to_symmetry: bool = False) -> StateSpace | None:
        """Expand the state space of a task; None for more than `most` states or too many actions.

        With `up_to_symmetry`, one state represents all states that representatives of actions reach and that differ
        from it only in names of merged objects (`sgp.planning.symmetry`). Lookups accept these states, and no others.
        """
        model = task.model
        if model is None:
            return None
        ground = model.arrays(up_to_symmetry)
        start = words_of(np.array(task.fluents(task.init), np.int32), model.atoms)
        table, origins, targets, goals = _expand(ground, start, most, empty_slots(2 * most))
        if len(table) > most:
            return None
        steps = _distances(grouped(targets, origins, len(table)), goals)
        places = {row: place for place, row in enumerate(rows_as_bytes(_keys(ground.symmetry, table)))}
        return cls(task, table, np.where(steps < 0, np.inf, steps), ground.symmetry, places)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.table)

    def state(self, place: int) -> State:
        """Return the state at an index of the table."""
        bits = np.unpackbits(self.table[place].view(np.uint8), bitorder="little")
        return self.task.state_of(np.flatnonzero(bits).tolist())

    def place(self, state: State) -> int | None:
        """Return the table index of a state; None if it is unreachable."""
        fluents, width = self.task.fluents(state), self.table.shape[1]
        if fluents and fluents[-1] >= 64 * width:
            return None
        (name,) = rows_as_bytes(_keys(self._symmetry, self._words(fluents)[None]))
        return self._places.get(name)

    def distance(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return the shortest plan lengths [b] from states."""
        rows = [self._words(self.task.fluents(state)) for state in states]
        return self._looked_up(np.array(rows, np.uint64).reshape(len(rows), self.table.shape[1]))

    def distance_beyond(self, choice: Candidates) -> NDArray[np.float64]:
        """Return the shortest plan lengths [b] from candidates, without building their states."""
        rows = np.repeat(self._words(choice.fluents)[None], len(choice), axis=0)
        owners = np.repeat(np.arange(len(choice)), np.diff(choice.indptr))
        bits = np.uint64(1) << (choice.changed & 63).astype(np.uint64)
        np.bitwise_xor.at(rows, (owners, choice.changed >> 6), bits)
        return self._looked_up(rows)

    def _looked_up(self, rows: Words) -> NDArray[np.float64]:
        """Return the distances [b] of states [b, w]."""
        known = _keys(self._symmetry, rows)
        return np.asarray(self.distances[[self._places[row] for row in rows_as_bytes(known)]])

    def _words(self, fluents: Sequence[int] | Ints) -> Words:
        return words_of(np.asarray(fluents, np.int32), 64 * self.table.shape[1])


def _keys(symmetry: Symmetry, rows: Words) -> Words:
    """Return the keys of states [n, w]: the states, or their identities [n, 2]."""
    return symmetric_identities(symmetry, rows) if len(symmetry.always) else rows


@compiled
def _expand(ground: Ground, start: Words, most: int, slots: Ints) -> tuple[Words, Ints, Ints, NDArray[np.bool_]]:
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
def _distances(predecessors: CSR, goals: NDArray[np.bool_]) -> Ints:
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
