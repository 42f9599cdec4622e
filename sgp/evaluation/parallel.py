"""Many attempts over several processes; what is done is kept, so that an interrupted evaluation goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import joblib

from sgp.datasets.store import cache_folder
from sgp.errors import StoreError
from sgp.evaluation.coverage import Attempt, attempt
from sgp.evaluation.keeping import Keeping
from sgp.files import read_json, write_json
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.progress import progress

CHUNK = 32  # problems that one process takes at a time and advances in lockstep


@dataclass(frozen=True)
class Work:
    """Problems to be tried by one planner. `planner` names it for `load`; `identity` changes when it does.

    `keeping` keeps the rollouts.
    """

    planner: str
    identity: str
    problems: tuple[Problem, ...]
    limit: Limit
    keeping: Keeping | None = None

    @property
    def kept(self) -> Path:
        """Where the attempts stand until the whole evaluation is done."""
        kept = str(self.keeping.folder) if self.keeping else ""  # attempts without rollouts do not do
        key = json.dumps([self.identity, asdict(self.limit), [problem.sha256 for problem in self.problems], kept])
        return cache_folder() / "evaluations" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def split_work(work: Work) -> list[Work]:
    """The work in chunks of like mixtures of sizes."""
    count = -(-len(work.problems) // CHUNK)
    return [replace(work, problems=work.problems[start::count]) for start in range(count)]


def run_all(works: Sequence[Work], load: Callable[[str], Planner], jobs: int, title: str) -> list[list[Attempt]]:
    """The attempts of each work, in the order of its problems.

    `load` makes a planner from its name and must be importable by other processes. Chunks of an evaluation that was
    interrupted are not tried again; once all is done, the kept chunks are removed.
    """
    chunks = {chunk.kept: chunk for work in works for chunk in split_work(work)}
    tried = {kept: found for kept, chunk in chunks.items() if (found := _read(chunk)) is not None}
    open_chunks = [chunk for kept, chunk in chunks.items() if kept not in tried]
    with progress(title, sum(len(chunk.problems) for chunk in chunks.values())) as bar:
        bar.advance(sum(map(len, tried.values())))
        if jobs == 1 or len(open_chunks) < 2:
            for chunk in open_chunks:
                bar.say(chunk.planner)
                tried[chunk.kept] = _try(chunk, load)[1]
                bar.advance(len(chunk.problems))
        else:
            with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
                parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
                for kept, found in parallel(joblib.delayed(_try)(chunk, load) for chunk in open_chunks):
                    tried[kept] = found
                    bar.advance(len(found))
    results = []
    for work in works:
        by_hash = {each.sha256: each for chunk in split_work(work) for each in tried[chunk.kept]}
        results.append([by_hash[problem.sha256] for problem in work.problems])
    for kept in chunks:
        kept.unlink(missing_ok=True)
    return results


def _try(chunk: Work, load: Callable[[str], Planner]) -> tuple[Path, list[Attempt]]:
    """A chunk's attempts, and where they are kept now: another process may be at the same work and remove the file."""
    attempts = attempt(load(chunk.planner), chunk.problems, chunk.limit, chunk.keeping)
    write_json(chunk.kept, [each.to_record() for each in attempts])
    return chunk.kept, attempts


def _read(chunk: Work) -> list[Attempt] | None:
    """The kept attempts of a chunk, or None where it is still to be tried."""
    if not chunk.kept.is_file():
        return None
    try:
        return [Attempt.from_record(record) for record in read_json(chunk.kept)]
    except (StoreError, KeyError, TypeError, ValueError):
        chunk.kept.unlink(missing_ok=True)  # cut while it was written by an older version: try again
        return None
