"""Trains a relational model to values of states, epoch by epoch; what was interrupted goes on after its last epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sgp.encoders.relations import RelationalStates
from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.relational import RelationalModel
from sgp.planning.clock import looking
from sgp.training.epochs import Epoch, train_epochs

# Arguments of tuples that are computed at once: a batch is cut into parts whose gradients add up, so that memory stays
# under 0.4 GB (30 layers of 32 take about 40 kB an argument for the gradient) and the parts stay in a core's cache.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}


@dataclass(frozen=True)
class RelationalTraining:
    """How the network is trained. Defaults: dynamic-validation, appendix A."""

    epochs: int = 100
    learning_rate: float = 2e-4  # of Adam
    clip: float = 0.1  # longest gradient; of all weights together, which the paper leaves open
    batch: int = 1024  # states a step

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"GNN {name} is {getattr(self, name)}; expected at least 1")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigurationError(f"GNN {name} is {getattr(self, name)}; expected above 0")


@dataclass(frozen=True, eq=False)
class ValuedStates:
    """States and the values [n] that a network shall give them."""

    states: RelationalStates
    values: NDArray[np.float32]


def train_values(
    model: RelationalModel,
    config: RelationalTraining,
    train: ValuedStates,
    validation: ValuedStates,
    seed: int,
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
) -> Iterator[Epoch]:
    """Trains in place by the absolute error, and gives every epoch after the first `after`; see `train_epochs`.

    The batches of an epoch depend on its number and `seed` alone.
    """
    optimizer = torch.optim.Adam(model.to(device).parameters(), lr=config.learning_rate)

    def epoch(number: int) -> float:
        return _train_epoch(model, optimizer, config, train, np.random.default_rng([seed, number]), device)

    return train_epochs(
        model,
        optimizer,
        config.epochs,
        epoch,
        lambda: mean_error(model, validation, device),
        device,
        folder,
        training,
        after,
    )


def predict(model: RelationalModel, states: RelationalStates, device: Device) -> NDArray[np.float32]:
    """The model's values [n] of states, computed in parts."""
    parts = [model.values(part.objects, part.joined_arguments()) for part in looking(states.parts(PART[device]))]
    return np.concatenate([np.empty(0, np.float32), *parts])


def mean_error(model: RelationalModel, valued: ValuedStates, device: Device) -> float:
    """Mean absolute error of the model's values."""
    return float(np.abs(predict(model, valued.states, device) - valued.values).mean())


def _train_epoch(
    model: RelationalModel,
    optimizer: torch.optim.Optimizer,
    config: RelationalTraining,
    train: ValuedStates,
    order: np.random.Generator,
    device: Device,
) -> float:
    """One pass over the states in batches; the mean error met on the way."""
    places = order.permutation(len(train.states))
    total = 0.0
    for start in range(0, len(places), config.batch):
        batch = places[start : start + config.batch]
        targets = torch.as_tensor(train.values[batch], device=device)
        optimizer.zero_grad()
        done = 0
        for part in train.states.select(batch).parts(PART[device]):
            values = model(*model.tensors(part.objects, part.joined_arguments()))
            errors = (values - targets[done : done + len(part)]).abs().sum()
            (errors / len(batch)).backward()
            total += float(errors.detach())
            done += len(part)
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
    return total / len(places)
