from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sgp
from sgp.errors import StoreError
from sgp.evaluation.scores import COLUMNS, Score, read_scores, wilson, write_scores

SCORE = Score(
    method="state-centric",
    variant="wl-xgboost-delta",
    domain="gripper",
    suite="state-centric",
    split="validation",
    metric="coverage",
    value=0.1 + 0.2,
    count=3,
    seed=13,
)


def test_a_score_has_the_fields_of_the_house():
    assert COLUMNS == (
        "paper", "table", "method", "variant", "domain", "suite", "split", "seed", "decoding", "selected_by", "size",
        "metric", "value", "spread", "count", "distinct", "note",
    )  # fmt: skip


def test_scores_of_an_older_version_are_read(tmp_path):
    (tmp_path / "old.csv").write_text(
        "paper,table,method,variant,domain,suite,split,size,seed,metric,value,spread,count,note\n"
        ",,contrastive_jumps,aiw+by=dynamic,gripper,scaling,scaling,,13,scale,46.0,,5482,\n"
    )
    (score,) = read_scores(tmp_path / "old.csv")
    assert score.planner == ("contrastive-jumps", "aiw", "", "dynamic")
    assert (score.seed, score.value, score.count) == (13, 46.0, 5482)
    assert (score.distinct, score.trials) == (None, 5482), "how many were distinct was not told"


@pytest.mark.parametrize(
    ("value", "count", "low", "high"),
    [  # facts known from the literature: 3/3 and 0/18, and 50/100 by the formula
        (1.0, 3, 0.4385, 1.0),
        (0.0, 18, 0.0, 0.1759),
        (0.5, 100, 0.4038, 0.5962),
        (0.5, 20, 0.2993, 0.7007),
    ],
)
def test_wilson_intervals(value, count, low, high):
    assert wilson(value, count) == pytest.approx((low, high), abs=1e-4)


def test_nothing_measured_says_nothing():
    assert wilson(0.5, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("distinct", "trials"), [(None, 3), (3, 3), (1, 1)])
def test_the_interval_is_on_distinct_problems_where_they_are_known(distinct, trials):
    assert replace(SCORE, distinct=distinct).trials == trials


@pytest.mark.parametrize("distinct", ["4", "0", "-1"])
def test_no_more_problems_are_distinct_than_there_are_and_some_are(distinct, tmp_path):
    write_scores(tmp_path / "scores.csv", [replace(SCORE, distinct=2)])
    text = (tmp_path / "scores.csv").read_text()
    (tmp_path / "scores.csv").write_text(text.replace(",3,2,", f",3,{distinct},"))
    with pytest.raises(StoreError, match=rf"entry 1 is no score .*{distinct} of 3 problems cannot be distinct"):
        read_scores(tmp_path / "scores.csv")


@pytest.mark.parametrize("name", ["scores.csv", "scores.json"])
def test_scores_read_back_equal(name, tmp_path):
    other = {"size": 13, "spread": 0.25, "note": 'a, "b"\nc', "paper": "p"}
    scores = [replace(SCORE, distinct=2), Score(**{**SCORE.__dict__, **other})]
    write_scores(tmp_path / name, scores)
    assert read_scores(tmp_path / name) == scores


def test_json_scores_of_a_whole_split_have_an_empty_size(tmp_path):
    write_scores(tmp_path / "s.json", [SCORE])
    (record,) = json.loads((tmp_path / "s.json").read_text())
    assert record["size"] is None
    assert list(record) == list(COLUMNS)


def test_files_that_hold_no_scores_are_refused(tmp_path):
    (tmp_path / "cut.json").write_text('[{"method": "x"')
    (tmp_path / "other.json").write_text('[{"method": "x"}]')
    write_scores(tmp_path / "s.csv", [SCORE])
    (tmp_path / "bad.csv").write_text((tmp_path / "s.csv").read_text().replace("gripper,", "gripper,,,,"))
    for name, words in (
        ("cut.json", r"cut\.json is no complete JSON"),
        ("other.json", r"other\.json, entry 1 is no score"),
        ("bad.csv", r"bad\.csv, entry 1 is no score"),
        ("none.json", r"none\.json is missing; make it with 'sgp evaluate"),
    ):
        with pytest.raises(StoreError, match=words):
            read_scores(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5", "holds no list of scores"),
        ('[{"value": NaN}]', "entry 1 is no score"),
        ('[{"metric": "coverage", "value": 1.5, "count": 3}]', "coverage of 1.5 on 3 problems is no measurement"),
    ],
)
def test_files_that_hold_no_scores_are_told(text, words, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(StoreError, match=words):
        sgp.read_scores(tmp_path / "s.json")
    (tmp_path / "s.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="is no file of scores"):
        sgp.read_scores(tmp_path / "s.csv")


def test_the_papers_table_is_complete():
    table = [score for score in sgp.published("state-centric") if score.table == "1"]
    assert len(table) == 4 * 3 * 17  # domains, splits, columns
    assert all(score.paper == "state-centric" and 0 <= score.value <= 1 for score in table)
    cells = {(score.method, score.variant, score.domain, score.split): score for score in table}
    assert cells["state-centric", "wl-xgboost-delta", "blocksworld", "extrapolation"].value == 0.50
    assert cells["state-centric", "wl-xgboost-delta", "visitall", "extrapolation"].value == 1.00
    assert cells["symt-ed", "regrounding", "gripper", "extrapolation"].value == 0.79
    assert cells["symt-ed", "regrounding", "gripper", "extrapolation"].spread == 0.16
    assert cells["fast-downward", "astar-lmcut", "logistics", "extrapolation"].value == 0.26
    assert cells["state-centric", "wl-lstm-state", "logistics", "interpolation"].value == 0.85
    assert cells["plangpt", "applicable", "visitall", "interpolation"].value == 0.67
    assert cells["state-centric", "fsf-xgboost-delta", "visitall", "extrapolation"].value == 0.16
