from __future__ import annotations

import json

import pytest

import sgp
from sgp.planning.pddl import parse_plan, read_domain
from sgp.planning.recorded import Recorded
from sgp.planning.recording import records
from sgp.planning.task import replay
from sgp.viewer.playback import divergences, expert_states, playback

PLAN = "(unstack c a)\n(put-down c)\n(pick-up b)\n(stack b c)\n(pick-up a)\n(stack a b)"


def with_expert(rollout, plan=PLAN):
    head, *steps = json.loads(json.dumps(list(records(rollout, expert=parse_plan(plan)))))
    return Recorded("test", 1, head, tuple(steps))


def test_effects_of_the_pddl_lead_where_the_planning_library_leads(three_blocks, courier):
    for task, plan in ((three_blocks, PLAN), (courier, "(drive v1 depot shop)")):
        actions = parse_plan(plan)
        states = [frozenset(task.atoms(state)) for state in replay(task, actions)]
        text = read_domain(task.problem.domain_pddl)
        assert expert_states(text, states[0], actions) == states


def test_candidates_on_the_experts_way_are_marked(solved):
    data = playback(with_expert(solved))
    assert [str(action) for action in solved.plan] == PLAN.split("\n")
    for step in data["steps"]:
        marked = [rank for rank, each in enumerate(step["candidates"]) if "expert" in each["marks"]]
        assert marked == [step["chosen"]]
    assert data["expert"] == {"length": 6, "divergences": []}


def test_leaving_the_experts_states_is_told(unsolved):
    actions = [str(action) for action in unsolved.plan]
    assert actions[0] == "(pick-up b)"  # the expert begins with (unstack c a)
    data = playback(with_expert(unsolved))
    assert data["expert"]["divergences"][0] == 0
    first = data["steps"][0]
    (marked,) = [each for each in first["candidates"] if "expert" in each["marks"]]
    assert [data["actions"][each] for each in marked["actions"]] == ["(unstack c a)"]
    assert "expert" not in first["candidates"][first["chosen"]]["marks"]


def test_a_rollout_may_leave_more_than_once():
    assert divergences([0, 1, None, None, 1, 2, None]) == [1, 5]
    assert divergences([0, 1, 2]) == []


@pytest.mark.slow
def test_the_recorded_rollouts_have_experts_explanations_and_maps():
    """The recorded rollouts have all data that the player can show, and their files are small."""
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
