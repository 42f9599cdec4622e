"""The main job on the bundled problems: train, plan, validate, compare."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape

from sgp.api import Evaluation, evaluate, train
from sgp.datasets.runs import Run
from sgp.datasets.store import home
from sgp.datasets.suite import load_suite
from sgp.errors import MissingLibrary
from sgp.evaluation.scores import write_scores
from sgp.experiments.record import SPLIT, record_attempted
from sgp.installed import has_dashboard
from sgp.methods import get_method
from sgp.policies.decoding import DEFAULT
from sgp.reports.papers import beside_ours
from sgp.reports.tables import coverage_table
from sgp.viewer.library import own_rollouts_folder
from sgp.workers import run_tasks

SUITE = "state-centric"
LEARNED = (("contrastive-jumps", "aiw"), ("state-centric", "wl-xgboost-delta"))
METHODS = (*LEARNED, ("zero-change", "wl"), ("random-successor", "unvisited"))


def run_demo(jobs: int, console: Console) -> Evaluation:
    """Train the demo's methods on every domain of the bundled suite and print coverage beside the paper's."""
    started = time.perf_counter()
    domains = list(load_suite(SUITE).domains)
    methods = list(_installed(console))
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


def _installed(console: Console) -> Iterator[tuple[str, str]]:
    """The demo's methods whose libraries are installed."""
    for method, variant in METHODS:
        try:
            get_method(method)
        except MissingLibrary as error:
            console.print(f"Left out: {escape(str(error))}.", highlight=False)
            continue
        yield method, variant
