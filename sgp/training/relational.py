"""Training of a relational network on state values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.encoders.relations import RelationalStates
from sgp.errors import check_fields
from sgp.models.device import Device
from sgp.models.relational import RelationalModel
from sgp.planning.clock import with_limit_checks
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit

# Relation arguments computed at once. A batch is cut into parts whose gradients add up, so that memory stays under 0.4
# GB (30 layers of 32 take about 40 kB per argument for the gradient) and a part fits a core's cache.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}


@dataclass(frozen=True)
class RelationalTraining:
    """Hyperparameters of training. Defaults: dynamic-validation, appendix A."""

    epochs: int = 100
    learning_rate: float = 2e-4  # of Adam
    clip: float = 0.1  # maximum gradient norm, over all weights together (the paper leaves this open)
    batch: int = 1024  # states per step

    def __post_init__(self) -> None:
        check_fields(self, "GNN", ["learning_rate", "clip"], epochs=1, batch=1)


@dataclass(frozen=True, eq=False)
class ValuedStates:
    """States and their target values [n]."""

    states: RelationalStates
    values: NDArray[np.float32]


def fit_values(
    model: RelationalModel,
    config: RelationalTraining,
    train: ValuedStates,
    validation: ValuedStates,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train by mean absolute error; the order of batches depends only on epoch and seed. See `fit`."""
    device = context.device

    def batches(epoch: int) -> Iterator[NDArray[np.int64]]:
        order = np.random.default_rng([context.seed, epoch]).permutation(len(train.states))
        return iter(np.split(order, range(config.batch, len(order), config.batch)))

    def losses(batch: NDArray[np.int64]) -> Iterator[LossPart]:
        targets, done = torch.as_tensor(train.values[batch], device=device), 0
        for part in train.states.select(batch).parts(PART[device]):
            values = model(*model.tensors(part.objects, part.joined_arguments()))
            errors = (values - targets[done : done + len(part)]).abs().sum()
            yield LossPart(errors / len(batch), errors.detach(), len(part))
            done += len(part)

    optimizer = torch.optim.Adam(model.to(device).parameters(), lr=config.learning_rate)
    schedule = Schedule(config.epochs, lambda epoch, batch: config.learning_rate, config.clip)
    return fit(model, optimizer, schedule, batches, losses, lambda: mean_error(model, validation, device), context)


def predict(model: RelationalModel, states: RelationalStates, device: Device) -> NDArray[np.float32]:
    """Return the model's values [n] of states, computed in parts."""
    parts = [
        model.values(part.objects, part.joined_arguments()) for part in with_limit_checks(states.parts(PART[device]))
    ]
    return np.concatenate([np.empty(0, np.float32), *parts])


def mean_error(model: RelationalModel, valued: ValuedStates, device: Device) -> float:
    """Return the mean absolute error of the model's values."""
    return float(np.abs(predict(model, valued.states, device) - valued.values).mean())
