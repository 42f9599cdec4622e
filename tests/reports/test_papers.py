"""Tables of papers: as printed, consistent, and shown with or without our measurements."""

from dataclasses import replace
from statistics import mean

import pytest

import sgp
from sgp.errors import InputError
from sgp.evaluation.scores import Score, load_scores, to_frame
from sgp.methods import built_in_keys, get_method
from sgp.reports.papers import all_papers, find_table, get_paper, listed, table_inputs


def test_every_paper_has_its_numbers_and_tables_have_a_long_and_a_short_name():
    keys = {paper.key for paper in all_papers()}
    assert {get_method(key).paper for key in built_in_keys()} - {""} <= keys
    for paper in all_papers():
        assert set(load_scores(f"published/{paper.key}").paper) == {paper.key}
        assert {*paper.beside} <= set(paper.tables)
        assert paper.suite in {*sgp.list_suites(), "track"}, "the track's suite need not be installed"
        assert all(len(paper.printed(number)) for number in paper.tables)
    for names in ((), ("1",), ("state-centric", "1"), ("scaling",), ("dynamic-validation", "1")):
        paper, number = find_table(names)
        key = "dynamic-validation" if {"scaling", "dynamic-validation"} & set(names) else "state-centric"
        assert (paper.key, number) == (key, "1")
    shorts = [form for paper in all_papers() for table in paper.tables.values() for form in table.get("short", ())]
    assert len(shorts) == len(set(shorts)), "a short form means one table"
    assert ("state-centric", "5", "problems", "5") in set(listed())
    with pytest.raises(InputError, match="there is no table 'state-centric' here; expected 1, 3, 4, 5, scaling, or a"):
        find_table(["state-centric"])
    with pytest.raises(InputError, match="unknown paper 'magic'; expected one of aiw-ad, dynamic-validation, embed"):
        get_paper("magic")


def symt_scores(variant, domain, **facts):
    words = {"method": "symt", "suite": "state-centric", "split": "extrapolation", "metric": "coverage", "value": 0.5}
    return [Score(variant=variant, domain=domain, seed=seed, n=18, **(words | facts)) for seed in (13, 14)]


def test_fewer_epochs_and_sizes_of_our_transformers_stand_beside_the_printed():
    short, other = "plangpt+training.epochs=25", "ed+training.attention=0+training.hidden=0"
    ours = symt_scores(short, "logistics", decoding="greedy") + symt_scores("plangpt", "gripper", decoding="greedy")
    ours += symt_scores(short, "gripper", decoding="greedy") + symt_scores(other, "gripper", decoding="greedy")
    sheet = sgp.experiments.paper_table("symt", 2, to_frame(ours))
    names = [row.words[0] for row in sheet.rows if not row.published and not row.heading]
    assert sorted(names) == ["symt plangpt · greedy x2", f"symt {short} · greedy x2"]
    assert sheet.caption.endswith("symt plangpt was trained for 25 epochs in logistics.")
    sizes = {"blocksworld": 10.0, "gripper": 30.0, "visitall": 20.0}
    ours = [each for name, of in sizes.items() for each in symt_scores("ed", name, metric="parameters", value=of)]
    assert [row.words for row in sgp.experiments.paper_table("symt", 1, to_frame(ours)).rows if not row.published] == [
        ("symt ed", "10 to 30", "by domain")
    ]


PAPER = get_paper("aiw-ad")
LEVELS = ("easy", "medium", "hard")
TRACK = ("1", "3", "5", "6")


def solved(number):
    printed = PAPER.printed(number).itertuples()
    return {(each.variant, each.domain, each.split): (each.value * each.n, each.n) for each in printed}


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
def test_tables_are_made_of_committed_scores_of_ones_own_or_stand_empty_beside_the_printed():
    sheet = sgp.experiments.paper_table("aiw-ad", 1, to_frame([]))
    total = ("90/90", "65/90", "78/90", "59/90", "76/90", "57/90", "88/90", "75/90")
    assert sheet.rows[0].words == ("blocksworld", "", *total)
    hard = ("30/30", "5/30", "18/30", "0/30", "16/30", "3/30", "", "")
    assert sheet.rows[3].words == ("blocksworld", "hard", *hard)
    assert "nothing was measured on suite track" in sheet.caption
    for number in PAPER.tables:
        shown = table_inputs(["aiw-ad", number])
        assert shown.table().markdown().count("\n") > 10
    committed = table_inputs(["1"])
    assert set(committed.ours.suite) == {get_paper("state-centric").suite}
    assert committed.drawing().startswith("<svg")
    own = table_inputs(["scaling"], to_frame([]), "mine")
    assert len(own.scores) == len(own.printed), "curves are of no suite"


def ours(split, value, seed):
    facts = {"method": "aiw-ad", "variant": "exact", "domain": "ferry", "suite": "track", "metric": "coverage"}
    return Score(**facts, split=split, seed=seed, value=value, n=10)


def test_ours_stand_beside_with_seeds_interval_budget_and_counted_problems():
    scores = [ours(split, value, seed) for split, value in zip(LEVELS, (1, 0.8, 0.3), strict=True) for seed in (1, 2)]
    scores.append(replace(scores[0], split="", metric="training_seconds", value=600, n=0))
    scores += [replace(score, method="other", variant="else") for score in scores]
    scores = to_frame(scores)
    sheet = sgp.experiments.paper_table("aiw-ad", 1, scores)
    assert sheet.headings[-2:] == ("ours: aiw-ad exact x2", "ours: other else x2")
    rows = {row.words[1]: row.words for row in sheet.rows if row.words[0] == "ferry"}
    assert rows[""][-1] == rows[""][-2] == ".70 [.52, .83], n = 30"
    assert rows["easy"][-1] == "1.00 [.72, 1.00], n = 10"
    assert "aiw-ad exact: 600 s a training." in sheet.caption
    assert sheet.rows[0].words[-1] == ""
    assert sgp.experiments.paper_table("aiw-ad", 3, scores).headings[-1] == "ours: aiw-ad exact x2"
    assert [row.words[1] for row in sgp.experiments.paper_table("aiw-ad", 1, scores, splits=["hard"]).rows] == [
        "hard"
    ] * 10
    sheet = sgp.experiments.paper_table("aiw-ad", 8, to_frame([]), suite="state-centric")
    rows = {row.words[:2]: row.words[2:] for row in sheet.rows}
    assert rows["logistics", "train"][-2:] == rows["blocksworld-ipc", "test"][-2:] == ("", ""), "of another benchmark"
    assert rows["blocksworld-ipc", "train"] == ("69", "2 to 20", "6 to 45", "9", "4 to 7")


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


def retrieved(value, **fields):
    facts = {"method": "embedplan", "variant": "minilm-atoms", "pool": "hard", "domain": "ferry", "metric": "hit@5"}
    facts |= {"suite": "acpbench", "split": "interpolation", "seed": 42, "n": 40, "n_distinct": 10}
    return Score(**facts | fields, value=value)


def test_ours_stand_above_theirs_with_pool_seeds_and_interval_in_one_line_over_all_sources():
    scores = [
        retrieved(0.8),
        retrieved(0.6, seed=123),
        retrieved(0.5, domain="grid"),
        retrieved(0.9, method="displacements", variant="mean", seed=None, n=0, n_distinct=None),
        retrieved(0.25, metric="acc@5", pool="", n=0, n_distinct=None),
        retrieved(499.0, metric="queries", pool=""),
        retrieved(0.1, metric="coverage", variant="of-a-planner"),
    ]
    rows = sgp.experiments.paper_table("embedplan", 2, to_frame(scores)).rows
    start = next(place for place, row in enumerate(rows) if row.words[0] == "ferry")
    of_ferry = [row.words for row in rows[start + 1 : start + 4]]
    rate = "0.700 ±0.100 [0.397, 0.892], n = 40 (10 distinct)"
    assert of_ferry[0] == ("embedplan minilm-atoms · hard x2", "", rate, "", "", "0.250", "")
    assert of_ferry[1][:3] == ("displacements mean · hard x1", "", "0.900")
    assert of_ferry[2][0] == "embedplan llama-3.3-70b · paper, published"
    mean_rows = sgp.experiments.paper_table("embedplan", 1, to_frame(scores)).rows
    assert mean_rows[0].words == ("embedplan minilm-atoms · hard x2", "0.600 ±0.100, 2 domains", "")
    assert mean_rows[1].words == ("displacements mean · hard x1", "0.900, 1 domain", "")
    assert [row.published for row in mean_rows] == [False] * 2 + [True] * 4
    variant = "minilm-atoms+most=200+from="
    scores = [
        retrieved(value, variant=f"{variant}{source}", domain=domain, split="cross-domain")
        for value, source, domain in ((0.1, "ferry", "grid"), (0.3, "depot", "grid"), (0.6, "depot", "ferry"))
    ]
    first = sgp.experiments.paper_table("embedplan", 4, to_frame(scores)).rows[0].words
    assert first[:3] == ("embedplan minilm-atoms · hard x1", "", "0.400 ±0.200, 2 domains")


def test_most_transitions_stand_below_or_in_the_line_and_a_split_is_chosen():
    of = {"split": "extrapolation", "variant": "minilm-atoms+most=1000"}
    scores = [retrieved(0.5, **of), retrieved(0.25, variant="minilm-atoms+most=250+shots=2", split="leave-one-out")]
    scores += [retrieved(0.75, variant="minilm-atoms+most=250", split="multi-domain")]
    sheet = sgp.experiments.paper_table("embedplan", 4, to_frame(scores))
    assert [(row.words[0], *row.words[3:6]) for row in sheet.rows[:2]] == [
        ("embedplan minilm-atoms · hard x1", "", "0.750, 1 domain", "0.500, 1 domain"),
        ("embedplan minilm-atoms+shots=2 · hard x1", "0.250, 1 domain", "", ""),
    ]
    most = "at most so many transitions of a domain: extrapolation 1000, leave-one-out 250, multi-domain 250."
    assert sheet.caption.endswith(most)
    two = sgp.experiments.paper_table("embedplan", 4, to_frame([*scores, retrieved(0.4, split="extrapolation")]))
    assert [row.words[0] for row in two.rows if not row.published] == [
        "embedplan minilm-atoms+most=1000 · hard x1",
        "embedplan minilm-atoms+shots=2 · hard x1",
        "embedplan minilm-atoms · hard x1",
    ]
    sheet = sgp.experiments.paper_table("embedplan", 4, to_frame([]), splits=["cross-domain"])
    assert sheet.headings == ("planner", "cross-domain")
    assert len(sheet.rows) == 1
    with pytest.raises(InputError, match=r"no scores of split 'train'; expected some of extrapolation, interpolation$"):
        sgp.experiments.paper_table("embedplan", 1, to_frame([]), splits=["train"])
