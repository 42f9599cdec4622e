"""Vectors of sentences that were asked for before, kept in memory, and in a file between processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sgp.errors import StoreError
from sgp.files import whole_file
from sgp.models.sentences import SentenceVectors


class KeptSentences:
    """An encoder that is asked once for each text.

    `save` writes to `file` what is known, and a later one knows it from there, by the texts' sha256. Of two processes
    that write, the last one's file stays, whole. `template` says how the texts were made. Raises StoreError for a file
    that is damaged, or of another encoder or template.
    """

    def __init__(self, vectors: SentenceVectors, file: Path | None = None, template: str = ""):
        self._asked, self._file = vectors, file
        self._about = {"identity": vectors.identity, "template": template}
        self._rows: dict[str, int] = {}  # of texts that were asked for here
        self._digests: dict[bytes, int] = {}  # of these, and of all that the file knew
        self._table = np.empty((0, vectors.dimension), np.float32)  # its first rows are in use
        if file is not None and file.exists():
            self._read(file)
        self._saved = len(self._digests)

    @property
    def key(self) -> str:
        """The encoder's name."""
        return self._asked.key

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return self._asked.dimension

    @property
    def limit(self) -> int | None:
        """The most tokens that a text may have, special ones counted; None: as many as there are."""
        return self._asked.limit

    @property
    def identity(self) -> str:
        """The encoder and the sha256 of its weights."""
        return self._asked.identity

    def __len__(self) -> int:
        return len(self._digests)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones counted."""
        return self._asked.lengths(texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [n, dimension] of unit length. Raises ConfigurationError for a text beyond the limit."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._learn(new)
        return self._table[[self._rows[text] for text in texts]]

    def save(self) -> None:
        """Writes the file where there is one and something is new. Raises StoreError where it cannot be written."""
        if self._file is None or len(self) == self._saved:
            return
        digests = np.frombuffer(b"".join(self._digests), np.uint8).reshape(len(self), -1)
        with whole_file(self._file) as temporary:
            save_file({"digests": digests, "vectors": self._table[: len(self)]}, temporary, self._about)
        self._saved = len(self)

    def _learn(self, texts: Sequence[str]) -> None:
        digests = {text: hashlib.sha256(text.encode()).digest() for text in texts}
        unknown = [text for text in texts if digests[text] not in self._digests]
        if unknown:
            vectors, start = self._asked.vectors(unknown), len(self)
            self._make_room(start + len(unknown))
            self._table[start : start + len(unknown)] = vectors
            self._digests.update((digests[text], row) for row, text in enumerate(unknown, start))
        self._rows.update((text, self._digests[digests[text]]) for text in texts)

    def _make_room(self, rows: int) -> None:
        if rows > len(self._table):
            larger = np.empty((max(rows, 2 * len(self._table)), self.dimension), np.float32)
            larger[: len(self)] = self._table[: len(self)]
            self._table = larger

    def _read(self, file: Path) -> None:
        try:
            with safe_open(file, "np") as found:
                about = {name: (found.metadata() or {})[name] for name in self._about}
                digests, vectors = found.get_tensor("digests"), found.get_tensor("vectors")
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{file} holds no vectors of sentences ({error}); delete it or give another") from error
        if about != self._about:
            raise StoreError(
                f"{file} holds vectors of {_told(about)}; expected {_told(self._about)}; delete it or give another"
            )
        self._digests = {digest.tobytes(): row for row, digest in enumerate(digests)}
        self._table = vectors


def _told(about: dict[str, str]) -> str:
    return f"encoder '{about['identity']}' and template '{about['template']}'"
