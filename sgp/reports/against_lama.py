"""A planner beside LAMA's first plan, problem by problem: the rows of a file, and their table over size."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from statistics import median

from sgp.errors import StoreError
from sgp.files import write_text
from sgp.planning.subject import Subject, read_subject
from sgp.reports.sheets import Row, Sheet

CLASSES = (0, 50, 100, 200, 500)  # least objects of a class of sizes


@dataclass(frozen=True, kw_only=True)
class AgainstLama(Subject):
    """One problem, tried by a planner and by LAMA until its first plan, each within `limit` seconds of the clock.

    Lengths are numbers of actions, seconds those of processors; None where no plan was found, or VAL refused it.
    `seconds` are those of a process that has planned before, `start_seconds` those of a new one, from its start to its
    end; LAMA's are those of all its processes. `run` is the hash of the trained run, `sha256` that of the PDDL.
    """

    problem: str
    sha256: str
    size: int  # objects
    run: str
    limit: float
    length: int | None
    seconds: float | None
    start_seconds: float | None
    lama_length: int | None
    lama_seconds: float | None
    note: str  # when and where

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What tells problems apart."""
        return self.suite, self.domain, self.split, self.problem

    def is_of(self, other: AgainstLama) -> bool:
        """Whether two rows say of one problem what one run did by one decoding within one limit."""
        return all(
            getattr(self, name) == getattr(other, name) for name in ("place", "sha256", "run", "planner", "limit")
        )


_COLUMNS = tuple(each.name for each in fields(AgainstLama))


def write_against(path: Path, rows: Iterable[AgainstLama]) -> None:
    """Writes rows as CSV, whole."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "" if value is None else value for name, value in asdict(row).items()})
    write_text(path, text.getvalue())


def read_against(path: Path) -> list[AgainstLama]:
    """Rows of a CSV file. Raises StoreError naming the line that is none."""
    rows = []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read ({error}); give a file of benchmarks/against_lama.py") from error
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            rows.append(_row(row))
        except (KeyError, ValueError, TypeError) as error:
            raise StoreError(
                f"{path}, line {number} is no problem beside LAMA ({error!r}); remove the line and measure it again"
            ) from error
    return rows


def _row(row: Mapping[str, str]) -> AgainstLama:
    def actions(name: str) -> int | None:
        return int(row[name]) if row[name] else None

    def seconds(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    return AgainstLama(
        **read_subject(row).record(),
        problem=row["problem"],
        sha256=row["sha256"],
        size=int(row["size"]),
        run=row["run"],
        limit=float(row["limit"]),
        length=actions("length"),
        seconds=seconds("seconds"),
        start_seconds=seconds("start_seconds"),
        lama_length=actions("lama_length"),
        lama_seconds=seconds("lama_seconds"),
        note=row["note"],
    )


def against_lama_sheet(rows: Sequence[AgainstLama]) -> Sheet:
    """By suite, domain and class of sizes: problems, how many each solved, and ratios where both did."""
    made: list[Row] = []
    headings = (
        "domain",
        "objects",
        "n",
        "solved",
        "LAMA solved",
        "seconds",
        "LAMA's seconds",
        "ratio of seconds",
        "without start",
        "ratio of lengths",
    )
    for suite in dict.fromkeys(row.suite for row in rows):
        of_suite = [row for row in rows if row.suite == suite]
        made.append(Row((suite, *[""] * (len(headings) - 1)), heading=True))
        for domain in sorted({row.domain for row in of_suite}):
            of_domain = [row for row in of_suite if row.domain == domain]
            for words, found in _by_size(of_domain):
                made.append(Row((domain, words, *_figures(found))))
    limits = " and ".join(f"{limit:g}" for limit in sorted({row.limit for row in rows}))
    caption = (
        f"Within {limits} s a problem by the clock; plans that VAL accepts. Seconds: of processors, median; ours with "
        "the start of a process, LAMA's first plan with its translator. Ratios: ours over LAMA's where both solved, "
        "median [least, most]."
    )
    return Sheet("A trained planner against LAMA's first plan", headings, tuple(made), caption)


def _by_size(rows: Sequence[AgainstLama]) -> Iterable[tuple[str, Sequence[AgainstLama]]]:
    """The rows of each class that has some, and its sizes in words."""
    for least, above in pairwise((*CLASSES, None)):
        found = [row for row in rows if row.size >= (least or 0) and (above is None or row.size < above)]
        if found:
            words = f"from {least}" if above is None else f"{least} to {above - 1}" if least else f"below {above}"
            yield words, found


def _figures(rows: Sequence[AgainstLama]) -> tuple[str, ...]:
    lama = [row.lama_seconds for row in rows if row.lama_seconds is not None]
    started = [row.start_seconds for row in rows if row.start_seconds is not None]
    return (
        str(len(rows)),
        str(sum(row.length is not None for row in rows)),
        str(sum(row.lama_length is not None for row in rows)),
        f"{median(started):.2f}" if started else "",
        f"{median(lama):.2f}" if lama else "",
        _ratio([(row.start_seconds, row.lama_seconds) for row in rows]),
        _ratio([(row.seconds, row.lama_seconds) for row in rows]),
        _ratio([(row.length, row.lama_length) for row in rows]),
    )


def _ratio(pairs: Iterable[tuple[float | None, float | None]]) -> str:
    found = [ours / theirs for ours, theirs in pairs if ours is not None and theirs]
    return f"{median(found):.2f} [{min(found):.2f}, {max(found):.2f}]" if found else ""
