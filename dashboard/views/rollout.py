"""Page Rollout: a recorded rollout in the player, beside the coverage of all planners in its domain."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import sources
import streamlit as st
from basics import check_step, css, number, plain, refuse, replace_address, run_page
from player import offer_page, show_player

import sgp
from sgp.datasets.recorded import Recorded
from sgp.datasets.subject import PlannerName
from sgp.evaluation.scores import rounded, shown_share
from sgp.viewer.library import model_title

LAMA = "fast-downward lama-first"

LIBRARY = sources.library()  # once a request: it looks at every file
NAMES = ("domain", "model", "problem")  # of a choice, as the address has them
DECODING = "Decoding"  # the choice between rollouts that differ in nothing else
# The player fills the screen; the export button is in the page's header if there is room.
STYLE = f"<style>{css('rollout')}</style>"


def chosen(rollouts: Sequence[Recorded]) -> tuple[Recorded, list[dict]]:
    """The rollout that the address names by domain, model and problem, and the options of each.

    An empty address opens the first rollout with a prediction. After a choice in the player, what does not fit it is
    replaced, first by the same model with another outcome. A link to a rollout that is missing is refused.
    """
    picked = st.session_state.pop("rollout chosen", {})
    linked = {name: st.query_params[name] for name in NAMES if name in st.query_params}
    wanted = {**linked, **picked} or opening(rollouts, sources.stamp())
    fitting = [
        each for each in map(LIBRARY.address_of, rollouts) if all(map(alike, map(each.get, wanted), wanted.values()))
    ]
    if fitting:
        wanted = max(fitting, key=lambda each: sum(each[name] == title for name, title in wanted.items()))
    elif not picked:
        refuse(
            f"This link needs a rollout of {', '.join(wanted.values())}, which is not recorded here. Record it with "
            "'sgp evaluate RUN --record'.",
            *NAMES,
            "step",
        )
    left, choices = list(rollouts), []
    for name in NAMES:
        words = {LIBRARY.address_of(each)[name]: model_title(each) for each in left}
        titles = list(words)
        title = next((each for each in titles if alike(each, wanted.get(name))), titles[0])
        title = wanted[name] if wanted.get(name) in titles else title
        about = f"{title}\n{sources.about(title)}" if name == "model" else ""
        shown = {"labels": list(words.values())} if name == "model" else {}
        choices.append({"name": name.capitalize(), "options": titles, "chosen": title, "about": about, **shown})
        left = [each for each in left if LIBRARY.address_of(each)[name] == title]
    return left[0], choices


def alike(title: str, requested: str | None) -> bool:
    """Whether a title is the requested one, or the same model with another outcome."""
    return requested is not None and title.split(" (", maxsplit=1)[0] == requested.split(" (")[0]


@st.cache_resource(show_spinner=False, max_entries=32)
def decodings(_recorded: Recorded, place: str, stamp: str) -> dict[str, Recorded]:
    """The rollouts of the same problem by the same model, by their decodings."""
    found: dict[str, Recorded] = {}
    for each in LIBRARY.rollouts:
        alike_but = replace(each.about, decoding="") == replace(_recorded.about, decoding="")
        if alike_but and each.head.get("sha256") == _recorded.head.get("sha256"):
            found.setdefault(decoding_of(each), each)
    return found


def decoding_of(recorded: Recorded) -> str:
    """The name of a rollout's decoding; the method's default is called "beam" if it is one."""
    with recorded.reading():
        kept = (sum("beam" in candidate["marks"] for candidate in step["candidates"]) for step in recorded.steps)
        return recorded.about.decoding or ("beam" if any(count > 1 for count in kept) else "default")


def switch(rollouts: Sequence[Recorded]) -> None:
    """Put the rollout of the chosen decoding into the address, which keeps the step."""
    title = st.session_state.pop("rollout decoding", None)
    if title is not None:
        recorded, _ = chosen(rollouts)
        others = decodings(recorded, recorded.place, sources.stamp())
        st.query_params.from_dict({**st.query_params.to_dict(), **LIBRARY.address_of(others.get(title, recorded))})


@st.cache_resource(show_spinner=False, max_entries=4)
def opening(_rollouts: Sequence[Recorded], stamp: str) -> dict[str, str]:
    """The address of the first rollout with a predicted embedding."""
    return next((LIBRARY.address_of(each) for each in _rollouts if each.steps and "expects" in each.steps[0]), {})


def choose(name: str, title: str) -> None:
    """Store a choice, which `chosen` applies."""
    if name == DECODING:
        st.session_state["rollout decoding"] = title
    elif name.lower() in NAMES:
        st.session_state["rollout chosen"] = {name.lower(): title}


@st.cache_resource(show_spinner=False, max_entries=32)
def coverage(domain: str, suite: str, split: str, own: PlannerName) -> dict:
    """The coverage of measured planners on the splits of a domain: `own` and LAMA first, then the best on `split`."""
    scores = sources.measured()
    place = (scores["domain"] == domain) & (scores["suite"] == suite)
    covered = scores[place & (scores["metric"] == "coverage") & scores["size"].isna()]
    splits = sorted(set(covered["split"]), key=lambda each: (each != split, each))
    pooled = sgp.experiments.pool_seeds(covered, ("planner", "split"))
    names, rows = sources.names_of(covered), []
    for planner, found in pooled.groupby("planner", sort=False):
        cells = {row.split: row for row in found.itertuples()}
        shown = [cell(number, cells[each]) if each in cells else None for number, each in enumerate(splits)]
        about = f"{names[planner]}\n{planner}\n{sources.about(planner)}"
        group = 0 if planner == own.title else 1 if planner == LAMA else 2
        method, _, settings = names[planner].partition(": ")
        row = {"method": method, "settings": settings, "about": about, "cells": shown}
        rows.append({**row, "own": group == 0, "group": group})
    rows.sort(key=lambda row: (row["group"], [-each["value"] if each else 1.0 for each in row["cells"]]))
    return {"domain": domain, "splits": [heading(n, each, rows) for n, each in enumerate(splits)], "rows": rows}


def cell(split: int, found) -> dict:
    """One planner on one split, as the player's table shows it."""
    texts = {"share": shown_share(found.value), "low": rounded(found.low), "high": rounded(found.high)}
    return {"split": split, "value": found.value, **texts, "n": found.n, "seeds": found.seeds}


def heading(number: int, split: str, rows: Sequence[dict]) -> dict:
    """A split with the number of problems that most of its planners were measured on."""
    counts = [row["cells"][number]["n"] for row in rows if row["cells"][number]]
    n = max(counts, key=counts.count, default="")
    about = "\n".join(filter(None, [sources.about(split), n and f"n = {n}"]))
    return {"name": split, "about": about, "n": n, "count": n.partition(" ")[0]}


def show_exports(recorded: Recorded, data: dict) -> None:
    """Downloads of the rollout, each made on request.

    No nested fragment: if it runs again before all was sent, Streamlit sends the inner part only.
    """
    stem = sgp.viewer.file_stem(recorded)
    with st.popover("Export", icon=":material/download:"):

        def offer(label: str, ending: str, mime: str, make: Callable[[], str | bytes]) -> None:
            st.download_button(label, make, f"{stem}.{ending}", mime, key=f"{ending} {stem}", on_click="ignore")

        offer("Plan in PDDL", "plan", "text/plain", lambda: sgp.viewer.plan_text(recorded))
        offer_page(data, stem)
        offer("Steps as CSV", "csv", "text/csv", lambda: sgp.viewer.steps_csv(recorded))
        offer(
            "Steps as Parquet", "parquet", "application/vnd.apache.parquet", lambda: sgp.viewer.steps_parquet(recorded)
        )
        made = f"gif of {stem}"
        if st.button("Create GIF (max. 200 frames)"):
            bar = st.progress(0.0, "Drawing")
            st.session_state[made] = sgp.viewer.gif(recorded, advance=bar.progress)
            bar.empty()
        if made in st.session_state:
            gif = st.session_state[made]  # what is called for a download has no session
            offer("Download GIF", "gif", "image/gif", lambda: gif)


@st.fragment
def show(rollouts: Sequence[Recorded]) -> None:
    """The rollout that the address names; a choice in the player runs this again, and nothing else."""
    try:
        show_named(rollouts)
    except sgp.SgpError as error:  # the page's own handler sees none of a fragment's
        st.error(plain(str(error)))


def show_named(rollouts: Sequence[Recorded]) -> None:
    """The player of the rollout that the address names, and its exports."""
    switch(rollouts)
    recorded, choices = chosen(rollouts)
    others = decodings(recorded, recorded.place, sources.stamp())
    if len(others) > 1:
        about = "beam: keeps several paths; greedy: chooses the best candidate of every step"
        choices.append({"name": DECODING, "options": list(others), "chosen": decoding_of(recorded), "about": about})
    data = sources.player_data(recorded)
    address = LIBRARY.address_of(recorded)
    given = st.query_params.to_dict()
    if any(name in given and not alike(value, given[name]) for name, value in address.items()):
        given.pop("step", None)  # another rollout starts at its first step
    check_step(len(recorded.steps))
    if number("step", 1) > len(recorded.steps) and "step" in given:
        given["step"] = "end"  # another decoding of the rollout has fewer steps
    if st.query_params and st.query_params.to_dict() != {**given, **address}:
        st.query_params.from_dict({**given, **address})  # at once: each change is an entry of the browser's history
    about = recorded.about
    beside = {"choices": choices, "coverage": coverage(about.domain, about.suite, about.split, about.planner)}
    show_player(f"player {data['id']}", data, choose=choose, beside=beside)
    with st.container(key="export", horizontal=True, vertical_alignment="center"):
        if recorded.steps:
            step = min(max(number("step", 1), 1), len(recorded.steps))
            there = {**address, "step": str(step)}
            if recorded.head["outcome"] != "solved":
                failed = {"domains": about.domain, "models": about.model}
                st.page_link("views/failures.py", label="Why it failed", query_params=failed, width="content")
            st.page_link("views/what_if.py", label="Try another choice", query_params=there, width="content")
        show_exports(recorded, data)
        if not st.query_params:
            replace_address(address)


def main() -> None:
    """The page."""
    for sentence in LIBRARY.damaged:
        st.warning(plain(sentence))
    if not LIBRARY.rollouts:
        st.info("There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`.")
        return
    st.html(STYLE)
    show(LIBRARY.rollouts)


run_page(main)
