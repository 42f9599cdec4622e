"""Page Tour: two methods, training and a failure taught on recorded decisions, large enough for a projector."""

from collections.abc import Sequence

import sources
import streamlit as st
from basics import check_link, css, encoded, number, plain, run_page

import sgp
from sgp.datasets.recorded import Recorded
from sgp.evaluation.scores import Diagnosis, diagnose_splits

KEYS = "Keys: ← and → change the stop, a shows the answer, Esc leaves."
GUESS = "Guess first: which action does the model choose?"
CSS = css("tour")
draw = st.components.v2.component(
    "sgp_tour_picture", html='<div class="row"></div>', css=CSS, js=sgp.viewer.script("tour")
)


@st.cache_resource(show_spinner=False)
def tour(path: str, stamp: int) -> sgp.viewer.Tour:
    """The recorded tour, which stores what it has computed; read again when its file changes."""
    return sgp.viewer.read_tour(path)


def diagnosis(found: sgp.viewer.Tour) -> Diagnosis | None:
    """The measured diagnosis of the planner that fails, on smaller and on larger problems."""
    about = found.failure.about
    return diagnose_splits(sources.scores_of(about.domain, about.planner), "interpolation", "extrapolation")


def go(stop: int) -> None:
    """Go to a stop (from 0)."""
    st.query_params["stop"] = str(stop + 1)


def present(shown: bool) -> None:
    """Begin or leave the presenter's view."""
    if shown:
        st.query_params["present"] = "yes"
    else:
        st.query_params.pop("present", None)


def stop_of_address(titles: Sequence[str]) -> int:
    """The stop of the address (from 0); a link to a stop that does not exist is refused."""
    numbers = [str(place + 1) for place in range(len(titles))]
    check_link("Stop", numbers, "stop")
    requested = st.query_params.get("stop", "1")
    return numbers.index(requested) if requested in numbers else 0


def show_bar(stop: int) -> None:
    """The titles of the stops, and buttons to the stops before and after."""
    names = sgp.viewer.tour_titles()
    with st.container(key="stops", horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.button("← Back", disabled=stop == 0, on_click=go, args=(stop - 1,))
        for place, name in enumerate(names):
            kind = "primary" if place == stop else "tertiary"
            st.button(f"{place + 1} {name}", type=kind, on_click=go, args=(place,))
        st.button("Next →", disabled=stop == len(names) - 1, on_click=go, args=(stop + 1,))
        st.button("Present", on_click=present, args=(True,), help=f"Key p. {KEYS}")


def show_presented(stop: int) -> None:
    """The title of the stop that is presented, and a button to leave."""
    names = sgp.viewer.tour_titles()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(names[stop], anchor=False)
        st.caption(f"{stop + 1} of {len(names)}. {KEYS}")
        st.button("Leave", type="tertiary", on_click=present, args=(False,))


def choose(label: str, name: str, options: Sequence[int], default: int) -> int:
    """A number of the address; buttons, because the arrow keys change the stop."""
    check_link(label, map(str, options), name)
    requested = number(name, default)
    chosen = requested if requested in options else default
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(label, width="content")
        for each in options:
            kind = "primary" if each == chosen else "secondary"
            st.button(f"{each}", type=kind, on_click=st.query_params.update, args=({name: str(each)},))
    return chosen


def sizes(found: sgp.viewer.Tour) -> tuple[Sequence[int], int]:
    """The numbers of objects to choose from, and the first choice; reading the attempts takes seconds, once."""
    with st.spinner("Reading the measured attempts"):
        return found.sizes, found.opening_size


def guessed(found: sgp.viewer.Tour) -> bool:
    """Ask for the next action; return whether the answer may be shown."""
    names, excluded = found.actions, found.visited
    guess = st.radio(
        GUESS,
        names,
        index=None,
        horizontal=True,
        key="tour guess",
        format_func=lambda name: f"{name} visited" if name in excluded else name,
    )
    if guess is None:
        return st.toggle("Show the ranking without a guess", key="tour shown")
    rank = found.order.index(names.index(guess)) + 1
    if names.index(guess) == found.chosen:
        st.success(plain(f"Yes: the model chooses {guess}, rank {rank} of {len(names)}."))
    else:
        chosen = names[found.chosen]
        st.warning(plain(f"No: {guess} is rank {rank} of {len(names)} for the model; it chooses {chosen}."))
    return True


def address_of(recorded: Recorded, **more: str) -> dict[str, str]:
    """The address of a rollout of the library by the same planner on the same problem; of its domain otherwise."""
    library, about = sources.library(), recorded.about
    for each in library.rollouts:
        of_each = (each.head.get("sha256"), each.about.planner, each.about.seed)
        if of_each == (recorded.head.get("sha256"), about.planner, about.seed):
            return library.address_of(each) | more
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
    place = stop_of_address(titles)
    presenting = st.query_params.get("present") == "yes"
    st.html(f"<style>{css('tour_page')}{css('tour_presented') if presenting else ''}</style>")
    (show_presented if presenting else show_bar)(place)
    level = choose("Round", "round", range(found.rounds + 1), 0) if titles[place] == "Colours" else 0
    size = choose("Objects", "size", *sizes(found)) if titles[place] == "Larger problems" else None
    stop = found.stop(place, level, diagnosis(found) if titles[place] == "A failure" else None, size)
    st.markdown(plain(stop.words))
    if titles[place] == "Nearest successor":
        stop = stop._replace(question="", decision=stop.decision if guessed(found) else None)
    if place == len(titles) - 1:
        show_links(found)
    data = encoded({**stop._asdict(), "present": presenting})
    reported = draw(key="tour stop", data=data, on_go_change=lambda: None, on_present_change=lambda: None)
    if reported.go and 0 <= place + reported.go < len(titles):
        go(place + reported.go)
        st.rerun()
    if reported.present is not None and reported.present != presenting:
        present(reported.present)
        st.rerun()
    if titles[place] == "Whole plan":
        st.page_link("views/rollout.py", label="Step through this plan", query_params=address_of(found.rollout))
    elif titles[place] == "A failure":
        address = address_of(found.failure, step=str(found.data["failure"]["step"]))
        st.page_link("views/rollout.py", label="Open this step in the player", query_params=address)
    st.caption(plain(f"{stop.source}, as recorded."))


run_page(main)
