"""The player on a page: it begins at the address's step, and the step where the user rests goes into the address."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from encoding import encoded, hearing

import sgp

RENEW = 0.5  # seconds between two looks at a rollout that grows


def remember(step: int) -> None:
    """Puts a step, counted from 1, into the address."""
    st.query_params["step"] = str(step)


def show_player(
    key: str,
    data: Mapping[str, Any],
    rests: Callable[[int], None] = remember,
    branch: Callable[[int, int], None] | None = None,
    choose: Callable[[str, str], None] | None = None,
    beside: Mapping[str, Any] | None = None,
    below: Callable[[], None] | None = None,
) -> None:
    """The player of a rollout that has ended.

    `rests` hears of the step where the user rests; `branch` of step and rank of a candidate to go on from, and the page
    runs again then. Both count from 1. `beside` has what stands around the rollout (`choices`, `coverage`), and
    `choose` hears of name and value of a choice: the page's own fragment, around the player, runs again then. `below`
    shows what stands under the player, again whenever the player tells something.
    """
    play = _component()

    def show() -> None:
        told = _play(play, key, data, rests, {"branching": branch is not None, **(beside or {})}, choose)
        if branch is not None and told.branch:
            branch(told.branch["step"], told.branch["rank"])
            st.rerun()
        if below is not None:
            below()

    if choose is None:
        st.fragment(show)()
    else:
        show()


def show_growing_player(
    key: str, latest: Callable[[], Mapping[str, Any] | None], rests: Callable[[int], None] = remember
) -> None:
    """The player of a rollout that is being planned; it is looked at again and again. Where the end is shown, it stays.

    `latest` gives the rollout as far as it is known, or None for what was shown last.
    """
    play = _component()
    shown: list[Mapping[str, Any]] = []

    @st.fragment(run_every=RENEW)
    def show() -> None:
        shown[:] = [latest() or shown[0]]
        _play(play, key, {**shown[0], "grows": key}, rests)

    show()


def _component() -> Callable[..., Any]:
    component: Callable[..., Any] = st.components.v2.component("sgp_player", js=sgp.viewer.script("player"))
    return component


def _play(
    play: Callable[..., Any],
    key: str,
    data: Mapping[str, Any],
    rests: Callable[[int], None],
    beside: Mapping[str, Any] | None = None,
    choose: Callable[[str, str], None] | None = None,
) -> Any:
    def chosen(told: Mapping[str, str]) -> None:
        if choose is not None:
            choose(told["name"], told["title"])

    asked = st.query_params.get("step", "1")
    return play(
        key=key,
        data=encoded({"rollout": data, "step": int(asked) - 1 if asked.isdecimal() else 0, **(beside or {})}),
        on_step_change=hearing(key, "step", lambda step: rests(step + 1)),
        on_branch_change=lambda: None,
        on_choice_change=hearing(key, "choice", chosen),
    )
