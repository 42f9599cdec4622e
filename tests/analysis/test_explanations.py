from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.analysis.explanations import FEATURES, OTHERS, explain, explanation_records
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.lookahead import Lookahead
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import ADD_UP
from sgp.planning.rollout import Mark, Step, runners_up
from sgp.policies.nearest_embedding import NearestEmbedding
from sgp.policies.nearest_transition import NearestTransition
from sgp.policies.random_successor import RandomSuccessor

PROBLEM = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0]


def drift(states, goals, carried):
    """Predicts a vector that depends on the path, so that the test detects a wrong memory."""
    steps = [(each or 0) + 1 for each in carried]
    return states + np.float32(0.5) * (goals - states) + np.array(steps, np.float32)[:, None] / 7, steps


@pytest.fixture(params=["euclidean", "cosine"])
def nearest(request):
    task = sgp.Task(PROBLEM)
    encoder = WLEncoder.fit(WLConfig(), [(task, [task.init, *(each.state for each in task.successors(task.init))])])
    policy = NearestEmbedding(encoder, drift, request.param)
    return policy, Planner(policy).solve(task, Limit(actions=12))


@pytest.fixture
def ranked():
    task = sgp.Task(PROBLEM)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(task, task.init, Lookahead()(task, task.init))])
    weights = np.random.default_rng(3).normal(size=(2, encoder.dimension))
    policy = NearestTransition(encoder, weights, alpha=0.3, rules=ADD_UP)
    return policy, Planner(policy, Lookahead(), width=2).solve(task, Limit(actions=20))


def test_shares_add_up_to_the_difference_of_costs(ranked):
    policy, rollout = ranked
    found = explain(rollout, policy)
    assert len(found) == len(rollout.steps) >= 4
    for step, several in zip(rollout.steps, found, strict=True):
        for each in several:
            assert each.measure == "cost"
            assert each.difference == pytest.approx(step.costs[step.chosen] - step.costs[each.other], abs=1e-9)
            assert 1 <= len(each.reasons) <= FEATURES + 1
            assert len({(reason.feature, reason.chosen, reason.other) for reason in each.reasons}) == len(each.reasons)


def test_the_cheapest_open_ones_are_explained_against(ranked, nearest):
    counts = set()
    for policy, rollout in (ranked, nearest):
        for step, several in zip(rollout.steps, explain(rollout, policy), strict=True):
            places = [place for place in np.flatnonzero(step.open_to_choice).tolist() if place != step.chosen]
            others = [each.other for each in several]
            assert set(others) <= set(places)
            assert len(others) == min(OTHERS, len(places))
            left = [step.costs[place] for place in places if place not in others]
            assert [step.costs[place] for place in others] == sorted(step.costs[place] for place in others)
            assert max((step.costs[place] for place in others), default=0) <= min(left, default=np.inf)
            counts.add(len(others))
    assert {1, 2, OTHERS} <= counts


def test_records_have_the_runner_up_first_and_others_apart(ranked):
    policy, rollout = ranked
    for several, record in zip(explain(rollout, policy), explanation_records(rollout, policy), strict=True):
        recorded = [record, *record.get("others", ())] if record else []
        assert [each["against"] for each in recorded] == [each.other for each in several]
        for each, one in zip(several, recorded, strict=True):
            assert sum(reason["share"] for reason in one["why"]) == pytest.approx(each.difference, abs=1e-4)


def test_shares_add_up_to_the_difference_of_distances(nearest):
    policy, rollout = nearest
    power = {"euclidean": 2, "cosine": 1}[policy.metric]
    explained = [
        (step, each) for step, found in zip(rollout.steps, explain(rollout, policy), strict=True) for each in found
    ]
    assert len(explained) >= 5
    for step, each in explained:
        expected = step.costs[step.chosen] ** power - step.costs[each.other] ** power
        assert each.difference == pytest.approx(expected, abs=1e-4)
        assert each.measure == ("squared distance" if power == 2 else "cosine distance")


def test_the_largest_shares_are_named_and_the_rest_is_one(ranked):
    policy, rollout = ranked
    cut = 0
    for each in (each for found in explain(rollout, policy) for each in found):
        named, rest = each.reasons[:FEATURES], each.reasons[FEATURES:]
        sizes = [abs(reason.share) for reason in named]
        assert sizes == sorted(sizes, reverse=True)
        assert all(reason.chosen != reason.other for reason in named)
        for reason in rest:
            cut += 1
            assert "further feature" in reason.feature
            assert (reason.chosen, reason.other) == (None, None)
    assert cut >= 3


def test_runners_up_are_open_and_stand_by_cost():
    marks = np.array([Mark.CHOSEN, Mark.VISITED, 0, Mark.COLLAPSED, 0, Mark.REJECTED], np.uint8)
    step = Step(None, [None] * 6, np.array([1.0, 0.5, 3.0, 1.0, 2.0, np.inf]), None, marks, 0)
    assert runners_up(step.costs, step.open_to_choice, step.chosen) == [4, 2]
    assert runners_up([2.0, 1.0, 1.0, np.inf], [True] * 4, 0) == [1, 2]
    assert runners_up([1.0, 2.0], [True, False], 0) == []


def test_a_policy_without_an_embedding_explains_nothing(two_blocks):
    policy = RandomSuccessor(1)
    rollout = Planner(policy).solve(two_blocks)
    assert explain(rollout, policy) == [()] * len(rollout.steps)
    assert explanation_records(rollout, policy) == [{}] * len(rollout.steps)
