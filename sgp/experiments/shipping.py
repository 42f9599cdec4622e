"""The trained runs that come with the package: one for each domain, selected by dynamic validation."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sgp.api import evaluate
from sgp.datasets.folders import whole_folder
from sgp.datasets.generation import distinct_problems
from sgp.datasets.importing import import_folder
from sgp.datasets.suite import Suite, load_suite
from sgp.errors import SuiteError
from sgp.experiments.joint import train_jointly
from sgp.files import write_text
from sgp.planning.planner import Limit
from sgp.progress import track
from sgp.reports.card import save_scores
from sgp.workers import Folder

logger = logging.getLogger(__name__)

METHOD = "contrastive-jumps"
SUITES = ("track", "state-centric")  # a domain is learned from the first that has training problems of it
MEASURED_ON = "twice-as-large"  # a temporary suite of problems made only for measuring
SEED, COUNT, FACTOR = 20261122, 10, 2
LIMIT = Limit(seconds=60, processor=True)  # of a problem that it is measured on


def ship(folder: Path | str, jobs: int = 1, suites: Sequence[str] = SUITES) -> list[Path]:
    """Trains a planner for every domain with bundled training problems, measures it and writes it into `folder`.

    The planner is the one that dynamic validation selects from its method's sweep. It is measured on ten problems with
    twice as many objects as its largest training problem, no two of them equal up to renaming, within `LIMIT`; its card
    tells the coverage. One that solves none of them is not written. Gives the folders of the runs.
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
    """The suite that each domain is learned from."""
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
