"""Scores and the table of metrics."""

import ast
import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import sgp
from sgp.errors import StoreError
from sgp.evaluation.scaling import OWN_METRICS, PROPERTIES
from sgp.evaluation.scores import (
    DIAGNOSTICS,
    METRICS,
    Score,
    load_scores,
    percent,
    read_scores,
    rounded,
    select,
    shown_share,
    to_frame,
    wilson,
    write_scores,
)
from sgp.experiments.grid import FACTS
from sgp.reports.papers import beside_ours

SCORE = Score(
    **{"method": "state-centric", "variant": "wl-xgboost-delta", "domain": "gripper", "suite": "state-centric"},
    **{"split": "validation", "metric": "coverage", "value": 0.1 + 0.2, "n": 3, "seed": 13},
)
# Known from the literature: 3/3 and 0/18; 50/100 by the formula.
WILSON = [(1.0, 3, 0.4385, 1.0), (0.0, 18, 0.0, 0.1759), (0.5, 100, 0.4038, 0.5962), (0.5, 20, 0.2993, 0.7007)]


def test_no_share_is_rounded_to_none_or_all():
    assert [shown_share(each) for each in (0, 0.004, 0.5, 0.9951, 0.99996, 1)] == [
        *("0.00", "0.004", "0.50", "0.995", "0.99996", "1.00"),
    ]
    assert [percent(each) for each in (0, 0.004, 0.55, 0.9951, 1)] == ["0 %", "0.4 %", "55 %", "99.5 %", "100 %"]
    assert METRICS["coverage"].show(0.9951) == "0.995"
    few = [replace(SCORE, value=value, n=400, seed=seed) for seed, value in ((1, 1.0), (2, 0.995))]
    assert sgp.experiments.pool_seeds(to_frame(few), ["domain"])["text"][0].split(" [")[0] == ".998"


def test_halves_are_rounded_up_in_scores_and_tables():
    assert [rounded(each) for each in (1 / 8, 0.345, -0.125, 2 / 3, 12)] == ["0.13", "0.35", "-0.13", "0.67", "12.00"]
    assert [rounded(each, 0) for each in (2.5, math.inf)] == ["3", "inf"]
    assert METRICS["coverage"].show(0.125) == "0.13"
    assert sgp.experiments.pool_seeds(to_frame([replace(SCORE, value=0.125, n=8)]), ["domain"])["text"][0][:3] == ".13"


@pytest.mark.parametrize(("value", "count", "low", "high"), [*WILSON, (0.5, 0, 0.0, 1.0)])
def test_wilson_intervals(value, count, low, high):
    assert wilson(value, count) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize("name", ["scores.csv", "scores.json"])
def test_scores_read_back_equal(name, tmp_path):
    other = {"size": 13, "spread": 0.25, "note": 'a, "b"\nc', "paper": "p"}
    scores = to_frame([replace(SCORE, n_distinct=2), Score(**{**SCORE.__dict__, **other})])
    write_scores(tmp_path / name, scores)
    pd.testing.assert_frame_equal(read_scores(tmp_path / name), scores)
    assert (tmp_path / name).read_text().count("0.30000000000000004") == 2


def test_rows_are_selected_by_value_and_the_papers_table_is_complete():
    scores = to_frame([SCORE, replace(SCORE, size=4, seed=14), replace(SCORE, size=5, domain="logistics", seed=None)])
    assert list(select(scores, size=None).seed) == [13]
    assert list(select(scores, domain=["gripper", "ferry"], metric="coverage")["size"].fillna(0)) == [0, 4]
    assert list(select(scores, seed=14)["size"]) == [4]
    assert set(scores.planner) == {"state-centric wl-xgboost-delta"}
    assert load_scores("measured/no-such-*").empty
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


ENTRY = SCORE.__dict__ | {"value": 0.5}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"5", r"a\.json is not a file of scores \(not a list\)"),
        ("a.json", b"[5]", "entry 1: 5 is not an object with named values"),
        ("a.json", b'[{"method": "x"', "not complete JSON, from line 1 on"),
        ("a.json", b'[{"value": NaN}]', r"a\.json, entry 1: 'method' is missing"),
        (
            "a.json",
            json.dumps([ENTRY, ENTRY | {"value": 1.5}]).encode(),
            "entry 2: coverage of 1.5 on 3 problems is not",
        ),
        ("a.json", json.dumps([ENTRY | {"value": "abc"}]).encode(), "value is 'abc', which is not a number"),
        ("a.json", json.dumps([ENTRY | {"n_distinct": 4}]).encode(), "4 of 3 problems cannot be distinct"),
        ("a.json", json.dumps([ENTRY | {"n_distinct": 0}]).encode(), "0 of 3 problems cannot be distinct"),
        ("a.csv", b"x,y\n1,2\n", r"a\.csv, entry 1: 'method' is missing"),
        ("a.csv", b"\xff\xfe\x00", r"is not a file of scores \(byte 0 is not UTF-8 text\)"),
        ("a.csv", b"method\n" + b"x" * 200_000, r"a\.csv is not a file of scores .*field larger"),
        ("a.csv", None, r"a\.csv is missing; make it with 'sgp evaluate"),
    ],
)
def test_files_without_scores_are_refused(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError, match=message):
        read_scores(tmp_path / name)


ROOT = Path(sgp.__file__).parent


def emitted():
    """Metrics as literals in the code: an argument `metric`, or the first argument that makes a score."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            named = [word.value for word in node.keywords if word.arg == "metric"]
            makes = isinstance(node.func, ast.Name) and node.func.id in ("score", "add")
            for value in [*named, *(node.args[:1] if makes else [])]:
                if isinstance(value, ast.Constant):
                    yield value.value


def test_every_metric_that_is_emitted_is_in_the_table_and_says_how_it_is_written_and_which_way_is_better():
    found = set(emitted())
    assert {"coverage", "expert_rank", "indistinguishable", "unsolvable"} <= found
    found |= {*OWN_METRICS, *PROPERTIES, *FACTS, *DIAGNOSTICS}
    found |= {*sgp.load_scores().metric, *sgp.load_scores("measured/scaling").metric, *beside_ours().metric}
    assert found <= METRICS.keys()
    assert METRICS["coverage"].show(0.5) == "0.50"
    assert METRICS["parameters"].show(1552942) == "1,552,942"
    assert METRICS["scale"].show(46.0) == "46"
    assert METRICS["coverage"].rank(1.0) < METRICS["coverage"].rank(0.5)
    assert METRICS["expert_rank"].rank(1.0) < METRICS["expert_rank"].rank(2.0)
    assert METRICS["fits"].rank(1.0) == METRICS["fits"].rank(0.5)
    assert (METRICS["outcome_solved"].better, METRICS["outcome_stuck"].better) == ("higher", "lower")
    assert [METRICS[name].heading for name in ("expert_top1", "expert_top3")] == ["top-1", "top-3"]
    assert all(each.unit == "share" for each in METRICS.values() if each.of_problems)
