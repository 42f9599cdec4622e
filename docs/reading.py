"""What sources of numbers share: reading files of measurements, and how numbers are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import sgp
from sgp.datasets.store import data_folder
from sgp.evaluation.scores import Score, read_scores
from sgp.reports.against_lama import AgainstLama
from sgp.reports.tables import measured

Numbers = Sequence[str | None]  # in the order of reading; None: a number that nobody measured
Noted = Score | AgainstLama  # what says when and where it was measured
SUITE, SPLIT = "state-centric", "extrapolation"
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
TRANSFORMERS = ("nameless", "symt")  # methods


@cache
def scores(name: str) -> Sequence[Score]:
    """The scores of a file under `data/measured`."""
    return read_scores(data_folder() / "measured" / f"{name}.csv")


@cache
def coverage_scores() -> tuple[Sequence[Score], Sequence[Score]]:
    """The scores of the bundled suite: what was measured, and what the paper's Table 1 printed.

    Transformers have a table of their own.
    """
    ours = [each for each in measured() if each.suite == SUITE and each.method not in TRANSFORMERS]
    return ours, [each for each in sgp.published(SUITE) if each.table == "1"]


def one(among: Iterable[Score], **words: object) -> Score:
    """The only score with these fields."""
    (found,) = [each for each in among if all(getattr(each, name) == word for name, word in words.items())]
    return found


def rate(value: float, digits: int = 2) -> str:
    """A rate as tables have it: no digit before the point where that would be 0."""
    return f"{value:.{digits}f}".removeprefix("0")


def rounded(value: float) -> str:
    """One digit after the point below 10, none above."""
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def when(among: Iterable[Noted]) -> Sequence[str]:
    """The last day on which they were measured, and the cores."""
    return max(found.groups() for each in among if (found := re.match(r"(\S+), (\d+) cores", each.note)))


def load(among: Iterable[Noted]) -> str:
    """How many processes ran while they were measured, at most."""
    return f"{max(float(found[1]) for each in among if (found := re.search(r'load ([0-9.]+)', each.note))):.0f}"
