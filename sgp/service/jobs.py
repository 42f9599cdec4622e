"""The jobs of a worker process. Arguments and answers are plain values; `report` receives the progress."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from sgp import api
from sgp.analysis import explanations
from sgp.analysis.diagnostics import Remaining, remaining, remaining_in_passing
from sgp.analysis.explanations import reweighted as with_weight
from sgp.analysis.overrides import fewest_overrides
from sgp.datasets.experts import saved_plans
from sgp.datasets.importing import import_folder
from sgp.datasets.recorded import Recorded, decode_bounds
from sgp.datasets.recording import records, replayed, with_distances, write_records
from sgp.datasets.runs import open_run, run_folders
from sgp.datasets.subject import Subject, read_subject
from sgp.datasets.suite import list_suites, load_suite
from sgp.datasets.training_data import load_training_data
from sgp.domains import words_of
from sgp.errors import DomainMismatch, InputError, PlanError, SgpError, ToolError, ValidationDisagreement
from sgp.evaluation.attempts import RolloutRecorder, subject_of
from sgp.files import write_text
from sgp.methods import planning_method, planning_variants
from sgp.methods.loading import is_shipped, load_planner, shipped_folders
from sgp.planning.experts import OPTIMAL, QUICK, SATISFICING, Stage, find_plan
from sgp.planning.pddl import Action, Problem, parse_plan, read_plan
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.policy import Node
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, checked, count_open_goals
from sgp.planning.validation import validate
from sgp.policies.decoding import DEFAULT
from sgp.solving import stated_for
from sgp.viewer.comparison import PLANNING, branch_start, overridden, require_candidate
from sgp.viewer.library import own_rollouts_folder
from sgp.viewer.pictures import picture
from sgp.viewer.playback import playback, ranked
from sgp.wording import counted

MOST_OBJECTS = 1_000
MOST_CHARACTERS = 1_000_000  # of one PDDL text
DISTANCE_SECONDS = 2.0  # for A* in a branch, by the clock
_BRIEFLY = (replace(OPTIMAL, seconds=1.0),)
EXPERT_SECONDS = 20.0  # per uploaded training problem and stage
MOST_PREVIEWED = 200  # objects
PREVIEW_SECONDS, PREVIEW_SHARE = 0.5, 0.2  # least time between two previews; largest share of the time for them
LEAST_SECONDS = 1e-3  # for an alternative goal that is left when the time is up: it ends with a timeout

Progress = Callable[..., None]
Answer = dict[str, Any]
Record = Mapping[str, Any]
Records = Sequence[Record]


def _problem(problem: Mapping[str, Any]) -> Problem:
    """A problem given as `name` ("": its own), `domain`, `problem`, and `goal` where it has alternatives."""
    for part in ("domain", "problem"):
        _require_small(f"the {part} has {{:,}} characters", len(problem[part]), MOST_CHARACTERS)
    given = Problem(problem["name"], problem["domain"], problem["problem"], alternative=problem.get("goal"))
    domain, text = replace(given, alternative=given.alternative or 0).read()
    _require_small("the problem has {:,} objects", len(domain.constants) + len(text.objects), MOST_OBJECTS)
    return replace(given, name=problem["name"] or text.name)


def _require_small(fact: str, size: int, limit: int) -> None:
    if size > limit:
        raise InputError(
            f"Too large for the dashboard: {fact.format(size)} (limit {limit:,}). Use the command line: 'sgp solve'"
        )


@lru_cache(maxsize=2)  # two, because a task never frees its states
def _task(problem: Problem) -> Task:
    return Task(problem)


def _recorded(rollout: Records) -> Recorded:
    head, *steps = rollout
    return Recorded("rollout", 1, head, tuple(steps))


def _shown(rollout: Records) -> Answer:
    """The records of a rollout, and the player's data of it."""
    return {"records": list(rollout), "data": playback(_recorded(rollout))}


def _decoding(head: Record) -> str:
    return str((head.get("about") or {}).get("decoding") or DEFAULT)


@dataclass
class _Watch:
    """Reports every decision and, now and then, a `preview`: the player's data of the rollout so far."""

    report: Progress
    task: Task
    about: Mapping[str, Any]
    given: Records = ()
    decisions: int = 0
    due: float = 0.0
    steps: tuple[Step, ...] = ()
    records: list[Record] = field(default_factory=list)  # of the steps

    def __call__(self, node: Node) -> None:
        """Report a decision; of a large problem there is no preview, which would take the time of planning."""
        self.decisions += 1
        open_goals = count_open_goals(self.task, node.state)
        self.report(decisions=self.decisions, actions=node.length, open=open_goals)
        if time.monotonic() >= self.due and self.task.size <= MOST_PREVIEWED:
            self.preview(node.steps())

    def preview(self, steps: tuple[Step, ...]) -> None:
        begun = time.monotonic()
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.steps, steps, strict=False)))
        rollout = Rollout(self.task, steps[same:], Outcome.HORIZON)
        head, *new = records(rollout.without_notes(), self.about)
        self.steps, self.records = steps, [*self.records[:same], *new]
        shown = (*self.given, *self.records[len(self.given) :])
        self.report(preview=playback(_recorded([{**head, "outcome": PLANNING}, *shown])))
        self.due = begun + max(PREVIEW_SECONDS, (time.monotonic() - begun) / PREVIEW_SHARE)


def load(report: Progress, run: str, problem: Mapping[str, str] | None = None, decoding: str = DEFAULT) -> Answer:
    """Load a run's planner and rank a problem's first candidates, so that the next job starts at once."""
    planner = load_planner(run, decoding)
    trained = open_run(run)
    given = trained.check_problem if problem is None else stated_for(_problem(problem), trained).alternatives()[0]
    planner.resume(_task(given), (), Limit(actions=1))
    return {}


def solve(report: Progress, run: str, problem: Mapping[str, str], seconds: float, decoding: str = DEFAULT) -> Answer:
    """A run's rollout of a problem within so many CPU seconds; a plan is validated by VAL."""
    return _planned(report, run, problem, seconds, decoding, load_planner(run, decoding))


def reweighted(
    report: Progress, run: str, before: Records, step: int, rank: int, feature: str, factor: float, seconds: float
) -> Answer:
    """What `solve` answers, planned with the weight of a feature times a factor; see `attribute_weight`."""
    head = before[0]
    planner = with_weight(load_planner(open_run(run), _decoding(head)), *_compared(before, step, rank), feature, factor)
    return _planned(report, run, _problem_of(head), seconds, _decoding(head), planner)


def _planned(
    report: Progress, run: str, problem: Mapping[str, Any], seconds: float, decoding: str, planner: Planner
) -> Answer:
    trained, begun = open_run(run), time.process_time()
    for alternative in stated_for(_problem(problem), trained).alternatives():
        task = _task(alternative)
        watch = _Watch(report, task, subject_of(trained, decoding=decoding).record())
        left = max(LEAST_SECONDS, seconds - (time.process_time() - begun))
        rollout = planner.resume(task, (), Limit(horizon(task.size), left, processor=True), watch)
        if rollout.solved:
            break
    verdict = validate(task.problem, rollout.plan) if rollout.solved else None
    judged = {"valid": None} if verdict is None else {"valid": verdict.valid, "judge": verdict.judge}
    # What follows takes longer than planning where steps have hundreds of candidates.
    report(doing="explaining the choices", found={**judged, "plan": "".join(f"{each}\n" for each in rollout.plan)})
    return {**_shown(_explained(rollout, run, decoding, planner)), **judged, "domain": task.domain_text.name}


def branch(report: Progress, run: str, before: Records, step: int, rank: int, seconds: float) -> Answer:
    """The rollout that continues after another candidate of a step was taken; step and rank count from 1."""
    head, given = before[0], branch_start(before, step, rank).steps
    task, decoding = _task(_problem(_problem_of(head))), _decoding(head)
    about = subject_of(open_run(run), decoding=decoding).record()
    watch = _Watch(report, task, about, given, due=time.monotonic() + PREVIEW_SECONDS)
    limit = Limit(horizon(task.size), seconds, processor=True)
    rollout = load_planner(run, decoding).resume(task, [_chosen(each) for each in given], limit, watch)
    return _joined(report, rollout, given, run, decoding, head)


def override(report: Progress, run: str, before: Records, free: int, seconds: float, ranks: int, most: int) -> Answer:
    """The fewest action overrides after step `free` that solve an unsolved rollout (`fewest_overrides`).

    The answer's `overrides` are pairs of step and rank, from 1; `rollouts` are those with the first of them, with the
    first two, and so on.
    """
    start, decoding = replayed(_recorded(before)), _decoding(before[0])
    task, planner = start.task, load_planner(run, decoding)
    search = fewest_overrides(
        planner, task, start, seconds, free, ranks, most, lambda counts: report(searched=list(counts))
    )
    facts = {name: getattr(search, name) for name in ("counts", "complete", "ranks", "seconds", "proved")}
    facts |= {"most": most, "steps": len(start.steps) - free}
    if search.overrides is None:
        return {**facts, "overrides": None}
    overrides, rollouts, steps = [], [], list(before[1:])
    for number, (step, index) in enumerate(search.overrides, start=1):
        order = ranked(steps[step])
        overrides.append((step + 1, order.index(index) + 1))
        given = [*steps[:step], overridden(steps[step], overrides[-1][1])]
        last = number == len(search.overrides)
        after = search.rollout if last else planner.resume(task, [_chosen(each) for each in given])
        assert after is not None
        rollouts.append(_joined(lambda **_: None, after, given, run, decoding, before[0]))
        steps = rollouts[-1]["records"][1:]
    return {**facts, "overrides": overrides, "rollouts": rollouts}


def attribute_weight(report: Progress, run: str, before: Records, step: int, rank: int, feature: str) -> Answer:
    """The training decisions that gave a feature its weight, each with its state as SVG and its step.

    `before` are the records of a rollout at least up to `step`, whose chosen candidate is compared with that of rank
    `rank`. A decision's `step` is None for a state that is not on the expert's plan.
    """
    opened = open_run(run)
    explanations.attributable(opened)  # before anything is read
    policy = load_planner(opened, _decoding(before[0])).policy
    compared = _compared(before, step, rank)
    report(doing="reading the training data")
    data = load_training_data(load_suite(opened.key.suite), opened.key.domain)
    if data.sha256 != opened.record["data"]["sha256"]:
        raise InputError(
            f"{opened.folder} was trained on other problems or plans than suite {opened.key.suite} now has of "
            f"{opened.key.domain}; train it again to see which decisions gave its weights"
        )
    report(doing="searching the training decisions")
    found = explanations.attribute_weight(opened, policy, data, *compared, feature)
    on_plan = {each.task: each.states[:-1] for each in data.train}
    return {
        "weight": found.weight,
        "attributed": found.attributed,
        "decisions": found.decisions,
        "influences": [_decision(each, on_plan.get(each.decision.task, ())) for each in found.influences],
    }


def _decision(found: explanations.TrainingInfluence, states: Sequence[State]) -> Answer:
    decision, task = found.decision, found.decision.task
    words = words_of(task.domain_text)
    right, wrong = (
        "; then ".join(words.sentence(action) for action in decision.choice[index].actions)
        for index in (found.right, found.wrong)
    )
    return {
        "problem": task.name,
        "step": states.index(decision.state) + 1 if decision.state in states else None,
        "amount": found.amount,
        "right": right,
        "wrong": wrong,
        "picture": picture(task, decision.state).svg,
    }


def _compared(before: Records, step: int, rank: int) -> tuple[Rollout, int, int]:
    """The rollout up to a step, that step, and the index of a candidate in it, both from 0."""
    require_candidate(before[1:], step, rank)
    order = ranked(before[step])
    return replayed(_recorded(before[: step + 1])), step - 1, order[rank - 1]


def _problem_of(head: Record) -> dict[str, Any]:
    """The problem of a record, as an argument of a job."""
    texts = {"name": head["name"], "domain": head["domain_pddl"], "problem": head["problem_pddl"]}
    return {**texts, "goal": head.get("goal")}


def _joined(report: Progress, rollout: Rollout, given: Records, run: str, decoding: str, before: Record) -> Answer:
    """`_shown` of a resumed rollout with a map by PCA, its given steps with all their candidates.

    The expert's plan and the actions left at the given states are those of the head `before`. Without those of the
    others, A* searches for `DISTANCE_SECONDS`, after a preview.
    """
    head, *steps = _explained(rollout, run, decoding)
    joined = [{**head, "expert": before.get("expert", [])}, *given[: len(steps)], *steps[len(given) :]]
    recorded = _recorded(joined)
    whole = replayed(recorded, rollout.task)
    projected = api.map_rollout(run, recorded, whole, decoding)
    left = remaining_in_passing(whole) if "left" in head else None
    if left is None:
        report(preview=playback(recorded, projected), doing=f"A* for the actions left, {DISTANCE_SECONDS:g} s")
        left = _bounds(whole, given, before)
    if any(high < math.inf for _, high in left.states):
        joined = list(with_distances(joined, left.record()))
    return {"records": joined, "data": playback(_recorded(joined), projected)}


def _bounds(rollout: Rollout, given: Records, before: Record) -> Remaining:
    """Bounds on the actions left from those of the given steps and, after these, optimal plans."""
    left = before.get("left", ())[: len(given)]
    known = {step.state: decode_bounds(each) for step, each in zip(rollout.steps, left, strict=False)}
    for step, record in zip(rollout.steps, given, strict=False):
        pairs = zip(step.candidates, record["candidates"], strict=True)
        known |= {each.state: decode_bounds(one["left"]) for each, one in pairs if "left" in one}
    try:
        return remaining(
            rollout, (), 0, len(rollout.steps) + 1, _BRIEFLY, (), known, first=len(given), seconds=DISTANCE_SECONDS
        )
    except ToolError:  # Fast Downward is missing
        return remaining(rollout, (), 0, 0, known=known)


def _explained(rollout: Rollout, run: str, decoding: str, planner: Planner | None = None) -> list[Record]:
    """The records of a rollout, with explanations of every choice."""
    found = api.as_recorded(rollout, run, decoding, planner)
    return [found.head, *found.steps]


def _chosen(record: Record) -> tuple[Action, ...]:
    lines = record["candidates"][record["chosen"]]["actions"]
    return tuple(action for line in lines for action in parse_plan(line, "a recorded action"))


def read(report: Progress, problem: Mapping[str, str]) -> Answer:
    """What a problem declares, which stored and included runs can plan for it, and which suites have its domain."""
    given = _problem(problem).alternatives()[0]
    text, declared = checked(given)
    runs, others = [], set[str]()
    for folder in (*run_folders(), *shipped_folders()):
        try:
            run = open_run(folder)
            planning_method(run.key.method)
            difference = run.domain_text.difference(text)
        except SgpError:
            continue  # damaged, without planning or of several domains; 'sgp list runs' names it
        try:
            stated_for(given, run)
        except DomainMismatch:
            if not is_shipped(run):
                others.add(f"{run.key.domain} ({subject_of(run).planner.title}): the problem's domain {difference}")
        else:
            runs.append({"folder": str(folder), "included": is_shipped(run), **subject_of(run).record()})
    suites = [
        {"suite": suite.name, "domain": domain}
        for suite in map(load_suite, list_suites())
        for domain in suite.domains
        if "train" in suite.domain(domain).splits and suite.domain_text(domain).signature == text.signature
    ]
    return {
        "domain": text.name,
        "objects": len(text.constants) + len(declared.objects),
        "goals": len(declared.goal),
        "actions": sorted(text.schemas),
        "runs": runs,
        "others": sorted(others),
        "suites": suites,
        "methods": [list(pair) for pair in planning_variants()],
    }


def train(report: Progress, method: str, variant: str, domain: str, suite: str, seed: int) -> Answer:
    """A trained run of a suite's domain."""
    report(doing=f"training {method} {variant} on {domain} of suite {suite}")
    return {"folder": str(api.train(method, domain, suite, variant, seed, device="cpu").folder)}


def record(report: Progress, subject: Mapping[str, Any], problem: str, seconds: float) -> Answer:
    """Repeat a measured attempt and save its rollout among the user's own; a missing run is trained."""
    about = read_subject(subject)
    suite = load_suite(about.suite)
    given = next((each for each in suite.problems(about.domain, about.split) if each.name == problem), None)
    if given is None:
        raise InputError(f"{about.suite}/{about.domain}/{about.split} has no problem {problem!r}")
    run = train(report, about.method, about.variant, about.domain, about.suite, about.seed or 0)["folder"]
    texts = {"name": given.name, "domain": given.domain_pddl, "problem": given.problem_pddl}
    head, *steps = solve(report, run, texts, seconds, about.decoding or DEFAULT)["records"]
    file = RolloutRecorder(own_rollouts_folder(), about).path(problem)
    expert = saved_plans(suite, about.domain, about.split).get(given.sha256)
    plan = [] if expert is None or expert.plan is None else [str(action) for action in expert.plan]
    write_records(file, [{**head, "about": about.record(), "expert": plan}, *steps])
    return {"file": str(file), "outcome": head["outcome"]}


def train_own(report: Progress, method: str, variant: str, domain: str, problems: Sequence[Record]) -> Answer:
    """A run trained on given problems, whose expert plans are computed by Fast Downward."""
    for each in problems:
        _problem({**each, "domain": domain})
    name = f"own-{sha256(repr((domain, problems)).encode()).hexdigest()[:10]}"
    with tempfile.TemporaryDirectory(prefix="sgp-own-") as folder:
        write_text(Path(folder, "own", "domain.pddl"), domain)
        for number, each in enumerate(problems, start=1):
            write_text(Path(folder, "own", "train", f"p{number:03}.pddl"), each["problem"])
        report(doing=f"reading {counted(len(problems), 'training problem')}")
        suite = import_folder(Path(folder), name, overwrite=True)
    report(doing=f"expert plans by Fast Downward, then training {method} {variant}")
    stages = tuple(Stage(each.name, EXPERT_SECONDS, each.search) for each in (OPTIMAL, SATISFICING))
    run = api.train(method, next(iter(suite.domains)), suite.name, variant, device="cpu", stages=stages)
    return {"folder": str(run.folder)}


def replay(report: Progress, problem: Mapping[str, str], plan: str) -> Answer:
    """A given plan step by step, as far as its actions are applicable, and VAL's verdict on the whole plan."""
    given = _problem(problem)
    _require_small("the plan has {:,} characters", len(plan), MOST_CHARACTERS)
    actions, lines = read_plan(plan, "plan")
    for alternative in given.alternatives():
        task = _task(alternative)
        steps, end, stopped = _replayed(task, actions)
        reached = task.is_goal(end)
        if reached:
            break
    verdict = validate(given, actions, lines=lines)
    rollout = Rollout(task, tuple(steps), Outcome.SOLVED if reached else Outcome.STUCK)
    head, *rest = records(rollout, Subject(method="given plan").record())
    head["outcome"] = "solved" if reached else "the plan does not reach the goal"
    return {
        **_shown([head, *rest]),
        "valid": verdict.valid,
        "judge": verdict.judge,
        "report": "\n".join(dict.fromkeys(filter(None, (verdict.reason, verdict.report.strip()[-4000:])))),
        "stopped": stopped,
    }


def reference(report: Progress, problem: Mapping[str, str]) -> Answer:
    """The length of a classical planner's plan, to compare with: A* for 2 s by the clock, then LAMA for 10 s.

    `planner` and `length` are None without a plan. An `optimal` plan has the least cost where the problem has `costs`,
    else the fewest actions. Raises UnsolvableProblem, and ToolError without Fast Downward.
    """
    given = _problem(problem)
    for stage in QUICK:
        report(doing=f"{stage.name}, at most {stage.seconds:g} s")
        plan = find_plan(given, (stage,), strict=True).plan
        if plan is None:
            continue
        if not validate(given, plan).valid:
            raise ValidationDisagreement(f"VAL rejects the plan of {stage.name} for {given.name}")
        optimal, costs = stage.name == OPTIMAL.name, given.costs is not None
        return {"planner": stage.name, "length": len(plan), "optimal": optimal, "costs": costs}
    return {"planner": None, "length": None}


def _replayed(task: Task, actions: Sequence[Action]) -> tuple[list[Step], State, str]:
    """The steps of a plan as far as its actions are applicable, the last state, and the error that stopped it."""
    steps, state = list[Step](), task.init
    for number, action in enumerate(actions, start=1):
        try:
            own = task.own(state, action)
        except PlanError as error:
            return steps, state, f"step {number} of {len(actions)}: {error}"
        after = task.after(state, own)
        marks = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8)
        steps.append(Step(state, [Successor((own,), after)], np.zeros(1), None, marks, 0))
        state = after
    return steps, state, ""


JOBS: Mapping[str, Callable[..., Answer]] = {
    each.__name__: each
    for each in (
        *(load, solve, branch, override, attribute_weight, reweighted),
        *(read, train, train_own, record, replay, reference),
    )
}
