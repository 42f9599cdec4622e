"""Page: how far planners scale, as measured, as published, and in a file of the user's own."""

from collections.abc import Sequence
from dataclasses import replace

import pandas  # noqa: F401  plotly would look into a pandas that another session is still importing
import sources
import streamlit as st
import work

import sgp

STYLE = """<style>
.sheet { overflow-x: auto; }
.sheet h3 { font-size: 16px; margin: 0 0 6px; }
.sheet table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
.sheet th, .sheet td { padding: 3px 16px 3px 0; text-align: left; }
.sheet th { vertical-align: bottom; }
.sheet tr.own td { border-top: 1px solid #8884; }
.sheet tr.published td { opacity: .75; }
.sheet p { font-size: 13px; max-width: 70em; opacity: .85; }
</style>"""
BELOW = ("plan_length", "seconds")  # metrics that are drawn below coverage


def in_order(values: Sequence) -> list:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def uploaded() -> list[sgp.Score]:
    """The curves in the files that the user gave; says why one is none."""
    found: list[sgp.Score] = []
    files = st.file_uploader(
        "Scores of your own", ["csv", "json"], accept_multiple_files=True, help="Files of `sgp scaling --csv FILE`."
    )
    for file in files:
        try:
            scores = sgp.parse_scores(file.getvalue(), file.name)
        except sgp.SgpError as error:
            st.error(work.plain(str(error)))
            continue
        if not any(each.metric == "coverage" and each.size is not None for each in scores):
            words = f"{file.name} has no coverage by size; give a file that 'sgp scaling --csv {file.name}' wrote"
            st.error(work.plain(words))
            continue
        # The user's planner may have the name of a measured one.
        found += [replace(each, method=f"{file.name}: {each.method}") for each in scores]
    return found


def main() -> None:
    """The page."""
    theirs = sources.published_scaling()
    domain_column, planner_column, file_column = st.columns([2, 5, 4])
    with file_column:
        scores = [*sources.measured_scaling(), *uploaded()]
    curves = [each for each in scores if each.size is not None]
    if not curves:
        st.info(
            "No curve was measured here. `sgp scaling --method contrastive-jumps --domain gripper --csv curve.csv` "
            "measures one; give its file above. Below stands what is published."
        )
    else:
        with domain_column:
            domains = in_order([each.domain for each in curves])
            domain = st.selectbox("Domain", domains, key="domain", bind="query-params")
        own = [each for each in curves if each.domain == domain]
        with planner_column:
            names = in_order([sgp.planner_title(each) for each in own])
            chosen = st.multiselect("Planners", names, key="planners", bind="query-params", placeholder="all") or names
        show_curves([each for each in own if sgp.planner_title(each) in chosen], theirs)
    st.html(f'{STYLE}<div class="sheet">{sgp.scaling_table(scores, theirs).html()}</div>')


def show_curves(own: Sequence[sgp.Score], theirs: Sequence[sgp.Score]) -> None:
    """Coverage over size, and below it plan length and seconds."""
    show_curve(own, "coverage", theirs)
    below = [metric for metric in BELOW if any(each.metric == metric for each in own)]
    for column, metric in zip(st.columns(len(BELOW)), below, strict=False):
        with column:
            show_curve(own, metric, theirs)


def show_curve(own: Sequence[sgp.Score], metric: str, theirs: Sequence[sgp.Score]) -> None:
    """A metric over size, the legend below so that the plot has the whole width."""
    figure = sgp.scaling_curves(own, metric, theirs)
    figure.update_layout(legend={"orientation": "h", "y": -0.25}, height=460)
    figure.update_traces(visible=True)  # who chose planners wants to see them all
    st.plotly_chart(figure, key=metric, config={"displayModeBar": False})


try:
    main()
except sgp.SgpError as error:
    st.error(work.plain(str(error)))
