"""Page 7: six stops that teach the method on one recorded decision, large enough for a projector."""

import streamlit as st
import work
from encoding import encoded

import sgp

GUESS = "Guess first: which action does the model take?"
show = st.components.v2.component(
    "sgp_tour_picture",
    html='<div class="row"></div>',
    css=".row { display: flex; gap: 3rem; color: var(--st-text-color); font: 1.3rem var(--st-font); }"
    " figure { flex: 1 1 0; min-width: 0; margin: 0; text-align: center; }"
    " svg { font: 15px var(--st-font); width: 100%; height: 60vh; max-height: 72vh; }",
    js=sgp.tour_script(),
)


@st.cache_data(show_spinner=False)
def tour(path: str, stamp: int) -> sgp.Tour:
    """The recorded tour, read again when its file changes."""
    return sgp.read_tour(path)


def go(stop: int) -> None:
    """Goes to a stop (from 0)."""
    st.query_params["stop"] = str(stop + 1)


def show_bar(stop: int) -> None:
    """Where we are, and the way back and on."""
    names = sgp.tour_titles()
    back, *links, ahead = st.columns([7, *(7.5 + 0.45 * len(name) for name in names), 7], vertical_alignment="center")
    back.button("← Back", disabled=stop == 0, on_click=go, args=(stop - 1,), width="stretch")
    for place, (column, name) in enumerate(zip(links, names, strict=True)):
        kind = "primary" if place == stop else "tertiary"
        column.button(f"{place + 1} {name}", type=kind, on_click=go, args=(place,), width="stretch")
    ahead.button("Next →", disabled=stop == len(names) - 1, on_click=go, args=(stop + 1,), width="stretch")


def choose_round(found: sgp.Tour) -> int:
    """The round of refinement to show; buttons, because the arrow keys are for the stops."""
    asked = st.query_params.get("round", "0")
    level = int(asked) if asked.isdecimal() and int(asked) <= found.rounds else 0
    with st.container(horizontal=True):
        for each in range(found.rounds + 1):
            kind = "primary" if each == level else "secondary"
            st.button(f"Round {each}", type=kind, on_click=st.query_params.update, args=({"round": str(each)},))
    return level


def show_guess(found: sgp.Tour) -> bool:
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


def main() -> None:
    """The page."""
    path = sgp.recorded_folder() / "tour.json"
    if not path.is_file():
        st.info("There is no recorded tour yet; make one with `sgp record`.")
        return
    found = tour(str(path), path.stat().st_mtime_ns)
    asked = st.query_params.get("stop", "1")
    last = len(sgp.tour_titles())
    stop = int(asked) - 1 if asked.isdecimal() and 1 <= int(asked) <= last else 0
    st.html(
        "<style>.stMainBlockContainer p { font-size: 1.3rem; line-height: 1.45; }"
        ".stMainBlockContainer [data-testid=stCaptionContainer] p { font-size: .95rem; }</style>"
    )
    show_bar(stop)
    level = choose_round(found) if stop == 2 else 0
    st.markdown(work.plain(found.words(stop, level)))
    pictures = found.pictures(stop, level) if stop < last - 1 or show_guess(found) else []
    told = show(key="tour stop", data=encoded({"pictures": pictures}), on_go_change=lambda: None)
    if told.go and 0 <= stop + told.go < last:
        go(stop + told.go)
        st.rerun()
    about = found.about
    st.caption(
        work.plain(
            f"Decision {found.step} of {found.problem}, {about.domain}, {about.split}: {about.model}, as recorded."
        )
    )


try:
    main()
except sgp.SgpError as error:
    st.error(work.plain(str(error)))
