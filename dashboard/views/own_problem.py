"""Page Your own problem: solve it with a model that fits or is trained here; replay and validate a plan."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import sources
import streamlit as st
import work
from basics import one_entry, plain, refuse, run_page
from player import offer_page, show_player

import sgp
from sgp.datasets.store import home
from sgp.datasets.subject import PlannerName
from sgp.files import read_json, write_json
from sgp.service.worker import Report
from sgp.viewer.library import planner_name, planner_words
from sgp.wording import counted

PAGE = "own problem"
REFERENCE = "own reference"  # a job of its own: another one may be submitted before it has ended
BOXES = "own boxes"  # whose failures are shown beside the boxes, others beside the buttons
PARTS = ("domain", "problem", "plan")
SUITE = "state-centric"
EXAMPLE_SPLIT = "interpolation"  # small ones
SECONDS, GRACE, TRAINING_SECONDS = 60.0, 30.0, 1800.0
AROUND, SHOWN = 6, 3_000  # lines shown around an error; characters of a text that are shown
LARGEST_FILE = 1_000_000  # characters of one text, and of all training problems
LARGEST_UPLOAD = 1  # LARGEST_FILE in MB, which the browser checks
STYLE = '<style>[class*="st-key-own-"] textarea { font: 13px/1.5 ui-monospace, monospace; }</style>'
COSTS = """Costs compare the candidates of one state; those of different states are not comparable. With contrastive \
jumps and a beam of several paths, a cost is the negative logarithm of the candidate's probability; with one path, it \
is a squared distance minus a constant, and can be negative."""
FIRST_METHOD = ["contrastive-jumps", "aiw"]


@st.cache_data(show_spinner=False)
def examples() -> dict[str, sgp.Problem]:
    """The last, largest problem of a split of small ones for each domain; plans of the first can have one action."""
    suite = sgp.load_suite(SUITE)
    return {name: suite.problems(name, EXAMPLE_SPLIT)[-1] for name in suite.domains}


def put(**texts: str) -> None:
    """Fill in text boxes."""
    for part, text in texts.items():
        st.session_state[f"own {part}"] = text


def upload(part: str) -> None:
    """Put an uploaded file's text into its box, or show why it is not text."""
    file = st.session_state[f"own {part} file"]
    if file is None:
        return
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(f"{file.name}: byte {error.start} is not UTF-8 text; expected a PDDL file")
        return
    st.session_state[f"own {part} given"] = (st.session_state.get(f"own {part}") or "", text, 0)
    put(**{part: text})


def keep(part: str) -> None:
    """Put an uploaded text back into its box, once, if the browser sent the old box.

    It does if a second file is uploaded while the page is drawn.
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


def fail(sentence: str, place: str = BOXES) -> None:
    """Store a failure to be shown at a place of the page."""
    st.session_state[f"{place} failed"] = Report("failed", error=sentence)


def show_examples() -> None:
    """Buttons that fill in an example."""
    empty = not st.session_state.get("own domain") and not st.session_state.get("own problem")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Nothing here yet.** Begin with an example:" if empty else "Another example:")
        for name, problem in examples().items():
            texts = {"domain": problem.domain_pddl, "problem": problem.problem_pddl, "plan": ""}
            st.button(sgp.get_domain(name).title, on_click=put, kwargs=texts)


def ask_for_texts(folded: bool) -> None:
    """Boxes and file uploads for domain and problem; folded once they were read."""
    with st.expander("Domain and problem", expanded=not folded):
        for column, part in zip(st.columns(2), ("domain", "problem"), strict=True):
            with column:
                st.file_uploader(
                    f"{part.capitalize()} file",
                    type=["pddl", "txt"],
                    key=f"own {part} file",
                    on_change=upload,
                    args=(part,),
                    max_upload_size=LARGEST_UPLOAD,
                )
                ask_for_text(f"{part.capitalize()} in PDDL", part, 240)


def ask_for_text(label: str, part: str, height: int) -> str:
    """A box for a text, with its size below."""
    text = st.text_area(label, key=f"own {part}", height=height) or ""
    st.caption(f"{len(text):,} of {LARGEST_FILE:,} characters")
    return text


def texts() -> dict[str, str]:
    """The texts of the boxes, as a problem for the worker."""
    return {"name": "", **{part: st.session_state.get(f"own {part}") or "" for part in ("domain", "problem")}}


def entered() -> dict[str, str]:
    """The texts of all boxes."""
    return {part: st.session_state.get(f"own {part}") or "" for part in PARTS}


def read(problem: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The declarations of the texts, read by the worker after a change; None until read, or if unreadable."""
    mark = sha256(repr(sorted(problem.items())).encode()).hexdigest()
    if st.session_state.get("own read", ("",))[0] != mark:
        st.session_state["own read"], st.session_state["own unread"] = (mark, None), None
        st.session_state.pop("own shown", None)
        st.session_state.pop("own saved", None)
        st.session_state.pop("own compared", None)
        st.session_state.pop("own found", None)
        work.give_up(PAGE)
        work.give_up(REFERENCE)
        work.begin(PAGE, "reading", 30.0, "read", {"problem": problem}, mark=mark)
        if work.running(PAGE) is None:  # all workers are busy: the next run of the page tries again
            st.session_state["own read"] = ("", None)
    found: Mapping[str, Any] | None = st.session_state["own read"][1]
    return found


def take(found: Mapping[str, Any], report: Report) -> None:
    """Store the result of a job."""
    if found["kind"] == "reading":
        st.session_state["own read"] = (found["mark"], report.result)
        st.session_state["own unread"] = None if report.result else report
        if report.result is None:
            st.session_state.pop(f"{PAGE} failed", None)  # shown beside the texts until they change
    elif report.result is None:
        st.session_state["own found"] = (report.progress or {}).get("found")
    elif found["kind"] == "training":
        st.session_state["own trained"] = report.result["folder"]
        st.session_state["own read"] = ("", None)  # there is a new run
    else:
        show_texts_of(found)
        st.session_state["own shown"] = report.result
        save(found["texts"], report.result)


def begin(kind: str, seconds: float, job: str, arguments: Mapping[str, Any]) -> None:
    """Submit a job with the present texts, with which its result is saved and shown."""
    st.session_state.pop("own found", None)
    work.begin(PAGE, kind, seconds, job, arguments, texts=entered(), read=st.session_state["own read"])


def show_texts_of(found: Mapping[str, Any]) -> None:
    """Put the domain and problem of a job into the boxes if they have others, as after a link to a saved problem."""
    given = {part: found["texts"][part] for part in ("domain", "problem")}
    if given.items() <= entered().items():
        return
    put(**found["texts"])
    st.session_state["own read"], st.session_state["own unread"] = found["read"], None
    st.session_state.pop("own compared", None)


def saved_file(name: str) -> Path:
    """The file of a saved problem with its result."""
    return home() / "own_problems" / f"{name}.json"


def save(given: Mapping[str, str], shown: Mapping[str, Any]) -> None:
    """Save the texts and their result under a name, which `link` puts into the address."""
    name = sha256(repr((sorted(given.items()), shown["data"]["id"])).encode()).hexdigest()[:12]
    if not saved_file(name).is_file():
        write_json(saved_file(name), {"texts": given, "read": st.session_state["own read"], "shown": shown})
    st.session_state["own saved"] = name


def link() -> None:
    """Make the address a link to the saved problem that is shown, if any; another one begins at its first step."""
    saved = st.session_state.get("own saved")
    with one_entry() as address:
        if address.get("saved") != saved:
            address.clear()
            address.update({} if saved is None else {"saved": saved})


def restore() -> None:
    """Fill the boxes from the address, or with their last texts, as a visit to another page empties them.

    After a change of the texts, an address can be that of a click just before.
    """
    empty, last = "own domain" not in st.session_state, st.session_state.get("own saved")
    if st.query_params.get("saved") not in (None, last) and (empty or last is not None):
        open_saved(st.query_params["saved"])
    elif empty:
        put(**st.session_state.get("own texts", {}))


def open_saved(name: str) -> None:
    """Fill the page from the saved problem that the address names; a link to one that is missing is refused."""
    if not re.fullmatch("[0-9a-f]{12}", name) or not saved_file(name).is_file():
        wrong = f"No problem '{name[:12]}' is saved on this machine. A link opens only where the problem was solved"
    else:
        wrong = fill(saved_file(name))
    if wrong:
        refuse(wrong, "saved")
    st.session_state["own saved"] = name


def fill(file: Path) -> str:
    """Fill the page from a saved problem; the reason if the file is damaged."""
    try:
        data = read_json(file)
        given, (mark, found), shown = {part: data["texts"][part] for part in PARTS}, data["read"], data["shown"]
        st.session_state["own read"], st.session_state["own shown"] = (
            (mark, found),
            shown if shown["data"]["id"] else None,
        )
    except (sgp.SgpError, LookupError, TypeError, ValueError):
        return f"The saved problem {file} is damaged; delete this file and solve the problem again"
    put(**given)
    st.session_state["own unread"] = None
    st.session_state.pop("own compared", None)
    work.give_up(REFERENCE)
    return ""


def show_unread() -> None:
    """Why the texts could not be read, and the lines around the error if its line is known."""
    report = st.session_state.get("own unread")
    if report is None:
        return
    st.error(plain(report.error.partition("\n")[0]))  # the rest marks the column for a terminal
    if report.line is not None and report.source in ("domain", "problem"):
        st.code(around(texts()[report.source], report.line), language=None)


def around(text: str, line: int) -> str:
    """The lines around a line (from 1), numbered, with that line marked."""
    lines = text.split("\n")
    first = max(0, line - 1 - AROUND)
    return "\n".join(
        f"{'►' if number == line else ' '} {number:4} {words[:SHOWN]}"
        for number, words in enumerate(lines[first : line + AROUND], first + 1)
    )


def show_read(found: Mapping[str, Any], problem: Mapping[str, str], folded: bool) -> None:
    """A summary of the texts, and the texts; folded once there is a result."""
    objects, goals = counted(found["objects"], "object"), counted(found["goals"], "goal")
    st.text(f"Domain {found['domain']}: {objects}, {goals}; actions {', '.join(found['actions'])}")
    with st.expander("Parsed PDDL", expanded=not folded):
        for column, part in zip(st.columns(2), ("domain", "problem"), strict=True):
            text = problem[part]
            more = f"\n; {len(text) - SHOWN:,} more characters" if len(text) > SHOWN else ""
            column.code(text[:SHOWN] + more, language=None, wrap_lines=True)


def name_of(run: Mapping[str, Any]) -> str:
    """The name of a run in the choice of models."""
    planner = PlannerName(run["method"], run["variant"], run["decoding"], run["selected_by"])
    name = f"{planner_name(planner)}, seed {run['seed']}, trained on {run['domain']} of suite {run['suite']}"
    return f"{name}, included in the package" if run["included"] else name


def solve(found: Mapping[str, Any], problem: Mapping[str, str], busy: bool) -> None:
    """A choice of models for the domain and a button; without a model, the reason why the existing ones do not fit."""
    runs = {name_of(each): each for each in found["runs"]}
    if not runs:
        st.info("No trained model fits the predicates and actions of this domain. Train one in the next tab.")
        if found["others"]:
            with st.expander("Why the existing models do not fit"):
                st.text("\n".join(f"{sentence}." for sentence in found["others"][:3]))
        return
    newest = st.session_state.get("own trained")
    first = next((place for place, each in enumerate(runs.values()) if each["folder"] == newest), 0)
    chosen = st.selectbox("Model", list(runs), index=first)
    if st.button("Solve", type="primary", disabled=busy):
        arguments = {"run": runs[chosen]["folder"], "problem": problem, "seconds": SECONDS}
        begin("planning", SECONDS + GRACE, "solve", arguments)
        st.rerun()
    st.caption(f"Planning ends without a plan after {SECONDS:.0f} s.")


def train(found: Mapping[str, Any], problem: Mapping[str, str], busy: bool) -> None:
    """Train a model on bundled problems of the same domain, or on uploaded ones."""
    methods = sorted(found["methods"], key=lambda pair: pair != FIRST_METHOD)
    names = {" ".join(pair): planner_name(PlannerName(*pair)) for pair in methods}
    title = st.selectbox("Method", list(names), help=sources.about_all(names), format_func=names.__getitem__)
    method, variant = str(title).split(" ")
    files = st.file_uploader(
        "Training problems of this domain",
        type=["pddl"],
        accept_multiple_files=True,
        max_upload_size=LARGEST_UPLOAD,
    )
    left, right = st.columns(2)
    if left.button("Train on these files", disabled=busy or not files):
        try:
            given = [{"name": each.name, "problem": each.getvalue().decode("utf-8-sig")} for each in files]
        except UnicodeDecodeError as error:
            fail(f"Byte {error.start} of a training problem is not UTF-8 text; upload PDDL files", PAGE)
            st.rerun()
        if sum(len(each["problem"]) for each in given) > LARGEST_FILE:
            words = f"Too large: the training problems have more than {LARGEST_FILE:,} characters. Use 'sgp import'"
            fail(words, PAGE)
        else:
            arguments = {"method": method, "variant": variant, "domain": problem["domain"], "problems": given}
            begin("training", TRAINING_SECONDS, "train_own", arguments)
        st.rerun()
    for suite in found["suites"][:1]:
        if right.button(f"Train on the bundled problems of {suite['domain']}", disabled=busy):
            arguments = {"method": method, "variant": variant, "seed": 13, **suite}
            begin("training", TRAINING_SECONDS, "train", arguments)
            st.rerun()
    st.caption("Expert plans are computed with Fast Downward (20 s limit per stage and problem).")


def replay(problem: Mapping[str, str], busy: bool) -> None:
    """Replay a plan step by step and validate it with VAL."""
    st.file_uploader(
        "Plan file",
        type=["plan", "txt", "soln"],
        key="own plan file",
        on_change=upload,
        args=("plan",),
        max_upload_size=LARGEST_UPLOAD,
    )
    plan = ask_for_text("Plan, one action a line", "plan", 120)
    if st.button("Replay and validate with VAL", disabled=busy or not plan):
        begin("validating", SECONDS, "replay", {"problem": problem, "plan": plan})
        st.rerun()


def compare(problem: Mapping[str, str]) -> None:
    """The length of a classical planner's plan, computed once, after the rollout is there."""
    ended = work.take(REFERENCE)
    if ended is not None and ended[1].state != "cancelled":
        st.session_state["own compared"] = compared(ended[1])
        st.session_state.pop(f"{REFERENCE} failed", None)  # shown until the texts change
    if st.session_state.pop(f"{REFERENCE} cancelled", False):
        st.session_state["own compared"] = "No plan to compare with: cancelled."
    if "own compared" in st.session_state:
        st.caption(plain(st.session_state["own compared"]))
        return
    if work.running(REFERENCE) is None:
        work.begin(REFERENCE, "looking for a plan to compare with", GRACE, "reference", {"problem": problem})
    work.show_failure(REFERENCE)
    work.show_progress(REFERENCE)


def compared(report: Report) -> str:
    """The sentence on a plan to compare with."""
    found = report.result
    if found is None:
        return f"No plan to compare with: {report.error}"
    if found["length"] is None:
        return "No plan to compare with: neither A* with LM-cut nor LAMA found one in a few seconds."
    planner = planner_words("names")[found["planner"]]
    if not found["optimal"]:
        return f"To compare: {planner} has {counted(found['length'], 'action')}."
    which = "plan of least cost" if found["costs"] else "shortest plan"
    return f"To compare: the {which} has {counted(found['length'], 'action')} ({planner})."


def show_result(shown: Mapping[str, Any], problem: Mapping[str, str]) -> None:
    """The verdict and the rollout, with the length of another planner's plan."""
    if shown.get("stopped"):
        st.warning(plain(f"Not applicable: {shown['stopped']}"))
    if shown["valid"]:
        st.success(f"{shown['judge']} accepts the plan of {counted(shown['data']['length'], 'action')}.")
    elif shown["valid"] is False:
        st.error(f"{shown['judge']} rejects the plan.")
    else:
        st.warning(plain(f"Not solved ({shown['data']['ending']}); VAL was not run."))
    compare(problem)
    if shown.get("report"):
        with st.expander("Report"):
            st.code(shown["report"], language=None)
    data = shown["data"]
    st.caption(COSTS)
    show_player(f"own player {data['id']}", data, below=lambda: offer_page(data, "rollout"))


def is_folded(complete: bool, found: Mapping[str, Any] | None) -> bool:
    """Whether the boxes are folded: from the first time they were read until they cannot be read."""
    if found is not None:
        st.session_state["own folded"] = True
    elif not complete or st.session_state.get("own unread") is not None:
        st.session_state["own folded"] = False
    return bool(st.session_state.get("own folded"))


def main() -> None:
    """The page. Each part has its place from the first run on, so that a corrected error disappears at once."""
    restore()
    ended = work.take(PAGE)
    if ended is not None:
        take(*ended)
    for part in PARTS:
        keep(part)
    st.session_state["own texts"] = entered()
    problem = texts()
    complete = bool(problem["domain"] and problem["problem"])
    found = read(problem) if complete else None
    link()
    st.html(STYLE)
    show_examples()
    ask_for_texts(is_folded(complete, found))
    said, progress = st.empty(), st.empty()
    rest = st.container()  # not emptied first, which would open its first tab again
    with said.container():
        if complete:
            show_unread()
        else:
            show_missing(problem)
        work.show_failure(BOXES)
    if found is not None:
        with rest:
            go_on(found, problem)
    else:
        with progress.container():
            show_state()


def show_missing(problem: Mapping[str, str]) -> None:
    """Which text is still needed, once something was entered."""
    missing = "problem" if problem["domain"] else "domain"
    needed = f"Please provide a {missing}, too. " if any(problem.values()) else ""
    st.caption(f"{needed}Your files stay on this machine.")


def show_state() -> None:
    """The progress of the page's job, or how it ended without a result, with the actions that were planned before."""
    work.show_failure(PAGE)
    if (found := st.session_state.get("own found")) and found["plan"]:
        count = counted(found["plan"].count("\n"), "action")
        words = (
            f"{found['judge']} accepts the plan of {count}" if found["valid"] else f"{count} without reaching the goal"
        )
        st.info(plain(f"Planning had ended: {words}. The steps are not shown."))
        st.download_button("Download the actions", found["plan"], "problem.plan", "text/plain", on_click="ignore")
    if st.session_state.pop(f"{PAGE} cancelled", False):
        st.info("Cancelled.")
    work.show_progress(PAGE)


def go_on(found: Mapping[str, Any], problem: Mapping[str, str]) -> None:
    """The tabs Solve, Train and Replay, the progress below their buttons, and the result."""
    busy, shown = work.running(PAGE) is not None, st.session_state.get("own shown")
    show_read(found, problem, folded=shown is not None)
    with_model, to_train, with_plan = st.tabs(["Solve", "Train a model", "Replay a plan"])
    with with_model:
        solve(found, problem, busy)
    with to_train:
        train(found, problem, busy)
    with with_plan:
        replay(problem, busy)
    with st.container():
        show_state()
    if shown is not None:
        show_result(shown, problem)


run_page(main)
