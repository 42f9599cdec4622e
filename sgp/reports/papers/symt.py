"""Symmetry-aware transformers: coverage of plan generators and heuristics, and their sizes, ours beside theirs."""

from __future__ import annotations

from dataclasses import replace

from sgp.evaluation.metrics import METRICS
from sgp.reports.papers import Asked, Paper, PaperTable
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import coverage_sheet

_METHODS = ("symt", "nameless")  # of ours: the paper's, and the same without names
BUDGET = (
    "Theirs: one GPU for 12 hours a model, 3 seeds, generation ends beyond 500 tokens; the validation split chose the "
    "checkpoints, so that it is no test, and its n is 2 to 4 in three domains."
)


def _coverage(asked: Asked) -> Sheet:
    """Table 2: what each decoding solves; of ours the paper's method, and the one without names."""
    ours = [score for score in asked.ours if score.method in _METHODS]
    sheet = coverage_sheet(ours, asked.printed, "Table 2: coverage", asked.splits, all_published=True)
    return replace(sheet, caption=f"{sheet.caption} {BUDGET}")


def _sizes(asked: Asked) -> Sheet:
    """Table 1: parameters."""
    show = METRICS["parameters"].show
    ours = [score for score in asked.ours if score.method in _METHODS and score.metric == "parameters"]
    rows = [Row((score.planner.title, show(score.value), "")) for score in ours]
    rows += [
        Row((f"{score.method} {score.variant}, published", show(score.value), score.note), published=True)
        for score in asked.printed
    ]
    return Sheet("Table 1: model sizes", ("planner", "parameters", "remark"), tuple(rows))


PAPER = Paper(
    key="symt",
    title="Symmetry-Aware Transformer Training for Automated Planning",
    suite="state-centric",
    tables={"1": PaperTable("model sizes", _sizes), "2": PaperTable("coverage by decoding", _coverage)},
)
