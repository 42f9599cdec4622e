"""What an encoder is: what embeds states and goals, and what makes, keeps and finds it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Successor, Task

Embeddings = NDArray[np.float32]


class StateEncoder(Protocol):
    """Embeds states and goals of a task."""

    @property
    def dimension(self) -> int:
        """D."""
        ...

    def refuses(self, task: Task) -> str | None:
        """Why the task has no embedding, or None where it has one. Raises DomainMismatch for another domain's task."""

    def embed(self, task: Task, states: Sequence[State]) -> Embeddings:
        """The states' embeddings [n, D]."""
        ...

    def embed_candidates(
        self, task: Task, states: Sequence[State], choices: Sequence[Sequence[Successor]]
    ) -> Embeddings:
        """The embeddings [n, D] of the states' candidates, all of the first state, then of the second."""
        ...

    def embed_goal(self, task: Task) -> Embeddings:
        """The goal's embedding [D]."""
        ...

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """What some columns of an embedding stand for."""
        ...


@runtime_checkable
class EncoderKind(Protocol):
    """A kind of encoder: makes one from training states, keeps it in a file, and reads it back.

    A package offers one by an entry point in the group `sgp.encoders`, named as its `key`; methods that embed states
    take it by that key (`--set encoder=KEY`). `libraries` are the distributions whose versions a run records.
    """

    @property
    def key(self) -> str:
        """Its name among all encoders."""
        ...

    @property
    def title(self) -> str:
        """Its name for people."""
        ...

    @property
    def libraries(self) -> Sequence[str]:
        """Distributions, as `pip install` names them."""
        ...

    @property
    def invariant(self) -> bool:
        """Whether renaming the objects of a problem changes no embedding."""
        ...

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> StateEncoder:
        """An encoder made from states of training tasks, all of one domain; `largest` is the most objects to come."""
        ...

    def save(self, encoder: Any, path: Path) -> None:
        """Writes what `load` needs. Raises StoreError where it cannot be written."""

    def load(self, path: Path, domain_text: DomainText, largest: int) -> StateEncoder:
        """The encoder that `save` wrote for this domain. Raises StoreError for a damaged file."""
        ...
