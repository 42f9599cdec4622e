"""Scores: measured and published numbers as a table with a row for each number; the metrics that they have."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sgp.datasets.store import data_folder
from sgp.datasets.subject import DEFAULT, PlannerName, Subject, Variant
from sgp.errors import StoreError, expected_one_of
from sgp.files import write_text

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE_Z = 1.959963984540054  # two-sided 95 %
COLUMNS = (
    *("paper", "table", "method", "variant", "domain", "suite", "split", "seed"),
    *("decoding", "pool", "selected_by", "size"),
    *("metric", "value", "spread", "n", "n_distinct", "note"),
)
PLANNER = ("method", "variant", "decoding", "selected_by")  # the columns that identify a planner
_REQUIRED = ("method", "variant", "domain", "suite", "split", "metric", "value", "n")
_INTEGERS = ("seed", "size", "n", "n_distinct")
_FLOATS = ("value", "spread")
_FIELDS: Sequence[tuple[str, Callable[[Any], Any], bool, Any]] = [
    (
        name,
        int if name in _INTEGERS else float if name in _FLOATS else str,
        name in _REQUIRED,
        None if name in (*_INTEGERS, *_FLOATS) else "",
    )
    for name in COLUMNS
]  # each column's type, whether a record must have it, and what an empty value is read as
_CHECKED = [COLUMNS.index(name) for name in ("metric", "value", "n", "n_distinct")]


@dataclass(frozen=True, kw_only=True)
class Measurement(Subject):
    """The fields that all scores of one evaluation share; `note` has date and machine."""

    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Score(Measurement):
    """One number; `to_frame` makes a table of many.

    `paper` and `table` name the place of a published number. `size` is the number of objects, None for a whole split;
    `seed` is None for a published number and for a mean over seeds; `spread` is the standard deviation over seeds;
    `n` is the number of problems behind the value, 0 where unknown. `n_distinct` is the number of them that differ by
    more than names of objects; None where unknown, for numbers that are no rate of problems, and for random samples.
    `pool` names the pools of candidates in which next states were retrieved.
    """

    paper: str = ""
    table: str = ""
    pool: str = ""
    size: int | None = None
    metric: str
    value: float
    spread: float | None = None
    n: int
    n_distinct: int | None = None


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
    """Scores as a table: `COLUMNS`, `planner` (the planner's title), and `low` and `high`, missing for other metrics.

    These are the 95 % Wilson interval of a rate of problems, by the number of distinct problems where it is known.
    """
    return _table([[getattr(score, name) for name in COLUMNS] for score in scores])


def _table(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(_INTEGERS, "Int64") | dict.fromkeys(_FLOATS, "float64"))
    rates = {name for name in set(frame["metric"]) if metric_of(name).of_problems}
    trials = frame["n_distinct"].fillna(frame["n"]).where(frame["metric"].isin(rates), 0)
    pairs = zip(frame["value"], trials, strict=True)
    intervals = [wilson(value, n) if n else (math.nan, math.nan) for value, n in pairs]
    return with_planners(frame).assign(low=[low for low, _ in intervals], high=[high for _, high in intervals])


def with_planners(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with `decoding` written out, and `planner`: the title of method, variant, decoding and selection."""
    frame = frame.assign(decoding=frame["decoding"].where(frame["decoding"] != "", DEFAULT))
    groups = frame.groupby(list(PLANNER), sort=False).ngroup()
    first = frame.loc[~groups.duplicated(), list(PLANNER)]
    titles = [PlannerName(*key).title for key in first.itertuples(index=False, name=None)]
    return frame.assign(planner=[titles[group] for group in groups.tolist()])


def select(scores: pd.DataFrame, **fields: Any) -> pd.DataFrame:
    """The rows whose columns have these values: one value, one of a collection, or None for a missing value."""
    for name, value in fields.items():
        column = scores[name]
        if value is None:
            chosen = column.isna()
        elif isinstance(value, Collection) and not isinstance(value, str):
            chosen = column.isin(list(value))
        else:
            chosen = (column == value).fillna(False)
        scores = scores[chosen.astype(bool)]
    return scores


def load_scores(name: str = "measured/scores-*") -> pd.DataFrame:
    """Return the scores in files under `data`, by default all of `measured/scores-*`; empty where a pattern has none.

    Others: "measured/scaling", "measured/learning-curve", "published/state-centric", or ``published/*`` for all papers.
    Columns as for `to_frame`; besides, `configuration` is the variant without its settings, and each of these has a
    column: settings of the training (`training.epochs`), and restrictions such as `max_transitions`. Raises StoreError
    naming the files that exist where there is none of this name, or an entry that is no score.
    """
    import pandas as pd

    paths = [path for path in sorted(data_folder().glob(f"{name}.csv")) if path.name != "notes.csv"]
    if not paths and "*" not in name:
        files = [path for group in ("measured", "published") for path in sorted((data_folder() / group).glob("*.csv"))]
        known = [f"{path.parent.name}/{path.stem}" for path in files if ",metric,value," in path.read_text("utf-8")]
        raise StoreError(f"no file of scores is named '{name}'; {expected_one_of(known, name)}")
    scores = pd.concat([to_frame([]), *map(read_scores, paths)], ignore_index=True) if paths else to_frame([])
    names = list(dict.fromkeys(scores["variant"]))
    settings = pd.DataFrame([Variant.parse(name).settings() for name in names], index=names).convert_dtypes()
    return scores.join(settings, on="variant")


def read_scores(path: Path | str) -> pd.DataFrame:
    """The scores of a CSV or JSON file. Raises StoreError naming the entry that is no score."""
    try:
        return parse_scores(Path(path).read_bytes(), str(path))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it with 'sgp evaluate ... --json {path}'") from error
    except OSError as error:
        raise StoreError(_not_scores(path, error)) from error


def parse_scores(content: bytes, name: str) -> pd.DataFrame:
    """The scores of a file's content: CSV if the name ends in .csv, else JSON."""
    try:
        text = content.decode("utf-8")
        records = list(csv.DictReader(io.StringIO(text))) if name.endswith(".csv") else json.loads(text)
    except UnicodeDecodeError as error:
        raise StoreError(_not_scores(name, f"byte {error.start} is not UTF-8 text")) from error
    except csv.Error as error:
        raise StoreError(_not_scores(name, error)) from error
    except json.JSONDecodeError as error:
        raise StoreError(_not_scores(name, f"not complete JSON, from line {error.lineno} on")) from error
    if not isinstance(records, list):
        raise StoreError(_not_scores(name, "not a list"))
    rows = []
    for number, record in enumerate(records, start=1):
        try:
            rows.append(_row(record))
        except KeyError as error:
            expected = f"expected at least {', '.join(_REQUIRED)}"
            raise StoreError(f"{name}, entry {number}: '{error.args[0]}' is missing; {expected}") from error
        except ValueError as error:
            raise StoreError(f"{name}, entry {number}: {error}") from error
    return _table(rows)


def _row(record: Mapping[str, Any]) -> list[Any]:
    """The values of a record by `COLUMNS`. Raises KeyError or ValueError for anything but a score."""
    if not isinstance(record, Mapping):
        raise ValueError(f"{record!r:.40} is not an object with named values")
    row = []
    for name, kind, required, empty in _FIELDS:
        value = record[name] if required else record.get(name)
        if (value is None or value == "") and name not in ("value", "n"):
            row.append(empty)
            continue
        try:
            row.append(kind(value))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is {value!r:.40}, which is not a number") from error
    metric, value, n, distinct = (row[place] for place in _CHECKED)
    if not math.isfinite(value) or n < 0 or (metric == "coverage" and not 0 <= value <= 1):
        raise ValueError(f"{metric} of {value} on {n} problems is not a measurement")
    if distinct is not None and not min(n, 1) <= distinct <= n:
        raise ValueError(f"{distinct} of {n} problems cannot be distinct")
    return row


def _not_scores(name: Path | str, why: Exception | str) -> str:
    return f"{name} is not a file of scores ({why}); give one that 'sgp evaluate' or 'sgp grid' wrote"


def to_json(scores: pd.DataFrame) -> str:
    """The scores as a JSON list of objects."""
    known = scores[list(COLUMNS)].astype(object)
    return json.dumps(known.where(known.notna(), None).to_dict("records"), indent=1, allow_nan=False) + "\n"


def to_csv(scores: pd.DataFrame) -> str:
    """The scores as CSV with a header line; unknown values are empty."""
    return str(scores[list(COLUMNS)].to_csv(index=False, lineterminator="\n"))


def write_scores(path: Path | str, scores: pd.DataFrame) -> None:
    """Write scores as CSV if the name ends in .csv, else as JSON."""
    write_text(path, to_csv(scores) if str(path).endswith(".csv") else to_json(scores))


Better = Literal["higher", "lower", ""]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its name in files, a title, a short column heading, its unit, and the format of its values.

    A share has the unit "share" and lies between 0 and 1; a share of problems (`of_problems`) has a Wilson interval.
    """

    name: str
    title: str
    heading: str = ""
    unit: str = ""
    form: str = ".2f"
    better: Better = ""
    of_problems: bool = False
    group: str = ""

    def show(self, value: float) -> str:
        """A value as tables write it."""
        decimals = re.fullmatch(r"\.(\d)f", self.form)
        if not decimals:
            return f"{value:{self.form}}"
        return (shown_share if self.of_problems else rounded)(value, int(decimals[1]))

    def rank(self, value: float) -> float:
        """A sort key: the better the value, the smaller; 0 where no direction is better."""
        return {"higher": -value, "lower": value, "": 0.0}[self.better]


_ROWS = csv.DictReader((files("sgp.evaluation") / "metrics.csv").read_text(encoding="utf-8").splitlines())
METRICS: Mapping[str, Metric] = {
    row["name"]: Metric(**{**row, "of_problems": row["of_problems"] == "yes"})  # type: ignore[arg-type]  # of `better`
    for row in _ROWS
}
DIAGNOSTICS = tuple(name for name, metric in METRICS.items() if metric.group == "diagnostics")  # on expert states
TRANSITION_METRICS = frozenset(name for name, metric in METRICS.items() if metric.group in ("transitions", "pools"))


def metric_of(name: str) -> Metric:
    """The metric of this name; an unknown one, such as a user's property, has its name as title."""
    return METRICS.get(name) or Metric(name=name, title=name.replace("_", " "), heading=name.replace("_", " "))


class StopReason(Enum):
    """The reason for which a scaling evaluation stopped."""

    FELL = "fell"  # coverage was below the threshold at several sizes in a row
    EXHAUSTED = "exhausted"  # the domain has no larger problems
    LARGEST = "largest"  # the largest size to try was reached
    TIME = "time"  # time ran out

    @property
    def cut(self) -> bool:
        """Whether a cap on size or time stopped it, so that the planner might have scaled further."""
        return self in (StopReason.LARGEST, StopReason.TIME)

    @property
    def metric(self) -> str:
        """The metric that has this reason among a curve's scores; its value is 1."""
        return f"ended_{self.value}"


CUT_METRICS = frozenset(each.metric for each in StopReason if each.cut)


DIAGNOSED = {
    "expert_top1": "decisions with the expert's action ranked first",
    "indistinguishable": "candidates that the model cannot tell from another one",
    "unseen": "features of a state that did not occur in training",
    "perfect_coverage": "problems solved by greedy decoding if every prediction were perfect",
    "coverage": "problems solved by the planner",
}  # metrics of `sgp evaluate --diagnose`, in words


def rounded(value: float, digits: int = 2) -> str:
    """Format a number with so many decimals, halves rounded up as in the papers: 1 of 8 is 0.13."""
    if not math.isfinite(value):
        return f"{value:.{digits}f}"
    return str(Decimal(str(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def shown_share(share: float, digits: int = 2) -> str:
    """Format a share with so many decimals, with more if a share between 0 and 1 would be rounded to either."""
    while 0 < share < 1 and float(rounded(share, digits)) in (0, 1):
        digits += 1
    return rounded(share, digits)


def percent(share: float) -> str:
    """Format a share in per cent, with decimals only if one between 0 and 100 % would be rounded to either."""
    return f"{100 * float(shown_share(share)):g} %"


@dataclass(frozen=True)
class Diagnosis:
    """A planner on smaller and on larger problems: the share of each metric of DIAGNOSED, and a sentence."""

    sentence: str
    shares: Mapping[str, tuple[float, float]]


def diagnose_splits(scores: pd.DataFrame, smaller: str, larger: str) -> Diagnosis | None:
    """Diagnose a planner from its scores in one domain by the metrics of DIAGNOSED; None if some are missing."""
    means = scores[scores["size"].isna()].groupby(["metric", "split"])["value"].mean()
    if any((metric, split) not in means for metric in DIAGNOSED for split in (smaller, larger)):
        return None
    shares = {metric: (float(means[metric, smaller]), float(means[metric, larger])) for metric in DIAGNOSED}
    (few, many), (_, perfect), (_, solved) = (shares[each] for each in ("expert_top1", "perfect_coverage", "coverage"))
    sentence = (
        f"In the states of expert plans, the model ranks the expert's action first in {percent(few)} of the decisions "
        f"on problems as large as in training, and in {percent(many)} on larger ones. It leaves {percent(1 - solved)} "
        "of the larger problems unsolved. "
    )
    if perfect < 1:
        sentence += (
            f"Even with perfect predictions, greedy decoding would leave {percent(1 - perfect)} unsolved, because of "
            "the features or the decoding."
        )
    else:
        sentence += "With perfect predictions, greedy decoding would solve all: the predictions are wrong."
    return Diagnosis(sentence, shares)
