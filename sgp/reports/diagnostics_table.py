"""Diagnostics as a table: how planners see the expert's decisions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.reports.sheets import Sheet

_SHOWN = (
    "expert_top1",
    "expert_top3",
    "expert_rank",
    "indistinguishable",
    "unseen",
    "perfect_coverage",
    "name_sensitivity",
    "coverage",
)
_ASKED_FOR = "name_sensitivity"  # shown where it was measured


def diagnostics_sheet(scores: Iterable[Score], title: str = "Diagnostics on expert states") -> Sheet:
    """A line for each planner, domain and split, with the coverage reached where it was scored too."""

    def place(score: Score) -> tuple[str, str, str]:
        return score.model, score.domain, score.split

    whole = sorted((score for score in scores if score.size is None and score.metric in _SHOWN), key=place)
    shown = [each for each in _SHOWN if each != _ASKED_FOR or any(score.metric == each for score in whole)]
    rows = []
    for line, group in groupby(whole, key=place):
        found = {score.metric: score for score in group}
        if "expert_rank" not in found:
            continue
        words = [METRICS[metric].show(found[metric].value) if metric in found else "" for metric in shown]
        rows.append((*line, str(found["expert_rank"].count), *words))
    headings = ("planner", "domain", "split", "decisions", *(METRICS[metric].heading for metric in shown))
    caption = (
        "On the states of expert plans. Ranks are among successors that the encoding can tell apart; indistinct is the "
        "share of successor states that are collapsed into another; unseen is the share of features outside the "
        "training vocabulary; perfect is the coverage of greedy decoding, without a beam, when every prediction is "
        "the expert's next embedding: what features and decoding alone lose."
    )
    if _ASKED_FOR in shown:
        caption += (
            " By name is the share of decisions that change where objects have other names; the same decision leads to "
            "states that differ in interchangeable objects alone."
        )
    return Sheet.of(title, headings, rows, caption)
