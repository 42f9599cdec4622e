"""Tables of retrieval: models by domain, with pools' sizes and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sgp.evaluation.scores import Score, wilson
from sgp.reports.sheets import Row, Sheet

HITS = ("hit@1", "hit@5", "hit@10")


def retrieval_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """One line a model and domain, for each protocol and kind of pools: hits with the interval of Hit@5, and chance.

    Values are means over seeds; intervals are Wilson's over the instances that were measured on.
    """
    rows: list[Row] = []
    measured = [score for score in scores if score.metric in HITS]
    for split, pools in dict.fromkeys((score.split, score.decoding) for score in measured):
        here = [score for score in scores if (score.split, score.decoding) == (split, pools)]
        rows.append(Row((f"{split}, pools {pools}", *[""] * 6), heading=True))
        for method, variant in dict.fromkeys((score.method, score.variant) for score in here):
            for domain in dict.fromkeys(score.domain for score in here):
                own = [each for each in here if (each.method, each.variant, each.domain) == (method, variant, domain)]
                if own:
                    rows.append(Row((f"{method} {variant}", domain, *_words(own))))
    headings = ("model", "domain", "Hit@1", "Hit@5", "Hit@10", "candidates", "Hit@5 by chance")
    return Sheet(title, headings, tuple(rows), "Intervals of 95 % by n instances; ties count by their expected value.")


def _words(scores: Sequence[Score]) -> list[str]:
    values = {score.metric: [each.value for each in scores if each.metric == score.metric] for score in scores}
    n = min(score.count for score in scores)
    low, high = wilson(fmean(values["hit@5"]), n)
    return [
        f"{fmean(values['hit@1']):.2f}",
        f"{fmean(values['hit@5']):.2f} [{low:.2f}, {high:.2f}], n = {n}",
        f"{fmean(values['hit@10']):.2f}",
        f"{fmean(values['pool']):.0f}",
        f"{fmean(values['chance_hit@5']):.2f}",
    ]
