from __future__ import annotations

import pytest

from sgp.errors import InputError
from sgp.viewer.comparison import Branch, Override, branch_rows, override_words
from sgp.viewer.playback import playback
from tests.viewer.conftest import as_recorded


def test_a_branch_is_written_and_read():
    branch = Branch.parse("5-2_9-13")
    assert branch == (Override(5, 2), Override(9, 13))
    assert str(branch) == "5-2_9-13"
    assert str(branch.parent) == "5-2"
    assert (Branch.parse(""), str(Branch()), Branch().parent) == (Branch(), "", Branch())


@pytest.mark.parametrize("text", ["5", "5-2_", "0-1", "5-0", "9-1_5-1", "5-1_5-2", "<b>", "1-1 ", "1e9-1", "9" * 500])
def test_what_is_no_branch_is_one_sentence(text):
    with pytest.raises(InputError, match="branch"):
        Branch.parse(text)


def test_branching_again_drops_the_overrides_from_there_on():
    branch = Branch.parse("5-2_9-3")
    assert str(branch.then(12, 4)) == "5-2_9-3_12-4"
    assert str(branch.then(9, 1)) == "5-2_9-1"
    assert str(branch.then(3, 2)) == "3-2"


def test_the_tree_has_a_row_for_every_branch_below_its_parent(solved, unsolved):
    base, other = playback(as_recorded(solved)), playback(as_recorded(unsolved))
    rows = branch_rows({Branch.parse(text): base if text else other for text in ("5-2", "", "2-3", "2-3_4-1")})
    assert [row["branch"] for row in rows] == ["", "2-3", "2-3_4-1", "5-2"]
    assert [row["parent"] for row in rows] == [None, "", "2-3", ""]
    assert [row["start"] for row in rows] == [0, 1, 3, 4]
    assert rows[3] | {"words": f"step 5: {solved.plan[4]}", "outcome": "solved", "steps": 6, "actions": 6} == rows[3]
    assert (rows[0]["outcome"], rows[0]["actions"]) == (unsolved.outcome.value, len(unsolved.plan))


def test_the_result_of_a_search_is_reported_exactly():
    found = {"counts": [40, 3], "complete": [1], "ranks": 3, "most": 2, "seconds": 12.34, "proved": True,
             "overrides": [(4, 2), (9, 3)]}  # fmt: skip
    words = override_words(found)
    assert words.startswith(
        "Solved with 2 overrides (the fewest among these candidates): rank 2 at step 4, then rank 3"
    )
    assert "12.3 s: 40 rollouts with 1 override and 3 rollouts with 2 overrides (not all)" in words
    nothing = {**found, "overrides": None, "proved": False}
    assert override_words(nothing).startswith("No solution found: the time limit was reached.")
    assert "no 2 overrides or fewer solve it" in override_words({**nothing, "complete": [1, 2]})
