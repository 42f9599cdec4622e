"""Plots of the notebooks: measured beside published rates, curves, heat maps of one scale, coverage against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sgp.errors import InputError
from sgp.evaluation.scores import select
from sgp.reports.plots import COLOURS, SYMBOLS, _lines, _name_panels, rates
from sgp.reports.tables import pool_seeds


def beside_published(scores: pd.DataFrame, title: str, names: Mapping[str, str], split: str = "") -> go.Figure:
    """Coverage as measured and as published with 95 % Wilson intervals: a panel for each domain, a line for each name.

    Arguments:
        scores: scores of suites and of papers; of these, `split` (empty: all) and whole splits are shown.
        title: what was measured.
        names: planners (column `planner`) and the names of their lines. Planners of one name are pooled as seeds are.
    """
    shown = select(scores, metric="coverage", size=None, planner=list(names))
    shown = select(shown, split=split) if split else shown
    if shown.empty:
        raise InputError(f"there is no coverage of {', '.join(names)}; expected titles as in the column 'planner'")
    source = shown["paper"].map(lambda paper: "published" if paper else "measured")
    shown = shown.assign(panel=shown["domain"], line=shown["planner"].map(names), series=source)
    order = {name: place for place, name in enumerate(dict.fromkeys(names.values()))}
    shown = shown.sort_values(["panel", "line", "series"], key=lambda column: column.replace(order), kind="stable")
    pooled = pool_seeds(shown, ["panel", "line", "series"])
    largest = pooled.groupby("panel")["count"].max()
    pooled["panel"] = [f"{panel}, n = {largest[panel]}" for panel in pooled["panel"]]
    return rates(pooled, title)


def curves(frame: pd.DataFrame, title: str, x_title: str, y_title: str) -> go.Figure:
    """A line for each `planner` in a panel for each `panel`, with a band from `low` to `high` where there are such.

    Columns: `panel`, `planner`, `x`, `value`, `n`. All panels have one scale. Raises InputError beyond six lines.
    """
    if frame["planner"].nunique() > 6:
        raise InputError(
            f"{frame['planner'].nunique()} lines cannot be told apart; expected at most 6: choose planners"
        )
    figure = _lines(frame, title, x_title, y_title, x_title, height=340)
    figure.update_traces(visible=True)
    upper = frame["high"] if "high" in frame else frame["value"]
    return figure.update_yaxes(range=[-0.03 * upper.max(), 1.05 * upper.max()])


def heat_maps(
    maps: Mapping[str, np.ndarray], labels: Sequence[str], title: str, difference: str = "", height: int = 480
) -> go.Figure:
    """Matrices `[n, n]` side by side on one scale with a colour bar; the one named `difference` has its own, around 0.

    Arguments:
        maps: matrices by name.
        labels: of rows and columns, n.
        title: what was measured.
        difference: the name of a matrix with positive and negative entries.
    """
    figure = make_subplots(1, len(maps), subplot_titles=list(maps), shared_yaxes=True, horizontal_spacing=0.03)
    shown = np.stack([values for name, values in maps.items() if name != difference])
    bar = {"orientation": "h", "len": 0.45, "thickness": 12, "yref": "container", "y": 0.02, "yanchor": "bottom"}
    figure.update_layout(
        coloraxis={"colorscale": "Blues", "cmin": shown.min(), "cmax": shown.max(), "colorbar": {**bar, "x": 0.25}},
        template="plotly_white", title=title, height=height, margin={"b": 200},
    )  # fmt: skip
    for column, (name, values) in enumerate(maps.items(), start=1):
        scale = {"coloraxis": "coloraxis"}
        if name == difference:
            scale = {"coloraxis": "coloraxis2"}
            far = float(np.max(np.abs(values)))
            own = {"colorscale": "RdBu", "cmin": -far, "cmax": far, "colorbar": {**bar, "x": 0.8}}
            figure.update_layout(coloraxis2=own)
        words = list(map(escape, labels))
        figure.add_heatmap(z=values, x=words, y=words, row=1, col=column, **scale)
    figure.update_xaxes(tickangle=-90)
    return figure.update_yaxes(autorange="reversed")


def coverage_against(scores: pd.DataFrame, metric: str, title: str, split: str = "extrapolation") -> go.Figure:
    """Coverage on a split against what a training cost, with 95 % Wilson intervals: a panel for each domain.

    Arguments:
        scores: measured scores; planners whose training has the metric are shown, seeds as means.
        metric: "training_seconds", "parameters", "nodes", or another score of a training; its axis is logarithmic.
        title: what was measured.
        split: the split whose coverage is shown.
    """
    keys = ["method", "variant", "domain"]
    cost = (
        select(scores, metric=metric, paper="", decoding="default")
        .groupby(keys, sort=False)["value"]
        .mean()
        .rename("cost")
    )
    covered = select(scores, metric="coverage", size=None, split=split, paper="", decoding="default")
    frame = pool_seeds(covered, [*keys, "planner"]).merge(cost.reset_index(), on=keys)
    frame = frame.assign(above=frame["high"] - frame["value"], below=frame["value"] - frame["low"])
    figure = px.scatter(
        frame, x="cost", y="value", color="planner", symbol="planner", facet_col="domain", facet_col_wrap=2,
        error_y="above", error_y_minus="below", log_x=True, template="plotly_white", height=640,
        color_discrete_sequence=COLOURS, symbol_sequence=SYMBOLS, title=f"{escape(title)}, with 95 % Wilson intervals",
    )  # fmt: skip
    _name_panels(figure)
    figure.update_traces(marker_size=9)
    figure.update_yaxes(range=[-0.05, 1.05], title_text="coverage", col=1)
    figure.update_xaxes(title_text=metric.replace("_", " "), row=1)
    return figure.update_layout(legend={"orientation": "h", "y": -0.15, "title_text": ""})
