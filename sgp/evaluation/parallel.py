"""Attempts over several processes or machines; finished chunks are saved, so that an interrupted evaluation resumes."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
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
Result = tuple[list[Attempt], dict[Path, str]]  # attempts, and the texts of rollout files to write

CHUNK = 32  # problems that one process takes at a time and advances in lockstep


@dataclass(frozen=True)
class Work:
    """Problems to be solved by one planner."""

    planner: str
    identity: str
    problems: tuple[Problem, ...]
    limit: Limit
    recorder: RolloutRecorder | None = None
    decoding: str = DEFAULT

    @property
    def file(self) -> Path:
        """The file of the attempts until the whole evaluation is finished."""
        recorder = self.recorder
        recording = f"{recorder.folder} {recorder.keep}" if recorder else ""
        hashes = [problem.sha256 for problem in self.problems]
        limits = [asdict(self.limit), self.limit.horizon(0)]  # the default horizon has changed over versions
        key = json.dumps([self.identity, limits, hashes, recording])
        return cache_folder() / "evaluations" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def split_work(work: Work) -> list[Work]:
    """The work in chunks with similar mixtures of sizes."""
    count = -(-len(work.problems) // CHUNK)
    return [replace(work, problems=work.problems[start::count]) for start in range(count)]


def run_all(works: Sequence[Work], load: Load, jobs: Jobs, title: str) -> list[list[Attempt]]:
    """The attempts of each work, in the order of its problems.

    `load` must be importable by other processes. Chunks that an interrupted evaluation finished are not tried again.
    """
    chunks = {chunk.file: chunk for work in works for chunk in split_work(work)}
    done = {file: attempts for file in chunks if (attempts := _read(file)) is not None}
    waiting = [chunk for file, chunk in chunks.items() if file not in done]
    logger.info("%s: %d of %d chunks are finished", title, len(done), len(chunks))
    saved = True
    with progress(title, sum(len(chunk.problems) for chunk in chunks.values())) as bar:
        bar.update(sum(map(len, done.values())))
        runner = executor(jobs)
        tasks = [(Folder(Path(chunk.planner)), chunk, load) for chunk in waiting]
        for place, (attempts, rollouts) in runner.map(_try_remotely if runner.remote else _try, tasks):
            for file, text in rollouts.items():
                write_text(file, text)
            saved = saved and _saved(waiting[place].file, attempts)
            done[waiting[place].file] = attempts
            bar.update(len(attempts))
    results = []
    for work in works:
        by_hash = {attempt.sha256: attempt for chunk in split_work(work) for attempt in done[chunk.file]}
        results.append([by_hash[problem.sha256] for problem in work.problems])
    for file in chunks:
        with suppress(OSError):
            file.unlink()
    return results


def _try(folder: str, chunk: Work, load: Load) -> Result:
    """A chunk's attempts by the planner in a folder; rollouts are written directly."""
    return attempt(load(folder, chunk.decoding), chunk.problems, chunk.limit, chunk.recorder), {}


def _try_remotely(folder: str, chunk: Work, load: Load) -> Result:
    """The same on another machine, which returns the rollouts."""
    if chunk.recorder is None:
        return _try(folder, chunk, load)
    with tempfile.TemporaryDirectory() as temporary:
        recorder = replace(chunk.recorder, folder=Path(temporary))
        attempts, _ = _try(folder, replace(chunk, recorder=recorder), load)
        written = {file.name: file.read_text(encoding="utf-8") for file in Path(temporary).iterdir()}
    return attempts, {chunk.recorder.folder / name: text for name, text in written.items()}


def _saved(file: Path, attempts: Sequence[Attempt]) -> bool:
    """Whether the attempts of a finished chunk could be saved; the evaluation goes on without."""
    try:
        write_json(file, [attempt.to_record() for attempt in attempts])
    except StoreError as error:
        logger.warning("%s; without it an interrupted evaluation begins again", error)
        return False
    return True


def _read(file: Path) -> list[Attempt] | None:
    """The attempts of a finished chunk; None if it is missing or written by an older version."""
    try:
        return [Attempt.from_record(record) for record in read_json(file)] if file.is_file() else None
    except (StoreError, KeyError, TypeError, ValueError):
        return None
