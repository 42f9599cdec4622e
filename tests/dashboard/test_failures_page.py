"""Failures without a browser: measured attempts are recorded on request, and failures link to other pages."""

import re
from html import unescape
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pandas
import pytest
import streamlit

import sgp
from sgp.evaluation.attempts import recording_command
from sgp.evaluation.scores import select
from tests.dashboard.conftest import address, button, choice, html, settled, words


def unsolved(open_page, method, variant=""):
    """Open the page at the first unsolved attempt of a planner that is not recorded."""
    seen = {(each.about.planner.title, each.head["name"]) for each in sgp.recorded_rollouts().rollouts}
    rows = select(sgp.load_attempts(), method=method, domain="blocksworld", split="extrapolation", solved=False)
    rows = rows[rows.variant.str.startswith(variant)].itertuples()
    row = next(row for row in rows if (row.planner, row.problem) not in seen)
    seed = "" if pandas.isna(row.seed) else f" seed {row.seed}"
    name = f"{row.suite}, {row.domain}, {row.split}, {row.problem}, {row.planner}{seed}"
    return row, open_page("failures", of="measured attempts", attempt=name)


@pytest.mark.slow
def test_a_measured_attempt_is_recorded_now_or_cancelled_and_then_can_be_watched(open_page, home):
    _, app = unsolved(open_page, "state-centric", "wl-lstm")
    app = button(app, "Record it now").click().run()
    app = button(app, "Cancel").click().run()
    assert not app.exception
    assert "failures work" not in app.session_state
    assert not sgp.recorded_rollouts(sgp.data.own_rollouts_folder()).rollouts
    assert not button(app, "Record it now").disabled
    row, app = unsolved(open_page, "random-successor")
    assert row.problem in words(app)
    assert not app.get("page_link")
    app = settled(button(app, "Record it now").click().run(), "failures")
    assert not app.error
    (made,) = sgp.recorded_rollouts(sgp.data.own_rollouts_folder()).rollouts
    assert (made.about.planner.title, made.about.split, made.about.seed) == (row.planner, row.split, row.seed)
    assert (made.head["name"], made.head["outcome"]) == (row.problem, row.outcome)
    assert len(made.steps) == row.decisions, "the same seed walks the same way"
    assert made.head["expert"]
    links = {each.proto.page: each.proto.query_string for each in app.run().get("page_link")}
    assert f"problem={row.problem}" in next(query for page, query in links.items() if "rollout" in page or page == "")


def test_what_takes_long_to_train_shows_its_lines_and_what_searches_has_nothing_to_watch(open_page):
    row, app = unsolved(open_page, "symt")
    assert "Record it now" not in [each.label for each in app.button]
    assert app.code[0].value == recording_command(row)
    _, app = unsolved(open_page, "fast-downward")
    assert "no rollout to watch" in words(app)
    assert not app.code
    app = open_page("failures", of="measured attempts", attempt="none of these")
    assert "'none of these', which was not measured" in words(app)


def links(app, page):
    found = (urlsplit(unescape(each)) for each in re.findall(r'href="([^"]+)"', html(app)))
    return [{name: value for name, (value,) in parse_qs(each.query).items()} for each in found if each.path == page]


def test_a_failure_leads_on_to_another_choice_and_to_a_rollout_that_solves_its_problem(open_page):
    app = open_page("failures", domains="logistics")
    library = sgp.recorded_rollouts()
    named = {tuple(library.address_of(each).values()): each for each in library.rollouts}
    choices = links(app, "./what_if")
    assert choices
    for each in choices:
        recorded = named[each["domain"], each["problem"], each["model"]]
        assert 1 <= int(each["step"]) <= len(recorded.steps)
    compared = links(app, "./compare")
    assert len(compared) == len(choices)
    for each in compared:
        left, right = (named[each["domain"], each["problem"], each[side]] for side in ("left", "right"))
        assert left.head["sha256"] == right.head["sha256"]
        assert left.head["outcome"] != "solved" == right.head["outcome"]


def test_pictures_are_inverted_for_who_has_a_dark_theme_and_for_no_other(open_page, monkeypatch):
    def inverted(theme):
        monkeypatch.setattr(type(streamlit.context), "theme", SimpleNamespace(type=theme))
        pictures = re.findall("<img [^>]*>", html(open_page("failures", domains="gripper")))
        assert pictures
        return sum("inverted" in each for each in pictures) / len(pictures)

    assert [inverted(theme) for theme in ("dark", "light", "dark")] == [1, 0, 1]


@pytest.mark.parametrize("of", ["recorded rollouts", "measured attempts"])
def test_a_link_may_name_one_domain_as_on_other_pages(open_page, of):
    app = open_page("failures", of=of, domain="logistics")
    assert choice(app, "Domains").value == ["logistics"]
    assert "domain" not in address(app)
    assert address(app)["domains"] == "logistics"
