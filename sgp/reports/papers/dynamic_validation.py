"""Dynamic validation: how far planners scale that different validations selected."""

from __future__ import annotations

from sgp.reports.papers import Asked, Paper, PaperTable
from sgp.reports.scaling_table import scaling_table
from sgp.reports.sheets import Sheet


def _scales(asked: Asked) -> Sheet:
    return scaling_table(asked.ours, asked.printed)


PAPER = Paper(
    key="dynamic-validation",
    title="Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior",
    suite="scaling",
    tables={"1": PaperTable("Scale and SumCov, by the validation that selected the planner", _scales, over_size=True)},
    beside=("1",),
    short={"scaling": "1"},
)
