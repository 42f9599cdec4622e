"""Tables of scaling: a curve by size, and Scale and SumCov beside the published ones (dynamic validation, Table 1)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

import pandas as pd

from sgp.datasets.subject import PlannerName
from sgp.evaluation.scores import CUT_METRICS, METRICS, select
from sgp.reports.table import CAPTIONS, Row, Table

if TYPE_CHECKING:
    from sgp.evaluation.scaling import Curve

SPLIT = "scaling"  # of the scores of a curve, whose problems are generated and belong to no suite's split
VALIDATIONS = ("loss", "coverage", "dynamic")  # in the order of the paper's table
_SHOWN = ("scale", "sumcov")


def scaling_sizes(domain: str) -> dict[str, Any]:
    """Sizes of a domain's problems (dynamic validation, Tables 2 and 3), empty for a domain without them."""
    from sgp.domains import all_domains

    scaling = {known.name: known.scaling for known in all_domains()}.get(domain)
    if scaling is None:
        return {}
    sizes: dict[str, Any] = {"train": scaling.train, "validation": scaling.validation}
    return sizes if scaling.bound is None else {**sizes, "bound": scaling.bound}


def scaling_table(scores: pd.DataFrame, name_of: Callable[[PlannerName], str] = attrgetter("title")) -> Table:
    """Scale and SumCov of the planners that each validation selected, ours above the published ones of a domain."""
    scores = select(scores, metric=[*_SHOWN, *CUT_METRICS])
    theirs, ours = scores[scores["paper"] != ""], scores[scores["paper"] == ""]
    columns = [*VALIDATIONS, *sorted({*scores["selected_by"]} - {*VALIDATIONS}, reverse=True)]
    rows: list[Row] = []
    for domain in dict.fromkeys([*theirs["domain"], *ours["domain"]]):
        of_domain = select(pd.concat([ours, theirs]), domain=domain)
        name = domain
        for key, line in of_domain.groupby(["paper", "method", "variant", "decoding"], sort=False):
            rows.append(_line(name, name_of(PlannerName(*key[1:])), bool(key[0]), line, columns))
            name = ""
    headings = [
        f"{name.capitalize() or 'As trained'} {METRICS[metric].heading}" for name in columns for metric in _SHOWN
    ]
    return Table("Scale and SumCov", ("domain", "planner", *headings, "n"), tuple(rows), CAPTIONS["scaling"])


def _line(name: str, planner: str, published: bool, line: pd.DataFrame, columns: list[str]) -> Row:
    words, counts = [], []
    for column in columns:
        cell = select(line, selected_by=column)
        cut = "≥" if cell["metric"].isin(CUT_METRICS).any() else ""
        words += [_mean(cut, metric, select(cell, metric=metric)["value"].tolist()) for metric in _SHOWN]
        problems = select(cell, metric="scale")["n"]
        counts.append(f"{problems.sum():,}" if len(problems) else "-")
    if published:
        return Row((name, f"{planner}, published", *words, ""), published=True)
    seeds = line.groupby(["selected_by", "metric"])["seed"].nunique(dropna=False).max()
    return Row((name, f"{planner} x{seeds}", *words, " / ".join(counts)))


def _mean(cut: str, metric: str, values: list[float]) -> str:
    """The mean over seeds, with its standard deviation where they differ."""
    if not values:
        return ""
    show, spread = METRICS[metric].show, pstdev(values)
    return f"{cut}{show(round(mean(values), 2))}" + (f" ±{show(round(spread, 2))}" if spread else "")


def published_scales(theirs: pd.DataFrame, domain: str) -> tuple[str, int | None]:
    """A sentence with the results of the paper's planners in a domain (its Table 1), and twice their largest Scale."""
    values: dict[str, dict[str, float]] = {}
    for row in select(theirs, domain=domain, metric=_SHOWN).itertuples():
        values.setdefault(f"{row.method}, {row.selected_by} validation", {})[row.metric] = row.value
    if not values:
        return "", None
    words = [f"{name}: Scale {numbers['scale']:g}, SumCov {numbers['sumcov']:g}" for name, numbers in values.items()]
    return f"Published: {'; '.join(words)}.", round(2 * max(numbers["scale"] for numbers in values.values()))


def curve_table(curve: Curve, title: str, kappa: float, published: str = "") -> Table:
    """A curve by size, with a bar for each coverage; `published` is a sentence to compare it with."""
    import numpy as np

    from sgp.evaluation.scaling import half_width, plan_length, property_values, seconds
    from sgp.planning.rollout import Outcome

    show = METRICS["coverage"].show
    rows = []
    for point in curve.points:
        width = half_width(np.array([point.coverage]), np.array([len(point.attempts)]), kappa)[0]
        lengths = property_values(curve, point, "plan_length", plan_length)
        coverage = f"{show(point.coverage)} ±{show(width)}", "█" * round(20 * point.coverage), str(len(point.attempts))
        bounds = f"≥{show(point.within_bound)}", show(point.with_plan), str(point.max_actions)
        time = f"{mean(property_values(curve, point, 'seconds', seconds)):.3f}"
        rows.append((str(point.size), *coverage, *bounds, f"{mean(lengths):.1f}" if lengths else "", time))
    headings = ("objects", "coverage", "", "problems", "fit", "known", "most actions", "mean actions", "mean s")
    words = [f"Scale {curve.scale}, SumCov {METRICS['sumcov'].show(curve.sumcov)}; {curve.note}."]
    late = sum(attempt.outcome is Outcome.TIMEOUT for point in curve.points for attempt in point.attempts)
    if late:
        words.append(f"{late} attempts ran out of their seconds and count as not solved.")
    if unsolvable := sum(point.unsolvable for point in curve.points):
        words.append(f"{unsolvable} problems have no plan, as Fast Downward proved, and are not counted.")
    words.append("Fit: the share with a plan of no more than the most actions, as far as plans are known (known).")
    return Table.of(title, headings, rows, " ".join([*words, published]).strip())
