"""Page 6: your own domain and problem, solved by a model that fits or is trained here; plans replayed and validated."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import streamlit as st
import work
from player import show_player

import sgp

PAGE = "own problem"
SUITE = "state-centric"
EXAMPLE_SPLIT = "interpolation"  # small ones
SECONDS, GRACE, TRAINING_SECONDS = 60.0, 30.0, 1800.0
LARGEST_FILE = 1_000_000  # bytes of one file
FIRST_METHOD = ["contrastive-jumps", "aiw"]


@st.cache_data(show_spinner=False)
def examples() -> dict[str, sgp.Problem]:
    """A small bundled problem of each domain."""
    suite = sgp.load_suite(SUITE)
    return {name: suite.problems(name, EXAMPLE_SPLIT)[0] for name in suite.domains}


def put(**texts: str) -> None:
    """Fills in the text boxes named."""
    for part, text in texts.items():
        st.session_state[f"own {part}"] = text


def upload(part: str) -> None:
    """Puts an uploaded file's text into its box; says why where it is none."""
    file = st.session_state[f"own {part} file"]
    if file is None:
        return
    if file.size > LARGEST_FILE:
        fail(f"{file.name} has {file.size:,} bytes, and at most {LARGEST_FILE:,} are taken here; use 'sgp solve'")
        return
    try:
        text = file.getvalue().decode("utf-8")
    except UnicodeDecodeError as error:
        fail(f"{file.name}: byte {error.start} is not UTF-8 text; expected a PDDL file")
        return
    st.session_state[f"own {part} given"] = (st.session_state.get(f"own {part}") or "", text, 0)
    put(**{part: text})


def keep(part: str) -> None:
    """Puts an uploaded text back into its box, once, where the browser asked again before it knew of the text.

    A second file that comes while the page is drawn does that: the browser sends the boxes as they were.
    """
    place = f"own {part} given"
    if place not in st.session_state:
        return
    before, text, seen = st.session_state[place]
    here = st.session_state.get(f"own {part}") or ""
    if here == text and not seen:
        st.session_state[place] = (before, text, 1)
        return
    del st.session_state[place]
    if here == before:
        put(**{part: text})


def fail(sentence: str) -> None:
    """Keeps a sentence to be shown."""
    st.session_state[f"{PAGE} failed"] = sgp.Report("failed", error=sentence)


def ask_for_texts() -> None:
    """Boxes for domain and problem, files to fill them from, and bundled examples."""
    for part in ("domain", "problem", "plan"):
        keep(part)
    empty = not st.session_state.get("own domain") and not st.session_state.get("own problem")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Nothing here yet.** Begin with an example:" if empty else "Another example:")
        for name, problem in examples().items():
            texts = {"domain": problem.domain_pddl, "problem": problem.problem_pddl, "plan": ""}
            st.button(name.capitalize(), on_click=put, kwargs=texts)
    for column, part in zip(st.columns(2), ("domain", "problem"), strict=True):
        with column:
            st.file_uploader(
                f"{part.capitalize()} file",
                type=["pddl", "txt"],
                key=f"own {part} file",
                on_change=upload,
                args=(part,),
            )
            st.text_area(f"{part.capitalize()} in PDDL", key=f"own {part}", height=240, max_chars=LARGEST_FILE)


def texts() -> dict[str, str]:
    """What the boxes hold, as a problem for the worker."""
    return {"name": "", **{part: st.session_state.get(f"own {part}") or "" for part in ("domain", "problem")}}


def read(problem: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What the texts declare, read by the worker once they change; None until it has been read, or where it cannot."""
    mark = sha256(repr(sorted(problem.items())).encode()).hexdigest()
    if st.session_state.get("own read", ("",))[0] != mark:
        st.session_state["own read"], st.session_state["own unread"] = (mark, None), None
        st.session_state.pop("own shown", None)
        work.give_up(PAGE)
        work.begin(PAGE, "reading", 30.0, "read", {"problem": problem}, mark=mark)
    found: Mapping[str, Any] | None = st.session_state["own read"][1]
    return found


def take(found: Mapping[str, Any], report: sgp.Report) -> None:
    """Puts what a piece of work gave where it belongs."""
    if found["kind"] == "reading":
        st.session_state["own read"] = (found["mark"], report.result)
        st.session_state["own unread"] = None if report.result else report
        if report.result is None:
            st.session_state.pop(f"{PAGE} failed", None)  # it stands beside the texts until they change
    elif report.result is None:
        return
    elif found["kind"] == "training":
        st.session_state["own trained"] = report.result["folder"]
        st.session_state["own read"] = ("", None)  # there is a run more
    else:
        st.session_state["own shown"] = report.result
        st.query_params.pop("step", None)


def show_unread() -> None:
    """Why the texts could not be read, and the line of the text, where it is known."""
    report = st.session_state.get("own unread")
    if report is None:
        return
    st.error(work.plain(report.error))
    if report.line is None or report.source not in ("domain", "problem"):
        return
    lines = texts()[report.source].splitlines()
    if report.line <= len(lines):
        st.caption(f"Line {report.line} of the {report.source}:")
        st.code(f"{report.line:>5}  {lines[report.line - 1][:300]}", language=None)


def show_read(found: Mapping[str, Any]) -> None:
    """What was read, in a line."""
    st.text(
        f"Domain {found['domain']}: {found['objects']} objects, {found['goals']} goals; "
        f"actions {', '.join(found['actions'])}"
    )


def name_of(run: Mapping[str, Any]) -> str:
    """What a run is called in the choice of models."""
    planner = sgp.PlannerName(run["method"], run["variant"], run["decoding"], run["selected_by"])
    return f"{planner.title}, seed {run['seed']}, trained on {run['suite']}/{run['domain']}"


def solve(found: Mapping[str, Any], problem: Mapping[str, str], busy: bool) -> None:
    """A model that fits and a button; without one, why those there are do not fit."""
    runs = {name_of(each): each for each in found["runs"]}
    if not runs:
        st.info("No trained model has the predicates and actions of this domain; train one under the next tab.")
        for sentence in found["others"][:3]:
            st.text(f"Does not fit: {sentence}.")
        return
    newest = st.session_state.get("own trained")
    first = next((place for place, each in enumerate(runs.values()) if each["folder"] == newest), 0)
    chosen = st.selectbox("Model", list(runs), index=first)
    if st.button("Solve", type="primary", disabled=busy):
        asked = {"run": runs[chosen]["folder"], "problem": problem, "seconds": SECONDS}
        work.begin(PAGE, "planning", SECONDS + GRACE, "solve", asked)
        st.rerun()


def train(found: Mapping[str, Any], problem: Mapping[str, str], busy: bool) -> None:
    """A model is trained on bundled problems of the same domain, or on uploaded ones."""
    methods = found["methods"]
    method, variant = st.selectbox(
        "Method", methods, index=methods.index(FIRST_METHOD) if FIRST_METHOD in methods else 0, format_func=" ".join
    )
    files = st.file_uploader(
        "Training problems of this domain", type=["pddl"], accept_multiple_files=True, max_upload_size=1
    )
    left, right = st.columns(2)
    if left.button("Train on these files", disabled=busy or not files):
        given = [{"name": each.name, "problem": each.getvalue().decode("utf-8", "replace")} for each in files]
        if sum(len(each["problem"]) for each in given) > LARGEST_FILE:
            fail(f"the training problems have more than {LARGEST_FILE:,} characters together; use 'sgp import'")
        else:
            asked = {"method": method, "variant": variant, "domain": problem["domain"], "problems": given}
            work.begin(PAGE, "training", TRAINING_SECONDS, "train_own", asked)
        st.rerun()
    for suite in found["suites"][:1]:
        if right.button(f"Train on bundled {suite['domain']}", disabled=busy):
            asked = {"method": method, "variant": variant, "seed": 13, **suite}
            work.begin(PAGE, "training", TRAINING_SECONDS, "train", asked)
            st.rerun()
    st.caption("Expert plans come from Fast Downward, at most 20 s for each stage and problem.")


def replay(problem: Mapping[str, str], busy: bool) -> None:
    """A plan is replayed step by step and judged by VAL."""
    st.file_uploader(
        "Plan file",
        type=["plan", "txt", "soln"],
        key="own plan file",
        on_change=upload,
        args=("plan",),
        max_upload_size=1,
    )
    plan = st.text_area("Plan, one action a line", key="own plan", height=120, max_chars=LARGEST_FILE)
    if st.button("Replay and validate with VAL", disabled=busy or not plan):
        work.begin(PAGE, "validating", SECONDS, "replay", {"problem": problem, "plan": plan})
        st.rerun()


def show_result(shown: Mapping[str, Any]) -> None:
    """VAL's verdict and the rollout."""
    outcome = shown["data"]["outcome"]
    if shown.get("stopped"):
        st.warning(work.plain(f"Not applicable: {shown['stopped']}"))
    if shown["valid"]:
        st.success(f"VAL accepts the plan of {shown['data']['length']} actions.")
    elif shown["valid"] is False:
        st.error("VAL rejects the plan.")
    else:
        st.warning(work.plain(f"Not solved: {outcome}; VAL was not asked."))
    if shown.get("report"):
        with st.expander("VAL's report"):
            st.code(shown["report"], language=None)
    show_player(f"own player {shown['data']['id']}", shown["data"])


def main() -> None:
    """The page."""
    ended = work.take(PAGE)
    if ended is not None:
        take(*ended)
    ask_for_texts()
    problem = texts()
    if not problem["domain"] or not problem["problem"]:
        missing = " and ".join(part for part in ("domain", "problem") if not problem[part])
        st.caption(f"Missing: the {missing}. Nothing that you give leaves this machine.")
        work.show_failure(PAGE)
        return
    found = read(problem)
    show_unread()
    work.show_failure(PAGE)
    if st.session_state.pop(f"{PAGE} cancelled", False):
        st.info("Cancelled: the work and its process were ended.")
    work.show_progress(PAGE)
    if found is None:
        return
    show_read(found)
    busy = work.running(PAGE) is not None
    with_model, to_train, with_plan = st.tabs(["Solve", "Train a model", "Replay a plan"])
    with with_model:
        solve(found, problem, busy)
    with to_train:
        train(found, problem, busy)
    with with_plan:
        replay(problem, busy)
    if "own shown" in st.session_state:
        show_result(st.session_state["own shown"])


try:
    main()
except sgp.SgpError as error:
    st.error(work.plain(str(error)))
