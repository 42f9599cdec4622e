"""Coverage by the number of training problems, as an interactive plot."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import plotly.graph_objects as go

from sgp.evaluation.scores import Score
from sgp.reports.learning_table import learning_curves
from sgp.reports.panels import add_band, add_line, domain_panels, finish


def learning_figure(scores: Sequence[Score]) -> go.Figure:
    """A panel for each domain and split, a line for each planner: the mean of its draws, and the band from the least
    to the most of them, over the number of training problems.
    """
    curves = learning_curves(scores)
    panels = list(dict.fromkeys((domain, split) for domain, split, _ in curves))
    planners = list(dict.fromkeys(planner for _, _, planner in curves))
    figure = domain_panels([", ".join(panel) for panel in panels], "training problems", "coverage")
    for (domain, split, planner), draws in curves.items():
        line = figure, planners.index(planner), planner.title, panels.index((domain, split)), list(draws)
        values = [[each.value for each in found] for found in draws.values()]
        add_band(*line, [(min(found), max(found)) for found in values])
        counts = [found[0].count for found in draws.values()]
        add_line(*line, [mean(found) for found in values], counts, "training problems")
    figure.update_xaxes(type="log", dtick=0.30103)  # a doubling
    figure.update_yaxes(range=[-0.03, 1.05])
    return finish(
        figure, "Coverage by the number of training problems, over draws of them", 420 * max(1, -(-len(panels) // 2))
    )
