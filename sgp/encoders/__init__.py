"""What an encoder of states is, and the encoders that other packages offer in the entry-point group `sgp.encoders`."""

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
from sgp.planning.task import State, Successor, Task
from sgp.plugins import Plugin, plugins

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


BUILT_IN_ENCODERS = ("wl", "fsf", "text")  # keys of those that methods take by name


@cache
def encoder_plugins() -> dict[str, Plugin]:
    """The encoders of other packages by key; none is imported."""
    return plugins("sgp.encoders", BUILT_IN_ENCODERS)


def encoder_keys() -> tuple[str, ...]:
    """The keys of all encoders that embed states, the built-in ones first; none is imported."""
    return (*BUILT_IN_ENCODERS, *encoder_plugins())


@cache
def plugged_encoder(key: str) -> EncoderKind:
    """The kind of encoder with this key that another package offers, imported now.

    Raises InputError with the known keys, MissingLibrary where a library that it needs is not installed, and
    PluginError for one that cannot be used.
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


def recorded_encoder_libraries(key: str) -> tuple[str, ...]:
    """The distributions whose versions a run records for an encoder of another package, none for a built-in one."""
    plugin = encoder_plugins().get(key)
    return () if plugin is None else tuple(dict.fromkeys([*plugged_encoder(key).libraries, plugin.package]))
