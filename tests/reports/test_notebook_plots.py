"""Plots of the notebooks: intervals, one scale for all panels, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sgp
from sgp.errors import InputError


@pytest.fixture(scope="module")
def scores():
    measured = sgp.load_scores()
    return pd.concat([measured[measured.suite == "state-centric"], sgp.load_scores("published/state-centric")])


def test_measured_and_published_rates_have_a_line_each_and_their_intervals(scores):
    names = {"state-centric wl-xgboost-delta": "delta", "state-centric wl-xgboost-state": "state"}
    figure = sgp.viz.beside_published(scores, "Coverage", names, "extrapolation")
    assert {trace.name for trace in figure.data} == {"measured", "published"}
    assert figure.layout.yaxis.ticktext == ("delta", "state")
    panels = [note.text for note in figure.layout.annotations]
    assert panels == ["blocksworld, n = 20", "gripper, n = 16", "logistics, n = 18", "visitall, n = 219"]
    blocks = next(trace for trace in figure.data if trace.name == "published" and trace.xaxis == "x")
    assert list(blocks.x) == [0.5, 0.25]
    assert blocks.x + blocks.error_x.array == pytest.approx([sgp.wilson(rate, 20)[1] for rate in (0.5, 0.25)])


def test_a_plot_of_unknown_planners_is_refused(scores):
    with pytest.raises(InputError, match="there is no coverage of nobody"):
        sgp.viz.beside_published(scores, "Coverage", {"nobody": "x"})


def test_curves_have_one_scale_and_at_most_six_lines():
    frame = pd.DataFrame({"panel": ["a", "b"], "planner": "p", "x": 1, "value": [0.1, 0.9], "n": 3})
    figure = sgp.viz.curves(frame, "T", "x", "y")
    assert all(axis.range == pytest.approx((-0.027, 0.945)) for axis in figure.select_yaxes())
    seven = pd.DataFrame({"panel": "a", "planner": list("abcdefg"), "x": 1, "value": 1.0, "n": 1})
    with pytest.raises(InputError, match="7 lines cannot be told apart"):
        sgp.viz.curves(seven, "T", "x", "y")


def test_heat_maps_share_a_scale_and_a_difference_is_centred():
    maps = {"one": np.array([[0.1, 0.2], [0.3, 0.4]]), "two": np.eye(2), "less": np.array([[-2.0, 0.0], [0.5, 1.0]])}
    layout = sgp.viz.heat_maps(maps, ["a", "b"], "T", "less").layout
    assert (layout.coloraxis.cmin, layout.coloraxis.cmax) == (0, 1)
    assert (layout.coloraxis2.cmin, layout.coloraxis2.cmax) == (-2, 2)


def test_coverage_against_size_has_the_mean_size_of_the_seeds(scores):
    figure = sgp.viz.coverage_against(scores[scores.variant == "wl-lstm-state"], "parameters", "T")
    sizes = scores[(scores.metric == "parameters") & (scores.variant == "wl-lstm-state")].groupby("domain").value.mean()
    assert sorted(size for trace in figure.data for size in trace.x) == pytest.approx(sorted(sizes))


@pytest.mark.parametrize(("paper", "number", "cell"), [("embedplan", 10, "0.057"), ("symt", "section 6", "19")])
def test_tables_without_numbers_of_ours_are_shown_as_printed(paper, number, cell):
    table = sgp.experiments.paper_table(paper, number, sgp.load_scores().iloc[:0])
    assert any(cell in row.words for row in table.rows)
