"""Diagnostics as a table: how planners see the expert's decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from sgp.evaluation.scores import Score
from sgp.reports.sheets import Sheet


def diagnostics_sheet(scores: Iterable[Score], title: str = "Diagnostics on expert states") -> Sheet:
    """A line for each planner, domain and split, with the coverage reached where it was scored too."""

    def place(score: Score) -> tuple[str, str, str]:
        return score.model, score.domain, score.split

    shown: Mapping[str, Callable[[float], str]] = {
        "expert_top1": "{:.2f}".format,
        "expert_top3": "{:.2f}".format,
        "expert_rank": "{:.1f}".format,
        "indistinguishable": "{:.2f}".format,
        "unseen": "{:.3f}".format,
        "perfect_coverage": "{:.2f}".format,
        "coverage": "{:.2f}".format,
    }
    whole = sorted((score for score in scores if score.size is None and score.metric in shown), key=place)
    rows = []
    for line, group in groupby(whole, key=place):
        found = {score.metric: score for score in group}
        if "expert_rank" not in found:
            continue
        words = [show(found[metric].value) if metric in found else "" for metric, show in shown.items()]
        rows.append((*line, str(found["expert_rank"].count), *words))
    headings = ("planner", "domain", "split", "decisions", "top-1", "top-3", "mean rank", "indistinct", "unseen")
    caption = (
        "On the states of expert plans. Ranks are among successors that the encoding can tell apart; indistinct is the "
        "share of successor states that are collapsed into another; unseen is the share of features outside the "
        "training vocabulary; perfect is the coverage of greedy decoding, without a beam, when every prediction is "
        "the expert's next embedding: what features and decoding alone lose."
    )
    return Sheet.of(title, (*headings, "perfect", "coverage"), rows, caption)
