"""Page Coverage: measured and published; a cell opens its failures, a mark its rollout."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from urllib.parse import urlencode

import pandas
import sources
import streamlit as st
from basics import check_link, in_order, plain, run_page, select, several

import sgp
from sgp.evaluation.attempts import recording_command
from sgp.reports.plots import instance_map, plan_lengths, solved_over_time, two_planners
from sgp.reports.tables import NO_REFERENCE, REFERENCES
from sgp.viewer.library import outcome_words

LIBRARY = sources.library()  # once a request: it looks at every file

FIGURES = {
    "instances": instance_map,
    "size": sgp.viz.coverage_over_size,
    "plan length": plan_lengths,
    "time": solved_over_time,
}
PAIR = "two planners"
VIEWS = ("instances", PAIR, "size", "plan length", "time")
PLACE = ("domain", "suite", "split", "problem")  # of an instance
MEASURES = ("plan length", "decisions", "seconds")
Chosen = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # suite, splits, domains, planners
LETTER, NAMES = 7, 318  # pixels of a letter in the table, about, and of its first column if all fits on the screen
STYLE = "<style>.stMainBlockContainer { padding-inline: 1rem; }</style>"  # the table has the whole width
LINK = "light-dark(#0067a5, #63b3ed)"
READING = """A cell has the mean coverage over seeds, ± the standard deviation over seeds (omitted below .005), and \
the 95 % Wilson interval on the n instances of the heading (on the distinct ones if some are equal up to object \
names). Every plan was validated by VAL. More blue: higher coverage. Click a heading to sort."""
CELLS = "Click a cell to list its failures."
PAPER = """After "paper": the published value, measured on other instances of the same sizes; its interval is \
computed here, as if there were as many of them as of ours."""
ROWS = """Rows: the suite's own method, references that learn nothing (ref., always shown), other methods; best \
variants first."""


def open_cell(key: str) -> None:
    """Store the instance, and the planner if there is one, of the mark that was clicked."""
    points = st.session_state[key]["selection"]["points"]
    st.session_state["cell"] = tuple(points[0]["customdata"]) if points else None


def cell_words(own, printed, n: int, ours: bool) -> str:
    """A cell: our number (with n if it is not that of the heading) and the paper's; `ours`: we measured the planner."""
    if own is None and printed is None:
        return "not measured" if ours else "not in the paper"
    if own is None:
        return f"{printed.text} in the paper" + ("" if ours else ", not measured")
    words = own.text if own.count == n else f"{own.text} n = {own.n}"
    return words if printed is None else f"{words}, paper {printed.text}"


def show_table(
    covered: pandas.DataFrame, places: Sequence[tuple[str, str]], chosen: Collection[str], names: Mapping[str, str]
) -> None:
    """Planners, by their `names`, by domain and split, a selected cell opens its attempts.

    The `chosen` ones (all if there are none) come first, by method (`family`) and mean, papers last.
    """
    both = pandas.concat([covered, sources.published()])
    both = both[(both["metric"] == "coverage") & both["size"].isna()]
    pooled = sgp.experiments.pool_seeds(both, ("paper", "planner", "domain", "split"))
    cells = {(row.paper != "", row.planner, row.domain, row.split): row for row in pooled.itertuples()}
    means = pooled[pooled["paper"] == ""].groupby("planner", sort=False)["value"].mean()
    method, suite = dict(zip(both["planner"], both["method"], strict=True)), covered["suite"].iloc[0]
    best = means.sort_values(ascending=False, kind="stable").index
    first = chosen or set(best)
    planners = sorted(best, key=lambda planner: (planner not in first, sources.family(suite, method[planner])))
    if not chosen:
        printed = {planner for theirs, planner, *place in cells if theirs and tuple(place) in places}
        planners += [name for name in in_order(pooled["planner"]) if name in printed and name not in planners]
    several_splits = len({split for _, split in places}) > 1
    marks = [" (ref.)" * (method[planner] in REFERENCES) for planner in planners]
    columns, shares = {"planner": [names[each] + mark for each, mark in zip(planners, marks, strict=True)]}, {}
    for domain, split in places:
        own = [cells.get((False, planner, domain, split)) for planner in planners]
        most = max((each for each in own if each is not None), key=lambda each: each.count, default=None)
        name = f"{domain}, {split}" if several_splits else domain
        heading = name if most is None else f"{name}, n = {most.n}"
        theirs = [cells.get((True, planner, domain, split)) for planner in planners]
        n = most.count if most else 0
        known = zip(own, theirs, (planner in means for planner in planners), strict=True)
        columns[heading] = [cell_words(*pair, n, ours) for *pair, ours in known]
        shares[heading] = [None if each is None else each.value for each in own]

    def shade(column: pandas.Series) -> list[str]:
        if (values := shares.get(str(column.name))) is None:  # the planners' names
            return [""] * len(planners)
        return [
            "color: #7f7f7f" if each is None else f"background-color: rgba(0, 114, 178, {0.3 * each:.3f})"
            for each in values
        ]

    scrolled = len(places) > 4  # sideways
    key = f"table {hash((tuple(columns), tuple(planners)))}"  # cells of another table are other planners
    st.dataframe(
        pandas.DataFrame(columns).style.apply(shade),
        hide_index=True,
        height=505 if len(planners) > 13 else "content",
        key=key,
        selection_mode="single-cell",
        on_select="rerun",
        column_config={
            "planner": st.column_config.TextColumn(
                pinned=scrolled,
                width=max(NAMES, LETTER * max(map(len, columns["planner"]))) if scrolled else NAMES,
                help=sources.about_all(planners),
            ),
            **{heading: st.column_config.Column(width=253) for heading in shares},  # a paper's interval is seen whole
        },
    )
    selected = st.session_state[key]["selection"]["cells"]
    if selected and selected[0][1] in shares:
        planner = planners[selected[0][0]]
        show_failures(planner, names[planner], *places[list(shares).index(selected[0][1])], suite)


def show_failures(planner: str, name: str, domain: str, split: str, suite: str) -> None:
    """The number of unsolved attempts of a cell, with links."""
    place = (planner, domain, split, suite)
    attempts = sources.attempts()
    chosen_attempts = attempts[(attempts[["planner", "domain", "split", "suite"]] == list(place)).all(axis=1)]
    unsolved = int((~chosen_attempts["solved"]).sum())
    models = in_order(
        [
            each.about.model
            for each in LIBRARY.rollouts
            if each.head.get("outcome") != "solved"
            and (each.about.planner.title, each.about.domain, each.about.split, each.about.suite) == place
        ]
    )
    said = (
        f"{unsolved} of {len(chosen_attempts)} attempts not solved"
        if len(chosen_attempts)
        else "single attempts were not stored"
    )
    ways = []
    if unsolved:
        filters = {"of": "measured attempts", "domains": domain, "splits": split, "planners": planner}
        ways.append(to_failures(f"open these {unsolved}", filters))
    if models:
        ways.append(to_failures("recorded failures", {"domains": domain, "models": models}))
    named = f'<b title="{escape(planner)}">{escape(name)}</b>'
    st.html(f"<p>{named} on {escape(f'{domain}, {split}: {said}')}. {' · '.join(ways)}</p>")


def to_failures(words: str, filters: Mapping[str, str | list[str]]) -> str:
    """A link to page Failures with filters; Streamlit's own link would keep this page's filters."""
    address = escape(urlencode(filters, doseq=True))
    return f'<a href="./failures?{address}" target="_self" style="color: {LINK}">{escape(words)}</a>'


def show_attempt(chosen_attempts: pandas.DataFrame) -> None:
    """The outcomes of a planner on an instance, and a link to its rollout."""
    row = next(chosen_attempts.itertuples())
    ended = ", ".join(
        ("" if pandas.isna(each.seed) else f"seed {each.seed}: ") + outcome_words(each.outcome)
        for each in chosen_attempts.itertuples()
    )
    named = f"{plain(sources.name_of(row))} (`{row.planner}`)"
    st.markdown(f"**{row.problem}** of {row.domain}, {row.split}, {row.size} objects; {named}: {ended}")
    found = [each for each in map(sources.rollout_of, chosen_attempts.itertuples()) if each is not None]
    for recorded in found:
        seed = f" (seed {recorded.about.seed})" if len(chosen_attempts) > 1 else ""
        st.page_link(
            "views/rollout.py",
            label=f"Watch the recorded rollout{seed}",
            icon=":material/play_arrow:",
            query_params=LIBRARY.address_of(recorded),
        )
    if found:
        return
    if row.method == "fast-downward":
        st.write("Fast Downward searches; there is no rollout to watch.")
    else:
        st.write("This rollout is not recorded. These commands record it:")
        st.code(recording_command(row), language="sh", wrap_lines=True)


@st.cache_resource(show_spinner=False, max_entries=32)
def attempts_of(chosen: Chosen) -> pandas.DataFrame:
    """The selected measured attempts."""
    suite, splits, domains, planners = chosen
    rows = sources.attempts()
    return rows[
        (rows["suite"] == suite)
        & rows["split"].isin(splits)
        & rows["domain"].isin(domains)
        & rows["planner"].isin(planners)
    ]


@st.cache_resource(show_spinner="Drawing", max_entries=32)
def figure_of(view: str, chosen: Chosen):
    """The plot of the selected attempts."""
    rows = attempts_of(chosen)
    return FIGURES[view](rows.assign(planner=rows["planner"].map(sources.names_of(rows))))


def show_instances(rows: pandas.DataFrame, figure, names: Mapping[str, str]) -> None:
    """The map of instances by planners (by `names`), and the attempt that was clicked or chosen by name."""
    st.caption(
        "Each column is an instance, the smallest first; where there is no mark, it was not attempted. Click a mark, "
        "or choose by name, to open its rollout."
    )
    instance_column, planner_column = st.columns(2)
    with instance_column:
        instances = in_order(rows[list(PLACE)].itertuples(index=False, name=None))
        instance = st.selectbox("Instance", instances, None, format_func=instance_title, placeholder="click a mark")
    with planner_column:
        how = {"format_func": names.__getitem__, "placeholder": "click a mark"}
        planner = st.selectbox("Planner", list(names), None, **how)
    named = tried_at(rows, (*instance, planner)) if instance and planner else rows[:0]
    if len(named):
        show_attempt(named)
    clicked = st.session_state.pop("cell", None)
    titles = {name: title for title, name in names.items()}
    if clicked is not None and len(chosen_attempts := tried_at(rows, (*clicked[:-1], titles.get(clicked[-1])))):
        st.dialog("Attempt", width="large")(show_attempt)(chosen_attempts)
    st.plotly_chart(
        figure, key="map", on_select=lambda: open_cell("map"), selection_mode="points", config={"displayModeBar": False}
    )


def tried_at(rows: pandas.DataFrame, cell: Sequence[str]) -> pandas.DataFrame:
    """The attempts of an instance (domain, suite, split, problem) by a planner, one for each seed."""
    return rows[(rows[[*PLACE, "planner"]] == list(cell)).all(axis=1)]


def show_pair(rows: pandas.DataFrame, names: Mapping[str, str]) -> None:
    """Two planners, by their `names`, against each other; a point opens both attempts."""
    titles = list(names)
    if len(titles) < 2:
        st.info("This view needs two planners. Remove a filter.")
        return
    left, middle, right = st.columns([3, 3, 2])
    with left:
        across = select("x-axis", titles, "across", format_func=names.__getitem__)
    methods = dict(zip(rows["planner"], rows["method"], strict=True))
    others = [title for title in titles if methods[title] != methods[titles[0]]]
    with middle:
        default = titles.index(others[0]) if others else 1
        up = select("y-axis", titles, "up", default=default, format_func=names.__getitem__)
    with right:
        measure = select("Measure", MEASURES, "measure")
    quoted = {title: f"“{name}”" for title, name in names.items()}  # the plot's title is a sentence
    clicked = st.session_state.pop("cell", None)
    if clicked is not None:
        pairs = [tried_at(rows, (*clicked, planner)) for planner in dict.fromkeys((across, up))]
        st.dialog("Attempts", width="large")(show_attempts)(
            [chosen_attempts for chosen_attempts in pairs if len(chosen_attempts)]
        )
    st.plotly_chart(
        two_planners(rows.assign(planner=rows["planner"].map(quoted)), quoted[across], quoted[up], measure),
        key="pair",
        on_select=lambda: open_cell("pair"),
        selection_mode="points",
        config={"displayModeBar": False},
    )
    st.caption(
        "Each point is an instance that both attempted (mean over the seeds that solved it). Points on the dotted "
        "lines were never solved by that planner. Click a point to open its rollouts."
    )


def show_attempts(pairs: Sequence[pandas.DataFrame]) -> None:
    """The outcomes of each planner on an instance."""
    for chosen_attempts in pairs:
        show_attempt(chosen_attempts)


def instance_title(cell: Sequence[str]) -> str:
    """A problem with its place."""
    domain, _, split, problem = cell
    return f"{domain}, {split}, {problem}"


def check_links(covered: pandas.DataFrame, suites: Sequence[str], default: str) -> None:
    """Refuse a link with a value that is no option."""
    check_link("Suite", suites, "suite")
    rows = covered[covered["suite"] == st.query_params.get("suite", default)]
    check_link("Splits", rows["split"], "splits")
    check_link("Domains", rows["domain"], "domains")
    for label, name in (("Planners", "planners"), ("x-axis", "across"), ("y-axis", "up")):
        check_link(label, rows["planner"], name)
    check_link("Measure", MEASURES, "measure")
    check_link("View", VIEWS, "view")


def main() -> None:
    """The page."""
    scores = sources.measured()
    covered = scores[(scores["metric"] == "coverage") & scores["size"].isna()]
    suites = in_order(covered["suite"])
    default = suites.index("state-centric") if "state-centric" in suites else 0
    check_links(covered, suites, suites[default])
    st.html(STYLE)
    columns = st.columns([2, 3, 3, 5])
    with columns[0]:
        suite = sources.bound("Suite", suites, "suite", default)
    covered = covered[covered["suite"] == suite]
    known = covered["method"].isin(REFERENCES).any()
    splits = in_order(covered["split"])
    with columns[1]:
        usual = ["extrapolation"] if "extrapolation" in splits else []
        chosen_splits = (
            st.multiselect(
                "Splits",
                splits,
                usual,
                key="splits",
                bind="query-params",
                placeholder="all",
                help=sources.about_all(splits),
            )
            or splits
        )
    with columns[2]:
        domains = several("Domains", in_order(covered["domain"]), "domains")
    with columns[3]:
        names = sources.names_of(pandas.concat([covered, sources.published()]))
        titles = covered["planner"].unique()
        planners = several("Planners", titles, "planners", sources.about_all(titles), names)
    compared = covered["planner"].isin(planners) | covered["method"].isin(REFERENCES)
    covered = covered[covered["domain"].isin(domains) & compared]
    places = in_order(covered[["domain", "split"]].itertuples(index=False, name=None))
    places = [(domain, split) for domain, split in places if split in chosen_splits]
    if not places:
        st.info("No measurements match these filters. Remove a filter.")
        return
    covered = covered[[place in places for place in zip(covered["domain"], covered["split"], strict=True)]]
    show_table(covered, places, st.session_state["planners"], names)
    theirs = sources.published()
    printed = set(places) & set(zip(theirs["domain"], theirs["split"], strict=True))
    chosen = suite, tuple(chosen_splits), tuple(domains), tuple(planners)
    stored = not attempts_of(chosen).empty
    st.caption(" ".join([READING, *[CELLS] * stored, *[PAPER] * bool(printed), ROWS if known else NO_REFERENCE]))
    show_attempts_of(chosen)


@st.fragment  # another view does not change the table
def show_attempts_of(chosen: Chosen) -> None:
    """The single attempts behind the table, in one of several views."""
    rows = attempts_of(chosen)
    if rows.empty:
        st.info(f"Only totals were stored for suite {chosen[0]}, no single attempts.")
        return
    names = sources.names_of(rows)
    view = st.segmented_control("View", VIEWS, default=VIEWS[0], key="view", bind="query-params", required=True)
    if view == "instances":
        show_instances(rows, figure_of(view, chosen), names)
    elif view == PAIR:
        show_pair(rows, names)
    else:
        st.plotly_chart(figure_of(view, chosen))
        st.caption("The legend lists all planners, the first ones shown; click a name to show or hide it.")


run_page(main)
