"""Tables of retrieval: models by domain, with pools' sizes and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sgp.evaluation.scores import Score, wilson
from sgp.reports.sheets import Row, Sheet

HITS = ("hit@1", "hit@5", "hit@10")
HEADINGS = ("model", "domain", "Hit@1", "Hit@5", "Hit@10", "pool", "chance", "Acc@1", "plans", "followed")
NOTE = (
    "Intervals of 95 % by n instances; ties count by their expected value. pool: candidates; chance: Hit@5 by any "
    "order; Acc@1: the action among the applicable ones; plans: of which every next state is among five; followed: "
    "plans executed exactly by the model's own predictions."
)


def retrieval_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """One line a model and domain, for each protocol and kind of pools: hits with the interval of Hit@5, and chance;
    how often the action is found among the applicable ones, and plans of which every step is.

    Values are means over seeds; intervals are Wilson's over the instances that were measured on.
    """
    rows: list[Row] = []
    measured = [score for score in scores if score.metric in HITS]
    for split, pools in dict.fromkeys((score.split, score.decoding) for score in measured):
        of_split = [score for score in scores if score.split == split and score.decoding in ("", pools)]
        here = [score for score in of_split if score.decoding == pools]
        rows.append(Row((f"{split}, pools {pools}", *[""] * (len(HEADINGS) - 1)), heading=True))
        for method, variant in dict.fromkeys((score.method, score.variant) for score in here):
            for domain in dict.fromkeys(score.domain for score in here):
                own = [
                    each for each in of_split if (each.method, each.variant, each.domain) == (method, variant, domain)
                ]
                if any(each.decoding == pools for each in own):
                    rows.append(Row((f"{method} {variant}", domain, *_words(own))))
    return Sheet(title, HEADINGS, tuple(rows), NOTE)


def _words(scores: Sequence[Score]) -> list[str]:
    values: dict[str, list[float]] = {}
    for score in scores:
        values.setdefault(score.metric, []).append(score.value)

    def shown(metric: str, digits: int = 2) -> str:
        return f"{fmean(values[metric]):.{digits}f}" if metric in values else ""

    n = min(score.count for score in scores if score.metric == "hit@5")
    low, high = wilson(fmean(values["hit@5"]), n)
    return [
        shown("hit@1"),
        f"{shown('hit@5')} [{low:.2f}, {high:.2f}], n = {n}",
        shown("hit@10"),
        shown("pool", 0),
        shown("chance_hit@5"),
        shown("acc@1"),
        shown("plan_exact_hit@5"),
        shown("closed_loop_exact"),
    ]
