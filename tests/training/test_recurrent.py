import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import sgp
from sgp.errors import ConfigurationError
from sgp.training.fit import Epoch, FitContext
from sgp.training.recurrent import RecurrentModel, best_epoch, fit_recurrent
from sgp.training.trajectory_rows import LSTMShape, RecurrentTraining

ROOT = Path(sgp.__file__).resolve().parents[1]


def network(outputs=1, head="linear"):
    torch.manual_seed(0)
    return RecurrentModel(1, outputs, LSTMShape(hidden=16, layers=2), head)


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
        found = [model(torch.as_tensor(rows)[None])[0][0].numpy() - targets for rows, targets in sequences]
    return float(np.concatenate([each.ravel() ** 2 for each in found]).mean())


def fitted(model, loss, train, validation, seed=1, **config):
    best = best_epoch(fit_recurrent(model, RecurrentTraining(**config), loss, train, validation, FitContext(seed)))
    model.load_state_dict(best.weights)
    return model.eval(), best


def test_memory_is_learned_and_the_best_epoch_is_kept():
    train, validation = parities(64, 1), parities(40, 2)
    before = held_out_loss(network(), validation)
    model, best = fitted(network(), "squared", train, validation, seed=3, epochs=120)
    after = held_out_loss(model, validation)
    assert after == pytest.approx(best.validation_loss, rel=1e-4)  # padding does not count
    assert after < 0.05 < before
    assert 1 <= best.number <= 120


OTHER_KERNELS = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"}  # those of an older CPU
WEIGHTS = """
import json
from tests.training.test_recurrent import parity_fit, weights
print(json.dumps([weights(parity_fit(64, each)) for each in ("single", "double")]))"""


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


def parity_fit(hidden, precision):
    torch.manual_seed(0)
    model = RecurrentModel(1, 1, LSTMShape(hidden=hidden, precision=precision), "linear")
    return fitted(model, "squared", parities(40, 1), parities(5, 2), 3, batch=8, epochs=10)[0]


def weights(model):
    return [value.tolist() for value in model.parameters()]


def test_the_cosine_loss_ignores_lengths():
    rows = np.random.default_rng(0).normal(size=(30, 4, 1)).astype(np.float32)
    best, scaled = (
        fitted(network(2, "two-layer"), "cosine", sequences[:20], sequences[20:], epochs=60)[1]
        for sequences in ([(each, scale * np.insert(each * 5, 1, 2, axis=1)) for each in rows] for scale in (1, 100))
    )
    assert best.validation_loss < 0.05
    assert scaled.validation_loss == pytest.approx(best.validation_loss, abs=0.02)


def test_a_training_that_diverges_ends_with_its_best_epoch_and_at_first_is_an_error(caplog):
    def diverging():
        yield from (Epoch(number, 0.0, loss, {}) for number, loss in ((1, 3.0), (2, 2.0), (3, 2.0)))
        raise ConfigurationError("epoch 4 has the validation loss nan")

    assert best_epoch(diverging()).number == 2
    assert "epoch 4" in caplog.text
    assert best_epoch([]) is None
    endless = [(np.full((4, 1), np.nan), np.ones((4, 1)))]
    with pytest.raises(ConfigurationError, match="epoch 1 has the validation loss nan"):
        fitted(network(), "squared", parities(4, 1), endless, epochs=2)
