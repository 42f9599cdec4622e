"""Where the numbers of the page Dashboard come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reading import Numbers, load, rounded, scores, when

from sgp.reports.sheets import Sheet


def speed() -> str:
    """What the dashboard costs its user, as its benchmark measured it."""
    found = scores("dashboard")
    lines = [
        (each.variant, f"{each.value:.0f}" if each.metric == "number" else f"{rounded(each.value)} {each.metric}")
        for each in found
    ]
    day, cores = when(found)
    told = f"Measured on {day}, {cores} cores, load {load(found)}."
    return f"{told}\n\n{Sheet.of('', ('measured', 'value'), lines).markdown()}"


DASHBOARD: Mapping[str, Callable[[], str | Numbers]] = {"dashboard-speed": speed}
