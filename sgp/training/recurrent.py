"""An LSTM that predicts embeddings along trajectories, and its training."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.networks import Network
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit
from sgp.training.trajectory_rows import Head, Loss, LSTMShape, RecurrentTraining, Sequences

Hidden = tuple[Tensor, Tensor]

logger = logging.getLogger(__name__)


class RecurrentModel(Network):
    """Network from rows [B, T, F] to outputs [B, T, D]; a two-layer head has the size of state-centric, Table 3."""

    def __init__(self, inputs: int, outputs: int, shape: LSTMShape, head: Head):
        super().__init__()
        self.lstm = nn.LSTM(inputs, shape.hidden, shape.layers, batch_first=True)
        self.head = (
            nn.Linear(shape.hidden, outputs)
            if head == "linear"
            else nn.Sequential(
                nn.Linear(shape.hidden, shape.hidden),
                nn.LayerNorm(shape.hidden),
                nn.ReLU(),
                nn.Linear(shape.hidden, outputs),
            )
        )
        self.shape, self.dtype = shape, torch.float64 if shape.precision == "double" else torch.float32
        self.to(self.dtype)

    def forward(self, rows: Tensor, hidden: Hidden | None = None) -> tuple[Tensor, Hidden]:
        """Return outputs [B, T, D] and the hidden state after the last row, two tensors [layers, B, hidden]."""
        states, after = self.lstm(rows, hidden)  # [B, T, H]
        return self.head(states), after

    @torch.inference_mode()
    def step(
        self, rows: NDArray[np.floating[Any]], hidden: list[Hidden | None]
    ) -> tuple[NDArray[np.floating[Any]], list[Hidden]]:
        """Return outputs [B, D] of single rows [B, F], and the hidden states after them; None is the initial state."""
        device = next(self.parameters()).device
        zero = torch.zeros(self.shape.layers, self.shape.hidden, dtype=self.dtype, device=device)
        stacked = tuple(
            torch.stack([zero if each is None else each[part] for each in hidden], dim=1) for part in (0, 1)
        )
        inputs = torch.as_tensor(np.ascontiguousarray(rows), dtype=self.dtype, device=device)  # [B, F]
        outputs, (short, long) = self(inputs[:, None], stacked)
        # Clones, because a view would keep the hidden states of the whole batch in memory.
        after = [(short[:, place].clone(), long[:, place].clone()) for place in range(len(hidden))]
        return outputs[:, 0].cpu().numpy(), after


@dataclass(frozen=True)
class _Padded:
    """Sequences padded to one length: rows [n, T, F], targets [n, T, D], and the mask of real steps [n, T]."""

    rows: Tensor
    targets: Tensor
    real: Tensor

    @classmethod
    def of(cls, sequences: Sequences, dtype: torch.dtype, device: Device) -> _Padded:
        pairs = [pair for pair in sequences if len(pair[0])]
        rows, targets = (
            nn.utils.rnn.pad_sequence([torch.as_tensor(np.asarray(pair[part]), dtype=dtype) for pair in pairs], True)
            for part in (0, 1)
        )
        lengths = torch.tensor([len(pair[0]) for pair in pairs])
        real = torch.arange(rows.shape[1]) < lengths[:, None]
        return cls(rows.to(device), targets.to(device), real.to(device))

    def select(self, places: Tensor) -> _Padded:
        """Select sequences, cut to the longest of them."""
        real = self.real[places]
        length = int(real.sum(dim=1).max())
        return _Padded(self.rows[places, :length], self.targets[places, :length], real[:, :length])


def fit_recurrent(
    model: RecurrentModel,
    config: RecurrentTraining,
    loss: Loss,
    train: Sequences,
    validation: Sequences,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train on the mean over real steps of 1 - cosine, or of the squared error; see `fit` and `LSTMShape.precision`."""
    dtype, order = model.dtype, torch.Generator().manual_seed(context.seed)
    padded, held_out = (_Padded.of(each, dtype, context.device) for each in (train, validation))

    def batches(epoch: int) -> Iterator[_Padded]:
        for places in torch.split(torch.randperm(len(padded.rows), generator=order), config.batch):
            yield padded.select(places.to(context.device))

    def losses(batch: _Padded) -> Iterator[LossPart]:
        value, steps = _loss(model, batch, loss), int(batch.real.sum())
        yield LossPart(value, float(value.detach()) * steps, steps)

    @torch.inference_mode()
    def validate() -> float:
        return float(_loss(model, held_out, loss))

    optimizer = torch.optim.Adam(model.to(context.device).parameters(), lr=config.learning_rate)
    schedule = Schedule(config.epochs, lambda epoch, batch: config.learning_rate)
    return fit(model, optimizer, schedule, batches, losses, validate, context, {"order": order})


def best_epoch(epochs: Iterable[Epoch]) -> Epoch | None:
    """Return the first epoch of least validation loss; None where there are no epochs.

    A training that diverges after the first epoch ends early with a warning. Raises ConfigurationError where the first
    epoch diverges.
    """
    best: Epoch | None = None
    try:
        for epoch in epochs:
            if best is None or epoch.validation_loss < best.validation_loss:
                best = epoch
    except ConfigurationError as error:
        if best is None:
            raise
        logger.warning("%s", error)
    return best


def _loss(model: RecurrentModel, batch: _Padded, loss: Loss) -> Tensor:
    outputs, _ = model(batch.rows)
    predicted, targets = outputs[batch.real], batch.targets[batch.real]  # [steps, D]
    if loss == "cosine":
        return (1.0 - nn.functional.cosine_similarity(predicted, targets, dim=1)).mean()
    return nn.functional.mse_loss(predicted, targets)
