"""Page Scaling: coverage over problem size, measured, published, and from the user's own files."""

import pandas
import sources
import streamlit as st
from basics import check_link, css, in_order, plain, run_page, several

import sgp
from sgp.evaluation.scores import parse_scores
from sgp.reports.scaling_tables import scaling_table
from sgp.viewer.library import planner_name

STYLE = f"<style>{css('scaling')}</style>"
METHOD = "state-centric"
BELOW = ("plan_length", "seconds")  # metrics that are drawn below coverage


def uploaded() -> list[pandas.DataFrame]:
    """The curves of uploaded files; files without curves are reported."""
    found = []
    files = st.file_uploader(
        "Upload your scores", ["csv", "json"], accept_multiple_files=True, help="Files of `sgp scaling --csv FILE`."
    )
    for file in files:
        try:
            scores = parse_scores(file.getvalue(), file.name)
        except sgp.SgpError as error:
            st.error(plain(str(error)))
            continue
        if not ((scores["metric"] == "coverage") & scores["size"].notna()).any():
            words = f"{file.name} has no coverage by size; give a file that 'sgp scaling --csv {file.name}' wrote"
            st.error(plain(words))
            continue
        # The user's planner may have the name of a measured one.
        name = f"{file.name}: "
        found.append(scores.assign(method=name + scores["method"], planner=name + scores["planner"]))
    return found


def main() -> None:
    """The page."""
    domain_column, planner_column, file_column = st.columns([2, 5, 4])
    with file_column:
        scores = pandas.concat([sources.scaling(), *uploaded()])
    theirs, curves = scores[scores["paper"] != ""], scores[scores["size"].notna()]
    if curves.empty:
        st.info(
            "There are no measured curves. Measure one with `sgp scaling --method contrastive-jumps --domain gripper "
            "--csv curve.csv`, and upload the file above. Below are the published numbers."
        )
    else:
        domains = in_order(curves["domain"])
        check_link("Domain", domains, "domain")
        of_link = curves["domain"] == st.query_params.get("domain", domains[0])
        check_link("Planners", curves["planner"][of_link], "planners")
        with domain_column:
            domain = sources.bound("Domain", domains, "domain")
        own = curves[curves["domain"] == domain]
        with planner_column:
            names = sources.names_of(own)
            chosen = several("Planners", names, "planners", sources.about_all(names), names)
        shown = own[own["planner"].isin(chosen)]
        show_curves(pandas.concat([shown.assign(planner=shown["planner"].map(names)), theirs]))
        if METHOD not in set(own["method"]):
            st.caption(
                f"No curve of {METHOD} was measured in {plain(domain)}. This command measures one; upload its file."
            )
            st.code(f"sgp scaling --method {METHOD} --domain {domain} --csv curve.csv", language="sh")
    st.html(f'{STYLE}<div class="scores">{scaling_table(scores, planner_name).html()}</div>')


def show_curves(scores: pandas.DataFrame) -> None:
    """Coverage over size, and below it plan length and seconds."""
    show_curve(scores, "coverage")
    below = [metric for metric in BELOW if metric in set(scores["metric"])]
    for column, metric in zip(st.columns(len(BELOW)), below, strict=False):
        with column:
            show_curve(scores, metric)


def show_curve(scores: pandas.DataFrame, metric: str) -> None:
    """A metric over size, the legend below so that the plot has the whole width."""
    figure = sgp.viz.scaling_curves(scores, metric)
    figure.update_layout(legend={"orientation": "h", "y": -0.25}, height=460)
    figure.update_traces(visible=True)
    st.plotly_chart(figure, key=metric, config={"displayModeBar": False})


run_page(main)
