"""Page: guess what the model does next, scored against the model and the expert."""

import sources
import streamlit as st
from encoding import encoded, hearing

import sgp
from sgp.planning.recorded import Recorded

LIBRARY = sources.library()  # once a request: it looks at every file

quiz = st.components.v2.component("sgp_guess", js=sgp.viewer.script("guess"))


def choose() -> Recorded:
    """The rollout by domain, problem and model; the choice stands in the address."""
    left = [each for each in LIBRARY.rollouts if each.head.get("steps")]
    for column, name in zip(st.columns([2, 1, 4]), ("domain", "problem", "model"), strict=True):
        titles = list(dict.fromkeys(LIBRARY.address_of(each)[name] for each in left))
        asked = st.query_params.get(name)
        with column:
            # The options depend on the choices before it, so each set of options is a widget of its own.
            index = titles.index(asked) if asked in titles else 0
            chosen = st.selectbox(name.capitalize(), titles, index=index, key=f"guess {name}: {' | '.join(titles)}")
        if asked != chosen:
            if asked is not None:
                st.query_params.pop("step", None)  # another rollout begins at its start
            st.query_params[name] = chosen
        left = [each for each in left if LIBRARY.address_of(each)[name] == chosen]
    return left[0]


@st.fragment
def show(data: dict) -> None:
    """The quiz; the step where the user rests goes into the address."""
    asked = st.query_params.get("step", "1")
    key = f"guess {data['id']}"

    def remember(step: int) -> None:
        st.query_params["step"] = str(step + 1)

    quiz(
        key=key,
        data=encoded({"rollout": data, "step": int(asked) - 1 if asked.isdecimal() else 0}),
        on_step_change=hearing(key, "step", remember),
    )


def main() -> None:
    """The page."""
    if not LIBRARY.rollouts:
        st.info("There are no recorded rollouts yet; make some with `sgp evaluate RUN --record`.")
        return
    show(sources.player_data(choose()))


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
