"""Interactive plots of scores over size, as `sgp scaling` measures them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import mean

import plotly.graph_objects as go

from sgp.errors import InputError
from sgp.evaluation.metrics import Metric, metric_of
from sgp.evaluation.scores import Score
from sgp.reports.panels import add_banded, add_line, at_panel, domain_panels, finish, scores_by_planner
from sgp.reports.scaling_table import VALIDATIONS, scaling_sizes

_MARK = "#888888"  # legible on light and dark ground


def scaling_curves(scores: Sequence[Score], metric: str = "coverage", theirs: Sequence[Score] = ()) -> go.Figure:
    """A metric over size as `sgp scaling` measured it: a panel for each domain, a line for each planner.

    Seeds are averaged; scores of whole splits are left out. Rates of problems (coverage, fits, with_plan) have the band
    of their 95 % Wilson intervals, means of properties none; coverage has the share of problems with a known plan
    within the bound on actions (`fits`) above it, where that says more. `theirs` are the paper's scores: with them, the
    sizes of training and validation are shaded, Scale of each of its planners is marked, and plan lengths have the
    bound beside them. Raises InputError where no size has the metric, with those there are.
    """
    sized = [each for each in scores if each.size is not None]
    found, shown = [each for each in sized if each.metric == metric], metric_of(metric)
    if sized and not found:
        there = ", ".join(dict.fromkeys(each.metric for each in sized))
        raise InputError(f"no size has a score '{metric}'; choose one of {there}")
    domains = list(dict.fromkeys(each.domain for each in found))
    figure = domain_panels(domains, "objects", shown.title)
    for number, (name, own) in enumerate(scores_by_planner(found).items()):
        for panel, domain in enumerate(domains):
            line = _over_size(each for each in own if each.domain == domain)
            (add_banded if shown.of_problems else add_line)(figure, number, name, panel, *line)
    for panel, domain in enumerate(domains):
        if metric == "coverage":
            _add_ceiling(figure, panel, [each for each in sized if each.domain == domain])
        if theirs:
            _mark_sizes(figure, panel, domain)
        if theirs and metric == "coverage":
            _mark_scales(figure, panel, [each for each in theirs if (each.metric, each.domain) == ("scale", domain)])
        if theirs and metric == "plan_length":
            _add_bound(figure, panel, domain, [each.size or 0 for each in found if each.domain == domain])
    if shown.of_problems:  # above 1 is room for the marks' words
        top = 1.4 if theirs and metric == "coverage" else 1.05
        figure.update_yaxes(range=[-0.03, top], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1])
    else:
        figure.update_yaxes(rangemode="tozero")
    figure = finish(figure, _title(shown, bool(theirs)), 420 * max(1, -(-len(domains) // 2)))
    return figure.update_layout(margin_t=100)


def _title(metric: Metric, marked: bool) -> str:
    name = metric.title.capitalize()
    words = escape(f"{name} over size{', with 95 % Wilson bands' if metric.of_problems else ''}")
    marks = "shaded: sizes of training (blue) and validation (yellow)"
    if metric.name == "coverage":
        marks += "; dashed: Scale as published, by validation"
    return f"{words}<br><sup>{marks}</sup>" if marked else words


def _over_size(scores: Iterable[Score]) -> tuple[list[int], list[float], list[int]]:
    """Sizes, means over seeds, and the number of problems that one seed tried."""
    found: dict[int, list[Score]] = {}
    for each in scores:
        found.setdefault(each.size or 0, []).append(each)
    sizes = sorted(found)
    values = [mean(each.value for each in found[size]) for size in sizes]
    return sizes, values, [max(each.count for each in found[size]) for size in sizes]


def _add_ceiling(figure: go.Figure, panel: int, scores: Sequence[Score]) -> None:
    """The share of problems with a known plan within the bound: the most over planners, whose problems are the same."""
    fits, coverage = (_most(each for each in scores if each.metric == metric) for metric in ("fits", "coverage"))
    if all(share <= coverage.get(size, 0) for size, share in fits.items()):
        return
    figure.add_trace(
        go.Scatter(
            x=list(fits),
            y=list(fits.values()),
            mode="lines",
            line={"color": _MARK, "dash": "dot"},
            name="a plan within the bound is known",
            legendgroup="fits",
            showlegend=not any(each.legendgroup == "fits" for each in figure.data),
            hovertemplate="%{x} objects: %{y:.2f}",
        ),
        **at_panel(panel),
    )


def _most(scores: Iterable[Score]) -> dict[int, float]:
    """The largest value at each size."""
    found: dict[int, float] = {}
    for each in sorted(scores, key=lambda score: score.size or 0):
        found[each.size or 0] = max(each.value, found.get(each.size or 0, 0.0))
    return found


def _mark_sizes(figure: go.Figure, panel: int, domain: str) -> None:
    """Shades the sizes of training and of validation."""
    known = scaling_sizes(domain)
    if not known:
        return
    for sizes, colour in ((known["train"], "#0072b2"), (known["validation"], "#e69f00")):
        figure.add_vrect(
            x0=min(sizes) - 0.5,
            x1=max(sizes) + 0.5,
            fillcolor=colour,
            opacity=0.14,
            line_width=0,
            layer="below",
            **at_panel(panel),
        )


def _mark_scales(figure: go.Figure, panel: int, scales: Sequence[Score]) -> None:
    """A dashed line at each published Scale, its words one below the other: they are often close together."""
    order = {name: place for place, name in enumerate(VALIDATIONS)}
    for each in sorted(scales, key=lambda score: order.get(score.selected_by, len(order))):
        figure.add_vline(
            x=each.value,
            line={"color": _MARK, "dash": "dash", "width": 1},
            annotation={
                "text": f"{escape(each.selected_by)} {each.value:g}",
                "font": {"size": 11},
                "yshift": -15 * order.get(each.selected_by, len(order)),
            },
            annotation_position="top right",
            **at_panel(panel),
        )


def _add_bound(figure: go.Figure, panel: int, domain: str, sizes: Sequence[int]) -> None:
    """The most actions that a plan may have at each size."""
    bound = scaling_sizes(domain).get("bound")
    if bound is None or not sizes:
        return
    ends = [min(sizes), max(sizes)]
    figure.add_trace(
        go.Scatter(
            x=ends,
            y=[bound + size for size in ends],
            mode="lines",
            line={"color": _MARK, "dash": "dot"},
            name="most actions allowed",
            legendgroup="bound",
            showlegend=not any(each.legendgroup == "bound" for each in figure.data),
            hovertemplate="%{x} objects: at most %{y} actions",
        ),
        **at_panel(panel),
    )
