"""The loop by which all torch networks are trained, epoch by epoch, with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.training.checkpoint import Checkpoints, Parts, TrainingProgress
from sgp.workers import one_thread

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Schedule:
    """How many epochs, with which learning rate, and when training stops early."""

    epochs: int
    learning_rate: Callable[[int, int], float]  # of an epoch, counted from 1, and a batch of it, counted from 0
    clip: float | None = None  # longest gradient of all weights together
    patience: int | None = None  # epochs without a lower validation loss, after which training ends


@dataclass(frozen=True)
class FitContext:
    """Where and for whom a network is trained.

    `folder` receives the checkpoints (none where it is None), of the epochs `checkpoint_epochs` or of all. `training`
    identifies data, configuration and seed. Only epochs after the first `after` are given.
    """

    seed: int
    device: Device = "cpu"
    folder: Path | None = None
    training: str = ""
    after: int = 0
    checkpoint_epochs: Collection[int] | None = None


class LossPart(NamedTuple):
    """The loss of a part of a batch: what is minimised, the sum that is reported, and over how many examples."""

    loss: Tensor
    total: float | Tensor
    examples: int


@dataclass(frozen=True, eq=False)
class Epoch:
    """A network after an epoch, counted from 1: its weights on the CPU, and its mean losses.

    `train_loss` is the mean over the batches of the epoch, each before its step (None of a network without training);
    `metrics` holds what else was measured on the validation problems.
    """

    number: int
    train_loss: float | None
    validation_loss: float
    weights: Mapping[str, Tensor]
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """What a run records of it."""
        train = {} if self.train_loss is None else {"train_loss": self.train_loss}
        return {"epoch": self.number, **train, "validation_loss": self.validation_loss, **self.metrics}


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    batches: Callable[[int], Iterable[Batch]],
    losses: Callable[[Batch], Iterable[LossPart]],
    validate: Callable[[], float],
    context: FitContext,
    others: Parts = MappingProxyType({}),
) -> Iterator[Epoch]:
    """Trains in place, one step per batch, and gives each epoch after the first `context.after`.

    `batches` gives those of an epoch by its number, `losses` the parts of a batch, computed one after the other so that
    memory stays that of one part; their gradients add up. Checkpoints hold the states of model, optimizer and
    `others`: an interrupted training gives what an uninterrupted one gives if batches depend on these and on the
    epoch's number alone. One thread computes, so that a seed gives the same weights whatever else runs (on a GPU the
    last bits differ). Raises ConfigurationError where a loss is not finite, StoreError for a damaged checkpoint or one
    of another training.
    """
    parts: Parts = {"model": model.to(context.device), "optimizer": optimizer, **others}
    checkpoints = None if context.folder is None else Checkpoints(context.folder, context.training)
    progress = checkpoints.resume(parts, context.after) if checkpoints else TrainingProgress()
    for number in range(progress.epoch + 1, schedule.epochs + 1):
        waited = number - progress.best_epoch
        if schedule.patience is not None and progress.best_epoch and waited > schedule.patience:
            return
        with one_thread():
            train_loss = _train_epoch(model.train(), optimizer, schedule, number, batches(number), losses)
            model.eval()
            validation_loss = validate()
        _require_finite(validation_loss, f"epoch {number} has the validation loss", optimizer)
        if validation_loss < progress.best_loss:
            progress = TrainingProgress(number, number, validation_loss)
        progress = progress._replace(epoch=number)
        if checkpoints and (context.checkpoint_epochs is None or number in context.checkpoint_epochs):
            checkpoints.save(progress, parts)
        if number > context.after:
            weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}
            yield Epoch(number, train_loss, validation_loss, weights)


def _train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    number: int,
    batches: Iterable[Batch],
    losses: Callable[[Batch], Iterable[LossPart]],
) -> float:
    """The mean loss of an epoch's batches."""
    total, count = 0.0, 0
    for place, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = schedule.learning_rate(number, place)
        optimizer.zero_grad()
        for part in losses(batch):
            _require_finite(float(part.loss.detach()), f"step {place + 1} of epoch {number} has the loss", optimizer)
            part.loss.backward()  # type: ignore[no-untyped-call]
            total += float(part.total)
            count += part.examples
        if schedule.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
        optimizer.step()
    return total / max(count, 1)


def _require_finite(loss: float, what: str, optimizer: torch.optim.Optimizer) -> None:
    if not math.isfinite(loss):
        raise ConfigurationError(
            f"{what} {loss}; expected a finite number, as a learning_rate below {optimizer.param_groups[0]['lr']:g} "
            "may give; the epochs before are kept"
        )
