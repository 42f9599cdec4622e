"""Plots of rates, and the comparison of two planners."""

from __future__ import annotations

import pandas as pd
import pytest

from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scores import wilson
from sgp.planning.rollout import Outcome
from sgp.planning.subject import Subject
from sgp.reports.plots import rates, two_planners

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


def test_every_rate_is_a_dot_between_the_ends_of_its_interval():
    drawn = {}
    for trace in rates(SHOWN, "Coverage").data:
        for x, more, less in zip(trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True):
            drawn[trace.name, x] = (x - less, x + more)
    assert len(drawn) == len(SHOWN)
    for row in SHOWN.itertuples():
        assert drawn[row.series, row.value] == pytest.approx(wilson(row.value, row.count))


def test_panels_and_lines_stand_in_the_order_given():
    figure = rates(SHOWN, "Coverage", axis="share")
    assert [each.text for each in figure.layout.annotations] == ["gripper", "visitall"]
    assert list(figure.layout.yaxis.ticktext) == ["delta", "state"]
    assert figure.layout.xaxis.title.text == "share"


def test_names_are_text():
    shown = pd.DataFrame([("<b>p</b>", "<i>l</i>", "<u>s</u>", 0.5, 2)], columns=COLUMNS)
    text = rates(shown, "<a>t</a>").to_json()
    assert not any(mark in text for mark in ("<b>", "<i>", "<u>", "<a>", r"\u003cb\u003e"))
    assert "&lt;b&gt;p" in text


ONE, OTHER = "m one", "m other"


def tried(planner, problem, length, seed=1):
    outcome = Outcome.HORIZON if length is None else Outcome.SOLVED
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
    counted = "n = 2: both solve 1 (less across 0, less up 1), across alone 0, up alone 1, neither 0"
    assert figure.layout.title.text == counted
    assert points.name == "&lt;d&gt;"


def test_planners_that_share_no_instance_have_no_points():
    figure = two_planners(attempts_frame([tried(ONE, "p1", 1)]), ONE, OTHER, "seconds")
    assert not figure.data
    assert figure.layout.title.text.startswith("n = 0")
