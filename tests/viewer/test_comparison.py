"""The sentences on how two rollouts of one problem differ: nothing beyond what the records prove."""

from dataclasses import replace

from sgp.analysis.diagnostics import remaining
from sgp.viewer.comparison import comparison, expert_rollout
from tests.viewer.conftest import as_recorded
from tests.viewer.test_marks import bounded
from tests.viewer.test_playback import EXPERT


def difference(left, right):
    return comparison(left, right)["difference"]


def test_the_first_different_actions_have_their_proved_losses_and_each_side_its_end(solved, unsolved):
    one, two = remaining(solved), remaining(unsolved)
    first, left, right = difference(as_recorded(solved, left=one), as_recorded(unsolved, left=two))
    place = next(number for number, (a, b) in enumerate(zip(solved.plan, unsolved.plan, strict=False)) if a != b)
    loss = 1 + two.states[place + 1][0] - two.states[place][0]
    assert loss > 0
    assert f"left takes {solved.plan[place]} (on a shortest plan); " in first
    assert f"right takes {unsolved.plan[place]} (wastes {loss:g} action{'s' * (loss > 1)})." in first
    assert left == f"Left reaches the goal in {len(solved.plan)} actions, the fewest possible."
    data = comparison(as_recorded(solved), as_recorded(unsolved))
    fewest = min(frame["open"] for frame in data["sides"][1]["frames"])
    assert f"(no candidate left): at best {fewest} of 2 goals are open (after " in right
    worse = [1 + after[0] - before[0] for before, after in zip(two.states, two.states[1:], strict=False)]
    assert f"at {sum(each > 0 for each in worse)} of {len(worse)} decisions, first at action 1" in right


def test_without_recorded_distances_no_sentence_is_about_the_shortest_plan(solved, unsolved):
    sentences = " ".join(difference(as_recorded(unsolved), as_recorded(solved)))
    assert f"left takes {unsolved.plan[0]}; right takes {solved.plan[0]}." in sentences
    assert not [word for word in ("shortest", "fewest possible", "needed", "dead end") if word in sentences]


def test_bounds_that_are_not_exact_prove_a_least_loss_or_nothing(solved, unsolved):
    other = as_recorded(unsolved)
    loose = as_recorded(solved, left=bounded(solved, (2, 4), (6, 9), (0, 8), *4 * [(0, 9)]))
    first, left, _ = difference(loose, other)
    assert " (wastes at least 3 actions); right takes" in first
    assert f"in {len(solved.plan)} actions, at least 2 more than needed; " in left
    assert "at 1 of 6 decisions, first at action 1." in left
    first, left, _ = difference(as_recorded(solved, left=bounded(solved, *7 * [(0, 9)])), other)
    assert "shortest" not in first
    assert left == f"Left reaches the goal in {len(solved.plan)} actions."


def test_a_dead_end_is_the_reason_of_a_failure(solved, unsolved):
    dead = as_recorded(unsolved, left=bounded(unsolved, (6, 6)))
    first, _, right = difference(as_recorded(solved), dead)
    assert f"right takes {unsolved.plan[0]} (leads into a dead end)." in first
    assert right.endswith(": after action 1, the goal cannot be reached any more.")
    _, right, _ = difference(as_recorded(unsolved, left=bounded(unsolved)), as_recorded(solved))
    assert right.endswith(": no plan exists.")


def test_a_side_that_makes_no_progress_is_named_and_equal_plans_do_not_differ(solved):
    recorded = as_recorded(solved)
    assert len(difference(recorded, recorded)) == 1
    cut = replace(recorded, head={**recorded.head, "steps": 1, "outcome": "horizon"}, loaded=recorded.steps[:1])
    first, left, _ = difference(cut, recorded)
    assert first == f"After 1 action in common, left ends; right takes {solved.plan[1]}."
    assert "(action limit reached): no decision leaves fewer goals open than the start has (2 of 2)" in left


def test_a_plan_without_recorded_distances_is_judged_by_those_of_the_other_sides_candidates(unsolved):
    recorded = as_recorded(unsolved, EXPERT, left=remaining(unsolved))
    first, _, right = difference(recorded, expert_rollout(recorded))
    assert f"right takes {EXPERT[0]} (on a shortest plan)." in first
    assert remaining(unsolved).states[0] == (6, 6)
    assert right == "Right reaches the goal in 6 actions, the fewest possible."
