"""Trains a recurrent model on sequences, keeping the epoch of least validation loss."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.recurrent import RecurrentModel
from sgp.progress import progress

Loss = Literal["cosine", "squared"]
Sequences = Sequence[tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]]


@dataclass(frozen=True)
class RecurrentTraining:
    """How the network is trained. Defaults: state-centric, Table 7."""

    epochs: int = 250
    learning_rate: float = 1e-2  # of Adam
    batch: int = 32  # sequences a step

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"LSTM {name} is {getattr(self, name)}; expected at least 1")
        if not 0 < self.learning_rate < float("inf"):
            raise ConfigurationError(f"LSTM learning_rate is {self.learning_rate}; expected above 0")


@dataclass(frozen=True)
class _Padded:
    """Sequences of one length: rows [n, T, F], targets [n, T, D], and which steps are real [n, T]."""

    rows: Tensor
    targets: Tensor
    real: Tensor

    @classmethod
    def of(cls, sequences: Sequences, device: Device) -> _Padded:
        kept = [pair for pair in sequences if len(pair[0])]
        rows, targets = (
            nn.utils.rnn.pad_sequence([torch.as_tensor(np.asarray(pair[part], np.float32)) for pair in kept], True)
            for part in (0, 1)
        )
        lengths = torch.tensor([len(pair[0]) for pair in kept])
        real = torch.arange(rows.shape[1]) < lengths[:, None]
        return cls(rows.to(device), targets.to(device), real.to(device))

    def select(self, places: Tensor) -> _Padded:
        """Some of the sequences, cut to the longest of them."""
        real = self.real[places]
        length = int(real.sum(dim=1).max())
        return _Padded(self.rows[places, :length], self.targets[places, :length], real[:, :length])


def fit_recurrent(
    model: RecurrentModel,
    config: RecurrentTraining,
    loss: Loss,
    train: Sequences,
    validation: Sequences,
    seed: int,
    device: Device = "cpu",
    title: str = "LSTM",
) -> dict[str, float]:
    """Trains in place on sequences of (rows [T, F], targets [T, D]) and leaves the best epoch's weights.

    Losses are means over real steps: 1 - cosine, or the squared error. Returns the best epoch and its losses. One
    thread computes, so that a seed gives the same weights whatever else runs; `seed` orders the batches (the weights'
    first values are the caller's).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _fit(model, config, loss, _Padded.of(train, device), _Padded.of(validation, device), seed, device, title)
    finally:
        torch.set_num_threads(threads)


def _fit(
    model: RecurrentModel,
    config: RecurrentTraining,
    loss: Loss,
    train: _Padded,
    validation: _Padded,
    seed: int,
    device: Device,
    title: str,
) -> dict[str, float]:
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    order = torch.Generator().manual_seed(seed)
    best: dict[str, float] = {"validation_loss": float("inf")}
    weights = copy.deepcopy(model.state_dict())
    with progress(title, config.epochs) as bar:
        for epoch in range(1, config.epochs + 1):
            model.train()
            total = 0.0
            for places in torch.split(torch.randperm(len(train.rows), generator=order), config.batch):
                batch = train.select(places.to(device))
                optimizer.zero_grad()
                value = _loss(model, batch, loss)
                value.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(value.detach()) * int(batch.real.sum())
            model.eval()
            with torch.inference_mode():
                held_out = float(_loss(model, validation, loss))
            if held_out < best["validation_loss"]:
                best = {"epoch": epoch, "train_loss": total / int(train.real.sum()), "validation_loss": held_out}
                weights = copy.deepcopy(model.state_dict())
            bar.advance()
    if "epoch" not in best:
        raise ConfigurationError(
            f"no epoch of the LSTM had a finite validation loss; learning_rate {config.learning_rate} is too high"
        )
    model.load_state_dict(weights)
    model.eval()
    return best


def _loss(model: RecurrentModel, batch: _Padded, loss: Loss) -> Tensor:
    outputs, _ = model(batch.rows)
    found, wanted = outputs[batch.real], batch.targets[batch.real]  # [steps, D]
    if loss == "cosine":
        return (1.0 - nn.functional.cosine_similarity(found, wanted, dim=1)).mean()
    return nn.functional.mse_loss(found, wanted)
