"""The papers' tables, our scores beside the printed numbers; `data/published/papers.toml` lists papers and tables."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd

from sgp.datasets.store import data_folder
from sgp.errors import InputError, expected_one_of
from sgp.evaluation.scores import load_scores, select, with_planners
from sgp.reports.scaling_tables import scaling_table
from sgp.reports.table import Table
from sgp.reports.tables import coverage_table


@dataclass(frozen=True)
class Paper:
    """A paper: its key, which names its file of numbers, its title, and its tables by number as in `papers.toml`.

    `suite` has problems like its own; the tables `beside` are shown beside ours wherever scores are shown.
    """

    key: str
    title: str
    suite: str
    tables: Mapping[str, Mapping[str, Any]]
    beside: Collection[str] = ()
    caption: str = ""

    def printed(self, number: str) -> pd.DataFrame:
        """The numbers of one table, as printed."""
        return select(load_scores(f"published/{self.key}"), table=number)

    def table(self, number: str) -> Mapping[str, Any]:
        """The description of a table. Raises InputError with the known numbers."""
        if number not in self.tables:
            known = ", ".join(self.tables)
            raise InputError(f"there is no table {number} of {self.key} here; expected one of {known}")
        return self.tables[number]

    def notes(self) -> Table:
        """Where the paper, its own text and its published implementation disagree, and what is followed here."""
        text = (data_folder() / "published" / "notes.csv").read_text(encoding="utf-8")
        rows = [row for row in csv.DictReader(text.splitlines(keepends=True)) if row["paper"] == self.key]
        words = [[row[name] for name in ("subject", "first", "second", "followed")] for row in rows]
        headings = ("subject", "one place", "another place", "followed here")
        return Table.of(f"Disagreements within {self.key}", headings, words)


@dataclass(frozen=True)
class TableInputs:
    """A paper's table: our scores, the printed ones, our suite's name, and the splits to show (none: all)."""

    paper: Paper
    number: str
    ours: pd.DataFrame
    printed: pd.DataFrame
    suite: str
    splits: Collection[str] = ()

    @property
    def options(self) -> Mapping[str, Any]:
        """The table's entry in `papers.toml`."""
        return self.paper.table(self.number)

    @property
    def title(self) -> str:
        """The table's heading."""
        return f"Table {self.number}: {self.options.get('heading', self.options['title'])}"

    @property
    def caption(self) -> str:
        """Remarks on this table, beyond those on all tables of its kind."""
        return str(self.options.get("caption", self.paper.caption))

    @property
    def scores(self) -> pd.DataFrame:
        """Our scores, then the printed ones."""
        return pd.concat([self.ours, self.printed], ignore_index=True)

    def table(self) -> Table:
        """The table."""
        kind = self.options["kind"]
        if kind == "scaling":
            return scaling_table(self.scores)
        if kind == "coverage":
            inputs, remarks = self, list[str]()
            if methods := self.options.get("methods"):
                ours, remarks = as_printed(select(self.ours, method=methods))
                inputs = replace(self, ours=ours)
            table = coverage_table(inputs.scores, self.title, self.splits, all_published=True)
            return replace(table, caption=" ".join([table.caption, self.caption, *remarks]))
        from sgp.reports.paper_tables import KINDS

        return KINDS[kind](self)

    def drawing(self) -> str:
        """The table as SVG. Raises InputError for one that is not drawn."""
        from sgp.reports.tables import coverage_figure

        if not self.options.get("drawn"):
            tables = [(paper.key, name) for paper in all_papers() for name, of in paper.tables.items() if "drawn" in of]
            known = ", ".join(map(" ".join, tables))
            raise InputError(f"table {self.number} of {self.paper.key} has no drawing; expected --svg with {known}")
        return coverage_figure(self.scores, self.splits)


def as_printed(ours: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The scores to show beside printed ones, and sentences on those that were trained for fewer epochs.

    A run of fewer epochs replaces its variant in a domain where no full training was measured; runs with other settings
    are left out, since the paper's table does not have them.
    """
    whole = set(zip(ours["method"], ours["variant"], ours["domain"], strict=True))
    variants, shorter = list[str | None](), dict[tuple[str, str, str], dict[str, None]]()
    for row in ours.itertuples():
        variant, _, settings = row.variant.partition("+")
        name, _, epochs = settings.partition("training.epochs=")
        if not settings:
            variants.append(variant)
        elif name or not epochs or "+" in settings:
            variants.append(None)
        elif (row.method, variant, row.domain) in whole:
            variants.append(row.variant)
        else:
            variants.append(variant)
            shorter.setdefault((row.method, variant, epochs), {})[row.domain] = None
    ours = ours.assign(variant=variants)
    return with_planners(ours[ours["variant"].notna()]), [
        f"{method} {variant} was trained for {epochs} epochs in {' and '.join(domains)}."
        for (method, variant, epochs), domains in shorter.items()
    ]


@cache
def all_papers() -> tuple[Paper, ...]:
    """Every paper, by key."""
    text = (data_folder() / "published" / "papers.toml").read_text(encoding="utf-8")
    return tuple(Paper(key=key, **entry) for key, entry in sorted(tomllib.loads(text).items()))


def get_paper(key: str) -> Paper:
    """The paper with this key. Raises InputError with the known keys."""
    papers = {paper.key: paper for paper in all_papers()}
    if key not in papers:
        raise InputError(f"unknown paper '{key}'; {expected_one_of(papers, key)}")
    return papers[key]


def find_table(names: Sequence[str]) -> tuple[Paper, str]:
    """A paper and the number of its table, by both, or by the table's short name; without names the default one."""
    if len(names) > 1:
        paper, number = get_paper(names[0]), " ".join(names[1:])
        paper.table(number)
        return paper, number
    name, shorts = "".join(names), dict[str, tuple[Paper, str]]()
    for paper in all_papers():
        for number, table in paper.tables.items():
            shorts |= dict.fromkeys(table.get("short", ()), (paper, number))
    if name in shorts:
        return shorts[name]
    short = ", ".join(sorted(filter(None, shorts)))
    known = "; ".join(f"{paper.key} {', '.join(paper.tables)}" for paper in all_papers())
    raise InputError(f"there is no table '{name}' here; expected {short}, or a paper and its table: {known}")


def beside_ours() -> pd.DataFrame:
    """The published numbers that are shown beside ours wherever scores are shown."""
    return pd.concat([paper.printed(number) for paper in all_papers() for number in paper.beside], ignore_index=True)


def table_inputs(
    names: Sequence[str], scores: pd.DataFrame | None = None, suite: str = "", splits: Collection[str] = ()
) -> TableInputs:
    """The inputs of the table named as in `find_table`: these scores, or the measured ones of the data folder."""
    paper, number = find_table(names)
    chosen = suite or paper.suite
    if paper.table(number)["kind"] == "scaling":  # its problems are of no suite
        ours = load_scores("measured/scaling") if scores is None else scores
    elif scores is None and not suite:  # cells without measurements stay empty
        ours = select(load_scores(), suite=chosen)
    else:
        ours = of_suite(load_scores() if scores is None else scores, chosen)
    return TableInputs(paper, number, ours, paper.printed(number), chosen, splits)


def of_suite(scores: pd.DataFrame, suite: str) -> pd.DataFrame:
    """The scores on one suite. Raises InputError with the suites of the scores where there are none."""
    chosen = select(scores, suite=suite)
    if len(scores) and chosen.empty:
        others = ", ".join(sorted(set(scores["suite"])))
        raise InputError(f"there are no scores on suite '{suite}', but on {others}; choose with --suite")
    return chosen


def paper_table(
    paper: str, number: str | int, ours: pd.DataFrame, suite: str = "", splits: Collection[str] = ()
) -> Table:
    """A table of a paper, ours beside the printed numbers; `suite` is by default the one with problems like its own.

    Raises InputError for an unknown paper or table, SuiteError for an unknown suite.
    """
    known, name = get_paper(paper), str(number)
    known.table(name)
    return TableInputs(known, name, select(ours, paper=""), known.printed(name), suite or known.suite, splits).table()


def listed() -> Iterator[tuple[str, str, str, str]]:
    """Each table: its paper, its number, its title, its short name."""
    for paper in all_papers():
        for number, table in paper.tables.items():
            yield paper.key, number, str(table["title"]), next(filter(None, table.get("short", ())), "")
