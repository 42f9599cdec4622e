"""Marks on the scrubber: the player's data of the remaining actions, and their drawing in a browser."""

from dataclasses import replace

import pytest

import sgp
from sgp.analysis.diagnostics import Remaining, remaining
from sgp.errors import StoreError
from sgp.viewer.comparison import comparison, expert_rollout
from sgp.viewer.playback import playback
from tests.browsing import expect_step, press
from tests.viewer.conftest import as_recorded


def test_steps_that_gave_something_away_and_dead_ends_are_marked_once(unsolved, solved):
    left = remaining(unsolved)
    data, lost = playback(as_recorded(unsolved, left=left.record())), left.regrets(unsolved)
    assert data["marks"] == [[place, each] for place, each in enumerate(lost) if each]
    assert data["marks"]
    assert data["least"] is True
    with pytest.raises(StoreError, match="actions left at"):
        playback(as_recorded(unsolved, left=replace(left, actions=left.actions[1:]).record()))
    left = Remaining((3.0, None, 4.0, *[float("inf")] * (len(solved.steps) - 2)), False)
    data = playback(as_recorded(solved, left=left.record()))
    assert (data["marks"], data["least"]) == ([[2, None]], False)
    data = playback(as_recorded(solved))
    assert (data["marks"], data["least"]) == (None, None)


def test_recorded_rollouts_tell_what_is_left_at_every_state_or_at_none():
    found = [each for each in sgp.recorded_rollouts().rollouts if "left" in each.head]
    assert {each.about.domain for each in found} >= {"blocksworld", "gripper", "logistics", "visitall"}
    assert any(each.head["outcome"] != "solved" for each in found)
    assert any(each.head["left"]["optimal"] for each in found)
    for each in found:
        left = each.head["left"]["actions"]
        assert (len(left), left[-1] == 0) == (len(each.steps) + 1, each.head["outcome"] == "solved"), each.source
    assert "left" not in expert_rollout(found[0]).head, "an expert's plan does not take over what is left of a rollout"
    assert comparison(found[0], expert_rollout(found[0]))["sides"]


@pytest.mark.browser
def test_marks_have_shapes_words_and_keys_and_a_prediction_stands_below_what_happens(open_page, solved):
    ends = [float("inf")] * (len(solved.steps) - 2)
    page = open_page(as_recorded(solved, left=Remaining((9.0, 9.0, 11.0, *ends), True).record()))
    marks, scrubber = page.locator(".lapses i"), page.locator("input[type=range]")
    said = [f"step {number}: lengthens the shortest plan by {by}" for number, by in ((1, 1), (2, 3))]
    said.append("step 3: dead end: the goal cannot be reached any more")
    assert [each.get_attribute("title") for each in marks.all()] == said
    assert len({each.locator("path").get_attribute("d") for each in marks.all()}) == 3
    press(page, "n")
    expect_step(page, 1)
    assert scrubber.get_attribute("aria-valuetext").endswith(": lengthens the shortest plan by 3")
    assert page.locator(".why").inner_text().endswith("; lengthens the shortest plan by 3.")
    for key, place in (("n", 2), ("n", 0), ("Shift+N", 2)):
        press(page, key)
        expect_step(page, place)
    marks.nth(1).click()
    expect_step(page, 1)
    press(page, "?")
    assert "next or previous mark on the scrubber" in page.locator(".help").inner_text()
    recorded = as_recorded(solved)
    first = recorded.steps[0]["candidates"][0]
    changes = [[first["add"][0], True, 0.83], [first["delete"][0], False, 0.83]]
    recorded.steps[0]["expects"] = {"changes": changes, "nothing": 0.17}
    page = open_page(recorded)
    said = " ".join(page.locator(".expects").text_content().split())
    assert said == f"Predicted effects (weight): 0.83 +{changes[0][0]} \u2212{changes[1][0]} 0.17 no change"
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert page.locator(".expects").count() == 0
