"""Planners and rollouts that come with the package: `python -m sgp.experiments.bundle planners` or `... rollouts`."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sgp.api import evaluate
from sgp.datasets.folders import whole_folder
from sgp.datasets.generation import distinct_problems
from sgp.datasets.importing import import_folder
from sgp.datasets.suite import Suite, load_suite
from sgp.errors import SuiteError
from sgp.experiments.joint import train_jointly
from sgp.experiments.record import record
from sgp.experiments.tour import record_tour
from sgp.files import write_text
from sgp.methods.loading import shipped_folder
from sgp.planning.planner import Limit
from sgp.progress import track
from sgp.reports.card import save_scores
from sgp.viewer.library import recorded_folder
from sgp.workers import Folder, cores

app = typer.Typer(pretty_exceptions_enable=False)
logger = logging.getLogger(__name__)

METHOD = "contrastive-jumps"
SUITES = ("track", "state-centric")  # a planner is trained on the first that has training problems of its domain
MEASURED_ON = "twice-as-large"  # name of the suite of larger problems
SEED, COUNT, FACTOR = 20261122, 10, 2
LIMIT = Limit(seconds=60, processor=True)  # for each of these problems


def ship(folder: Path | str, jobs: int = 1, suites: Sequence[str] = SUITES) -> list[Path]:
    """Train a planner for every domain with bundled training problems, measure it and write it into `folder`.

    It is measured on ten problems with twice as many objects as its largest training problem, within `LIMIT`; its card
    reports the coverage. A planner that solves none of them is not written.
    """
    written = []
    for domain, suite in track(list(_sources(suites).items()), "ship"):
        run = train_jointly(METHOD, domain, suite.name, jobs=jobs).runs["dynamic"]
        scores = evaluate([run.folder], _larger(suite, domain).name, jobs=jobs, limit=LIMIT).scores
        if not scores["value"][scores["metric"] == "coverage"].any():
            logger.warning("%s: the planner solves none of the problems that it is measured on: not shipped", domain)
            continue
        save_scores(run, scores)
        with whole_folder(Path(folder) / domain) as draft:
            for name, content in Folder(run.folder).files().items():
                (draft / name).write_bytes(content)
        written.append(Path(folder) / domain)
    return written


def _sources(suites: Sequence[str]) -> dict[str, Suite]:
    """The training suite of each domain."""
    found: dict[str, Suite] = {}
    for suite in map(load_suite, suites):
        for name, domain in suite.domains.items():
            if domain.splits.get("train"):
                found.setdefault(name, suite)
    return found


def _larger(suite: Suite, name: str) -> Suite:
    """A suite of distinct problems with twice the objects of the largest training problem, or a few more."""
    domain = suite.built_in_domain(name)
    if domain is None:
        raise SuiteError(f"{name} of suite {suite.name} has no generator; only built-in domains can be shipped")
    largest = max(entry.size for entry in suite.domain(name).splits["train"])
    size = next(filter(domain.scaled.has, range(FACTOR * largest, 10 * FACTOR * largest)))
    with tempfile.TemporaryDirectory() as made:
        place = Path(made) / name
        write_text(place / "domain.pddl", domain.pddl)
        for number, text in enumerate(distinct_problems(domain, size, COUNT, (SEED, MEASURED_ON)), start=1):
            write_text(place / MEASURED_ON / f"p{number:02d}.pddl", text)
        return import_folder(Path(made), MEASURED_ON, overwrite=True)


@app.command()
def planners(out: Annotated[Path | None, typer.Option()] = None, jobs: Annotated[int, typer.Option()] = 0) -> None:
    """Train a planner for every domain with bundled training problems and measure it on larger ones."""
    for path in ship(out or shipped_folder(), jobs or cores()):
        typer.echo(path)


@app.command()
def rollouts(
    out: Annotated[Path | None, typer.Option()] = None,
    suite: Annotated[str, typer.Option()] = "state-centric",
    jobs: Annotated[int, typer.Option()] = 0,
) -> None:
    """Record the rollouts and the tour that the dashboard shows, training what is missing."""
    folder = out or recorded_folder()
    for path in record(folder, suite, jobs=jobs or cores()):
        typer.echo(path)
    typer.echo(record_tour(folder, suite, next(iter(load_suite(suite).domains)), jobs or cores()))


if __name__ == "__main__":
    app()
