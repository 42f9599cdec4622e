"""The tables of EmbedPlan: as printed, consistent where values repeat, shown with or without our measurements."""

from __future__ import annotations

from statistics import mean

import pytest

import sgp
from sgp.errors import InputError
from sgp.evaluation.scores import Score, load_scores, to_frame
from sgp.reports.papers import get_paper

PAPER = get_paper("embedplan")
SCORES = list(load_scores("published/embedplan").itertuples())
RATES = [score for score in SCORES if score.method]
WRONG_MEANS = {("13", "untrained", "", "hit@5"): (0.039, 0.042)}  # as printed; mean of the rows


def test_printed_means_are_those_of_the_rows_but_for_one():
    rows = {}
    for score in RATES:
        rows.setdefault((score.table, score.variant, score.split, score.metric), {})[score.domain] = score.value
    checked = 0
    for place, values in rows.items():
        shown = values.pop("mean", None)
        if shown is None or not values:
            continue
        recomputed = mean(values.values())
        if place in WRONG_MEANS:
            assert WRONG_MEANS[place] == (shown, round(recomputed, 3))
        else:
            assert shown == pytest.approx(recomputed, abs=0.00051), place
        checked += 1
    assert checked == 51


def ours(value, **fields):
    facts = {"method": "embedplan", "variant": "minilm-atoms", "decoding": "hard", "domain": "ferry", "metric": "hit@5"}
    facts |= {"suite": "acpbench", "split": "interpolation", "seed": 42, "count": 40, "distinct": 10}
    return Score(**facts | fields, value=value)


def test_ours_stand_above_theirs_with_pool_seeds_and_interval():
    scores = [
        ours(0.8),
        ours(0.6, seed=123),
        ours(0.5, domain="grid"),
        ours(0.9, method="displacements", variant="mean", seed=None, count=0, distinct=None),
        ours(0.25, metric="acc@5", decoding="", count=0, distinct=None),
        ours(499.0, metric="queries", decoding=""),
        ours(0.1, metric="coverage", variant="of-a-planner"),
    ]
    rows = sgp.paper_table("embedplan", 2, to_frame(scores)).rows
    start = next(place for place, row in enumerate(rows) if row.words[0] == "ferry")
    of_ferry = [row.words for row in rows[start + 1 : start + 4]]
    rate = "0.700 ±0.100 [0.397, 0.892], n = 40 (10 distinct)"
    assert of_ferry[0] == ("embedplan minilm-atoms · hard x2", "", rate, "", "", "0.250", "")
    assert of_ferry[1][:3] == ("displacements mean · hard x1", "", "0.900")
    assert of_ferry[2][0] == "embedplan llama-3.3-70b · paper, published"
    mean_rows = sgp.paper_table("embedplan", 1, to_frame(scores)).rows
    assert mean_rows[0].words == ("embedplan minilm-atoms · hard x2", "0.600 ±0.100, 2 domains", "")
    assert mean_rows[1].words == ("displacements mean · hard x1", "0.900, 1 domain", "")
    assert [row.published for row in mean_rows] == [False] * 2 + [True] * 4


def test_a_model_that_learned_from_one_other_domain_is_one_line_over_all_of_them():
    variant = "minilm-atoms+most=200+from="
    scores = [
        ours(value, variant=f"{variant}{source}", domain=domain, split="cross-domain")
        for value, source, domain in ((0.1, "ferry", "grid"), (0.3, "depot", "grid"), (0.6, "depot", "ferry"))
    ]
    first = sgp.paper_table("embedplan", 4, to_frame(scores)).rows[0].words
    assert first[:3] == ("embedplan minilm-atoms · hard x1", "", "0.400 ±0.200, 2 domains")


def test_most_transitions_are_told_below_where_a_split_has_one_number_and_in_the_line_where_it_has_two():
    of = {"split": "extrapolation", "variant": "minilm-atoms+most=1000"}
    scores = [ours(0.5, **of), ours(0.25, variant="minilm-atoms+most=250+shots=2", split="leave-one-out")]
    scores += [ours(0.75, variant="minilm-atoms+most=250", split="multi-domain")]
    sheet = sgp.paper_table("embedplan", 4, to_frame(scores))
    assert [(row.words[0], *row.words[3:6]) for row in sheet.rows[:2]] == [
        ("embedplan minilm-atoms · hard x1", "", "0.750, 1 domain", "0.500, 1 domain"),
        ("embedplan minilm-atoms+shots=2 · hard x1", "0.250, 1 domain", "", ""),
    ]
    assert sheet.caption.endswith(
        "at most so many transitions of a domain: extrapolation 1000, leave-one-out 250, multi-domain 250."
    )
    two = sgp.paper_table("embedplan", 4, to_frame([*scores, ours(0.4, split="extrapolation")]))
    assert [row.words[0] for row in two.rows if not row.published] == [
        "embedplan minilm-atoms+most=1000 · hard x1",
        "embedplan minilm-atoms+shots=2 · hard x1",
        "embedplan minilm-atoms · hard x1",
    ]


def test_a_split_is_chosen_and_one_without_scores_is_refused():
    sheet = sgp.paper_table("embedplan", 4, to_frame([]), splits=["cross-domain"])
    assert sheet.headings == ("planner", "cross-domain")
    assert len(sheet.rows) == 1
    with pytest.raises(InputError, match=r"no scores of split 'train'; expected some of extrapolation, interpolation$"):
        sgp.paper_table("embedplan", 1, to_frame([]), splits=["train"])
