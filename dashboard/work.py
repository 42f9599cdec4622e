"""Work of a page in the session's own process: begun, watched with a way to cancel, and taken when it is done."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

import sgp
from sgp.service.worker import Report, Worker

POLL = 0.25  # seconds
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")


def worker() -> Worker:
    """The session's own process, which starts with its first job."""
    if "worker" not in st.session_state:
        st.session_state["worker"] = Worker()
    found: Worker = st.session_state["worker"]
    return found


def begin(page: str, kind: str, seconds: float, job: str, arguments: Mapping[str, Any], **facts: Any) -> None:
    """Begins a page's next piece of work; what kind of work it is and the facts are kept beside it."""
    try:
        asked = worker().submit(job, seconds, **arguments)
    except sgp.SgpError as error:
        st.session_state[f"{page} failed"] = Report("failed", error=str(error))
        return
    st.session_state[f"{page} work"] = {"kind": kind, "job": asked, **facts}


def running(page: str) -> dict[str, Any] | None:
    """The page's work that was not taken yet, or None."""
    found: dict[str, Any] | None = st.session_state.get(f"{page} work")
    return found


def preview(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the player shows of a page's work so far; None where there is nothing yet."""
    told: Mapping[str, Any] | None = (found["job"].report().progress or {}).get("preview")
    return told


def take(page: str) -> tuple[dict[str, Any], Report] | None:
    """The page's work and its report once it has ended; it is forgotten then. A failure is kept for `show_failure`."""
    found = running(page)
    if found is None or not found["job"].report().ended:
        return None
    del st.session_state[f"{page} work"]
    report = found["job"].report()
    if report.state == "failed":
        st.session_state[f"{page} failed"] = report
    return found, report


def give_up(page: str) -> None:
    """Cancels the page's work."""
    found = st.session_state.pop(f"{page} work", None)
    if found is not None:
        found["job"].cancel()


def failed(page: str) -> bool:
    """Whether something went wrong that was not said yet."""
    return f"{page} failed" in st.session_state


def show_failure(page: str) -> Report | None:
    """Says once what went wrong; the report, or None where nothing did."""
    report: Report | None = st.session_state.pop(f"{page} failed", None)
    if report is not None:
        st.error(plain(report.error))
    return report


def show_progress(page: str) -> None:
    """How the page's work stands, looked at every moment; the page runs again when it ends."""
    if running(page) is not None:
        st.fragment(run_every=POLL)(_progress)(page)


def plain(words: str) -> str:
    """Words that Streamlit shows as they are, whatever a name from PDDL looks like."""
    return _MARKUP.sub(r"\\\1", words)


def _progress(page: str) -> None:
    found = running(page)
    if found is None:
        return
    report = found["job"].report()
    told = report.progress or {}
    if report.ended or ("preview" in told and not found.get("previewed")):
        found["previewed"] = True
        st.rerun()
    words = [told["doing"]] if told.get("doing") else []
    if "decisions" in told:
        words.append(f"{told['decisions']} decisions, {told['actions']} actions, {told['open']} goals open")
    if "searched" in told:
        listed = (f"{count} with {number} overrides" for number, count in enumerate(told["searched"], start=1))
        words.append(f"rollouts planned: {', '.join(listed)}")
    doing = "starting the planner" if report.state == "waiting" else found["kind"]
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown(
        f":material/hourglass_top: **{doing.capitalize()}**, {report.seconds:.0f} s  \n{plain('; '.join(words))}"
    )
    if right.button("Cancel", key=f"{page} cancel"):
        give_up(page)
        st.session_state[f"{page} cancelled"] = True
        st.rerun()
