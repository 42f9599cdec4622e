"""What interactive plots share: a panel for each domain, a colour and mark for each planner, bands of intervals.

Names are text: plotly escapes nothing, we do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sgp.evaluation.scores import Score, wilson

# Okabe and Ito's palette, safe for the colour-blind; told apart by symbol as well.
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#000000",
    "#8c564b",
    "#bcbd22",
)
_SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up", "triangle-down", "star", "hexagon", "pentagon")
_DASHES = ("solid", "dash", "dot", "dashdot")
_MANY = 40  # sizes, beyond which marks become small
_SHOWN = 4  # planners that a plot shows at first; a click in the legend shows the others


def style(number: int) -> tuple[str, str]:
    """The colour and the mark of a planner."""
    return _COLOURS[number % len(_COLOURS)], _SYMBOLS[number % len(_SYMBOLS)]


def _clear(colour: str) -> str:
    """A colour as a transparent filling."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def finish(figure: go.Figure, title: str, height: int = 420) -> go.Figure:
    """The figure with its title, in the look of all plots."""
    figure.update_layout(
        title=title,
        template="plotly_white",
        height=height,
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        hovermode="closest",
    )
    return figure


def domain_panels(domains: Sequence[str], x: str, y: str, gap: float = 0.1) -> go.Figure:
    """A panel for each domain, two in a row."""
    columns = min(2, max(1, len(domains)))
    lines = max(1, -(-len(domains) // columns))
    figure = make_subplots(
        lines,
        columns,
        subplot_titles=[escape(name) for name in domains],
        vertical_spacing=0.3 / lines,
        horizontal_spacing=gap,
    )
    figure.update_xaxes(title_text=x)
    figure.update_yaxes(title_text=y)
    return figure


def legend_entry(number: int, name: str, panel: int) -> dict[str, Any]:
    """The entry of a planner in the legend, one for all panels."""
    return {
        "name": escape(name),
        "legendgroup": str(number),
        "showlegend": panel == 0,
        "visible": True if number < _SHOWN else "legendonly",
    }


def at_panel(number: int) -> dict[str, int]:
    """Where a panel stands."""
    return {"row": number // 2 + 1, "col": number % 2 + 1}


def add_banded(
    figure: go.Figure,
    number: int,
    name: str,
    panel: int,
    sizes: Sequence[int],
    rates: Sequence[float],
    counts: Sequence[int],
) -> None:
    """A planner's rates over sizes, with the band of their 95 % Wilson intervals on these numbers of problems."""
    add_band(
        figure, number, name, panel, sizes, [wilson(rate, count) for rate, count in zip(rates, counts, strict=True)]
    )
    add_line(figure, number, name, panel, sizes, rates, counts)


def add_band(
    figure: go.Figure, number: int, name: str, panel: int, sizes: Sequence[int], bounds: Sequence[tuple[float, float]]
) -> None:
    """A planner's band over sizes, between lower and upper bounds."""
    figure.add_trace(
        go.Scatter(
            x=[*sizes, *reversed(sizes)],
            y=[high for _, high in bounds] + [low for low, _ in reversed(bounds)],
            mode="lines",  # with few points plotly would draw these too
            fill="toself",
            fillcolor=_clear(style(number)[0]),
            line={"width": 0},
            hoverinfo="skip",
            **{**legend_entry(number, name, panel), "showlegend": False},
        ),
        **at_panel(panel),
    )


def add_line(
    figure: go.Figure,
    number: int,
    name: str,
    panel: int,
    sizes: Sequence[int],
    values: Sequence[float],
    counts: Sequence[int],
    unit: str = "objects",
) -> None:
    """A planner's values over sizes in a unit, each with the number of problems that it is a mean of."""
    colour, symbol = style(number)
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=values,
            customdata=counts,
            hovertemplate=f"%{{x}} {unit}: %{{y:.2f}}, n = %{{customdata}}",
            mode="lines+markers",
            line={"color": colour, "dash": _DASHES[number % len(_DASHES)]},
            marker={"symbol": symbol, "size": 6 if len(sizes) <= _MANY else 4},
            **legend_entry(number, name, panel),
        ),
        **at_panel(panel),
    )


def scores_by_planner(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """The scores of each planner, seeds together."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.planner.title, []).append(score)
    return found
