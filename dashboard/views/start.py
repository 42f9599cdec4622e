"""Page Start: what this is, three ways to begin, and the recorded rollouts with their last states."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlencode

import sources
import streamlit as st
from basics import css, in_order, plain, run_page, several

import sgp
from sgp.datasets.recorded import Recorded
from sgp.viewer.gallery import ABOUT, BELOW, TITLE, Entry, cards, gallery
from sgp.viewer.library import planner_name

LIBRARY = sources.library()  # once a request: it looks at every file
MOST = 12  # rollouts that are shown at first
OF_ROLLOUT = {"domain", "model", "problem", "step"}  # an address with these names a rollout
OUTCOMES = ("solved", "not solved")
# The HTML is made and escaped by our Python; Streamlit's own removes drawings.
show = st.components.v2.component(
    "sgp_gallery",
    html='<div class="shown"></div>',
    css=css("gallery") + css("start"),
    js="""export default ({ data, parentElement }) => {
  parentElement.querySelector(".shown").innerHTML = new TextDecoder().decode(data);
};""",
)


@st.cache_resource(show_spinner=False, max_entries=512)
def entry(_recorded: Recorded, place: str, stamp: str) -> Entry:
    """The entry of a rollout, drawn once."""
    return Entry.of(_recorded, f"rollout?{urlencode(LIBRARY.address_of(_recorded))}")


def entries(rollouts: Iterable[Recorded]) -> Iterator[Entry]:
    """The entries of rollouts; one that cannot be drawn is a sentence on the page instead."""
    stamp = sources.stamp()
    for each in rollouts:
        try:
            yield entry(each, each.place, stamp)
        except sgp.SgpError as error:
            st.warning(plain(str(error)))


def chosen() -> list[Recorded]:
    """The rollouts that pass the filters of the address."""
    rollouts = LIBRARY.rollouts
    names = {each.title: planner_name(each) for each in sorted({each.about.planner for each in rollouts})}
    domain_column, planner_column, outcome_column = st.columns(3)
    with domain_column:
        domains = several("Domains", in_order(each.about.domain for each in rollouts), "domains")
    with planner_column:
        planners = several("Planners", names, "planners", sources.about_all(names), names)
    with outcome_column:
        outcomes = several("Outcomes", OUTCOMES, "outcomes")
    return [
        each
        for each in rollouts
        if each.about.domain in domains
        and each.about.planner.title in planners
        and OUTCOMES[each.head.get("outcome") != "solved"] in outcomes
    ]


def some(rollouts: Sequence[Recorded]) -> list[Recorded]:
    """The first rollouts of each domain, `MOST` in all, in their order."""
    counts = Counter[str]()
    numbered = []
    for place, each in enumerate(rollouts):
        counts[each.about.domain] += 1
        numbered.append((counts[each.about.domain], place))
    return [rollouts[place] for place in sorted(place for _, place in sorted(numbered)[:MOST])]


def main() -> None:
    """The page; an address that names a rollout opens it in the player."""
    if OF_ROLLOUT & set(st.query_params):
        st.switch_page("views/rollout.py", query_params=st.query_params.to_dict())
    st.title(TITLE, anchor=False)
    for sentence in LIBRARY.damaged:
        st.warning(plain(sentence))
    if not LIBRARY.rollouts:
        st.info("There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`.")
        return
    st.markdown(plain(ABOUT))
    show(key="ways", data=cards("rollout", "failures", "tour", len(sgp.viewer.tour_titles())).encode())
    st.header("Recorded rollouts", anchor=False)
    found = chosen()
    shown = found if len(found) <= MOST or st.session_state.get("all rollouts") else some(found)
    show(key="rollouts", data=gallery(entries(shown)).encode())
    if len(shown) < len(found):
        st.button(f"Show all {len(found)}", on_click=st.session_state.update, args=({"all rollouts": True},))
    st.caption(f"{len(shown)} of {len(LIBRARY.rollouts)} rollouts. {BELOW}")


run_page(main)
