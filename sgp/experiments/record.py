"""Recording of rollouts with experts' plans, explanations and maps, and the demo: train, plan, validate, compare."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.markup import escape

from sgp.analysis.diagnostics import exact_distances_of, remaining, remaining_in_passing
from sgp.analysis.explanations import step_records
from sgp.api import Evaluation, evaluate, map_run, train
from sgp.datasets.experts import saved_plans
from sgp.datasets.recorded import PACKED, Bounds, Recorded, map_file, read_recorded
from sgp.datasets.recording import records, replayed, with_distances, write_records
from sgp.datasets.runs import Run
from sgp.datasets.store import home
from sgp.datasets.suite import Suite, load_suite
from sgp.errors import InputError, MissingLibrary
from sgp.evaluation.attempts import Attempt, RolloutRecorder, subject_of
from sgp.evaluation.scores import write_scores
from sgp.installed import has_dashboard
from sgp.methods import get_method
from sgp.methods.loading import load_planner
from sgp.planning.experts import LAMA_FIRST, OPTIMAL, PATTERN_DATABASES
from sgp.planning.rollout import Rollout
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory
from sgp.planning.validation import confirm
from sgp.policies.decoding import DEFAULT
from sgp.progress import track
from sgp.reports.papers import beside_ours
from sgp.reports.tables import coverage_table
from sgp.viewer.library import own_rollouts_folder, rollout_files
from sgp.workers import run_tasks

SPLIT = "extrapolation"
GREEDY = "greedy"  # a decoding
_SEARCHED = 256  # most states of a rollout from which plans are searched
_BRIEFLY = (replace(LAMA_FIRST, seconds=5.0),)


@dataclass(frozen=True)
class Recording:
    """What is recorded of every domain of a suite; every planner is trained in seconds.

    All planners are recorded on the same `shared` problems, so that any two can be compared: of the `among` smallest
    those that most planners leave unsolved. Beside them each planner's smallest unsolved one, where it solved those,
    and of the `foremost` planners, evaluated on the whole split, the largest solved one whose record has at most
    `largest` bytes. Planners in `also_greedy` are recorded with greedy decoding, too, on those of their problems that
    only one of both decodings solves.
    """

    foremost: Sequence[tuple[str, str | None]] = (
        ("contrastive-jumps", None),
        ("contrastive-jumps", "one-step"),
        ("state-centric", "wl-xgboost-delta"),
    )
    others: Sequence[tuple[str, str | None]] = (
        ("state-centric", "wl-xgboost-state"),
        ("state-centric", "fsf-xgboost-delta"),
        ("state-centric", "fsf-xgboost-state"),
        ("contrastive-delta", "wl"),
        ("zero-change", "wl"),
        ("random-successor", "unvisited"),
    )
    also_greedy: Sequence[tuple[str, str | None]] = (("state-centric", "wl-xgboost-delta"),)
    shared: int = 2
    among: int = 6
    largest: int = 250_000


def record(folder: Path | str, suite: str, what: Recording | None = None, jobs: int = 1) -> list[Path]:
    """Train planners on every domain of a suite and write their rollouts, replacing those of the folder."""
    target, source, what = Path(folder), load_suite(suite), what or Recording()
    planners = (*what.foremost, *what.others)
    written: list[Path] = []
    for domain in source.domains:
        runs = [train(method, domain, suite, variant, jobs=jobs) for method, variant in planners]
        attempts_of = evaluate(runs, suite, [SPLIT], jobs).attempts
        attempts = [_by_size(attempts_of[str(run.folder), DEFAULT, SPLIT]) for run in runs]
        unsolved = Counter(each.problem for some in attempts for each in some[: what.among] if not each.solved)
        smallest = [each.problem for each in attempts[0][: what.among]]
        shared = sorted(smallest, key=lambda problem: -unsolved[problem])[: what.shared]  # of equally many the smaller
        for place, (run, some) in enumerate(zip(track(runs, f"record {domain}"), attempts, strict=True)):
            names = list(shared)
            failed = [each.problem for each in some if not each.solved]
            if not set(failed) & set(shared):
                names += failed[:1]
            rollouts = _planned(run, source, names)
            solved = [each.problem for each in reversed(some) if each.solved] if place < len(what.foremost) else []
            for problem in solved:
                rollout = {**_planned(run, source, {problem} - set(rollouts)), **rollouts}[problem]
                if sum(len(json.dumps(each)) + 1 for each in records(rollout)) <= what.largest:
                    rollouts[problem] = rollout
                    break
            stem = f"{domain}-{run.key.method}-{run.key.variant}"
            files = {
                target / f"{stem}-{name}-{rollout.outcome.value}.jsonl{PACKED}": rollout
                for name, rollout in rollouts.items()
            }
            written += write_rollouts(run, source, files)
            if planners[place] in what.also_greedy:
                greedy = _planned(run, source, rollouts, GREEDY)
                files = {
                    target / f"{stem}-{name}-{rollout.outcome.value}_{GREEDY}.jsonl{PACKED}": rollout
                    for name, rollout in greedy.items()
                    if rollout.solved != rollouts[name].solved
                }
                written += write_rollouts(run, source, files, decoding=GREEDY)
    for stale in {*rollout_files(target), *target.glob("*.map.json")} - set(written):
        stale.unlink()
    return written


def record_attempted(folder: Path | str, run: Run, suite: str, attempts: Sequence[Attempt]) -> list[Path]:
    """Record two of the problems of the split on which a run was evaluated: the solved one of median size, the smallest
    unsolved one.

    These problems are planned again, except recordings newer than the run. Maps are by PCA alone; `sgp map` adds UMAP.
    """
    source, some = load_suite(suite), _by_size(attempts)
    solved = [each.problem for each in some if each.solved]
    chosen = [*solved[len(solved) // 2 :][:1], *[each.problem for each in some if not each.solved][:1]]
    recorder = RolloutRecorder(Path(folder), subject_of(run, suite, split=SPLIT))
    files = [recorder.path(problem) for problem in chosen]
    trained = (run.folder / "run.json").stat().st_mtime
    if not all(map_file(file).is_file() and map_file(file).stat().st_mtime > trained for file in files):
        rollouts = _planned(run, source, chosen)
        write_rollouts(
            run, source, {recorder.path(name): rollout for name, rollout in rollouts.items()}, thorough=False
        )
    return files


def add_distances(files: Iterable[Path], space: int, seconds: float) -> Iterator[Path]:
    """Add the distances to the goal to files of one recorded rollout each; yield each file that was written.

    They are exact if the state space has at most `space` states; otherwise `remaining` bounds them, with `seconds` for
    an optimal plan from each state. Files that have distances are skipped, so that an interrupted call can be repeated.
    Raises InputError for a file of several rollouts, before any is written.
    """
    optimal = (replace(OPTIMAL, seconds=1.0), replace(PATTERN_DATABASES, seconds=seconds))
    groups: dict[str, list[tuple[Path, Recorded]]] = {}
    for file in files:
        found = read_recorded(file)
        if len(found) != 1:
            raise InputError(f"{file} has {len(found)} rollouts; expected one, as 'sgp evaluate --record' writes it")
        (recorded,) = found
        if not isinstance(recorded.head.get("left"), list):
            groups.setdefault(recorded.head["sha256"], []).append((file, recorded))
    for group in track(sorted(groups.values(), key=lambda group: len(group[0][1].problem.objects)), "distances"):
        task = replayed(group[0][1]).task
        rollouts = [replayed(recorded, task) for _, recorded in group]
        exact = list(exact_distances_of(task, rollouts, space))
        known: dict[State, Bounds] = {}
        for place, ((file, recorded), rollout) in enumerate(zip(group, rollouts, strict=True)):
            left = (
                exact[place] if exact else remaining(rollout, recorded.expert, 0, _SEARCHED, optimal, _BRIEFLY, known)
            )
            write_records(file, with_distances([recorded.head, *recorded.steps], left.record()))
            yield file


def _by_size(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Attempts at different problems, by objects and then by name."""
    different = {each.sha256: each for each in reversed(attempts)}
    return sorted(different.values(), key=lambda each: (each.size, each.problem))


def _planned(run: Run, suite: Suite, names: Collection[str], decoding: str = DEFAULT) -> dict[str, Rollout]:
    """Rollouts of some problems of the split by their names, without notes; VAL has accepted their plans."""
    problems = {each.name: each for each in suite.problems(run.key.domain, SPLIT)}
    rollouts = load_planner(str(run.folder), decoding).solve_many([Task(problems[name]) for name in names])
    for rollout in rollouts:
        confirm(rollout)
    return {rollout.task.name: rollout.without_notes() for rollout in rollouts}


def write_rollouts(
    run: Run,
    suite: Suite,
    rollouts: Mapping[Path, Rollout],
    split: str = SPLIT,
    thorough: bool = True,
    decoding: str = DEFAULT,
) -> list[Path]:
    """Write each rollout of a run to its file, with a map beside it; return all files that were written."""
    experts, policy = saved_plans(suite, run.key.domain, split), load_planner(str(run.folder), decoding).policy
    written = list[Path]()
    for file, rollout in rollouts.items():
        expert = experts.get(rollout.task.problem.sha256)
        plan = () if expert is None or expert.plan is None else Trajectory.of(rollout.task, expert.plan).actions
        why = step_records(rollout, policy, plan)
        about = subject_of(run, suite.name, split=split, decoding=decoding).record()
        left = None if thorough else remaining_in_passing(rollout)
        made = records(rollout, about, plan, why)
        write_records(file, made if left is None else with_distances(made, left.record()))
        written += [file, *map_run(run.folder, [file], thorough)[1:]]  # alone, it has room for all its candidates
    return written


SUITE = "state-centric"
LEARNED = (("contrastive-jumps", "aiw"), ("state-centric", "wl-xgboost-delta"))
METHODS = (*LEARNED, ("goal-count", "unsatisfied"), ("zero-change", "wl"), ("random-successor", "unvisited"))


def run_demo(jobs: int, console: Console) -> Evaluation:
    """Train the demo's methods on every domain of the bundled suite and print coverage beside the paper's."""
    started = time.perf_counter()
    domains = list(load_suite(SUITE).domains)
    methods = list[tuple[str, str]]()
    for method, variant in METHODS:
        try:
            get_method(method)
            methods.append((method, variant))
        except MissingLibrary as error:
            console.print(f"Left out: {escape(str(error))}.", highlight=False)
    work = [(method, domain, SUITE, variant) for domain in domains for method, variant in methods]
    console.print(
        f"Training on small problems of {', '.join(domains)}, then planning on larger ones; this takes some minutes."
    )
    runs = run_tasks(jobs, train, work, "train")
    trained = time.perf_counter()
    console.print(
        f"Trained {len(runs)} runs in {trained - started:.0f} s. Now every run is evaluated on every problem."
    )
    found = evaluate(runs, SUITE, jobs=jobs)
    solved = sum(each.solved for attempts_of_run in found.attempts.values() for each in attempts_of_run)
    file = home() / "demo" / "scores.json"
    write_scores(file, found.scores)
    both = pd.concat([found.scores, beside_ours()])
    console.print(coverage_table(both, f"Coverage on suite {SUITE}").terminal())
    console.print(
        f"VAL accepted all {solved} plans found. Planned in {time.perf_counter() - trained:.0f} s on {jobs} "
        f"process{'es' if jobs > 1 else ''}; scores: {file}"
    )
    if has_dashboard():
        _record(runs, found, jobs, console)
    return found


def _record(runs: Sequence[Run], found: Evaluation, jobs: int, console: Console) -> None:
    """Record rollouts of the learned runs, with maps, for the dashboard."""
    started = time.perf_counter()
    learned = [run for run in runs if (run.key.method, run.key.variant) in LEARNED]
    tasks = [(own_rollouts_folder(), run, SUITE, found.attempts[str(run.folder), DEFAULT, SPLIT]) for run in learned]
    recorded = sum(map(len, run_tasks(jobs, record_attempted, tasks, "record and map")))
    console.print(
        f"Recorded {recorded} rollouts with maps by PCA in {time.perf_counter() - started:.0f} s, for the "
        f"dashboard: {own_rollouts_folder()} ('sgp map RUN --rollouts FILE' adds UMAP)"
    )
