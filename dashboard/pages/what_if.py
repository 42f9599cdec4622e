"""Page 2: another candidate is taken, and the rollout goes on from there; the branches form a tree to walk in."""

import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

import sgp

SECONDS = 60.0  # of one continuation, and of the search for forced choices
SUITE = "state-centric"
MOST_BRANCHES = 40
RANKS, MOST_FORCED = 3, 2
FIRST_LOOK = 0.2  # seconds that a request waits for the first picture of a branch

play = st.components.v2.component("sgp_player_branching", js=sgp.player_script())
tree = st.components.v2.component(
    "sgp_branches",
    html='<div class="tree"></div>',
    css=".tree { color: var(--st-text-color); font: 14px var(--st-font); }"
    " .tree g:focus-visible { outline: 2px solid var(--st-primary-color); } .tree g:hover .row { fill-opacity: .07; }",
    js=sgp.branch_script(),
)


@st.cache_data(show_spinner=False)
def recorded(stamp: tuple[tuple[str, int, int], ...]) -> tuple[sgp.Recorded, ...]:
    """The recorded rollouts, read again when a file changes."""
    return sgp.recorded_rollouts().rollouts


@st.cache_data(show_spinner=False)
def trained(stamp: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    """Domain, model, folder and date of every run of the store that can be opened."""
    found = []
    for folder, _ in stamp:
        try:
            run = sgp.open_run(folder)
        except sgp.SgpError:
            continue  # a damaged run plans nothing; 'sgp list runs' names it
        key = run.key
        about = sgp.About(method=key.method, variant=key.variant, domain=key.domain, suite=key.suite, seed=key.seed)
        found.append({"about": about, "folder": folder, "trained": run.record["trained"][:10]})
    return found


@st.cache_data(show_spinner=False)
def problems(domain: str) -> dict[str, tuple[str, sgp.Problem]]:
    """The bundled test problems of a domain by name, with their split."""
    suite = sgp.load_suite(SUITE)
    splits = [split for split in reversed(suite.domain(domain).splits) if split != "train"]
    return {each.name: (split, each) for split in splits for each in suite.problems(domain, split)}


def stamps() -> tuple[tuple[tuple[str, int, int], ...], tuple[tuple[str, int], ...]]:
    """What changes when a recorded rollout or a run does."""
    files = sorted(sgp.recorded_folder().glob("*.jsonl"))
    folders = sgp.run_folders()
    return (
        tuple((each.name, each.stat().st_mtime_ns, each.stat().st_size) for each in files),
        tuple((str(each), (each / "run.json").stat().st_mtime_ns) for each in folders),
    )


def worker() -> sgp.Worker:
    """The session's own process."""
    if "worker" not in st.session_state:
        st.session_state["worker"] = sgp.Worker()
    found: sgp.Worker = st.session_state["worker"]
    return found


def choose() -> dict[str, Any]:
    """Domain, model and problem; the choice stands in the address. The model's run or a record may be missing."""
    records, runs = (read(stamp) for read, stamp in zip((recorded, trained), stamps(), strict=True))
    domains = list(sgp.load_suite(SUITE).domains)
    left, middle, right = st.columns([1, 2, 1])
    domain = pick(left, "domain", domains)
    models = {each["about"].model: each["about"] for each in runs if each["about"].domain == domain}
    models |= {
        each.about.model: each.about
        for each in records
        if each.about.domain == domain and each.about.model not in models
    }
    if not models:
        return {"domain": domain, "model": None}
    model = pick(middle, "model", list(models))
    names = {each.head["name"]: each for each in records if (each.about.domain, each.about.model) == (domain, model)}
    problem = pick(right, "problem", [*names, *(name for name in problems(domain) if name not in names)])
    run = next((each for each in runs if (each["about"].domain, each["about"].model) == (domain, model)), None)
    return {
        "domain": domain,
        "model": model,
        "about": models[model],
        "problem": problem,
        "recorded": names.get(problem),
        "run": run,
        "key": (domain, model, problem, run and run["trained"]),
    }


def pick(column: Any, name: str, titles: list[str]) -> str:
    """A choice that begins with what the address asks for and goes into it; models are linked with their outcome."""
    asked = st.query_params.get(name, "").split(" (")[0]
    with column:
        chosen = st.selectbox(
            name.capitalize(),
            titles,
            index=titles.index(asked) if asked in titles else 0,
            key=f"what if {name}: {titles}",
        )
    if asked and asked != chosen:
        for other in ("step", "branch"):
            st.query_params.pop(other, None)
    if asked != chosen:
        st.query_params[name] = chosen
    return str(chosen)


def begin(kind: str, job: str, /, branch: sgp.Branch | None = None, **arguments: Any) -> None:
    """Asks the worker for the page's next piece of work."""
    seconds = 1800.0 if job == "train" else SECONDS + 15
    try:
        asked = worker().ask(job, seconds, **arguments)
    except sgp.SgpError as error:
        st.session_state["what if failed"] = str(error)
        return
    st.session_state["what if"] = {"kind": kind, "job": asked, "branch": branch}


def take(work: Mapping[str, Any], branches: dict[sgp.Branch, Any]) -> None:
    """Puts what a piece of work gave where it belongs."""
    report = work["job"].report()
    st.session_state.pop("what if", None)
    if report.state == "failed":
        st.session_state["what if failed"] = report.error
    if report.result is None:
        if work["branch"] is not None:
            show(work["branch"].parent)
        return
    if work["kind"] == "rollout":
        branches[work["branch"]] = report.result
    elif work["kind"] == "forcing":
        st.session_state["what if forced"] = sgp.forcing_words(report.result)
        for number, found in enumerate(report.result.get("found", ()), start=1):
            base = tuple(choice for choice in work["branch"] if choice.step <= work["free"])
            reached = sgp.Branch.parse("_".join(f"{s}-{r}" for s, r in (*base, *report.result["choices"][:number])))
            branches[reached] = found
            show(reached, report.result["choices"][number - 1][0])


def show(branch: sgp.Branch, step: int | None = None) -> None:
    """Shows a branch from now on."""
    st.query_params["branch"] = str(branch)
    if not branch:
        st.query_params.pop("branch", None)
    if step is not None:
        st.query_params["step"] = str(step)


def progress(work: dict[str, Any]) -> None:
    """How the work stands, and what ends it; runs every moment while there is work."""
    report = work["job"].report()
    if report.ended or ("preview" in (report.progress or {}) and not work.get("previewed")):
        work["previewed"] = True
        st.rerun()
    told = report.progress or {}
    words = [told["doing"]] if "doing" in told else []
    if "decisions" in told:
        words.append(f"{told['decisions']} decisions, {told['actions']} actions, {told['open']} goals open")
    if "tried" in told:
        words.append(
            "tried " + ", ".join(f"{count} with {number + 1} forced" for number, count in enumerate(told["tried"]))
        )
    waiting = "starting the planner" if report.state == "waiting" else work["kind"]
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown(f":material/hourglass_top: **{waiting.capitalize()}**, {report.seconds:.0f} s")
    left.text("; ".join(words))
    if right.button("Cancel", key="what if cancel"):
        work["job"].cancel()
        st.rerun()


def wanted() -> sgp.Branch:
    """The branch that the address asks for."""
    try:
        return sgp.Branch.parse(st.query_params.get("branch", ""))
    except sgp.SgpError as error:
        st.query_params.pop("branch", None)
        st.warning(str(error))
        return sgp.Branch()


def offer_training(start: Mapping[str, Any]) -> None:
    """A model whose run is not in the store can be trained here."""
    about = start["about"]
    st.info(
        f"To plan on, the trained model is needed, and the store has no run of {about.model} for {about.domain} yet. "
        "Training runs in a process of its own and can be cancelled; contrastive jumps take about half a minute."
    )
    if st.button(f"Train {about.method} {about.variant} on {about.domain}", type="primary"):
        facts = {"variant": about.variant, "domain": about.domain, "suite": about.suite or SUITE}
        begin("training", "train", method=about.method, seed=13 if about.seed is None else about.seed, **facts)
        st.rerun()


def next_work(start: Mapping[str, Any], branches: Mapping[sgp.Branch, Any], branch: sgp.Branch) -> None:
    """Asks for what is missing to show a branch: the rollout itself first, then each branch on the way."""
    run, record = start["run"], start["recorded"]
    missing = next(part for length in range(len(branch) + 1) if (part := sgp.Branch(branch[:length])) not in branches)
    if not missing and record is not None:
        begin("rollout", "recorded", branch=missing, file=record.source, line=record.line)
        if run is not None:
            warm(run["folder"], record.head)
    elif run is None:
        return
    elif not missing:
        _, problem = problems(start["domain"])[start["problem"]]
        texts = {"name": problem.name, "domain": problem.domain_pddl, "problem": problem.problem_pddl}
        begin("rollout", "solve", branch=missing, run=run["folder"], problem=texts, seconds=SECONDS)
    else:
        step, rank = missing[-1]
        before = branches[missing.parent]["records"][: step + 1]
        begin(
            "rollout", "branch", branch=missing, run=run["folder"], before=before, step=step, rank=rank, seconds=SECONDS
        )


def warm(folder: str, head: Mapping[str, Any]) -> None:
    """Has model and problem loaded while the user looks at the rollout."""
    texts = {"name": head["name"], "domain": head["domain_pddl"], "problem": head["problem_pddl"]}
    worker().ask("load", SECONDS, run=folder, problem=texts)


@st.fragment
def show_player(data: dict[str, Any], branch: sgp.Branch, branching: bool) -> None:
    """The player of one branch; what it reports goes into the address."""
    asked = st.query_params.get("step", "1")
    step = int(asked) - 1 if asked.isdecimal() else 0
    key = f"what if player {branch} {data['id']}"

    def remember() -> None:
        st.query_params["step"] = str(st.session_state[key]["step"] + 1)

    shown = {**data, "id": f"{data['id']} {branch}"}
    told = play(
        key=key,
        data={"rollout": shown, "step": step, "branching": branching},
        on_step_change=remember,
        on_branch_change=lambda: None,
    )
    if told.branch:
        show(branch.then(told.branch["step"], told.branch["rank"]), told.branch["step"] + 1)
        st.rerun()


def show_tree(branches: Mapping[sgp.Branch, Any], branch: sgp.Branch) -> None:
    """The branches beside each other; a row that is clicked is shown."""
    lines = [sgp.compared(each, found["data"]) for each, found in branches.items()]
    told = tree(key="what if tree", data={"drawing": sgp.draw_branches(lines, branch)}, on_shown_change=lambda: None)
    if told.shown is not None and told.shown != str(branch):
        show(sgp.Branch.parse(told.shown))
        st.rerun()


def actions(start: Mapping[str, Any], branches: dict[sgp.Branch, Any], branch: sgp.Branch, busy: bool) -> None:
    """What can be done with the branch that is shown."""
    found = branches[branch]
    solved = found["data"]["outcome"] == "solved"
    free = branch[-1].step if branch else 0
    left, right = st.columns([2, 5], vertical_alignment="center")
    asked = left.button(
        "How many forced choices until it is solved?",
        disabled=busy or solved or start["run"] is None,
        help=f"Tries the {RANKS} best open candidates of every step, one forced choice first, then {MOST_FORCED}; "
        f"at most {SECONDS:.0f} s",
    )
    right.caption(
        "This branch is solved: none."
        if solved
        else "Or pick a candidate in the player (a digit, or a click in the table) and press **b**: "
        "the rollout goes on from there."
    )
    if asked:
        begin(
            "forcing", "force", branch=branch, run=start["run"]["folder"], before=found["records"], free=free,
            seconds=SECONDS, ranks=RANKS, most=MOST_FORCED,
        )  # fmt: skip
        if "what if" in st.session_state:
            st.session_state["what if"]["free"] = free
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
    branches: dict[sgp.Branch, Any] = st.session_state["what if branches"]
    work = st.session_state.get("what if")
    if work is not None and work["job"].report().ended:
        take(work, branches)
        work = None
    branch = wanted()
    failed = st.session_state.pop("what if failed", "")
    if failed:
        st.error(failed)
    if branch not in branches and work is None and not failed:
        if len(branches) >= MOST_BRANCHES:
            st.warning(f"{MOST_BRANCHES} branches are as many as this page keeps; reload the page to begin again.")
            branch = branch.parent
        else:
            next_work(start, branches, branch)
            work = st.session_state.get("what if")
            wait_for_first_picture(work)
            if work is not None and work["job"].report().ended:
                take(work, branches)
                work = None
    if start["run"] is None and work is None:
        offer_training(start)
    if work is not None:
        st.fragment(run_every=0.25)(progress)(work)
    preview = ((work and work["job"].report().progress) or {}).get("preview")
    if st.session_state.get("what if forced"):
        st.success(st.session_state["what if forced"])
    reached = branch if branch in branches else next(
        (part for length in range(len(branch), -1, -1) if (part := sgp.Branch(branch[:length])) in branches), None
    )  # fmt: skip
    if reached is not None:
        show_tree(branches, reached)
        actions(start, branches, reached, work is not None)
    if preview is not None:
        show_player(preview, branch, branching=False)
    elif reached is not None:
        show_player(branches[reached]["data"], reached, branching=start["run"] is not None and work is None)
    if start["run"] is not None:
        st.caption(f"Planned on by the run of {start['run']['trained']} in {start['run']['folder']}.")


def wait_for_first_picture(work: dict[str, Any] | None) -> None:
    """Waits a moment for a quick worker, which spares the user a second look."""
    until = time.monotonic() + FIRST_LOOK
    while work is not None and time.monotonic() < until:
        report = work["job"].report()
        if report.ended or "preview" in (report.progress or {}):
            work["previewed"] = True
            return
        time.sleep(0.01)


def abandon() -> None:
    """Gives up what was being done for another choice."""
    work = st.session_state.pop("what if", None)
    if work is not None and work["kind"] != "training":
        work["job"].cancel()
    st.session_state.pop("what if forced", None)


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
