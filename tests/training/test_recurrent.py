from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import sgp
from sgp.errors import ConfigurationError, StoreError
from sgp.models.recurrent import LSTMShape, RecurrentModel
from sgp.training.recurrent import RecurrentFit, RecurrentTraining

ROOT = Path(sgp.__file__).resolve().parents[1]


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
    fitted, best = RecurrentFit(model, RecurrentTraining(), "squared", train, validation, seed=3).best(120)
    after = held_out_loss(fitted, validation)
    assert after == pytest.approx(best["validation_loss"], rel=1e-4)  # padding counts for nothing
    assert after < 0.05 < before
    assert 1 <= best["epoch"] <= 120


def test_a_seed_gives_the_same_weights_whatever_the_threads():
    models = []
    for seed, threads in zip((3, 3, 4), (1, 2, 1), strict=True):
        torch.set_num_threads(threads)
        models.append(parity_fit(seed=seed).best(3)[0])
        assert torch.get_num_threads() == threads
    first, same, other = map(weights, models)
    assert first == same != other


OTHER_KERNELS = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"}  # those of an older processor
WEIGHTS = """
import json
from tests.training.test_recurrent import parity_fit, weights
print(json.dumps([weights(parity_fit(hidden=64, precision=each).best(10)[0]) for each in ("single", "double")]))"""


@pytest.mark.slow
def test_in_double_precision_the_processors_kernels_decide_next_to_nothing():
    found = []
    for environment in ({}, OTHER_KERNELS):
        command = [sys.executable, "-c", WEIGHTS]
        run = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        found.append([np.concatenate([np.ravel(each) for each in model]) for model in json.loads(run.stdout)])
    single, double = (np.abs(one - other).max() for one, other in zip(*found, strict=True))
    assert double < 1e-12
    assert single > 1000 * double, "that is why there is double precision"


def parity_fit(seed=3, hidden=16, data=1, first=0, loss="squared", precision="single"):
    torch.manual_seed(first)
    model = RecurrentModel(1, 1, LSTMShape(hidden=hidden, precision=precision), "linear")
    return RecurrentFit(model, RecurrentTraining(batch=8), loss, parities(40, data), parities(5, 2), seed)


def weights(model):
    return [value.tolist() for value in model.parameters()]


def test_a_training_in_parts_is_the_one_in_one_go():
    (model, best), parts = parity_fit().best(9), parity_fit()
    found = [parts.best(3) for _ in range(3)]
    assert [3 * part < each["epoch"] <= 3 * part + 3 for part, (_, each) in enumerate(found)] == [True] * 3
    least, same = min(found, key=lambda pair: pair[1]["validation_loss"])
    assert same == best
    assert weights(least) == weights(model), "later epochs change no model that was given"


def test_a_training_goes_on_where_it_was_saved(tmp_path):
    whole, stopped, resumed = parity_fit(), parity_fit(), parity_fit()
    whole.best(4)
    stopped.best(4)
    stopped.save(tmp_path / "training.safetensors")
    resumed.resume(tmp_path / "training.safetensors")
    assert resumed.epoch == 4
    (model, best), (same, again) = whole.best(3), resumed.best(3)
    assert best == again
    assert weights(model) == weights(same)


@pytest.mark.parametrize("other", [{"seed": 4}, {"hidden": 8}, {"data": 7}, {"first": 1}, {"loss": "cosine"}])
def test_a_training_of_something_else_is_refused(other, tmp_path):
    parity_fit(**other).save(tmp_path / "training.safetensors")
    with pytest.raises(StoreError, match=r"training\.safetensors is of another training; delete .* and train again"):
        parity_fit().resume(tmp_path / "training.safetensors")


def test_the_cosine_loss_ignores_lengths():
    rng = np.random.default_rng(0)
    sequences = [
        (rows, np.hstack([rows * 5, np.full_like(rows, 2)])) for rows in rng.normal(size=(30, 4, 1)).astype(np.float32)
    ]
    torch.manual_seed(0)
    model = RecurrentModel(1, 2, LSTMShape(hidden=16), "two-layer")
    _, best = RecurrentFit(model, RecurrentTraining(), "cosine", sequences[:20], sequences[20:], seed=1).best(60)
    assert best["validation_loss"] < 0.05
    scaled = [(rows, 100 * targets) for rows, targets in sequences]
    torch.manual_seed(0)
    again = RecurrentModel(1, 2, LSTMShape(hidden=16), "two-layer")
    _, other = RecurrentFit(again, RecurrentTraining(), "cosine", scaled[:20], scaled[20:], seed=1).best(60)
    assert other["validation_loss"] == pytest.approx(best["validation_loss"], abs=0.02)


def test_a_network_without_a_finite_loss_is_an_error():
    endless = [(np.full((4, 1), np.nan), np.ones((4, 1)))]
    fit = RecurrentFit(network(), RecurrentTraining(), "squared", parities(4, 1), endless, seed=1)
    with pytest.raises(ConfigurationError, match="no epoch of the LSTM from 1 to 2 had a finite validation loss"):
        fit.best(2)


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="LSTM epochs is 0; expected at least 1"):
        RecurrentTraining(epochs=0)
    with pytest.raises(ConfigurationError, match="LSTM learning_rate is 0; expected above 0"):
        RecurrentTraining(learning_rate=0)
