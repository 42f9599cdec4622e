"""Scaling curves as scores and as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import mean

import numpy as np

from sgp.errors import ConfigurationError
from sgp.evaluation.coverage import Subject
from sgp.evaluation.properties import PROPERTIES, Property, plan_length, samples, seconds
from sgp.evaluation.scaling import Curve, Measured
from sgp.evaluation.scores import Score
from sgp.evaluation.sequential import half_width
from sgp.evaluation.sheets import Sheet
from sgp.planning.rollout import Outcome

OWN_METRICS = ("scale", "sumcov", "coverage", "fits", "with_plan", "unsolvable")


def curve_scores(curve: Curve, subject: Subject, properties: Mapping[str, Property] | None = None) -> Iterator[Score]:
    """The scores of a curve: `scale` and `sumcov`, and for each size coverage and what else its attempts tell.

    For each size: `coverage`; `fits`, the share of problems with a known plan within the bound, at least, and
    `with_plan`, the share with any known plan; `unsolvable`, how many problems were left out because they have no
    plan, where there are some; and means of properties over the attempts that have them, with how many these are:
    plan_length, plan_length_per_object and seconds, and any further ones (`properties`, by name). Nothing is tried
    again for a property. Raises ConfigurationError for a property that has the name of a metric or gives no number.
    """
    wanted = {**PROPERTIES, **(properties or {})}
    for name in wanted:
        if name in OWN_METRICS:
            raise ConfigurationError(f"property '{name}' has the name of a metric; choose another name")

    def score(metric: str, value: float, count: int, size: int | None = None) -> Score:
        return Score(**asdict(subject), size=size, metric=metric, value=value, count=count)

    count = sum(len(each.attempts) for each in curve.sizes)
    yield score("scale", curve.scale, count)
    yield score("sumcov", curve.sumcov, count)
    for each in curve.sizes:
        for metric in ("coverage", "fits", "with_plan"):
            yield score(metric, getattr(each, metric), len(each.attempts), each.size)
        if each.unsolvable:
            yield score("unsolvable", each.unsolvable, len(each.attempts) + each.unsolvable, each.size)
        for name, property_ in wanted.items():
            found = _values(curve, each, name, property_)
            if found:
                yield score(name, mean(found), len(found), each.size)


def _values(curve: Curve, measured: Measured, name: str, property_: Property) -> list[float]:
    """A property of the samples of one size, of those that have it."""
    found = []
    for sample in samples(curve, measured):
        value = property_(sample)
        if value is None:
            continue
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ConfigurationError(
                f"property '{name}' of {sample.attempt.problem} is {value!r}; expected a finite number, or None where "
                f"the problem does not have it"
            )
        found.append(float(value))
    return found


def published_words(theirs: Sequence[Score], domain: str) -> str:
    """What the paper's planners reach in a domain (its table 1), one after the other; empty where it has none."""
    found: dict[str, dict[str, float]] = {}
    for each in theirs:
        if each.domain == domain and each.metric in ("scale", "sumcov"):
            found.setdefault(f"{each.method}, {each.variant} validation", {})[each.metric] = each.value
    words = [f"{name}: Scale {each['scale']:g}, SumCov {each['sumcov']:g}" for name, each in found.items()]
    return f"Published: {'; '.join(words)}." if words else ""


def published_cap(theirs: Sequence[Score], domain: str) -> int | None:
    """Twice the largest Scale that the paper's planners reach in a domain, None where it has none."""
    found = [each.value for each in theirs if each.domain == domain and each.metric == "scale"]
    return round(2 * max(found)) if found else None


def curve_sheet(curve: Curve, title: str, kappa: float, theirs: str = "") -> Sheet:
    """The curve as a table, with a bar for each coverage; `theirs` is what to compare it with."""
    rows = []
    for each in curve.sizes:
        wide = half_width(np.array([each.coverage]), np.array([len(each.attempts)]), kappa)[0]
        lengths = _values(curve, each, "plan_length", plan_length)
        rows.append(
            (
                str(each.size),
                f"{each.coverage:.2f} ±{wide:.2f}",
                "█" * round(20 * each.coverage),
                str(len(each.attempts)),
                f"≥{each.fits:.2f}",
                f"{each.with_plan:.2f}",
                str(each.bound),
                f"{mean(lengths):.1f}" if lengths else "",
                f"{mean(_values(curve, each, 'seconds', seconds)):.3f}",
            )
        )
    headings = ("objects", "coverage", "", "problems", "fit", "known", "most actions", "mean actions", "mean s")
    words = [f"Scale {curve.scale}, SumCov {curve.sumcov:.2f}; {curve.ended}."]
    late = sum(attempt.outcome is Outcome.TIMEOUT for each in curve.sizes for attempt in each.attempts)
    if late:
        words.append(f"{late} attempts ran out of their seconds and count as not solved.")
    unsolvable = sum(each.unsolvable for each in curve.sizes)
    if unsolvable:
        words.append(f"{unsolvable} problems have no plan, as Fast Downward proved, and are not counted.")
    words.append("Fit: the share with a plan of no more than the most actions, as far as plans are known (known).")
    return Sheet.of(title, headings, rows, " ".join([*words, theirs]).strip())
