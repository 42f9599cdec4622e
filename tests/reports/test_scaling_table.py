"""Curves over size in tables and plots, beside the paper's numbers."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import sgp
from sgp.errors import InputError
from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scaling import Curve, ProblemSource, curve_scores
from sgp.evaluation.scores import Measurement, Score, StopReason, load_scores, to_frame
from sgp.reports.report import write_report

THEIRS = load_scores("published/dynamic-validation")
DOMAIN = THEIRS.domain[0]

SOURCE = ProblemSource(sgp.get_domain("gripper"), "untyped", 0)


def score(metric, value, **fields):
    facts = {"method": "m", "variant": "v", "selected_by": "dynamic", "domain": DOMAIN}
    facts |= {"suite": "scaling", "split": "scaling"}
    return Score(**{**facts, "seed": 13, "metric": metric, "value": value, "count": 100, **fields})


def both(ours):
    return pd.concat([to_frame(ours), THEIRS])


def lines(sheet):
    return [row.words for row in sheet.rows]


def test_ours_stands_above_theirs_in_the_column_of_its_validation():
    ours = [
        score("scale", 118, note="2 cores; stopped after size 118, the largest to try"),
        score("sumcov", 104.5, note="2 cores; stopped after size 118, the largest to try"),
        score("ended_largest", 1),
        score("scale", 40, selected_by="loss", count=2345, note="below 0.3 at 2 sizes in a row"),
        score("sumcov", 30.25, selected_by="loss", count=2345),
        score("ended_fell", 1, selected_by="loss"),
        score("coverage", 0.5, size=118),
    ]
    sheet = sgp.scaling_table(both(ours))
    assert sheet.headings[:4] == ("domain", "planner", "Loss Scale", "Loss SumCov")
    assert sheet.headings[-3:] == ("Dynamic Scale", "Dynamic SumCov", "n")
    own, printed = sheet.rows[:2]
    assert own.words == (DOMAIN, "m v x1", "40", "30.25", "", "", "≥118", "≥104.50", "2,345 / - / 100")
    assert printed.words == ("", "gnn-value, published", "56", "45.42", "24", "17.97", "59", "52.25", "")
    assert (own.published, printed.published) == (False, True)
    assert len({row.words[0] for row in sheet.rows} - {""}) == 9, "every domain of the paper, measured or not"
    assert "≥: the curve was cut" in sheet.caption


def test_seeds_are_averaged_and_any_cut_one_marks_the_mean():
    ours = [score("scale", 10, seed=1), score("scale", 13, seed=2), score("ended_time", 1, seed=2)]
    (row,) = lines(sgp.scaling_table(to_frame(ours)))
    assert row[1:] == ("m v x2", "", "", "", "", "≥11.5 ±1.5", "", "- / - / 200")


def test_a_curve_that_was_stopped_from_outside_is_marked():
    subject = Measurement(method="m", variant="v", domain=DOMAIN, suite="s", split="scaling", seed=13, note="2 cores")
    for ended in StopReason:
        scores = list(curve_scores(Curve((), 0.3, ended, "for people", SOURCE), subject))
        assert [(each.metric, each.value) for each in scores][2:] == [(f"ended_{ended.value}", 1)]
        assert {each.note for each in scores} == {"2 cores; for people"}
        (row,) = sgp.scaling_table(to_frame(scores)).rows
        assert ("≥0" in row.words) is (ended in (StopReason.LARGEST, StopReason.TIME))


def curve(variant, *coverages, first=5):
    for size, value in enumerate(coverages, start=first):
        yield score("coverage", value, variant=variant, selected_by="", size=size)
        yield score("plan_length", 3.0 * size, variant=variant, selected_by="", size=size)
        yield score("fits", min(1, value + 0.25), variant=variant, selected_by="", size=size)


def shown(figure):
    return {each.name: (list(each.x), list(each.y)) for each in figure.data if each.fill is None}


def test_a_curve_has_the_papers_marks_and_what_bounds_every_planner():
    scores = [*curve("one", 1.0, 0.5), *curve("two", 0.25, 0.5)]
    figure = sgp.scaling_curves(both(scores))
    assert shown(figure) == {
        "m one": ([5, 6], [1.0, 0.5]),
        "m two": ([5, 6], [0.25, 0.5]),
        "a plan within the bound is known": ([5, 6], [1, 0.75]),
    }
    spans = {(shape.type, shape.x0, shape.x1) for shape in figure.layout.shapes}
    assert {("rect", 6.5, 14.5), ("rect", 14.5, 17.5), ("line", 56, 56), ("line", 59, 59)} <= spans
    words = [each.text for each in figure.layout.annotations]
    assert {"loss 56", "coverage 24", "dynamic 59"} <= set(words)
    assert not sgp.scaling_curves(to_frame(scores)).layout.shapes, "without the paper's numbers no marks"
    told = [replace(each, value=0.5) if each.metric == "fits" else each for each in scores]
    assert list(shown(sgp.scaling_curves(to_frame(told)))) == ["m one", "m two"], "it says no more than coverage"


def test_any_metric_is_drawn_over_size():
    figure = sgp.scaling_curves(both(curve("one", 1.0, 0.5)), "plan_length")
    assert shown(figure) == {"m one": ([5, 6], [15, 18]), "most actions allowed": ([5, 6], [125, 126])}
    own = [score("a property", 2.0, size=size) for size in (5, 6)]
    assert shown(sgp.scaling_curves(to_frame(own), "a property")) == {"m v by dynamic": ([5, 6], [2, 2])}
    fits = sgp.scaling_curves(to_frame(curve("one", 1.0, 0.5)), "fits")
    assert [each.fill for each in fits.data] == [None, "toself"], "a share of problems has a band"
    with pytest.raises(InputError, match="no size has a score 'length'; choose one of coverage, plan_length, fits"):
        sgp.scaling_curves(to_frame(curve("one", 1.0)), "length")
    assert sgp.scaling_curves(to_frame([])).layout.title.text.startswith("Coverage over size")


def test_the_report_has_curves_whatever_their_suite(tmp_path):
    split = {"suite": "s", "split": "validation", "selected_by": ""}
    ours = [
        score("coverage", 0.5, **split),
        *curve("<img src=x>", 1.0, 0.5),
        score("scale", 6, variant="<img src=x>", selected_by="loss"),
    ]
    text = write_report(tmp_path, to_frame(ours), attempts_frame([]), THEIRS).read_text()
    text = text[text.index("<body>") :]
    assert "<h2>Scaling</h2>" in text
    assert "gnn-value, published" in text
    assert text.count('class="plot"') == 2
    assert "<img src=x>" not in text
    only = write_report(tmp_path, to_frame(curve("v", 1.0)), attempts_frame([]), THEIRS).read_text()
    assert "<h2>Scaling</h2>" in only
    assert "<h2>Coverage</h2>" not in only


def test_a_line_has_a_band_between_its_bounds():
    scores = [score("coverage", 0.5, size=6, count=277), score("coverage", 1.0, size=5, count=34)]
    line, band = sgp.scaling_curves(to_frame(scores)).data
    assert (list(line.x), list(line.y)) == ([5, 6], [1.0, 0.5])
    assert list(band.x) == [5, 6, 6, 5]
    low, high = sgp.wilson(0.5, 277)
    assert (band.y[1], band.y[2]) == (high, low)
