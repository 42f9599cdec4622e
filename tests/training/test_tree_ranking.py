from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.trees import TreeConfig, TreeEncoder
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.policies import tree_scores
from sgp.training.fit import FitContext
from sgp.training.labels import followed
from sgp.training.tree_ranking import (
    LabelledTrees,
    TreeTraining,
    contrastive_losses,
    depth_ranking_loss,
    fit_ranking,
    mean_loss,
)


@pytest.fixture(scope="module")
def decisions():
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    return list(followed(data.train, Lookahead("types")))


@pytest.fixture(scope="module")
def encoder(decisions):
    return TreeEncoder(decisions[0].task.domain_text, TreeConfig())


@pytest.fixture(scope="module")
def labelled(encoder, decisions):
    return LabelledTrees.of(encoder, decisions)


def network(encoder, seed=0):
    torch.manual_seed(seed)
    return LookaheadModel(encoder.relations, RelationalShape(layers=2, hidden=8))


def test_deeper_nodes_shall_score_higher():
    """Three depths in the first tree, one in the second, two in the third."""
    scores, trees = torch.tensor([0.0, 1.0, 5.0, 2.0, 3.0, 3.0]), torch.tensor([0, 0, 0, 1, 2, 2])
    near, far = math.log1p(math.exp(-1)) + math.log1p(math.exp(-4)), math.log1p(math.exp(-5))
    expected = [(near + far / 2) / 2.5, 0.0, math.log(2)]
    assert depth_ranking_loss(scores, trees, 3).tolist() == pytest.approx(expected)
    assert depth_ranking_loss(scores[:0], trees[:0], 2).tolist() == [0.0, 0.0]


def test_the_loss_is_the_share_of_right_candidates_in_their_tree():
    scores, trees = torch.tensor([0.0, math.log(3), 500.0, 500.0]), torch.tensor([0, 0, 1, 1])
    right = torch.tensor([False, True, True, False])
    assert contrastive_losses(scores, right, trees, 2).tolist() == pytest.approx(
        [-math.log(3 / 4), math.log(2)], rel=1e-4
    )


def test_training_lowers_both_losses(encoder, labelled):
    config = TreeTraining(epochs=6, steps=8, batch=8, learning_rate=0.02, depth_weight=1.0)
    model = network(encoder)

    def ordered():
        graphs = model.graphs(*labelled.trees.joined())
        losses = depth_ranking_loss(model(graphs)[1].detach(), graphs.depth_trees, len(labelled.trees))
        return float(losses.mean())

    before = mean_loss(model, labelled, "cpu"), ordered()
    last = list(fit_ranking(model, config, labelled, labelled, FitContext(0)))[-1]
    assert last.validation_loss == mean_loss(model, labelled, "cpu") < 0.6 * before[0]
    assert ordered() < before[1]


def test_the_mean_is_by_weight_and_parts_change_nothing(encoder, labelled, decisions, monkeypatch):
    model = network(encoder)
    whole = mean_loss(model, labelled, "cpu")
    losses = [mean_loss(model, LabelledTrees.of(encoder, [each]), "cpu") for each in decisions]
    assert whole == pytest.approx(np.average(losses, weights=[each.weight for each in decisions]), rel=1e-5)
    config = TreeTraining(epochs=1, steps=2, batch=16)
    (one,) = fit_ranking(network(encoder), config, labelled, labelled, FitContext(3))
    monkeypatch.setitem(tree_scores.PART, "cpu", 500)
    assert mean_loss(model, labelled, "cpu") == pytest.approx(whole, rel=1e-5)
    (other,) = fit_ranking(network(encoder), config, labelled, labelled, FitContext(3))
    assert other.train_loss == pytest.approx(one.train_loss, rel=1e-5)


def test_the_rate_falls_as_in_the_paper():
    config = TreeTraining(epochs=300)
    assert (config.rate(0), config.rate(300 * 32 - 1), config.rate(10**6)) == pytest.approx((1e-3, 1e-5, 1e-5))
