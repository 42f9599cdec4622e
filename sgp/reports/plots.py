"""Interactive plots of scores and attempts. Names are escaped: plotly reads texts as HTML."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
from numpy.typing import NDArray

from sgp.errors import InputError
from sgp.evaluation.attempts import plan_and_expert
from sgp.evaluation.scores import DIAGNOSTICS, metric_of, select, wilson
from sgp.reports.scaling_tables import VALIDATIONS, scaling_sizes
from sgp.reports.tables import pool_draws

# Okabe and Ito's palette, safe for the colour-blind; planners differ by symbol and dash as well.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"),
    *("#56b4e9", "#7f7f7f", "#000000", "#8c564b", "#bcbd22"),
)
SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up", "triangle-down", "star", "hexagon", "pentagon")
_DASHES = ("solid", "dash", "dot", "dashdot")
_GREY = "#888888"  # legible on light and dark ground
_SHOWN = 4  # planners that a plot shows at first; a click in the legend shows the others
_MEASURES = {"plan length": "length", "decisions": "decisions", "seconds": "seconds"}
_OUTCOMES = {  # by the share of seeds that solved: colour and symbol
    "solved": ("#0072b2", "square"),
    "solved by some seeds": ("#e69f00", "diamond"),
    "not solved": ("#d55e00", "x-thin"),
}


def _plot(
    draw: Callable[..., go.Figure],
    frame: pd.DataFrame,
    title: str,
    x_title: str,
    y_title: str,
    height: int = 380,
    **options: Any,
) -> go.Figure:
    """A plotly.express figure."""
    frame = frame.assign(**{name: frame[name].map(escape) for name in ("panel", "planner") if name in frame})
    panels = list(dict.fromkeys(frame["panel"]))
    options = {"color": "planner", "color_discrete_sequence": COLOURS, "facet_col_spacing": 0.08, **options}
    order = {"panel": panels, options["color"]: list(dict.fromkeys(frame[options["color"]]))}
    rows = max(1, -(-len(panels) // 2))
    figure = draw(
        frame, facet_col="panel", facet_col_wrap=2 if len(panels) > 1 else 1, facet_row_spacing=0.3 / rows,
        category_orders={**order, **options.pop("category_orders", {})}, template="plotly_white", title=title,
        height=height * rows, **options,
    )  # fmt: skip
    _name_panels(figure)
    figure.update_xaxes(matches=None, showticklabels=True, title_text=x_title)
    figure.update_yaxes(matches=None, showticklabels=True, title_text=y_title)
    figure.update_layout(margin={"l": 60, "r": 20, "t": 70, "b": 50}, hovermode="closest", legend_title_text="")
    if options["color"] == "planner":
        shown = order["planner"][:_SHOWN]
        figure.for_each_trace(lambda trace: trace.update(visible=True if trace.name in shown else "legendonly"))
    return figure


def _name_panels(figure: go.Figure) -> None:
    """Remove the column's name from the panels' titles."""
    figure.for_each_annotation(lambda note: note.update(text=note.text.partition("=")[2]))


def _place(panels: Sequence[str], panel: str) -> dict[str, int]:
    """Row and column of a panel: plotly.express counts rows from the bottom."""
    number, columns = panels.index(panel), 2 if len(panels) > 1 else 1
    return {"row": -(-len(panels) // columns) - number // columns, "col": number % columns + 1}


def _lines(frame: pd.DataFrame, title: str, x: str, y: str, unit: str = "objects", height: int = 420) -> go.Figure:
    """A line for each planner over the column `x`, with a band between the columns `low` and `high` if there are."""
    if frame.empty:
        return go.Figure(layout={"title": title, "template": "plotly_white"})
    figure = _plot(
        px.line, frame, title, x, y, height, x="x", y="value", symbol="planner", line_dash="planner", markers=True,
        custom_data=["n"], symbol_sequence=SYMBOLS, line_dash_sequence=_DASHES, render_mode="svg",
    )  # fmt: skip
    figure.update_traces(hovertemplate=f"%{{x}} {unit}: %{{y:.3~f}}, n = %{{customdata[0]}}")
    figure.update_traces(marker_size=6 if frame["x"].nunique() <= 40 else 4)
    lines = [(trace, trace.xaxis, tuple(trace.x), tuple(trace.y)) for trace in figure.data]
    for place, (trace, *points) in enumerate(lines):  # equal curves: the ones below are wider
        above = sum(points == others for _, *others in lines[place + 1 :])
        trace.update(line_width=2 + 6 * above, opacity=0.5 if above else 1)
    panels = list(dict.fromkeys(frame["panel"]))
    traces = {trace.name: trace for trace in figure.data}
    for (planner, panel), line in frame.groupby(["planner", "panel"], sort=False) if "low" in frame else ():
        trace = traces[escape(planner)]
        red, green, blue = (int(trace.line.color[place : place + 2], 16) for place in (1, 3, 5))
        band = go.Scatter(
            x=[*line["x"], *line["x"][::-1]], y=[*line["high"], *line["low"][::-1]], mode="lines", fill="toself",
            fillcolor=f"rgba({red},{green},{blue},0.15)", line={"width": 0}, hoverinfo="skip", showlegend=False,
            legendgroup=trace.legendgroup, visible=trace.visible,
        )  # fmt: skip
        figure.add_trace(band, **_place(panels, panel))
    return figure


def _with_intervals(frame: pd.DataFrame, trials: str = "n") -> pd.DataFrame:
    """The rows with the 95 % Wilson interval of `value` on `trials` problems."""
    intervals = [wilson(value, int(n)) for value, n in zip(frame["value"], frame[trials], strict=True)]
    return frame.assign(low=[low for low, _ in intervals], high=[high for _, high in intervals])


def coverage_over_size(attempts: pd.DataFrame) -> go.Figure:
    """Coverage of each size over all splits, as points with 95 % Wilson intervals on distinct problems.

    Planners at the same size are drawn slightly apart.
    """
    keys = attempts["suite"] + "\0" + attempts["split"] + "\0" + attempts["distinct_problem"]
    groups = attempts.assign(key=keys).groupby(["planner", "domain", "size"])
    frame = groups.agg(value=("solved", "mean"), n=("key", "nunique")).reset_index()
    frame = _with_intervals(_in_order_of(attempts, frame.rename(columns={"domain": "panel"})))
    turn = pd.factorize(frame["planner"])[0] % _SHOWN - (_SHOWN - 1) / 2
    apart = 0.008 * frame.groupby("panel")["size"].transform(lambda sizes: sizes.max() - sizes.min())
    figure = _plot(
        px.scatter, frame.assign(x=frame["size"] + apart * turn, above=frame["high"] - frame["value"],
        below=frame["value"] - frame["low"]), "Coverage over size, with 95 % Wilson intervals", "objects", "coverage",
        x="x", y="value", error_y="above", error_y_minus="below", symbol="planner", symbol_sequence=SYMBOLS,
        custom_data=["size", "n"], render_mode="svg",
    )  # fmt: skip
    figure.update_traces(hovertemplate="%{customdata[0]} objects: %{y:.3~f}, n = %{customdata[1]}")
    figure.update_traces(error_y={"thickness": 1.2, "width": 3}, marker_size=7)
    return figure.update_yaxes(range=[-0.03, 1.05])


def _in_order_of(attempts: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with planners and panels in the order in which they appear in the attempts."""
    planners, domains = (list(dict.fromkeys(attempts[name])) for name in ("planner", "domain"))
    return frame.sort_values(
        ["planner", "panel"],
        key=lambda column: column.map((planners if column.name == "planner" else domains).index),
        kind="stable",
    )


def plan_lengths(attempts: pd.DataFrame) -> go.Figure:
    """Plan lengths over the expert's, or costs if the problem has a metric; below the line is better."""
    rows = []
    for row in attempts.astype(object).where(attempts.notna(), None).itertuples():
        pair = plan_and_expert(row.length, row.expert_length, row.cost, row.expert_cost)
        if pair is not None:
            unit = "actions" if row.cost is None else "cost"
            words = escape(f"{row.problem} ({row.split}, {row.size} objects)")
            rows.append((row.planner, row.domain, pair[1], pair[0], words, unit))
    frame = pd.DataFrame(rows, columns=["planner", "panel", "expert", "found", "words", "unit"])
    figure = _plot(
        px.scatter, frame, "Plan length (or cost) against the expert's; below the line is better", "expert's plan",
        "plan found", 420, x="expert", y="found", symbol="planner", symbol_sequence=SYMBOLS, opacity=0.6,
        custom_data=["words", "unit"], log_x=True, log_y=True, render_mode="svg",
    )  # fmt: skip
    figure.update_traces(hovertemplate="%{customdata[0]}: %{customdata[1]} %{y}, expert %{x}")
    if len(frame):
        every, line = [*frame["expert"], *frame["found"]], {"color": "#aaaaaa", "dash": "dot"}
        ends = [min(every), max(every)]
        diagonal = go.Scatter(x=ends, y=ends, mode="lines", line=line, showlegend=False, hoverinfo="skip")
        figure.add_trace(diagonal, row="all", col="all")
    figure.update_xaxes(dtick=0.30103)  # a doubling
    return figure.update_yaxes(dtick=0.30103)


def solved_over_time(attempts: pd.DataFrame) -> go.Figure:
    """The share of problems that are solved within a number of seconds each."""
    rows = []
    for (planner, domain), of_planner in attempts.groupby(["planner", "domain"], sort=False):
        times = sorted(of_planner["seconds"][of_planner["solved"]].clip(lower=1e-4))
        rows += [(planner, domain, seconds, place / len(of_planner)) for place, seconds in enumerate(times, start=1)]
    frame = pd.DataFrame(rows, columns=["planner", "panel", "seconds", "share"])
    title = "Coverage over time (planning time only)"
    figure = _plot(
        px.line, frame, title, "seconds per problem", "share solved", x="seconds", y="share", log_x=True,
        render_mode="svg",
    )  # fmt: skip
    ticks = [digit * 10.0**power for power in range(-4, 5) for digit in (1, 2, 5)]
    figure.update_xaxes(tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_traces(line_shape="hv", hovertemplate="%{y:.3~f} within %{x:.3f} s")
    return figure.update_yaxes(range=[0, 1.05])


def outcomes(attempts: pd.DataFrame) -> go.Figure:
    """The share of each outcome among the attempts."""
    groups = attempts.rename(columns={"domain": "panel"}).groupby(["panel", "planner"], sort=False)["outcome"]
    frame = groups.value_counts(sort=False).rename("number").reset_index()
    frame["share"] = frame["number"] / frame.groupby(["panel", "planner"])["number"].transform("sum")
    kinds = sorted(set(frame["outcome"]), key=lambda name: (name != "solved", name))
    figure = _plot(
        px.bar, frame, "How attempts ended", "share of attempts", "", 460, x="share", y="planner", color="outcome",
        custom_data=["number"], orientation="h", category_orders={"outcome": kinds}, facet_col_spacing=0.25,
    )  # fmt: skip
    figure.update_traces(hovertemplate="%{y}: %{x:.3~f}, %{customdata[0]} attempts")
    return figure.update_yaxes(automargin=True)


def diagnostic_plots(scores: pd.DataFrame) -> list[go.Figure]:
    """A plot for each diagnostic that was scored: by split, and over size where it was scored by size."""
    figures = []
    for metric in DIAGNOSTICS:
        chosen, title = select(scores, metric=metric), metric_of(metric).title
        by_split = _means(chosen[chosen["size"].isna()], "split")
        if len(by_split):
            by_split["x"] = by_split["x"].map(escape)
            words = {"x": "x", "y": "value", "barmode": "group"}
            figures.append(_plot(px.bar, by_split, f"On expert states: {title}", "", title, 360, **words))
        by_size = _means(chosen[chosen["size"].notna()], "size").sort_values("x", kind="stable")
        if len(by_size):
            figures.append(_lines(by_size, f"On expert states: {title}, over size", "objects", title, height=360))
    return figures


def _means(scores: pd.DataFrame, x: str) -> pd.DataFrame:
    """The means over seeds, by planner and domain and the column `x`."""
    by = scores.groupby(["planner", "domain", x], sort=False).agg(value=("value", "mean"), n=("n", "max"))
    return by.reset_index().rename(columns={"domain": "panel", x: "x"})


def learning_curves(scores: pd.DataFrame) -> go.Figure:
    """Coverage by the number of training problems: the mean of a planner's draws, and the band of all its draws."""
    frame = pool_draws(scores)
    names = {"problems": "x", "count": "n", "least": "low", "most": "high"}
    frame = frame.drop(columns=["low", "high"]).rename(columns=names)
    frame["panel"] = [f"{domain}, {split}" for domain, split in zip(frame["domain"], frame["split"], strict=True)]
    title = "Coverage by the number of training problems, over draws of them"
    figure = _lines(frame, title, "training problems", "coverage", "training problems")
    figure.update_xaxes(type="log", dtick=0.30103)  # a doubling
    return figure.update_yaxes(range=[-0.03, 1.05])


def scaling_curves(scores: pd.DataFrame, metric: str = "coverage") -> go.Figure:
    """A metric over size as `sgp scaling` measured it; seeds are averaged, scores of whole splits ignored.

    Shares of problems have the band of their 95 % Wilson intervals; coverage has the share of problems with a known
    plan within the bound above it. Published numbers add the sizes of training and validation, Scales and the bound.
    """
    theirs, ours = scores[scores["paper"] != ""], scores[scores["paper"] == ""]
    sized, shown = ours[ours["size"].notna()], metric_of(metric)
    chosen = sized[sized["metric"] == metric]
    if len(sized) and chosen.empty:
        raise InputError(f"no size has a score '{metric}'; choose one of {', '.join(dict.fromkeys(sized['metric']))}")
    frame = _in_order_of(chosen, _means(chosen, "size").sort_values("x", kind="stable"))
    frame = _with_intervals(frame) if shown.of_problems else frame
    panels = list(dict.fromkeys(frame["panel"]))
    title = escape(f"{shown.title.capitalize()} over size{', with 95 % Wilson bands' if shown.of_problems else ''}")
    notes = ["Shaded: sizes of training (blue) and validation (yellow)."] if len(theirs) else []
    if len(theirs) and metric == "coverage":
        notes.append("Dashed lines: the Scale published for GNN value, by validation.")
    figure = _lines(frame, title, "objects", shown.title)
    if any(trace.line.width and trace.line.width > 2 for trace in figure.data):
        notes.append("Of lines that coincide, one is drawn wide below the other.")
    if notes:
        figure.update_layout(title_text=f"{title}<br><sup>{' '.join(notes)}</sup>")
    for panel in panels:
        place, of_domain, known = _place(panels, panel), sized[sized["domain"] == panel], scaling_sizes(panel)
        if metric == "coverage":  # the share with a known plan: the maximum over planners, whose problems are equal
            names = ("fits", "coverage")
            fits, solved = (of_domain[of_domain["metric"] == name].groupby("size")["value"].max() for name in names)
            if any(share > solved.get(size, 0) for size, share in fits.items()):
                _add_dotted(figure, fits, "a plan within the bound is known", "%{x} objects: %{y:.3~f}", place)
        for name, colour in (("train", "#0072b2"), ("validation", "#e69f00")) if known and len(theirs) else ():
            x0, x1 = min(known[name]) - 0.5, max(known[name]) + 0.5
            figure.add_vrect(x0=x0, x1=x1, fillcolor=colour, opacity=0.14, line_width=0, layer="below", **place)
        if len(theirs) and metric == "coverage":
            for row in select(theirs, metric="scale", domain=panel).itertuples():  # labels are below each other
                order = VALIDATIONS.index(row.selected_by) if row.selected_by in VALIDATIONS else len(VALIDATIONS)
                label = {
                    "text": f"{escape(row.selected_by)} {row.value:g}",
                    "font": {"size": 11},
                    "yshift": -15 * order,
                }
                line = {"color": _GREY, "dash": "dash", "width": 1}
                figure.add_vline(x=row.value, line=line, annotation=label, annotation_position="top right", **place)
        bound = known.get("bound")
        if len(theirs) and metric == "plan_length" and bound is not None:
            ends = sorted(set(of_domain["size"]))[:: max(1, of_domain["size"].nunique() - 1)]
            hover, name = "%{x} objects: at most %{y} actions", "most actions allowed"
            _add_dotted(figure, pd.Series([bound + size for size in ends], ends), name, hover, place)
    if shown.of_problems:  # above 1 is room for the marks' words
        top = 1.4 if len(theirs) and metric == "coverage" else 1.05
        figure.update_yaxes(range=[-0.03, top], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1])
    else:
        figure.update_yaxes(rangemode="tozero")
    return figure.update_layout(margin_t=100)


def _add_dotted(figure: go.Figure, values: pd.Series, name: str, hover: str, place: dict[str, int]) -> None:
    """A grey dotted line of values by size, in the legend once."""
    first = not any(trace.legendgroup == name for trace in figure.data)
    line = go.Scatter(
        x=list(values.index), y=list(values), mode="lines", line={"color": _GREY, "dash": "dot"}, name=name,
        legendgroup=name, hovertemplate=hover, showlegend=first,
    )  # fmt: skip
    figure.add_trace(line, **place)


def two_planners(attempts: pd.DataFrame, across: str, up: str, measure: str = "plan length") -> go.Figure:
    """One planner's numbers over another's (by title) on the instances that both attempted, domains by colour and mark.

    A number is the mean over the seeds that solved. An instance that no seed of a planner solved is on the dotted line
    at the margin. The title counts who solved what. A point's `customdata` is [domain, suite, split, problem].
    """
    place = ["domain", "suite", "split", "problem"]
    numbers = attempts[_MEASURES[measure]].astype("float64").where(attempts["solved"])
    sides = attempts.assign(number=numbers).groupby(["planner", *place], sort=False)["number"].mean()
    pairs = pd.DataFrame(columns=[*place, "x", "y"])
    if {across, up} <= set(sides.index.get_level_values("planner")):
        pairs = pd.concat({"x": sides[across], "y": sides[up]}, axis=1, join="inner").reset_index()
    largest = max([*pairs["x"].dropna(), *pairs["y"].dropna()], default=1.0)
    edge = 1.12 * largest
    words = [
        f"{row.problem} of {row.domain}, {row.split}; {measure}: {across} {_number(row.x)}, {up} {_number(row.y)}"
        for row in pairs.itertuples()
    ]
    frame = pairs.fillna({"x": edge, "y": edge}).assign(words=list(map(escape, words)))
    figure = px.scatter(
        frame.assign(name=frame["domain"].map(escape)), x="x", y="y", color="name", symbol="name", opacity=0.7,
        color_discrete_sequence=COLOURS, symbol_sequence=SYMBOLS, custom_data=place, text="words",
        template="plotly_white", title=_counts(pairs, across, up, measure), height=520,
    )  # fmt: skip
    figure.update_traces(mode="markers", marker_size=8, hovertemplate="%{text}<extra></extra>")
    rule = {"type": "line", "line": {"color": "#8a8f98", "width": 1, "dash": "dot"}}
    figure.add_shape(x0=0, y0=0, x1=largest, y1=largest, **rule, line_dash="solid")
    figure.add_shape(x0=edge, y0=0, x1=edge, y1=edge, **rule)
    figure.add_shape(x0=0, y0=edge, x1=edge, y1=edge, **rule)
    span = {"range": [-0.03 * edge, 1.04 * edge], "zeroline": False}
    figure.update_xaxes(title_text=escape(f"{measure}, {across}"), **span)
    figure.update_yaxes(title_text=escape(f"{measure}, {up}"), **span)
    note = {"text": "not solved", "showarrow": False}
    figure.add_annotation(x=edge, y=0, textangle=-90, xanchor="right", yanchor="bottom", **note)
    figure.add_annotation(x=0, y=edge, xanchor="left", yanchor="top", **note)
    return figure.update_layout(margin={"l": 60, "r": 20, "t": 70, "b": 50}, legend_title_text="")


def _number(value: float) -> str:
    return "not solved" if pd.isna(value) else f"{value:.3g}"


def _counts(pairs: pd.DataFrame, across: str, up: str, measure: str) -> str:
    """Who solved how many, in words; `across` and `up` are the planners of the axes."""
    less_of = {"plan length": "shorter plan by", "decisions": "fewer decisions by", "seconds": "less time by"}[measure]
    x, y = pairs["x"].notna(), pairs["y"].notna()
    less, more = (pairs["x"] < pairs["y"]).sum(), (pairs["y"] < pairs["x"]).sum()
    better = f"{less_of} {escape(across)} in {less}, {escape(up)} in {more}"
    return (
        f"n = {len(pairs)}: both solve {(x & y).sum()} ({better}),<br>"
        f"only {escape(across)} {(x & ~y).sum()}, only {escape(up)} {(~x & y).sum()}, neither {(~x & ~y).sum()}"
    )


def instance_map(attempts: pd.DataFrame) -> go.Figure:
    """Every instance, smallest first, by every planner, best on top: a panel for each domain, a mark for each pair.

    Colour and shape show whether all seeds, some or none solved it. A mark's `customdata` is [domain, suite, split,
    problem, planner].
    """
    by_domain = attempts.groupby(["planner", "domain"])["solved"].mean().groupby("planner").mean()
    planners = list(by_domain.sort_values(ascending=False, kind="stable").index)
    rows, sizes_of = [], dict[str, list[int]]()
    for domain, part in attempts.groupby("domain", sort=False):
        instances = sorted(set(zip(part["size"], part["split"], part["problem"], strict=True)))
        places = {(split, problem): place for place, (_, split, problem) in enumerate(instances)}
        sizes_of[domain] = [size for size, _, _ in instances]
        tried = defaultdict[tuple[str, str, str], list[Any]](list)  # one pass: a frame for each mark takes seconds
        for row in part.itertuples():
            tried[row.split, row.problem, row.planner].append(row)
        for (split, problem, planner), seeds in tried.items():
            some = "solved by some seeds" if any(row.solved for row in seeds) else "not solved"
            state = "solved" if all(row.solved for row in seeds) else some
            key = (domain, seeds[0].suite, split, problem, planner)
            rows.append((*key, places[split, problem], state, escape(planner), _hover(seeds)))
    names = ["domain", "suite", "split", "problem", "planner", "x", "state", "y", "words"]
    frame = pd.DataFrame(rows, columns=names)
    panels = max(1, len(sizes_of))
    height = 24 * len(planners) + 95
    figure = px.scatter(
        frame.assign(panel=frame["domain"].map(escape)), x="x", y="y", color="state", symbol="state", facet_col="panel",
        facet_col_wrap=1, facet_row_spacing=95 / (height * panels) if panels > 1 else 0, text="words",
        custom_data=names[:5], height=panels * height + 40,
        color_discrete_map={name: colour for name, (colour, _) in _OUTCOMES.items()},
        symbol_map={name: symbol for name, (_, symbol) in _OUTCOMES.items()},
        category_orders={"y": [escape(name) for name in planners], "state": list(_OUTCOMES)},
    )  # fmt: skip
    _name_panels(figure)
    figure.update_traces(mode="markers", hovertemplate="%{text}<extra></extra>")
    for trace in figure.data:  # all of its marks are of one domain
        trace.marker.size = max(4, min(15, 700 // len(sizes_of[trace.customdata[0][0]])))
    cross = {"width": 2, "color": _OUTCOMES["not solved"][0]}
    figure.update_traces(marker_line=cross, selector={"name": "not solved"})
    figure.update_yaxes(automargin=True, showgrid=False, title_text="")
    for number, sizes in enumerate(sizes_of.values()):
        marks = _size_ticks(sizes)
        figure.update_xaxes(
            matches=None, showticklabels=True, title_text="instances by number of objects", tickvals=list(marks),
            ticktext=list(marks.values()), range=[-0.8, len(sizes) - 0.2], showgrid=False, zeroline=False,
            row=panels - number, col=1,
        )  # fmt: skip
    legend = {"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0, "title_text": ""}
    legend["itemsizing"] = "constant"
    margin = {"l": 10, "r": 10, "t": 70, "b": 50}
    return figure.update_layout(margin=margin, hovermode="closest", dragmode=False, legend=legend)


def _hover(of_planner: Sequence[Any]) -> str:
    row, counts = of_planner[0], Counter(seed.outcome for seed in of_planner)
    ended = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    words = row.outcome if len(of_planner) == 1 else f"of {len(of_planner)} seeds {ended}"
    return escape(f"{row.problem} ({row.split}, {row.size} objects), {row.planner}: {words}")


def _size_ticks(sizes: Sequence[int]) -> dict[int, str]:
    """The number of objects where it changes, as often as there is room for it."""
    changes = [0, *(place for place, (size, following) in enumerate(pairwise(sizes), start=1) if size != following)]
    room = max(1, len(sizes) // 40)
    shown = [at for number, at in enumerate(changes) if number == 0 or at - changes[number - 1] >= room]
    return {at: str(sizes[at]) for at in shown}


def projection(embeddings: NDArray[Any], color: Sequence[float], method: Literal["pca", "umap"] = "pca") -> go.Figure:
    """Embeddings [n, D] in two dimensions, coloured by a number for each [n]; grey where it is infinite.

    UMAP needs more points than neighbours (15); PCA shows the axes of largest variance.
    """
    from sgp.analysis import maps  # here, because pages of plots need no planning library

    rows, values = np.asarray(embeddings, np.float32), np.asarray(color, np.float64)
    if rows.ndim != 2 or values.shape != rows.shape[:1]:
        raise InputError(
            f"embeddings of shape {rows.shape} have colors of shape {values.shape}; expected [n, D] and [n]"
        )
    if method not in ("pca", "umap") or (method == "umap" and len(rows) < maps.FEWEST):
        raise InputError(
            f"method is {method!r} for {len(rows)} points; expected pca, or umap for at least {maps.FEWEST}"
        )
    places = maps.project_linearly(rows, rows)[0] if method == "pca" else maps.project_neighbours(rows)
    known = np.isfinite(values)
    figure = go.Figure(layout={"template": "plotly_white", "title": f"{len(rows)} embeddings, {method.upper()}"})
    figure.add_scatter(
        x=places[:, 0], y=places[:, 1], mode="markers", text=[f"{value:g}" for value in values],
        hovertemplate="%{text}<extra></extra>",
        marker={"color": np.where(known, values, np.nan), "colorscale": "Viridis", "showscale": bool(known.any())},
    )  # fmt: skip
    return figure


def rates(shown: pd.DataFrame, title: str, axis: str = "coverage") -> go.Figure:
    """Rates as dots with their 95 % Wilson intervals: a panel for each group, lines compared, series by mark.

    Columns: `panel`, `line`, `series`, `value`, `count`, and `trials` where fewer of the cases are distinct.
    """
    frame = _with_intervals(shown.assign(trials=shown["trials"] if "trials" in shown else shown["count"]), "trials")
    lines, series = (list(dict.fromkeys(frame[name])) for name in ("line", "series"))
    shifts = {name: (place - (len(series) - 1) / 2) * 0.6 / len(series) for place, name in enumerate(series)}
    frame = frame.assign(
        y=frame["line"].map(lines.index) + frame["series"].map(shifts), above=frame["high"] - frame["value"],
        below=frame["value"] - frame["low"], panel=frame["panel"].map(escape), series=frame["series"].map(escape),
    )  # fmt: skip
    figure = px.scatter(
        frame, x="value", y="y", color="series", symbol="series", facet_col="panel", error_x="above",
        error_x_minus="below", custom_data=["count", "low", "high"], template="plotly_white",
        color_discrete_sequence=("#000000", "#d55e00", "#0072b2", "#009e73"),
        symbol_sequence=("circle", "diamond-open", "square", "triangle-up-open"), height=160 + 70 * len(lines),
        title=f"{escape(title)}<br><sup>with 95 % Wilson intervals</sup>",
    )  # fmt: skip
    _name_panels(figure)
    interval = "%{x:.3~f} [%{customdata[1]:.2f}, %{customdata[2]:.2f}], n = %{customdata[0]}"
    figure.update_traces(hovertemplate=interval, marker={"size": 10, "line": {"width": 2}})
    figure.update_xaxes(range=[-0.05, 1.05], title_text=axis, dtick=0.5, tickformat=".1f")
    figure.update_yaxes(
        tickvals=list(range(len(lines))), ticktext=list(map(escape, lines)), range=[len(lines) - 0.5, -0.5],
        automargin=True, title_text="",
    )  # fmt: skip
    legend = {"orientation": "h", "y": -90 / (70 * len(lines) + 1), "yanchor": "top", "title_text": ""}
    return figure.update_layout(margin={"l": 60, "r": 20, "t": 90, "b": 90}, legend=legend, showlegend=len(series) > 1)
