"""The epochs of a training with torch; what was interrupted goes on after its last epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.training.checkpoint import Best, Checkpoints, Moment, Parts
from sgp.workers import one_thread


@dataclass(frozen=True, eq=False)
class Epoch:
    """What a network was after an epoch, counted from 1: its weights on the CPU, and its mean losses.

    `train_loss` is the mean over what the epoch looked at, each before its step; `compared` is what else was measured
    in the problems for validation.
    """

    number: int
    train_loss: float
    validation_loss: float
    weights: Mapping[str, Tensor]
    compared: Mapping[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """What a run tells of it."""
        losses = {"train_loss": self.train_loss, "validation_loss": self.validation_loss}
        return {"epoch": self.number, **losses, **self.compared}


def train_epochs(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    epochs: int,
    train: Callable[[int], float],
    validate: Callable[[], float],
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
    others: Parts = MappingProxyType({}),
    patience: int | None = None,
) -> Iterator[Epoch]:
    """Calls `train` for each number from 1, which takes an epoch's steps and gives their mean loss, then `validate`.

    Gives the epochs after the first `after`, and ends early where the loss in validation has not fallen for `patience`
    of them. `folder` keeps the last two with the states of the optimizer and of
    `others`, from which the same `training` (a name of data, configuration and seed) goes on. So an interrupted
    training gives what an uninterrupted one gives, if an epoch depends on these and its number alone. One thread
    computes, so that a seed gives the same weights whatever else runs (on a GPU, sums are taken in any order, and the
    last bits differ). Raises ConfigurationError where a loss is no longer finite, StoreError where the folder holds a
    damaged epoch or one of another training.
    """
    parts: Parts = {"model": model.to(device), "optimizer": optimizer, **others}
    checkpoints = Checkpoints(folder, training)
    moment = checkpoints.resume(parts, after)
    least = moment.best
    for number in range(moment.number + 1, epochs + 1):
        if patience is not None and least is not None and number - least.number > patience:
            return
        with one_thread():
            train_loss = train(number)
            validation_loss = validate()
        if not math.isfinite(train_loss + validation_loss):
            raise ConfigurationError(
                f"epoch {number} has train loss {train_loss} and validation loss {validation_loss}; expected numbers, "
                f"as a lower learning_rate may give (it was {optimizer.param_groups[0]['lr']:g} by then)"
            )
        if least is None or validation_loss < least.facts["validation_loss"]:
            least = Best(number, {"validation_loss": validation_loss}, {})  # whoever keeps its weights has them
        checkpoints.save(Moment(number, least), parts)
        if number > after:
            weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}
            yield Epoch(number, train_loss, validation_loss, weights)
