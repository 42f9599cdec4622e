"""Problems that a suite keeps by seed and hash: they are drawn when first asked for, and their files stay.

A problem is the first draw of its random stream, so that those of one domain must differ in size: equal ones would not
be noticed.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sgp.datasets.track import TRACK_SUITE
from sgp.errors import SuiteError
from sgp.files import write_text
from sgp.planning.domain import Domain


@dataclass(frozen=True)
class KeptBySeed:
    """Which splits of a suite have no files, and what they were drawn by.

    `suite` is the suite's name in the domain files, and with the seed a part of the random streams; `numpy` the version
    of the library whose random numbers the hashes are of.
    """

    suite: str
    seed: int
    splits: tuple[str, ...]
    numpy: str

    def draw(self, domain: Domain, split: str, place: int, size: int) -> str:
        """The problem at a place (from 1) of a split, of `size` objects, constants not counted.

        Raises SuiteError where the domain has none of this size.
        """
        if not domain.tracked.has(size):
            raise SuiteError(
                f"{domain.name} has no problem of {size} objects, as suite {self.suite} lists one; install the sgp "
                "that the suite came with"
            )
        stream = self.seed, number_of(self.suite), number_of(domain.name), number_of(split), place
        return drawn(self.suite, domain, size, (*stream, 0))

    def made(self, file: Path, sha256: str, domain: Domain, split: str, place: int, size: int) -> str:
        """The text of such a problem's file, which is drawn and written where it is missing or another.

        Raises SuiteError where it cannot be drawn or has another hash, StoreError where the file cannot be written.
        """
        if file.is_file() and hashlib.sha256(content := file.read_bytes()).hexdigest() == sha256:
            return content.decode()
        text = self.draw(domain, split, place, size)
        if hashlib.sha256(text.encode()).hexdigest() != sha256:
            import numpy as np

            raise SuiteError(
                f"{file.stem} of {domain.name} {split}, drawn anew by numpy {np.__version__}, is not the problem that "
                f"suite {self.suite} lists, which numpy {self.numpy} drew; install that version and the sgp that the "
                "suite came with"
            )
        write_text(file, text)
        return text


def drawn(suite: str, domain: Domain, asked: Mapping[str, int] | int, stream: tuple[int, ...]) -> str:
    """A problem of a suite by the generator's arguments, or by a number of objects for which they are drawn."""
    import numpy as np

    rng = np.random.default_rng(stream)
    if not isinstance(asked, int):
        return domain.generate(rng, **asked)
    return domain.generate_tracked(rng, asked) if suite == TRACK_SUITE else domain.generate_scaled(rng, asked)


def number_of(word: str) -> int:
    """A stable number for a word, for random streams."""
    return zlib.crc32(word.encode())
