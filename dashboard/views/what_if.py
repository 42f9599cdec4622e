"""Page 2: another candidate is taken, and the rollout goes on from there; the branches form a tree to walk in."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import player
import sources
import streamlit as st
import weights
import work
from encoding import encoded

import sgp
from sgp.datasets.runs import open_run, run_folders
from sgp.evaluation.attempts import subject_of
from sgp.methods import planning_method
from sgp.planning.recorded import Recorded
from sgp.planning.subject import Subject
from sgp.service.worker import Report

SECONDS = 60.0  # of one continuation, and of the search for forced choices
SUITE = "state-centric"
MOST_BRANCHES = 40
RANKS, MOST_FORCED = 3, 2
GRACE, TRAINING_SECONDS = 30.0, 1800.0
PAGE, PLANNING, FORCING, TRAINING = "what if", "planning", "searching overrides", "training"
FIRST_LOOK = 0.2  # seconds that a request waits for the first picture of a branch

TREE_STYLE = """
.tree { color: var(--st-text-color); font: 14px var(--st-font); }
.row { display: grid; grid-template-columns: 380px minmax(0, 1fr) 11em 4em 6em; gap: 10px; width: 100%; font: inherit;
  align-items: center; text-align: left; color: inherit; background: none; border: 0; padding: 0 8px; }
.heads { opacity: .75; } .number { text-align: right; } svg { max-width: 100%; } button { cursor: pointer; }
button { border-radius: 6px; } button:hover { background: #8882; }
button[aria-pressed=true] { background: #8883; font-weight: 700; }
button:focus-visible { outline: 2px solid var(--st-primary-color); }
@media (max-width: 900px) { .row { grid-template-columns: 100px minmax(0, 1fr) 7em 3em 3em; } }
"""

tree = st.components.v2.component(
    "sgp_branches",
    html='<div class="tree"></div>',
    css=TREE_STYLE,
    js=sgp.viewer.script("branches"),
)


@st.cache_data(show_spinner=False)
def trained(stamp: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    """Domain, model, folder and date of every run of the store that can be opened."""
    found = []
    for folder, _ in stamp:
        try:
            run = open_run(folder)
            planning_method(run.key.method)
        except sgp.SgpError:
            continue  # what is damaged or predicts alone plans nothing; 'sgp list runs' names it
        found.append({"about": subject_of(run), "folder": folder, "trained": run.record["trained"][:10]})
    return found


@st.cache_data(show_spinner=False)
def domains() -> list[str]:
    """The domains of the bundled suite."""
    return list(sgp.load_suite(SUITE).domains)


@st.cache_data(show_spinner=False)
def problems(domain: str) -> dict[str, tuple[str, sgp.Problem]]:
    """The bundled test problems of a domain by name, with their split."""
    suite = sgp.load_suite(SUITE)
    splits = [split for split in reversed(suite.domain(domain).splits) if split != "train"]
    return {each.name: (split, each) for split in splits for each in suite.problems(domain, split)}


def runs_stamp() -> tuple[tuple[str, int], ...]:
    """What changes when a run does."""
    return tuple((str(each), (each / "run.json").stat().st_mtime_ns) for each in run_folders())


def choose() -> dict[str, Any]:
    """Domain, model and problem; the choice stands in the address. The model's run or a record may be missing."""
    records, runs = sources.library().rollouts, trained(runs_stamp())
    left, middle, right = st.columns([1, 2, 1])
    unsolved = [each for each in records if each.head["outcome"] != "solved" and each.head["steps"]]
    unsolved.sort(key=lambda each: run_of(runs, each.about) is None)  # where something can be forced comes first
    domain = pick(left, "domain", domains(), next((each.about.domain for each in unsolved), None))
    unsolved = [each for each in unsolved if each.about.domain == domain]
    models = {each["about"].model: each["about"] for each in runs if each["about"].domain == domain}
    models |= {
        each.about.model: each.about
        for each in records
        if each.about.domain == domain and each.about.model not in models
    }
    if not models:
        return {"domain": domain, "model": None}
    model = pick(middle, "model", list(models), next((each.about.model for each in unsolved), None))
    names = {each.head["name"]: each for each in records if (each.about.domain, each.about.model) == (domain, model)}
    first = next((each.head["name"] for each in unsolved if each.about.model == model), None)
    problem = pick(right, "problem", [*names, *(name for name in problems(domain) if name not in names)], first)
    about = models[model]
    run = run_of(runs, about)
    return {
        "domain": domain,
        "model": model,
        "about": about,
        "problem": problem,
        "recorded": names.get(problem),
        "run": run,
        "key": (domain, model, problem, run and run["trained"]),
    }


def run_of(runs: list[dict[str, Any]], about: Subject) -> dict[str, Any] | None:
    """The run of the store that a rollout's model was; one training is decoded in several ways."""
    wanted = (about.domain, replace(about, decoding="").model)
    return next((each for each in runs if (each["about"].domain, each["about"].model) == wanted), None)


def pick(column: Any, name: str, titles: list[str], default: str | None) -> str:
    """A choice that begins with what the address asks for, else the default, and goes into the address.

    Models are linked with their outcome.
    """
    asked = st.query_params.get(name, "").split(" (")[0]
    with column:
        chosen = st.selectbox(
            name.capitalize(),
            titles,
            index=next((titles.index(each) for each in (asked, default) if each in titles), 0),
            key=f"what if {name}: {titles}",
        )
    if asked and asked != chosen:
        for other in ("step", "branch"):
            st.query_params.pop(other, None)
    if asked != chosen:
        st.query_params[name] = chosen
    return str(chosen)


def take(found: Mapping[str, Any], report: Report, branches: dict[sgp.viewer.Branch, Any]) -> None:
    """Puts what a piece of work gave where it belongs; without a result the branch before is shown."""
    branch = found["branch"]
    if report.result is None:
        if found["kind"] == PLANNING:
            show(branch.parent)
    elif found["kind"] == PLANNING:
        branches[branch] = report.result
    elif found["kind"] in (weights.ATTRIBUTING, weights.REWEIGHTING):
        weights.take(PAGE, found, report)
    elif found["kind"] == FORCING:
        st.session_state["what if found"] = sgp.viewer.override_words(report.result)
        base = [choice for choice in branch if choice.step <= found["free"]]
        choices = report.result["overrides"] or ()
        for number, rollout in enumerate(report.result.get("rollouts", ()), start=1):
            reached = sgp.viewer.Branch.parse("_".join(f"{step}-{rank}" for step, rank in (*base, *choices[:number])))
            branches[reached] = rollout
            show(reached, choices[number - 1][0])


def show(branch: sgp.viewer.Branch, step: int | None = None) -> None:
    """Shows a branch from now on."""
    weights.forget(PAGE, weights.CHANGED)
    st.session_state["what if shown"] = branch
    if branch:
        st.query_params["branch"] = str(branch)
    else:
        st.query_params.pop("branch", None)
    if step is not None:
        st.query_params["step"] = str(step)


def wanted() -> sgp.viewer.Branch:
    """The branch that the address asks for."""
    try:
        return sgp.viewer.Branch.parse(st.query_params.get("branch", ""))
    except sgp.SgpError as error:
        st.warning(work.plain(str(error)))
        return sgp.viewer.Branch()


def offer_training(start: Mapping[str, Any]) -> None:
    """A model whose run is not in the store can be trained here."""
    about = start["about"]
    st.info(
        f"To plan on, the trained model is needed, and the store has no run of {about.model} for {about.domain} yet. "
        "Training runs in a process of its own and can be cancelled; contrastive jumps take about half a minute."
    )
    if st.button(f"Train {about.method} {about.variant} on {about.domain}", type="primary"):
        facts = {"variant": about.variant, "domain": about.domain, "suite": about.suite or SUITE}
        facts |= {"method": about.method, "seed": 13 if about.seed is None else about.seed}
        work.begin(PAGE, TRAINING, TRAINING_SECONDS, "train", facts, branch=sgp.viewer.Branch())
        st.rerun()


def next_work(start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """Asks for what is missing to show a branch: the rollout itself first, then each branch on the way.

    A recorded rollout is there at once, while the worker gets ready.
    """
    run, record = start["run"], start["recorded"]
    if not branches and record is not None:
        data = sources.player_data(record)
        branches[sgp.viewer.Branch()] = {"records": [record.head, *record.steps], "data": data}
        if run is not None:
            warm(run["folder"], record)
    if run is None or branch in branches:
        return
    missing = next(
        part for length in range(len(branch) + 1) if (part := sgp.viewer.Branch(branch[:length])) not in branches
    )
    if not missing:
        _, problem = problems(start["domain"])[start["problem"]]
        texts = {"name": problem.name, "domain": problem.domain_pddl, "problem": problem.problem_pddl}
        asked = {"run": run["folder"], "problem": texts, "seconds": SECONDS}
        asked |= {"decoding": start["about"].decoding or "default"}
        work.begin(PAGE, PLANNING, SECONDS + GRACE, "solve", asked, branch=missing)
    else:
        step, rank = missing[-1]
        before = branches[missing.parent]["records"][: step + 1]
        asked = {"run": run["folder"], "before": before, "step": step, "rank": rank, "seconds": SECONDS}
        work.begin(PAGE, PLANNING, SECONDS + GRACE, "branch", asked, branch=missing)


def warm(folder: str, record: Recorded) -> None:
    """Has model and problem loaded while the user looks at the rollout."""
    head = record.head
    texts = {"name": head["name"], "domain": head["domain_pddl"], "problem": head["problem_pddl"]}
    with contextlib.suppress(sgp.SgpError):  # all workers are busy: the first branch loads the model, or says so
        decoding = record.about.decoding or "default"
        work.worker().submit("load", SECONDS, run=folder, problem=texts, decoding=decoding)


def show_branch(found: Mapping[str, Any], branch: sgp.viewer.Branch, asking: Mapping[str, Any]) -> None:
    """The player of one branch, its reasons' weights below; what it reports goes into the address."""

    def begin(step: int, rank: int) -> None:
        show(branch.then(step, rank), step + 1)

    def below() -> None:
        weights.show_weights(PAGE, branch, found, asking)

    data, runs = found["data"], asking["run"] is not None
    named = {**data, "id": f"{data['id']} {branch}"}
    key = f"what if player {branch} {data['id']}"
    branches = begin if runs and not asking["busy"] else None
    player.show_player(key, named, remembering(branch), branches, below=below if runs else None)


def show_changed(
    changed: Mapping[str, Any],
    branches: Mapping[sgp.viewer.Branch, Any],
    branch: sgp.viewer.Branch,
    asking: Mapping[str, Any],
) -> None:
    """The rollout with another weight, in place of the branch."""
    weights.show_changed(PAGE, changed, branches[sgp.viewer.Branch()]["data"], asking)
    named = {**changed["data"], "id": f"{changed['data']['id']} {changed['words']} {changed['factor']}"}
    player.show_player(f"what if changed {named['id']}", named, remembering(branch))


def show_growing_branch(found: Mapping[str, Any]) -> None:
    """The player of the branch that is being planned."""
    player.show_growing_player(
        f"what if growing {found['branch']}", lambda: work.preview(found), remembering(found["branch"])
    )


def remembering(branch: sgp.viewer.Branch) -> Callable[[int], None]:
    """What puts a step of a branch into the address."""

    def rests(step: int) -> None:
        shown = st.session_state["what if shown"]
        if shown == branch:
            player.remember(step)
        else:  # the player of the branch before speaks late, and brings its address along
            show(shown)

    return rests


def show_tree(branches: Mapping[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """The branches beside each other; a row that is clicked is shown."""
    rows = sgp.viewer.branch_rows({each: found["data"] for each, found in branches.items()})
    told = tree(
        key="what if tree",
        data=encoded({"rows": rows, "shown": str(branch)}),
        on_shown_change=lambda: None,
    )
    if told.shown is not None and told.shown != str(branch):
        show(sgp.viewer.Branch.parse(told.shown))
        st.rerun()


def show_actions(
    start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch, busy: bool
) -> None:
    """What can be done with the branch that is shown."""
    found = branches[branch]
    solved = found["data"]["outcome"] == "solved"
    free = branch[-1].step if branch else 0
    left, right = st.columns([2, 5], vertical_alignment="center")
    asked = left.button(
        "Find the fewest overrides that solve it",
        disabled=busy or solved or start["run"] is None,
        help=f"Tries the {RANKS} best unvisited candidates of every step, one override first, then {MOST_FORCED}; "
        f"at most {SECONDS:.0f} s",
    )
    right.caption(
        "This branch already reaches the goal; nothing to search for."
        if solved
        else "Or pick a candidate in the player (a digit, or a click in the table) and press **b**: "
        "the planner continues from there."
    )
    if asked:
        limits = {"free": free, "seconds": SECONDS, "ranks": RANKS, "most": MOST_FORCED}
        arguments = {"run": start["run"]["folder"], "before": found["records"], **limits}
        work.begin(PAGE, FORCING, SECONDS + GRACE, "override", arguments, branch=branch, free=free)
        st.rerun()


def main() -> None:
    """The page."""
    start = choose()
    if start["model"] is None:
        st.info(f"No model for {start['domain']} is recorded or trained yet; train one with `sgp train` or `sgp demo`.")
        return
    if st.session_state.get("what if start") != start["key"]:
        abandon()
        st.session_state["what if start"], st.session_state["what if branches"] = start["key"], {}
    branches: dict[sgp.viewer.Branch, Any] = st.session_state["what if branches"]
    ended = work.take(PAGE)
    if ended is not None:
        take(*ended, branches)
    branch = st.session_state["what if shown"] = wanted()
    cancelled = st.session_state.pop(f"{PAGE} cancelled", False)
    if work.show_failure(PAGE) is None and branch not in branches and work.running(PAGE) is None:
        if len(branches) >= MOST_BRANCHES:
            st.warning(f"{MOST_BRANCHES} branches are as many as this page keeps; reload the page to begin again.")
        elif not cancelled:
            next_work(start, branches, branch)
            wait_for_first_picture()
            ended = work.take(PAGE)
            if ended is not None:
                take(*ended, branches)
            if work.failed(PAGE) or (ended is not None and branch not in branches):
                st.rerun()  # it is said what failed, or the next branch is asked for
    show_page(start, branches, branch)


def show_page(start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """Progress, the tree, what can be done, and the player of the branch (of the nearest one that is there)."""
    found = work.running(PAGE)
    asking = {"run": start["run"] and start["run"]["folder"], "busy": found is not None}
    asking |= {"seconds": SECONDS, "grace": GRACE}
    if start["run"] is None and found is None:
        offer_training(start)
    work.show_progress(PAGE)
    if st.session_state.get("what if found"):
        st.success(st.session_state["what if found"])
    there = [part for length in range(len(branch) + 1) if (part := sgp.viewer.Branch(branch[:length])) in branches]
    if there:
        show_tree(branches, there[-1])
        show_actions(start, branches, there[-1], found is not None)
    if found is not None and work.preview(found) is not None:
        show_growing_branch(found)
    elif there and (changed := weights.changed(PAGE)) is not None:
        show_changed(changed, branches, there[-1], asking)
    elif there:
        show_branch(branches[there[-1]], there[-1], asking)
    elif found is None and start["run"] is not None:
        st.button("Plan")  # after a cancel; any press runs the page again
    if start["run"] is not None:
        st.caption(work.plain(f"Planned on by the run of {start['run']['trained']} in {start['run']['folder']}."))


def wait_for_first_picture() -> None:
    """Waits a moment for a quick worker, which spares the user a second look."""
    until, found = time.monotonic() + FIRST_LOOK, work.running(PAGE)
    while found is not None and time.monotonic() < until:
        if found["job"].report().ended or work.preview(found) is not None:
            found["previewed"] = True
            return
        time.sleep(0.01)


def abandon() -> None:
    """Gives up what was being done for another choice."""
    work.give_up(PAGE)
    weights.forget(PAGE)
    st.session_state.pop("what if found", None)


try:
    main()
except sgp.SgpError as error:
    st.error(work.plain(str(error)))
