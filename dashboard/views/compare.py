"""Page: two rollouts of one problem side by side under one scrubber."""

import sources
import streamlit as st
from encoding import encoded, hearing

import sgp
from sgp.planning.recorded import Recorded
from sgp.viewer.comparison import comparison

LIBRARY = sources.library()  # once a request: it looks at every file

# Both rollouts are on one screen: what stands above them is narrow.
STYLE = "<style>.stMainBlockContainer { padding-top: 3.9rem; }</style>"

compare = st.components.v2.component("sgp_compare", js=sgp.viewer.script("compare"))


@st.cache_resource(show_spinner=False, max_entries=32)
def data_of(_left: Recorded, _right: Recorded, places: tuple[str, ...], stamp: str) -> dict:
    """The comparison's data of two rollouts."""
    return comparison(_left, _right)


def by_problem() -> dict[tuple[str, str, str], dict[str, Recorded]]:
    """The problems of which there are two rollouts or more, and their rollouts by title, the expert's plan last.

    A problem is known by domain, name and the hash of its text.
    """
    found: dict[tuple[str, str, str], dict[str, Recorded]] = {}
    experts: dict[tuple[str, str, str], Recorded] = {}
    for each in LIBRARY.rollouts:
        address = LIBRARY.address_of(each)
        problem = (address["domain"], address["problem"], str(each.head.get("sha256")))
        found.setdefault(problem, {})[address["model"]] = each
        if each.head.get("expert"):
            experts.setdefault(problem, each)
    for problem, each in experts.items():
        expert = sgp.viewer.expert_rollout(each)
        if expert is not None:
            found[problem][expert.about.model] = expert
    return {problem: sides for problem, sides in found.items() if len(sides) > 1}


def choose(label: str, options: list, key: str, default: int = 0):
    """A choice that stands in the address; what the address names and is no option counts as not given."""
    if st.query_params.get(key) not in (None, *options):
        st.query_params.pop(key)
    # The options depend on the choices before it, so each set of options is a widget of its own.
    asked = st.query_params.get(key)
    index = options.index(asked) if asked in options else min(default, len(options) - 1)
    chosen = st.selectbox(
        label, options, index=index, key=f"{key}: {' | '.join(options)}", label_visibility="collapsed"
    )
    if st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return chosen


@st.fragment
def show(data: dict) -> None:
    """The comparison; the number of actions where the user rests goes into the address."""
    asked = st.query_params.get("step", "0")
    key = f"compare {data['id']}"

    def remember(step: int) -> None:
        st.query_params["step"] = str(step)

    compare(
        key=key,
        data=encoded({"comparison": data, "step": int(asked) if asked.isdecimal() else 0}),
        on_step_change=hearing(key, "step", remember),
    )


def main() -> None:
    """The page."""
    problems = by_problem()
    if not problems:
        st.info(
            "No problem has two recorded rollouts; record another model on the same problem, as with "
            "`sgp evaluate RUN1 RUN2 --suite SUITE --record`."
        )
        return
    st.html(STYLE)
    columns = st.columns([2, 2, 4, 4])
    with columns[0]:
        domain = choose("Domain", list(dict.fromkeys(name for name, _, _ in problems)), "domain")
    with columns[1]:
        named = {title(problem): problem for problem in problems if problem[0] == domain}
        problem = named[choose("Problem", list(named), "problem")]
    sides = problems[problem]
    with columns[2]:
        left = sides[choose("Left", list(sides), "left")]
    with columns[3]:
        right = sides[choose("Right", list(sides), "right", default=1)]
    show(data_of(left, right, (left.place, str(left.about), right.place, str(right.about)), sources.stamp()))


def title(problem: tuple[str, str, str]) -> str:
    """The name of a problem."""
    return problem[1]


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
