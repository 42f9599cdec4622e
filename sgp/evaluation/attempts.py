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

    Costs are those of the same plans by the problem's metric, None where it has none.
    `like` names the first problem of the split that this one equals up to renaming of objects, "" where there is none.
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
        """The rows of one evaluation; all mappings by SHA-256 of the PDDL, `likes` as `Suite.likes`."""
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

    @property
    def compared(self) -> tuple[float, float] | None:
        """The expert's plan and the one found in numbers: costs where the problem has a metric, else actions."""
        costly = self.cost is not None or self.expert_cost is not None
        pair = (self.expert_cost, self.cost) if costly else (self.expert_length, self.length)
        return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])

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
    cost, expert_cost = (float(row[name]) if row.get(name) else None for name in ("cost", "expert_cost"))
    length, expert = (int(row[name]) if row[name] else None for name in ("length", "expert_length"))
    return AttemptRow(
        **read_subject(row).record(),
        problem=row["problem"],
        like=row.get("like") or "",
        size=int(row["size"]),
        outcome=Outcome(row["outcome"]),
        length=length,
        expert_length=expert,
        cost=cost,
        expert_cost=expert_cost,
        decisions=int(row["decisions"]),
        seconds=float(row["seconds"]),
    )
