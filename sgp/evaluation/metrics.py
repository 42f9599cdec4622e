"""The metrics of scores: title, column heading, unit, number format, and whether high or low values are better."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from typing import Literal

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
        return f"{value:{self.form}}"

    def rank(self, value: float) -> float:
        """A sort key: the better the value, the smaller; 0 where no direction is better."""
        return {"higher": -value, "lower": value, "": 0.0}[self.better]


def _read() -> Mapping[str, Metric]:
    """The metrics of `metrics.csv`, by name."""
    text = (files("sgp.evaluation") / "metrics.csv").read_text(encoding="utf-8")
    metrics = {}
    for row in csv.DictReader(text.splitlines()):
        of_problems = row.pop("of_problems") == "yes"
        metrics[row["name"]] = Metric(**row, of_problems=of_problems)  # type: ignore[arg-type]  # of `better`
    return metrics


METRICS = _read()
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
