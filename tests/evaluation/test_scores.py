from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from sgp.errors import StoreError
from sgp.evaluation.scores import COLUMNS, Score, load_scores, read_scores, select, to_frame, wilson, write_scores

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


@pytest.mark.parametrize(
    ("value", "count", "low", "high"),
    [  # known from the literature: 3/3 and 0/18; 50/100 by the formula
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


@pytest.mark.parametrize("distinct", ["4", "0", "-1"])
def test_no_more_problems_are_distinct_than_there_are_and_some_are(distinct, tmp_path):
    write_scores(tmp_path / "scores.csv", to_frame([replace(SCORE, distinct=2)]))
    text = (tmp_path / "scores.csv").read_text()
    (tmp_path / "scores.csv").write_text(text.replace(",3,2,", f",3,{distinct},"))
    with pytest.raises(StoreError, match=rf"entry 1 is no score .*{distinct} of 3 problems cannot be distinct"):
        read_scores(tmp_path / "scores.csv")


@pytest.mark.parametrize("name", ["scores.csv", "scores.json"])
def test_scores_read_back_equal(name, tmp_path):
    other = {"size": 13, "spread": 0.25, "note": 'a, "b"\nc', "paper": "p"}
    scores = to_frame([replace(SCORE, distinct=2), Score(**{**SCORE.__dict__, **other})])
    write_scores(tmp_path / name, scores)
    pd.testing.assert_frame_equal(read_scores(tmp_path / name), scores)
    assert (tmp_path / name).read_text().count("0.30000000000000004") == 2


def test_json_scores_of_a_whole_split_have_an_empty_size(tmp_path):
    write_scores(tmp_path / "s.json", to_frame([SCORE]))
    (record,) = json.loads((tmp_path / "s.json").read_text())
    assert record["size"] is None
    assert list(record) == list(COLUMNS)


def test_files_that_hold_no_scores_are_refused(tmp_path):
    (tmp_path / "cut.json").write_text('[{"method": "x"')
    (tmp_path / "other.json").write_text('[{"method": "x"}]')
    write_scores(tmp_path / "s.csv", to_frame([SCORE]))
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
        (
            '[{"method": "m", "variant": "v", "domain": "d", "suite": "s", "split": "x", "metric": "coverage", '
            '"value": 1.5, "count": 3}]',
            "coverage of 1.5 on 3 problems is no measurement",
        ),
    ],
)
def test_files_that_hold_no_scores_are_told(text, words, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(StoreError, match=words):
        read_scores(tmp_path / "s.json")
    (tmp_path / "s.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="is no file of scores"):
        read_scores(tmp_path / "s.csv")


def test_rows_are_selected_by_value_by_several_and_by_a_missing_one():
    scores = to_frame([SCORE, replace(SCORE, size=4, seed=14), replace(SCORE, size=5, domain="logistics", seed=None)])
    assert list(select(scores, size=None).seed) == [13]
    assert list(select(scores, domain=["gripper", "ferry"], metric="coverage")["size"].fillna(0)) == [0, 4]
    assert list(select(scores, seed=14)["size"]) == [4]
    assert set(scores.planner) == {"state-centric wl-xgboost-delta"}
    assert load_scores("measured/no-such-file").empty


def test_the_papers_table_is_complete():
    scores = load_scores("published/state-centric")
    table = scores[scores.table == "1"]
    assert len(table) == 4 * 3 * 17  # domains, splits, columns
    assert table.value.between(0, 1).all()
    assert set(table.paper) == {"state-centric"}
    cells = table.set_index(["method", "variant", "domain", "split"])
    for place, value in {
        ("state-centric", "wl-xgboost-delta", "blocksworld", "extrapolation"): 0.50,
        ("state-centric", "wl-xgboost-delta", "visitall", "extrapolation"): 1.00,
        ("symt-ed", "regrounding", "gripper", "extrapolation"): 0.79,
        ("fast-downward", "astar-lmcut", "logistics", "extrapolation"): 0.26,
        ("state-centric", "wl-lstm-state", "logistics", "interpolation"): 0.85,
        ("plangpt", "applicable", "visitall", "interpolation"): 0.67,
        ("state-centric", "fsf-xgboost-delta", "visitall", "extrapolation"): 0.16,
    }.items():
        assert cells.value[place] == value
    assert cells.spread["symt-ed", "regrounding", "gripper", "extrapolation"] == 0.16
