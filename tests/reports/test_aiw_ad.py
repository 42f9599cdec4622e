"""The tables of AIW-AD: as printed, consistent, and shown with or without our measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.evaluation.scores import Score, to_frame
from sgp.reports.papers import get_paper, table_inputs

PAPER = get_paper("aiw-ad")
LEVELS = ("easy", "medium", "hard")
TRACK = ("1", "3", "5", "6")


def solved(number):
    """Return numbers of solved problems and of problems, by variant, domain and split."""
    return {
        (score.variant, score.domain, score.split): (score.value * score.count, score.count)
        for score in PAPER.printed(number).itertuples()
    }


def added(pairs):
    return tuple(pytest.approx(sum(column)) for column in zip(*pairs, strict=True))


@pytest.mark.parametrize("number", TRACK)
def test_levels_add_up_to_domains_and_domains_to_the_track(number):
    found = solved(number)
    for variant in {variant for variant, _, _ in found}:
        domains = {domain for each, domain, _ in found if each == variant} - {"total"}
        assert len(domains) == 10
        assert found[variant, "total", ""] == added([found[variant, domain, ""] for domain in domains])
        for domain in domains:
            levels = [found[variant, domain, level] for level in LEVELS if (variant, domain, level) in found]
            assert len(levels) == (0 if variant in ("distincter", "wl-goose") else 3)
            assert not levels or found[variant, domain, ""] == added(levels)
            assert found[variant, domain, ""][1] == 90


@pytest.mark.slow
def test_what_was_not_measured_stands_empty_beside_what_was_printed():
    sheet = sgp.paper_table("aiw-ad", 1, to_frame([]))
    total = ("90/90", "65/90", "78/90", "59/90", "76/90", "57/90", "88/90", "75/90")
    assert sheet.rows[0].words == ("blocksworld", "", *total)
    assert sheet.rows[3].words == ("blocksworld", "hard", "30/30", "5/30", "18/30", "0/30", "16/30", "3/30", "", "")
    assert "nothing was measured on suite track" in sheet.caption
    for number in PAPER.tables:
        shown = table_inputs(["aiw-ad", number])
        assert shown.table().markdown().count("\n") > 10


def test_our_problems_are_counted_where_the_suite_is_here():
    rows = {
        row.words[:2]: row.words[2:] for row in sgp.paper_table("aiw-ad", 8, to_frame([]), suite="state-centric").rows
    }
    assert rows["blocksworld-ipc", "train"] == ("69", "2 to 20", "6 to 45", "9", "4 to 7")
    assert rows["blocksworld-ipc", "test"][-2:] == ("", "")
    assert rows["logistics", "train"][-2:] == ("", ""), "of another benchmark"


def ours(split, value, seed):
    facts = {"method": "aiw-ad", "variant": "exact", "domain": "ferry", "suite": "track", "metric": "coverage"}
    return Score(**facts, split=split, seed=seed, value=value, count=10)


def test_ours_stand_beside_with_seeds_interval_and_budget():
    scores = [ours(split, value, seed) for split, value in zip(LEVELS, (1, 0.8, 0.3), strict=True) for seed in (1, 2)]
    scores.append(replace(scores[0], split="", metric="training_seconds", value=600, count=0))
    scores += [replace(score, method="other", variant="else") for score in scores]
    scores = to_frame(scores)
    sheet = sgp.paper_table("aiw-ad", 1, scores)
    assert sheet.headings[-2:] == ("ours: aiw-ad exact x2", "ours: other else x2")
    rows = {row.words[1]: row.words for row in sheet.rows if row.words[0] == "ferry"}
    assert rows[""][-1] == rows[""][-2] == ".70 [.52, .83], n = 30"
    assert rows["easy"][-1] == "1.00 [.72, 1.00], n = 10"
    assert "aiw-ad exact: 600 s a training." in sheet.caption
    assert sheet.rows[0].words[-1] == ""
    assert sgp.paper_table("aiw-ad", 3, scores).headings[-1] == "ours: aiw-ad exact x2"
    assert [row.words[1] for row in sgp.paper_table("aiw-ad", 1, scores, splits=["hard"]).rows] == ["hard"] * 10
