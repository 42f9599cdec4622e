from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from sgp.domains import draw_series, get_domain
from sgp.errors import PddlError, StoreError
from sgp.planning.domain import Scene
from sgp.planning.pddl import parse_plan, read_domain, read_problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.recorded import atom_of
from sgp.viewer.playback import plateau, playback, rank_order
from tests.planning.test_planner import by_name
from tests.viewer.conftest import IMAGE, SCRIPT, as_recorded


def test_changes_of_the_chosen_candidates_add_up_to_the_recorded_states(solved, courier):
    data = playback(as_recorded(solved))
    task, atoms = solved.task, data["atoms"]
    state = {atoms[each] for each in data["initial"]}
    for step, shown, frame in zip(solved.steps, data["steps"], data["frames"], strict=False):
        assert state == set(map(str, task.atoms(step.state)))
        assert frame["atoms"] == len(task.fluents(step.state))
        chosen = shown["candidates"][shown["chosen"]]
        state = (state - {atoms[each] for each in chosen["delete"]}) | {atoms[each] for each in chosen["add"]}
        assert chosen["open"] == sum(goal not in state for goal in ("(on a b)", "(on b c)"))
    assert state == set(map(str, task.atoms(solved.end)))
    assert len(data["frames"]) == len(solved.steps) + 1
    assert data["frames"][-1]["open"] == 0


def test_what_steps_name_is_said_in_english_once(solved, courier):
    data = playback(as_recorded(solved))
    words = get_domain("blocksworld").words
    actions = [words.sentence(*parse_plan(line)) for line in data["actions"]]
    changed = {each for step in data["steps"] for one in step["candidates"] for each in one["add"] + one["delete"]}
    assert data["words"]["actions"] == actions
    assert data["words"]["atoms"] == [words.sentence(atom_of(line)) for line in data["atoms"][: len(changed)]]
    assert changed == set(range(len(changed)))
    unknown = playback(as_recorded(Planner(by_name()).solve(courier, Limit(actions=1))))
    assert unknown["words"] is None
    assert [goal for goal, _ in unknown["wanted"]] == list(map(str, courier.goal))


def test_goals_are_open_between_their_turns(solved):
    data, task = playback(as_recorded(solved)), solved.task
    states = [set(task.atoms(state)) for state in (*(step.state for step in solved.steps), solved.end)]
    for literal, (_, turns) in zip(task.goal, data["wanted"], strict=True):
        now_open = [sum(turn <= place for turn in turns) % 2 == 1 for place in range(len(states))]
        assert now_open == [literal.atom not in state for state in states]
        assert set(now_open) == {True, False}


def test_candidates_stand_in_rank_order_with_what_they_cost_over_the_best(unsolved):
    data = playback(as_recorded(unsolved))
    for step, shown in zip(unsolved.steps, data["steps"], strict=True):
        costs = sorted(map(float, step.costs))
        assert [each["cost"] for each in shown["candidates"]] == costs  # few decimals, so that none differ by rounding
        assert [each["rank"] for each in shown["candidates"]] == list(range(1, len(costs) + 1))
        assert [each["gap"] for each in shown["candidates"]] == [cost - costs[0] for cost in costs]
        chosen = shown["candidates"][shown["chosen"]]
        assert [data["actions"][each] for each in chosen["actions"]] == list(map(str, step.successor.actions))
        assert "chosen" in chosen["marks"]


def test_rejected_candidates_come_last_and_cost_nothing_that_json_cannot_hold(hostile):
    (step,) = playback(hostile)["steps"]
    assert [each["cost"] for each in step["candidates"]] == [-0.5, None]
    assert [each["gap"] for each in step["candidates"]] == [0, None]
    assert (step["chosen"], step["shut"]) == (0, [1])


def test_a_tie_is_between_open_candidates_that_the_model_tells_apart(two_blocks, solved):
    data = playback(as_recorded(solved))
    for step, shown in zip(solved.steps, data["steps"], strict=True):
        least = [each for each in shown["candidates"] if "tied" in each["marks"]]
        assert shown["tie"] == (sum(not {"visited", "collapsed"} & set(each["marks"]) for each in least) > 1)
        assert len(least) >= 1
        assert shown["shut"] == [rank for rank, each in enumerate(shown["candidates"]) if "visited" in each["marks"]]
        assert math.isfinite(step.costs.min())
    assert {shown["tie"] for shown in data["steps"]} == {True, False}


def test_names_are_escaped_in_drawings(hostile):
    data = playback(hostile)
    words = ""
    for numbers in (data["goal"], *(frame["picture"] for frame in data["frames"])):
        root = ElementTree.fromstring("".join(data["elements"][each] for each in numbers))
        assert not [each for each in root.iter() if each.tag.split("}")[1] in {"img", "script"}]
        words += "".join(root.itertext())
    assert SCRIPT in words
    assert (data["problem"], data["domain"], data["reason"]) == (SCRIPT, IMAGE, IMAGE)


def test_a_drawing_is_cut_and_put_together_again(solved):
    data = playback(as_recorded(solved))
    task = solved.task
    problem = read_problem(task.problem.problem_pddl)
    states = [*(step.state for step in solved.steps), solved.steps[-1].successor.state]
    scenes = [Scene(problem.objects, frozenset(task.atoms(each)), problem.goal) for each in states]
    expected = draw_series(read_domain(task.problem.domain_pddl), scenes)
    assert ["".join(data["elements"][each] for each in frame["picture"]) for frame in data["frames"]] == expected


def test_costs_that_differ_by_rounding_keep_the_order_of_the_candidates():
    assert rank_order([3.0, 2.0 + 1e-9, 1.0, math.inf, 2.0, math.inf]) == [2, 1, 4, 0, 3, 5]


@pytest.mark.parametrize(
    ("open_counts", "expected"),
    [
        ([3, 2, 1, 0], None),
        ([3, 3, 2, 2, 3, 2, 1, 0], (2, 5)),
        ([2, 3, 3, 3], (0, 3)),
        ([0], None),
        ([2, 2, 1, 1, 0], (0, 1)),
    ],
)
def test_the_plateau_is_the_longest_stretch_without_a_new_least(open_counts, expected):
    assert plateau(open_counts) == expected


def test_damage_is_one_sentence(hostile):
    broken = replace(hostile, loaded=({"record": "step", "chosen": 7, "candidates": []},))
    with pytest.raises(StoreError, match=r"hostile\.jsonl, line 1: not a record of a rollout"):
        playback(broken)
    with pytest.raises(PddlError, match="line 1, problem_pddl, line 1: expected"):
        playback(replace(hostile, head={**hostile.head, "problem_pddl": "(problem)"}))


def test_what_a_prediction_expects_is_shown_by_the_atoms_numbers(unsolved):
    recorded = as_recorded(unsolved)
    atom = recorded.steps[0]["candidates"][0]["add"][0]
    first = {**recorded.steps[0], "expects": {"changes": [[atom, True, 0.83]], "nothing": 0.1}}
    data = playback(replace(recorded, loaded=(first, *recorded.steps[1:])))
    assert data["steps"][0]["expects"] == {"changes": [[data["atoms"].index(atom), True, 0.83]], "nothing": 0.1}
    assert data["steps"][1]["expects"] is None
