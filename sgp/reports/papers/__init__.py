"""Papers whose numbers stand beside ours, one file each; a paper is found by standing in this folder."""

from __future__ import annotations

import csv
import importlib
import io
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from sgp.datasets.store import data_folder
from sgp.errors import InputError, expected_one_of
from sgp.evaluation.scores import Score, read_scores
from sgp.reports.sheets import Sheet


@dataclass(frozen=True)
class Asked:
    """What a paper's table is made from: our scores, those it prints, a suite's name, and splits (none: all)."""

    ours: Sequence[Score]
    printed: Sequence[Score]
    suite: str
    splits: Collection[str] = ()


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: what it shows, how it is made with ours beside it, and how it is drawn, where it can be.

    `over_size` says that it is of curves over size, whose problems are of no suite.
    """

    title: str
    sheet: Callable[[Asked], Sheet]
    drawing: Callable[[Asked], str] | None = None  # as SVG
    over_size: bool = False


@dataclass(frozen=True)
class Paper:
    """A paper: its key, which is that of its numbers in `data/published`, its title, and its tables by number.

    `suite` has problems like its own. `beside` are the tables whose numbers stand beside ours wherever scores are
    shown. `short` are tables by what names them alone, "" for what is shown when none is named.
    """

    key: str
    title: str
    suite: str
    tables: Mapping[str, PaperTable]
    beside: Collection[str] = ()
    short: Mapping[str, str] = field(default_factory=dict)

    def scores(self) -> list[Score]:
        """Every number of the paper's tables, as printed. Raises StoreError naming a line that is no score."""
        return read_scores(data_folder() / "published" / f"{self.key}.csv")

    def printed(self, number: str) -> list[Score]:
        """The numbers of one table."""
        return [score for score in self.scores() if score.table == number]

    def table(self, number: str) -> PaperTable:
        """The table with this number. Raises InputError with those that have a counterpart here."""
        if number not in self.tables:
            known = ", ".join(self.tables)
            raise InputError(f"there is no table {number} of {self.key} here; expected one of {known}")
        return self.tables[number]

    def notes(self) -> Sheet:
        """Where the paper, its own text and its published implementation disagree, and what is followed here."""
        text = (data_folder() / "published" / "notes.csv").read_text(encoding="utf-8")
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row["paper"] == self.key]
        words = [[row[name] for name in ("subject", "first", "second", "followed")] for row in rows]
        headings = ("subject", "one says", "the other", "followed here")
        return Sheet.of(f"Disagreements within {self.key}", headings, words)


@cache
def all_papers() -> tuple[Paper, ...]:
    """Every paper of the house, by key."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.PAPER for module in modules), key=lambda paper: paper.key))


def get_paper(key: str) -> Paper:
    """The paper with this key. Raises InputError with the known keys."""
    for paper in all_papers():
        if paper.key == key:
            return paper
    raise InputError(f"unknown paper '{key}'; {expected_one_of((paper.key for paper in all_papers()), key)}")


def find_table(names: Sequence[str]) -> tuple[Paper, str]:
    """A paper and the number of its table, by both, or by the table's short form; without names the usual one.

    Raises InputError with what there is.
    """
    if len(names) > 1:
        paper, number = get_paper(names[0]), " ".join(names[1:])
        paper.table(number)
        return paper, number
    name = "".join(names)
    for paper in all_papers():
        if name in paper.short:
            return paper, paper.short[name]
    short = ", ".join(sorted(form for paper in all_papers() for form in paper.short if form))
    known = "; ".join(f"{paper.key} {', '.join(paper.tables)}" for paper in all_papers())
    raise InputError(f"there is no table '{name}' here; expected {short}, or a paper and its table: {known}")


def published(paper: str) -> list[Score]:
    """Every number of a paper's tables, as printed.

    Raises InputError for a paper that is not here, and StoreError naming a line that is no score.
    """
    return get_paper(paper).scores()


def beside_ours() -> list[Score]:
    """The published numbers that stand beside ours wherever scores are shown."""
    return [score for paper in all_papers() for score in paper.scores() if score.table in paper.beside]


def paper_sheet(
    paper: str, number: str | int, ours: Sequence[Score], suite: str = "", splits: Collection[str] = ()
) -> Sheet:
    """A table of a paper, ours beside the printed numbers. `suite` is by default the one with problems like its own.

    Raises InputError for a paper or table that is not here, SuiteError for an unknown suite, and StoreError and
    PlanError for damaged expert plans.
    """
    found, name = get_paper(paper), str(number)
    table = found.table(name)
    return table.sheet(Asked(ours, found.printed(name), suite or found.suite, splits))


def listed() -> Iterator[tuple[str, str, str, str]]:
    """Each table that is here: its paper, its number, what it shows, its short form."""
    for paper in all_papers():
        for number, table in paper.tables.items():
            short = next((form for form, of in paper.short.items() if form and of == number), "")
            yield paper.key, number, table.title, short
