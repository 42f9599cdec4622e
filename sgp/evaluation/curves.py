"""Scaling curves as scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import mean

from sgp.errors import ConfigurationError
from sgp.evaluation.endings import Ended
from sgp.evaluation.properties import PROPERTIES, Property, property_values
from sgp.evaluation.scaling import Curve
from sgp.evaluation.scores import Measurement, Score

OWN_METRICS = ("scale", "sumcov", *(each.metric for each in Ended), "coverage", "fits", "with_plan", "unsolvable")


def curve_scores(
    curve: Curve, subject: Measurement, properties: Mapping[str, Property] | None = None
) -> Iterator[Score]:
    """The scores of a curve: `scale`, `sumcov` and `ended_X`, which note how it ended, and what attempts tell by size.

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
        return Score(**vars(subject), size=size, metric=metric, value=value, count=count)

    count = sum(len(each.attempts) for each in curve.sizes)
    note = "; ".join(filter(None, (subject.note, curve.note)))
    for metric, value in (("scale", curve.scale), ("sumcov", curve.sumcov), (curve.ended.metric, 1)):
        yield replace(score(metric, value, count), note=note)
    for each in curve.sizes:
        for metric in ("coverage", "fits", "with_plan"):
            yield score(metric, getattr(each, metric), len(each.attempts), each.size)
        if each.unsolvable:
            yield score("unsolvable", each.unsolvable, len(each.attempts) + each.unsolvable, each.size)
        for name, property_ in wanted.items():
            found = property_values(curve, each, name, property_)
            if found:
                yield score(name, mean(found), len(found), each.size)
