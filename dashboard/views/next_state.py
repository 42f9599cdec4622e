"""Page Next state: a state, an action, and the states that models rank nearest to their prediction."""

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas  # noqa: F401  plotly would look into a pandas that another session is still importing
import plotly.graph_objects as plotly
import sources
import streamlit as st
from basics import css, one_entry, plain, run_page, select

import sgp
from sgp.datasets.subject import PlannerName
from sgp.evaluation.scores import percent
from sgp.viewer.library import planner_name

STYLE = f"<style>{css('next_state')}</style>"
SIGNS = {"+": "more", "-": "less", "≠": ""}
MOST_DIFFERENCES = 6
MINUS = "\N{MINUS SIGN}"
POOLS = """States among which the true next state is to be found, at most 128. **paper**: random states of the same \
problem (of the whole domain if single transitions are held out). **hard**: the current state, all its successors, \
further states in breadth-first order."""
READING = f"""Below: the states nearest to the model's prediction, with the cosine similarity to it. A hit: the true \
next state is the nearest. **+**: true only in this state, **{MINUS}**: true only in the true next state."""
# Streamlit takes drawings out of HTML; every word in these was escaped where they were made.
shown = st.components.v2.component(
    "sgp_next_state", js="export default ({ data, parentElement }) => { parentElement.innerHTML = data; };"
)
AXES = {"showgrid": False, "zeroline": False, "showticklabels": False}


@st.cache_resource(show_spinner="Reading the recorded steps", max_entries=4)
def files(stamp: str) -> tuple[list[sgp.viewer.Retrieved], list[str]]:
    """The recorded retrievals, the package's and the user's own, and what cannot be read."""
    return sgp.viewer.retrieved_files(*sources.retrieved_folders())


@st.cache_resource(show_spinner=False, max_entries=512)
def drawing(_file: sgp.viewer.Retrieved, source: str, state: int, stamp: str) -> str:
    """A state as SVG."""
    return _file.drawing(state)


def numbered(titles: list[str]) -> list[str]:
    """Titles, the second of one text with its number: a user may record what came with the package."""
    return [
        title if title not in titles[:place] else f"{title} ({titles[:place].count(title) + 1})"
        for place, title in enumerate(titles)
    ]


def figure(svg: str, caption: str, kind: str = "", differences: list[tuple[str, str]] | None = None) -> str:
    """A drawing with its caption, and how the state differs from the true one."""
    listed = differences or []
    lines = [
        f'<li class="{SIGNS[sign]}">{escape(sign.replace("-", MINUS))} {escape(words)}</li>'
        for sign, words in listed[:MOST_DIFFERENCES]
    ]
    if len(listed) > MOST_DIFFERENCES:
        lines.append(f"<li>and {len(listed) - MOST_DIFFERENCES} more</li>")
    return (
        f'<figure class="{kind}"><figcaption>{caption}</figcaption><div class="drawing">{svg}</div>'
        f"<ul>{''.join(lines)}</ul></figure>"
    )


def chart(
    file: sgp.viewer.Retrieved, model: sgp.viewer.RetrievedModel, step: int, pools: str, umap: bool
) -> plotly.Figure:
    """The map: known states, the nearest candidates, and the way from the state to the prediction and the true one."""
    at = 2 if umap else 0
    ends, found = model.points(step), model.found(step, pools)
    drawn = plotly.Figure()
    own = file.problem_of(file.states(step)[0])

    def add(points: Sequence[Sequence[int]], name: str, marker: dict, **more: Any) -> None:
        x, y = [point[at] for point in points], [point[at + 1] for point in points]
        drawn.add_scatter(x=x, y=y, name=name, marker=marker, **{"mode": "markers", **more})

    for same, name, colour, symbol in (
        (False, "states of other problems", "#8888", "circle-open"),
        (True, f"other states of {escape(own)}", "#888f", "circle"),
    ):
        if some := [point for state, point in model.training if (file.problem_of(state) == own) == same]:
            add(some, name, {"size": 5, "color": colour, "symbol": symbol}, hoverinfo="skip")
    near = [(str(rank), each.point) for rank, each in enumerate(found.nearest, start=1) if each.point]
    ring = {"size": 9, "color": "#b34700", "symbol": "circle-open", "line": {"width": 2}}
    more = {"mode": "markers+text", "textposition": "top center", "hovertemplate": "rank %{text}<extra></extra>"}
    add([point for _, point in near], "the ten nearest", ring, text=[rank for rank, _ in near], **more)
    for name, title, colour, symbol in (
        ("state", "state", "#5c6470", "square"),
        ("predicted", "predicted", "#b34700", "x"),
        ("true", "true next state", "#0067a5", "star"),
    ):
        marker = {"size": 14, "color": colour, "symbol": symbol}
        add([ends[name]], title, marker, hovertemplate=f"{title}<extra></extra>")
    drawn.update_layout(
        **{"height": 330, "margin": {"l": 4, "r": 4, "t": 4, "b": 4}, "legend": {"orientation": "h", "y": -0.02}},
        xaxis=AXES,
        yaxis={**AXES, "scaleanchor": "x"},
    )
    return drawn


def show_map(file: sgp.viewer.Retrieved, model: sgp.viewer.RetrievedModel, step: int, pools: str) -> None:
    """The map by the projection that is chosen, or why there is none."""
    if not model.training:
        st.info("This model's state embedding depends on the action, so no single map can be drawn.")
        return
    ways = ["PCA", "UMAP"] if any(len(point) > 2 for _, point in model.training) else ["PCA"]
    way = st.segmented_control("Map by", ways, default=ways[0], key="map", bind="query-params", required=True)
    st.plotly_chart(chart(file, model, step, pools, way == "UMAP"), config={"displayModeBar": False}, key="chart")
    one, other = model.explained
    note = f"PCA shows {percent(one)} and {percent(other)} of the variance." if way == "PCA" else ""
    st.caption(f"{note} Distances on a map are approximate; the ranks are exact.".strip())


def show(file: sgp.viewer.Retrieved, step: int, pools: str, model: sgp.viewer.RetrievedModel) -> None:
    """A step, and what a model made of it."""
    stamp = sources.retrieved_stamp()
    before, after = file.states(step)
    found = model.found(step, pools)
    left, right = st.columns([3, 2])
    with left:
        st.markdown(f"**{escape(found.words)}**")
        pair = figure(drawing(file, file.source, before, stamp), "State")
        pair += figure(drawing(file, file.source, after, stamp), f"After: {escape(file.action(step))}", "true")
        shown(key="pair", data=f'{STYLE}<div class="next pair">{pair}</div>')
        st.caption(READING)
    with right:
        show_map(file, model, step, pools)
    cards = []
    for rank, near in enumerate(found.nearest, start=1):
        true = near.state == after
        note = f"<b>{rank}.</b> {near.similarity:.3f}" + (" <b>true next state</b>" if true else "")
        svg = drawing(file, file.source, near.state, stamp)
        cards.append(figure(svg, note, "true" if true else "", file.differences(near.state, after)))
    shown(key="near", data=f'{STYLE}<div class="next near">{"".join(cards)}</div>')


def main() -> None:
    """The page."""
    found, damaged = files(sources.retrieved_stamp())
    for sentence in damaged:
        st.warning(plain(sentence))
    if not found:
        st.info(
            "No steps are recorded. Record some with `sgp retrieve --domains ferry --protocol extrapolation --record`."
        )
        return
    columns = st.columns([9, 5, 2, 4])
    with one_entry() as address:
        with columns[0]:
            titles = numbered([each.title for each in found])
            file = found[titles.index(select("Recorded steps", titles, "file", address=address))]
        with columns[3]:
            models = {each.title: each for each in file.models}
            planners = (PlannerName(each.record["method"], each.record["variant"]) for each in file.models)
            names = dict(zip(models, map(planner_name, planners), strict=True))
            how = {"address": address, "help": sources.about_all(models), "format_func": names.__getitem__}
            model = models[select("Model", list(models), "model", **how)]
        with columns[2]:
            pools = select("Pool", file.pools, "pools", address=address, help=POOLS)
        words = {title: f"{title}: {model.found(step, pools).word}" for step, title in enumerate(file.steps)}
        with columns[1]:
            how = {"address": address, "format_func": words.__getitem__}
            step = file.steps.index(select("Step", file.steps, "step", **how))
    show(file, step, pools, model)
    st.caption(
        "These models predict the sentence vector of the state after an action (EmbedPlan), or are baselines of "
        "that method (Displacements). Page Rollout shows the state-centric method, which predicts without an action."
    )
    st.caption(plain(str(file.record["about"])))


run_page(main)
