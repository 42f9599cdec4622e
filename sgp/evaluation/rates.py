"""Rates with their intervals as dots in panels, as a plotly figure that also reads in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sgp.evaluation.scores import wilson

# Okabe and Ito's palette, dark to light; series are told apart by their marks as well, hollow ones last.
_MARKS = (
    ("#000000", "circle"),
    ("#d55e00", "diamond-open"),
    ("#0072b2", "square"),
    ("#009e73", "triangle-up-open"),
)


@dataclass(frozen=True)
class Rate:
    """A share of `count` cases, and where it is drawn: in which panel, on which line, as one of which series.

    Where it is known that only so many of the cases are `distinct`, the interval is on these.
    """

    panel: str
    line: str
    series: str
    value: float
    count: int
    distinct: int | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval."""
        return wilson(self.value, self.count if self.distinct is None else self.distinct)


def rates(shown: Sequence[Rate], title: str, axis: str = "coverage") -> go.Figure:
    """A panel for each group, a line for each thing compared, a dot with its 95 % Wilson interval for each series.

    Panels, lines and series stand in the order in which they come. Names are text, never markup.
    """
    panels = list(dict.fromkeys(each.panel for each in shown))
    lines = list(dict.fromkeys(each.line for each in shown))
    series = list(dict.fromkeys(each.series for each in shown))
    figure = make_subplots(1, max(len(panels), 1), shared_yaxes=True, subplot_titles=[escape(each) for each in panels])
    for number, name in enumerate(series):
        colour, symbol = _MARKS[number % len(_MARKS)]
        # Series of one line stand below each other.
        shift = (number - (len(series) - 1) / 2) * 0.6 / max(len(series), 1)
        for column, panel in enumerate(panels, start=1):
            own = [each for each in shown if (each.panel, each.series) == (panel, name)]
            bounds = [each.interval for each in own]
            figure.add_trace(
                go.Scatter(
                    x=[each.value for each in own],
                    y=[lines.index(each.line) + shift for each in own],
                    customdata=[[each.count, *bound] for each, bound in zip(own, bounds, strict=True)],
                    hovertemplate="%{x:.2f} [%{customdata[1]:.2f}, %{customdata[2]:.2f}], n = %{customdata[0]}",
                    error_x={
                        "type": "data",
                        "symmetric": False,
                        "array": [high - each.value for each, (_, high) in zip(own, bounds, strict=True)],
                        "arrayminus": [each.value - low for each, (low, _) in zip(own, bounds, strict=True)],
                        "thickness": 1.5,
                        "width": 4,
                    },
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "size": 10, "line": {"width": 2}},
                    name=escape(name),
                    legendgroup=name,
                    showlegend=column == 1 and len(series) > 1,
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(range=[-0.05, 1.05], title_text=axis, dtick=0.5, tickformat=".1f")
    figure.update_yaxes(
        tickvals=list(range(len(lines))),
        ticktext=[escape(each) for each in lines],
        range=[len(lines) - 0.5, -0.5],
        automargin=True,
    )
    figure.update_layout(
        title=f"{escape(title)}<br><sup>with 95 % Wilson intervals</sup>",
        template="plotly_white",
        height=160 + 70 * len(lines),
        margin={"l": 60, "r": 20, "t": 90, "b": 90},
        legend={"orientation": "h", "y": -90 / (70 * len(lines) + 1), "yanchor": "top"},
    )
    return figure
