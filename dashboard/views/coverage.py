"""Page: where methods fail, as measured and as published; a cell opens the failures behind it, a mark its rollout."""

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import urlencode

import pandas
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
PAIR = "two planners"
VIEWS = ("instances", PAIR, "size", "plan length", "time")
MEASURES = ("plan length", "decisions", "seconds")
Chosen = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # suite, splits, domains, planners
LINK = "light-dark(#0067a5, #63b3ed)"
READING = """Share of problems solved, and its 95 % Wilson interval on n problems, or on those of them that are \
distinct up to renaming of objects; beside it what the paper prints, measured on other instances of the same sizes \
(± its deviation over seeds). Means over seeds; every plan counted was accepted by VAL. The bluer, the more is solved. \
A heading sorts; a cell opens the failures behind it."""


def in_order(values: Sequence) -> list:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def several(label: str, options: list[str], key: str, width: int | str = "stretch") -> list[str]:
    """A filter that stands in the address; nothing chosen means everything."""
    chosen = st.multiselect(label, options, key=key, bind="query-params", placeholder="all")
    return chosen or options


def open_cell(key: str) -> None:
    """Remembers the instance, and the planner if there is one, behind the mark that was clicked."""
    points = st.session_state[key]["selection"]["points"]
    st.session_state["cell"] = tuple(points[0]["customdata"]) if points else None


def cell_words(own, printed, n: int) -> str:
    """A cell of the table; a number that only a paper has says so, and n where it is not that of the heading."""
    if own is None:
        return "" if printed is None else f"{printed} in the paper"
    told = f"{own}" if own.count == n else f"{own} n = {own.n}"
    return told if printed is None else f"{told}, paper {printed}"


def show_table(covered: Sequence[sgp.Score], places: Sequence[tuple[str, str]], all_planners: bool) -> None:
    """Planners by places, and what stands behind the cell that is selected."""
    rows = [row for row in sgp.coverage_rows(covered, sources.published(), places) if all_planners or any(row.ours)]
    several_splits = len({split for _, split in places}) > 1
    columns, shares = {"planner": [row.planner.title for row in rows]}, {}
    for at, (domain, split) in enumerate(places):
        own = [row.ours[at] for row in rows]
        most = max((each for each in own if each is not None), key=lambda each: each.count, default=None)
        name = f"{domain}, {split}" if several_splits else domain
        heading = name if most is None else f"{name}, n = {most.n}"
        columns[heading] = [cell_words(row.ours[at], row.printed[at], most.count if most else 0) for row in rows]
        shares[heading] = [None if each is None else each.value for each in own]

    def shade(column: pandas.Series) -> list[str]:
        values = shares.get(str(column.name), [None] * len(rows))
        return ["" if each is None else f"background-color: rgba(0, 114, 178, {0.3 * each:.3f})" for each in values]

    key = f"table {hash((tuple(columns), tuple(columns['planner'])))}"  # cells of another table are other planners
    st.dataframe(
        pandas.DataFrame(columns).style.apply(shade),
        hide_index=True,
        height=430 if len(rows) > 11 else "content",
        key=key,
        selection_mode="single-cell",
        on_select="rerun",
        column_config={
            "planner": st.column_config.TextColumn(pinned=len(places) > 4, width=232),
            **{heading: st.column_config.Column(width=262) for heading in shares},  # a paper's interval is seen whole
        },
    )
    selected = st.session_state[key]["selection"]["cells"]
    if selected and selected[0][1] in shares:
        row = rows[selected[0][0]]
        show_failures(row.planner, *places[list(shares).index(selected[0][1])], covered[0].suite)


def show_failures(planner: sgp.PlannerName, domain: str, split: str, suite: str) -> None:
    """How many attempts of a cell are unsolved, and the ways to them."""
    place = (planner, domain, split, suite)
    tried = [row for row in sources.attempts() if (row.planner, row.domain, row.split, row.suite) == place]
    unsolved = sum(not row.solved for row in tried)
    models = in_order(
        [
            each.about.model
            for each in LIBRARY.rollouts
            if each.head.get("outcome") != "solved"
            and (each.about.planner, each.about.domain, each.about.split, each.about.suite) == place
        ]
    )
    said = f"{unsolved} of {len(tried)} attempts not solved" if tried else "single attempts are not measured here"
    ways = []
    if unsolved:
        asked = {"of": "measured attempts", "domains": domain, "splits": split, "planners": planner.title}
        ways.append(to_failures(f"open these {unsolved}", asked))
    if models:
        ways.append(to_failures("the recorded ones, diagnosed", {"domains": domain, "models": models}))
    st.html(f"<p><b>{escape(planner.title)}</b> on {escape(f'{domain}, {split}: {said}')}. {' · '.join(ways)}</p>")


def to_failures(words: str, asked: Mapping[str, str | list[str]]) -> str:
    """A link to page Failures with its filters set; not Streamlit's own, which would keep this page's filters."""
    address = escape(urlencode(asked, doseq=True))
    return f'<a href="./failures?{address}" target="_self" style="color: {LINK}">{escape(words)}</a>'


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
        pairs.setdefault((*place_of(row), *row.planner), []).append(row)
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


def show_pair(rows: Sequence[sgp.AttemptRow]) -> None:
    """Two planners against each other; a point opens both attempts."""
    planners = {row.planner.title: row.planner for row in rows}
    titles = list(planners)
    if len(titles) < 2:
        st.info("Two planners are needed for this; take a filter away.")
        return
    left, middle, right = st.columns([3, 3, 2])
    across = choose(left, "Across", titles, titles[0])
    others = [title for title in titles if planners[title].method != planners[titles[0]].method]
    up = choose(middle, "Up", titles, others[0] if others else titles[1])
    measure = choose(right, "Measure", list(MEASURES), MEASURES[0])
    clicked = st.session_state.pop("cell", None)
    if clicked is not None:
        pairs = [
            [row for row in rows if place_of(row) == clicked and row.planner == planners[each]]
            for each in dict.fromkeys((across, up))
        ]
        st.dialog("Attempts", width="large")(show_attempts)([tried for tried in pairs if tried])
    st.plotly_chart(
        sgp.two_planners(rows, planners[across], planners[up], measure),
        key="pair",
        on_select=lambda: open_cell("pair"),
        selection_mode="points",
        config={"displayModeBar": False},
    )
    st.caption(
        "Each point is an instance that both tried, a mean over the seeds that solved it; on the dotted lines stands "
        "what one of them solved with no seed. Click a point to open its rollouts."
    )


def choose(column, label: str, options: list[str], default: str) -> str:
    """A choice that stands in the address."""
    key = label.lower()
    asked = st.query_params.get(key)
    with column:
        chosen = st.selectbox(label, options, index=options.index(asked if asked in options else default))
    st.query_params[key] = chosen
    return chosen


def place_of(row: sgp.AttemptRow) -> tuple[str, str, str, str]:
    """The instance of an attempt, as marks and points name it."""
    return row.domain, row.suite, row.split, row.problem


def show_attempts(pairs: Sequence[Sequence[sgp.AttemptRow]]) -> None:
    """How each planner fared on an instance."""
    for tried in pairs:
        show_attempt(tried)


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
    if not places:
        st.info("No planner was measured here; take a filter away.")
        return
    show_table(covered, places, all_planners=not st.session_state["planners"])
    st.caption(READING)
    show_attempts_of((suite, tuple(chosen_splits), tuple(domains), tuple(planners)))


@st.fragment  # another view leaves the table as it stands
def show_attempts_of(chosen: Chosen) -> None:
    """The single attempts behind the table, in one of several views."""
    rows = attempts_of(chosen)
    if not rows:
        st.info(f"Only totals were kept of suite {chosen[0]}; its single attempts are not measured here.")
        return
    view = st.segmented_control("View", VIEWS, default=VIEWS[0], key="view", bind="query-params", required=True)
    if view == "instances":
        show_instances(rows, figure_of(view, chosen))
    elif view == PAIR:
        show_pair(rows)
    else:
        st.plotly_chart(figure_of(view, chosen))


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
