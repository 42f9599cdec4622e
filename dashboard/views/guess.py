"""Page Guess the move: predict the model's next action."""

import sources
import streamlit as st
from basics import check_step, encoded, hearing, number, one_entry, run_page, select

import sgp
from sgp.datasets.recorded import Recorded
from sgp.viewer.library import model_title

LIBRARY = sources.library()  # once a request: it looks at every file

quiz = st.components.v2.component("sgp_guess", js=sgp.viewer.script("guess"))


def choose() -> Recorded:
    """The rollout by domain, problem and model, as in the address."""
    left = [each for each in LIBRARY.rollouts if each.head.get("steps")]
    with one_entry() as address:
        for column, name in zip(st.columns([2, 1, 4]), ("domain", "problem", "model"), strict=True):
            titles = {LIBRARY.address_of(each)[name]: each for each in left}
            words = {title: model_title(each) if name == "model" else title for title, each in titles.items()}
            how = {"drops": ["step"], "address": address, "format_func": words.__getitem__}
            with column:
                chosen = select(name.capitalize(), list(titles), name, **how)
            left = [each for each in left if LIBRARY.address_of(each)[name] == chosen]
        check_step(len(left[0].steps))
    return left[0]


@st.fragment
def show(data: dict) -> None:
    """The quiz; its step is part of the address."""
    key = f"guess {data['id']}"

    def remember(step: int) -> None:
        st.query_params["step"] = "end" if step == len(data["steps"]) else str(step + 1)

    quiz(
        key=key,
        data=encoded({"rollout": data, "step": number("step", 1) - 1}),
        on_step_change=hearing(key, "step", remember),
    )


def main() -> None:
    """The page."""
    if not LIBRARY.rollouts:
        st.info("There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`.")
        return
    show(sources.player_data(choose()))


run_page(main)
