from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import sgp
from sgp.errors import InputError
from sgp.viewer.branches import Branch, Choice, Compared, compared, draw_branches, forcing_words
from tests.viewer.conftest import IMAGE, as_recorded


def test_a_branch_is_written_and_read():
    branch = Branch.parse("5-2_9-13")
    assert branch == (Choice(5, 2), Choice(9, 13))
    assert str(branch) == "5-2_9-13"
    assert str(branch.parent) == "5-2"
    assert (Branch.parse(""), str(Branch()), Branch().parent) == (Branch(), "", Branch())


@pytest.mark.parametrize("text", ["5", "5-2_", "0-1", "5-0", "9-1_5-1", "5-1_5-2", "<b>", "1-1 ", "1e9-1", "9" * 500])
def test_what_is_no_branch_is_one_sentence(text):
    with pytest.raises(InputError, match="branch"):
        Branch.parse(text)


def test_branching_again_gives_up_what_was_forced_from_there_on():
    branch = Branch.parse("5-2_9-3")
    assert str(branch.then(12, 4)) == "5-2_9-3_12-4"
    assert str(branch.then(9, 1)) == "5-2_9-1"
    assert str(branch.then(3, 2)) == "3-2"


def test_branches_are_compared_by_what_they_are(solved, unsolved):
    line = compared(Branch(), sgp.playback(as_recorded(solved)))
    assert (line.solved, line.outcome, line.steps, line.actions, line.open) == (True, "solved", 6, 6, 0)
    other = compared(Branch.parse("1-2"), sgp.playback(as_recorded(unsolved)))
    assert (other.solved, other.outcome, other.actions) == (False, unsolved.outcome.value, len(unsolved.plan))
    assert other.forced == f"step 1: {unsolved.plan[0]}"


def test_the_tree_has_a_row_for_every_branch_below_the_one_it_leaves(solved, hostile):
    base = sgp.playback(as_recorded(solved))
    texts = ("5-2", "", "2-3", "2-3_4-1")
    lines = [compared(Branch.parse(text), base) for text in texts]
    lines.append(compared(Branch.parse("1-1"), sgp.playback(hostile)))
    drawing = ElementTree.fromstring(draw_branches(lines, Branch.parse("2-3")))
    rows = [each for each in drawing.iter() if each.get("data-branch") is not None]
    assert [row.get("data-branch") for row in rows] == ["", "1-1", "2-3", "2-3_4-1", "5-2"]
    assert [row.get("aria-pressed") for row in rows] == ["false", "false", "true", "false", "false"]
    assert all(row.get("tabindex") == "0" and row.get("role") == "button" for row in rows)
    assert IMAGE in rows[1].get("aria-label")
    assert {each.tag.split("}")[1] for each in drawing.iter()} <= {
        "svg", "title", "g", "rect", "line", "circle", "path", "text"
    }  # fmt: skip


def test_what_was_tried_is_told_exactly():
    found = {"tried": [40, 3], "complete": [1], "ranks": 3, "most": 2, "seconds": 12.34, "proved": True,
             "choices": [(4, 2), (9, 3)]}  # fmt: skip
    words = forcing_words(found)
    assert words.startswith(
        "Solved with 2 forced choices (the least there is among these): rank 2 at step 4, then rank 3"
    )
    assert "40 with 1 forced choice, 3 with 2 forced choices (not all); candidates up to the third best" in words
    assert "12.3 s" in words
    nothing = {**found, "choices": None, "proved": False}
    assert forcing_words(nothing).startswith("No solution found: the time was up.")
    assert "at most 2 were to be forced" in forcing_words({**nothing, "complete": [1, 2]})


def test_a_forced_jump_is_said_whole():
    data = {
        "actions": ["(put-down b17)", "(pick-up b3)"],
        "steps": [{"chosen": 0, "candidates": [{"actions": [0, 1]}]}],
        "outcome": "solved",
        "length": 2,
        "frames": [{"open": 1}, {"open": 0}],
    }
    line = compared(Branch.parse("1-1"), data)
    assert line.forced == "step 1: (put-down b17) (pick-up b3)"
    assert draw_branches([line], line.branch).count("(put-down b17) (pick-up b3)") >= 2, "in the row and its title"


def test_a_long_forced_jump_takes_several_lines_and_loses_nothing():
    actions = [f"(drive-truck truck{number} location1-1 location1-2 city1)" for number in range(3)]
    jump = Compared(Branch.parse("1-1"), f"step 1: {' '.join(actions)}", "solved", 4, 6, 0)
    after = Compared(Branch.parse("2-1"), "step 2: (noop)", "solved", 4, 6, 0)
    drawing = ElementTree.fromstring(draw_branches([jump, after], jump.branch))
    rows = [each for each in drawing.iter() if each.get("data-branch") is not None]
    told = [[each for each in row.iter() if each.tag.endswith("text")] for row in rows]
    assert all(any(action in each.text for each in told[0]) for action in actions)
    lowest = max(float(each.get("y")) for each in told[0])
    assert lowest < min(float(each.get("y")) for each in told[1]), "the next row stands below"
