"""How far planners scale, ours beside the paper's: scores of scaling, and Table 1 of dynamic validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, pstdev
from typing import TypedDict

from sgp.datasets.store import data_folder
from sgp.domains import all_domains
from sgp.evaluation.endings import CUT_METRICS
from sgp.evaluation.metrics import METRICS, Metric
from sgp.evaluation.scores import Score, read_scores
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import Line

SPLIT = "scaling"  # of the scores of a curve, whose problems are generated and so of no suite's split
VALIDATIONS = ("loss", "coverage", "dynamic")  # in the order of the paper's table
_SHOWN = ("scale", "sumcov")
CAPTION = (
    "Scale: the largest size at which coverage reaches .3; SumCov: the sum of coverages up to it. Loss, Coverage and "
    "Dynamic name the validation that selected the planner among those of one training. ≥: the curve was cut, by a cap "
    "on size or time, before coverage fell. n: problems tried along the whole curve, column by column. The published "
    "planners were measured on other problems of the same sizes."
)


class ScalingSizes(TypedDict, total=False):
    """The sizes that planners of a domain are trained and validated on, and the bound on actions beside one a size."""

    train: Sequence[int]
    validation: Sequence[int]
    bound: int


def scaling_sizes(domain: str) -> ScalingSizes:
    """The sizes of a domain (dynamic validation, Tables 2 and 3); empty for one that the house does not scale."""
    scaling = {each.name: each.scaling for each in all_domains()}.get(domain)
    if scaling is None:
        return {}
    found: ScalingSizes = {"train": scaling.train, "validation": scaling.validation}
    return found if scaling.bound is None else {**found, "bound": scaling.bound}


def is_scaling(score: Score) -> bool:
    """Whether a score belongs to a curve over sizes."""
    return score.split == SPLIT


def measured_scaling() -> list[Score]:
    """The curves over sizes that were measured and committed; none where there is no such file.

    Raises StoreError naming a line that is no score.
    """
    path = data_folder() / "measured" / "scaling.csv"
    return read_scores(path) if path.is_file() else []


_Cells = dict[tuple[str, str], list[Score]]  # by column and metric


def scaling_table(ours: Sequence[Score], theirs: Sequence[Score], title: str = "Scale and SumCov") -> Sheet:
    """Scale and SumCov of the planners that each validation selected, ours with the published ones below.

    Domains stand in the order of the paper, those that it does not have last; seeds are averaged. Scores other than
    `scale`, `sumcov` and those that say how a curve ended are left out. Source: dynamic validation, Table 1.
    """
    groups: dict[str, dict[Line, _Cells]] = {}
    for score in [*ours, *theirs]:
        if score.metric in (*_SHOWN, *CUT_METRICS):
            trained = Line(score.paper, score.planner._replace(selected_by=""))
            cells = groups.setdefault(score.domain, {}).setdefault(trained, {})
            cells.setdefault((score.selected_by, score.metric), []).append(score)
    chosen = {column for lines in groups.values() for cells in lines.values() for column, _ in cells}
    columns = [*VALIDATIONS, *sorted(chosen - {*VALIDATIONS}, reverse=True)]
    names = [name for name in dict.fromkeys(score.domain for score in [*theirs, *ours]) if name in groups]
    rows = [row for name in names for row in _domain_rows(name, groups[name], columns)]
    names_of = [METRICS[metric].heading for metric in _SHOWN]
    headings = [f"{column.capitalize() or 'As trained'} {name}" for column in columns for name in names_of]
    return Sheet(title, ("domain", "planner", *headings, "n"), tuple(rows), CAPTION)


def _domain_rows(name: str, lines: Mapping[Line, _Cells], columns: Sequence[str]) -> list[Row]:
    """The lines of a domain, its name before the first."""
    rows = []
    for place, (line, cells) in enumerate(lines.items()):
        words, counts = [], []
        for column in columns:
            mark = "≥" if any((column, metric) in cells for metric in CUT_METRICS) else ""
            words += [_words(mark, cells.get((column, metric), []), METRICS[metric]) for metric in _SHOWN]
            scale = cells.get((column, "scale"))
            counts += [f"{sum(each.count for each in scale):,}" if scale else "-"]
        planner, n = line.planner.title, ""
        if line.paper:
            planner += ", published"
        else:
            planner += f" x{max(len({each.seed for each in found}) for found in cells.values())}"
            n = " / ".join(counts)
        rows.append(Row((name if place == 0 else "", planner, *words, n), published=bool(line.paper)))
    return rows


def _words(mark: str, scores: Sequence[Score], metric: Metric) -> str:
    """The mean over seeds, with its standard deviation where they differ."""
    if not scores:
        return ""
    values = [score.value for score in scores]
    spread = pstdev(values)
    return f"{mark}{metric.show(round(mean(values), 2))}" + (f" ±{metric.show(round(spread, 2))}" if spread else "")
