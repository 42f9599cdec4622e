"""Suite `track`: of each domain of the IPC 2023 learning track, problems of ours that are as large as its own.

Training problems have sizes evenly spaced over those of the track's; tests grow from its largest training problem to
its largest test problem by one ratio, in three levels of ten.
"""

from __future__ import annotations

from sgp.planning.domain import Domain

TRACK_SUITE = "track"
TRAIN = "train"
LEVELS = ("easy", "medium", "hard")
_TRAINING, _A_LEVEL = 60, 10


def track_sizes(domain: Domain) -> dict[str, list[int]]:
    """The numbers of objects of the problems of each split, the nearest that the domain has; of other domains none.

    With L objects in the largest training problem and T in the largest test problem, test j of level k (both from 1)
    has L (T/L)^((10 (k - 1) + j) / 30): levels are geometric thirds, and the last test has T.
    """
    if domain.track is None:
        return {}
    least, most = domain.track.train
    ratio, last = domain.track.test[1] / most, len(LEVELS) * _A_LEVEL
    training = [least + (most - least) * place / (_TRAINING - 1) for place in range(_TRAINING)]
    tests = [most * ratio ** (place / last) for place in range(1, last + 1)]
    levels = {level: tests[_A_LEVEL * number :][:_A_LEVEL] for number, level in enumerate(LEVELS)}
    asked = {TRAIN: training, **levels}
    return {split: [domain.tracked.nearest(round(size)) for size in sizes] for split, sizes in asked.items()}
