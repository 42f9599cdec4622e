"""Coverage tables: our columns beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, pstdev

from rich.table import Table

from sgp.datasets.store import data_folder
from sgp.datasets.suite import SPLITS
from sgp.domains import canonical_name
from sgp.evaluation.scores import Score, read_scores, wilson

OTHER_INSTANCES = (
    "The published numbers were measured on other instances of the same sizes: compare the intervals, not the digits."
)


def published(paper: str) -> list[Score]:
    """Every number of a paper's tables, as printed."""
    return read_scores(data_folder() / "published" / f"{paper}.csv")


def measured() -> list[Score]:
    """The scores that were measured and committed, from all files."""
    return [score for path in sorted((data_folder() / "measured").glob("*.csv")) for score in read_scores(path)]


@dataclass(frozen=True)
class Column:
    """A column of a table: a paper's name (empty for ours), a method and a variant."""

    paper: str
    method: str
    variant: str

    @property
    def heading(self) -> str:
        """What stands above the column."""
        return "\n".join((self.method, self.variant, "published" if self.paper else "measured"))


@dataclass(frozen=True)
class Cell:
    """Coverage of one column in one row: the mean over seeds, its standard deviation, and the number of problems."""

    value: float
    spread: float | None
    count: int
    seeds: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the mean on `count` problems."""
        return wilson(self.value, self.count)

    def __str__(self) -> str:
        spread = f" ±{self.spread:.2f}" if self.spread and self.seeds > 1 else ""
        if not self.count:
            return f"{self.value:.2f}{spread}"
        low, high = self.interval
        return f"{self.value:.2f}{spread} [{low:.2f}, {high:.2f}]"


def cell(scores: Sequence[Score]) -> Cell | None:
    """The scores of one cell as one: seeds are averaged, a published score stands as printed."""
    if not scores:
        return None
    values = [score.value for score in scores]
    spread = scores[0].spread if len(scores) == 1 else pstdev(values)
    return Cell(mean(values), spread, max(score.count for score in scores), len(scores))


def select(scores: Sequence[Score], column: Column, domain: str, split: str) -> list[Score]:
    """The whole-split coverage scores of a column in a row."""
    return [
        score
        for score in scores
        if (score.paper, score.method, score.variant) == (column.paper, column.method, column.variant)
        and canonical_name(score.domain) == canonical_name(domain)
        and (score.split, score.metric, score.size) == (split, "coverage", None)
    ]


def columns_of(ours: Sequence[Score], theirs: Sequence[Score]) -> list[Column]:
    """A column for each of our methods and variants, the published ones of the same name right after it."""
    found: list[Column] = []
    for score in ours:
        found += [Column("", score.method, score.variant), *_twins(score, theirs)]
    return list(dict.fromkeys(found))


def domains_and_splits(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """The rows that scores fill, splits in the order of the paper."""
    order = {split: place for place, split in enumerate(SPLITS)}
    rows = dict.fromkeys((score.domain, score.split) for score in scores if score.metric == "coverage")
    domains = list(dict.fromkeys(domain for domain, _ in rows))
    return sorted(rows, key=lambda pair: (domains.index(pair[0]), order.get(pair[1], len(order))))


def row(scores: Sequence[Score], columns: Sequence[Column], domain: str, split: str) -> list[Cell | None]:
    """The cells of one domain and split."""
    return [cell(select(scores, column, domain, split)) for column in columns]


def _rows(ours: Sequence[Score], theirs: Sequence[Score]) -> tuple[list[Column], list[list[str]]]:
    """Columns, and rows of words: domain, split, n, cells."""
    columns = columns_of(ours, theirs)
    rows = []
    for domain, split in domains_and_splits(ours):
        cells = row([*ours, *theirs], columns, domain, split)
        count = max(each.count for each in cells if each is not None)
        rows.append([domain, split, str(count), *("" if each is None else str(each) for each in cells)])
    return columns, rows


def coverage_table(ours: Sequence[Score], theirs: Sequence[Score], title: str) -> Table:
    """Coverage by domain and split, for the terminal: each of our columns, its published twin beside it."""
    columns, rows = _rows(ours, theirs)
    table = Table(title=title, caption=OTHER_INSTANCES, caption_justify="left")
    for heading in ("domain", "split", "n"):
        table.add_column(heading, justify="right" if heading == "n" else "left", vertical="bottom")
    for column in columns:
        table.add_column(column.heading, style="dim" if column.paper else "", no_wrap=True)
    for place, words in enumerate(rows):
        first = place == 0 or rows[place - 1][0] != words[0]
        last = place + 1 == len(rows) or rows[place + 1][0] != words[0]
        table.add_row(words[0] if first else "", *words[1:], end_section=last)
    return table


def details_table(scores: Sequence[Score], title: str) -> Table:
    """What stands behind the coverage of whole splits.

    Mean plan length of solved problems, and its quotient by the expert's; mean decisions and seconds of all problems;
    how many problems ended otherwise than solved.
    """
    table = Table("planner", "domain", "split", title=title)
    for heading in ("solved", "length", "x expert's", "decisions", "seconds"):
        table.add_column(heading, justify="right")
    table.add_column("how the others ended")
    groups: dict[tuple[str, str, str], dict[str, Score]] = {}
    for score in scores:
        if score.size is None:
            planner = f"{score.method} {score.variant} seed {score.seed}"
            groups.setdefault((planner, score.domain, score.split), {})[score.metric] = score
    for place, found in groups.items():
        coverage = found["coverage"]
        others = {name.removeprefix("outcome_"): each for name, each in found.items() if name.startswith("outcome_")}
        others.pop("solved", None)
        table.add_row(
            *place,
            f"{coverage.value * coverage.count:.0f} of {coverage.count}",
            *(_number(found.get(metric)) for metric in ("plan_length", "plan_length_ratio", "decisions", "seconds")),
            ", ".join(f"{name} {each.value:.0f}" for name, each in sorted(others.items())),
        )
    return table


def _number(score: Score | None) -> str:
    return "" if score is None else f"{score.value:.2f}"


def coverage_markdown(ours: Sequence[Score], theirs: Sequence[Score]) -> str:
    """The same table in Markdown."""
    columns, rows = _rows(ours, theirs)
    headings = ["domain", "split", "n", *(column.heading.replace("\n", " ") for column in columns)]
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(words)} |\n" for words in lines) + f"\n{OTHER_INSTANCES}\n"


def _twins(score: Score, theirs: Sequence[Score]) -> list[Column]:
    """The published columns of a score's method and variant."""
    found = [
        Column(each.paper, each.method, each.variant)
        for each in theirs
        if (each.method, each.variant, each.metric) == (score.method, score.variant, "coverage")
    ]
    return list(dict.fromkeys(found))
