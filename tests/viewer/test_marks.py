"""Marks on the scrubber: the player's data of the remaining actions, and their drawing in a browser."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

import sgp
from sgp.analysis.diagnostics import Remaining, remaining
from sgp.datasets.recorded import read_recorded, regrets
from sgp.errors import StoreError
from sgp.viewer.comparison import comparison, expert_rollout
from sgp.viewer.library import recorded_folder
from sgp.viewer.playback import playback
from tests.browsing import expect, expect_step, press
from tests.viewer.conftest import as_recorded
from tests.viewer.test_playback import EXPERT


def bounded(rollout, *states):
    """Bounds of the first states of a rollout; the others are dead ends, and nothing is known of candidates."""
    dead, unknown = (math.inf, math.inf), (0.0, math.inf)
    ends = [dead] * (len(rollout.steps) + 1 - len(states))
    return Remaining((*states, *ends), tuple((unknown,) * len(step.candidates) for step in rollout.steps))


def test_steps_that_gave_something_away_and_dead_ends_are_marked_once(unsolved, solved):
    left = remaining(unsolved)
    data = playback(as_recorded(unsolved, left=left))
    lost = regrets(left.states, (len(step.successor.actions) for step in unsolved.steps))
    assert data["marks"] == [[place, each, True] for place, each in enumerate(lost) if each]
    assert data["marks"]
    assert [frame["left"] for frame in data["frames"]] == [low for low, _ in left.states]
    for place, step in enumerate(data["steps"]):
        here = left.states[place][0]
        assert step["best"] == [each["rank"] - 1 for each in step["candidates"] if each["left"] == here - 1]
        assert step["best"]
    with pytest.raises(StoreError, match="actions left at"):
        playback(as_recorded(unsolved, left=replace(left, states=left.states[1:])))
    data = playback(as_recorded(solved, left=bounded(solved, (3, 3), (1, 9), (4, 4), (9, 9))))
    assert data["marks"] == [[2, 6, True], [3, None, True]]
    data = playback(as_recorded(solved, left=bounded(solved, (2, 4), (6, 9), (0, 8))))
    assert data["marks"][0] == [0, 3, False], "at least three, between two bounds"
    assert playback(as_recorded(solved))["marks"] is None


def test_recorded_rollouts_tell_what_is_left_at_every_state_or_at_none():
    found = [each for each in sgp.recorded_rollouts().rollouts if "left" in each.head]
    assert {each.about.domain for each in found} >= {"blocksworld", "gripper", "logistics", "visitall"}
    assert any(each.head["outcome"] != "solved" for each in found)
    assert any(not isinstance(left, list) for each in found for left in each.head["left"])
    for each in found:
        left = each.head["left"]
        assert (len(left), left[-1] == 0) == (len(each.steps) + 1, each.head["outcome"] == "solved"), each.source
    assert "left" not in expert_rollout(found[0]).head, "an expert's plan does not take over what is left of a rollout"
    assert comparison(found[0], expert_rollout(found[0]))["sides"]


@pytest.mark.browser
def test_marks_have_shapes_words_and_keys_and_a_prediction_stands_below_what_happens(open_page, solved):
    page = open_page(as_recorded(solved, left=bounded(solved, (9, 9), (9, 9), (11, 11))))
    marks, scrubber = page.locator(".lapses i"), page.locator("input[type=range]")
    said = [f"step {number}: wastes {lost}" for number, lost in ((1, "1 action"), (2, "3 actions"))]
    said.append("step 3: dead end: the goal cannot be reached any more")
    assert [each.get_attribute("title") for each in marks.all()] == said
    assert len({each.locator("path").get_attribute("d") for each in marks.all()}) == 3
    assert set(page.locator(".candidates td:nth-child(6)").all_inner_texts()) == {"unknown"}
    press(page, "n")
    expect_step(page, 1)
    assert scrubber.get_attribute("aria-valuetext").endswith(": wastes 3 actions")
    assert "; wastes 3 actions" in page.locator(".why").inner_text()
    for key, place in (("n", 2), ("n", 0), ("Shift+N", 2)):
        press(page, key)
        expect_step(page, place)
    marks.nth(1).click()
    expect_step(page, 1)
    press(page, "?")
    assert "next or previous mark on the scrubber" in page.locator(".help").inner_text()
    press(page, "End")
    press(page, "?")
    expect_step(page, 1)  # nothing moves behind the help
    recorded = as_recorded(solved)
    first = recorded.steps[0]["candidates"][0]
    changes = [[first["add"][0], True, 0.83], [first["delete"][0], False, 0.83]]
    recorded.steps[0]["expects"] = {"changes": changes, "nothing": 0.17}
    page = open_page(recorded, viewport={"width": 900, "height": 700})
    page.get_by_role("button", name="1 more", exact=True).click()  # too narrow for both groups
    said = " ".join(page.locator(".expects").text_content().split())
    assert said == f"Predicted effects by weight (0.83): +{changes[0][0]} \u2212{changes[1][0]} (0.17): no change"
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert page.locator(".expects").text_content() == ""


@pytest.mark.browser
def test_marks_that_would_overlap_are_one_mark_whose_clicks_visit_all(open_page):
    file = recorded_folder() / "blocksworld-state-centric-wl-xgboost-delta-p08-solved.jsonl.gz"
    steps = [step for step, _, _ in playback(read_recorded(file)[0])["marks"]]
    page = open_page(file, viewport={"width": 900, "height": 700})
    marks = page.locator(".lapses i")
    assert marks.count() < len(steps)
    titles = [each.get_attribute("title").split("\n") for each in marks.all()]
    joined = max(range(len(titles)), key=lambda place: len(titles[place]))
    assert titles[joined][0] == f"{len(titles[joined]) - 1} marks"
    left = [each.bounding_box()["x"] for each in marks.all()]
    assert min(later - earlier for earlier, later in pairwise(left)) >= 11.9
    for words in titles[joined][1:]:
        marks.nth(joined).click()
        expect_step(page, int(words.removeprefix("step ").split(":")[0]) - 1)


@pytest.mark.browser
def test_on_the_ruler_each_sign_is_behind_its_own_rank_and_a_retry_hides_the_optimal_ones(open_page, unsolved):
    recorded = as_recorded(unsolved, EXPERT, left=remaining(unsolved))
    for candidate in recorded.steps[0]["candidates"]:
        candidate["cost"] = 1 + candidate["cost"] * 1e-3 if candidate["cost"] is not None else None  # at one place
    page = open_page(recorded)
    rows = page.locator(".candidates tbody tr").all()
    signs = [[row.locator("td").first.inner_text(), row.locator(".marks").inner_text()] for row in rows]
    expected = [rank + "".join(sign for sign in "\u2714\u25b2\u25c6" if sign in marks) for rank, marks in signs]
    assert sum(len(each) > 1 for each in expected) > 1
    shown = page.locator(".ruler .tick text").all_text_contents()
    assert " ".join(shown).split() == expected
    press(page, "r")
    expect(page.locator(".ruler")).not_to_contain_text("\u25c6")
