"""Complete state spaces of small problems, with goal distances."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sgp.errors import InputError, require
from sgp.planning.exploration import goal_distances, reachable_states
from sgp.planning.hash_table import Ints, Words, Words2D, empty_slots
from sgp.planning.operators import grouped, words_of
from sgp.planning.pddl import Problem
from sgp.planning.states import State
from sgp.planning.symmetry import Symmetry, symmetric_identities
from sgp.planning.task import Candidates, Task, rows_as_bytes


@dataclass(frozen=True, repr=False)
class StateSpace:
    """All reachable states with their shortest plan lengths (infinite: a dead end)."""

    task: Task
    table: Words2D  # [n, w], the initial state first
    distances: NDArray[np.float64]  # [n]
    _symmetry: Symmetry

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
        table, origins, targets, goals = reachable_states(ground, start, most, empty_slots(2 * most))
        if len(table) > most:
            return None
        steps = goal_distances(grouped(targets, origins, len(table)), goals)
        return cls(task, table, np.where(steps < 0, np.inf, steps), ground.symmetry)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        """The indices of states by key."""
        return {row: place for place, row in enumerate(self._keys(self.table))}

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.table)

    def __repr__(self) -> str:
        return f"<StateSpace of {self.task.name}: {len(self)} states>"

    @property
    def states(self) -> list[State]:
        """The states [n], the initial state first."""
        return list(map(self.state, range(len(self))))

    def state(self, place: int) -> State:
        """Return the state at an index of the table."""
        bits = np.unpackbits(self.table[place].view(np.uint8), bitorder="little")
        return self.task.state_of(np.flatnonzero(bits).tolist())

    def place(self, state: State) -> int | None:
        """Return the table index of a state; None if it is unreachable."""
        fluents, width = self.task.fluents(state), self.table.shape[1]
        if fluents and fluents[-1] >= 64 * width:
            return None
        (name,) = self._keys(self._words(fluents)[None])
        return self._places.get(name)

    def distance(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return the shortest plan lengths [b] from states."""
        rows = [self._words(self.task.fluents(state)) for state in states]
        return self._looked_up(np.array(rows, np.uint64).reshape(len(rows), self.table.shape[1]))

    def find_distances(self, states: Sequence[State]) -> dict[State, float]:
        """Return the distances of those of the states that are in the table, by passing through it once.

        This needs far less memory than `distance`, whose index of a large table is larger than the table.
        """
        size, rows = 1 << 20, [self._words(self.task.fluents(state)) for state in states]
        wanted = dict(zip(states, self._keys(np.array(rows, np.uint64)), strict=True))
        keys, found = set(wanted.values()), dict[Hashable, float]()
        for start in range(0, len(self), size):
            some = self._keys(self.table[start : start + size])
            found |= {row: float(self.distances[start + place]) for place, row in enumerate(some) if row in keys}
        return {state: found[key] for state, key in wanted.items() if key in found}

    def distance_beyond(self, choice: Candidates) -> NDArray[np.float64]:
        """Return the shortest plan lengths [b] from candidates, without building their states."""
        rows = np.repeat(self._words(choice.fluents)[None], len(choice), axis=0)
        owners = np.repeat(np.arange(len(choice)), np.diff(choice.indptr))
        bits = np.uint64(1) << (choice.changed & 63).astype(np.uint64)
        np.bitwise_xor.at(rows, (owners, choice.changed >> 6), bits)
        return self._looked_up(rows)

    def _looked_up(self, rows: Words2D) -> NDArray[np.float64]:
        """Return the distances [b] of states [b, w]."""
        return np.asarray(self.distances[[self._places[key] for key in self._keys(rows)]])

    def _keys(self, rows: Words2D) -> list[Hashable]:
        """Return the keys of states [n, w]: the states, or their identities, as bytes."""
        return rows_as_bytes(symmetric_identities(self._symmetry, rows) if len(self._symmetry.always) else rows)

    def _words(self, fluents: Sequence[int] | Ints) -> Words:
        return words_of(np.asarray(fluents, np.int32), 64 * self.table.shape[1])


def state_space(problem: Problem | Task, max_states: int = 100_000) -> StateSpace:
    """Return all reachable states of a problem with their goal distances; raise InputError if there are too many."""
    task = problem if isinstance(problem, Task) else Task(problem)
    require(max_states, int, "max_states", "a number of states")
    space = StateSpace.expand(task, max_states)
    if space is None:
        raise InputError(
            f"{task.name} has more than {max_states} states; give a smaller problem or a higher max_states"
        )
    return space
