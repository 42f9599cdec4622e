"""The protocol of state encoders, and encoders of other packages from the entry-point group `sgp.encoders`."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.errors import InputError, MissingLibrary
from sgp.planning.pddl import DomainText
from sgp.planning.states import State
from sgp.planning.task import Successor, Task
from sgp.plugins import Plugin, plugins

Embeddings = NDArray[np.float32]


class StateEncoder(Protocol):
    """An encoder that maps states and goals of a task to vectors."""

    @property
    def dimension(self) -> int:
        """Length D of an embedding."""

    def refuses(self, task: Task) -> str | None:
        """Return why the task cannot be embedded, or None. Raises DomainMismatch for another domain's task."""

    def embed(self, task: Task, states: Sequence[State]) -> Embeddings:
        """Return the embeddings [n, D] of states."""

    def embed_candidates(
        self, task: Task, states: Sequence[State], choices: Sequence[Sequence[Successor]]
    ) -> Embeddings:
        """Return the embeddings [n, D] of all candidates, ordered by state."""
        return self.embed(task, [candidate.state for choice in choices for candidate in choice])

    def embed_goal(self, task: Task) -> Embeddings:
        """Return the embedding [D] of the goal."""

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """Describe columns of an embedding in words."""


@runtime_checkable
class EncoderKind(Protocol):
    """A factory of encoders: fits an encoder to training states, saves it and loads it.

    A package registers a factory as an entry point in the group `sgp.encoders`, named as its `key`. Methods that embed
    states select it by that key (`--set encoder=KEY`). A run records the versions of the distributions in `libraries`.
    """

    @property
    def key(self) -> str:
        """Unique key of the encoder."""

    @property
    def title(self) -> str:
        """Display name."""

    @property
    def libraries(self) -> Sequence[str]:
        """Names of the required distributions, as `pip install` takes them."""

    @property
    def invariant(self) -> bool:
        """Whether embeddings do not depend on the names of objects."""

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> StateEncoder:
        """Fit an encoder for at most `largest` objects to states of training tasks of one domain."""

    def save(self, encoder: Any, path: Path) -> None:
        """Write the encoder to a file. Raises StoreError if writing fails."""

    def load(self, path: Path, domain_text: DomainText, largest: int) -> StateEncoder:
        """Read an encoder of this domain from a file. Raises StoreError for a damaged file."""


BUILT_IN_ENCODERS = ("wl", "fsf", "text")


@cache
def encoder_plugins() -> dict[str, Plugin]:
    """Return the encoder plugins of other packages by key, without importing them."""
    return plugins("sgp.encoders", BUILT_IN_ENCODERS)


def encoder_keys() -> tuple[str, ...]:
    """Return the keys of all state encoders, built-in encoders first, without importing plugins."""
    return (*BUILT_IN_ENCODERS, *encoder_plugins())


@cache
def plugged_encoder(key: str) -> EncoderKind:
    """Import and return the encoder of another package with this key.

    Raises InputError for an unknown key, MissingLibrary for a required library that is not installed, and PluginError
    for a plugin that cannot be used.
    """
    plugin = encoder_plugins().get(key)
    if plugin is None:
        raise InputError(f"no package has an encoder '{key}'; expected one of {', '.join(encoder_plugins()) or 'none'}")
    kind = plugin.load()
    if not isinstance(kind, EncoderKind) or kind.key != key:
        raise plugin.refused(f"an EncoderKind (see sgp.encoders) with the key '{key}'")
    for library in kind.libraries:
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingLibrary(
                f"{plugin} needs the library {library}, which is not installed; install it with 'pip install {library}'"
            ) from error
    return kind
