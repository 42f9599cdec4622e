"""The player on a page; it starts at the step of the address, which follows the user."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from basics import END, encoded, hearing, number, plain
from notes import notes_on, store_note

import sgp
from sgp.viewer.comparison import PLANNING

RENEW = 0.5  # seconds between updates of a growing rollout


def remember(step: int) -> None:
    """Put a step, from 1, or the end into the address."""
    st.query_params["step"] = "end" if step >= END else str(step)


def show_player(
    key: str,
    data: Mapping[str, Any],
    rests: Callable[[int], None] = remember,
    branch: Callable[[int, int], None] | None = None,
    choose: Callable[[str, str], None] | None = None,
    beside: Mapping[str, Any] | None = None,
    below: Callable[[], None] | None = None,
) -> None:
    """The player of a finished rollout.

    Notes on its steps are shown and stored. `rests` receives the step at which the user rests, `branch` the step and
    rank of a candidate to continue from (the page runs again then); both count from 1. `beside` has further data of the
    player (`choices`, `coverage`), and `choose` receives name and value of a choice: the fragment around the player
    runs again then. `below` draws what is under the player, again after each report of the player.
    """
    play = _component()
    try:
        noted = {**data, "notes": notes_on(data["id"])}
    except sgp.SgpError as error:
        st.warning(plain(str(error)))
        noted = dict(data)

    def show() -> None:
        event = _play(play, key, noted, rests, {"branching": branch is not None, **(beside or {})}, choose)
        if branch is not None and event.branch:
            branch(event.branch["step"], event.branch["rank"])
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
    """The player of a rollout that is being planned, updated regularly; a user at its end stays at the end.

    `latest` returns the rollout so far, or None for the last one shown. Once planned, it starts at the step of the
    address.
    """
    play = _component()
    shown: list[Mapping[str, Any]] = []

    @st.fragment(run_every=RENEW)
    def show() -> None:
        shown[:] = [latest() or shown[0]]
        grows = {"grows": key} if shown[0]["outcome"] == PLANNING else {}
        _play(play, key, {**shown[0], **grows}, rests)

    show()


def offer_page(data: Mapping[str, Any], stem: str, first: int = 1) -> None:
    """A download of the player as one HTML file, which opens at the step of the address, else at the `first`."""
    there = {**data, "start": number("step", first)}  # what is called for a download has no session
    st.download_button(
        "Download as HTML",
        lambda: sgp.viewer.html_page({**there, "notes": notes_on(data["id"])}),
        f"{stem}.html",
        "text/html",
        key=f"html {data['id']}",
        on_click="ignore",
    )


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
    def chosen(event: Mapping[str, str]) -> None:
        if choose is not None:
            choose(event["name"], event["title"])

    def noted(event: Mapping[str, Any]) -> None:
        try:
            store_note(data["id"], event["place"], event["text"])
        except sgp.SgpError as error:
            st.toast(plain(str(error)), duration="infinite")

    def rested(step: int) -> None:
        rests(END if step == len(data["steps"]) else step + 1)

    return play(
        key=key,
        data=encoded({"rollout": data, "step": number("step", 1) - 1, **(beside or {})}),
        on_step_change=hearing(key, "step", rested),
        on_branch_change=lambda: None,
        on_note_change=hearing(key, "note", noted),
        on_choice_change=hearing(key, "choice", chosen),
    )
