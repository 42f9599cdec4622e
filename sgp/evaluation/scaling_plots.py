"""Interactive plots of scores over size, as `sgp scaling` measures them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import mean

import plotly.graph_objects as go

from sgp.errors import InputError
from sgp.evaluation.panels import add_banded, add_line, at_panel, domain_panels, finish, scores_by_planner
from sgp.evaluation.scaling_table import VALIDATIONS, scaling_sizes
from sgp.evaluation.scores import Score

_AXES = {
    "coverage": "coverage",
    "plan_length": "mean actions of plans found",
    "seconds": "mean seconds a problem",
}
_RATES = ("coverage", "fits", "with_plan")  # shares of problems, which have a band
_FITS = "fits"  # share of problems whose best known plan keeps the bound
_MARK = "#888888"  # legible on light and dark ground


def scaling_curves(scores: Sequence[Score], metric: str = "coverage", theirs: Sequence[Score] = ()) -> go.Figure:
    """A metric over size as `sgp scaling` measured it: a panel for each domain, a line for each planner.

    Seeds are averaged. Shares of problems have the band of their 95 % Wilson intervals; coverage has above it, where it
    was measured, the share of problems whose best known plan keeps the bound on actions. `theirs` are the paper's
    scores: with them, its sizes of training and validation are shaded, Scale of each of its planners is marked, and
    plan lengths have its bound beside them. Raises InputError where no size has the metric, with those there are.
    """
    sized = [each for each in scores if each.size is not None]
    found = [each for each in sized if each.metric == metric]
    if sized and not found:
        there = ", ".join(dict.fromkeys(each.metric for each in sized))
        raise InputError(f"no size has a score '{metric}'; choose one of {there}")
    domains = list(dict.fromkeys(each.domain for each in found))
    figure = domain_panels(domains, "objects", _AXES.get(metric, metric.replace("_", " ")))
    for number, (name, own) in enumerate(scores_by_planner(found).items()):
        for panel, domain in enumerate(domains):
            line = _over_size(each for each in own if each.domain == domain)
            (add_banded if metric in _RATES else add_line)(figure, number, name, panel, *line)
    for panel, domain in enumerate(domains):
        if metric == "coverage":
            _add_best_known(figure, panel, [each for each in sized if (each.metric, each.domain) == (_FITS, domain)])
        if theirs:
            _mark_sizes(figure, panel, domain)
        if theirs and metric == "coverage":
            _mark_scales(figure, panel, [each for each in theirs if (each.metric, each.domain) == ("scale", domain)])
        if theirs and metric == "plan_length":
            _add_bound(figure, panel, domain, [each.size or 0 for each in found if each.domain == domain])
    if metric in _RATES:  # above 1 is room for the marks' words
        figure.update_yaxes(range=[-0.03, 1.4 if theirs else 1.05], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1])
    else:
        figure.update_yaxes(rangemode="tozero")
    figure = finish(figure, _title(metric, bool(theirs)), 420 * max(1, -(-len(domains) // 2)))
    return figure.update_layout(margin_t=100)


def _title(metric: str, marked: bool) -> str:
    words = f"{_AXES.get(metric, metric.replace('_', ' ')).capitalize()} over size"
    if metric in _RATES:
        words += ", with 95 % Wilson bands"
    marks = "shaded: sizes of training (blue) and validation (yellow)"
    if metric == "coverage":
        marks += "; dashed: Scale as published, by validation"
    return f"{escape(words)}<br><sup>{marks}</sup>" if marked else escape(words)


def _over_size(scores: Iterable[Score]) -> tuple[list[int], list[float], list[int]]:
    """Sizes, means over seeds, and the number of problems that one seed tried."""
    found: dict[int, list[Score]] = {}
    for each in scores:
        found.setdefault(each.size or 0, []).append(each)
    sizes = sorted(found)
    values = [mean(each.value for each in found[size]) for size in sizes]
    return sizes, values, [max(each.count for each in found[size]) for size in sizes]


def _add_best_known(figure: go.Figure, panel: int, fits: Sequence[Score]) -> None:
    """The share of problems whose best known plan keeps the bound: the most over planners, which share problems."""
    most: dict[int, float] = {}
    for each in fits:
        most[each.size or 0] = max(each.value, most.get(each.size or 0, 0.0))
    if not most:
        return
    figure.add_trace(
        go.Scatter(
            x=sorted(most),
            y=[most[size] for size in sorted(most)],
            mode="lines",
            line={"color": _MARK, "dash": "dot"},
            name="best known plan keeps the bound",
            legendgroup="fits",
            showlegend=not any(each.legendgroup == "fits" for each in figure.data),
            hovertemplate="%{x} objects: %{y:.2f}",
        ),
        **at_panel(panel),
    )


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
    for each in sorted(scales, key=lambda score: order.get(score.variant, len(order))):
        figure.add_vline(
            x=each.value,
            line={"color": _MARK, "dash": "dash", "width": 1},
            annotation={
                "text": f"{escape(each.variant)} {each.value:g}",
                "font": {"size": 11},
                "yshift": -15 * order.get(each.variant, len(order)),
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
