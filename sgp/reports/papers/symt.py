"""Symmetry-aware transformers: coverage of plan generators and heuristics, and their sizes, ours beside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.planning.subject import PlannerName
from sgp.reports.papers import Asked, Paper, PaperTable
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import coverage_sheet

_EPOCHS = "training.epochs="
_METHODS = ("symt", "nameless")  # of ours: the paper's, and the same without names
BUDGET = (
    "Ours are faithful to the paper's main text, whose appendices are not at hand. Theirs: one GPU for 12 hours a "
    "model, 3 seeds, generation ends beyond 500 tokens; the validation split chose the checkpoints, so that it is no "
    "test, and its n is 2 to 4 in three domains."
)


def _coverage(asked: Asked) -> Sheet:
    """Table 2: what each decoding solves; of ours the paper's method, and the one without names."""
    ours, shorter = _as_printed([score for score in asked.ours if score.method in _METHODS])
    sheet = coverage_sheet(ours, asked.printed, "Table 2: coverage", asked.splits, all_published=True)
    return replace(sheet, caption=" ".join([sheet.caption, BUDGET, *shorter]))


def _as_printed(ours: Sequence[Score]) -> tuple[list[Score], list[str]]:
    """The scores that stand beside the printed ones, and sentences on those that were trained for fewer epochs.

    Such a run stands for its variant in a domain where no longer one was measured; runs with other settings, which the
    paper's table does not have, are left out.
    """
    whole = {(score.method, score.variant, score.domain) for score in ours}
    found, shorter = list[Score](), dict[tuple[str, str, str], list[str]]()
    for score in ours:
        variant, _, settings = score.variant.partition("+")
        if not settings:
            found.append(score)
        elif settings.startswith(_EPOCHS) and "+" not in settings:
            stands_for = (score.method, variant, score.domain) not in whole
            found.append(replace(score, variant=variant) if stands_for else score)
            if stands_for:
                domains = shorter.setdefault((score.method, variant, settings.removeprefix(_EPOCHS)), [])
                domains += [score.domain] if score.domain not in domains else []
    return found, [
        f"{method} {variant} was trained for {epochs} epochs in {' and '.join(domains)}."
        for (method, variant, epochs), domains in shorter.items()
    ]


def _sizes(asked: Asked) -> Sheet:
    """Table 1: parameters; of ours from the least to the most of the domains."""
    show = METRICS["parameters"].show
    of: dict[PlannerName, dict[str, float]] = {}
    for score in _as_printed([score for score in asked.ours if score.method in _METHODS])[0]:
        if score.metric == "parameters":
            of.setdefault(score.planner, {})[score.domain] = score.value
    rows = [
        Row((planner.title, " to ".join(map(show, sorted({min(sizes.values()), max(sizes.values())}))), "by domain"))
        for planner, sizes in sorted(of.items())
    ]
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
