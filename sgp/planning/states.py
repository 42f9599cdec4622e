"""States as sets of true fluent atoms; those of large tasks are stored as changes to earlier ones."""

from __future__ import annotations

from collections import deque

import numpy as np

from sgp.planning.hash_table import Ints, Words
from sgp.planning.operators import state_identity, symmetric_difference

FEW_FLUENTS = 256  # true fluents up to which a state has an array of its own
_MOST_CHANGES = 256  # states between two with arrays of their own
_MOST_CACHED = 8  # other states with arrays


class State:
    """One state of one task, hashable; equal states of a task have equal keys.

    Keys of different states are equal with probability 2^-128. Only the state's task knows its atoms.
    """

    __slots__ = ("changed", "changes", "fluents", "key", "origin", "owner")

    def __init__(
        self,
        owner: object,
        key: bytes,
        fluents: Ints | None,
        origin: State | None = None,
        changed: Ints | None = None,
    ):
        self.owner, self.key = owner, key
        self.fluents = fluents  # ascending; None if they are those of `origin`, changed
        self.origin, self.changed = origin, changed
        self.changes: int = 0 if origin is None else origin.changes + 1

    @property
    def identity(self) -> Words:
        """The key as an array [2]."""
        return np.frombuffer(self.key, np.uint64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.key == other.key and self.owner is other.owner

    def __hash__(self) -> int:
        return hash(self.key)


class States:
    """The states of one task, from arrays of fluent indices."""

    def __init__(self) -> None:
        self._owner = object()  # equal indices are other atoms in another task
        self._recent: deque[State] = deque()

    def of(self, fluents: Ints) -> State:
        """Return the state in which exactly these distinct fluents are true."""
        return State(self._owner, state_identity(fluents).tobytes(), np.sort(fluents))

    def after(self, state: State, changed: Ints) -> State:
        """Return the state that differs from another in these fluents, ascending."""
        key = (state.identity ^ state_identity(changed)).tobytes()
        if state.fluents is not None and len(state.fluents) <= FEW_FLUENTS:
            return State(self._owner, key, symmetric_difference(state.fluents, changed))
        successor = State(self._owner, key, None, state, changed)
        if successor.changes == _MOST_CHANGES:
            return State(self._owner, key, self.fluents(successor))
        return successor

    def fluents(self, state: State) -> Ints:
        """Return the true fluents of a state, ascending; the array is shared and must not be changed."""
        fluents, path, at = state.fluents, list[Ints](), state
        while fluents is None:
            assert at.origin is not None
            assert at.changed is not None
            path.append(at.changed)
            at = at.origin
            fluents = at.fluents
        if path:
            for changed in reversed(path):
                fluents = symmetric_difference(fluents, changed)
            state.fluents = fluents
            self._recent.append(state)
            if len(self._recent) > _MOST_CACHED:
                self._recent.popleft().fluents = None
        return fluents
