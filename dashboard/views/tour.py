"""Page: stops that teach two methods, training and a failure on recorded decisions, large enough for a projector."""

import sources
import streamlit as st
import work
from encoding import encoded

import sgp
from sgp.planning.recorded import Recorded

GUESS = "Guess first: which action does the model take?"
show = st.components.v2.component(
    "sgp_tour_picture",
    html='<div class="row"></div>',
    css=".row { color: var(--st-text-color); font: 1.05rem var(--st-font); } .row svg { font: 15px var(--st-font);"
    " width: 100%; display: block; } figure { margin: 0; min-width: 0; } figcaption { margin: 0 0 4px; }"
    " .scenes { display: flex; gap: 2rem; } .scenes figure { flex: 1 1 0; } .scenes svg { height: 54vh; }"
    " .chart svg { height: auto; max-height: 62vh; }"
    " .row.both { display: grid; gap: 1.6rem; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); }"
    " .row.both .scenes { flex-direction: column; gap: .6rem; } .row.both .scenes figure { flex: 0 0 auto; }"
    " .row.both .scenes svg { height: 20vh; } .row.both .scene:only-child svg { height: 50vh; }"
    " @media (max-width: 760px) { .row.both, .scenes { display: block; } }",
    js=sgp.viewer.script("tour"),
)


@st.cache_data(show_spinner=False)
def tour(path: str, stamp: int) -> sgp.viewer.Tour:
    """The recorded tour, read again when its file changes."""
    return sgp.viewer.read_tour(path)


def go(stop: int) -> None:
    """Goes to a stop (from 0)."""
    st.query_params["stop"] = str(stop + 1)


def show_bar(stop: int) -> None:
    """Where we are, and the way back and on."""
    names = sgp.viewer.tour_titles()
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.button("← Back", disabled=stop == 0, on_click=go, args=(stop - 1,))
        for place, name in enumerate(names):
            kind = "primary" if place == stop else "tertiary"
            st.button(f"{place + 1} {name}", type=kind, on_click=go, args=(place,))
        st.button("Next →", disabled=stop == len(names) - 1, on_click=go, args=(stop + 1,))


def choose_round(found: sgp.viewer.Tour) -> int:
    """The round of refinement to show; buttons, because the arrow keys are for the stops."""
    asked = st.query_params.get("round", "0")
    level = int(asked) if asked.isdecimal() and int(asked) <= found.rounds else 0
    with st.container(horizontal=True):
        for each in range(found.rounds + 1):
            kind = "primary" if each == level else "secondary"
            st.button(f"Round {each}", type=kind, on_click=st.query_params.update, args=({"round": str(each)},))
    return level


def guessed(found: sgp.viewer.Tour) -> bool:
    """Asks for the next action; whether the answer may be shown."""
    names = [found.action(place) for place in range(len(found.candidates))]
    guess = st.radio(GUESS, names, index=None, horizontal=True, key="tour guess")
    if guess is None:
        return st.toggle("Show the ranking without a guess", key="tour shown")
    rank = found.order.index(names.index(guess)) + 1
    if names.index(guess) == found.chosen:
        st.success(work.plain(f"Yes: the model takes {guess}, rank {rank} of {len(names)}."))
    else:
        taken = found.action(found.chosen)
        st.warning(work.plain(f"No: {guess} is rank {rank} of {len(names)} for the model; it takes {taken}."))
    return True


def address_of(recorded: Recorded) -> dict[str, str]:
    """The address of a rollout of the library by the same planner on the same problem; of its domain otherwise."""
    library, about = sources.library(), recorded.about
    for each in library.rollouts:
        of_each = (each.head.get("sha256"), each.about.planner, each.about.seed)
        if of_each == (recorded.head.get("sha256"), about.planner, about.seed):
            return library.address_of(each)
    return {"domain": about.domain}


def show_ways_on(found: sgp.viewer.Tour) -> None:
    """Where to go from here."""
    failed = found.failure.about.domain
    for page, label, query in (
        ("guess", "Guess the move: predict what a model does, and see how often you are right", {}),
        ("failures", f"Failures: what went wrong in {failed}, counted", {"domains": failed}),
        ("what_if", "What if: take another candidate and plan on from there", address_of(found.failure)),
        ("compare", "Compare: two methods on one problem", {"domain": failed}),
        ("own_problem", "Your own problem: have it solved", {}),
    ):
        st.page_link(f"views/{page}.py", label=label, icon=":material/arrow_forward:", query_params=query)
    st.markdown(
        "In JupyterLab: `notebooks/01_the_method.ipynb` trains what you saw, `notebooks/07_logistics_failures.ipynb` "
        "counts the failures, `notebooks/09_your_domain.ipynb` takes a domain of yours."
    )


def main() -> None:
    """The page."""
    path = sgp.viewer.recorded_folder() / "tour.json"
    if not path.is_file():
        st.info("There is no recorded tour yet; make one with `python -m sgp.experiments.bundle rollouts`.")
        return
    found = tour(str(path), path.stat().st_mtime_ns)
    asked = st.query_params.get("stop", "1")
    last = len(sgp.viewer.tour_titles())
    stop = int(asked) - 1 if asked.isdecimal() and 1 <= int(asked) <= last else 0
    st.html(
        "<style>.stMainBlockContainer p { font-size: 1.3rem; line-height: 1.45; }"
        ".stMainBlockContainer button p { font-size: .95rem; }"
        ".stMainBlockContainer [data-testid=stCaptionContainer] p { font-size: .95rem; }</style>"
    )
    show_bar(stop)
    level = choose_round(found) if stop == 2 else 0
    st.markdown(work.plain(found.words(stop, level)))
    shown = found.pictures(stop, level) if not found.asks(stop) or guessed(found) else found.board()
    if stop == last - 1:
        show_ways_on(found)
    told = show(key="tour stop", data=encoded(shown._asdict()), on_go_change=lambda: None)
    if told.go and 0 <= stop + told.go < last:
        go(stop + told.go)
        st.rerun()
    st.caption(work.plain(f"{found.source_of(stop)}, as recorded."))


try:
    main()
except sgp.SgpError as error:
    st.error(work.plain(str(error)))
