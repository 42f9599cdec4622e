"""Where the numbers of the page Domains and data come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sgp.datasets.suite import load_suite
from sgp.domains import saying
from sgp.reports.sheets import Sheet


def instances() -> str:
    """Instances of suite acpbench; an expert plans where the state space of a start is too large."""
    suite, rows = load_suite("acpbench"), []
    for name, domain in suite.domains.items():
        house, planned = saying(suite.domain_text(name)), len(list((suite.experts / name).glob("*.jsonl")))
        assert house is not None, name
        count = len(domain.splits)
        rows.append((house.title, f"{count}", f"{count - planned}"))
    return Sheet.of(
        "", ("domain", "instances", "all starts in state spaces of at most 200,000 states"), rows
    ).markdown()


DATA: Mapping[str, Callable[[], str]] = {"acpbench-instances": instances}
