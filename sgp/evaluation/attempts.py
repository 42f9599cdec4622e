"""Attempts as rows of a table, a row for each problem tried."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sgp.errors import StoreError
from sgp.evaluation.coverage import Attempt
from sgp.files import write_text
from sgp.planning.rollout import Outcome
from sgp.planning.subject import Subject, read_subject


@dataclass(frozen=True, kw_only=True)
class AttemptRow(Subject):
    """One problem tried by one planner. Lengths are numbers of actions, None where there is no plan.

    `like` names the first problem of the split that this one equals up to renaming of objects, "" where there is none.
    """

    problem: str
    like: str = ""
    size: int
    outcome: Outcome
    length: int | None
    expert_length: int | None
    decisions: int
    seconds: float

    @classmethod
    def of(
        cls,
        subject: Subject,
        attempts: Iterable[Attempt],
        expert_lengths: Mapping[str, int],
        likes: Mapping[str, str],
    ) -> list[AttemptRow]:
        """The rows of one evaluation; `expert_lengths` and `likes` (`Suite.likes`) by SHA-256 of the PDDL."""
        return [
            cls(
                **subject.record(),
                problem=each.problem,
                like=likes.get(each.sha256, ""),
                size=each.size,
                outcome=each.outcome,
                length=len(each.plan) if each.solved else None,
                expert_length=expert_lengths.get(each.sha256),
                decisions=each.decisions,
                seconds=each.seconds,
            )
            for each in attempts
        ]

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found."""
        return self.outcome is Outcome.SOLVED

    @property
    def first(self) -> str:
        """The name of the first problem of the split that is this one up to renaming of objects."""
        return self.like or self.problem


_COLUMNS = tuple(entry.name for entry in fields(AttemptRow))
_REQUIRED = ("method", "variant", "domain", "suite", "split", "seed")  # the others were added later


def write_attempts(path: Path | str, rows: Sequence[AttemptRow]) -> None:
    """Writes rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record = {**asdict(row), "outcome": row.outcome.value}
        writer.writerow({name: "" if value is None else value for name, value in record.items()})
    write_text(path, text.getvalue())


def read_attempts(path: Path | str) -> list[AttemptRow]:
    """Rows of a CSV file. Raises StoreError naming the line that is no attempt."""
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
    return rows


def _row(row: Mapping[str, str]) -> AttemptRow:
    missing = [name for name in _REQUIRED if name not in row]
    if missing:
        raise KeyError(missing[0])
    length, expert = (int(row[name]) if row[name] else None for name in ("length", "expert_length"))
    return AttemptRow(
        **read_subject(row).record(),
        problem=row["problem"],
        like=row.get("like") or "",
        size=int(row["size"]),
        outcome=Outcome(row["outcome"]),
        length=length,
        expert_length=expert,
        decisions=int(row["decisions"]),
        seconds=float(row["seconds"]),
    )
