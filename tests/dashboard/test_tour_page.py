"""The tour without a browser: stops, rounds, the question, and the message where the tour is not recorded."""

from __future__ import annotations

import sgp
from tests.dashboard.conftest import address, button, words


def plain(app):
    return words(app).replace("\\", "")


def test_all_stops_forward_and_back(open_page):
    app = open_page("tour")
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    last = len(sgp.viewer.tour_titles())
    for stop in range(last):
        assert tour.stop(stop).words in plain(app)
        if stop < last - 1:
            app = button(app, "Next →").click().run()
    assert not app.exception
    assert button(app, "Next →").disabled
    assert address(app)["stop"] == str(last)
    app = button(app, "1 State").click().run()
    assert button(app, "← Back").disabled


def test_a_round_is_chosen_and_stands_in_the_address(open_page):
    app = open_page("tour", stop="3")
    app = button(app, "Round 2").click().run()
    assert "Shown: after round 2." in plain(app)
    assert address(app)["round"] == "2"


def test_the_answer_to_the_question_is_the_models_ranking(open_page):
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    for rank, place in enumerate(tour.order, start=1):
        app = open_page("tour", stop="7")
        app = app.radio[0].set_value(tour.actions[place]).run()
        said = plain(app)
        assert f"rank {rank} of {len(tour.order)}" in said
        assert ("Yes: the model takes" in said) == (place == tour.chosen)


def test_an_address_that_names_no_stop_opens_the_first(open_page):
    for stop in ("0", "99", "<b>", "-1"):
        app = open_page("tour", stop=stop, round="99")
        assert not app.exception
        assert button(app, "← Back").disabled


def test_without_a_recorded_tour_it_says_how_to_make_one(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: tmp_path)
    assert "Make one with `python -m sgp.experiments.bundle rollouts`" in words(open_page("tour"))
    (tmp_path / "tour.json").write_text("{")
    app = open_page("tour")
    assert not app.exception
    assert "cut or changed" in app.error[0].value


def test_it_ends_by_leading_on(open_page):
    app = open_page("tour", stop=str(len(sgp.viewer.tour_titles())))
    failure = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json").failure
    pages = {each.proto.page: each.proto.query_string for each in app.get("page_link")}
    assert {"guess", "failures", "what_if", "compare"} <= set(pages)
    assert f"domains={failure.about.domain}" in pages["failures"]
    assert f"domain={failure.about.domain}" in pages["what_if"]
    assert "notebooks/07_logistics_failures.ipynb" in plain(app)
