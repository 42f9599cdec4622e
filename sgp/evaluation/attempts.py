"""Attempts of planners at problems, with plans validated by VAL, and their scores.

Several processes or machines share the problems; finished chunks are saved, so that an interrupted evaluation resumes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sgp.datasets.store import cache_folder, data_folder, home
from sgp.datasets.subject import DEFAULT, Subject, Variant, read_subject
from sgp.errors import StoreError
from sgp.evaluation.scores import Measurement, Score, with_planners
from sgp.files import read_json, write_json, write_text
from sgp.planning.costs import known_cost
from sgp.planning.rollout import Outcome
from sgp.progress import progress
from sgp.workers import Folder, Jobs, executor

if TYPE_CHECKING:  # readers of scores need no planning library
    import pandas as pd

    from sgp.datasets.runs import Run
    from sgp.planning.pddl import Problem
    from sgp.planning.planner import Keep, Limit, Planner
    from sgp.planning.rollout import Rollout
    from sgp.planning.task import Task

logger = logging.getLogger(__name__)
CHUNK = 32  # problems that one process takes at a time and plans in one batch
MEGABYTE = 10**6
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+=-]+")


@dataclass(frozen=True)
class Attempt:
    """One attempt at a problem: the outcome, and the plan, which was validated if the outcome is SOLVED.

    `cost` is the plan's cost by the problem's metric, None without a metric or a plan. `memory` is the peak memory of
    the process so far in bytes (earlier problems included), 0 if it was not measured.
    """

    problem: str
    sha256: str
    size: int
    outcome: Outcome
    plan: tuple[str, ...]
    decisions: int
    seconds: float
    reason: str = ""
    cost: float | None = None
    memory: int = 0

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found."""
        return self.outcome is Outcome.SOLVED

    def to_record(self) -> dict[str, Any]:
        """The attempt as a JSON object."""
        return {**self.__dict__, "outcome": self.outcome.value, "plan": list(self.plan)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Attempt:
        """The attempt in a record. Raises KeyError, TypeError or ValueError for anything else."""
        from sgp.planning.pddl import parse_plan

        plan = tuple(map(str, parse_plan("\n".join(record["plan"]))))
        return cls(**{**record, "outcome": Outcome(record["outcome"]), "plan": plan})


@dataclass(frozen=True)
class RolloutRecorder:
    """Saves each rollout of a planner in a file of a folder; `keep` says how much of each step."""

    folder: Path
    subject: Subject
    keep: Keep = "auto"

    def path(self, problem: str) -> Path:
        """The file of a problem's rollout: one for each model, decoding, suite, split and problem."""
        subject = self.subject
        seed = "" if subject.seed is None else f"seed{subject.seed}"
        words = filter(None, (subject.domain, *subject.planner, seed, subject.suite, subject.split, problem))
        return self.folder / f"{_NOT_IN_FILE_NAMES.sub('_', '-'.join(words))}.jsonl"

    def save(self, rollout: Rollout) -> None:
        """Write a rollout in place of an older one, without the policies' notes, which are large and never shown."""
        from sgp.datasets.recording import write_rollouts

        write_rollouts(self.path(rollout.task.name), [rollout.without_notes()], self.subject.record())


def subject_of(run: Run, suite: str = "", domain: str = "", split: str = "", decoding: str = "") -> Subject:
    """The subject of a run evaluated on a split; suite and domain are by default those of its training."""
    variant = str(replace(Variant.parse(run.key.variant), selected_by=""))
    return Subject(
        method=run.key.method,
        variant=variant,
        domain=domain or run.key.domain,
        suite=suite or run.key.suite,
        split=split,
        decoding=decoding,
        seed=run.key.seed,
        selected_by=run.record["facts"].get("selection", {}).get("by", ""),
    )


def recording_command(row: Any) -> str:
    """The commands that train a planner again and record its rollout of an attempt (a row of `attempts_frame`)."""
    variant = str(replace(Variant.parse(row.variant), selected_by=row.selected_by))
    run = home() / row.method / variant / row.suite / row.domain / f"seed{row.seed}"
    problems = data_folder() / "benchmarks" / row.suite / row.domain
    if not problems.is_dir():
        problems = home() / "suites" / row.suite / row.domain
    out = RolloutRecorder(home() / "recorded", read_subject(row._asdict())).path(row.problem)
    train = ["sgp", "train", "--method", row.method, "--variant", row.variant, "--domain", row.domain]
    train += ["--suite", row.suite, "--seed", str(row.seed)]
    train += ["--by", row.selected_by] if row.selected_by else []
    solve = ["sgp", "solve", problems / "domain.pddl", problems / row.split / f"{row.problem}.pddl"]
    solve += ["--run", run, *(["--decoding", row.decoding] if row.decoding != DEFAULT else []), "--rollout", out]
    return f"{shlex.join(train)}\n{shlex.join(map(str, solve))}"


def saved_attempts(file: Path, only: Container[str] | None = None) -> list[Attempt]:
    """The attempts in a file of the store, optionally only at problems of these SHA-256; none if it is missing."""
    if not file.is_file():
        return []
    try:
        return [Attempt.from_record(record) for record in read_json(file) if only is None or record["sha256"] in only]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no attempts ({error!r}); remove it, and they are made again") from error


def attempt(
    planner: Planner, problems: Sequence[Problem], limit: Limit, recorder: RolloutRecorder | None = None
) -> list[Attempt]:
    """Attempt problems in one batch and validate every plan with VAL.

    A problem that cannot be read within the limit has size 0. If VAL fails, the attempt's reason names the simulator
    that validated the plan. Raises ValidationDisagreement where VAL and the simulator differ.
    """
    from sgp.planning.clock import LimitReached, most_memory
    from sgp.planning.planner import outcome_of, read_task
    from sgp.planning.validation import confirm

    planner = replace(planner, keep="plan" if recorder is None else recorder.keep)
    attempts: dict[int, Attempt] = {}
    tasks_read: list[int] = []  # the number of the problem of each task

    def tasks() -> Iterator[Task]:
        for number, problem in enumerate(problems):
            try:
                task = read_task(problem, limit)
            except (LimitReached, MemoryError) as error:
                facts = (problem.name, problem.sha256, 0, outcome_of(error), (), 0, limit.seconds or 0.0)
                reason = "the problem was not read within the limit"
                attempts[number] = Attempt(*facts, reason, memory=most_memory())
                continue
            tasks_read.append(number)
            yield task
            del task

    for place, rollout in planner.solve_each(tasks(), limit):
        verdict = confirm(rollout)
        if recorder is not None:
            recorder.save(rollout)
        attempts[tasks_read[place]] = Attempt(
            problem=rollout.task.name,
            sha256=rollout.task.problem.sha256,
            size=rollout.task.size,
            outcome=rollout.outcome,
            plan=tuple(map(str, rollout.plan)) if rollout.solved else (),
            decisions=rollout.decisions,
            seconds=round(rollout.seconds, 6),
            reason="; ".join(filter(None, (rollout.reason, verdict.note))),
            cost=known_cost(rollout.plan, rollout.task.costs) if rollout.solved else None,
            memory=most_memory(),
        )
    return [attempts[number] for number in sorted(attempts)]


def plan_and_expert(
    length: int | None, expert_length: int | None, cost: float | None, expert_cost: float | None
) -> tuple[float, float] | None:
    """A plan's value and the expert's: costs if the problem has a metric, else lengths; None if one is unknown."""
    if cost is not None or expert_cost is not None:
        return None if cost is None or expert_cost is None else (cost, expert_cost)
    return None if length is None or expert_length is None else (length, expert_length)


def scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    expert_lengths: Mapping[str, int],
    duplicates: Mapping[str, str] | None = None,
    expert_costs: Mapping[str, float] = MappingProxyType({}),
) -> list[Score]:
    """The scores of a whole split, then of each size.

    Metrics: coverage; plan_length and plan_cost (with a metric), means over solved problems; plan_length_ratio, the
    mean ratio to the expert's length or cost, where it is known and not 0 (mappings by SHA-256); seconds and decisions,
    means over all problems; memory, the maximum of the whole split; outcome_X, how many problems ended as X.
    `duplicates` maps the SHA-256 of a problem to the problem that it equals up to renaming (`Suite.duplicates`); None
    for a random sample, whose number of distinct problems is not counted.
    """
    ratios = {}
    for attempt in attempts:
        expert = expert_lengths.get(attempt.sha256), expert_costs.get(attempt.sha256)
        pair = plan_and_expert(len(attempt.plan), expert[0], attempt.cost, expert[1])
        if attempt.solved and pair is not None and pair[1]:
            ratios[attempt.sha256] = pair[0] / pair[1]
    result = list(_scores(subject, attempts, None, ratios, duplicates))
    for size in sorted({attempt.size for attempt in attempts}):
        result += _scores(subject, [attempt for attempt in attempts if attempt.size == size], size, ratios, duplicates)
    return result


def _scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    size: int | None,
    ratios: Mapping[str, float],
    duplicates: Mapping[str, str] | None,
) -> Iterator[Score]:
    def score(metric: str, value: float, count: int) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, n=count)

    def mean_of(metric: str, values: Sequence[float]) -> Iterator[Score]:
        if values:
            yield score(metric, sum(values) / len(values), len(values))

    count = len(attempts)
    distinct = None if duplicates is None else len({duplicates.get(made.sha256, made.problem) for made in attempts})
    solved = [made for made in attempts if made.solved]
    yield replace(score("coverage", len(solved) / count, count), n_distinct=distinct)
    yield from mean_of("plan_length", [len(made.plan) for made in solved])
    yield from mean_of("plan_cost", [made.cost for made in solved if made.cost is not None])
    yield from mean_of("plan_length_ratio", [ratios[made.sha256] for made in solved if made.sha256 in ratios])
    yield from mean_of("seconds", [made.seconds for made in attempts])
    memory = max(made.memory for made in attempts)
    if memory and size is None:
        yield score("memory", round(memory / MEGABYTE), count)
    yield from mean_of("decisions", [made.decisions for made in attempts])
    for outcome, times in sorted(Counter(made.outcome for made in attempts).items()):
        yield score(f"outcome_{outcome.value}", times, count)


_NUMBERS = {
    **dict.fromkeys(("size", "length", "expert_length", "decisions"), int),
    **dict.fromkeys(("cost", "expert_cost", "seconds"), float),
}
ATTEMPT_COLUMNS = (
    *Subject().record(),
    *("problem", "like", "size", "outcome", "length", "expert_length", "cost", "expert_cost", "decisions", "seconds"),
)


def attempt_rows(
    subject: Subject,
    attempts: Iterable[Attempt],
    expert_lengths: Mapping[str, int],
    duplicates: Mapping[str, str],
    expert_costs: Mapping[str, float],
) -> list[dict[str, Any]]:
    """The attempts of one evaluation as rows with the columns `ATTEMPT_COLUMNS`; mappings by SHA-256.

    `like` is the first problem of the split that this one equals up to renaming (`Suite.duplicates`), or "".
    """
    return [
        {
            **subject.record(),
            "problem": attempt.problem,
            "like": duplicates.get(attempt.sha256, ""),
            "size": attempt.size,
            "outcome": attempt.outcome.value,
            "length": len(attempt.plan) if attempt.solved else None,
            "expert_length": expert_lengths.get(attempt.sha256),
            "cost": attempt.cost,
            "expert_cost": expert_costs.get(attempt.sha256),
            "decisions": attempt.decisions,
            "seconds": attempt.seconds,
        }
        for attempt in attempts
    ]


def attempts_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Attempts as a table: `ATTEMPT_COLUMNS`, `planner` (title), `solved` (bool) and `distinct_problem`."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(ATTEMPT_COLUMNS))
    kinds = {name: "Int64" if kind is int else "float64" for name, kind in _NUMBERS.items()}
    frame = frame.astype({"seed": "Int64", **kinds})
    frame["solved"] = frame["outcome"] == Outcome.SOLVED.value
    frame["distinct_problem"] = frame["like"].where(frame["like"] != "", frame["problem"])
    return with_planners(frame)


def write_attempts(path: Path | str, attempts: pd.DataFrame) -> None:
    """Writes attempts as CSV."""
    write_text(path, attempts[list(ATTEMPT_COLUMNS)].to_csv(index=False, lineterminator="\n"))


def load_attempts(name: str = "measured/attempts-*") -> pd.DataFrame:
    """The attempts of files under `data`, by default those behind the measured coverage."""
    import pandas as pd

    paths = sorted(data_folder().glob(f"{name}.csv"))
    return pd.concat([attempts_frame([]), *map(read_attempts, paths)], ignore_index=True)


def read_attempts(path: Path | str) -> pd.DataFrame:
    """Attempts of a CSV file. Raises StoreError naming the line that is no attempt."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it with 'sgp grid'") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is no file of attempts ({error}); give one that 'sgp grid' wrote") from error
    rows = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            rows.append(_row(row))
        except (KeyError, ValueError, TypeError) as error:
            raise StoreError(f"{path}, line {number} is no attempt ({error!r}); run the grid again") from error
    return attempts_frame(rows)


def _row(row: Mapping[str, str]) -> dict[str, Any]:
    """The attempt in a line of a file; older files lack some columns."""
    for name in ("method", "variant", "domain", "suite", "split", "seed"):
        row[name]  # KeyError if it is missing
    numbers = {name: kind(row[name]) if row.get(name) else None for name, kind in _NUMBERS.items()}
    if missing := [name for name in ("size", "decisions", "seconds") if numbers[name] is None]:
        raise ValueError(f"{missing[0]} is empty")
    outcome = Outcome(row["outcome"]).value
    subject = read_subject(row).record()
    return {**subject, "problem": row["problem"], "like": row.get("like") or "", "outcome": outcome, **numbers}


PlannerLoader = Callable[[str, str], "Planner"]
Result = tuple[list[Attempt], dict[Path, str]]  # attempts, and the texts of rollout files to write


@dataclass(frozen=True)
class ProblemBatch:
    """Problems to be solved by one planner."""

    planner: str
    identity: str
    problems: tuple[Problem, ...]
    limit: Limit
    recorder: RolloutRecorder | None = None
    decoding: str = "default"

    @property
    def file(self) -> Path:
        """The file of the attempts until the whole evaluation is finished."""
        recorder = self.recorder
        recording = f"{recorder.folder} {recorder.keep}" if recorder else ""
        hashes = [problem.sha256 for problem in self.problems]
        limits = [asdict(self.limit), self.limit.horizon(0)]  # the default horizon has changed over versions
        key = json.dumps([self.identity, limits, hashes, recording])
        return cache_folder() / "evaluations" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def split_batch(batch: ProblemBatch) -> list[ProblemBatch]:
    """The batch in chunks with similar mixtures of sizes."""
    count = -(-len(batch.problems) // CHUNK)
    return [replace(batch, problems=batch.problems[start::count]) for start in range(count)]


def run_all(batches: Sequence[ProblemBatch], load: PlannerLoader, jobs: Jobs, title: str) -> list[list[Attempt]]:
    """The attempts of each batch, in the order of its problems.

    `load` must be importable by other processes. Chunks that an interrupted evaluation finished are not tried again.
    """
    chunks = {chunk.file: chunk for batch in batches for chunk in split_batch(batch)}
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
            if saved:
                try:
                    write_json(waiting[place].file, [attempt.to_record() for attempt in attempts])
                except StoreError as error:
                    logger.warning("%s; without it an interrupted evaluation begins again", error)
                    saved = False
            done[waiting[place].file] = attempts
            bar.update(len(attempts))
    results = []
    for batch in batches:
        by_hash = {attempt.sha256: attempt for chunk in split_batch(batch) for attempt in done[chunk.file]}
        results.append([by_hash[problem.sha256] for problem in batch.problems])
    for file in chunks:
        with suppress(OSError):
            file.unlink()
    return results


def _try(folder: str, chunk: ProblemBatch, load: PlannerLoader) -> Result:
    """A chunk's attempts by the planner in a folder; rollouts are written directly."""
    return attempt(load(folder, chunk.decoding), chunk.problems, chunk.limit, chunk.recorder), {}


def _try_remotely(folder: str, chunk: ProblemBatch, load: PlannerLoader) -> Result:
    """The same on another machine, which returns the rollouts."""
    if chunk.recorder is None:
        return _try(folder, chunk, load)
    with tempfile.TemporaryDirectory() as temporary:
        recorder = replace(chunk.recorder, folder=Path(temporary))
        attempts, _ = _try(folder, replace(chunk, recorder=recorder), load)
        written = {file.name: file.read_text(encoding="utf-8") for file in Path(temporary).iterdir()}
    return attempts, {chunk.recorder.folder / name: text for name, text in written.items()}


def _read(file: Path) -> list[Attempt] | None:
    """The attempts of a finished chunk; None if it is missing or written by an older version."""
    try:
        return saved_attempts(file) if file.is_file() else None
    except StoreError:
        return None
