"""What a worker process can do. Arguments and answers are what JSON holds; `tell` hears of progress."""

from __future__ import annotations

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
from sgp.datasets.experts import kept_plans
from sgp.datasets.importing import import_folder
from sgp.datasets.runs import open_run, run_folders
from sgp.datasets.suite import load_suite
from sgp.errors import InputError, PlanError, SgpError
from sgp.evaluation.keeping import Keeping
from sgp.evaluation.subjects import subject_of
from sgp.files import write_text
from sgp.methods import planning_method, planning_variants
from sgp.methods.loading import load_planner
from sgp.planning.experts import OPTIMAL, SATISFICING, Stage
from sgp.planning.forcing import least_forcing
from sgp.planning.pddl import Action, Problem, parse_plan, read_plan
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.policy import Node
from sgp.planning.recorded import Recorded
from sgp.planning.recording import records, replayed, write_records
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.subject import Subject, read_subject
from sgp.planning.task import State, Successor, Task, checked, missing_goal_atoms
from sgp.planning.validation import validate
from sgp.policies.decoding import DEFAULT
from sgp.service.asked import Answer, Records, Tell, decoding_of, require_listed
from sgp.service.weights import blame, with_weight
from sgp.viewer.library import own_rollouts_folder
from sgp.viewer.playback import playback, rank_order

MOST_OBJECTS = 1_000
MOST_CHARACTERS = 1_000_000  # of one PDDL text
EXPERT_SECONDS = 20.0  # for each uploaded training problem, by each stage
PREVIEW_SECONDS, PREVIEW_SHARE = 0.5, 0.2  # least time between two previews; most of the time that they may take
LEAST_SECONDS = 1e-3  # of an alternative that is tried when the seconds are up: it ends as out of time
GOING_ON = "the planner goes on"  # the outcome of a preview


def _problem(problem: Mapping[str, Any]) -> Problem:
    """A problem given as `name` ("": its own), `domain`, `problem`, and `goal` where it has alternatives.

    Raises InputError for one that is too large.
    """
    for part in ("domain", "problem"):
        if len(problem[part]) > MOST_CHARACTERS:
            raise InputError(
                f"the {part} has {len(problem[part]):,} characters, and at most {MOST_CHARACTERS:,} are taken here; "
                "use the command line: 'sgp solve'"
            )
    asked = Problem(problem["name"], problem["domain"], problem["problem"], alternative=problem.get("goal"))
    domain, text = replace(asked, alternative=asked.alternative or 0).read()
    objects = len(domain.constants) + len(text.objects)
    if objects > MOST_OBJECTS:
        raise InputError(
            f"the problem has {objects:,} objects, and at most {MOST_OBJECTS:,} are taken here; "
            "use the command line: 'sgp solve'"
        )
    return replace(asked, name=problem["name"] or text.name)


@lru_cache(maxsize=2)
def _task(problem: Problem) -> Task:
    """Kept for the next branch; two, because a task never frees its states."""
    return Task(problem)


def _shown(found: Sequence[Mapping[str, Any]]) -> Answer:
    """Records of one rollout, and what the player plays of them."""
    head, *steps = found
    return {"records": list(found), "data": playback(Recorded("rollout", 1, head, tuple(steps)))}


def _about(run: str, decoding: str = DEFAULT) -> dict[str, Any]:
    return subject_of(open_run(run), decoding=decoding).record()


@dataclass
class _Telling:
    """Tells of every decision, and every now and then what the player shows of the rollout so far: its `preview`.

    `given` are the records of the steps that the rollout begins with.
    """

    tell: Tell
    task: Task
    about: Mapping[str, Any]
    given: Records = ()
    decisions: int = 0
    due: float = 0.0
    steps: tuple[Step, ...] = ()
    records: list[Mapping[str, Any]] = field(default_factory=list)  # of the steps

    def __call__(self, node: Node, steps: Callable[[], tuple[Step, ...]]) -> None:
        self.decisions += 1
        told = {"decisions": self.decisions, "actions": node.length}
        self.tell(**told, open=len(missing_goal_atoms(self.task, node.state)))
        if time.monotonic() >= self.due:
            self.show(steps())

    def show(self, steps: tuple[Step, ...]) -> None:
        """Tells the preview after these steps of the planner, the given ones among them."""
        begun = time.monotonic()
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.steps, steps, strict=False)))
        rollout = Rollout(self.task, steps[same:], Outcome.HORIZON)
        head, *new = records(rollout.without_notes(), self.about)
        self.steps, self.records = steps, [*self.records[:same], *new]
        shown = (*self.given, *self.records[len(self.given) :])
        self.tell(preview=playback(Recorded("rollout", 1, {**head, "outcome": GOING_ON}, shown)))
        spent = time.monotonic() - begun
        self.due = begun + max(PREVIEW_SECONDS, spent / PREVIEW_SHARE)


def load(tell: Tell, run: str, problem: Mapping[str, str] | None = None, decoding: str = DEFAULT) -> Answer:
    """Loads a run's planner and has it rank a problem's first candidates, so that the next job finds all warm."""
    planner = load_planner(run, decoding)
    asked = open_run(run).check_problem if problem is None else _problem(problem).alternatives()[0]
    planner.resume(_task(asked), (), Limit(actions=1))
    return {}


def solve(tell: Tell, run: str, problem: Mapping[str, str], seconds: float, decoding: str = DEFAULT) -> Answer:
    """A run's rollout of a problem, its plan judged by VAL where it claims to reach the goal.

    Its seconds are the processor's. Of a goal's alternatives one after another is tried. The progress has a `preview`:
    what the player shows of the rollout so far.
    """
    return _planned(tell, run, problem, seconds, decoding, load_planner(run, decoding))


def reweighted(
    tell: Tell, run: str, before: Records, step: int, rank: int, feature: str, factor: float, seconds: float
) -> Answer:
    """The rollout of the same problem from its start, planned with the weight of a feature times a factor.

    Which feature is said as for `blame`; the answer is that of `solve`.
    """
    planner = with_weight(run, before, step, rank, feature, factor)
    return _planned(tell, run, _asked(before[0]), seconds, decoding_of(before[0]), planner)


def _planned(
    tell: Tell, run: str, problem: Mapping[str, Any], seconds: float, decoding: str, planner: Planner
) -> Answer:
    """What `solve` answers, planned by the run's planner or by one that was made of it."""
    trained, begun = open_run(run), time.process_time()
    for each in _problem(problem).alternatives():
        task = _task(each)
        task.require_domain(trained.domain_text)
        telling = _Telling(tell, task, _about(run, decoding))
        left = max(LEAST_SECONDS, seconds - (time.process_time() - begun))
        rollout = planner.resume(task, (), Limit(horizon(task.size), left, processor=True), telling)
        if rollout.solved:
            break
    verdict = validate(task.problem, rollout.plan) if rollout.solved else None
    judged = {"valid": None} if verdict is None else {"valid": verdict.valid, "judge": verdict.judge}
    return {**_shown(_explained(rollout, run, decoding, planner)), **judged, "domain": task.domain_text.name}


def branch(tell: Tell, run: str, before: Records, step: int, rank: int, seconds: float) -> Answer:
    """The rollout that goes on after another candidate of a step was taken; step and rank count from 1.

    `before` are the records of the rollout that it leaves. The progress has a `preview`: what the player shows of the
    rollout so far, the given steps first. Raises InputError where it has no such candidate.
    """
    head, *steps = before
    require_listed(steps, step, rank)
    kept = [*steps[: step - 1], _forced(steps[step - 1], rank)]
    so_far = {name: value for name, value in head.items() if name != "left"}  # of the rollout that it leaves
    so_far |= {"outcome": GOING_ON, "reason": "", "written": []}
    tell(preview=playback(Recorded("rollout", 1, so_far, tuple(kept))))
    task = _task(_problem(_asked(head)))
    decoding = decoding_of(head)
    planner = load_planner(run, decoding)
    telling = _Telling(tell, task, _about(run, decoding), kept, due=time.monotonic() + PREVIEW_SECONDS)
    limit = Limit(horizon(task.size), seconds, processor=True)
    rollout = planner.resume(task, [_chosen(each) for each in kept], limit, telling)
    return _shown(_joined(rollout, kept, run, decoding))


def force(tell: Tell, run: str, before: Records, free: int, seconds: float, ranks: int, most: int) -> Answer:
    """The least number of forced choices after step `free` that solve an unsolved rollout (`least_forcing`).

    The answer's `choices` are pairs of step and rank, from 1; `found` holds the rollouts of the first of them, of
    the first two, and so on.
    """
    head, *steps = before
    start = replayed(Recorded("rollout", 1, head, tuple(steps)))
    decoding = decoding_of(head)
    task, planner = start.task, load_planner(run, decoding)
    answer = least_forcing(planner, task, start, seconds, free, ranks, most, lambda tried: tell(tried=list(tried)))
    facts = {"tried": answer.tried, "complete": answer.complete, "ranks": ranks, "most": most}
    facts |= {"seconds": answer.seconds, "proved": answer.proved, "steps": len(start.steps) - free}
    if answer.rollout is None or answer.choices is None:
        return {**facts, "choices": None}
    choices, found, kept = [], [], [dict(each) for each in steps]
    for step, place in answer.choices:
        order = rank_order([_cost(each) for each in kept[step]["candidates"]])
        choices.append((step + 1, order.index(place) + 1))
        last = len(choices) == len(answer.choices)
        kept = [*kept[:step], _forced(kept[step], choices[-1][1])]
        after = answer.rollout if last else planner.resume(task, [_chosen(each) for each in kept])
        shown = _joined(after, kept, run, decoding)
        found.append(_shown(shown))
        kept = [dict(each) for each in shown[1:]]
    return {**facts, "choices": choices, "found": found}


def _forced(record: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """A step's record with the candidate of a rank chosen instead, marked as forced; why another was is not told."""
    place = rank_order([_cost(each) for each in record["candidates"]])[rank - 1]
    candidates = [
        {**each, "marks": [mark for mark in each["marks"] if mark not in ("chosen", "beam")]}
        for each in record["candidates"]
    ]
    candidates[place]["marks"] += ["chosen", "forced"]
    decided = {name: value for name, value in record.items() if name not in ("why", "measure", "against", "others")}
    return {**decided, "chosen": place, "candidates": candidates}


def _asked(head: Mapping[str, Any]) -> dict[str, Any]:
    """The problem of a record, as jobs are given one."""
    texts = {"name": head["name"], "domain": head["domain_pddl"], "problem": head["problem_pddl"]}
    return {**texts, "goal": head.get("goal")}


def _joined(rollout: Rollout, kept: Records, run: str, decoding: str) -> list[Mapping[str, Any]]:
    """The records of a resumed rollout, its given steps with all their candidates."""
    head, *steps = _explained(rollout, run, decoding)
    return [head, *kept[: len(steps)], *steps[len(kept) :]]


def _explained(
    rollout: Rollout, run: str, decoding: str = DEFAULT, planner: Planner | None = None
) -> list[Mapping[str, Any]]:
    """The records of a rollout that a run made, or a planner made of it, with what explains every choice."""
    found = api.as_recorded(rollout, run, decoding, planner)
    return [found.head, *found.steps]


def _chosen(record: Mapping[str, Any]) -> tuple[Action, ...]:
    lines = record["candidates"][record["chosen"]]["actions"]
    return tuple(action for line in lines for action in parse_plan(line, "a recorded action"))


def _cost(candidate: Mapping[str, Any]) -> float:
    return float("inf") if candidate["cost"] is None else float(candidate["cost"])


def read(tell: Tell, problem: Mapping[str, str]) -> Answer:
    """What a problem declares, which runs of the store can plan in it, and which suites have its domain."""
    asked = _problem(problem)
    text, declared = checked(asked.alternatives()[0])
    runs, others = [], []
    for folder in run_folders():
        try:
            run = open_run(folder)
            planning_method(run.key.method)
            difference = run.domain_text.difference(text)
        except SgpError:
            continue  # what is damaged, does not plan or is of several domains fits nothing; 'sgp list runs' names it
        if difference:
            others.append(f"{run.key.domain} ({subject_of(run).planner.title}): the problem's domain {difference}")
        else:
            runs.append({"folder": str(folder), **subject_of(run).record()})
    return {
        "domain": text.name,
        "objects": len(text.constants) + len(declared.objects),
        "goals": len(declared.goal),
        "predicates": sorted(text.predicates),
        "actions": sorted(text.schemas),
        "runs": runs,
        "others": sorted(set(others)),
        "suites": _suites_with(text.signature),
        "methods": [list(pair) for pair in planning_variants()],
    }


def _suites_with(signature: Any) -> list[dict[str, str]]:
    from sgp.datasets.suite import suite_names

    found = []
    for name in suite_names():
        suite = load_suite(name)
        for domain in suite.domains:
            if "train" in suite.domain(domain).splits and suite.domain_text(domain).signature == signature:
                found.append({"suite": name, "domain": domain})
    return found


def train(tell: Tell, method: str, variant: str, domain: str, suite: str, seed: int) -> Answer:
    """A trained run of a suite's domain."""
    tell(doing=f"training {method} {variant} on {domain} of suite {suite}")
    return {"folder": str(api.train(method, domain, suite, variant, seed, device="cpu").folder)}


def record(tell: Tell, subject: Mapping[str, Any], problem: str, seconds: float) -> Answer:
    """The rollout of a measured attempt made again, its run trained where the store has none, and kept as a user's own.

    The subject (`Subject.record`) says which planner tried the problem of which split. The progress is that of `solve`.
    """
    about = read_subject(subject)
    given = next(
        (each for each in load_suite(about.suite).problems(about.domain, about.split) if each.name == problem), None
    )
    if given is None:
        raise InputError(
            f"{about.suite}/{about.domain}/{about.split} has no problem {problem!r}; choose a measured one"
        )
    run = train(tell, about.method, about.variant, about.domain, about.suite, about.seed or 0)["folder"]
    texts = {"name": given.name, "domain": given.domain_pddl, "problem": given.problem_pddl}
    head, *steps = solve(tell, run, texts, seconds, about.decoding or DEFAULT)["records"]
    file = Keeping(own_rollouts_folder(), about).path(problem)
    expert = kept_plans(load_suite(about.suite), about.domain, about.split).get(given.sha256)
    plan = [] if expert is None or expert.plan is None else [str(action) for action in expert.plan]
    write_records(file, [{**head, "about": about.record(), "expert": plan}, *steps])
    return {"file": str(file), "outcome": head["outcome"]}


def train_own(tell: Tell, method: str, variant: str, domain: str, problems: Sequence[Mapping[str, str]]) -> Answer:
    """A run trained on given problems, whose expert plans Fast Downward makes."""
    for each in problems:
        _problem({**each, "domain": domain})
    name = f"own-{sha256(repr((domain, problems)).encode()).hexdigest()[:10]}"
    with tempfile.TemporaryDirectory(prefix="sgp-own-") as folder:
        write_text(Path(folder, "own", "domain.pddl"), domain)
        for number, each in enumerate(problems, start=1):
            write_text(Path(folder, "own", "train", f"p{number:03}.pddl"), each["problem"])
        tell(doing=f"reading {len(problems)} training problems")
        suite = import_folder(Path(folder), name, overwrite=True)
    tell(doing=f"expert plans by Fast Downward, then training {method} {variant}")
    stages: tuple[Stage, ...] = tuple(Stage(each.name, EXPERT_SECONDS, each.search) for each in (OPTIMAL, SATISFICING))
    run = api.train(method, next(iter(suite.domains)), suite.name, variant, device="cpu", stages=stages)
    return {"folder": str(run.folder)}


def replay(tell: Tell, problem: Mapping[str, str], plan: str) -> Answer:
    """A given plan step by step, as far as its actions are applicable, and the verdict on the whole of it."""
    asked = _problem(problem)
    if len(plan) > MOST_CHARACTERS:
        raise InputError(f"the plan has {len(plan):,} characters; at most {MOST_CHARACTERS:,} are taken here")
    actions, lines = read_plan(plan, "plan")
    for each in asked.alternatives():
        task = _task(each)
        steps, end, stopped = _replayed(task, actions)
        reached = task.is_goal(end)
        if reached:
            break
    verdict = validate(asked, actions, lines=lines)
    rollout = Rollout(task, tuple(steps), Outcome.SOLVED if reached else Outcome.STUCK)
    head, *rest = records(rollout, Subject(method="given plan").record())
    head["outcome"] = "solved" if reached else "the plan ends short of the goal"
    return {
        **_shown([head, *rest]),
        "valid": verdict.valid,
        "judge": verdict.judge,
        "report": "\n".join(dict.fromkeys(filter(None, (verdict.reason, verdict.report.strip()[-4000:])))),
        "stopped": stopped,
    }


def _replayed(task: Task, actions: Sequence[Action]) -> tuple[list[Step], State, str]:
    """The steps of a plan as far as its actions are applicable, the last state, and why it stopped there."""
    steps, state = list[Step](), task.init
    for number, action in enumerate(actions, start=1):
        try:
            own = task.own(state, action)
        except PlanError as error:
            return steps, state, f"step {number} of {len(actions)}: {error}"
        after = task.after(state, own)
        marks = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8)
        steps.append(Step(state, [Successor(own.actions, after)], np.zeros(1), None, marks, 0))
        state = after
    return steps, state, ""


JOBS: Mapping[str, Callable[..., Answer]] = {
    each.__name__: each
    for each in (load, solve, branch, force, blame, reweighted, read, train, train_own, record, replay)
}
