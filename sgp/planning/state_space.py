"""Whole state spaces of small problems, with the distance of every state to the goal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.planning.candidates import Candidates, rows_as_bytes
from sgp.planning.operators import Goal, Ints, Operators, Words, applicable_in, apply, reached, taller
from sgp.planning.symmetry import NO_SYMMETRY, Symmetry, identities, identity, representatives, symmetry_of
from sgp.planning.task import State, Successor, Task


@dataclass(frozen=True)
class StateSpace:
    """All states that can be reached, each with the length of a shortest plan from it (infinite: a dead end)."""

    task: Task
    table: Words  # [n, w], the initial state first
    distances: NDArray[np.float64]  # [n]
    _symmetry: Symmetry
    _places: dict[Hashable, int]  # of what a state is known by, `_known_by`

    @classmethod
    def expand(cls, task: Task, most: int, up_to_symmetry: bool = False) -> StateSpace | None:
        """The state space of a task; None where it has more than `most` states, or the task too many actions.

        With `up_to_symmetry` one state stands for all that representatives of actions reach and that differ from it
        in names of merged objects alone (`sgp.planning.symmetry`); these are in the space then, too, and no others.
        """
        model = task.model
        if model is None:
            return None
        start = cls._words(max(-(-model.atoms // 64), 1), task.fluents(task.init))
        symmetry = symmetry_of(task, model)[1] if up_to_symmetry else NO_SYMMETRY
        table, distances = _expand(model.operators, model.goal, start, symmetry, most)
        if len(table) > most:
            return None
        found = np.where(distances < 0, np.inf, distances)
        places = {row: place for place, row in enumerate(rows_as_bytes(_known_by(symmetry, table)))}
        return cls(task, table, found, symmetry, places)

    def __len__(self) -> int:
        """The number of states."""
        return len(self.table)

    def state(self, place: int) -> State:
        """The state that stands at a place of the table."""
        bits = np.unpackbits(self.table[place].view(np.uint8), bitorder="little")
        return self.task.state_of(np.flatnonzero(bits).tolist())

    def place(self, state: State) -> int | None:
        """Where a state of the task stands in the table, None where it cannot be reached."""
        fluents, width = self.task.fluents(state), self.table.shape[1]
        if fluents and fluents[-1] >= 64 * width:
            return None
        (name,) = rows_as_bytes(_known_by(self._symmetry, self._words(width, fluents)[None]))
        return self._places.get(name)

    def distance(self, states: Sequence[State]) -> NDArray[np.float64]:
        """The lengths [b] of shortest plans from states."""
        rows = [self._words(self.table.shape[1], self.task.fluents(state)) for state in states]
        return self._looked_up(np.array(rows, np.uint64).reshape(len(rows), self.table.shape[1]))

    def distance_beyond(self, choice: Sequence[Successor]) -> NDArray[np.float64]:
        """The lengths [b] of shortest plans from candidates; no states are made for it where they are not made yet."""
        if not isinstance(choice, Candidates):
            return self.distance([each.state for each in choice])
        rows = np.repeat(self._words(self.table.shape[1], choice.fluents)[None], len(choice), axis=0)
        owners = np.repeat(np.arange(len(choice)), np.diff(choice.first))
        bits = np.uint64(1) << (choice.changed & 63).astype(np.uint64)
        np.bitwise_xor.at(rows, (owners, choice.changed >> 6), bits)
        return self._looked_up(rows)

    def _looked_up(self, rows: Words) -> NDArray[np.float64]:
        """The distances [b] of states [b, w]."""
        known = _known_by(self._symmetry, rows)
        return np.asarray(self.distances[[self._places[row] for row in rows_as_bytes(known)]])

    @staticmethod
    def _words(width: int, fluents: Sequence[int] | Ints) -> Words:
        bits = np.zeros(64 * width, np.uint8)
        bits[fluents] = 1
        return np.packbits(bits, bitorder="little").view(np.uint64)


def _known_by(symmetry: Symmetry, rows: Words) -> Words:
    """What tells states [n, w] apart: they themselves, or their identities [n, 2]."""
    return identities(symmetry, rows) if len(symmetry.always) else rows


@compiled
def _slot(state: Words, table: Words, slots: Ints) -> np.int64:
    """Where a state (what it is known by) stands in the hash table, or where there is room for it."""
    value = np.uint64(0)
    for word in state:
        value = (value ^ word) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    slot = np.int64(value & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        same = True
        for word in range(len(state)):
            if table[slots[slot], word] != state[word]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@compiled
def _expand(operators: Operators, goal: Goal, start: Words, symmetry: Symmetry, most: int) -> tuple[Words, Ints]:
    """The states in the order of a breadth-first search, and their distances to the goal, -1 for dead ends.

    Gives `most` + 1 states where there are more.
    """
    size = 16
    while size < 4 * most:
        size *= 2
    slots = np.full(size, -1, np.int32)  # of the hash table: which state
    table = np.zeros((256, len(start)), np.uint64)
    table[0] = start
    alike = len(symmetry.always) > 0
    known = np.zeros((256, 2), np.uint64) if alike else table  # what states are known by
    known[0] = identity(symmetry, start) if alike else start
    slots[_slot(known[0], known, slots)] = 0
    count = 1
    origin, target = np.empty(1024, np.int32), np.empty(1024, np.int32)
    edges = 0
    candidates = np.empty(len(operators.adds.first), np.int32)
    after = np.empty(len(start), np.uint64)
    place = 0
    while place < count and count <= most:
        total = applicable_in(table[place], operators, candidates)
        for action in representatives(symmetry, table[place], candidates[:total]):
            after[:] = table[place]
            apply(after, operators, action)
            name = identity(symmetry, after) if alike else after
            slot = _slot(name, known, slots)
            if slots[slot] < 0:
                if count == len(table):
                    table = taller(table)
                    known = taller(known) if alike else table
                table[count] = after
                if alike:
                    known[count] = name
                slots[slot] = count
                count += 1
            if edges == len(origin):
                origin, target = longer(origin), longer(target)
            origin[edges], target[edges] = place, slots[slot]
            edges += 1
            if count > most:
                break
        place += 1
    first = np.zeros(count + 1, np.int32)  # where the predecessors of each state begin
    for edge in range(edges):
        first[target[edge] + 1] += 1
    for place in range(count):
        first[place + 1] += first[place]
    before = np.empty(edges, np.int32)
    filled = first[:-1].copy()
    for edge in range(edges):
        before[filled[target[edge]]] = origin[edge]
        filled[target[edge]] += 1
    distances, queue = np.full(count, -1, np.int32), np.empty(count, np.int32)
    waiting = 0
    for place in range(count):
        if reached(table[place], goal):
            distances[place] = 0
            queue[waiting] = place
            waiting += 1
    done = 0
    while done < waiting:
        place = queue[done]
        done += 1
        for edge in range(first[place], first[place + 1]):
            if distances[before[edge]] < 0:
                distances[before[edge]] = distances[place] + 1
                queue[waiting] = before[edge]
                waiting += 1
    return table[:count].copy(), distances
