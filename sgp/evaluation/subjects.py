"""Which planner a run is, for what is told of it."""

from __future__ import annotations

from sgp.datasets.runs import Run
from sgp.planning.subject import Subject, parted_variant


def subject_of(run: Run, suite: str = "", domain: str = "", split: str = "", decoding: str = "") -> Subject:
    """A run tried on a split of a suite; where suite or domain are left out, on those that it was trained on."""
    key = run.key
    variant, _ = parted_variant(key.variant)
    return Subject(
        method=key.method,
        variant=variant,
        domain=domain or key.domain,
        suite=suite or key.suite,
        split=split,
        decoding=decoding,
        seed=key.seed,
        selected_by=run.record["facts"].get("selection", {}).get("by", ""),
    )
