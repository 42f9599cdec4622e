"""Problems drawn from a seed: the sizes of suite `track`, and splits whose files are drawn when needed."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sgp.domains.domain import Domain
from sgp.errors import SuiteError
from sgp.files import write_text

TRACK_SUITE = "track"  # of each domain of the IPC 2023 learning track, problems of ours as large as its own
TRAIN = "train"
LEVELS = ("easy", "medium", "hard")
_TRAINING, _PER_LEVEL = 60, 10


def track_sizes(domain: Domain) -> dict[str, list[int]]:
    """The sizes of the problems of each split of suite `track`, the nearest that the domain has; {} for other domains.

    Training sizes are spaced evenly over those of the track. With L objects in its largest training problem and T in
    its largest test problem, test j of level k (both from 1) has L (T/L)^((10 (k - 1) + j) / 30) objects.
    """
    if domain.track is None:
        return {}
    least, most = domain.track.train
    ratio, last = domain.track.test[1] / most, len(LEVELS) * _PER_LEVEL
    training = [least + (most - least) * number / (_TRAINING - 1) for number in range(_TRAINING)]
    tests = [most * ratio ** (number / last) for number in range(1, last + 1)]
    sizes = {TRAIN: training} | {level: tests[_PER_LEVEL * k :][:_PER_LEVEL] for k, level in enumerate(LEVELS)}
    return {split: [domain.tracked.nearest(round(size)) for size in found] for split, found in sizes.items()}


@dataclass(frozen=True)
class SeededSplits:
    """Splits of a suite without files: a problem is the first draw of its random stream, checked by its hash.

    So problems of one domain must differ in size; equal ones would not be noticed. `suite` is the suite's name in the
    domain files and, like the seed, part of the random streams; `numpy` is the version whose random numbers were used.
    """

    suite: str
    seed: int
    splits: tuple[str, ...]
    numpy: str

    def draw(self, domain: Domain, split: str, number: int, size: int) -> str:
        """Problem `number` (from 1) of a split, of `size` objects without constants."""
        if not domain.tracked.has(size):
            raise SuiteError(
                f"{domain.name} has no problem of {size} objects, which suite {self.suite} lists; install the version "
                "of sgp that the suite came with"
            )
        stream = self.seed, number_of(self.suite), number_of(domain.name), number_of(split), number
        return drawn(self.suite, domain, size, (*stream, 0))

    def read(self, file: Path, sha256: str, domain: Domain, split: str, number: int, size: int) -> str:
        """The text of a problem's file, which is drawn and written if it is missing or another."""
        if file.is_file() and hashlib.sha256(content := file.read_bytes()).hexdigest() == sha256:
            return content.decode()
        text = self.draw(domain, split, number, size)
        if hashlib.sha256(text.encode()).hexdigest() != sha256:
            import numpy as np

            raise SuiteError(
                f"{file.stem} of {domain.name} {split}, drawn again by numpy {np.__version__}, is not the problem that "
                f"suite {self.suite} lists, which numpy {self.numpy} drew; install that version of numpy and the "
                "version of sgp that the suite came with"
            )
        write_text(file, text)
        return text


def drawn(suite: str, domain: Domain, arguments: Mapping[str, int] | int, stream: tuple[int, ...]) -> str:
    """Generate a problem from the generator's arguments, or from a number of objects for which they are drawn."""
    import numpy as np

    rng = np.random.default_rng(stream)
    if not isinstance(arguments, int):
        return domain.generate(rng, **arguments)
    return domain.generate_scaled(rng, arguments, suite == TRACK_SUITE)


def number_of(word: str) -> int:
    """Stable hash (CRC-32) of a word, for random streams."""
    return zlib.crc32(word.encode())
