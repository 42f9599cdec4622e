"""Recorded rollouts with experts' plans, explanations and maps: those of `data/recorded`, and a user's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sgp.analysis.explanations import explanation_records
from sgp.api import map_run, train
from sgp.datasets.experts import kept_plans
from sgp.datasets.runs import Run
from sgp.datasets.suite import Suite, load_suite
from sgp.evaluation.coverage import Attempt
from sgp.evaluation.keeping import Keeping
from sgp.evaluation.subjects import subject_of
from sgp.methods.loading import load_planner
from sgp.planning.recorded import map_file
from sgp.planning.recording import records, write_records
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.planning.validation import confirm
from sgp.progress import track

MODELS = (
    ("contrastive-jumps", None),
    ("contrastive-jumps", "one-step"),
    ("state-centric", "wl-xgboost-delta"),
)
SPLIT = "extrapolation"
LARGEST_SOLVED, LARGEST_UNSOLVED = 250_000, 550_000  # bytes; unsolved ones run to the horizon and are longer


def record(
    folder: Path | str, suite: str, models: Sequence[tuple[str, str | None]] = MODELS, jobs: int = 1
) -> list[Path]:
    """Trains the models on every domain of a suite and writes their rollouts, replacing those of the folder.

    Of all problems of the split, the largest solved and the smallest unsolved one whose record is small enough are
    kept, their plans accepted by VAL.
    """
    target, source = Path(folder), load_suite(suite)
    work = [(domain, *model) for domain in source.domains for model in models]
    written: list[Path] = []
    for domain, method, variant in track(work, "record"):
        run = train(method, domain, suite, variant, jobs=jobs)
        chosen = _chosen(_small_rollouts(run.folder, source, domain))
        name = f"{domain}-{run.key.method}-{run.key.variant}"
        written += _write(run, source, {target / f"{name}-{each.outcome.value}.jsonl": each for each in chosen})
    for stale in {*target.glob("*.jsonl"), *target.glob("*.map.json")} - set(written):
        stale.unlink()
    return written


def record_attempted(folder: Path | str, run: Run, suite: str, attempts: Sequence[Attempt]) -> list[Path]:
    """Records two of the problems of the split that a run has tried: the solved one of median size, the smallest
    unsolved one.

    An evaluation keeps no steps, so they are planned again. What is newer than the run stays as it is. The maps are by
    PCA alone: UMAP takes about a minute for eight runs at its first use, and `sgp map` adds it. Gives the
    files of the rollouts.
    """
    source, domain = load_suite(suite), run.key.domain
    by_size = sorted(attempts, key=lambda each: (each.size, each.problem))
    solved = [each for each in by_size if each.solved]
    chosen = [*solved[len(solved) // 2 :][:1], *[each for each in by_size if not each.solved][:1]]
    keeping, problems = Keeping(Path(folder), subject_of(run, suite, split=SPLIT)), source.problems(domain, SPLIT)
    files = {keeping.path(each.problem): each.problem for each in chosen}
    trained = (run.folder / "run.json").stat().st_mtime
    if not all(map_file(file).is_file() and map_file(file).stat().st_mtime > trained for file in files):
        of_name = {each.name: each for each in problems}
        planned = load_planner(str(run.folder)).solve_many([Task(of_name[name]) for name in files.values()])
        for rollout in planned:
            confirm(rollout)
        bare = [rollout.without_notes() for rollout in planned]
        _write(run, source, dict(zip(files, bare, strict=True)), neighbours=False)
    return list(files)


def _write(run: Run, suite: Suite, rollouts: Mapping[Path, Rollout], neighbours: bool = True) -> list[Path]:
    """Writes each rollout of a run to its file and maps them; all files that were written beside each other."""
    experts, policy = kept_plans(suite, run.key.domain, SPLIT), load_planner(str(run.folder)).policy
    for file, rollout in rollouts.items():
        expert = experts.get(rollout.task.problem.sha256)
        plan = () if expert is None or expert.plan is None else Trajectory.of(rollout.task, expert.plan).actions
        why = explanation_records(rollout, policy)
        write_records(file, records(rollout, subject_of(run, suite.name, split=SPLIT).record(), plan, why))
    return [*rollouts, *map_run(run.folder, list(rollouts), neighbours)[1:]]


def _small_rollouts(run: Path, suite: Suite, domain: str) -> Iterator[Rollout]:
    """The rollouts of a split whose records are small enough, without notes."""
    for _, rollout in load_planner(str(run)).solve_each(map(Task, suite.problems(domain, SPLIT))):
        bare = rollout.without_notes()
        size = sum(len(json.dumps(each)) + 1 for each in records(bare))
        if size < (LARGEST_SOLVED if rollout.solved else LARGEST_UNSOLVED):
            yield bare


def _chosen(rollouts: Iterable[Rollout]) -> list[Rollout]:
    """The largest solved and the smallest unsolved one, by objects and then by name."""
    by_size = sorted(rollouts, key=lambda rollout: (rollout.task.size, rollout.task.name))
    solved = [rollout for rollout in by_size if rollout.solved]
    chosen = solved[-1:] + [rollout for rollout in by_size if not rollout.solved][:1]
    for rollout in chosen:
        confirm(rollout)
    return chosen
