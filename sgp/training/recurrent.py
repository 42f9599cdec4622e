"""Trains a recurrent model on sequences, keeping the epoch of least validation loss."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.recurrent import RecurrentModel
from sgp.progress import progress
from sgp.training.checkpoint import Moment, Parts, identify, read_checkpoint, write_checkpoint
from sgp.workers import one_thread

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
    def of(cls, sequences: Sequences, dtype: torch.dtype, device: Device) -> _Padded:
        kept = [pair for pair in sequences if len(pair[0])]
        rows, targets = (
            nn.utils.rnn.pad_sequence([torch.as_tensor(np.asarray(pair[part]), dtype=dtype) for pair in kept], True)
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


class RecurrentFit:
    """A training of a recurrent model on sequences of (rows [T, F], targets [T, D]), which can pause and go on.

    Losses are means over real steps: 1 - cosine, or the squared error. `seed` orders the batches (the weights' first
    values are the caller's). One thread computes, so that a seed gives the same weights whatever else runs, on
    processors of one kind; on others they are alike in double precision alone (`LSTMShape.precision`).
    """

    def __init__(
        self,
        model: RecurrentModel,
        config: RecurrentTraining,
        loss: Loss,
        train: Sequences,
        validation: Sequences,
        seed: int,
        device: Device = "cpu",
    ):
        self.epoch = 0  # epochs done
        self._model, self._config, self._loss, self._device = model.to(device), config, loss, device
        dtype = model.shape.dtype
        self._train, self._validation = _Padded.of(train, dtype, device), _Padded.of(validation, dtype, device)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
        self._order = torch.Generator().manual_seed(seed)
        self._parts: Parts = {"model": model, "optimizer": self._optimizer, "order": self._order}
        given = [each for data in (self._train, self._validation) for each in (data.rows, data.targets, data.real)]
        self._training = identify((config, loss, seed), (*model.parameters(), *given))

    def best(self, epochs: int, title: str = "LSTM") -> tuple[RecurrentModel, dict[str, float]]:
        """Trains for so many more epochs: a copy of the model after the best of them, which one that was, its losses.

        Raises ConfigurationError where none of them has a finite validation loss.
        """
        first = self.epoch + 1
        best: dict[str, float] = {"validation_loss": float("inf")}
        kept = copy.deepcopy(self._model)
        with one_thread(), progress(title, epochs) as bar:
            for _ in range(epochs):
                train_loss, validation_loss = self._advance()
                if validation_loss < best["validation_loss"]:
                    best = {"epoch": self.epoch, "train_loss": train_loss, "validation_loss": validation_loss}
                    kept.load_state_dict(self._model.state_dict())
                bar.advance()
        if "epoch" not in best:
            raise ConfigurationError(
                f"no epoch of the LSTM from {first} to {self.epoch} had a finite validation loss; "
                f"learning_rate {self._config.learning_rate} is too high"
            )
        return kept.eval(), best

    def save(self, path: Path) -> None:
        """Writes a checkpoint, from which `resume` goes on."""
        write_checkpoint(path, self._training, Moment(self.epoch), self._parts)

    def resume(self, path: Path) -> None:
        """Goes on where `save` was called. Raises StoreError for a file that is damaged or of another training."""
        self.epoch = read_checkpoint(path, self._training, self._parts).number

    def _advance(self) -> tuple[float, float]:
        """Trains for one epoch; its mean loss in training, and the validation loss after it."""
        self._model.train()
        total = 0.0
        for places in torch.split(torch.randperm(len(self._train.rows), generator=self._order), self._config.batch):
            batch = self._train.select(places.to(self._device))
            self._optimizer.zero_grad()
            value = _loss(self._model, batch, self._loss)
            value.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            total += float(value.detach()) * int(batch.real.sum())
        self._model.eval()
        self.epoch += 1
        with torch.inference_mode():
            return total / int(self._train.real.sum()), float(_loss(self._model, self._validation, self._loss))


def _loss(model: RecurrentModel, batch: _Padded, loss: Loss) -> Tensor:
    outputs, _ = model(batch.rows)
    found, wanted = outputs[batch.real], batch.targets[batch.real]  # [steps, D]
    if loss == "cosine":
        return (1.0 - nn.functional.cosine_similarity(found, wanted, dim=1)).mean()
    return nn.functional.mse_loss(found, wanted)
