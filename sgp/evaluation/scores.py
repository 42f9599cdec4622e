"""Scores: measured and published numbers in one shape, so that a paper's table beside ours is a join."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgp.errors import StoreError
from sgp.files import write_text
from sgp.planning.subject import Subject, read_subject

CONFIDENCE_Z = 1.959963984540054  # two-sided 95 %


@dataclass(frozen=True, kw_only=True)
class Measurement(Subject):
    """What was measured on what, when and where (`note`): what all scores of one evaluation share."""

    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Score(Measurement):
    """One number. `paper` and `table` say where a published one stands; ours leave them empty.

    `size` is the number of objects, None for a whole split; `seed` is None for a mean over seeds or a published
    number; `spread` is the standard deviation over seeds where there is one, and of a published number what it prints
    behind ±, with a note where that is another; `count` is the number of problems behind the value, 0 where it is not
    known. `distinct` is how many of them no renaming of objects makes another one, None where that is not known: of
    published numbers, of what is no rate of problems, and of problems that were drawn at random, where to draw one
    again is part of the sample.
    """

    paper: str = ""
    table: str = ""
    size: int | None = None
    metric: str
    value: float
    spread: float | None = None
    count: int
    distinct: int | None = None

    @property
    def trials(self) -> int:
        """The number behind the interval: of distinct problems, where it is known.

        The value counts every problem, as the suite does; solving one problem again under other names is no further
        evidence, so it narrows no interval.
        """
        return self.count if self.distinct is None else self.distinct


# As files hold them: where a number was printed first, the note of when and where it was measured last.
COLUMNS = tuple(
    sorted((entry.name for entry in fields(Score)), key=lambda name: (name == "note") - (name in ("paper", "table")))
)
_REQUIRED = ("method", "variant", "domain", "suite", "split", "metric")  # the others were added later, or can be empty


def wilson(value: float, count: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate measured on `count` distinct problems; (0, 1) where none were."""
    if count == 0:
        return 0.0, 1.0
    z2 = CONFIDENCE_Z**2
    centre = (value + z2 / (2 * count)) / (1 + z2 / count)
    half = CONFIDENCE_Z / (1 + z2 / count) * math.sqrt(value * (1 - value) / count + z2 / (4 * count**2))
    # At 0 and 1 the bound is exact; rounding must not carry it beyond.
    return (0.0 if value == 0 else max(0.0, centre - half)), (1.0 if value == 1 else min(1.0, centre + half))


def score_record(score: Score) -> dict[str, Any]:
    """The score as files hold it."""
    return {name: getattr(score, name) for name in COLUMNS}


def to_json(scores: Iterable[Score]) -> str:
    """The scores as a JSON list of objects."""
    return json.dumps([score_record(score) for score in scores], indent=1, allow_nan=False) + "\n"


def to_csv(scores: Iterable[Score]) -> str:
    """The scores as CSV with a header line; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for score in scores:
        writer.writerow({name: "" if value is None else value for name, value in score_record(score).items()})
    return text.getvalue()


def write_scores(path: Path | str, scores: Iterable[Score]) -> None:
    """Writes scores by the ending of the name, `.csv` or JSON. Raises StoreError where it cannot be written."""
    write_text(path, to_csv(scores) if str(path).endswith(".csv") else to_json(scores))


def read_scores(path: Path | str) -> list[Score]:
    """Scores from a CSV or JSON file. Raises StoreError naming the line or entry that is no score."""
    try:
        return parse_scores(Path(path).read_bytes(), str(path))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it with 'sgp evaluate ... --json {path}'") from error
    except OSError as error:
        raise StoreError(_no_file(path, error)) from error


def parse_scores(content: bytes, name: str) -> list[Score]:
    """Scores from the content of a file, CSV where its name ends so and else JSON.

    Raises StoreError naming the line or entry that is no score.
    """
    scores = []
    for number, row in enumerate(_rows(content, name), start=1):
        try:
            scores.append(read_score(row))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{name}, entry {number} is no score ({error!r}); expected {', '.join(COLUMNS)}"
            ) from error
    return scores


def _rows(content: bytes, name: str) -> list[Any]:
    try:
        text = content.decode("utf-8")
        if name.endswith(".csv"):
            return list(csv.DictReader(io.StringIO(text)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(_no_file(name, error)) from error
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise StoreError(f"{name} is no complete JSON ({error}); evaluate again") from error
    if not isinstance(rows, list):
        raise StoreError(f"{name} holds no list of scores; evaluate again")
    return rows


def _no_file(name: Path | str, error: Exception) -> str:
    return f"{name} is no file of scores ({error}); give one that 'sgp evaluate' or 'sgp grid' wrote"


def read_score(row: Mapping[str, Any]) -> Score:
    """The score in a record of whatever age.

    Raises KeyError, TypeError, ValueError or AttributeError for anything else.
    """

    def number(name: str, kind: type) -> Any:
        value = row.get(name)
        return None if value in (None, "") else kind(value)

    value, count, distinct = float(row["value"]), int(row["count"]), number("distinct", int)
    if not math.isfinite(value) or count < 0 or (row["metric"] == "coverage" and not 0 <= value <= 1):
        raise ValueError(f"{row['metric']} of {value} on {count} problems is no measurement")
    if distinct is not None and not min(count, 1) <= distinct <= count:
        raise ValueError(f"{distinct} of {count} problems cannot be distinct")
    missing = [name for name in _REQUIRED if name not in row]
    if missing:
        raise KeyError(missing[0])
    return Score(
        **read_subject(row).record(),
        metric=str(row["metric"]),
        value=value,
        count=count,
        distinct=distinct,
        size=number("size", int),
        spread=number("spread", float),
        paper=str(row.get("paper") or ""),
        table=str(row.get("table") or ""),
        note=str(row.get("note") or ""),
    )
