"""Where the numbers of the page Installing come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reading import Numbers, scores, when

from sgp.datasets.runs import open_run
from sgp.evaluation.scores import wilson
from sgp.methods.fitting import shipped_folders
from sgp.reports.card import kept_scores
from sgp.reports.sheets import Sheet


def sizes() -> str:
    """Megabytes and processor seconds by extra."""
    found = {(each.variant, each.metric): each.value for each in scores("installing")}
    rows = [
        (name, f"{found[name, 'megabytes']:,.0f} MB", f"{found[name, 'processor_seconds']:.0f} s")
        for name in dict.fromkeys(variant for variant, _ in found)
    ]
    return Sheet.of("", ("installed", "size", "processor time of pip"), rows).markdown()


def how_sizes() -> Numbers:
    """Day and cores."""
    return when(scores("installing"))


def planners() -> str:
    """Coverage of the shipped planners on the problems that they were measured on."""
    rows = []
    for folder in shipped_folders():
        run = open_run(folder)
        coverage = [each for each in kept_scores(run) if each.metric == "coverage"]
        (whole,) = [each for each in coverage if each.size is None]
        (size,) = {each.size for each in coverage} - {None}
        low, high = wilson(whole.value, whole.count)
        solved = f"{whole.value * whole.count:.0f} of {whole.count}"
        rows.append((run.key.domain, str(size), solved, f"{whole.value:.2f} [{low:.2f}, {high:.2f}]"))
    return Sheet.of("", ("domain", "objects", "solved", "coverage, 95 % Wilson interval"), rows).markdown()


INSTALLING: Mapping[str, Callable[[], str | Numbers]] = {
    "installed-sizes": sizes,
    "installed-when": how_sizes,
    "shipped-planners": planners,
}
