"""Attempts: problems tried by a planner, judged by VAL, and their scores."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sgp.datasets.store import data_folder, home
from sgp.errors import StoreError
from sgp.evaluation.scores import Measurement, Score, with_planners
from sgp.files import read_json, write_text
from sgp.planning.rollout import Outcome
from sgp.planning.subject import Subject, Variant, read_subject

if TYPE_CHECKING:  # readers of scores need no planning library
    import pandas as pd

    from sgp.datasets.runs import Run
    from sgp.planning.pddl import Problem
    from sgp.planning.planner import Keep, Limit, Planner
    from sgp.planning.rollout import Rollout
    from sgp.planning.task import Task

MEGABYTE = 10**6
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+=-]+")


@dataclass(frozen=True)
class Attempt:
    """One problem tried once: how it ended, and the plan, which VAL accepted where the outcome is SOLVED.

    `cost` is the plan's cost by the problem's metric, None without a metric or a plan. `memory` is the largest memory
    of the process so far in bytes (earlier problems included), 0 where it was not measured.
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
        """The attempt as JSON holds it."""
        return {**self.__dict__, "outcome": self.outcome.value, "plan": list(self.plan)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Attempt:
        """The attempt in a record. Raises KeyError, TypeError or ValueError for anything else."""
        from sgp.planning.pddl import parse_plan

        plan = tuple(map(str, parse_plan("\n".join(record["plan"]))))
        return cls(**{**record, "outcome": Outcome(record["outcome"]), "plan": plan})


@dataclass(frozen=True)
class RolloutRecorder:
    """Saves rollouts of a planner in a folder, a file each; `keep` is how much of each step is saved."""

    folder: Path
    subject: Subject
    keep: Keep = "auto"

    def path(self, problem: str) -> Path:
        """The file of a problem's rollout; every model, decoding, suite, split and problem has its own."""
        subject = self.subject
        seed = "" if subject.seed is None else f"seed{subject.seed}"
        words = filter(None, (subject.domain, *subject.planner, seed, subject.suite, subject.split, problem))
        return self.folder / f"{_NOT_IN_FILE_NAMES.sub('_', '-'.join(words))}.jsonl"

    def save(self, rollout: Rollout) -> None:
        """Writes a rollout in place of an older one, without the policies' notes: they are large and never shown."""
        from sgp.planning.recording import write_rollouts

        write_rollouts(self.path(rollout.task.name), [rollout.without_notes()], self.subject.record())


def subject_of(run: Run, suite: str = "", domain: str = "", split: str = "", decoding: str = "") -> Subject:
    """A run tried on a split of a suite; suite and domain are by default those that it was trained on."""
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
    """The commands that record a rollout of an attempt (a row of a table of attempts), trained on the same suite."""
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
    solve += ["--run", run, *(["--decoding", row.decoding] if row.decoding else []), "--rollout", out]
    return f"{shlex.join(train)}\n{shlex.join(map(str, solve))}"


def saved_attempts(file: Path, only: Container[str] | None = None) -> list[Attempt]:
    """The attempts in a file of the store, optionally only at problems of these SHA-256; none if it is missing.

    Raises StoreError for a damaged file.
    """
    if not file.is_file():
        return []
    try:
        return [Attempt.from_record(record) for record in read_json(file) if only is None or record["sha256"] in only]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no attempts ({error!r}); remove it, and they are made again") from error


def attempt(
    planner: Planner, problems: Sequence[Problem], limit: Limit, recorder: RolloutRecorder | None = None
) -> list[Attempt]:
    """Tries problems in lockstep and validates every plan with VAL.

    A problem that cannot be read within the limit counts as not solved within it, with size 0. If VAL fails, the reason
    of an attempt names the judge of its plan. Raises ValidationDisagreement where VAL rejects a plan that our simulator
    accepts.
    """
    from sgp.memory import most_memory
    from sgp.planning.clock import LimitReached
    from sgp.planning.planner import ENDINGS, read_task
    from sgp.planning.validation import confirm

    planner = replace(planner, keep="plan" if recorder is None else recorder.keep)
    attempts: dict[int, Attempt] = {}
    tasks_read: list[int] = []  # the number of the problem of each task

    def tasks() -> Iterator[Task]:
        for number, problem in enumerate(problems):
            try:
                task = read_task(problem, limit)
            except (LimitReached, MemoryError) as error:
                attempts[number] = Attempt(
                    problem=problem.name,
                    sha256=problem.sha256,
                    size=0,
                    outcome=ENDINGS[type(error)],
                    plan=(),
                    decisions=0,
                    seconds=limit.seconds or 0.0,
                    reason="the problem was not read within the limit",
                    memory=most_memory(),
                )
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
            decisions=len(rollout.steps),
            seconds=round(rollout.seconds, 6),
            reason="; ".join(filter(None, (rollout.reason, verdict.note))),
            cost=float(costs.of_plan(rollout.plan)) if rollout.solved and (costs := rollout.task.costs) else None,
            memory=most_memory(),
        )
    return [attempts[number] for number in sorted(attempts)]


def plan_and_expert(
    length: int | None, expert_length: int | None, cost: float | None, expert_cost: float | None
) -> tuple[float, float] | None:
    """A plan's value and the expert's: costs if the problem has a metric, else lengths; None if one is unknown."""
    by_cost = cost is not None or expert_cost is not None
    own, expert = (cost, expert_cost) if by_cost else (length, expert_length)
    return None if own is None or expert is None else (own, expert)


def scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    expert_lengths: Mapping[str, int],
    likes: Mapping[str, str] | None = None,
    expert_costs: Mapping[str, float] = MappingProxyType({}),
) -> list[Score]:
    """The scores of a whole split, then of each size.

    Metrics: coverage; plan_length and plan_cost (with a metric), means over solved problems; plan_length_ratio, the
    mean ratio to the expert's length or cost, where it is known and not 0 (mappings by SHA-256); seconds and decisions,
    means over all problems; memory, the maximum of the whole split; outcome_X, how many problems ended as X.
    `likes` maps the SHA-256 of a problem to the problem that it equals up to renaming (`Suite.likes`); None for a
    random sample, whose number of distinct problems is not counted.
    """
    ratios = {}
    for each in attempts:
        found = plan_and_expert(
            len(each.plan), expert_lengths.get(each.sha256), each.cost, expert_costs.get(each.sha256)
        )
        if each.solved and found is not None and found[1]:
            ratios[each.sha256] = found[0] / found[1]
    result = list(_scores(subject, attempts, None, ratios, likes))
    for size in sorted({each.size for each in attempts}):
        result += _scores(subject, [each for each in attempts if each.size == size], size, ratios, likes)
    return result


def _scores(
    subject: Measurement,
    attempts: Sequence[Attempt],
    size: int | None,
    ratios: Mapping[str, float],
    likes: Mapping[str, str] | None,
) -> Iterator[Score]:
    def score(metric: str, value: float, count: int) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, count=count)

    def mean_of(metric: str, values: Sequence[float]) -> Iterator[Score]:
        if values:
            yield score(metric, sum(values) / len(values), len(values))

    count = len(attempts)
    distinct = None if likes is None else len({likes.get(each.sha256, each.problem) for each in attempts})
    solved = [each for each in attempts if each.solved]
    yield replace(score("coverage", len(solved) / count, count), distinct=distinct)
    yield from mean_of("plan_length", [len(each.plan) for each in solved])
    yield from mean_of("plan_cost", [each.cost for each in solved if each.cost is not None])
    yield from mean_of("plan_length_ratio", [ratios[each.sha256] for each in solved if each.sha256 in ratios])
    yield from mean_of("seconds", [each.seconds for each in attempts])
    memory = max(each.memory for each in attempts)
    if memory and size is None:
        yield score("memory", round(memory / MEGABYTE), count)
    yield from mean_of("decisions", [each.decisions for each in attempts])
    for outcome, times in sorted(Counter(each.outcome for each in attempts).items()):
        yield score(f"outcome_{outcome.value}", times, count)


@dataclass(frozen=True, kw_only=True)
class AttemptRow(Subject):
    """An attempt as a row of a table, beside the expert's plan: lengths in actions, costs by the problem's metric.

    `like` names the first problem of the split that this one equals up to renaming of objects, "" if there is none.
    """

    problem: str
    like: str = ""
    size: int
    outcome: Outcome
    length: int | None
    expert_length: int | None
    cost: float | None = None
    expert_cost: float | None = None
    decisions: int
    seconds: float

    @classmethod
    def of(
        cls,
        subject: Subject,
        attempts: Iterable[Attempt],
        expert_lengths: Mapping[str, int],
        likes: Mapping[str, str],
        expert_costs: Mapping[str, float],
    ) -> list[AttemptRow]:
        """The rows of one evaluation; mappings by SHA-256 of the PDDL, `likes` as `Suite.likes`."""
        return [
            cls(
                **subject.record(),
                problem=each.problem,
                like=likes.get(each.sha256, ""),
                size=each.size,
                outcome=each.outcome,
                length=len(each.plan) if each.solved else None,
                expert_length=expert_lengths.get(each.sha256),
                cost=each.cost,
                expert_cost=expert_costs.get(each.sha256),
                decisions=each.decisions,
                seconds=each.seconds,
            )
            for each in attempts
        ]

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found."""
        return self.outcome is Outcome.SOLVED


ATTEMPT_COLUMNS = tuple(entry.name for entry in fields(AttemptRow))


def attempts_frame(rows: Iterable[AttemptRow]) -> pd.DataFrame:
    """Attempts as a table: the columns of `AttemptRow`, the outcome by name, `planner` (title), `solved` (bool), and
    `distinct_problem`, the first problem of the split that this one equals up to renaming.
    """
    import pandas as pd

    records = [asdict(row) | {"outcome": row.outcome.value} for row in rows]
    frame = pd.DataFrame(records, columns=list(ATTEMPT_COLUMNS))
    for name in ("seed", "size", "length", "expert_length", "decisions"):
        frame[name] = frame[name].astype("Int64")
    for name in ("cost", "expert_cost", "seconds"):
        frame[name] = frame[name].astype("float64")
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


def _row(row: Mapping[str, str]) -> AttemptRow:
    def number(name: str, kind: type) -> Any:
        return kind(row[name]) if row.get(name) else None

    if missing := [name for name in ("method", "variant", "domain", "suite", "split", "seed") if name not in row]:
        raise KeyError(missing[0])
    return AttemptRow(
        **read_subject(row).record(),
        problem=row["problem"],
        like=row.get("like") or "",
        size=int(row["size"]),
        outcome=Outcome(row["outcome"]),
        length=number("length", int),
        expert_length=number("expert_length", int),
        cost=number("cost", float),
        expert_cost=number("expert_cost", float),
        decisions=int(row["decisions"]),
        seconds=float(row["seconds"]),
    )
