"""Page 1: a recorded rollout in the player, beside the coverage of its model in its domain."""

from collections.abc import Callable, Sequence

import sources
import streamlit as st
from player import show_player

import sgp

LIBRARY = sources.library()  # once a request: it looks at every file


def choose(rollouts: Sequence[sgp.Recorded]) -> sgp.Recorded:
    """Lets the user choose by domain, then model, then problem; the choice stands in the address."""
    left = list(rollouts)
    for column, name in zip(st.columns([1, 2, 1]), ("domain", "model", "problem"), strict=True):
        titles = list(dict.fromkeys(LIBRARY.address_of(each)[name] for each in left))
        asked = st.query_params.get(name)
        with column:
            # The options depend on the choices before it, so each set of options is a widget of its own.
            chosen = st.selectbox(
                name.capitalize(),
                titles,
                index=titles.index(asked) if asked in titles else 0,
                key=f"{name}: {' | '.join(titles)}",
            )
        left = [each for each in left if LIBRARY.address_of(each)[name] == chosen]
    return left[0]


def show_coverage(about: sgp.Subject) -> None:
    """Coverage of the model on the split, with the number of problems and the interval."""
    place = {"domain": about.domain, "suite": about.suite, "split": about.split}
    cell = sgp.coverage_of(sources.measured(), **about.planner._asdict(), **place)
    if cell is None:
        st.caption(f"Coverage: {about.model} was not measured here.")
        return
    low, high = cell.interval
    seeds = f", mean of {cell.seeds} seeds" if cell.seeds > 1 else ""
    st.caption(f"Coverage of this model on {about.domain}, {about.split}")
    st.markdown(f"**{cell.value:.2f}** (95 % interval {low:.2f} to {high:.2f}, n = {cell.n}{seeds})")


@st.fragment
def show_exports(recorded: sgp.Recorded, data: dict) -> None:
    """Downloads of the rollout; each is made when it is asked for."""
    stem = sgp.file_stem(recorded)
    with st.popover("Export", icon=":material/download:"):

        def offer(label: str, ending: str, mime: str, make: Callable[[], str | bytes]) -> None:
            st.download_button(label, make, f"{stem}.{ending}", mime, key=f"{ending} {stem}", on_click="ignore")

        offer("Plan in PDDL", "plan", "text/plain", lambda: sgp.plan_text(recorded))
        offer("HTML player, one file", "html", "text/html", lambda: sgp.html_page(data))
        offer("Steps as CSV", "csv", "text/csv", lambda: sgp.steps_csv(recorded))
        offer("Steps as Parquet", "parquet", "application/vnd.apache.parquet", lambda: sgp.steps_parquet(recorded))
        made = f"gif of {stem}"
        if st.button("Make a GIF of at most 200 states"):
            bar = st.progress(0.0, "Drawing")
            st.session_state[made] = sgp.gif(recorded, advance=bar.progress)
            bar.empty()
        if made in st.session_state:
            gif = st.session_state[made]  # what is called for a download has no session
            offer("GIF", "gif", "image/gif", lambda: gif)


def main() -> None:
    """The page."""
    for sentence in LIBRARY.damaged:
        st.warning(sentence)
    if not LIBRARY.rollouts:
        st.info("There are no recorded rollouts yet; make some with `sgp record`.")
        return
    left, right, corner = st.columns([10, 4, 2], vertical_alignment="center")
    with left:
        recorded = choose(LIBRARY.rollouts)
    data = sources.player_data(recorded)
    address = LIBRARY.address_of(recorded)
    if any(st.query_params.get(name) not in (None, value) for name, value in address.items()):
        st.query_params.pop("step", None)  # another rollout begins at its start
    for name, value in address.items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value
    show_player(f"player {data['id']}", data)  # before what stands beside the choices: it is what people wait for
    with right:
        show_coverage(recorded.about)
    with corner:
        show_exports(recorded, data)


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
