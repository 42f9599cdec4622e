"""Attribution of weights to the training decisions, i.e. to states of the training problems, that produced them."""

from __future__ import annotations

import pytest

import sgp
from sgp.analysis.explanations import attribute_weight, columns_of, explain
from sgp.datasets.runs import open_run
from sgp.datasets.training_data import load_training_data
from sgp.methods.loading import load_planner

SUITE = "state-centric"


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run of contrastive jumps, its planner, its data, and a rollout with its explanations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGP_HOME", str(tmp_path_factory.mktemp("home")))
        folder = sgp.train("contrastive-jumps", "gripper", SUITE, overrides={"loss.iterations": "2000"}).folder
        data = load_training_data(sgp.load_suite(SUITE), "gripper")
        run, planner = open_run(folder), load_planner(str(folder))
        rollout = planner.solve(sgp.Task(sgp.load_suite(SUITE).problems("gripper", "validation")[0]))
        yield run, planner.policy, data, rollout, explain(rollout, planner.policy)


def test_a_weight_is_the_sum_of_what_all_decisions_gave(learned):
    run, policy, data, rollout, explanations = learned
    place, why = next((place, each[0]) for place, each in enumerate(explanations) if each)
    reason = why.reasons[0]
    found = attribute_weight(run, policy, data, rollout, place, why.other, reason.feature)
    assert found.attributed == pytest.approx(found.weight, rel=0.01, abs=0.01)
    assert found.decisions > len(found.influences) > 0
    amounts = [abs(each.amount) for each in found.influences]
    assert amounts == sorted(amounts, reverse=True)
    names = {each.task.name for each in data.train}
    assert all(each.decision.task.name in names for each in found.influences)
    assert all(
        each.decision.positive[each.right] and not each.decision.positive[each.wrong] for each in found.influences
    )


def test_the_candidates_that_are_named_differ_in_the_feature_as_the_amount_says(learned):
    run, policy, data, rollout, explanations = learned
    place, why = next((place, each[0]) for place, each in enumerate(explanations) if each)
    feature = why.reasons[0].feature
    columns = columns_of(policy, rollout, place, why.other, feature)
    for each in attribute_weight(run, policy, data, rollout, place, why.other, feature).influences:
        decision = each.decision
        values = policy.encoder.embed(decision.task, decision.state, decision.choice).dense(policy.encoder.dimension)
        lead = values[each.right, columns].sum() - values[each.wrong, columns].sum()
        assert lead * each.amount >= 0
