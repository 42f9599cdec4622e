"""Guess the move without a browser: its questions and its address."""

from __future__ import annotations

import sgp
from tests.dashboard.conftest import address, words


def test_it_opens_with_a_rollout_and_puts_it_into_the_address(open_page):
    app = open_page("guess")
    assert not app.exception
    first = sgp.recorded_rollouts().rollouts[0]
    assert address(app)["domain"] == first.about.domain
    assert [each.label for each in app.selectbox] == ["Domain", "Problem", "Model"]


def test_any_rollout_can_be_reached_by_its_address_and_another_begins_at_its_start(open_page):
    library = sgp.recorded_rollouts()
    recorded = next(each for each in library.rollouts if each.about.domain == "logistics")
    app = open_page("guess", step="4", **library.address_of(recorded))
    assert not app.exception
    assert {name: address(app)[name] for name in ("domain", "problem", "model")} == library.address_of(recorded)
    assert address(app)["step"] == "4"
    app.selectbox[0].select("gripper").run()
    assert address(app)["domain"] == "gripper"
    assert "step" not in address(app)


def test_without_rollouts_it_says_how_to_make_some(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: tmp_path)
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    assert "Record some with `sgp evaluate RUN --record`" in words(open_page("guess"))
