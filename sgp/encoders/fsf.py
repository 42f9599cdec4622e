"""Fixed-size factored encoding: one slot for each object, in the order of the PDDL (state-centric, appendix F).

The paper's control condition: the encoding depends on the order of objects and has a maximum number of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.domains.domain import Domain
from sgp.encoders import StateEncoder
from sgp.errors import ConfigurationError, DomainMismatch
from sgp.planning.pddl import Atom
from sgp.planning.states import State
from sgp.planning.task import Task

PADDING = -99.0  # value of a slot beyond the problem's objects (state-centric, appendix F.1)
DONT_CARE = -10.0  # value of a variable that the goal does not constrain (state-centric, appendix F.1)


class FSFEncoder(StateEncoder):
    """Encoder to slot values [N + 1]: the global variable, then at most N objects (0 for those without a variable)."""

    def __init__(self, domain: Domain, objects: int):
        if domain.slots is None:
            raise ConfigurationError(f"domain {domain.name} defines no slots for the encoding 'fsf'; use 'wl' instead")
        self.domain, self.objects = domain, objects
        self._slots = domain.slots

    @property
    def dimension(self) -> int:
        """Length of a vector, N + 1."""
        return self.objects + 1

    def refuses(self, task: Task) -> str | None:
        """Return why the problem exceeds the slots, or None. Raises DomainMismatch for another domain's task."""
        if not self.domain.serves(task.domain_text):
            raise DomainMismatch(
                f"{task.name} is of domain '{task.domain_text.name}', whose predicates and actions are not those of "
                f"{self.domain.name}; use a model trained on this domain"
            )
        if task.size > self.objects:
            return f"the problem has {task.size} objects, the encoding 'fsf' was made for at most {self.objects}"
        return None

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.float32]:
        """Return the slot values [n, N + 1] of states of one task."""
        rows = np.full((len(states), self.dimension), PADDING, np.float32)
        rows[:, : task.size + 1] = 0.0
        for row, state in zip(rows, states, strict=True):
            self._fill(task, row, map(task.fluent, task.fluents(state)))
        return rows

    def embed_goal(self, task: Task) -> NDArray[np.float32]:
        """Return the slot values [N + 1] of the goal."""
        row = np.full(self.dimension, PADDING, np.float32)
        row[: task.size + 1] = DONT_CARE
        if not self._slots.has_global:
            row[0] = 0.0
        self._fill(task, row, task.goal_atoms)
        return row

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """Name the object of each column's slot."""
        names = ["the global variable", *(f"the slot of {item.name}" for item in task.objects)]
        return [names[column] if column < len(names) else "a slot without an object" for column in columns]

    def _fill(self, task: Task, row: NDArray[np.float32], atoms: Iterable[Atom]) -> None:
        number = {item.name: place for place, item in enumerate(task.objects, start=1)}
        for slot, value in self._slots.values(number, atoms).items():
            row[slot] = value
