"""Ranks among candidates by hand, pools by their definition, plans step by step."""

from __future__ import annotations

import numpy as np
import pytest

from sgp.datasets.protocols import domain_instances
from sgp.datasets.walks import Instance
from sgp.errors import ConfigurationError
from sgp.evaluation import retrieval
from sgp.evaluation.retrieval import (
    Candidate,
    Rank,
    abstention,
    action_ranks,
    around,
    calibration_error,
    evenly,
    followed,
    plan_hits,
    queries,
    rank,
    ranks,
    similarities,
    summary,
)
from sgp.planning.task import Task


@pytest.fixture(scope="module", autouse=True)
def _home(in_shared_home):
    """Instances are computed once and cached."""


@pytest.fixture(scope="module")
def ferry():
    return domain_instances("acpbench", "ferry")[:4]


class Truth:
    """Exact model: one number per state; the prediction is the number of the next state."""

    def __init__(self):
        self.numbers = {}

    def refuses(self, task):
        return None

    def embed(self, task, states):
        return np.array([self._row(task, state) for state in states])

    def predict(self, task, states, actions):
        return self.embed(task, [task.apply(state, action) for state, action in zip(states, actions, strict=True)])

    def _row(self, task, state):
        number = self.numbers.setdefault(tuple(sorted(map(str, task.atoms(state)))), len(self.numbers))
        return np.random.default_rng(number).standard_normal(64)


class Blind(Truth):
    """Embeds all states equally."""

    def _row(self, task, state):
        return np.ones(3)


class Crowded(Truth):
    """Exact, with a large component shared by all states, so that all cosines are nearly one."""

    def _row(self, task, state):
        return np.append(super()._row(task, state), 2e4)


def test_ties_count_by_their_expected_value():
    found = rank(np.array([0.5, 0.9, 0.5, 0.5 + 1e-9, 0.1]))
    assert found == Rank(better=1, tied=2, size=5)
    assert [found.hit(k) for k in (1, 2, 3, 4)] == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
    assert [found.worst_hit(k) for k in (3, 4)] == [0.0, 1.0]
    assert [found.chance(k) for k in (1, 5, 10)] == [0.2, 1.0, 1.0]
    # Against random orders.
    rng = np.random.default_rng(0)
    drawn = [1 + int(rng.integers(3)) for _ in range(20_000)]  # places of the true state behind the better one
    assert np.mean([place < 2 for place in drawn]) == pytest.approx(found.hit(2), abs=0.01)


def test_what_is_no_number_is_no_hit():
    with pytest.raises(ConfigurationError, match="a model gives 2 of 3 similarities that are no numbers"):
        rank(np.array([np.nan, 0.5, np.inf]))


def test_who_knows_is_always_first_and_who_sees_nothing_is_at_chance(ferry):
    steps = [step for instance in ferry for step in instance.transitions][:40]
    for kind in ("paper", "batch", "hard"):
        asked = queries(kind, steps, ferry, across=True, seed=1, size=16)
        assert summary(ranks(Truth(), asked))["hit@1"] == 1.0
        blind = summary(ranks(Blind(), asked))
        for k in (1, 5, 10):
            assert blind[f"hit@{k}"] == pytest.approx(blind[f"chance_hit@{k}"])
            assert blind[f"worst_hit@{k}"] <= blind[f"hit@{k}"]


def test_near_states_are_told_apart(ferry):
    asked = queries("hard", list(ferry[3].transitions)[:20], ferry, across=True, seed=1, size=16)
    assert min(float(each.min()) for each in similarities(Crowded(), asked)) > 1 - 1e-6
    assert [each.worst_hit(1) for each in ranks(Crowded(), asked)] == [1.0] * 20
    walk = max(ferry[3].walks, key=len)
    assert followed(Crowded(), walk, ferry[3].states) == [True] * len(walk)


def test_pools_have_the_true_state_first_and_no_text_twice(ferry):
    steps = list(ferry[3].transitions)
    for kind in ("paper", "batch", "hard"):
        for query in queries(kind, steps, ferry, across=False, seed=3, size=64):
            assert query.pool[0] == Candidate(query.transition.task, query.transition.after)
            texts = [frozenset(task.atoms(state)) for task, state in query.pool]
            assert len(set(texts)) == len(texts)
            assert {candidate.task for candidate in query.pool} == {ferry[3].task}
    (query,) = queries("all", steps[:1], ferry, across=False, seed=0, size=16)
    assert len(query.pool) + query.merged == sum(len(instance.states) for instance in ferry)
    again = [queries("paper", steps, ferry, False, seed, 64)[0].pool for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]


def test_hard_pools_are_what_lies_nearest(ferry):
    step = ferry[3].transitions[0]
    (query,) = queries("hard", [step], ferry, False, 0, size=12)
    task = step.task
    near = [step.before, *(each.state for each in task.successors(step.before))]
    assert {state for _, state in query.pool[: len(near)]} == set(near)
    assert len(query.pool) == 12
    assert len(list(around(task, step.before))) == len(ferry[3].sampled) == 224, "the whole state space, each once"


def test_pools_across_instances_merge_equal_texts(ferry, caplog):
    fluents = [
        [atom for atom in ferry[1].task.atoms(state) if atom.predicate in ferry[1].task.changing]
        for state in ferry[1].sampled
    ]
    task = Task(ferry[1].task.problem, mode="lifted")  # the same instance with other state ids
    twin = Instance("ferry", task, (), tuple(task.state_with(atoms) for atoms in fluents), True)
    retrieval._warn_once.cache_clear()  # forget warnings of other tests
    for seed in (0, 1):
        (query,) = queries("paper", ferry[1].transitions[:1], [ferry[1], twin], across=True, seed=seed)
        assert len(query.pool) == 40 == query.merged
    assert caplog.text.count("states of domain ferry have equal texts") == 1
    assert "instance p02 of ferry has pools of 40 candidates where 128 were requested" in caplog.text


def test_the_action_taken_ranks_among_those_that_are_applicable(ferry):
    steps = list(ferry[3].transitions)[:20]
    found = action_ranks(Truth(), steps, seed=0)
    for each, step in zip(found, steps, strict=True):
        assert each.size == len(step.task.applicable(step.before))
        assert each.better == 0
    assert {each.tied for each in found} == {0}, "no two actions of Ferry lead to one state"


def test_following_a_plan_by_what_is_predicted_alone(ferry):
    walk = max(ferry[3].walks, key=len)
    assert followed(Truth(), walk, ferry[3].states) == [True] * len(walk)

    class Astray(Truth):
        """Predicts no change for the second action."""

        def predict(self, task, states, actions):
            there = [
                state if action == walk.actions[1] else task.apply(state, action)
                for state, action in zip(states, actions, strict=True)
            ]
            return self.embed(task, there)

    assert followed(Astray(), walk, ferry[3].states) == [True, False, *[False] * (len(walk) - 2)]


def test_plan_hits_and_even_draws(ferry):
    sure, lost, half = Rank(0, 0, 9), Rank(8, 0, 9), Rank(0, 1, 9)
    hits = plan_hits([[sure, sure], [sure, half], [lost, sure, sure, sure]], 1)
    assert (hits.mean, hits.exact) == (pytest.approx((1 + 0.75 + 0.75) / 3), pytest.approx(0.5))
    steps = [step for instance in ferry for step in instance.transitions]
    chosen = evenly(steps, 20, seed=1)
    assert [sum(step.task is instance.task for step in chosen) for instance in ferry] == [5, 5, 5, 5]


def test_abstention_compares_pools_with_those_that_lack_the_truth():
    sure = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.3, 0.0])]
    assert abstention(sure) == 1.0
    blind = [np.ones(4), np.ones(3)]
    assert abstention(blind) == 0.5
    wrong = [np.array([0.1, 0.9]), np.array([0.2, 0.7])]  # the top candidate is the same with and without the truth
    assert abstention(wrong) == 0.5


def test_calibration_is_the_gap_between_probability_and_share():
    temperature = 0.1
    right, wrong = np.array([0.5, 0.4, 0.1]), np.array([0.4, 0.5, 0.1])
    weights = np.exp(np.array([0.5, 0.4, 0.1]) / temperature)
    sure = weights[0] / weights.sum()
    assert calibration_error([right], temperature) == pytest.approx(1 - sure)
    assert calibration_error([wrong], temperature) == pytest.approx(sure)
    assert calibration_error([right, right, wrong], temperature) == pytest.approx(abs(sure - 2 / 3))
    assert calibration_error([np.ones(4)], temperature) == pytest.approx(0.0)  # probability 1/4, share 1/4
