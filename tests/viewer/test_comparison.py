"""Two rollouts side by side: first difference, common states, and the expert's plan as one of the two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgp.errors import InputError, StoreError
from sgp.viewer.comparison import comparison, expert_rollout
from tests.viewer.conftest import as_recorded


def with_expert(recorded, plan):
    return replace(recorded, head={**recorded.head, "expert": [str(action) for action in plan]})


def test_a_rollout_beside_itself_never_parts(solved):
    data = comparison(as_recorded(solved), as_recorded(solved))
    assert data["divergence"] is None
    assert data["length"] == len(solved.plan)
    assert data["equal"] == list(range(len(solved.plan) + 1))


def test_the_first_action_that_differs_is_where_they_part(solved, unsolved):
    data = comparison(as_recorded(solved), as_recorded(unsolved))
    one, two = solved.plan, unsolved.plan
    assert one[: data["divergence"]] == two[: data["divergence"]]
    assert one[data["divergence"]] != two[data["divergence"]]
    assert 0 in data["equal"]
    assert [side["outcome"] for side in data["sides"]] == ["solved", "stuck"]
    assert [len(side["frames"]) for side in data["sides"]] == [len(one) + 1, len(two) + 1]


def test_the_experts_plan_is_replayed_by_the_text_of_the_domain(solved):
    recorded = as_recorded(solved)
    expert = expert_rollout(with_expert(recorded, solved.plan))
    assert expert.about.model == "expert's plan"
    data = comparison(recorded, expert)
    assert data["divergence"] is None
    assert data["equal"] == list(range(len(solved.plan) + 1))
    left, right = data["sides"]
    assert [frame["open"] for frame in left["frames"]] == [frame["open"] for frame in right["frames"]]


def test_without_an_experts_plan_there_is_no_side(solved):
    assert expert_rollout(as_recorded(solved)) is None
    assert expert_rollout(with_expert(as_recorded(solved), ())) is None


def test_a_plan_that_does_not_fit_is_one_sentence(solved):
    with pytest.raises(StoreError, match="the expert's plan does not fit the domain"):
        expert_rollout(with_expert(as_recorded(solved), ["(fly a b)"]))


def test_two_problems_are_not_compared(solved, hostile):
    with pytest.raises(InputError, match="are two problems"):
        comparison(as_recorded(solved), hostile)
