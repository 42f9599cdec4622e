"""Interactive plots of scores and attempts, as plotly figures. Names are text: plotly escapes nothing, we do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import mean

import plotly.graph_objects as go

from sgp.evaluation.attempts import AttemptRow
from sgp.evaluation.metrics import DIAGNOSTICS, metric_of
from sgp.evaluation.scores import Score
from sgp.reports.panels import (
    add_banded,
    at_panel,
    domain_panels,
    finish,
    legend_entry,
    scores_by_planner,
    style,
)


def coverage_over_size(rows: Sequence[AttemptRow]) -> go.Figure:
    """Coverage of each size over all splits, with the band of the 95 % Wilson intervals on distinct problems."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = domain_panels(domains, "objects", "coverage")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        for panel, domain in enumerate(domains):
            tried: dict[int, list[AttemptRow]] = {}
            for row in own:
                if row.domain == domain:
                    tried.setdefault(row.size, []).append(row)
            sizes = sorted(tried)
            rates = [mean(row.solved for row in tried[size]) for size in sizes]
            # Neither seeds nor other names of its objects make another problem.
            counts = [len({(row.suite, row.split, row.first) for row in tried[size]}) for size in sizes]
            add_banded(figure, number, name, panel, sizes, rates, counts)
    figure.update_yaxes(range=[-0.03, 1.05])
    return finish(figure, "Coverage over size, with the band of 95 % Wilson intervals", 380 * -(-len(domains) // 2))


def _by_planner(rows: Iterable[AttemptRow]) -> dict[str, list[AttemptRow]]:
    """The attempts of each planner, seeds together."""
    found: dict[str, list[AttemptRow]] = {}
    for row in rows:
        found.setdefault(row.planner.title, []).append(row)
    return found


def plan_lengths(rows: Sequence[AttemptRow]) -> go.Figure:
    """Lengths of plans found over the expert's, costs where a metric counts them; points below the line are better."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = domain_panels(domains, "expert's plan", "plan found")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        colour, symbol = style(number)
        for panel, domain in enumerate(domains):
            found = [
                (
                    *row.compared,
                    f"{row.problem} ({row.split}, {row.size} objects)",
                    "actions" if row.cost is None else "cost",
                )
                for row in own
                if row.domain == domain and row.compared is not None
            ]
            figure.add_trace(
                go.Scatter(
                    x=[expert for expert, _, _, _ in found],
                    y=[length for _, length, _, _ in found],
                    text=[escape(words) for _, _, words, _ in found],
                    customdata=[unit for _, _, _, unit in found],
                    hovertemplate="%{text}: %{customdata} %{y}, expert %{x}",
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "opacity": 0.6},
                    **legend_entry(number, name, panel),
                ),
                **at_panel(panel),
            )
    for panel, domain in enumerate(domains):
        longest = max((max(row.compared or (1, 1)) for row in rows if row.domain == domain), default=1)
        figure.add_trace(
            go.Scatter(
                x=[1, longest],
                y=[1, longest],
                mode="lines",
                line={"color": "#aaaaaa", "dash": "dot"},
                showlegend=False,
                hoverinfo="skip",
            ),
            **at_panel(panel),
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return finish(figure, "Plan lengths against the expert's", 420 * -(-len(domains) // 2))


def solved_over_time(rows: Sequence[AttemptRow]) -> go.Figure:
    """The share of problems that is solved within a number of seconds each."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = domain_panels(domains, "seconds a problem", "share solved")
    for number, (name, own) in enumerate(_by_planner(rows).items()):
        colour, _ = style(number)
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
                    **legend_entry(number, name, panel),
                ),
                **at_panel(panel),
            )
    figure.update_xaxes(type="log")
    figure.update_yaxes(range=[0, 1.05])
    return finish(figure, "Solved over time (time of planning alone)", 380 * -(-len(domains) // 2))


def outcomes(rows: Sequence[AttemptRow]) -> go.Figure:
    """How attempts ended: the share of each outcome."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    figure = domain_panels(domains, "share of attempts", "", gap=0.25)  # names stand between the panels
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
                    marker={"color": style(number)[0]},
                    legendgroup=kind.value,
                    showlegend=panel == 0,
                ),
                **at_panel(panel),
            )
    figure.update_layout(barmode="stack")
    figure.update_yaxes(automargin=True)
    return finish(figure, "How attempts ended", 460 * -(-len(domains) // 2))


def diagnostic(scores: Sequence[Score], metric: str) -> go.Figure:
    """One metric of `diagnostics` by split, a panel for each domain; seeds averaged."""
    title = metric_of(metric).title
    whole = [score for score in scores if score.metric == metric and score.size is None]
    domains = list(dict.fromkeys(score.domain for score in whole))
    figure = domain_panels(domains, "", title)
    for number, (name, own) in enumerate(scores_by_planner(whole).items()):
        for panel, domain in enumerate(domains):
            values: dict[str, list[float]] = {}
            for score in own:
                if score.domain == domain:
                    values.setdefault(score.split, []).append(score.value)
            figure.add_trace(
                go.Bar(
                    x=[escape(split) for split in values],
                    y=[mean(each) for each in values.values()],
                    marker={"color": style(number)[0]},
                    **legend_entry(number, name, panel),
                ),
                **at_panel(panel),
            )
    return finish(figure, f"On expert states: {title}", 360 * max(1, -(-len(domains) // 2)))


def diagnostic_over_size(scores: Sequence[Score], metric: str) -> go.Figure:
    """One metric of `diagnostics` over the number of objects; seeds and splits averaged."""
    title = metric_of(metric).title
    sized = [score for score in scores if score.metric == metric and score.size is not None]
    domains = list(dict.fromkeys(score.domain for score in sized))
    figure = domain_panels(domains, "objects", title)
    for number, (name, own) in enumerate(scores_by_planner(sized).items()):
        colour, symbol = style(number)
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
                    **legend_entry(number, name, panel),
                ),
                **at_panel(panel),
            )
    return finish(figure, f"On expert states: {title}, over size", 360 * max(1, -(-len(domains) // 2)))


def diagnostic_plots(scores: Sequence[Score]) -> list[go.Figure]:
    """A plot for each metric that was scored, over size where it grows with it."""
    figures = []
    for metric in DIAGNOSTICS:
        if any(score.metric == metric for score in scores):
            figures.append(diagnostic(scores, metric))
            if any(score.metric == metric and score.size is not None for score in scores):
                figures.append(diagnostic_over_size(scores, metric))
    return figures
