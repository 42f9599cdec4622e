"""Ranks among candidates by hand, pools by their definition, plans step by step."""

import numpy as np
import pytest

from sgp.datasets.protocols import domain_instances
from sgp.datasets.walks import Instance
from sgp.errors import ConfigurationError
from sgp.evaluation import retrieval
from sgp.planning.task import Task

pytestmark = pytest.mark.usefixtures("in_shared_home")  # instances are computed once and cached


@pytest.fixture(scope="module")
def ferry():
    return domain_instances("acpbench", "ferry")[:4]


class Truth:
    """Exact model: one number per state, followed by given components; the prediction is that of the next state."""

    def __init__(self, *shared, noise=64):
        self.numbers, self.shared, self.noise = {}, shared, noise

    def refuses(self, task):
        return None

    def embed(self, task, states):
        return np.array([self._row(task, state) for state in states])

    def predict(self, task, states, actions):
        return self.embed(task, [task.apply(state, action) for state, action in zip(states, actions, strict=True)])

    def _row(self, task, state):
        number = self.numbers.setdefault(tuple(sorted(map(str, task.atoms(state)))), len(self.numbers))
        return np.append(np.random.default_rng(number).standard_normal(self.noise), self.shared)


BLIND = Truth(1, 1, 1, noise=0)  # all states are equal
CROWDED = Truth(2e4)  # all cosines are nearly one


def test_ties_count_by_their_expected_value_in_ranks_and_plan_hits_and_draws_are_even(ferry):
    found = retrieval.rank(np.array([0.5, 0.9, 0.5, 0.5 + 1e-9, 0.1]))
    assert found == retrieval.Rank(better=1, tied=2, size=5)
    assert [found.hit(k) for k in (1, 2, 3, 4)] == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
    assert [found.worst_hit(k) for k in (3, 4)] == [0.0, 1.0]
    assert [found.chance(k) for k in (1, 5, 10)] == [0.2, 1.0, 1.0]
    with pytest.raises(ConfigurationError, match="a model gives 2 of 3 similarities that are no numbers"):
        retrieval.rank(np.array([np.nan, 0.5, np.inf]))
    sure, lost, half = retrieval.Rank(0, 0, 9), retrieval.Rank(8, 0, 9), retrieval.Rank(0, 1, 9)
    hits = retrieval.plan_hits([[sure, sure], [sure, half], [lost, sure, sure, sure]], 1)
    assert hits == (pytest.approx((1 + 0.75 + 0.75) / 3), pytest.approx(0.5))
    steps = [step for instance in ferry for step in instance.transitions]
    chosen = retrieval.evenly(steps, 20, seed=1)
    assert [sum(step.task is instance.task for step in chosen) for instance in ferry] == [5, 5, 5, 5]


def test_who_knows_is_always_first_and_who_sees_nothing_is_at_chance(ferry):
    steps = [step for instance in ferry for step in instance.transitions][:40]
    for kind in ("paper", "batch", "hard"):
        asked = retrieval.queries(kind, steps, ferry, across=True, seed=1, size=16)
        assert retrieval.summary(retrieval.ranks(Truth(), asked))["hit@1"] == 1.0
        blind = retrieval.summary(retrieval.ranks(BLIND, asked))
        for k in (1, 5, 10):
            assert blind[f"hit@{k}"] == pytest.approx(blind[f"chance_hit@{k}"])
            assert blind[f"worst_hit@{k}"] <= blind[f"hit@{k}"]
    steps = list(ferry[3].transitions)[:20]
    asked = retrieval.queries("hard", steps, ferry, across=True, seed=1, size=16)
    assert min(float(each.min()) for each in retrieval.similarities(CROWDED, asked)) > 1 - 1e-6
    assert [each.worst_hit(1) for each in retrieval.ranks(CROWDED, asked)] == [1.0] * 20, "near states differ"
    applicable = [len(step.task.applicable(step.before)) for step in steps]
    # No two actions of Ferry lead to one state.
    expected = [retrieval.Rank(better=0, tied=0, size=size) for size in applicable]
    assert retrieval.action_ranks(Truth(), steps, seed=0) == expected


def test_pools_have_the_true_state_first_and_no_text_twice_and_hard_ones_what_lies_nearest(ferry):
    steps = list(ferry[3].transitions)
    for kind in ("paper", "batch", "hard"):
        for query in retrieval.queries(kind, steps, ferry, across=False, seed=3, size=64):
            assert query.pool[0] == retrieval.Candidate(query.transition.task, query.transition.after)
            texts = [frozenset(task.atoms(state)) for task, state in query.pool]
            assert len(set(texts)) == len(texts)
            assert {candidate.task for candidate in query.pool} == {ferry[3].task}
    (query,) = retrieval.queries("all", steps[:1], ferry, across=False, seed=0, size=16)
    assert len(query.pool) + query.merged == sum(len(instance.states) for instance in ferry)
    again = [retrieval.queries("paper", steps, ferry, False, seed, 64)[0].pool for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]
    step = ferry[3].transitions[0]
    (query,) = retrieval.queries("hard", [step], ferry, False, 0, size=12)
    task = step.task
    near = [step.before, *(each.state for each in task.successors(step.before))]
    assert {state for _, state in query.pool[: len(near)]} == set(near)
    assert len(query.pool) == 12
    # The whole state space, each state once.
    assert len(list(retrieval.around(task, step.before))) == len(ferry[3].sampled) == 224


def test_pools_across_instances_merge_equal_texts(ferry, caplog):
    first = ferry[1].task
    fluents = [[atom for atom in first.atoms(each) if atom.predicate in first.changing] for each in ferry[1].sampled]
    task = Task(ferry[1].task.problem, mode="lifted")  # the same instance with other state ids
    twin = Instance("ferry", task, (), tuple(task.state_with(atoms) for atoms in fluents), True)
    retrieval._warn_once.cache_clear()  # forget warnings of other tests
    for seed in (0, 1):
        (query,) = retrieval.queries("paper", ferry[1].transitions[:1], [ferry[1], twin], across=True, seed=seed)
        assert len(query.pool) == 40 == query.merged
    assert caplog.text.count("states of domain ferry have equal texts") == 1
    assert "instance p02 of ferry has pools of 40 candidates where 128 were requested" in caplog.text


def test_following_a_plan_by_what_is_predicted_alone(ferry):
    walk = max(ferry[3].walks, key=len)
    for model in (Truth(), CROWDED):
        assert retrieval.followed(model, walk, ferry[3].states) == [True] * len(walk)

    class Astray(Truth):
        """Predicts no change for the second action."""

        def predict(self, task, states, actions):
            pairs = zip(states, actions, strict=True)
            return self.embed(task, [each if act == walk.actions[1] else task.apply(each, act) for each, act in pairs])

    assert retrieval.followed(Astray(), walk, ferry[3].states) == [True, False, *[False] * (len(walk) - 2)]


def test_abstention_and_calibration_by_hand():
    assert retrieval.abstention([np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.3, 0.0])]) == 1.0
    assert retrieval.abstention([np.ones(4), np.ones(3)]) == 0.5
    # The top candidate is the same with and without the truth.
    assert retrieval.abstention([np.array([0.1, 0.9]), np.array([0.2, 0.7])]) == 0.5
    right, wrong = np.array([0.5, 0.4, 0.1]), np.array([0.4, 0.5, 0.1])
    weights = np.exp(right / 0.1)
    sure = weights[0] / weights.sum()
    pools = [[right], [wrong], [right, right, wrong], [np.ones(4)]]  # the last: probability 1/4, share 1/4
    found = [retrieval.calibration_error(each, temperature=0.1) for each in pools]
    assert found == pytest.approx([1 - sure, sure, abs(sure - 2 / 3), 0.0])
