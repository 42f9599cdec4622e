"""Page What if: choose another candidate and plan on from there; the branches form a tree."""

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
from basics import check_step, css, encoded, one_entry, plain, refuse, run_page, select

import sgp
from sgp.datasets.recorded import Recorded
from sgp.datasets.runs import open_run, run_folders
from sgp.datasets.subject import Subject
from sgp.evaluation.attempts import subject_of
from sgp.methods import planning_method
from sgp.service.worker import Report
from sgp.viewer.library import model_name, planner_name
from sgp.viewer.playback import playback

SECONDS = 60.0  # of one continuation, and of the search for overrides
SUITE = "state-centric"
MOST_BRANCHES = 40
RANKS, MOST_OVERRIDES = 3, 2
GRACE, TRAINING_SECONDS = 30.0, 1800.0
START = ("domain", "model", "problem")  # in the address
PAGE, PLANNING, SEARCHING, TRAINING = "what if", "planning", "searching for overrides", "training"
FIRST_LOOK = 0.2  # seconds to wait for the first picture of a branch

TREE_STYLE = css("what_if")

tree = st.components.v2.component(
    "sgp_branches", html='<div class="tree"></div>', css=TREE_STYLE, js=sgp.viewer.script("branches")
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
    """The modification times of all runs."""
    return tuple((str(each), (each / "run.json").stat().st_mtime_ns) for each in run_folders())


def choose(address: dict[str, str]) -> dict[str, Any]:
    """Domain, model and problem, as in `address`; an empty one becomes the last one of this session.

    The model's run or a record can be missing.
    """
    records, runs = sources.library().rollouts, trained(runs_stamp())
    if not st.query_params:
        address.update(st.session_state.get("what if address", {}))
    left, middle, right = st.columns([1, 2, 1])
    unsolved = [each for each in records if each.head["outcome"] != "solved" and each.head["steps"]]
    unsolved.sort(key=lambda each: run_of(runs, each.about) is None)  # those with a run first
    with left:
        domain = choice(address, "domain", domains(), next((each.about.domain for each in unsolved), None))
    unsolved = [each for each in unsolved if each.about.domain == domain]
    models = {each["about"].model: each["about"] for each in runs if each["about"].domain == domain}
    models |= {
        each.about.model: each.about
        for each in records
        if each.about.domain == domain and each.about.model not in models
    }
    if not models:
        return {"domain": domain, "model": None}
    with middle:
        first = next((each.about.model for each in unsolved), None)
        names = {title: model_name(about) for title, about in models.items()}
        model = choice(address, "model", list(models), first, names)
    names = {each.head["name"]: each for each in records if (each.about.domain, each.about.model) == (domain, model)}
    first = next((each.head["name"] for each in unsolved if each.about.model == model), None)
    with right:
        problem = choice(address, "problem", [*names, *(name for name in problems(domain) if name not in names)], first)
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
    """The stored run of a rollout's model; one run can be decoded in several ways."""
    wanted = (about.domain, replace(about, decoding="").model)
    return next((each for each in runs if (each["about"].domain, each["about"].model) == wanted), None)


def choice(
    address: dict[str, str], name: str, titles: list[str], default: str | None, names: Mapping[str, str] | None = None
) -> str:
    """A choice of the start, by `names` if there are some; another one begins without branches."""
    index = titles.index(default) if default in titles else 0
    how = {"help": sources.about_all(titles), "format_func": names.__getitem__} if names else {}
    return select(name.capitalize(), titles, name, index, drops=["step", "branch"], address=address, **how)


def take(found: Mapping[str, Any], report: Report, branches: dict[sgp.viewer.Branch, Any]) -> None:
    """Store the result of a job; after an error the parent branch is selected."""
    branch = found["branch"]
    if report.result is None:
        if found["kind"] == PLANNING and not report.died:
            show(branch.parent)
    elif found["kind"] == PLANNING:
        branches[branch] = report.result
    elif found["kind"] in (weights.ATTRIBUTING, weights.REWEIGHTING):
        weights.take(PAGE, found, report)
    elif found["kind"] == SEARCHING:
        st.session_state["what if found"] = sgp.viewer.override_words(report.result), report.result["overrides"]
        base = [choice for choice in branch if choice.step <= found["free"]]
        choices = report.result["overrides"] or ()
        for number, rollout in enumerate(report.result.get("rollouts", ()), start=1):
            reached = sgp.viewer.Branch.parse("_".join(f"{step}-{rank}" for step, rank in (*base, *choices[:number])))
            branches[reached] = rollout
            show(reached, choices[number - 1][0])


def show(branch: sgp.viewer.Branch, step: int | None = None) -> None:
    """Select the branch to show."""
    weights.forget(PAGE, weights.CHANGED)
    st.session_state["what if shown"] = branch
    # The browser's address is empty while the page is opened without one.
    address = st.query_params.to_dict() or dict(st.session_state["what if address"])
    address["branch"] = str(branch)
    if not branch:
        del address["branch"]
    if step is not None:
        address["step"] = str(step)
    if address != st.query_params.to_dict():
        st.query_params.from_dict(address)
    store(address)


def store(address: Mapping[str, str]) -> None:
    """Store the start and branch of an address, for a return to the page without one."""
    kept = {name: value for name, value in address.items() if name in (*START, "branch")}
    st.session_state["what if address"] = kept


def check_branch() -> None:
    """Refuse an address whose branch cannot be read."""
    try:
        sgp.viewer.Branch.parse(st.query_params.get("branch", ""))
    except sgp.SgpError as error:
        refuse(str(error), "branch")


def offer_training(start: Mapping[str, Any]) -> None:
    """Offer to train a model that has no stored run."""
    about = start["about"]
    st.info(
        f"To continue from another choice, train this model first: no stored run of it for {about.domain} was found. "
        "Training runs in a separate process and can be cancelled."
    )
    planner = planner_name(about.planner._replace(decoding=""))
    if st.button(f"Train {planner} on {about.domain}", type="primary"):
        facts = {"variant": about.variant, "domain": about.domain, "suite": about.suite or SUITE}
        facts |= {"method": about.method, "seed": 13 if about.seed is None else about.seed}
        work.begin(PAGE, TRAINING, TRAINING_SECONDS, "train", facts, branch=sgp.viewer.Branch())
        st.rerun()


def open_record(start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any]) -> None:
    """Show a recorded rollout at once, while the worker loads the model."""
    run, record = start["run"], start["recorded"]
    if branches or record is None:
        return
    data = sources.player_data(record)
    branches[sgp.viewer.Branch()] = {"records": [record.head, *record.steps], "data": data}
    if run is not None and work.running(PAGE) is None:
        warm(run["folder"], record)


def next_work(start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """Submit the next missing part of a branch: the original rollout first, then each branch on the way."""
    run = start["run"]
    if run is None or branch in branches:
        return
    missing = next(
        part for length in range(len(branch) + 1) if (part := sgp.viewer.Branch(branch[:length])) not in branches
    )
    if not missing:
        _, problem = problems(start["domain"])[start["problem"]]
        texts = {"name": problem.name, "domain": problem.domain_pddl, "problem": problem.problem_pddl}
        request = {"run": run["folder"], "problem": texts, "seconds": SECONDS}
        request |= {"decoding": start["about"].decoding or "default"}
        work.begin(PAGE, PLANNING, SECONDS + GRACE, "solve", request, branch=missing)
    else:
        step, rank = missing[-1]
        before = branches[missing.parent]["records"][: step + 1]
        request = {"run": run["folder"], "before": before, "step": step, "rank": rank, "seconds": SECONDS}
        try:
            shown = playback(sgp.viewer.branch_start(before, step, rank))
        except sgp.SgpError as error:
            work.fail(PAGE, error)
            show(missing.parent)
            return
        work.begin(PAGE, PLANNING, SECONDS + GRACE, "branch", request, branch=missing, preview=shown)


def warm(folder: str, record: Recorded) -> None:
    """Load model and problem while the user looks at the rollout."""
    head = record.head
    texts = {"name": head["name"], "domain": head["domain_pddl"], "problem": head["problem_pddl"]}
    with contextlib.suppress(sgp.SgpError):  # all workers are busy: the first branch loads the model, or reports this
        decoding = record.about.decoding or "default"
        work.worker(PAGE).submit("load", SECONDS, run=folder, problem=texts, decoding=decoding)


def show_branch(found: Mapping[str, Any], branch: sgp.viewer.Branch, asking: Mapping[str, Any]) -> None:
    """The player of a branch, with the weights of its reasons below."""

    def begin(step: int, rank: int) -> None:
        show(branch.then(step, rank), step + 1)

    def below() -> None:
        player.offer_page(named, f"branch-{branch or 'original'}")
        if runs and asking["weights"]:
            weights.show_weights(PAGE, branch, found, asking)

    data, runs = found["data"], asking["run"] is not None
    named = {**data, "id": f"{data['id']} {branch}"}
    key = f"what if player {branch} {data['id']}"
    branches = begin if runs and not asking["busy"] else None
    player.show_player(key, named, remembering(branch), branches, below=below)


def show_changed(
    changed: Mapping[str, Any],
    branches: Mapping[sgp.viewer.Branch, Any],
    branch: sgp.viewer.Branch,
    asking: Mapping[str, Any],
) -> None:
    """The rollout with another weight, instead of the branch."""
    weights.show_changed(PAGE, changed, branches[sgp.viewer.Branch()]["data"], asking)
    named = {**changed["data"], "id": f"{changed['data']['id']} {changed['words']} {changed['factor']}"}
    player.show_player(f"what if changed {named['id']}", named, remembering(branch))


def show_growing_branch(found: Mapping[str, Any]) -> None:
    """The player of the branch that is being planned."""
    player.show_growing_player(
        f"what if growing {found['branch']}", lambda: work.preview(found), remembering(found["branch"])
    )


def remembering(branch: sgp.viewer.Branch) -> Callable[[int], None]:
    """The callback that puts a step of a branch into the address."""

    def rests(step: int) -> None:
        shown = st.session_state["what if shown"]
        if shown == branch:
            player.remember(step)
        else:  # a late report of the player before
            show(shown)

    return rests


def show_tree(branches: Mapping[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """The tree of branches; a click on a row shows it."""
    rows = sgp.viewer.branch_rows({each: found["data"] for each, found in branches.items()})
    clicked = tree(key="what if tree", data=encoded({"rows": rows, "shown": str(branch)}), on_shown_change=lambda: None)
    if clicked.shown is not None and clicked.shown != str(branch):
        show(sgp.viewer.Branch.parse(clicked.shown))
        st.rerun()


def show_actions(
    start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch, busy: bool
) -> None:
    """The search for overrides from the branch that is shown."""
    found = branches[branch]
    solved = found["data"]["outcome"] == "solved"
    free = branch[-1].step if branch else 0
    row = st.container(horizontal=True, vertical_alignment="center")
    request = row.button(
        f"Find up to {MOST_OVERRIDES} overrides that solve it",
        disabled=busy or solved or start["run"] is None,
        help=f"Tries the {RANKS} best unvisited candidates of every step, one override first, then {MOST_OVERRIDES}; "
        f"at most {SECONDS:.0f} s of CPU time",
    )
    row.caption(
        "This branch already reaches the goal; nothing to search for."
        if solved
        else f"{'Or' if start['run'] else 'Once the model is trained,'} select a candidate in the player (a digit, or "
        "a click in the table) and press **b**: the planner continues from there."
    )
    if request:
        limits = {"free": free, "seconds": SECONDS, "ranks": RANKS, "most": MOST_OVERRIDES}
        arguments = {"run": start["run"]["folder"], "before": found["records"], **limits}
        work.begin(PAGE, SEARCHING, SECONDS + GRACE, "override", arguments, branch=branch, free=free)
        st.rerun()


def main() -> None:
    """The page."""
    check_branch()
    if st.session_state["opened"]:
        st.session_state["what if linked"] = st.query_params.get("step")
    with one_entry() as address:
        start = choose(address)
    store(address)
    if start["model"] is None:
        st.info(f"No model for {start['domain']} is recorded or trained yet; train one with `sgp train` or `sgp demo`.")
        return
    if st.session_state.get("what if start") != start["key"]:
        abandon()
        st.session_state["what if start"], st.session_state["what if branches"] = start["key"], {}
    branches: dict[sgp.viewer.Branch, Any] = st.session_state["what if branches"]
    open_record(start, branches)
    ended = work.take(PAGE)
    if ended is not None:
        take(*ended, branches)
    branch = sgp.viewer.Branch.parse(st.session_state["what if address"].get("branch", ""))
    st.session_state["what if shown"] = branch
    cancelled = st.session_state.pop(f"{PAGE} cancelled", False)
    if work.show_failure(PAGE) is None and branch not in branches and work.running(PAGE) is None:
        if len(branches) >= MOST_BRANCHES:
            st.warning(f"This page stores at most {MOST_BRANCHES} branches. Reload it to start again.")
        elif not cancelled:
            next_work(start, branches, branch)
            wait_for_first_picture()
            ended = work.take(PAGE)
            if ended is not None:
                take(*ended, branches)
            if work.failed(PAGE) or (ended is not None and branch not in branches):
                st.rerun()  # show the failure, or submit the next branch
    if branch in branches:
        check_linked_step(len(branches[branch]["data"]["steps"]))
    show_page(start, branches, branch)


def check_linked_step(last: int) -> None:
    """Refuse a link to a step beyond the `last` one, which is known once the branch is planned."""
    step = st.session_state.pop("what if linked", None)
    check_step(last, linked=step == st.query_params.get("step"))  # unless the user has gone to another step


def show_page(start: Mapping[str, Any], branches: dict[sgp.viewer.Branch, Any], branch: sgp.viewer.Branch) -> None:
    """Progress, the tree, the search, and the player of the branch (or of its nearest ancestor that exists)."""
    found = work.running(PAGE)
    asking = {"run": start["run"] and start["run"]["folder"], "busy": found is not None}
    asking |= {"seconds": SECONDS, "grace": GRACE, "weights": start["about"].method == weights.METHOD}
    if start["run"] is None and found is None:
        offer_training(start)
    work.show_progress(PAGE)
    if branch not in branches and start["run"] is not None:
        if found is None and len(branches) < MOST_BRANCHES:
            st.button("Plan")  # after a cancel, or the end of the process; any press runs the page again
        elif found is not None and found["kind"] == TRAINING:
            st.caption("Planning begins once the training has ended.")
    if st.session_state.get("what if found"):
        words, overrides = st.session_state["what if found"]
        (st.warning if overrides is None else st.success)(words)
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
    if start["run"] is not None:
        st.caption(plain(f"Run: {start['run']['folder']}, trained on {start['run']['trained']}."))


def wait_for_first_picture() -> None:
    """Wait a moment for a fast worker, so that the page runs once."""
    until, found = time.monotonic() + FIRST_LOOK, work.running(PAGE)
    while found is not None and time.monotonic() < until:
        if found["job"].report().ended or work.preview(found) is not None:
            found["previewed"] = True
            return
        time.sleep(0.01)


def abandon() -> None:
    """Cancel the job of another choice, except a training, whose result is a stored run."""
    found = work.running(PAGE)
    if found is not None and found["kind"] != TRAINING:
        work.give_up(PAGE)
    weights.forget(PAGE)
    st.session_state.pop("what if found", None)


run_page(main)
