"""Marks on the scrubber: the player's data of the remaining actions, and their drawing in a browser."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sgp
from sgp.analysis.diagnostics import Remaining, remaining
from sgp.errors import StoreError
from sgp.planning.recorded import Recorded
from sgp.planning.recording import records, write_records
from sgp.viewer.comparison import comparison, expert_rollout
from sgp.viewer.playback import playback
from tests.browsing import expect_step, press


def with_left(rollout, left):
    head, *steps = json.loads(json.dumps(list(records(rollout, left=left.record()))))
    return Recorded("test", 1, head, tuple(steps))


def test_steps_that_gave_something_away_are_marked(unsolved):
    left = remaining(unsolved)
    data = playback(with_left(unsolved, left))
    lost = left.regrets(unsolved)
    assert data["marks"] == [[place, each] for place, each in enumerate(lost) if each]
    assert data["marks"]
    assert data["least"] is True


def test_a_dead_end_is_marked_once_and_what_is_not_known_never(solved):
    count = len(solved.steps)
    left = Remaining((3.0, None, 4.0, float("inf"), *[float("inf")] * (count - 3)), False)
    data = playback(with_left(solved, left))
    assert data["marks"] == [[2, None]]
    assert data["least"] is False


def test_a_rollout_of_which_nobody_knows_what_is_left_has_no_marks(unsolved):
    data = playback(Recorded("test", 1, *_parts(list(records(unsolved)))))
    assert (data["marks"], data["least"]) == (None, None)


def test_what_is_left_of_other_states_is_refused(unsolved):
    left = remaining(unsolved)
    with pytest.raises(StoreError, match="actions left at"):
        playback(with_left(unsolved, replace(left, actions=left.actions[1:])))


def test_an_experts_plan_does_not_take_over_what_is_left_of_a_rollout():
    recorded = next(each for each in sgp.recorded_rollouts().rollouts if "left" in each.head)
    assert "left" not in expert_rollout(recorded).head
    assert comparison(recorded, expert_rollout(recorded))["sides"]


def test_recorded_rollouts_tell_what_is_left_at_every_state_or_at_none():
    found = [each for each in sgp.recorded_rollouts().rollouts if "left" in each.head]
    assert {each.about.domain for each in found} >= {"blocksworld", "gripper", "logistics", "visitall"}
    assert any(each.head["outcome"] != "solved" for each in found)
    for each in found:
        assert len(each.head["left"]["actions"]) == len(each.steps) + 1, each.source
        solved = each.head["outcome"] == "solved"
        assert (each.head["left"]["actions"][-1] == 0) == solved, each.source
    assert any(each.head["left"]["optimal"] for each in found)


def _parts(found):
    head, *steps = json.loads(json.dumps(found))
    return head, tuple(steps)


@pytest.mark.browser
def test_marks_have_shapes_words_and_keys(open_page, solved, tmp_path):
    file, ends = tmp_path / "rollout.jsonl", [float("inf")] * (len(solved.steps) - 2)
    write_records(file, records(solved, left=Remaining((9.0, 9.0, 11.0, *ends), True).record()))
    page = open_page(file)
    marks = page.locator(".lapses i")
    said = [
        "step 1: lengthens the shortest plan by 1",
        "step 2: lengthens the shortest plan by 3",
        "step 3: dead end: the goal cannot be reached any more",
    ]
    assert [each.get_attribute("title") for each in marks.all()] == said
    assert len({each.locator("path").get_attribute("d") for each in marks.all()}) == 3
    scrubber = page.locator("input[type=range]")
    press(page, "n")
    expect_step(page, 1)
    assert scrubber.get_attribute("aria-valuetext").endswith(": lengthens the shortest plan by 3")
    assert page.locator(".why").inner_text().endswith("; lengthens the shortest plan by 3.")
    press(page, "n")
    expect_step(page, 2)
    press(page, "n")
    expect_step(page, 0)
    press(page, "Shift+N")
    expect_step(page, 2)
    marks.nth(1).click()
    expect_step(page, 1)
    press(page, "?")
    assert "next or previous mark on the scrubber" in page.locator(".help").inner_text()
    assert not page.wrong


@pytest.mark.browser
def test_what_a_prediction_expects_stands_below_what_happens(open_page, tmp_path, solved):
    head, *steps = records(solved)
    true, false = steps[0]["candidates"][0]["add"][0], steps[0]["candidates"][0]["delete"][0]
    changes = [[true, True, 0.83], [false, False, 0.83]]
    steps[0]["expects"] = {"changes": changes, "nothing": 0.17}
    write_records(tmp_path / "rollout.jsonl", [head, *steps])
    page = open_page(tmp_path / "rollout.jsonl")
    said = " ".join(page.locator(".expects").text_content().split())
    assert said == f"Predicted effects (weight): 0.83 +{true} \u2212{false} 0.17 no change"
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert page.locator(".expects").count() == 0
    assert not page.wrong
