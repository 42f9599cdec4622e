from __future__ import annotations

import pandas as pd
import pytest

from sgp.evaluation.scores import wilson
from sgp.reports.plots import rates

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


def test_the_interval_is_on_distinct_cases_where_they_are_known():
    (trace,) = rates(
        pd.DataFrame([("visitall", "state", "ours", 0.5, 219, 131)], columns=[*COLUMNS, "trials"]), ""
    ).data
    low, high = wilson(0.5, 131)
    assert (trace.error_x.array[0], trace.error_x.arrayminus[0]) == pytest.approx((high - 0.5, 0.5 - low))
    assert trace.customdata[0][0] == 219


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
