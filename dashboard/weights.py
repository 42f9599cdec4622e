"""Below the player of What if: the training decisions that produced a feature's weight, and planning with another."""

from collections.abc import Mapping
from html import escape
from itertools import takewhile
from typing import Any

import streamlit as st
import work
from basics import css, image, number, plain

import sgp
from sgp.service.worker import Report
from sgp.wording import counted

METHOD = "contrastive-jumps"  # whose features have weights that sum over training decisions
ATTRIBUTING, REWEIGHTING = "searching the training data", "planning with another weight"
ATTRIBUTING_SECONDS = 600.0  # the training decisions are computed again
MOST, STEP = 100.0, 0.5  # of the factor
FOUND, CHANGED = "attribute_weight", "reweighted"  # session keys of the answers, after the page's name
STYLE = f"<style>{css('weights')}</style>"


def show_weights(page: str, branch: sgp.viewer.Branch, found: Mapping[str, Any], asking: Mapping[str, Any]) -> None:
    """The section for the step in the address. `asking` has the `run`, `seconds` and `grace` of a plan, and `busy`."""
    st.markdown("#### Weights of features")
    place, data = number("step", 1), found["data"]
    why = data["steps"][place - 1]["why"] if 1 <= place <= len(data["steps"]) else []
    if not why:
        where = f"Step {place}" if place <= len(data["steps"]) else "The end"
        st.caption(f"{where} has no reasons; choose a step with several available candidates.")
        return
    keyed = f"{page} {branch} {place}"
    against, said, how = st.columns([1, 3, 1], vertical_alignment="bottom")
    ranks = {each["against"] + 1: each["reasons"] for each in why}
    rank = against.selectbox(f"Step {place}, against", list(ranks), key=f"{keyed} rank", format_func=rank_words)
    named = dict.fromkeys(number for number, chosen, _, _ in ranks[rank] if chosen is not None)
    feature = said.selectbox(
        "Feature", list(named), key=f"{keyed} {rank} feature", format_func=lambda number: feature_words(data, number)
    )
    if feature is None:
        st.caption("No single feature distinguishes these two candidates.")
        return
    request = {"run": asking["run"], "before": found["records"][: place + 1], "step": place, "rank": rank}
    request |= {"feature": data["features"][feature]}
    facts = {"branch": branch, "request": request, "words": feature_words(data, feature)}
    if how.button(
        "Show influential training examples", disabled=asking["busy"], help="Looks through all decisions of training"
    ):
        work.begin(page, ATTRIBUTING, ATTRIBUTING_SECONDS, "attribute_weight", request, **facts)
        st.rerun()
    offer_factor(page, facts, asking)
    answered = st.session_state.get(f"{page} {FOUND}")
    if answered is not None and answered["request"] == request:
        show_influences(answered)


def offer_factor(page: str, facts: Mapping[str, Any], asking: Mapping[str, Any]) -> None:
    """A form that plans with the weight of a feature times a factor."""
    number, how, hint = st.columns([1, 1, 3], vertical_alignment="bottom")
    last = facts.get("factor", 0.0)
    factor = number.number_input("Multiply its weight by", -MOST, MOST, last, STEP, key=f"{page} factor after {last}")
    hint.caption("0 removes the feature, -1 flips its sign; the problem is re-planned from the initial state.")
    if how.button("Plan with this weight", disabled=asking["busy"]):
        arguments = {**facts["request"], "factor": factor, "seconds": asking["seconds"]}
        seconds = asking["seconds"] + asking["grace"]
        work.begin(page, REWEIGHTING, seconds, "reweighted", arguments, **{**facts, "factor": factor})
        st.rerun()


def take(page: str, found: Mapping[str, Any], report: Report) -> None:
    """Store an answer."""
    if report.result is not None:
        context = {name: found[name] for name in ("branch", "request", "words", "factor") if name in found}
        st.session_state[f"{page} {FOUND if found['kind'] == ATTRIBUTING else CHANGED}"] = {**context, **report.result}


def changed(page: str) -> dict[str, Any] | None:
    """The rollout with another weight, or None."""
    found: dict[str, Any] | None = st.session_state.get(f"{page} {CHANGED}")
    return found


def forget(page: str, *what: str) -> None:
    """Remove stored answers."""
    for each in what or (FOUND, CHANGED):
        st.session_state.pop(f"{page} {each}", None)


def show_changed(page: str, found: Mapping[str, Any], before: Mapping[str, Any], asking: Mapping[str, Any]) -> None:
    """The result of another weight compared with the rollout before, further factors, and the way back."""
    words = f"With the weight of “{found['words']}” times {found['factor']:g}: {ending(found['data'])}"
    st.info(plain(f"{words} (original rollout: {ending(before)}); {difference(found['data'], before)}."))
    offer_factor(page, {name: found[name] for name in ("branch", "request", "words", "factor")}, asking)
    if st.button("Restore the learned weight"):
        forget(page, CHANGED)
        st.rerun()


def difference(data: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """The step from which a rollout differs from another one."""
    mine, other = ([jump(each, step) for step in each["steps"]] for each in (data, before))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, other, strict=False)))
    return "the choices are those of the original" if mine == other else f"the choices differ from step {same + 1} on"


def jump(data: Mapping[str, Any], step: Mapping[str, Any]) -> list[str]:
    """The actions that were chosen at a step."""
    return [data["actions"][number] for number in step["candidates"][step["chosen"]]["actions"]]


def ending(data: Mapping[str, Any]) -> str:
    """The outcome of a rollout and its number of actions."""
    count = counted(data["length"], "action")
    return f"solved with {count}" if data["outcome"] == "solved" else f"{data['ending']} after {count}"


def rank_words(rank: int) -> str:
    """A candidate in words."""
    return f"rank {rank}"


def feature_words(data: Mapping[str, Any], number: int) -> str:
    """A feature in English if its domain has words."""
    return str((data["words"] or data)["features"][number])


def show_influences(found: Mapping[str, Any]) -> None:
    """The training decisions that contribute most to a feature's weight."""
    st.caption(
        plain(
            f"The feature “{found['words']}” has weight {found['weight']:+.3g}; positive weights lower the cost. (Its "
            "name here has objects of this problem; the feature itself is about any objects.) "
            f"{found['decisions']:,} training decisions contribute {found['attributed']:+.3g} in total. The table "
            "lists the largest contributions, with the right and the wrong candidate that differ most in this feature."
        )
    )
    heads = ("contribution", "training problem", "right candidate", "wrong candidate", "state")
    rows = "".join(
        f'<tr><td class="number">{each["amount"]:+.3g}</td>'
        f'<td class="where">{escape(each["problem"])}, {at(each["step"])}</td>'
        f"<td>{escape(each['right'])}</td><td>{escape(each['wrong'])}</td>"
        f"<td>{image(each['picture'], 'A state of ' + each['problem'])}</td></tr>"
        for each in found["influences"]
    )
    listed = "".join(f'<th scope="col">{each}</th>' for each in heads)
    st.html(f'{STYLE}<table class="influences"><thead><tr>{listed}</tr></thead><tbody>{rows}</tbody></table>')


def at(step: int | None) -> str:
    """A training state by its step in the expert's plan."""
    return "not on the plan" if step is None else f"step {step}"
