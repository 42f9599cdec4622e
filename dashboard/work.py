"""A page's job in the page's worker process: submitted, shown with a cancel button, and taken when it has ended."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import streamlit as st
from basics import plain

import sgp
from sgp.service.worker import Report, Worker
from sgp.wording import counted

POLL = 0.25  # seconds


def worker(page: str) -> Worker:
    """The page's worker in this session; its first job starts a process, or takes over that of an idle worker."""
    found: Worker = st.session_state.setdefault("workers", defaultdict(Worker))[page]
    return found


def begin(page: str, kind: str, seconds: float, job: str, arguments: Mapping[str, Any], **facts: Any) -> None:
    """Submit a page's job; its kind and `facts` are stored with it, among them a `preview` until the job has one."""
    try:
        submitted = worker(page).submit(job, seconds, **arguments)
    except sgp.SgpError as error:
        fail(page, error)
        return
    st.session_state[f"{page} work"] = {"kind": kind, "job": submitted, **facts}


def fail(page: str, error: Exception) -> None:
    """Store an error for `show_failure`."""
    st.session_state[f"{page} failed"] = Report("failed", error=str(error))


def running(page: str) -> dict[str, Any] | None:
    """The page's job that was not taken yet, or None."""
    found: dict[str, Any] | None = st.session_state.get(f"{page} work")
    return found


def preview(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The player's data of a page's job so far; None if there is nothing yet."""
    latest: Mapping[str, Any] | None = (found["job"].report().progress or {}).get("preview", found.get("preview"))
    return latest


def take(page: str) -> tuple[dict[str, Any], Report] | None:
    """The page's job and its report once it has ended, removed then. A failure is stored for `show_failure`."""
    found = running(page)
    if found is None or not found["job"].report().ended:
        return None
    del st.session_state[f"{page} work"]
    report = found["job"].report()
    if report.state == "failed":
        st.session_state[f"{page} failed"] = report
    return found, report


def give_up(page: str) -> None:
    """Cancel the page's job."""
    found = st.session_state.pop(f"{page} work", None)
    if found is not None:
        found["job"].cancel()


def failed(page: str) -> bool:
    """Whether a failure was not shown yet."""
    return f"{page} failed" in st.session_state


def show_failure(page: str) -> Report | None:
    """Show a failure once; the report, or None if there is none."""
    report: Report | None = st.session_state.pop(f"{page} failed", None)
    if report is not None:
        st.error(plain(report.error))
    return report


def show_progress(page: str) -> None:
    """Show the progress of the page's job; the page runs again when it ends."""
    if running(page) is not None:
        st.fragment(run_every=POLL)(_progress)(page)


def _progress(page: str) -> None:
    found = running(page)
    if found is None:
        return
    report = found["job"].report()
    status = report.progress or {}
    if report.ended:
        st.rerun()
    words = [status["doing"]] if status.get("doing") else []
    if "decisions" in status:
        counts = counted(status["decisions"], "decision"), counted(status["actions"], "action")
        words.append(f"{', '.join(counts)}, {counted(status['open'], 'goal')} open")
    if "searched" in status:
        listed = (
            f"{count} with {counted(number, 'override')}" for number, count in enumerate(status["searched"], start=1)
        )
        words.append(f"rollouts tried: {', '.join(listed)}")
    doing = "starting the planner" if report.state == "waiting" else found["kind"]
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown(
        f":material/hourglass_top: **{doing.capitalize()}**, {report.seconds:.0f} s  \n{plain('; '.join(words))}"
    )
    if right.button("Cancel", key=f"{page} cancel"):
        give_up(page)
        st.session_state[f"{page} cancelled"] = True
        st.rerun()
    if "preview" in status and not found.get("previewed"):  # after the button, so that no click on it is lost
        found["previewed"] = True
        st.rerun()
