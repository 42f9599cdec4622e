"""Many attempts over several processes or machines; what is done is kept, so that an interrupted evaluation goes on."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sgp.datasets.store import cache_folder
from sgp.errors import StoreError
from sgp.evaluation.attempts import Attempt, RolloutRecorder, attempt
from sgp.files import read_json, write_json, write_text
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.policies.decoding import DEFAULT
from sgp.progress import progress
from sgp.workers import Folder, Jobs, executor

logger = logging.getLogger(__name__)

Load = Callable[[str, str], Planner]
Tried = tuple[list[Attempt], dict[Path, str]]  # attempts, and rollouts that are still to be written

CHUNK = 32  # problems that one process takes at a time and advances in lockstep


@dataclass(frozen=True)
class Work:
    """Problems to be tried by one planner. `planner` is its folder; `identity` changes when its contents or its
    decoding do.

    `recorder` keeps the rollouts; `decoding` says how the planner plans.
    """

    planner: str
    identity: str
    problems: tuple[Problem, ...]
    limit: Limit
    recorder: RolloutRecorder | None = None
    decoding: str = DEFAULT

    @property
    def kept(self) -> Path:
        """Where the attempts stand until the whole evaluation is done."""
        recorder = self.recorder
        kept = f"{recorder.folder} {recorder.keep}" if recorder else ""  # attempts without rollouts do not do
        hashes = [problem.sha256 for problem in self.problems]
        limits = [asdict(self.limit), self.limit.horizon(0)]  # what a limit means without one on actions has changed
        key = json.dumps([self.identity, limits, hashes, kept])
        return cache_folder() / "evaluations" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def split_work(work: Work) -> list[Work]:
    """The work in chunks of like mixtures of sizes."""
    count = -(-len(work.problems) // CHUNK)
    return [replace(work, problems=work.problems[start::count]) for start in range(count)]


def run_all(works: Sequence[Work], load: Load, jobs: Jobs, title: str) -> list[list[Attempt]]:
    """The attempts of each work, in the order of its problems.

    `load` makes a planner from its folder and decoding and must be importable by other processes. Chunks of an
    evaluation that was interrupted are not tried again; once all is done, the kept chunks are removed.
    """
    chunks = {chunk.kept: chunk for work in works for chunk in split_work(work)}
    tried = {kept: found for kept, chunk in chunks.items() if (found := _read(chunk)) is not None}
    open_chunks = [chunk for kept, chunk in chunks.items() if kept not in tried]
    logger.info("%s: %d of %d parts stand since an interruption", title, len(tried), len(chunks))
    with progress(title, sum(len(chunk.problems) for chunk in chunks.values())) as bar:
        bar.advance(sum(map(len, tried.values())))
        runner = executor(jobs)
        tasks = [(Folder(Path(chunk.planner)), chunk, load) for chunk in open_chunks]
        for place, (found, rollouts) in runner.map(_try_remotely if runner.remote else _try, tasks):
            chunk = open_chunks[place]
            for file, text in rollouts.items():
                write_text(file, text)
            write_json(chunk.kept, [each.to_record() for each in found])
            tried[chunk.kept] = found
            bar.advance(len(found))
    results = []
    for work in works:
        by_hash = {each.sha256: each for chunk in split_work(work) for each in tried[chunk.kept]}
        results.append([by_hash[problem.sha256] for problem in work.problems])
    for kept in chunks:
        kept.unlink(missing_ok=True)
    return results


def _try(folder: str, chunk: Work, load: Load) -> Tried:
    """A chunk's attempts by the planner in a folder; rollouts that are kept are written to their place."""
    return attempt(load(folder, chunk.decoding), chunk.problems, chunk.limit, chunk.recorder), {}


def _try_remotely(folder: str, chunk: Work, load: Load) -> Tried:
    """The same on a machine from which the rollouts have to be sent."""
    if chunk.recorder is None:
        return _try(folder, chunk, load)
    with tempfile.TemporaryDirectory() as there:
        recorder = replace(chunk.recorder, folder=Path(there))
        attempts, _ = _try(folder, replace(chunk, recorder=recorder), load)
        written = {file.name: file.read_text(encoding="utf-8") for file in Path(there).iterdir()}
    return attempts, {chunk.recorder.folder / name: text for name, text in written.items()}


def _read(chunk: Work) -> list[Attempt] | None:
    """The kept attempts of a chunk, or None where it is still to be tried."""
    if not chunk.kept.is_file():
        return None
    try:
        return [Attempt.from_record(record) for record in read_json(chunk.kept)]
    except (StoreError, KeyError, TypeError, ValueError):
        return None  # cut while it was written by an older version: tried again, and written anew
