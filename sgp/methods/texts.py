"""Encoders of text for methods: a domain's words, and the sentences' encoder that is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgp.datasets.store import cache_folder
from sgp.domains import words_of
from sgp.encoders.text import TEMPLATE, TextConfig, TextEncoder
from sgp.models.kept_sentences import KeptSentences
from sgp.models.sentences import sentence_vectors
from sgp.planning.pddl import DomainText
from sgp.planning.task import Task


def text_encoders(config: TextConfig) -> Callable[[Task], TextEncoder]:
    """Gives a task's encoder. Raises ConfigurationError for another sentences' encoder, MissingLibrary without it."""
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
        _ASKED[key, folder] = KeptSentences(found, file, TEMPLATE)
    return _ASKED[key, folder]


def keep_texts() -> None:
    """Writes the vectors of texts that cost time to disk, for other processes."""
    for each in _ASKED.values():
        each.save()
