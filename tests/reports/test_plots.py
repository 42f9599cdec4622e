"""Plots of rates, comparisons of two planners, and curves over size beside the paper's numbers."""

from dataclasses import replace

import pandas as pd
import pytest

import sgp
from sgp.datasets.subject import Subject
from sgp.errors import InputError
from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scaling import Curve, ProblemSource, curve_scores
from sgp.evaluation.scores import Measurement, Score, StopReason, load_scores, to_frame, wilson
from sgp.reports.plots import (
    coverage_over_size,
    instance_map,
    plan_lengths,
    rates,
    solved_over_time,
    two_planners,
)
from sgp.reports.report import write_report
from sgp.reports.scaling_tables import scaling_table

COLUMNS = ["panel", "line", "series", "value", "count"]
SHOWN = pd.DataFrame(
    [
        ("gripper", "delta", "ours", 0.25, 16),
        ("gripper", "delta", "published", 0.5, 16),
        ("gripper", "state", "ours", 1.0, 16),
        ("visitall", "state", "ours", 0.0, 219),
    ],
    columns=COLUMNS,
)


def test_rates_are_dots_within_their_intervals_in_the_order_given_and_names_are_text():
    drawn = {}
    for trace in rates(SHOWN, "Coverage").data:
        for x, more, less in zip(trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True):
            drawn[trace.name, x] = (x - less, x + more)
    assert len(drawn) == len(SHOWN)
    for row in SHOWN.itertuples():
        assert drawn[row.series, row.value] == pytest.approx(wilson(row.value, row.count))
    figure = rates(SHOWN, "Coverage", axis="share")
    assert [each.text for each in figure.layout.annotations] == ["gripper", "visitall"]
    assert list(figure.layout.yaxis.ticktext) == ["delta", "state"]
    assert figure.layout.xaxis.title.text == "share"
    shown = pd.DataFrame([("<b>p</b>", "<i>l</i>", "<u>s</u>", 0.5, 2)], columns=COLUMNS)
    text = rates(shown, "<a>t</a>").to_json()
    assert not any(mark in text for mark in ("<b>", "<i>", "<u>", "<a>", r"\u003cb\u003e"))
    assert "&lt;b&gt;p" in text


ONE, OTHER = "m one", "m other"


def tried(planner, problem, length, seed=1):
    outcome = sgp.Outcome.HORIZON if length is None else sgp.Outcome.SOLVED
    subject = Subject(method="m", variant=planner.removeprefix("m "), seed=seed, domain="<d>", suite="s", split="x")
    row = {"problem": problem, "like": "", "size": 3, "outcome": outcome.value, "length": length, "seconds": 0.1}
    return {**subject.record(), **row, "decisions": 1}


def test_what_both_tried_is_a_point_and_what_one_did_not_solve_stands_at_the_margin():
    rows = [tried(ONE, "p1", 10), tried(ONE, "p1", 20, seed=2), tried(ONE, "p2", None), tried(ONE, "p3", 5)]
    rows += [tried(OTHER, "p1", 12), tried(OTHER, "p2", 30)]
    figure = two_planners(attempts_frame(rows), ONE, OTHER)
    (points,) = figure.data
    edge = points.x[1]
    assert list(zip(points.x, points.y, strict=True)) == [(15, 12), (edge, 30)]
    assert edge > 30
    assert [list(each) for each in points.customdata] == [["<d>", "s", "x", "p1"], ["<d>", "s", "x", "p2"]]
    counted = (
        "n = 2: both solve 1 (shorter plan by m one in 0, m other in 1),<br>only m one 0, only m other 1, neither 0"
    )
    assert figure.layout.title.text == counted
    assert points.name == "&lt;d&gt;"
    figure = two_planners(attempts_frame([tried(ONE, "p1", 1)]), ONE, OTHER, "seconds")
    assert not figure.data
    assert figure.layout.title.text.startswith("n = 0")


def test_a_domain_of_few_instances_has_large_marks_beside_one_of_many():
    rows = [tried(ONE, f"p{number}", 10) | {"domain": "many"} for number in range(200)]
    rows += [tried(ONE, f"p{number}", length) | {"domain": "few"} for number, length in enumerate([10, None, 20])]
    sizes = {
        (trace.customdata[0][0], trace.name): trace.marker.size for trace in instance_map(attempts_frame(rows)).data
    }
    assert set(sizes) == {("many", "solved"), ("few", "solved"), ("few", "not solved")}
    assert sizes["few", "solved"] == sizes["few", "not solved"] > 2 * sizes["many", "solved"]


def test_plots_of_many_points_are_drawn_without_webgl_whose_canvas_is_cut_off_in_a_scrolled_page():
    rows = [{**tried(ONE, f"p{each}", 10), "expert_length": 9, "size": each} for each in range(1100)]
    for draw in (plan_lengths, coverage_over_size, solved_over_time):
        assert {trace.type for trace in draw(attempts_frame(rows)).data} == {"scatter"}


THEIRS = load_scores("published/dynamic-validation")
DOMAIN = THEIRS.domain[0]
SOURCE = ProblemSource(sgp.get_domain("gripper"), "untyped", 0)


def score(metric, value, **fields):
    facts = {"method": "m", "variant": "v", "selected_by": "dynamic", "domain": DOMAIN}
    facts |= {"suite": "scaling", "split": "scaling"}
    return Score(**{**facts, "seed": 13, "metric": metric, "value": value, "n": 100, **fields})


def both(ours):
    return pd.concat([to_frame(ours), THEIRS])


def lines(sheet):
    return [row.words for row in sheet.rows]


def test_ours_stands_above_theirs_in_the_column_of_its_validation():
    ours = [
        score("scale", 118, note="2 cores; stopped after size 118, the largest to try"),
        score("sumcov", 104.5, note="2 cores; stopped after size 118, the largest to try"),
        score("ended_largest", 1),
        score("scale", 40, selected_by="loss", n=2345, note="below 0.3 at 2 sizes in a row"),
        score("sumcov", 30.25, selected_by="loss", n=2345),
        score("ended_fell", 1, selected_by="loss"),
        score("coverage", 0.5, size=118),
    ]
    sheet = scaling_table(both(ours))
    assert sheet.headings[:4] == ("domain", "planner", "Loss Scale", "Loss SumCov")
    assert sheet.headings[-3:] == ("Dynamic Scale", "Dynamic SumCov", "n")
    own, printed = sheet.rows[:2]
    assert own.words == (DOMAIN, "m v x1", "40", "30.25", "", "", "≥118", "≥104.50", "2,345 / - / 100")
    assert printed.words == ("", "gnn-value, published", "56", "45.42", "24", "17.97", "59", "52.25", "")
    assert (own.published, printed.published) == (False, True)
    assert len({row.words[0] for row in sheet.rows} - {""}) == 9, "every domain of the paper, measured or not"
    assert "≥: the curve was cut" in sheet.caption


def test_a_curve_that_was_stopped_from_outside_is_marked_also_in_the_mean_of_seeds():
    subject = Measurement(method="m", variant="v", domain=DOMAIN, suite="s", split="scaling", seed=13, note="2 cores")
    for ended in StopReason:
        scores = list(curve_scores(Curve((), 0.3, ended, "for people", SOURCE), subject))
        assert [(each.metric, each.value) for each in scores][2:] == [(f"ended_{ended.value}", 1)]
        assert {each.note for each in scores} == {"2 cores; for people"}
        (row,) = scaling_table(to_frame(scores)).rows
        assert ("≥0" in row.words) is (ended in (StopReason.LARGEST, StopReason.TIME))
    ours = [score("scale", 10, seed=1), score("scale", 13, seed=2), score("ended_time", 1, seed=2)]
    (row,) = lines(scaling_table(to_frame(ours)))
    assert row[1:] == ("m v x2", "", "", "", "", "≥11.5 ±1.5", "", "- / - / 200")


def curve(variant, *coverages, first=5):
    for size, value in enumerate(coverages, start=first):
        yield score("coverage", value, variant=variant, selected_by="", size=size)
        yield score("plan_length", 3.0 * size, variant=variant, selected_by="", size=size)
        yield score("fits", min(1, value + 0.25), variant=variant, selected_by="", size=size)


def shown(figure):
    return {each.name: (list(each.x), list(each.y)) for each in figure.data if each.fill is None}


def test_a_curve_has_the_papers_marks_and_what_bounds_every_planner():
    scores = [*curve("one", 1.0, 0.5), *curve("two", 0.25, 0.5)]
    figure = sgp.viz.scaling_curves(both(scores))
    assert shown(figure) == {
        "m one": ([5, 6], [1.0, 0.5]),
        "m two": ([5, 6], [0.25, 0.5]),
        "a plan within the bound is known": ([5, 6], [1, 0.75]),
    }
    spans = {(shape.type, shape.x0, shape.x1) for shape in figure.layout.shapes}
    assert {("rect", 6.5, 14.5), ("rect", 14.5, 17.5), ("line", 56, 56), ("line", 59, 59)} <= spans
    words = [each.text for each in figure.layout.annotations]
    assert {"loss 56", "coverage 24", "dynamic 59"} <= set(words)
    assert not sgp.viz.scaling_curves(to_frame(scores)).layout.shapes, "without the paper's numbers no marks"
    told = [replace(each, value=0.5) if each.metric == "fits" else each for each in scores]
    assert list(shown(sgp.viz.scaling_curves(to_frame(told)))) == ["m one", "m two"], "it says no more than coverage"


def test_any_metric_is_drawn_over_size_with_a_band_between_its_bounds():
    figure = sgp.viz.scaling_curves(both(curve("one", 1.0, 0.5)), "plan_length")
    assert shown(figure) == {"m one": ([5, 6], [15, 18]), "most actions allowed": ([5, 6], [125, 126])}
    own = [score("a property", 2.0, size=size) for size in (5, 6)]
    assert shown(sgp.viz.scaling_curves(to_frame(own), "a property")) == {"m v by dynamic": ([5, 6], [2, 2])}
    fits = sgp.viz.scaling_curves(to_frame(curve("one", 1.0, 0.5)), "fits")
    assert [each.fill for each in fits.data] == [None, "toself"], "a share of problems has a band"
    with pytest.raises(InputError, match="no size has a score 'length'; choose one of coverage, plan_length, fits"):
        sgp.viz.scaling_curves(to_frame(curve("one", 1.0)), "length")
    assert sgp.viz.scaling_curves(to_frame([])).layout.title.text.startswith("Coverage over size")
    scores = [score("coverage", 0.5, size=6, n=277), score("coverage", 1.0, size=5, n=34)]
    line, band = sgp.viz.scaling_curves(to_frame(scores)).data
    assert (list(line.x), list(line.y)) == ([5, 6], [1.0, 0.5])
    assert list(band.x) == [5, 6, 6, 5]
    low, high = sgp.wilson(0.5, 277)
    assert (band.y[1], band.y[2]) == (high, low)


def test_the_report_has_curves_whatever_their_suite(tmp_path):
    ours = [
        score("coverage", 0.5, suite="s", split="validation", selected_by=""),
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
