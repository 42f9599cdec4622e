"""Page Tour: two methods, training and a failure taught on recorded decisions, large enough for a projector."""

import sources
import streamlit as st
from basics import css, encoded, number, plain, run_page

import sgp
from sgp.datasets.recorded import Recorded
from sgp.evaluation.scores import Diagnosis, diagnose_splits

GUESS = "Guess first: which action does the model take?"
CSS = css("tour")
draw = st.components.v2.component(
    "sgp_tour_picture", html='<div class="row"></div>', css=CSS, js=sgp.viewer.script("tour")
)


@st.cache_data(show_spinner=False)
def tour(path: str, stamp: int) -> sgp.viewer.Tour:
    """The recorded tour, read again when its file changes."""
    return sgp.viewer.read_tour(path)


def diagnosis(found: sgp.viewer.Tour) -> Diagnosis | None:
    """The measured diagnosis of the planner that fails, on smaller and on larger problems."""
    about = found.failure.about
    return diagnose_splits(sources.scores_of(about.domain, about.planner), "interpolation", "extrapolation")


def go(stop: int) -> None:
    """Go to a stop (from 0)."""
    st.query_params["stop"] = str(stop + 1)


def show_bar(stop: int) -> None:
    """The titles of the stops, and buttons to the stops before and after."""
    names = sgp.viewer.tour_titles()
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.button("← Back", disabled=stop == 0, on_click=go, args=(stop - 1,))
        for place, name in enumerate(names):
            kind = "primary" if place == stop else "tertiary"
            st.button(f"{place + 1} {name}", type=kind, on_click=go, args=(place,))
        st.button("Next →", disabled=stop == len(names) - 1, on_click=go, args=(stop + 1,))


def choose_round(found: sgp.viewer.Tour) -> int:
    """The round of refinement to show; buttons, because the arrow keys change the stop."""
    requested = number("round", 0)
    level = requested if requested <= found.rounds else 0
    with st.container(horizontal=True):
        for each in range(found.rounds + 1):
            kind = "primary" if each == level else "secondary"
            st.button(f"Round {each}", type=kind, on_click=st.query_params.update, args=({"round": str(each)},))
    return level


def guessed(found: sgp.viewer.Tour) -> bool:
    """Ask for the next action; return whether the answer may be shown."""
    names = found.actions
    guess = st.radio(GUESS, names, index=None, horizontal=True, key="tour guess")
    if guess is None:
        return st.toggle("Show the ranking without a guess", key="tour shown")
    rank = found.order.index(names.index(guess)) + 1
    if names.index(guess) == found.chosen:
        st.success(plain(f"Yes: the model takes {guess}, rank {rank} of {len(names)}."))
    else:
        taken = names[found.chosen]
        st.warning(plain(f"No: {guess} is rank {rank} of {len(names)} for the model; it takes {taken}."))
    return True


def address_of(recorded: Recorded) -> dict[str, str]:
    """The address of a rollout of the library by the same planner on the same problem; of its domain otherwise."""
    library, about = sources.library(), recorded.about
    for each in library.rollouts:
        of_each = (each.head.get("sha256"), each.about.planner, each.about.seed)
        if of_each == (recorded.head.get("sha256"), about.planner, about.seed):
            return library.address_of(each)
    return {"domain": about.domain}


def show_links(found: sgp.viewer.Tour) -> None:
    """Links to further pages."""
    failed = found.failure.about.domain
    for page, label, query in (
        ("guess", "Guess the move: predict what a model does", {}),
        ("failures", f"Failures: what went wrong in {failed}", {"domains": failed}),
        ("what_if", "What if: choose another candidate and plan on from there", address_of(found.failure)),
        ("compare", "Compare: two methods on one problem", {"domain": failed}),
        ("own_problem", "Solve your own problem", {}),
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
        st.info("There is no recorded tour yet. Make one with `python -m sgp.experiments.bundle rollouts`.")
        return
    found = tour(str(path), path.stat().st_mtime_ns)
    titles = sgp.viewer.tour_titles()
    requested = number("stop", 1)
    place = requested - 1 if 1 <= requested <= len(titles) else 0
    st.html(
        "<style>.stMainBlockContainer p { font-size: 1.3rem; line-height: 1.45; }"
        ".stMainBlockContainer button p { font-size: .95rem; }"
        ".stMainBlockContainer [data-testid=stCaptionContainer] p { font-size: .95rem; }</style>"
    )
    show_bar(place)
    level = choose_round(found) if titles[place] == "Colours" else 0
    stop = found.stop(place, level, diagnosis(found) if titles[place] == "A failure" else None)
    st.markdown(plain(stop.words))
    if titles[place] == "Nearest successor" and not guessed(found):
        stop = stop._replace(bars=(), heading="")
    if place == len(titles) - 1:
        show_links(found)
    reported = draw(key="tour stop", data=encoded(stop._asdict()), on_go_change=lambda: None)
    if reported.go and 0 <= place + reported.go < len(titles):
        go(place + reported.go)
        st.rerun()
    st.caption(plain(f"{stop.source}, as recorded."))


run_page(main)
