"""Sentences to vectors, by frozen encoders: transformers whose weights stand in packages, hashed words, symbols."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError, TextTooLong, expected_one_of
from sgp.models.device import Device
from sgp.models.frozen_files import FROZEN, TOKENIZER, WEIGHTS, FrozenFiles
from sgp.workers import one_thread

_SHOWN = 8  # words of a text that an error shows


class SentenceVectors(Protocol):
    """Turns texts into vectors of unit length, always the same for one text."""

    @property
    def key(self) -> str:
        """The encoder's name."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""

    @property
    def limit(self) -> int | None:
        """The most tokens that a text may have, special ones counted; None: as many as there are."""

    @property
    def identity(self) -> str:
        """The encoder and the sha256 of its weights: two with one identity give equal vectors, up to rounding."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones counted."""

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [n, dimension] of unit length. Raises TextTooLong for a text beyond the limit."""


class FrozenTransformer:
    """An encoder whose files stand in a folder; what it says of a text depends on no other text."""

    def __init__(self, files: FrozenFiles, folder: Path, device: Device):
        from tokenizers import Tokenizer

        from sgp.models.bert import SHAPES, read_bert

        shape = SHAPES[files.key]
        self.key, self.dimension, self.limit = files.key, shape.hidden, shape.limit
        self.identity = f"{files.key} with weights of sha256 {files.sha256[WEIGHTS]}"
        self._model = read_bert(folder / WEIGHTS, shape, device)
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones counted."""
        return [len(tokens) for tokens in self._tokens(texts)]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [n, dimension] of unit length. Raises ConfigurationError for a text beyond the limit."""
        tokens = self._tokens(texts)
        for text, each in zip(texts, tokens, strict=True):
            if len(each) > self.limit:
                raise TextTooLong(
                    f"a text has {len(each)} tokens ('{_beginning(text)}'); expected at most {self.limit} for "
                    f"sentence encoder {self.key}; embed atom by atom (mode atoms)"
                )
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        with one_thread():  # one by one, too: in a batch the last bits would depend on the others
            return np.concatenate([self._model.vectors([each]) for each in tokens])

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """One by one: a batch would start threads, which processes that are made later do not survive."""
        return [self._tokenizer.encode(text).ids for text in texts]


def _beginning(text: str) -> str:
    words = text.split()
    return " ".join(words[:_SHOWN]) + (" ..." if len(words) > _SHOWN else "")


class HashedWords:
    """The sum of what a text's words and pairs of neighbours are hashed to: for tests and quick looks.

    Without weights and without meaning: texts are near each other that share words, and pairs of words. Raises
    ConfigurationError for fewer than 64 numbers, where what was hashed might cancel out.
    """

    key = "hashed"
    limit = None

    def __init__(self, dimension: int = 256):
        if dimension < 64:
            raise ConfigurationError(f"hashed words have {dimension} numbers; expected at least 64")
        self.dimension = dimension
        self.identity = f"hashed with {dimension} numbers"

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of words and marks of each text."""
        return [len(_words(text)) for text in texts]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [n, dimension] of unit length."""
        sums = np.array([self._sum(text) for text in texts], np.float32).reshape(len(texts), self.dimension)
        vectors: NDArray[np.float32] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return vectors

    def _sum(self, text: str) -> NDArray[np.float32]:
        words = _words(text)
        pairs = [f"{one} {other}" for one, other in pairwise(["", *words, ""])]  # one even of a text without words
        signs = np.array([_signs(each, self.dimension) for each in [*words, *pairs]], np.float32)
        summed: NDArray[np.float32] = signs.sum(axis=0)
        return summed


class Symbols:
    """Every text is a symbol with a random direction of its own: sums of such vectors are bags of texts."""

    key = "symbols"
    limit = None

    def __init__(self, dimension: int = 512):
        self.dimension = dimension
        self.identity = f"symbols with {dimension} numbers"

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """One each."""
        return [1] * len(texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [n, dimension] of unit length, drawn by the texts' sha256."""
        seeds = ([*hashlib.sha256(text.encode()).digest()] for text in texts)
        drawn = [np.random.default_rng(seed).standard_normal(self.dimension) for seed in seeds]
        rows = np.array(drawn, np.float32).reshape(len(texts), self.dimension)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


@lru_cache(maxsize=65536)
def _signs(feature: str, dimension: int) -> NDArray[np.int8]:
    """As many signs as wanted, the bits of a word's sha256, and of further ones."""
    digests = [hashlib.sha256(f"{number} {feature}".encode()).digest() for number in range(-(-dimension // 256))]
    bits = np.unpackbits(np.frombuffer(b"".join(digests), np.uint8))[:dimension]
    return 2 * bits.astype(np.int8) - 1


SENTENCE_ENCODERS = (*FROZEN, HashedWords.key, Symbols.key)


def sentence_vectors(key: str, device: Device = "cpu", cache: Path | None = None) -> SentenceVectors:
    """The encoder of a name: minilm, mpnet (whose files are put together once, below `cache`), hashed or symbols.

    Raises ConfigurationError for another name and for mpnet without a folder, MissingLibrary where its extra is not
    installed, and StoreError where its files are not the pinned ones.
    """
    if key == HashedWords.key:
        return HashedWords()
    if key == Symbols.key:
        return Symbols()
    if key not in FROZEN:
        raise ConfigurationError(f"sentence encoder is '{key}'; {expected_one_of(SENTENCE_ENCODERS, key)}")
    return FrozenTransformer(FROZEN[key], FROZEN[key].folder(cache), device)
