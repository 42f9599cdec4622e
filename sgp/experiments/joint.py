"""Joint training, dynamic validation and scaling of runs.

One training, whose best checkpoint is selected by each of three validations, so that the selected planners differ only
by validation. Dynamic validation measures coverage on generated problems of growing size, until it falls to a
threshold. Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic
validation), sections 2 to 4.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from sgp.api import DEFAULT_SEED, measured_here
from sgp.datasets import runs as run_store
from sgp.datasets.generation import SCALING_SUITE
from sgp.datasets.runs import Run, RunKey, open_run
from sgp.datasets.store import home
from sgp.datasets.subject import Variant
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data, training_split
from sgp.domains import all_domains, serving
from sgp.domains.domain import Domain, Sizes
from sgp.errors import ConfigurationError, InputError, StoreError
from sgp.evaluation import scaling as curves
from sgp.evaluation.attempts import Attempt, run_all, subject_of
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource, curve_scores
from sgp.evaluation.scores import Measurement, select, to_frame
from sgp.files import read_json, write_json
from sgp.methods import get_method, planning_method, recorded_libraries, selectable
from sgp.methods.configuration import (
    configure,
    configure_decoding,
    decoded_identity,
    from_record,
    has_setting,
    with_settings,
)
from sgp.methods.contract import PlanningMethod
from sgp.methods.loading import load_planner
from sgp.models.device import choose_device
from sgp.planning.domain_matching import are_equivalent
from sgp.planning.experts import QUICK, STAGES
from sgp.planning.pddl import Action, Problem, parse_plan, read_domain
from sgp.planning.planner import Limit
from sgp.planning.policy import Successors
from sgp.planning.redundant_actions import without_redundant_actions
from sgp.planning.task import Task, Trajectory
from sgp.policies.decoding import DEFAULT, PORTFOLIO
from sgp.reports.papers import beside_ours
from sgp.reports.scaling_tables import SPLIT, curve_table, published_scales
from sgp.reports.table import Table
from sgp.solving import RunLike
from sgp.workers import Jobs, executor, processes

logger = logging.getLogger(__name__)
By = Literal["loss", "coverage", "dynamic"]
VALIDATIONS: tuple[By, ...] = get_args(By)
TOLERANCE = 1.02  # qualities of plans count as equal up to this factor
# Rules by which checkpoints are made and selected.
_SELECTION = {
    "tolerance": TOLERANCE,
    "second": "complement",
    "rounds": "geometric",
    "split": "as a size",
    "plans": "reduced",
    "lengths": "reduced",
    "problems": "grown",
}
VALIDATION_SEED = 2**32  # not a valid seed of an evaluation
PROBLEMS_OF_A_ROUND = 24  # generated problems that a round of expert iteration tries
MOST_CANDIDATES = 2_000_000  # in the decisions of own plans, which are held in memory with their embeddings
_DONE = "snapshots.json"


@dataclass(frozen=True)
class DynamicConfig:
    """Number of problems of a size, and the coverage that ends the validation (dynamic validation, appendix A).

    Sizes are all above the largest training problem's. With `multiples`, there is one problem of each of the first
    `problems` sizes from a multiple of it on instead, grown from training problems, and plans count without their
    redundant actions. `seconds` of CPU time limit a problem instead of the number of actions. `rounds` of expert
    iteration follow while the best planner leaves problems unsolved and the last round improved it.
    """

    problems: int = 10  # m
    threshold: float = 0.3  # tau
    multiples: tuple[float, ...] = ()
    seconds: float | None = None
    rounds: int = 0

    def __post_init__(self) -> None:
        if self.problems < 1:
            raise ConfigurationError(f"problems is {self.problems}; expected at least 1")
        if not 0 < self.threshold < 1:
            raise ConfigurationError(f"threshold is {self.threshold}; expected a number between 0 and 1")
        if list(self.multiples) != sorted(self.multiples) or min(self.multiples, default=2) <= 1:
            raise ConfigurationError(f"multiples are {self.multiples}; expected numbers above 1 that grow")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigurationError(f"seconds is {self.seconds}; expected a positive number")
        if self.rounds < 0:
            raise ConfigurationError(f"rounds is {self.rounds}; expected 0 or more")

    def groups(self, known: Sizes, after: int) -> Iterator[tuple[int, ...]]:
        """The sizes of each group of problems, ascending, if the largest training problem has `after` objects."""
        if not self.multiples:
            return ((size,) * self.problems for size in known.above(after))
        starts = (max(after, round(after * multiple) - 1) for multiple in self.multiples)
        groups = (tuple(islice(known.above(start), self.problems)) for start in starts)
        return iter({group[0]: group for group in groups if group}.values())

    def limit(self, bound: int) -> Limit:
        """The limit of a problem whose plans may have `bound` actions."""
        return Limit(bound) if self.seconds is None else Limit(seconds=self.seconds, processor=True)

    def length(self, attempt: Attempt, problem: Problem) -> int:
        """The number of actions of an attempt's plan, at least 1; 0 without a plan."""
        if not attempt.solved:
            return 0
        return max(1, len(reduced_plan(attempt, problem)[1] if self.multiples else attempt.plan))


PAPER_CONFIG = DynamicConfig()  # section 2, algorithm 2: every size above training
LARGER_SIZES = DynamicConfig(problems=3, multiples=(2, 5, 10, 20, 50), seconds=10.0, rounds=3)  # ours


class DynamicCoverage(NamedTuple):
    """Coverage and numbers of actions by size (0 for an unsolved problem), and milliseconds of a decision.

    A group of different sizes is named by its smallest. `milliseconds` is the mean at the largest size, 0 without a
    decision.
    """

    sizes: Mapping[int, float]
    lengths: Mapping[int, tuple[int, ...]]
    milliseconds: float

    @classmethod
    def of(cls, lengths: Mapping[int, tuple[int, ...]], attempts: Sequence[Attempt]) -> DynamicCoverage:
        """Summarise attempts, given the numbers of actions by size."""
        largest = max(attempt.size for attempt in attempts)
        seconds, decisions = np.sum(
            [(attempt.seconds, attempt.decisions) for attempt in attempts if attempt.size == largest], axis=0
        ).tolist()
        coverage = {size: mean(length > 0 for length in found) for size, found in lengths.items()}
        return cls(coverage, lengths, 1000 * seconds / decisions if decisions else 0.0)


def dynamic_coverage(
    planner: EvaluatedPlanner,
    source: ProblemSource,
    after: int,
    bound: int,
    config: DynamicConfig = PAPER_CONFIG,
    jobs: Jobs = 1,
) -> DynamicCoverage:
    """Coverage from the first group of sizes above `after` to the first in which it is at most the threshold.

    The sum of coverages is the score of the planner. All planners try the same problems; a plan has at most `bound`
    actions. Each worker tries one group at a time.
    """
    lengths: dict[int, tuple[int, ...]] = {}
    evaluated: list[Attempt] = []
    groups = config.groups(source.sizes, after)
    while batch := list(islice(groups, executor(jobs).slots)):
        problems = [[source.problem(size, number) for number, size in enumerate(group, start=1)] for group in batch]
        distinct = [tuple({problem.sha256: problem for problem in drawn}.values()) for drawn in problems]
        works = [planner.batch(drawn, config.limit(bound)) for drawn in distinct]
        title = f"dynamic validation, {source.domain.name}, {batch[0][0]} objects"
        results = run_all(works, planner.load, jobs, title)
        for group, drawn, tried, attempts in zip(batch, problems, distinct, results, strict=True):
            pairs = zip(attempts, tried, strict=True)
            found = {problem.sha256: config.length(attempt, problem) for attempt, problem in pairs}
            lengths[group[0]] = tuple(found[problem.sha256] for problem in drawn)
            evaluated += attempts
            if mean(length > 0 for length in lengths[group[0]]) <= config.threshold:
                return DynamicCoverage.of(lengths, evaluated)
    return DynamicCoverage.of(lengths, evaluated)


def reduced_plan(attempt: Attempt, problem: Problem) -> tuple[Task, tuple[Action, ...]]:
    """The task of an attempt that solved the problem, and the plan without redundant actions."""
    found = Trajectory.of(Task(problem), parse_plan("\n".join(attempt.plan)))
    return found.task, without_redundant_actions(found.task, found.actions)


def coverage_of_given(
    planner: EvaluatedPlanner, problems: Sequence[Problem], bound: int, config: DynamicConfig, jobs: Jobs = 1
) -> DynamicCoverage:
    """Coverage by size on given problems, if none can be generated."""
    work = planner.batch(tuple(problems), config.limit(bound))
    (attempts,) = run_all([work], planner.load, jobs, "validation on given problems")
    lengths: dict[int, tuple[int, ...]] = {}
    pairs = sorted(zip(attempts, problems, strict=True), key=lambda pair: pair[0].size)
    for attempt, problem in pairs:
        lengths[attempt.size] = (*lengths.get(attempt.size, ()), config.length(attempt, problem))
    return DynamicCoverage.of(lengths, attempts)


@dataclass(frozen=True)
class Validated:
    """A checkpoint and its validation: loss and coverage on the validation split, dynamic coverage by size.

    The loss is None after expert iteration, where it is not computed.
    """

    name: str
    loss: float | None
    coverage: float
    sizes: Mapping[int, float]
    lengths: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # actions by size, 0 if unsolved
    validation_lengths: tuple[int, ...] = ()  # actions on the validation split
    milliseconds: float = field(default=0.0, compare=False)  # of a decision at the largest size

    @property
    def solved_all(self) -> bool:
        """Whether every larger problem was solved."""
        return min(self.sizes.values()) == 1

    @property
    def plan_lengths(self) -> Mapping[int, tuple[int, ...]]:
        """The numbers of actions by size, those of the validation split as size 0."""
        return {0: self.validation_lengths, **self.lengths} if self.validation_lengths else self.lengths

    @property
    def dynamic(self) -> float:
        """The sum of the coverages of all sizes (algorithm 2)."""
        return sum(self.sizes.values())

    def score(self, by: By) -> float:
        """The higher, the better."""
        loss = math.inf if self.loss is None else self.loss
        return {"loss": -loss, "coverage": self.coverage, "dynamic": self.dynamic}[by]


@dataclass(frozen=True)
class JointTraining:
    """The run selected by each validation method, all checkpoints, and the place (from 0) of each selected one."""

    runs: Mapping[By, Run]
    checkpoints: Sequence[Validated]
    selected: Mapping[By, int]


def train_jointly(
    method: str,
    domain: str,
    suite: str,
    variant: str | None = None,
    seed: int = DEFAULT_SEED,
    device: str = "auto",
    jobs: Jobs = 1,
    overrides: Mapping[str, str] | None = None,
    config: DynamicConfig | None = None,
    again: bool = False,
    watch: Callable[[Validated], None] = lambda validated: None,
) -> JointTraining:
    """Train once, validate every checkpoint in three ways, and save the best by each (the first if tied) as a run.

    The variants are named `VARIANT+by=loss`, `+by=coverage` (both on the suite's split `validation`) and
    `+by=dynamic` (on generated problems larger than all training problems, or on the largest of the suite if none can
    be generated). Without a `config`, suite `scaling` uses its paper's rules and others `LARGER_SIZES`. Missing expert
    plans are made by `QUICK`; a problem without a plan is left out of later trainings, too, until
    `python -m sgp.experiments.bundle experts --retry`. Without a limit on seconds, plans have at most L actions: the
    domain's bound, or three times the mean length of the expert plans for the largest training problems.

    With `config.rounds`, the planner that is best by dynamic validation is trained again on the plans that it finds
    itself (expert iteration; Anthony, Tian and Barber 2017): for training problems without an expert plan, and for
    generated problems that grow with each round. These planners are checkpoints as well. Validation problems are never
    among them.

    `watch` is called with every validated checkpoint. Results are stored, so that an interrupted training resumes.
    Validation uses `jobs` processes or workers.
    """
    learner, checkpointed = get_method(method), selectable(method)
    rules = config or (PAPER_CONFIG if suite == SCALING_SUITE else LARGER_SIZES)
    name, settings = configure(learner, variant, overrides)
    planning = planning_method(method)
    configure_decoding(planning, settings.decoding)  # raises before anything is trained
    chosen = choose_device(device)
    data = load_training_data(load_suite(suite), domain, STAGES if suite == SCALING_SUITE else QUICK, processes(jobs))
    source = generator_for(data.domain_pddl, data.domain, VALIDATION_SEED, tracked=bool(rules.multiples))
    bound = plan_bound(None if source is None else source.domain, lambda: data)
    trial = _Trial(data, source, bound, rules, planning, jobs)
    trial.warn()
    libraries = recorded_libraries(learner)
    with_second = PORTFOLIO in planning.decodings  # whether a second planner is saved beside the best
    decodings = [asdict(decoding) for decoding in planning.decodings.values()]
    facts = [learner.key, with_second, asdict(settings), decodings, checkpointed.sweep, _SELECTION, seed]
    facts += [data.sha256, trial.bound, asdict(rules), run_store.library_versions(libraries)]
    identity = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    keys = {
        by: RunKey(learner.key, str(Variant(name, selected_by=by)), data.suite, data.domain, seed) for by in VALIDATIONS
    }
    folder = home() / "joint" / identity
    if again:
        shutil.rmtree(folder, ignore_errors=True)
    done = _read(folder / _DONE)
    if done and all(_is_of(key, identity) for key in keys.values()):
        return JointTraining({by: open_run(key.folder) for by, key in keys.items()}, done, _selected(done))
    for checkpoint in checkpointed.checkpoints(settings, data, folder / "training", seed, chosen, len(done)):
        place = folder / str(len(done))
        origin = run_store.Origin(asdict(checkpoint.training), data.domains, data.facts, chosen, libraries)
        same = next((validated for validated in done if validated.name == checkpoint.like), None)
        if same is None:
            with run_store.new_run(keys["dynamic"], origin, place) as draft:
                checkpoint.save(draft)
            done.append(trial.validated(checkpoint.name, checkpoint.loss, open_run(place)))
        else:
            done.append(replace(same, name=checkpoint.name))
        write_json(folder / _DONE, [asdict(validated) for validated in done])
        if not rules.multiples:  # a later one changes no earlier one's score
            _keep_selected(folder, done, with_second)
        watch(done[-1])
    for number, teacher, own in trial.rounds(folder, done, len(checkpointed.sweep)):
        training = _with_all_plans(from_record(type(settings), teacher.training))
        origin = run_store.Origin(asdict(training), data.domains, data.facts, chosen, libraries)
        with run_store.new_run(keys["dynamic"], origin, folder / str(len(done))) as draft:
            draft.facts["own_plans"] = len(own)
            learner.train(training, data.extended(own), draft)
        done.append(trial.validated(f"expert iteration, round {number}", None, open_run(folder / str(len(done)))))
        write_json(folder / _DONE, [asdict(validated) for validated in done])
        watch(done[-1])
    best, second = _selected(done), _second(done) if with_second else None
    _keep_selected(folder, done, with_second)
    for by, key in keys.items():
        selection = {"joint": identity, "by": by, "snapshot": done[best[by]].name}
        beside_best = None
        if by == "dynamic" and second is not None:
            selection["second"], beside_best = done[second].name, open_run(folder / str(second))
        _save(open_run(folder / str(best[by])), key, selection, beside_best)
    return JointTraining({by: open_run(key.folder) for by, key in keys.items()}, done, best)


def _keep_selected(folder: Path, checkpoints: Sequence[Validated], with_second: bool) -> None:
    """Remove the runs of the checkpoints that no validation selects."""
    needed = (*_selected(checkpoints).values(), _second(checkpoints) if with_second else None)
    for number in set(range(len(checkpoints))).difference(needed):
        shutil.rmtree(folder / str(number), ignore_errors=True)


@dataclass(frozen=True)
class _Trial:
    """The problems and limits that all checkpoints are validated by."""

    data: Demonstrations
    source: ProblemSource | None
    bound: int
    rules: DynamicConfig
    method: PlanningMethod
    jobs: Jobs

    @cached_property
    def given(self) -> tuple[Problem, ...]:
        """The largest quarter of the suite's problems if no larger ones can be generated, else none."""
        if self.source is not None and next(self.rules.groups(self.source.sizes, self.largest), None):
            return ()
        tasks = sorted((each.task for each in (*self.data.train, *self.data.validation)), key=lambda task: task.size)
        return tuple(dict.fromkeys(task.problem for task in tasks[-(-3 * len(tasks) // 4) :] or tasks))

    @cached_property
    def larger(self) -> ProblemSource | None:
        """The source of larger problems, with `multiples` of such as grow from training problems."""
        if self.source is None or not self.rules.multiples:
            return self.source
        return self.source.like(each.task.problem for each in self.data.train)

    @property
    def largest(self) -> int:
        """Objects of the largest training problem, without constants."""
        return max(each.task.size - len(each.task.domain_text.constants) for each in self.data.train)

    def warn(self) -> None:
        """Warn if the validation has no larger problems."""
        if self.given:
            logger.warning(
                "no problems of %s with more than %d objects can be generated: the validation falls back on the %d "
                "largest of suite %s, most of which were trained on",
                *(self.data.domain, self.largest, len(self.given), self.data.suite),
            )

    def planner(self, run: Run) -> EvaluatedPlanner:
        """The planner of a run with the decoding that validation uses."""
        identity = decoded_identity(self.method, run.planner_sha256, run.training, DEFAULT)
        return EvaluatedPlanner(str(run.folder), identity, load_planner)

    def rounds(
        self, folder: Path, done: Sequence[Validated], sweep: int
    ) -> Iterator[tuple[int, Run, Sequence[Trajectory]]]:
        """Yield each round's number, the best run so far, and the plans that the best runs have found themselves.

        `done` grows by one between rounds, after the `sweep` of the training; rounds that it has are not repeated.
        """
        plans: list[Trajectory] = []
        for number in range(1, self.rules.rounds + 1 if sweep else 1):
            before = done[: sweep + number - 1]
            best = _selected(before)["dynamic"]
            if before[best].solved_all or (number > 1 and best < len(before) - 1):
                return
            teacher = open_run(folder / str(best))
            found = self.own_plans(teacher, number)
            if not found:
                return
            plans = within_memory([*plans, *found], load_planner(teacher).successors)
            if len(before) == len(done):
                yield number, teacher, plans

    def own_plans(self, run: Run, number: int) -> list[Trajectory]:
        """The plans that a run finds for the problems of a round (from 1), without redundant actions.

        Each has the limit of a validation problem.

        The first round has the training problems without an expert plan. The sizes of the generated ones are
        geometrically spaced, up to the next multiple of the largest training problem's that validation uses. Problems
        of too many actions to instantiate are left out, because plans are renamed for labels up to symmetry.
        """
        known = {each.task.problem.sha256 for each in (*self.data.train, *self.data.validation)}
        suite, domain = load_suite(self.data.suite), self.data.domain
        problems = list(suite.problems(domain, training_split(suite, domain))) if number == 1 else []
        if self.larger is not None:
            source = replace(self.larger, seed=self.larger.seed + number)
            multiples = self.rules.multiples or (2.0,)
            largest = multiples[min(number, len(multiples) - 1)] * self.largest
            for place, objects in enumerate(np.geomspace(self.largest, largest, PROBLEMS_OF_A_ROUND), start=1):
                problems.append(source.problem(source.sizes.nearest(round(objects)), place))
        problems = [each for each in problems if each.sha256 not in known and Task(each).model is not None]
        new = {problem.sha256: problem for problem in problems}
        if not new:
            return []
        work = self.planner(run).batch(tuple(new.values()), self.rules.limit(self.bound))
        (attempts,) = run_all([work], load_planner, self.jobs, f"round {number}, {domain}")
        return [Trajectory.of(*reduced_plan(attempt, new[attempt.sha256])) for attempt in attempts if attempt.plan]

    def validated(self, name: str, loss: float | None, run: Run) -> Validated:
        """Validate the run of a checkpoint."""
        planner, problems = self.planner(run), [each.task.problem for each in self.data.validation]
        work = planner.batch(tuple(problems), self.rules.limit(self.bound))
        title = f"{name}, {self.data.domain} validation"
        (attempts,) = run_all([work], load_planner, self.jobs, title)
        if self.given or self.larger is None:
            larger = coverage_of_given(planner, self.given, self.bound, self.rules, self.jobs)
        else:
            larger = dynamic_coverage(planner, self.larger, self.largest, self.bound, self.rules, self.jobs)
        own = tuple(map(self.rules.length, attempts, problems))
        coverage = mean(length > 0 for length in own)
        validated = Validated(name, loss, coverage, larger.sizes, milliseconds=larger.milliseconds)
        if not self.rules.multiples:  # the paper's rules have coverage alone
            return validated
        return replace(validated, lengths=larger.lengths, validation_lengths=own)


def within_memory(plans: Sequence[Trajectory], successors: Successors) -> list[Trajectory]:
    """Leave out the plans with the most candidates, so that all others have at most MOST_CANDIDATES together.

    The number of candidates is estimated from the initial state.
    """
    counts = np.array([len(plan) * len(successors(plan.task, plan.task.init)) for plan in plans], np.int64)
    order = np.argsort(counts, kind="stable")
    kept = order[np.cumsum(counts[order]) <= MOST_CANDIDATES]
    if len(kept) < len(plans):
        logger.warning(
            "%d of %d own plans are left out, because their decisions have too many candidates for the memory",
            *(len(plans) - len(kept), len(plans)),
        )
    return [plans[place] for place in sorted(kept.tolist())]


def _with_all_plans(training: Any) -> Any:
    """The configuration with labels also from plans of problems whose state space is too large to expand."""
    source = "labels.source"
    if has_setting(training, source) and training.labels.source == "optimal-only":
        return with_settings(training, {source: "optimal"})
    return training


def _selected(checkpoints: Sequence[Validated]) -> dict[By, int]:
    """The place of the first checkpoint that is best by each validation method."""
    return {by: _first_best(checkpoints, range(len(checkpoints)), by) for by in VALIDATIONS}


def _second(checkpoints: Sequence[Validated]) -> int | None:
    """The place of the checkpoint that a portfolio tries after the best; None if all are equivalent.

    With lengths of plans it is the one that solves most of what the best by dynamic validation leaves unsolved, of
    several the best of them; otherwise the second best.
    """
    best = checkpoints[_selected(checkpoints)["dynamic"]]
    others = [place for place, other in enumerate(checkpoints) if replace(other, name=best.name) != best]
    gains = {place: _gain(best, checkpoints[place]) for place in others}
    largest = max(gains.values(), default=0.0)
    others = [place for place in others if gains[place] == largest]
    return _first_best(checkpoints, others, "dynamic") if others else None


def _gain(best: Validated, other: Validated) -> float:
    """The coverage, summed over sizes, of problems that `other` solves and `best` does not; 0 without lengths."""
    found, gain = best.plan_lengths, 0.0
    for size, lengths in other.plan_lengths.items():
        solved = found.get(size, (0,) * len(lengths))
        gain += mean(own > 0 and not length for own, length in zip(lengths, solved, strict=True))
    return gain


def _first_best(checkpoints: Sequence[Validated], places: Sequence[int], by: By) -> int:
    """The first of some places with the highest score; by the quality of plans, with about the highest."""
    quality = _quality(checkpoints)
    if by == "dynamic" and quality:
        enough = max(quality[place] for place in places) / TOLERANCE
        return next(place for place in places if quality[place] >= enough)
    highest = max(checkpoints[place].score(by) for place in places)
    return next(place for place in places if checkpoints[place].score(by) == highest)


def _quality(checkpoints: Sequence[Validated]) -> list[float]:
    """The quality of each checkpoint's plans; [] without plans' lengths.

    A solved problem counts the number of actions of the shortest plan that a checkpoint found, divided by that of its
    own plan, as in the satisficing tracks of the IPC. The quality is the sum over sizes of the mean over problems; the
    validation split counts as a size.
    """
    if not all(checkpoint.lengths for checkpoint in checkpoints):
        return []
    shortest: dict[tuple[int, int], int] = {}
    for checkpoint in checkpoints:
        for size, lengths in checkpoint.plan_lengths.items():
            for number, length in enumerate(lengths):
                if length:
                    shortest[size, number] = min(length, shortest.get((size, number), length))
    return [
        sum(
            mean(shortest[size, number] / length if length else 0.0 for number, length in enumerate(lengths))
            for size, lengths in checkpoint.plan_lengths.items()
        )
        for checkpoint in checkpoints
    ]


def _save(run: Run, key: RunKey, selection: Mapping[str, str], second: Run | None) -> None:
    """Copy a checkpoint's run to its folder in the store, with the second planner beside it."""
    with run_store.new_run(key, run.origin) as draft:
        for name in run.record["files"]:
            shutil.copyfile(run.folder / name, draft.folder / name)
        draft.facts.update(run.record["facts"], selection=dict(selection))
        draft.check.update(run.record["check"])
        if second is not None:
            for name in second.record["files"]:
                shutil.copyfile(second.folder / name, draft.folder / f"{run_store.SECOND}{name}")
            beside, facts = run_store.BESIDE_THE_PLANNER, second.record["facts"].items()
            own = {name: second.record[name] for name in ("training", "check")}
            draft.facts["second"] = {**own, "facts": {name: value for name, value in facts if name not in beside}}


def _is_of(key: RunKey, identity: str) -> bool:
    """Whether the store has an undamaged run of this joint training."""
    try:
        run = run_store.find_run(key)
    except StoreError:
        return False
    return run is not None and run.record["facts"].get("selection", {}).get("joint") == identity


def _read(file: Path) -> list[Validated]:
    try:
        records = read_json(file) if file.is_file() else []
        return [
            Validated(
                **{
                    **record,
                    "sizes": {int(size): float(value) for size, value in record["sizes"].items()},
                    "lengths": {int(size): tuple(map(int, lengths)) for size, lengths in record["lengths"].items()},
                    "validation_lengths": tuple(map(int, record["validation_lengths"])),
                }
            )
            for record in records
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"{file} holds no validated checkpoints ({error!r}); remove its folder and train again"
        ) from error


def joint_table(training: JointTraining, title: str) -> Table:
    """The checkpoints, one a row, with the validations that selected them."""
    rows = []
    quality = _quality(training.checkpoints)
    for place, checkpoint in enumerate(training.checkpoints):
        loss = "" if checkpoint.loss is None else f"{checkpoint.loss:.3f}"
        numbers = (loss, f"{checkpoint.coverage:.2f}", f"{checkpoint.dynamic:.1f}")
        plans = f"{quality[place]:.2f}" if quality else ""
        selected_by = ", ".join(by for by, selected in training.selected.items() if selected == place)
        cost = f"{checkpoint.milliseconds:.1f}"
        rows.append((checkpoint.name, *numbers, plans, str(max(checkpoint.sizes, default="")), cost, selected_by))
    headings = (
        *("planner", "loss", "coverage", "dynamic", "quality"),
        *("largest size", "ms per decision", "selected by"),
    )
    return Table.of(title, headings, rows)


def scaling(
    run: RunLike,
    config: curves.ScalingConfig = curves.DEFAULT_CONFIG,
    seed: int = 0,
    jobs: Jobs = 1,
    bound: int | None = None,
    hours: float = math.inf,
    watch: Callable[[curves.CurvePoint], None] = lambda measured: None,
    decoding: str = DEFAULT,
) -> curves.Curve:
    """How far a run scales: its coverage at every size of its domain, on problems generated from `seed`.

    A plan for a problem of n objects may have `bound` + n actions; the default bound is `plan_bound` of the training
    data. After so many `hours` no problem is begun, and the curve reports it. `watch` sees every size as it is
    done. Results are saved, so that the same call resumes. `scaling_scores` gives a curve's numbers. `jobs` as for
    `evaluate`. Source: dynamic validation, algorithm 3.
    """
    if not hours >= 0:
        raise ConfigurationError(f"hours is {hours}; expected 0 or more")
    opened = open_run(run)
    source = generator_for(opened.domain_pddl, opened.key.domain, seed)
    if source is None:
        known = ", ".join(domain.name for domain in all_domains())
        raise InputError(f"there is no built-in generator for problems of {opened.key.domain}; choose one of {known}")
    method = planning_method(opened.key.method)
    name, _ = configure_decoding(method, decoding)
    identity = decoded_identity(method, opened.planner_sha256, opened.training, name)
    planner = EvaluatedPlanner(str(opened.folder), identity, load_planner, name)
    until = time.monotonic() + 3600 * hours
    if bound is None:
        bound = plan_bound(source.domain, lambda: load_training_data(load_suite(opened.key.suite), opened.key.domain))
    return curves.scaling(planner, source, bound, config, jobs, until, watch)


def scaling_beside(
    run: RunLike, config: curves.ScalingConfig, seed: int, jobs: Jobs, bound: int | None, hours: float, decoding: str
) -> tuple[pd.DataFrame, Table, pd.DataFrame]:
    """Scores and table of `scaling`, and the published numbers; the default largest size is twice their Scale."""
    opened = open_run(run)
    key, published = opened.key, select(beside_ours(), split=SPLIT)
    words, largest = published_scales(published, key.domain)
    config = replace(config, largest=config.largest or largest)
    curve = scaling(run, config, seed, jobs, bound, hours, decoding=decoding)
    scores = scaling_scores(curve, run, None, config, jobs, decoding)
    title = f"{subject_of(opened, decoding=decoding).planner.title} on {key.domain}, trained on {key.suite}"
    return scores, curve_table(curve, title, config.kappa, words), published


def scaling_scores(
    curve: curves.Curve,
    run: RunLike,
    properties: Mapping[str, curves.Property] | None = None,
    config: curves.ScalingConfig = curves.DEFAULT_CONFIG,
    jobs: Jobs = 1,
    decoding: str = DEFAULT,
) -> pd.DataFrame:
    """The scores of a run's curve (`curve_scores`), noted with where it is measured and with the time limit."""
    opened = open_run(run)
    limited = "" if config.seconds is None else f"; at most {config.seconds:g} seconds"
    subject = subject_of(opened, split=SPLIT, decoding=decoding)
    measurement = Measurement(**vars(subject), note=f"{measured_here(opened, jobs)}{limited}")
    return to_frame(curve_scores(curve, measurement, properties))


def generator_for(domain_pddl: str, name: str, seed: int, tracked: bool = False) -> ProblemSource | None:
    """Generator of problems of a domain with the names of its PDDL; None without an equivalent built-in domain."""
    text = read_domain(domain_pddl, name)
    domain = serving(text)
    if domain is not None:
        model = next(model for model, own in domain.texts.items() if own.signature == text.signature)
        return ProblemSource(domain, model, seed, tracked)
    similar = (each for each in all_domains() if are_equivalent(next(iter(each.texts.values())), text))
    return next((ProblemSource(domain, domain_pddl, seed, tracked) for domain in similar), None)


def plan_bound(domain: Domain | None, data: Callable[[], Demonstrations]) -> int:
    """L (dynamic validation, section 2): the domain's, or 3N, N the mean plan of the largest training problems."""
    if domain is not None and domain.scaling is not None and domain.scaling.bound is not None:
        return domain.scaling.bound
    train = data().train
    largest = max(trajectory.task.size for trajectory in train)
    return round(curves.BOUND_FACTOR * mean(len(plan) for plan in train if plan.task.size == largest))
