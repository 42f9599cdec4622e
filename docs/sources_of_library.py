"""Where the numbers of the page With other libraries come from."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence

from reading import Numbers

from sgp.datasets.store import data_folder

SOLVED, REFUSED, ITSELF = "SOLVED_SATISFICING", "NOT_LEARNED", "itself"


def examples() -> Numbers:
    """How many problems of the library's tests are supported, read, learned from and solved."""
    with (data_folder() / "measured" / "engine.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    promised = [row for row in rows if row["promised"] == "True"]
    assert all(row["read"] == "True" for row in promised), "a kind that is promised is read"
    learned = [row for row in promised if row["status"] != REFUSED]
    assert all(row["valid"] == "True" for row in learned if row["status"] == SOLVED), "by the library's validator"
    others = [row for row in learned if row["learned_from"] != ITSELF]
    themselves = [row for row in learned if row["learned_from"] == ITSELF]
    few = [int(row["learned_from"].split()[0]) for row in others]
    counts: Sequence[int] = (
        len(rows),
        len(promised),
        min(few),
        max(few),
        _solved(others),
        len(others),
        len(promised) - len(learned),
        _solved(themselves),
        len(themselves),
    )
    return [str(count) for count in counts]


def _solved(rows: Sequence[Mapping[str, str]]) -> int:
    return sum(row["status"] == SOLVED for row in rows)


LIBRARY: Mapping[str, Callable[[], str | Numbers]] = {"engine": examples}
