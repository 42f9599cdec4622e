"""The recorded rollouts of `data/recorded`: for each domain and model one solved and one unsolved problem."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from sgp.api import load_planner, map_run, train
from sgp.datasets.experts import kept_plans
from sgp.datasets.suite import Suite, load_suite
from sgp.evaluation.explanations import explain
from sgp.planning.recorded import About
from sgp.planning.recording import records, write_records
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.planning.validation import confirm
from sgp.progress import track

MODELS = (
    ("contrastive_jumps", None),
    ("contrastive_jumps", "one-step"),
    ("state-centric", "wl-xgboost-delta"),
)
SPLIT = "extrapolation"
LARGEST_SOLVED, LARGEST_UNSOLVED = 250_000, 550_000  # bytes; unsolved ones run to the horizon and are longer


def record(
    folder: Path | str, suite: str, models: Sequence[tuple[str, str | None]] = MODELS, jobs: int = 1
) -> list[Path]:
    """Trains the models on every domain of a suite and writes their rollouts, replacing those of the folder.

    Of all problems of the split, the largest solved and the smallest unsolved one whose record is small enough are
    kept, their plans accepted by VAL, with the expert's plans, explanations and maps.
    Notes of the policies (predicted embeddings) are left out: they are most of a file and the viewer does not show
    them.
    """
    target, source = Path(folder), load_suite(suite)
    work = [(domain, *model) for domain in source.domains for model in models]
    written: list[Path] = []
    for domain, method, variant in track(work, "record"):
        run = train(method, domain, suite, variant, jobs=jobs)
        key = run.key
        about = asdict(
            About(method=key.method, variant=key.variant, domain=domain, suite=suite, split=SPLIT, seed=key.seed)
        )
        experts, policy = kept_plans(source, domain, SPLIT), load_planner(str(run.folder)).policy
        files = []
        for rollout in _chosen(_small_rollouts(run.folder, source, domain)):
            files.append(target / f"{domain}-{key.method}-{key.variant}-{rollout.outcome.value}.jsonl")
            expert = experts.get(rollout.task.problem.sha256)
            plan = () if expert is None or expert.plan is None else expert.plan
            why = [{} if each is None else each.record() for each in explain(rollout, policy)]
            write_records(files[-1], records(rollout, about, plan, why))
        written += [*files, *map_run(run.folder, files)[1:]]
    for stale in {*target.glob("*.jsonl"), *target.glob("*.map.json")} - set(written):
        stale.unlink()
    return written


def _small_rollouts(run: Path, suite: Suite, domain: str) -> Iterator[Rollout]:
    """The rollouts of a split whose records are small enough, without notes."""
    for _, rollout in load_planner(str(run)).solve_each(map(Task, suite.problems(domain, SPLIT))):
        bare = replace(rollout, steps=tuple(replace(step, note={}) for step in rollout.steps))
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
