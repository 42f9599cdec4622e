"""Scaling without a browser: curves and table, addresses, no measurements, uploaded files."""

import json

import pytest
import streamlit as st

import sgp
from sgp.datasets.subject import Variant
from sgp.evaluation.scores import Score, to_csv, to_frame, write_scores
from tests.dashboard.conftest import address, choice, html, words

BY_LOSS, BY_DYNAMIC = "m: v, selected by validation loss", "m: v, selected by dynamic validation"

FACTS = {"method": "m", "suite": "scaling", "split": "scaling", "seed": 13, "n": 40}


def curve(domain, variant, *coverages):
    parsed = Variant.parse(variant)
    facts = {**FACTS, "domain": domain, "variant": parsed.name, "selected_by": parsed.selected_by}
    yield Score(**facts, metric="scale", value=4 + len(coverages))
    for size, value in enumerate(coverages, start=5):
        yield Score(**facts, metric="coverage", value=value, size=size)
        yield Score(**facts, metric="plan_length", value=3.0 * size, size=size)


@pytest.fixture(autouse=True)
def curves(monkeypatch, home):
    found = [*curve("ferry", "v+by=loss", 1.0, 0.5), *curve("ferry", "v+by=dynamic", 1.0, 1.0), *curve("gripper", "v")]
    found += curve("gripper", "v", 1.0)
    real = sgp.load_scores
    monkeypatch.setattr(sgp, "load_scores", lambda name: to_frame(found) if name == "measured/scaling" else real(name))
    st.cache_resource.clear()
    yield found
    st.cache_resource.clear()


def plots(app):
    specs = [json.loads(each.proto.spec) for each in app.get("plotly_chart")]
    return [[line["name"] for line in spec["data"] if "fill" not in line] for spec in specs]


def test_curves_stand_above_the_table_with_published_numbers_and_a_file_of_the_users_own(open_page, tmp_path):
    app = open_page("scaling")
    assert choice(app, "Domain").value == "ferry"
    assert plots(app) == [[BY_LOSS, BY_DYNAMIC], [BY_LOSS, BY_DYNAMIC, "most actions allowed"]]
    table = html(app)
    assert "GNN value, published" in table
    assert "≥148" in table
    write_scores(tmp_path / "own.csv", to_frame(curve("ferry", "v+by=dynamic", 0.5, 0.25)))
    app = given(open_page("scaling"), ("own.csv", (tmp_path / "own.csv").read_bytes()))
    assert plots(app)[0] == [BY_LOSS, BY_DYNAMIC, f"own.csv: {BY_DYNAMIC}"]
    assert "own.csv: m: v x1" in html(app)


def test_domain_and_planners_stand_in_the_address_and_what_fits_no_curve_is_left_out(open_page):
    assert choice(open_page("scaling", domain="gripper"), "Planners").options == ["m: v"]
    app = open_page("scaling", domain="ferry", planners="m v by dynamic")
    assert plots(app)[0] == [BY_DYNAMIC]
    app = open_page("scaling")
    assert choice(app, "Domain").value == "ferry"
    choice(app, "Planners").set_value(["m v by loss"]).run()
    assert address(app)["planners"] == "m v by loss"
    choice(app, "Domain").set_value("gripper").run()
    assert not app.exception
    assert plots(app)[0] == ["m: v"]


def test_without_a_curve_the_page_says_how_to_measure_one(open_page, curves):
    curves.clear()
    app = open_page("scaling")
    assert "sgp scaling" in words(app)
    assert not plots(app)
    assert "gnn-value, published" in html(app)


def given(app, *files):
    (uploader,) = app.file_uploader
    return uploader.set_value([(name, content, "text/csv") for name, content in files]).run()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\n", "entry 1: 'method' is missing; expected at least method,"),
        (b"\xff\xfe\x00", "is not a file of scores"),
        (b"", "has no coverage by size; give a file that 'sgp scaling"),
        (to_csv(to_frame([next(curve("ferry", "v"))])).encode(), "has no coverage by size"),
    ],
)
def test_a_file_that_is_no_curve_is_one_sentence(open_page, content, sentence):
    name = "<b>*bad*.csv"
    app = given(open_page("scaling"), (name, content))
    (error,) = app.error
    assert sentence in error.value.replace("\\", "")
    assert r"\<b\>\*bad\*\.csv" in error.value, "a name is text"
    assert plots(app)[0] == [BY_LOSS, BY_DYNAMIC], "what was measured is shown all the same"
