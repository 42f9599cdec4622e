"""Two planners against each other: every instance that both tried, as a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from statistics import mean

import plotly.graph_objects as go

from sgp.evaluation.attempts import AttemptRow
from sgp.planning.subject import PlannerName
from sgp.reports.panels import finish, style

MEASURES: dict[str, Callable[[AttemptRow], float]] = {
    "plan length": lambda row: float(row.length or 0),
    "decisions": lambda row: float(row.decisions),
    "seconds": lambda row: row.seconds,
}
_MARGIN = 1.12  # where the unsolved ones stand, times the largest value
_RULE = {"color": "#8a8f98", "width": 1, "dash": "dot"}

Instance = tuple[str, str, str, str]  # domain, suite, split, problem


def two_planners(
    rows: Sequence[AttemptRow], across: PlannerName, up: PlannerName, measure: str = "plan length"
) -> go.Figure:
    """One planner's numbers over another's on the instances that both tried, domains by colour and mark.

    A number is the mean over the seeds that solved; what a planner solved with no seed stands on the dotted line at the
    margin. The title counts who solved what. A point's `customdata` is [domain, suite, split, problem].
    """
    value = MEASURES[measure]
    sides = [_tried(rows, planner) for planner in (across, up)]
    shared = [instance for instance in sides[0] if instance in sides[1]]
    places = [[_mean(side[instance], value) for side in sides] for instance in shared]
    edge = _MARGIN * max((each for pair in places for each in pair if each is not None), default=1.0)
    figure = go.Figure()
    figure.add_shape(type="line", x0=0, y0=0, x1=edge / _MARGIN, y1=edge / _MARGIN, line={**_RULE, "dash": "solid"})
    figure.add_shape(type="line", x0=edge, y0=0, x1=edge, y1=edge, line=_RULE)
    figure.add_shape(type="line", x0=0, y0=edge, x1=edge, y1=edge, line=_RULE)
    for number, domain in enumerate(dict.fromkeys(instance[0] for instance in shared)):
        own = [(instance, pair) for instance, pair in zip(shared, places, strict=True) if instance[0] == domain]
        colour, symbol = style(number)
        figure.add_trace(
            go.Scatter(
                x=[edge if x is None else x for _, (x, _) in own],
                y=[edge if y is None else y for _, (_, y) in own],
                customdata=[list(instance) for instance, _ in own],
                text=[escape(_words(instance, pair, measure)) for instance, pair in own],
                hovertemplate="%{text}<extra></extra>",
                mode="markers",
                name=escape(domain),
                marker={"color": colour, "symbol": symbol, "size": 8, "opacity": 0.7},
            )
        )
    for axis, planner in ((figure.update_xaxes, across), (figure.update_yaxes, up)):
        axis(title_text=escape(f"{measure}, {planner.title}"), range=[-0.03 * edge, 1.04 * edge], zeroline=False)
    figure.add_annotation(
        x=edge, y=0, text="not solved", textangle=-90, xanchor="right", yanchor="bottom", showarrow=False
    )
    figure.add_annotation(x=0, y=edge, text="not solved", xanchor="left", yanchor="top", showarrow=False)
    return finish(figure, _counts(places), 520)


def _tried(rows: Sequence[AttemptRow], planner: PlannerName) -> dict[Instance, list[AttemptRow]]:
    """A planner's attempts of each instance, seeds together."""
    found: dict[Instance, list[AttemptRow]] = {}
    for row in rows:
        if row.planner == planner:
            found.setdefault((row.domain, row.suite, row.split, row.problem), []).append(row)
    return found


def _mean(tried: Sequence[AttemptRow], value: Callable[[AttemptRow], float]) -> float | None:
    """The mean over the attempts that solved; None where none did."""
    solved = [value(row) for row in tried if row.solved]
    return mean(solved) if solved else None


def _words(instance: Instance, pair: Sequence[float | None], measure: str) -> str:
    domain, _, split, problem = instance
    across, up = ("not solved" if each is None else f"{each:.3g}" for each in pair)
    return f"{problem} of {domain}, {split}; {measure}: across {across}, up {up}"


def _counts(places: Sequence[Sequence[float | None]]) -> str:
    """Who solved how many, in words."""
    both = [(x, y) for x, y in places if x is not None and y is not None]
    across = sum(x is not None and y is None for x, y in places)
    up = sum(x is None and y is not None for x, y in places)
    neither = len(places) - len(both) - across - up
    less = sum(x < y for x, y in both), sum(y < x for x, y in both)
    return (
        f"n = {len(places)}: both solve {len(both)} (less across {less[0]}, less up {less[1]}), "
        f"across alone {across}, up alone {up}, neither {neither}"
    )
