"""Where the numbers of the page Scaling come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reading import Numbers, rate, scores, when

import sgp
from sgp.datasets.experts import kept_plans


def table() -> str:
    """The paper's Table 1 with ours above it."""
    theirs = [score for score in sgp.published("dynamic-validation") if score.table == "1"]
    return sgp.scaling_table(sgp.measured_scaling(), theirs).markdown()


def plans_made() -> Numbers:
    """How many problems have a plan in time."""
    suite = sgp.load_suite("scaling")
    made: list[str] = []
    for domain in suite.domains:
        found = []
        for split in ("train", "validation"):
            plans = kept_plans(suite, domain, split)
            problems = suite.problems(domain, split)
            found += [sum(plans[each.sha256].plan is not None for each in problems), len(problems)]
        if domain in ("blocksworld", "visitall"):
            made += map(str, found)
        else:
            assert found[::2] == found[1::2], f"the text says all of {domain}"
    return made


def ends() -> Numbers:
    """Coverage at the last size of the planner that dynamic validation selected, domain by domain as in the text."""
    curves = [each for each in scores("scaling") if each.selected_by == "dynamic"]
    largest: dict[str, tuple[int, float]] = {}
    for each in curves:
        if each.metric == "coverage" and each.size is not None:
            largest[each.domain] = max(largest.get(each.domain, (0, 0.0)), (each.size, each.value))
    order = (
        "visitall",
        "satellite",
        "logistics",
        "childsnack",
        "transport",
        "rovers",
        "gripper",
        "ferry",
        "blocksworld",
    )
    day, cores = when(curves)
    return [day, cores, *(rate(largest[domain][1]) for domain in order)]


SCALING: Mapping[str, Callable[[], str | Numbers]] = {
    "scaling": table,
    "plans-made": plans_made,
    "scaling-ends": ends,
}
