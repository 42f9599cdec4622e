from __future__ import annotations

import numpy as np
import pytest
import torch

from sgp.errors import ConfigurationError
from sgp.models.recurrent import LSTMShape, RecurrentModel
from sgp.training.recurrent import RecurrentTraining, fit_recurrent


def network(seed=0, head="linear"):
    torch.manual_seed(seed)
    return RecurrentModel(1, 1, LSTMShape(hidden=16, layers=2), head)


def parities(count, seed):
    """Sequences of 0 and 1 whose target is the parity so far: no model without memory can learn it."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        bits = rng.integers(0, 2, size=(int(rng.integers(1, 7)), 1)).astype(np.float32)
        found.append((bits, np.cumsum(bits, axis=0) % 2))
    return found


def held_out_loss(model, sequences):
    with torch.inference_mode():
        errors = [
            ((model(torch.as_tensor(rows)[None])[0][0].numpy() - targets) ** 2).ravel() for rows, targets in sequences
        ]
    return float(np.concatenate(errors).mean())


def test_memory_is_learned_and_the_best_epoch_is_kept():
    train, validation = parities(64, 1), parities(40, 2)
    model = network()
    before = held_out_loss(model, validation)
    best = fit_recurrent(model, RecurrentTraining(epochs=120), "squared", train, validation, seed=3)
    after = held_out_loss(model, validation)
    assert after == pytest.approx(best["validation_loss"], rel=1e-4)  # padding counts for nothing
    assert after < 0.05 < before
    assert 1 <= best["epoch"] <= 120


def test_a_seed_gives_the_same_weights_whatever_the_threads():
    models = [network() for _ in range(3)]
    for model, seed, threads in zip(models, (3, 3, 4), (1, 2, 1), strict=True):
        torch.set_num_threads(threads)
        fit_recurrent(model, RecurrentTraining(epochs=3, batch=8), "squared", parities(40, 1), parities(5, 2), seed)
        assert torch.get_num_threads() == threads
    first, same, other = ([value.tolist() for value in model.parameters()] for model in models)
    assert first == same != other


def test_the_cosine_loss_ignores_lengths():
    rng = np.random.default_rng(0)
    sequences = [
        (rows, np.hstack([rows * 5, np.full_like(rows, 2)])) for rows in rng.normal(size=(30, 4, 1)).astype(np.float32)
    ]
    torch.manual_seed(0)
    model = RecurrentModel(1, 2, LSTMShape(hidden=16), "two-layer")
    best = fit_recurrent(model, RecurrentTraining(epochs=60), "cosine", sequences[:20], sequences[20:], seed=1)
    assert best["validation_loss"] < 0.05
    scaled = [(rows, 100 * targets) for rows, targets in sequences]
    torch.manual_seed(0)
    again = RecurrentModel(1, 2, LSTMShape(hidden=16), "two-layer")
    other = fit_recurrent(again, RecurrentTraining(epochs=60), "cosine", scaled[:20], scaled[20:], seed=1)
    assert other["validation_loss"] == pytest.approx(best["validation_loss"], abs=0.02)


def test_a_network_without_a_finite_loss_is_an_error():
    endless = [(np.full((4, 1), np.nan), np.ones((4, 1)))]
    with pytest.raises(ConfigurationError, match="no epoch of the LSTM had a finite validation loss; learning_rate"):
        fit_recurrent(network(), RecurrentTraining(epochs=2), "squared", parities(4, 1), endless, seed=1)


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="LSTM epochs is 0; expected at least 1"):
        RecurrentTraining(epochs=0)
    with pytest.raises(ConfigurationError, match="LSTM learning_rate is 0; expected above 0"):
        RecurrentTraining(learning_rate=0)
