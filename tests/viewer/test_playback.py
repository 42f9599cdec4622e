"""The player's data: rollouts, experts' plans, comparisons, branches and marks."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import sgp
from sgp.datasets.recorded import atom_of, map_file, read_recorded
from sgp.domains import draw_series, get_domain
from sgp.domains.domain import Scene
from sgp.errors import InputError, PddlError, StoreError
from sgp.planning.pddl import parse_plan, read_domain, read_problem
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.task import Successor, replay
from sgp.viewer.comparison import Branch, Override, branch_rows, comparison, expert_rollout, override_words
from sgp.viewer.playback import divergences, expert_states, objects_of, plateau, playback, rank_order
from tests.planning.test_planner import by_name
from tests.recorded import recorded_file
from tests.viewer.conftest import IMAGE, SCRIPT, as_recorded


def test_changes_of_the_chosen_candidates_add_up_to_the_recorded_states_and_goals_have_their_turns(solved, courier):
    data = playback(as_recorded(solved))
    task, atoms = solved.task, data["atoms"]
    state = set(map(str, task.atoms(task.init)))
    for step, shown in zip(solved.steps, data["steps"], strict=True):
        assert state == set(map(str, task.atoms(step.state)))
        chosen = shown["candidates"][shown["chosen"]]
        state = (state - {atoms[each] for each in chosen["delete"]}) | {atoms[each] for each in chosen["add"]}
        assert chosen["open"] == sum(goal not in state for goal in ("(on a b)", "(on b c)"))
    assert state == set(map(str, task.atoms(solved.end)))
    assert len(data["frames"]) == len(solved.steps) + 1
    assert data["frames"][-1]["open"] == 0
    states = [set(task.atoms(state)) for state in (*(step.state for step in solved.steps), solved.end)]
    for literal, (_, turns, text) in zip(task.goal, data["wanted"], strict=True):
        assert text == str(literal)
        now_open = [sum(turn <= place for turn in turns) % 2 == 1 for place in range(len(states))]
        assert now_open == [literal.atom not in state for state in states]
        assert set(now_open) == {True, False}


def test_what_steps_name_is_said_in_english_once_and_a_drawing_is_cut_and_put_together_again(solved, courier):
    data = playback(as_recorded(solved))
    words = get_domain("blocksworld").words
    actions = [words.sentence(*parse_plan(line)) for line in data["actions"]]
    changed = {each for step in data["steps"] for one in step["candidates"] for each in one["add"] + one["delete"]}
    assert data["words"]["actions"] == actions
    assert data["words"]["atoms"] == [words.sentence(atom_of(line)) for line in data["atoms"][: len(changed)]]
    assert changed == set(range(len(changed)))
    unknown = playback(as_recorded(sgp.Planner(by_name()).solve(courier, sgp.Limit(actions=1))))
    assert unknown["words"] is None
    assert [goal for goal, *_ in unknown["wanted"]] == list(map(str, courier.goal))
    task = solved.task
    problem = read_problem(task.problem.problem_pddl)
    states = [*(step.state for step in solved.steps), solved.steps[-1].successor.state]
    scenes = [Scene(problem.objects, frozenset(task.atoms(each)), problem.goal, counted=False) for each in states]
    expected = draw_series(read_domain(task.problem.domain_pddl), scenes)
    assert ["".join(data["elements"][each] for each in frame["picture"]) for frame in data["frames"]] == expected


def test_candidates_stand_in_rank_order_with_ties_and_what_a_prediction_expects(unsolved, two_blocks, solved):
    data = playback(as_recorded(unsolved))
    for step, shown in zip(unsolved.steps, data["steps"], strict=True):
        costs = sorted(map(float, step.costs))
        assert [each["cost"] for each in shown["candidates"]] == costs  # few decimals, so that none differ by rounding
        assert [each["rank"] for each in shown["candidates"]] == list(range(1, len(costs) + 1))
        assert [each["gap"] for each in shown["candidates"]] == [cost - costs[0] for cost in costs]
        chosen = shown["candidates"][shown["chosen"]]
        assert [data["actions"][each] for each in chosen["actions"]] == list(map(str, step.successor.actions))
        assert "chosen" in chosen["marks"]
    data = playback(as_recorded(solved))
    for shown in data["steps"]:
        least = [each for each in shown["candidates"] if "tied" in each["marks"]]
        assert shown["tie"] == (sum(not {"visited", "collapsed"} & set(each["marks"]) for each in least) > 1)
        assert least
        assert shown["unavailable"] == [
            rank for rank, each in enumerate(shown["candidates"]) if "visited" in each["marks"]
        ]
    assert {shown["tie"] for shown in data["steps"]} == {True, False}
    recorded = as_recorded(unsolved)
    atom = recorded.steps[0]["candidates"][0]["add"][0]
    first = {**recorded.steps[0], "expects": {"changes": [[atom, True, 0.83]], "nothing": 0.1}}
    data = playback(replace(recorded, loaded=(first, *recorded.steps[1:])))
    assert data["steps"][0]["expects"] == {"changes": [[data["atoms"].index(atom), True, 0.83]], "nothing": 0.1}
    assert data["steps"][1]["expects"] is None


def test_the_beam_is_given_with_the_place_of_the_path_in_it_and_a_damaged_one_is_one_sentence(solved):
    recorded = as_recorded(solved)
    data = playback(recorded)
    for step, shown in zip(solved.steps, data["steps"], strict=True):
        actions = [[data["actions"][each] for each in kept] for _, kept, _ in shown["beam"]]
        assert actions == [list(map(str, kept.actions)) for kept in step.beam]
        assert [(before, cost) for before, _, cost in shown["beam"]] == [(each.before, each.cost) for each in step.beam]
        assert actions[shown["lane"]] == list(map(str, step.successor.actions))
    for damage in ({"lane": len(solved.steps[0].beam)}, {"beam": [[0, ["(pick-up a)"]]]}, {"beam": 3}):
        steps = [{**recorded.steps[0], **damage}, *recorded.steps[1:]]
        with pytest.raises(StoreError, match="not a record of a rollout"):
            playback(replace(recorded, loaded=steps))


def test_names_are_escaped_rejected_candidates_come_last_and_damage_is_one_sentence(hostile):
    (step,) = playback(hostile)["steps"]
    assert [each["cost"] for each in step["candidates"]] == [-0.5, None]
    assert [each["gap"] for each in step["candidates"]] == [0, None]
    assert (step["chosen"], step["unavailable"]) == (0, [1])
    broken = replace(hostile, loaded=({"record": "step", "chosen": 7, "candidates": []},))
    with pytest.raises(StoreError, match=r"hostile\.jsonl, line 1: not a record of a rollout"):
        playback(broken)
    with pytest.raises(PddlError, match="line 1, problem_pddl, line 1: expected"):
        playback(replace(hostile, head={**hostile.head, "problem_pddl": "(problem)"}))
    data = playback(hostile)
    words = ""
    for numbers in (data["goal"], *(frame["picture"] for frame in data["frames"])):
        root = ElementTree.fromstring("".join(data["elements"][each] for each in numbers))
        assert not [each for each in root.iter() if each.tag.split("}")[1] in {"img", "script"}]
        words += "".join(root.itertext())
    assert SCRIPT in words
    assert (data["problem"], data["domain"], data["reason"]) == (SCRIPT, IMAGE, IMAGE)


def test_costs_that_differ_by_rounding_keep_the_order_of_the_candidates():
    assert rank_order([3.0, 2.0 + 1e-9, 1.0, math.inf, 2.0, math.inf]) == [2, 1, 4, 0, 3, 5]


def test_states_within_a_jump_count_as_passed(three_blocks):
    """A candidate that goes back to the expert's state within a jump is not marked as the expert's."""
    there, away, back = parse_plan("(unstack c a)\n(stack c b)\n(unstack c b)")
    inner = three_blocks.apply(three_blocks.init, there)
    end = three_blocks.apply(inner, away)

    def step(state, successor):
        return Step(state, [successor], np.zeros(1), None, np.array([Mark.CHOSEN], np.uint8), 0)

    steps = step(three_blocks.init, Successor((there, away), end)), step(end, Successor((back,), inner))
    data = playback(as_recorded(Rollout(three_blocks, steps, Outcome.HORIZON), EXPERT))
    assert data["expert"]["passes"] == [True, False, True]
    assert [each["candidates"][0]["marks"] for each in data["steps"]] == [["chosen"], ["chosen"]]


PLATEAUS = [([3, 2, 1, 0], None), ([3, 3, 2, 2, 3, 2, 1, 0], (2, 5)), ([2, 3, 3, 3], (0, 3)), ([0], None)]


@pytest.mark.parametrize(("open_counts", "expected"), [*PLATEAUS, ([2, 2, 1, 1, 0], (0, 1))])
def test_the_plateau_is_the_longest_stretch_without_a_new_least(open_counts, expected):
    assert plateau(open_counts) == expected


EXPERT = parse_plan("(unstack c a)\n(put-down c)\n(pick-up b)\n(stack b c)\n(pick-up a)\n(stack a b)")


def test_candidates_on_the_experts_way_and_steps_that_leave_it_are_marked(solved, unsolved):
    data = playback(as_recorded(solved, EXPERT))
    assert solved.plan == EXPERT
    for step in data["steps"]:
        marked = [rank for rank, each in enumerate(step["candidates"]) if "expert" in each["marks"]]
        assert marked == [step["chosen"]]
    assert data["expert"] == {"length": 6, "divergences": [], "passes": [True] * 7}
    assert str(unsolved.plan[0]) == "(pick-up b)"  # the expert begins with (unstack c a)
    data = playback(as_recorded(unsolved, EXPERT))
    assert data["expert"]["divergences"][0] == 0
    first = data["steps"][0]
    (marked,) = [each for each in first["candidates"] if "expert" in each["marks"]]
    assert [data["actions"][each] for each in marked["actions"]] == ["(unstack c a)"]
    assert "expert" not in first["candidates"][first["chosen"]]["marks"]
    assert divergences([0, 1, None, None, 1, 2, None]) == [1, 5], "a rollout may leave more than once"
    assert divergences([0, 1, 2]) == []


@pytest.mark.slow
def test_the_recorded_rollouts_have_experts_explanations_and_maps():
    found = sgp.recorded_rollouts().rollouts
    assert len({each.about.model for each in found}) >= 3
    assert any(each.about.domain == "logistics" and each.head["outcome"] != "solved" for each in found)
    for recorded in found:
        data = playback(recorded)
        assert data["expert"]["length"] > 0, recorded.source
        if "missing" in data["map"]:  # a planner without embedding has no explanations
            assert not any(step["why"] for step in data["steps"]), recorded.source
            continue
        assert len(data["map"]["steps"]) == len(data["steps"]), recorded.source
        assert sum(bool(step["why"]) for step in data["steps"]) >= len(data["steps"]) / 2, recorded.source


@pytest.mark.parametrize(
    "change",
    [
        lambda data: "{",
        lambda data: "[]",
        lambda data: json.dumps({**data, "format": 99}),
        lambda data: json.dumps({**data, "rollouts": [{"line": 0}]}),
        lambda data: json.dumps({name: data[name] for name in data if name != "umap"}),
        lambda data: json.dumps({**data, "rollouts": [{**each, "steps": [1]} for each in data["rollouts"]]}),
    ],
)
def test_a_rollout_with_a_damaged_map_is_shown_without_it(change, tmp_path):
    source = recorded_file("blocksworld-state-centric-wl-xgboost-state-p01-solved")
    file = Path(shutil.copy(source, tmp_path))
    data = json.loads(map_file(source).read_text())
    map_file(file).write_text(json.dumps(data))
    assert "missing" not in playback(*read_recorded(file))["map"]
    map_file(file).write_text(change(data))
    shown = playback(*read_recorded(file))
    assert len(shown["steps"]) > 1
    assert "sgp map" in shown["map"]["missing"], "what to do"


def test_rollouts_part_at_the_first_action_that_differs_and_some_cannot_be_compared(solved, unsolved, hostile):
    data = comparison(as_recorded(solved), as_recorded(unsolved))
    one, two = solved.plan, unsolved.plan
    assert one[: data["divergence"]] == two[: data["divergence"]]
    assert one[data["divergence"]] != two[data["divergence"]]
    assert 0 in data["equal"]
    assert [side["outcome"] for side in data["sides"]] == ["solved", "stuck"]
    assert [len(side["frames"]) for side in data["sides"]] == [len(one) + 1, len(two) + 1]
    assert expert_rollout(as_recorded(solved)) is None, "without an expert's plan there is no side"
    with pytest.raises(StoreError, match="the expert's plan does not fit the domain"):
        expert_rollout(as_recorded(solved, expert=parse_plan("(fly a b)")))
    with pytest.raises(InputError, match="are two problems"):
        comparison(as_recorded(solved), hostile)


def test_the_experts_plan_is_replayed_by_the_text_of_the_domain(solved, three_blocks, courier):
    recorded = as_recorded(solved)
    expert = expert_rollout(as_recorded(solved, expert=solved.plan))
    assert expert.about.model == "expert's plan"
    for data in (comparison(recorded, recorded), comparison(recorded, expert)):
        assert (data["divergence"], data["length"]) == (None, len(solved.plan))
        assert data["equal"] == list(range(len(solved.plan) + 1))
        left, right = data["sides"]
        assert [frame["open"] for frame in left["frames"]] == [frame["open"] for frame in right["frames"]]
    shorter = expert_rollout(as_recorded(solved, expert=solved.plan[:2]))
    assert [comparison(*both)["divergence"] for both in ((recorded, shorter), (shorter, recorded))] == [2, 2]
    for task, actions in ((three_blocks, EXPERT), (courier, parse_plan("(drive v1 depot shop)"))):
        states = [frozenset(task.atoms(state)) for state in replay(task, actions)]
        assert expert_states(read_domain(task.problem.domain_pddl), states[0], actions) == states


def test_a_branch_is_written_read_and_branched_from_again_and_has_a_row_below_its_parent(solved, unsolved):
    branch = Branch.parse("5-2_9-13")
    assert branch == (Override(5, 2), Override(9, 13))
    assert (str(branch), str(branch.parent)) == ("5-2_9-13", "5-2")
    assert (Branch.parse(""), str(Branch()), Branch().parent) == (Branch(), "", Branch())
    again = {(12, 4): "5-2_9-13_12-4", (9, 1): "5-2_9-1", (3, 2): "3-2"}  # without the overrides from there on
    assert {step: str(branch.then(*step)) for step in again} == again
    base, other = playback(as_recorded(solved)), playback(as_recorded(unsolved))
    rows = branch_rows({Branch.parse(text): base if text else other for text in ("5-2", "", "2-3", "2-3_4-1")})
    assert [row["branch"] for row in rows] == ["", "2-3", "2-3_4-1", "5-2"]
    assert [(row["parent"], row["start"]) for row in rows] == [(None, 0), ("", 1), ("2-3", 3), ("", 4)]
    assert rows[3] | {"words": f"step 5: {solved.plan[4]}", "outcome": "solved", "steps": 6, "actions": 6} == rows[3]
    assert (rows[0]["outcome"], rows[0]["actions"]) == (unsolved.outcome.value, len(unsolved.plan))


@pytest.mark.parametrize("text", ["5", "5-2_", "0-1", "5-0", "9-1_5-1", "5-1_5-2", "<b>", "1-1 ", "1e9-1", "9" * 500])
def test_what_is_no_branch_is_one_sentence(text):
    with pytest.raises(InputError, match="branch"):
        Branch.parse(text)


def test_the_result_of_a_search_is_reported_exactly():
    found = {"counts": [40, 3], "complete": [1], "ranks": 3, "most": 2, "seconds": 12.34, "proved": True,
             "overrides": [(4, 2), (9, 3)]}  # fmt: skip
    words = override_words(found)
    fewest = "Solved with 2 overrides added (the fewest among these candidates): rank 2 at step 4, then rank 3"
    assert words.startswith(fewest)
    assert "12.3 s: all 40 rollouts with 1 override and 3 rollouts with 2 overrides." in words
    nothing = {**found, "overrides": None, "proved": False}
    assert override_words(nothing).startswith("No solution found: the time limit was reached.")
    assert "no 2 overrides or fewer solve it" in override_words({**nothing, "complete": [1, 2]})


def test_a_decision_has_the_rule_of_its_chosen_candidate(quick_run):
    run = quick_run("regression", "gripper")
    problem = sgp.load_suite("state-centric").problems("gripper", "validation")[0]
    rollout = sgp.load_planner(run).solve(sgp.Task(problem))
    data = playback(as_recorded(rollout.without_notes()))
    for step, shown in zip(rollout.steps, data["steps"], strict=True):
        assert shown["because"] == step.note["because"][step.chosen]
        assert shown["because"].startswith(f"rule {step.note['rule'][step.chosen]}: goal (at ?x0 ?x1), if (")


@pytest.mark.parametrize(
    ("feature", "objects"),
    [
        ("b and 2 change, joined by (on b a), (on a 2), an open goal", ["b", "a", "2"]),
        ("(holding 2) becomes true, a goal", ["2"]),
        ("the slot of a", ["a"]),
        ("2 further features together", []),
        ("atoms (on x y), an open goal; x with 2 of (on x ·)", None),
        ("objects", None),
        ("log2 of the number of actions", []),
    ],
)
def test_the_objects_of_a_feature_are_arguments_of_its_atoms(feature, objects):
    """Names that look like words, variables and counts of the text are no exception."""
    assert objects_of(feature, {"a", "b", "2", "x", "goal"}) == objects
