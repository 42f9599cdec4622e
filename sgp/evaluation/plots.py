"""Interactive plots of scores and attempts, as plotly figures. Names are text: plotly escapes nothing, we do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import mean
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sgp.errors import InputError
from sgp.evaluation.attempts import AttemptRow
from sgp.evaluation.scores import Score, wilson
from sgp.evaluation.tables import Planner

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


RATES = ("coverage", "fits", "with_plan")  # metrics that are shares of problems

_SHOWN = 4  # planners that a plot shows at first; a click in the legend shows the others


def _style(number: int) -> tuple[str, str]:
    return _COLOURS[number % len(_COLOURS)], _SYMBOLS[number % len(_SYMBOLS)]


def _clear(colour: str) -> str:
    """A colour as a transparent filling."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def _finish(figure: go.Figure, title: str, height: int = 420) -> go.Figure:
    figure.update_layout(
        title=title,
        template="plotly_white",
        height=height,
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        hovermode="closest",
    )
    return figure


def _panels(domains: Sequence[str], x: str, y: str, gap: float = 0.1) -> go.Figure:
    """A panel for each domain, two in a row."""
    columns = min(2, max(1, len(domains)))
    lines = -(-len(domains) // columns)
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


def _legend(number: int, name: str, panel: int) -> dict[str, Any]:
    """The entry of a planner in the legend, one for all panels."""
    return {
        "name": escape(name),
        "legendgroup": str(number),
        "showlegend": panel == 0,
        "visible": True if number < _SHOWN else "legendonly",
    }


def _place(number: int) -> dict[str, int]:
    return {"row": number // 2 + 1, "col": number % 2 + 1}


def coverage_over_size(rows: Sequence[AttemptRow]) -> go.Figure:
    """Coverage of each size over all splits, with the band of the 95 % Wilson intervals."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = _panels(domains, "objects", "coverage")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        for panel, domain in enumerate(domains):
            solved: dict[int, list[bool]] = {}
            for row in own:
                if row.domain == domain:
                    solved.setdefault(row.size, []).append(row.solved)
            sizes = sorted(solved)
            rates = [mean(solved[size]) for size in sizes]
            # Seeds try the same problems: the interval is that of one seed's number.
            seeds = max(1, len({row.seed for row in own if row.domain == domain}))
            _add_banded(figure, number, name, panel, sizes, rates, [len(solved[size]) // seeds for size in sizes])
    figure.update_yaxes(range=[-0.03, 1.05])
    return _finish(figure, "Coverage over size, with the band of 95 % Wilson intervals", 380 * -(-len(domains) // 2))


def _add_banded(
    figure: go.Figure,
    number: int,
    name: str,
    panel: int,
    sizes: Sequence[int],
    rates: Sequence[float],
    counts: Sequence[int],
) -> None:
    """A planner's rates over sizes, with the band of their intervals."""
    colour, _ = _style(number)
    bounds = [wilson(rate, count) for rate, count in zip(rates, counts, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[*sizes, *reversed(sizes)],
            y=[high for _, high in bounds] + [low for low, _ in reversed(bounds)],
            mode="lines",  # with few points plotly would draw these too
            fill="toself",
            fillcolor=_clear(colour),
            line={"width": 0},
            hoverinfo="skip",
            **{**_legend(number, name, panel), "showlegend": False},
        ),
        **_place(panel),
    )
    _add_line(figure, number, name, panel, sizes, rates, counts)


def _add_line(
    figure: go.Figure,
    number: int,
    name: str,
    panel: int,
    sizes: Sequence[int],
    values: Sequence[float],
    counts: Sequence[int],
) -> None:
    """A planner's values over sizes, with what each is of."""
    colour, symbol = _style(number)
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=values,
            customdata=counts,
            hovertemplate="%{x} objects: %{y:.2f}, n = %{customdata}",
            mode="lines+markers",
            line={"color": colour, "dash": _DASHES[number % len(_DASHES)]},
            marker={"symbol": symbol},
            **_legend(number, name, panel),
        ),
        **_place(panel),
    )


def scaling_curves(scores: Sequence[Score], metric: str = "coverage") -> go.Figure:
    """A metric over size as `sgp scaling` measured it, a line for each planner; n stands at every point.

    A panel for each domain; rates of problems (coverage, fits, with_plan) have 95 % Wilson bands, means of properties
    none. Scores of whole splits are left out. Raises InputError where no size has the metric, with those there are.
    """
    sized = [each for each in scores if each.size is not None]
    found = [each for each in sized if each.metric == metric]
    if sized and not found:
        there = ", ".join(dict.fromkeys(each.metric for each in sized))
        raise InputError(f"no size has a score '{metric}'; choose one of {there}")
    rate = metric in RATES
    title = metric.replace("_", " ")
    domains = list(dict.fromkeys(each.domain for each in found))
    figure = _panels(domains, "objects", title)
    for number, (name, own) in enumerate(_scores_by_planner(found).items()):
        for panel, domain in enumerate(domains):
            line = sorted((each for each in own if each.domain == domain), key=lambda each: each.size or 0)
            sizes, counts = [each.size or 0 for each in line], [each.count for each in line]
            add = _add_banded if rate else _add_line
            add(figure, number, name, panel, sizes, [each.value for each in line], counts)
    figure.update_yaxes(**({"range": [-0.03, 1.05]} if rate else {"rangemode": "tozero"}))
    told = f"{title.capitalize()} over size{', with 95 % Wilson bands' if rate else ''}"
    return _finish(figure, told, 380 * -(-len(domains) // 2))


def _by_planner(rows: Iterable[AttemptRow]) -> dict[str, list[AttemptRow]]:
    """The attempts of each method and variant, seeds together."""
    found: dict[str, list[AttemptRow]] = {}
    for row in rows:
        found.setdefault(Planner("", row.method, row.variant).title, []).append(row)
    return found


def plan_lengths(rows: Sequence[AttemptRow]) -> go.Figure:
    """Lengths of plans found over the expert's; points below the line are shorter."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = _panels(domains, "expert's plan", "plan found")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        colour, symbol = _style(number)
        for panel, domain in enumerate(domains):
            found = [
                (row.expert_length, row.length, f"{row.problem} ({row.split}, {row.size} objects)")
                for row in own
                if row.domain == domain and row.length is not None and row.expert_length is not None
            ]
            figure.add_trace(
                go.Scatter(
                    x=[expert for expert, _, _ in found],
                    y=[length for _, length, _ in found],
                    text=[escape(words) for _, _, words in found],
                    hovertemplate="%{text}: %{y} actions, expert %{x}",
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "opacity": 0.6},
                    **_legend(number, name, panel),
                ),
                **_place(panel),
            )
    for panel, domain in enumerate(domains):
        longest = max((max(row.expert_length or 1, row.length or 1) for row in rows if row.domain == domain), default=1)
        figure.add_trace(
            go.Scatter(
                x=[1, longest],
                y=[1, longest],
                mode="lines",
                line={"color": "#aaaaaa", "dash": "dot"},
                showlegend=False,
                hoverinfo="skip",
            ),
            **_place(panel),
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return _finish(figure, "Plan lengths against the expert's", 420 * -(-len(domains) // 2))


def solved_over_time(rows: Sequence[AttemptRow]) -> go.Figure:
    """The share of problems that is solved within a number of seconds each."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = _panels(domains, "seconds a problem", "share solved")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        colour, _ = _style(number)
        for panel, domain in enumerate(domains):
            tried = [row for row in own if row.domain == domain]
            seconds = sorted(max(row.seconds, 1e-4) for row in tried if row.solved)
            figure.add_trace(
                go.Scatter(
                    x=seconds,
                    y=[(place + 1) / len(tried) for place in range(len(seconds))],
                    mode="lines",
                    line={"color": colour, "shape": "hv"},
                    hovertemplate="%{y:.2f} within %{x:.3f} s",
                    **_legend(number, name, panel),
                ),
                **_place(panel),
            )
    figure.update_xaxes(type="log")
    figure.update_yaxes(range=[0, 1.05])
    return _finish(figure, "Solved over time (time of planning alone)", 380 * -(-len(domains) // 2))


def outcomes(rows: Sequence[AttemptRow]) -> go.Figure:
    """How attempts ended: the share of each outcome."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = _panels(domains, "share of attempts", "", gap=0.25)  # names stand between the panels
    kinds = sorted({row.outcome for row in rows}, key=lambda outcome: (outcome.value != "solved", outcome.value))
    for number, kind in enumerate(kinds):
        for panel, domain in enumerate(domains):
            groups = {
                name: [row for row in own if row.domain == domain] for name, own in reversed(_by_planner(rows).items())
            }
            groups = {name: own for name, own in groups.items() if own}
            figure.add_trace(
                go.Bar(
                    x=[sum(row.outcome is kind for row in own) / len(own) for own in groups.values()],
                    y=[escape(name) for name in groups],
                    customdata=[sum(row.outcome is kind for row in own) for own in groups.values()],
                    hovertemplate="%{y}: %{x:.2f}, %{customdata} attempts",
                    orientation="h",
                    name=kind.value,
                    marker={"color": _style(number)[0]},
                    legendgroup=kind.value,
                    showlegend=panel == 0,
                ),
                **_place(panel),
            )
    figure.update_layout(barmode="stack")
    figure.update_yaxes(automargin=True)
    return _finish(figure, "How attempts ended", 460 * -(-len(domains) // 2))


def diagnostic(scores: Sequence[Score], metric: str, title: str) -> go.Figure:
    """One metric of `diagnostics` by split, a panel for each domain; seeds averaged."""
    whole = [score for score in scores if score.metric == metric and score.size is None]
    domains = list(dict.fromkeys(score.domain for score in whole))
    figure = _panels(domains, "", title)
    for number, (name, own) in enumerate(_scores_by_planner(whole).items()):
        for panel, domain in enumerate(domains):
            values: dict[str, list[float]] = {}
            for score in own:
                if score.domain == domain:
                    values.setdefault(score.split, []).append(score.value)
            figure.add_trace(
                go.Bar(
                    x=[escape(split) for split in values],
                    y=[mean(each) for each in values.values()],
                    marker={"color": _style(number)[0]},
                    **_legend(number, name, panel),
                ),
                **_place(panel),
            )
    return _finish(figure, f"On expert states: {title}", 360 * max(1, -(-len(domains) // 2)))


def diagnostic_over_size(scores: Sequence[Score], metric: str, title: str) -> go.Figure:
    """One metric of `diagnostics` over the number of objects; seeds and splits averaged."""
    sized = [score for score in scores if score.metric == metric and score.size is not None]
    domains = list(dict.fromkeys(score.domain for score in sized))
    figure = _panels(domains, "objects", title)
    for number, (name, own) in enumerate(_scores_by_planner(sized).items()):
        colour, symbol = _style(number)
        for panel, domain in enumerate(domains):
            values: dict[int, list[float]] = {}
            for score in own:
                if score.domain == domain and score.size is not None:
                    values.setdefault(score.size, []).append(score.value)
            figure.add_trace(
                go.Scatter(
                    x=sorted(values),
                    y=[mean(values[size]) for size in sorted(values)],
                    mode="lines+markers",
                    line={"color": colour},
                    marker={"symbol": symbol},
                    **_legend(number, name, panel),
                ),
                **_place(panel),
            )
    return _finish(figure, f"On expert states: {title}, over size", 360 * max(1, -(-len(domains) // 2)))


def diagnostic_plots(scores: Sequence[Score]) -> list[go.Figure]:
    """A plot for each metric that was scored, over size where it grows with it."""
    from sgp.evaluation.diagnostics import METRICS  # needs the planning library, which the other plots do not

    figures = []
    for metric, title in METRICS.items():
        if any(score.metric == metric for score in scores):
            figures.append(diagnostic(scores, metric, title))
            if any(score.metric == metric and score.size is not None for score in scores):
                figures.append(diagnostic_over_size(scores, metric, title))
    return figures


def _scores_by_planner(scores: Iterable[Score]) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(Planner("", score.method, score.variant).title, []).append(score)
    return found
