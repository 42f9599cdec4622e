"""Reasons of choices, expected changes of atoms, and the training decisions behind weights."""

import math
import shutil
from dataclasses import replace
from hashlib import sha256
from itertools import product
from json import dumps, loads

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import sgp
from sgp.analysis import explanations
from sgp.analysis.explanations import (
    FEATURES,
    OTHERS,
    attributable,
    attribute_weight,
    columns_of,
    explain,
    explanation_records,
    mixture,
    reweighted,
    step_records,
)
from sgp.analysis.maps import _cheapest, expert_candidates
from sgp.datasets.experts import saved_plans
from sgp.datasets.runs import open_run
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError, InputError
from sgp.methods.baselines import RandomSuccessor
from sgp.methods.loading import shipped_folders
from sgp.planning.rollout import Mark, Step, runners_up
from sgp.planning.task import Successor, Trajectory
from sgp.policies.nearest_embedding import NearestEmbedding
from tests.planning.test_planner import by_name
from tests.viewer.conftest import ranked_rollout

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
    return policy, sgp.Planner(policy).solve(task, sgp.Limit(actions=12))


@pytest.fixture
def ranked():
    return ranked_rollout()


def difference(explanation):
    return sum(reason["share"] for reason in explanation["why"])


def test_shares_add_up_to_the_difference_of_costs_and_the_largest_are_named(ranked):
    policy, rollout = ranked
    found = explain(rollout, policy)
    assert len(found) == len(rollout.steps) >= 4
    cut = 0
    for step, several in zip(rollout.steps, found, strict=True):
        for each in several:
            assert each["measure"] == "cost"
            assert difference(each) == pytest.approx(step.costs[step.chosen] - step.costs[each["against"]], abs=1e-9)
            assert 1 <= len(each["why"]) <= FEATURES + 1
            named = {(reason["feature"], reason["chosen"], reason["other"]) for reason in each["why"]}
            assert len(named) == len(each["why"])
            named, rest = each["why"][:FEATURES], each["why"][FEATURES:]
            sizes = [abs(reason["share"]) for reason in named]
            assert sizes == sorted(sizes, reverse=True)
            assert all(reason["chosen"] != reason["other"] for reason in named)
            for reason in rest:
                cut += 1
                assert "further feature" in reason["feature"]
                assert (reason["chosen"], reason["other"]) == (None, None)
    assert cut >= 3


def test_the_cheapest_open_ones_are_explained_against_and_recorded_with_the_runner_up_first(ranked, nearest):
    counts = set()
    for policy, rollout in (ranked, nearest):
        for step, several in zip(rollout.steps, explain(rollout, policy), strict=True):
            places = [place for place in np.flatnonzero(step.open_to_choice).tolist() if place != step.chosen]
            others = [each["against"] for each in several]
            assert set(others) <= set(places)
            assert len(others) == min(OTHERS, len(places))
            left = [step.costs[place] for place in places if place not in others]
            assert [step.costs[place] for place in others] == sorted(step.costs[place] for place in others)
            assert max((step.costs[place] for place in others), default=0) <= min(left, default=np.inf)
            counts.add(len(others))
    assert {1, 2, OTHERS} <= counts
    policy, rollout = ranked
    for several, record in zip(explain(rollout, policy), explanation_records(rollout, policy), strict=True):
        recorded = [record, *record.get("others", ())] if record else []
        assert [each["against"] for each in recorded] == [each["against"] for each in several]
        for each, one in zip(several, recorded, strict=True):
            assert difference(one) == pytest.approx(difference(each), abs=1e-4)


def test_the_experts_action_is_explained_and_on_the_map_at_whatever_rank(nearest, monkeypatch):
    monkeypatch.setattr(explanations, "OTHERS", 1)
    policy, rollout = nearest
    suite = sgp.load_suite("state-centric")
    plan = saved_plans(suite, "blocksworld", "interpolation")[PROBLEM.sha256].plan
    trajectory = Trajectory.of(rollout.task, plan)
    several = [list(rollout.task.successors(state)) for state in trajectory.states]
    place = next(place for place, each in enumerate(several) if len(each) > 2)
    expert = [each.state for each in several[place]].index(trajectory.states[place + 1])
    costs = np.arange(len(several[place]), dtype=float)
    costs[expert] = len(costs)  # the most expensive one
    chosen, other, *_ = np.argsort(costs).tolist()
    marks = np.zeros(len(costs), np.uint8)
    step = Step(trajectory.states[place], several[place], costs, None, marks, chosen)
    rollout = replace(rollout, steps=(step,), decisions=1)
    assert [each["against"] for each in explain(rollout, policy)[0]] == [other]
    assert [each["against"] for each in explain(rollout, policy, trajectory.actions)[0]] == [other, expert]
    assert expert_candidates(rollout, trajectory.actions) == [[expert]]
    assert _cheapest(step, 2, None) == sorted([chosen, other])
    assert _cheapest(step, 2, expert) == sorted([chosen, expert])


def test_a_state_that_a_jump_passed_through_is_no_candidate_of_the_experts(nearest):
    _, rollout = nearest
    plan = saved_plans(sgp.load_suite("state-centric"), "blocksworld", "interpolation")[PROBLEM.sha256].plan
    trajectory = Trajectory.of(rollout.task, plan)
    states = trajectory.states
    asides = ((n, each) for n in range(1, len(states)) for each in rollout.task.successors(states[n]))
    n, aside = next((n, each) for n, each in asides if each.state not in states)
    jump = Successor((*trajectory.actions[:n], *aside.actions), aside.state)
    back = next(each for each in rollout.task.successors(aside.state) if each.state == states[n])
    one, none = np.zeros(1), np.zeros(1, np.uint8)
    steps = (Step(states[0], [jump], one, None, none, 0), Step(aside.state, [back], one, None, none, 0))
    assert expert_candidates(replace(rollout, steps=steps), trajectory.actions) == [[], []]


def test_the_cost_of_the_state_is_its_distance_from_the_prediction(nearest):
    policy, rollout = nearest
    records = step_records(rollout, policy)
    for view, record in zip(policy.views(rollout.task, rollout.steps), records, strict=True):
        cost = record["state_cost"]
        if policy.metric == "euclidean":
            assert cost == pytest.approx(float(np.linalg.norm(view.predicted - view.state)), rel=1e-5)
        else:
            assert 0 <= cost <= 2


def test_shares_add_up_to_the_difference_of_distances(nearest):
    policy, rollout = nearest
    power = {"euclidean": 2, "cosine": 1}[policy.metric]
    pairs = zip(rollout.steps, explain(rollout, policy), strict=True)
    explained = [(step, each) for step, found in pairs for each in found]
    assert len(explained) >= 5
    for step, each in explained:
        expected = step.costs[step.chosen] ** power - step.costs[each["against"]] ** power
        assert difference(each) == pytest.approx(expected, abs=1e-4)
        assert each["measure"] == ("squared distance" if power == 2 else "cosine distance")


def test_runners_up_are_open_and_stand_by_cost_and_without_an_embedding_nothing_is_explained(two_blocks):
    marks = np.array([Mark.CHOSEN, Mark.VISITED, 0, Mark.COLLAPSED, 0, Mark.REJECTED], np.uint8)
    step = Step(None, [None] * 6, np.array([1.0, 0.5, 3.0, 1.0, 2.0, np.inf]), None, marks, 0)
    assert runners_up(step.costs, step.open_to_choice, step.chosen) == [4, 2]
    assert runners_up([2.0, 1.0, 1.0, np.inf], [True] * 4, 0) == [1, 2]
    assert runners_up([1.0, 2.0], [True, False], 0) == []
    policy = RandomSuccessor(1)
    rollout = sgp.Planner(policy).solve(two_blocks)
    assert explain(rollout, policy) == [[]] * len(rollout.steps)
    assert explanation_records(rollout, policy) == [{}] * len(rollout.steps)
    assert step_records(rollout, policy) == [{}] * len(rollout.steps)


def test_shares_of_a_mixture_are_whole_for_an_equal_vector_and_halves_for_two():
    vectors = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    assert mixture(vectors, vectors[2]) == pytest.approx([0, 0, 1, 0, 0], abs=1e-12)
    vectors = np.array([[0.0, 1.0], [3.0, 0.0], [0.0, 1.0]])
    assert mixture(vectors, vectors[0]) == pytest.approx([0.5, 0, 0.5], abs=1e-12)


@pytest.mark.parametrize("predicted", [(0.3, 0.4), (2.0, 2.0), (-1.0, 0.5)])
def test_shares_minimise_what_they_are_said_to(predicted):
    vectors, goal = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 1.0]]), np.array(predicted)
    away = vectors - goal

    def worth(shares):
        return np.sum((shares @ away) ** 2) + 0.1 * np.sum(shares**2 * np.sum(away**2, axis=1))

    grid = [np.array([a, b, 100 - a - b]) / 100 for a, b in product(range(101), repeat=2) if a + b <= 100]
    best = min(grid, key=worth)
    found = mixture(vectors, goal)
    assert found.sum() == pytest.approx(1)
    assert worth(found) <= worth(best) + 1e-12
    assert found == pytest.approx(best, abs=0.02)


def predicting(answers):
    return lambda states, goals, carried: (np.stack([answers[row.tobytes()] for row in states]), [None] * len(states))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_prediction_of_a_candidates_state_expects_its_effects_and_no_others(three_blocks, metric):
    task = three_blocks
    rollout = sgp.Planner(by_name(pick_up=0.1, stack=0.2, unstack=0.2, put_down=0.3)).solve(task, sgp.Limit(actions=3))
    encoder = WLEncoder.fit(WLConfig(), [(task, [each.state for step in rollout.steps for each in step.candidates])])
    answers, wanted = {}, []
    for step in rollout.steps:
        rows = encoder.embed(task, [step.state, *(each.state for each in step.candidates)])
        place = next(place for place in range(1, len(rows)) if sum((rows == rows[place]).all(axis=1)) == 1)
        answers[rows[0].tobytes()] = rows[place]
        here, there = (set(map(str, task.atoms(each))) for each in (step.state, step.candidates[place - 1].state))
        wanted.append({*((atom, True) for atom in there - here), *((atom, False) for atom in here - there)})
    found = step_records(rollout, NearestEmbedding(encoder, predicting(answers), metric))
    for expected, effects in zip([each["expects"] for each in found], wanted, strict=True):
        scores = {(atom, true): score for atom, true, score in expected["changes"]}
        assert set(scores) == effects
        assert list(scores.values()) == pytest.approx([1.0] * len(scores))
        assert expected["nothing"] == pytest.approx(0, abs=1e-6)


SUITE = "state-centric"


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """A run, a rollout of it, and a step explained against another candidate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGP_HOME", str(tmp_path_factory.mktemp("home")))
        folder = sgp.train("contrastive-jumps", "gripper", SUITE, overrides={"loss.iterations": "2000"}).folder
        run, planner = open_run(folder), sgp.load_planner(folder)
        rollout = planner.solve(sgp.Task(sgp.load_suite(SUITE).problems("gripper", "validation")[0]))
        explanations = explain(rollout, planner.policy)
        yield run, rollout, *next((place, each[0]) for place, each in enumerate(explanations) if each)


def test_weights_learned_from_own_plans_are_not_attributed():
    (folder,) = [each for each in shipped_folders() if each.name == "floortile"]
    with pytest.raises(ConfigurationError, match="50 plans of its own, which are not stored"):
        attributable(open_run(folder))


def test_a_weight_is_the_sum_of_what_all_decisions_gave(explained):
    run, rollout, place, why = explained
    policy, data = sgp.load_planner(run.folder).policy, sgp.load_training_data(sgp.load_suite(SUITE), "gripper")
    subject = rollout, place, why["against"], why["why"][0]["feature"]
    found = attribute_weight(run, policy, data, *subject)
    assert found.attributed == pytest.approx(found.weight, rel=0.01, abs=0.01)
    assert found.decisions > len(found.influences) > 0
    amounts = [abs(each.amount) for each in found.influences]
    assert amounts == sorted(amounts, reverse=True)
    columns = columns_of(policy, *subject)
    for each in found.influences:
        decision = each.decision
        assert decision.task.name in {each.task.name for each in data.train}
        assert list(decision.positive[[each.right, each.wrong]]) == [True, False]
        values = policy.encoder.embed(decision.task, decision.state, decision.choice).dense(policy.encoder.dimension)
        lead = values[each.right, columns].sum() - values[each.wrong, columns].sum()
        assert lead * each.amount >= 0, "the candidates differ in the feature as the amount says"


def with_weights_changed_by_hand(run, folder, columns, factor):
    """The planner of a copy of a run with changed weights of some columns in its file, and its record with them."""
    shutil.copytree(run.folder, folder)
    file = folder / "delta.safetensors"
    weights = load_file(file)["weights"].copy()
    weights[:, columns] *= factor
    save_file({"weights": weights}, file)
    record = loads((folder / "run.json").read_text())
    record["files"][file.name] = sha256(file.read_bytes()).hexdigest()
    record["check"]["vectors"] = {}  # recorded with the unchanged weights
    (folder / "run.json").write_text(dumps(record))
    return sgp.load_planner(folder)


@pytest.mark.parametrize("factor", [0.0, -1.0, 3.0])
def test_a_reweighted_planner_plans_as_a_run_whose_weights_were_changed_by_hand(explained, tmp_path, factor):
    run, rollout, place, why = explained
    planner, subject = sgp.load_planner(run.folder), (rollout, place, why["against"], why["why"][0]["feature"])
    before = planner.policy.weights.copy()
    columns = columns_of(planner.policy, *subject)
    copy = with_weights_changed_by_hand(run, tmp_path / "copy", columns, factor)
    assert np.any(copy.policy.weights != before)
    changed = reweighted(planner, *subject, factor)
    one, other = (each.solve(rollout.task) for each in (changed, copy))
    assert (one.outcome, one.plan) == (other.outcome, other.plan)
    costs = zip(one.steps, other.steps, strict=True)
    assert all(np.array_equal(mine.costs, its.costs) for mine, its in costs)
    assert np.array_equal(planner.policy.weights, before), "the run's own planner stays"
    same = reweighted(planner, *subject, 1.0).solve(rollout.task)
    assert (same.outcome, same.plan) == (rollout.outcome, rollout.plan)


def test_a_feature_a_factor_or_a_method_without_a_weight_is_refused(explained, quick_run):
    run, rollout, place, why = explained
    planner, feature = sgp.load_planner(run.folder), why["why"][0]["feature"]
    with pytest.raises(InputError, match="'the moon' does not distinguish these candidates"):
        reweighted(planner, rollout, place, why["against"], "the moon", 0.0)
    with pytest.raises(ConfigurationError, match="the factor is nan; expected a finite number"):
        reweighted(planner, rollout, place, why["against"], feature, math.nan)
    other = sgp.load_planner(quick_run("state-centric", "gripper", "wl-xgboost-delta").folder)
    with pytest.raises(ConfigurationError, match="have no weights; expected a run of contrastive-jumps"):
        reweighted(other, rollout, place, why["against"], feature, 0.0)
