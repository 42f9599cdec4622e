"""Page: where methods fail, as measured and as published; cells open the recorded rollout."""

from collections.abc import Sequence

import pandas  # noqa: F401  plotly would look into a pandas that another session is still importing
import sources
import streamlit as st

import sgp

LIBRARY = sources.library()  # once a request: it looks at every file

FIGURES = {
    "instances": sgp.instance_map,
    "size": sgp.coverage_over_size,
    "plan length": sgp.plan_lengths,
    "time": sgp.solved_over_time,
}
VIEWS = (*FIGURES, "table")
Chosen = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # suite, splits, domains, planners
READING = """Share of problems solved, and its 95 % Wilson interval on n problems, or on those of them that are \
distinct up to renaming of objects; below it what the paper prints, \
measured on other instances of the same sizes (± its deviation over seeds). Means over seeds; every plan counted was \
accepted by VAL. Sand: fails, grey: half, blue: solves. The best planner stands on top."""
STYLE = """<style>
.heat { border-collapse: separate; border-spacing: 2px; font-size: 14px; font-variant-numeric: tabular-nums; }
.heat th { text-align: left; font-weight: 600; padding: 2px 12px 2px 0; white-space: nowrap; }
.heat thead th { vertical-align: bottom; }
.heat td { padding: 2px 10px; border-radius: 4px; line-height: 1.25; white-space: nowrap; }
.heat small { font-size: 12px; }
.sheet table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.sheet th, .sheet td { padding: 2px 12px 2px 0; text-align: left; }
.sheet tr.heading td { font-weight: 600; padding-top: 10px; } .sheet tr.published td { opacity: .75; }
</style>"""


def in_order(values: Sequence) -> list:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def several(label: str, options: list[str], key: str, width: int | str = "stretch") -> list[str]:
    """A filter that stands in the address; nothing chosen means everything."""
    chosen = st.multiselect(label, options, key=key, bind="query-params", placeholder="all")
    return chosen or options


def open_cell(key: str) -> None:
    """Remembers the attempt behind the mark that was clicked."""
    points = st.session_state[key]["selection"]["points"]
    st.session_state["cell"] = tuple(points[0]["customdata"]) if points else None


def rollout_of(row: sgp.AttemptRow) -> sgp.Recorded | None:
    """The recorded rollout of an attempt: the same planner on a problem of the same text."""
    for each in LIBRARY.rollouts:
        about = each.about
        made = (about.domain, about.planner, each.head.get("name"))
        if made == (row.domain, row.planner, row.problem) and about.split in ("", row.split):
            return each
    return None


def show_attempt(tried: Sequence[sgp.AttemptRow]) -> None:
    """How a planner fared on an instance, and the way to its rollout."""
    row = tried[0]
    ended = ", ".join(f"seed {each.seed}: {each.outcome.value}" if each.seed else each.outcome.value for each in tried)
    st.markdown(
        f"**{row.problem}** of {row.domain}, {row.split}, {row.size} objects; {sgp.planner_title(row)}: {ended}"
    )
    recorded = rollout_of(row)
    if recorded is not None:
        st.page_link(
            "views/rollout.py",
            label="Watch the recorded rollout",
            icon=":material/play_arrow:",
            query_params=LIBRARY.address_of(recorded),
        )
    elif row.method == "fast-downward":
        st.write("Fast Downward searches; there is no rollout to watch.")
    else:
        st.write("This rollout is not recorded. These lines record it, and then it is here:")
        st.code(sgp.recording_command(row), language="sh", wrap_lines=True)


@st.cache_resource(show_spinner=False, max_entries=32)
def attempts_of(chosen: Chosen) -> list[sgp.AttemptRow]:
    """The measured attempts that were chosen."""
    suite, splits, domains, planners = chosen
    return [
        row
        for row in sources.attempts()
        if row.suite == suite and row.split in splits and row.domain in domains and sgp.planner_title(row) in planners
    ]


@st.cache_resource(show_spinner="Drawing", max_entries=32)
def figure_of(view: str, chosen: Chosen):
    """The plot of the attempts that were chosen: drawing takes longer than sending."""
    return FIGURES[view](attempts_of(chosen))


def show_instances(rows: Sequence[sgp.AttemptRow], figure) -> None:
    """The map of instances by planners, and the attempt that was chosen in it or by name."""
    pairs: dict[tuple[str, ...], list[sgp.AttemptRow]] = {}
    for row in rows:
        pairs.setdefault((row.domain, row.suite, row.split, row.problem, *row.planner), []).append(row)
    st.caption("Each column is an instance, the smallest first. Click a mark, or choose by name, to open its rollout.")
    instance_column, planner_column = st.columns(2)
    with instance_column:
        instances = in_order([cell[:4] for cell in pairs])
        instance = st.selectbox("Instance", instances, None, format_func=instance_title, placeholder="click a mark")
    with planner_column:
        planners = in_order([cell[4:] for cell in pairs])
        planner = st.selectbox("Planner", planners, None, format_func=planner_words, placeholder="click a mark")
    named = (*instance, *planner) if instance and planner else None
    if named in pairs:
        show_attempt(pairs[named])
    clicked = st.session_state.pop("cell", None)
    if clicked in pairs:
        st.dialog("Attempt", width="large")(show_attempt)(pairs[clicked])
    st.plotly_chart(
        figure,
        key="map",
        on_select=lambda: open_cell("map"),
        selection_mode="points",
        config={"displayModeBar": False},
    )


def planner_words(cell: Sequence[str]) -> str:
    """A planner's name in words."""
    return sgp.PlannerName(*cell).title


def instance_title(cell: Sequence[str]) -> str:
    """A problem with its place."""
    domain, _, split, problem = cell
    return f"{domain}, {split}, {problem}"


def main() -> None:
    """The page."""
    scores = sources.measured()
    columns = st.columns([2, 3, 3, 5])
    with columns[0]:
        suites = in_order([each.suite for each in scores if each.metric == "coverage"])
        preferred = "state-centric" if "state-centric" in suites else suites[0]
        suite = st.selectbox("Suite", suites, index=suites.index(preferred), key="suite", bind="query-params")
    own = [each for each in scores if each.suite == suite]
    covered = [each for each in own if each.metric == "coverage" and each.size is None]
    splits = in_order([each.split for each in covered])
    with columns[1]:
        usual = ["extrapolation"] if "extrapolation" in splits else []
        chosen_splits = (
            st.multiselect("Splits", splits, usual, key="splits", bind="query-params", placeholder="all") or splits
        )
    with columns[2]:
        domains = several("Domains", in_order([each.domain for each in covered]), "domains")
    with columns[3]:
        planners = several("Planners", in_order([sgp.planner_title(each) for each in covered]), "planners")
    covered = [each for each in covered if each.domain in domains and sgp.planner_title(each) in planners]
    places = in_order([(each.domain, each.split) for each in covered if each.split in chosen_splits])
    heat, reading = st.columns([2, 1])
    with heat:
        st.html(STYLE + sgp.coverage_heat(covered, sources.published(), places))
    with reading:
        st.caption(READING)
    chosen = (suite, tuple(chosen_splits), tuple(domains), tuple(planners))
    rows = attempts_of(chosen)
    if not rows:
        st.info(f"Only totals were kept of suite {suite}; its single attempts are not measured here.")
        return
    view = st.segmented_control("View", VIEWS, default=VIEWS[0], key="view", bind="query-params", required=True)
    if view == "instances":
        show_instances(rows, figure_of(view, chosen))
    elif view in FIGURES:
        st.plotly_chart(figure_of(view, chosen))
    else:
        sheet = sgp.coverage_sheet(covered, sources.published(), "Coverage", chosen_splits, all_published=True)
        st.html(f'{STYLE}<div class="sheet">{sheet.html()}</div>')


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
