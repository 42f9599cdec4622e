"""Scaling curves as tables for the terminal, with what a paper's planners reach beside them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np

from sgp.evaluation.metrics import METRICS
from sgp.evaluation.properties import plan_length, property_values, seconds
from sgp.evaluation.scaling import Curve
from sgp.evaluation.scores import Score
from sgp.evaluation.sequential import half_width
from sgp.planning.rollout import Outcome
from sgp.reports.sheets import Sheet


def published_words(theirs: Sequence[Score], domain: str) -> str:
    """What the paper's planners reach in a domain (its table 1), one after the other; empty where it has none."""
    found: dict[str, dict[str, float]] = {}
    for each in theirs:
        if each.domain == domain and each.metric in ("scale", "sumcov"):
            found.setdefault(f"{each.method}, {each.selected_by} validation", {})[each.metric] = each.value
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
        lengths = property_values(curve, each, "plan_length", plan_length)
        rows.append(
            (
                str(each.size),
                f"{METRICS['coverage'].show(each.coverage)} ±{METRICS['coverage'].show(wide)}",
                "█" * round(20 * each.coverage),
                str(len(each.attempts)),
                f"≥{METRICS['fits'].show(each.fits)}",
                METRICS["with_plan"].show(each.with_plan),
                str(each.bound),
                f"{mean(lengths):.1f}" if lengths else "",
                f"{mean(property_values(curve, each, 'seconds', seconds)):.3f}",  # small problems take milliseconds
            )
        )
    headings = ("objects", "coverage", "", "problems", "fit", "known", "most actions", "mean actions", "mean s")
    words = [f"Scale {curve.scale}, SumCov {METRICS['sumcov'].show(curve.sumcov)}; {curve.note}."]
    late = sum(attempt.outcome is Outcome.TIMEOUT for each in curve.sizes for attempt in each.attempts)
    if late:
        words.append(f"{late} attempts ran out of their seconds and count as not solved.")
    unsolvable = sum(each.unsolvable for each in curve.sizes)
    if unsolvable:
        words.append(f"{unsolvable} problems have no plan, as Fast Downward proved, and are not counted.")
    words.append("Fit: the share with a plan of no more than the most actions, as far as plans are known (known).")
    return Sheet.of(title, headings, rows, " ".join([*words, theirs]).strip())
