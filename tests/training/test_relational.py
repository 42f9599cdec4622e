from __future__ import annotations

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.methods.gnn_value import costs_to_go
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.training import relational
from sgp.training.fit import FitContext
from sgp.training.relational import RelationalTraining, fit_values, mean_error, predict


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")


@pytest.fixture(scope="module")
def encoder(data):
    return RelationalEncoder(data.train[0].task.domain_text)


@pytest.fixture(scope="module")
def valued(data, encoder):
    return costs_to_go(encoder, data.train)


def network(encoder, seed=0):
    torch.manual_seed(seed)
    return RelationalModel(encoder.relations, RelationalShape(layers=2, hidden=8))


def epochs(encoder, valued, config):
    return fit_values(network(encoder), config, valued, valued, FitContext(3))


def test_targets_count_down_to_the_goal(data, valued):
    ends = np.cumsum([len(each) + 1 for each in data.train])
    assert len(valued.states) == len(valued.values) == ends[-1]
    assert valued.values[ends - 1].tolist() == [0.0] * len(data.train)
    assert valued.values[: ends[0]].tolist() == list(range(len(data.train[0]), -1, -1))


def test_the_loss_is_the_mean_absolute_error(encoder, valued):
    model = network(encoder)
    with torch.no_grad():
        for parameter in model.read_value.parameters():
            parameter.zero_()
        model.read_value._outer.bias.fill_(5.0)  # every state is at distance 5
    assert set(predict(model, valued.states, "cpu")) == {5.0}
    expected = np.mean([abs(left - 5.0) for length in (5, 11, 17, 23) for left in range(length + 1)])
    assert mean_error(model, valued, "cpu") == pytest.approx(expected)


@pytest.mark.slow
def test_training_lowers_the_loss(encoder, valued):
    config = RelationalTraining(epochs=40, learning_rate=0.01, batch=16)
    losses = [each.validation_loss for each in epochs(encoder, valued, config)]
    assert losses[-1] < 0.25 * losses[0]


def test_parts_change_no_gradient(encoder, valued, monkeypatch):
    (whole,) = epochs(encoder, valued, RelationalTraining(epochs=1, batch=32))
    monkeypatch.setitem(relational.PART, "cpu", 40)
    (parts,) = epochs(encoder, valued, RelationalTraining(epochs=1, batch=32))
    assert parts.train_loss == pytest.approx(whole.train_loss, rel=1e-5)
    for name, value in whole.weights.items():
        assert torch.allclose(value, parts.weights[name], atol=1e-5)
