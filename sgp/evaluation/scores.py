"""Scores: measured and published numbers in one table, a row for each number."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgp.datasets.store import data_folder
from sgp.errors import StoreError
from sgp.files import write_text
from sgp.planning.subject import PlannerName, Subject

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE_Z = 1.959963984540054  # two-sided 95 %
COLUMNS = (
    *("paper", "table", "method", "variant", "domain", "suite", "split", "seed", "decoding", "selected_by", "size"),
    *("metric", "value", "spread", "count", "distinct", "note"),
)
PLANNER = ("method", "variant", "decoding", "selected_by")  # the columns that identify a planner
_REQUIRED = ("method", "variant", "domain", "suite", "split", "metric", "value", "count")
_INTEGERS = ("seed", "size", "count", "distinct")
_FLOATS = ("value", "spread")


@dataclass(frozen=True, kw_only=True)
class Measurement(Subject):
    """What all scores of one evaluation share: planner, problems, and a `note` of when and where it was measured."""

    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Score(Measurement):
    """One number, as measurements make it; `to_frame` makes a table of many.

    `paper` and `table` name the place of a published number. `size` is the number of objects, None for a whole split;
    `seed` is None for a published number and for a mean over seeds; `spread` is the standard deviation over seeds;
    `count` is the number of problems behind the value, 0 where unknown. `distinct` is the number of them that differ
    by more than names of objects; None where unknown, for numbers that are no rate of problems, and for random samples.
    """

    paper: str = ""
    table: str = ""
    size: int | None = None
    metric: str
    value: float
    spread: float | None = None
    count: int
    distinct: int | None = None


def wilson(value: float, count: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate measured on `count` distinct problems; (0, 1) where there were none."""
    if count == 0:
        return 0.0, 1.0
    z2 = CONFIDENCE_Z**2
    centre = (value + z2 / (2 * count)) / (1 + z2 / count)
    half = CONFIDENCE_Z / (1 + z2 / count) * math.sqrt(value * (1 - value) / count + z2 / (4 * count**2))
    # At 0 and 1 the bound is exact; rounding must not carry it beyond.
    return (0.0 if value == 0 else max(0.0, centre - half)), (1.0 if value == 1 else min(1.0, centre + half))


def to_frame(scores: Iterable[Score]) -> pd.DataFrame:
    """Scores as a table with the columns `COLUMNS` and `planner`, the planner's title.

    Unknown texts are empty, unknown numbers are missing values (`isna`).
    """
    import pandas as pd

    return _typed(pd.DataFrame([asdict(score) for score in scores], columns=list(COLUMNS)))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns in order, with their types; raises KeyError for a missing one and ValueError for a wrong value."""
    import pandas as pd

    if missing := [name for name in _REQUIRED if name not in frame]:
        raise KeyError(missing[0])
    frame = frame.reindex(columns=list(COLUMNS))
    for name in COLUMNS:
        known = frame[name].notna() & (frame[name] != "")
        values = [value if there else None for value, there in zip(frame[name], known, strict=True)]
        if name in _INTEGERS:
            frame[name] = pd.array([None if value is None else int(value) for value in values], dtype="Int64")
        elif name in _FLOATS:
            frame[name] = [math.nan if value is None else float(value) for value in values]
        else:
            frame[name] = ["" if value is None else str(value) for value in values]
    frame["decoding"] = frame["decoding"].replace("default", "")
    return with_planners(frame)


def with_planners(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a column `planner`: the title of method, variant, decoding and selection."""
    keys = list(frame[list(PLANNER)].itertuples(index=False, name=None))
    titles = {key: PlannerName(*key).title for key in set(keys)}
    return frame.assign(planner=[titles[key] for key in keys])


def select(scores: pd.DataFrame, **fields: Any) -> pd.DataFrame:
    """The rows whose columns have these values: one value, one of a list, or None for a missing value."""
    for name, wanted in fields.items():
        column = scores[name]
        if wanted is None:
            chosen = column.isna()
        elif isinstance(wanted, Collection) and not isinstance(wanted, str):
            chosen = column.isin(list(wanted))
        else:
            chosen = (column == wanted).fillna(False)
        scores = scores[chosen.astype(bool)]
    return scores


def load_scores(name: str = "measured/scores-*") -> pd.DataFrame:
    """The scores of files under `data`, by default all measured coverage; empty where there are none.

    Others: "measured/scaling", "measured/learning-curve", "published/state-centric", or ``published/*`` for all papers.
    Raises StoreError naming an entry that is no score.
    """
    import pandas as pd

    paths = [path for path in sorted(data_folder().glob(f"{name}.csv")) if path.name != "notes.csv"]
    return pd.concat([to_frame([]), *map(read_scores, paths)], ignore_index=True) if paths else to_frame([])


def read_scores(path: Path | str) -> pd.DataFrame:
    """Scores of a CSV or JSON file. Raises StoreError naming the entry that is no score."""
    try:
        return parse_scores(Path(path).read_bytes(), str(path))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it with 'sgp evaluate ... --json {path}'") from error
    except OSError as error:
        raise StoreError(_not_scores(path, error)) from error


def parse_scores(content: bytes, name: str) -> pd.DataFrame:
    """Scores of a file's content: CSV if the name ends in .csv, else JSON.

    Raises StoreError naming the entry that is no score.
    """
    import pandas as pd

    records = _records(content, name)
    if not records:
        return to_frame([])
    try:
        frame = pd.DataFrame.from_records(records)
    except (TypeError, AttributeError, ValueError) as error:
        raise StoreError(f"{name} holds no list of scores ({error!r}); evaluate again") from error
    try:
        frame = _typed(frame)
        _check(frame)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        entry, cause = _first_wrong(frame, error)
        raise StoreError(f"{name}, entry {entry} is no score ({cause!r}); expected {', '.join(COLUMNS)}") from error
    return frame


def _check(frame: pd.DataFrame) -> None:
    """Raises ValueError for values that no measurement has."""
    shares = frame["metric"].eq("coverage")
    wrong = frame[~frame["value"].map(math.isfinite) | (frame["count"] < 0) | (shares & ~frame["value"].between(0, 1))]
    for row in wrong.itertuples():
        raise ValueError(f"{row.metric} of {row.value} on {row.count} problems is no measurement")
    known = frame[frame["distinct"].notna()]
    for row in known[
        (known["distinct"] > known["count"]) | (known["distinct"] < known["count"].clip(upper=1))
    ].itertuples():
        raise ValueError(f"{row.distinct} of {row.count} problems cannot be distinct")


def _first_wrong(frame: pd.DataFrame, error: Exception) -> tuple[int, Exception]:
    """The number of the first row that cannot be read alone, and why."""
    for place in range(len(frame)):
        try:
            _check(_typed(frame.iloc[place : place + 1]))
        except (KeyError, ValueError, TypeError, AttributeError) as cause:
            return place + 1, cause
    return 1, error


def _records(content: bytes, name: str) -> list[Any]:
    try:
        text = content.decode("utf-8")
        if name.endswith(".csv"):
            return list(csv.DictReader(io.StringIO(text)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(_not_scores(name, error)) from error
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise StoreError(f"{name} is no complete JSON ({error}); evaluate again") from error
    if not isinstance(rows, list):
        raise StoreError(f"{name} holds no list of scores; evaluate again")
    return rows


def _not_scores(name: Path | str, error: Exception) -> str:
    return f"{name} is no file of scores ({error}); give one that 'sgp evaluate' or 'sgp grid' wrote"


def to_json(scores: pd.DataFrame) -> str:
    """The scores as a JSON list of objects."""
    known = scores[list(COLUMNS)].astype(object)
    return json.dumps(known.where(known.notna(), None).to_dict("records"), indent=1, allow_nan=False) + "\n"


def to_csv(scores: pd.DataFrame) -> str:
    """The scores as CSV with a header line; unknown values are empty."""
    text: str = scores[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
    return text


def write_scores(path: Path | str, scores: pd.DataFrame) -> None:
    """Writes scores as CSV if the name ends in .csv, else as JSON. Raises StoreError where it cannot be written."""
    write_text(path, to_csv(scores) if str(path).endswith(".csv") else to_json(scores))
