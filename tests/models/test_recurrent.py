from __future__ import annotations

import numpy as np
import pytest
import torch

from sgp.errors import ConfigurationError
from sgp.models.recurrent import LSTMShape, RecurrentModel


@pytest.mark.parametrize(
    ("dimension", "parameters"), [(172, 1_253_292), (302, 1_552_942), (138, 1_174_922), (552, 2_129_192)]
)
def test_parameter_counts_are_those_of_table_3(dimension, parameters):
    model = RecurrentModel(2 * dimension, dimension, LSTMShape(), "two-layer")
    assert model.count_parameters() == parameters


def small(head="two-layer", seed=0):
    torch.manual_seed(seed)
    return RecurrentModel(6, 3, LSTMShape(hidden=8, layers=2), head).eval()


@pytest.mark.parametrize("head", ["linear", "two-layer"])
def test_steps_give_what_the_whole_sequence_gives(head):
    model = small(head)
    rows = np.random.default_rng(0).normal(size=(5, 7, 6)).astype(np.float32)
    with torch.inference_mode():
        whole = model(torch.as_tensor(rows))[0].numpy()
    hidden = [None] * 5
    for step in range(7):
        outputs, hidden = model.step(rows[:, step], hidden)
        assert np.allclose(outputs, whole[:, step], atol=1e-6)
    # One node at the start and one on its way.
    mixed, _ = model.step(rows[:2, 0], [None, hidden[1]])
    assert np.allclose(mixed[0], whole[0, 0], atol=1e-6)
    assert not np.allclose(mixed[1], whole[1, 0], atol=1e-3)


def test_the_network_is_pytorchs_lstm_with_a_linear_head():
    model = small("linear")
    rows = torch.randn(2, 4, 6)
    with torch.inference_mode():
        states, _ = model.lstm(rows)
        assert torch.equal(model(rows)[0], states @ model.head.weight.T + model.head.bias)


def test_in_double_precision_steps_are_those_of_the_sequence_beyond_single():
    model = RecurrentModel(6, 3, LSTMShape(hidden=8, precision="double"), "two-layer").eval()
    assert {each.dtype for each in model.parameters()} == {torch.float64}
    rows = np.random.default_rng(0).normal(size=(5, 1, 6))
    with torch.inference_mode():
        whole = model(torch.as_tensor(rows))[0].numpy()
    outputs, _ = model.step(rows[:, 0], [None] * 5)
    assert np.allclose(outputs, whole[:, 0], rtol=0, atol=1e-14)
    with pytest.raises(ConfigurationError, match="LSTM precision is 'half'; expected one of single, double"):
        LSTMShape(precision="half")
