"""Page Compare: two rollouts of one problem side by side, with one scrubber."""

import sources
import streamlit as st
from basics import check_step, css, encoded, hearing, in_order, number, one_entry, plain, run_page, select
from player import offer_page

import sgp
from sgp.datasets.recorded import Recorded
from sgp.viewer.comparison import EXPERT, comparison
from sgp.viewer.library import model_title

LIBRARY = sources.library()  # once a request: it looks at every file

# Both rollouts fit on one screen.
STYLE = f"<style>{css('compare')}</style>"

COSTS = "Each model has its own scale of costs: costs of two models cannot be compared."

compare = st.components.v2.component("sgp_compare", js=sgp.viewer.script("compare"))


@st.cache_resource(show_spinner=False, max_entries=32)
def data_of(_left: Recorded, _right: Recorded, places: tuple[str, ...], stamp: str) -> dict:
    """The comparison's data of two rollouts."""
    return comparison(_left, _right)


def by_problem() -> dict[tuple[str, str, str], dict[str, Recorded]]:
    """Problems (domain, name, hash) with at least two rollouts, and these by title, the expert's plan last."""
    found: dict[tuple[str, str, str], dict[str, Recorded]] = {}
    experts: dict[tuple[str, str, str], Recorded] = {}
    for each in LIBRARY.rollouts:
        address = LIBRARY.address_of(each)
        problem = (address["domain"], address["problem"], str(each.head.get("sha256")))
        found.setdefault(problem, {})[address["model"]] = each
        if each.head.get("expert"):
            experts.setdefault(problem, each)
    for problem, each in experts.items():
        try:
            expert = sgp.viewer.expert_rollout(each)
        except sgp.SgpError as error:
            st.warning(plain(str(error)))
            continue
        if expert is not None:
            found[problem][expert.about.model] = expert
    return {problem: sides for problem, sides in found.items() if len(sides) > 1}


@st.fragment
def show(data: dict) -> None:
    """The comparison; its position is part of the address."""
    key = f"compare {data['id']}"

    def remember(step: int) -> None:
        st.query_params["step"] = str(step)

    compare(
        key=key,
        data=encoded({"comparison": data, "step": number("step", 0)}),
        on_step_change=hearing(key, "step", remember),
    )
    with st.container(key="export"):
        offer_page(data, f"{data['domain']}-{data['problem']}-compared", first=0)


def main() -> None:
    """The page."""
    problems = by_problem()
    if not problems:
        st.info(
            "No problem has two recorded rollouts. Record another model on the same problem with "
            "`sgp evaluate RUN1 RUN2 --suite SUITE --record`."
        )
        return
    st.html(STYLE)
    columns = st.columns([8, 6, 18, 18])
    with one_entry() as address:
        with columns[0]:
            domain = select("Domain", in_order(name for name, _, _ in problems), "domain", address=address)
        with columns[1]:
            named = {problem[1]: problem for problem in problems if problem[0] == domain}
            problem = named[select("Problem", list(named), "problem", address=address)]
        sides = problems[problem]
        titles = {title: title if each.about.method == EXPERT else model_title(each) for title, each in sides.items()}
        about = f"{sources.about_all(sides)}\n\n{COSTS}"
        how = {"address": address, "help": about, "format_func": titles.__getitem__}
        with columns[2]:
            left = sides[select("Left", list(sides), "left", **how)]
        with columns[3]:
            right = sides[select("Right", list(sides), "right", default=1, **how)]
        data = data_of(left, right, (left.place, str(left.about), right.place, str(right.about)), sources.stamp())
        check_step(data["length"], first=0)
    show(data)


run_page(main)
