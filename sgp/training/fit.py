"""The training loop of all torch networks, with checkpoints from which an interrupted training resumes exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sgp.errors import ConfigurationError, StoreError
from sgp.files import whole_file
from sgp.models.device import Device
from sgp.workers import one_thread

Batch = TypeVar("Batch")


# The objects that training changes, by name: networks, optimizers, buffers (with `state_dict`) and torch.Generator.
Parts = Mapping[str, Any]


class TrainingProgress(NamedTuple):
    """Number of completed epochs, and the epoch of least validation loss (0 before the first)."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf


@dataclass(frozen=True)
class Checkpoints:
    """The last `keep` checkpoints of a training (identified by `training`): the states of all parts after an epoch.

    The previous one is for a caller that was interrupted before it recorded the last.
    """

    folder: Path
    training: str
    keep: int = 2

    def save(self, progress: TrainingProgress, parts: Parts) -> None:
        """Write a checkpoint; delete the oldest, and later ones of a training that resumed from an earlier epoch."""
        states = {
            name: part.get_state() if isinstance(part, torch.Generator) else part.state_dict()
            for name, part in parts.items()
        }
        tensors: dict[str, Tensor] = {}
        record = json.dumps(_to_json({"progress": list(progress), "parts": states}, "", tensors))
        with whole_file(self._file(progress.epoch)) as temporary:
            save_file(tensors, temporary, {"training": self.training, "record": record})
        numbers = self._numbers()
        for number in {*numbers}.difference([each for each in numbers if each <= progress.epoch][-self.keep :]):
            self._file(number).unlink()

    def resume(self, parts: Parts, latest: int | None = None) -> TrainingProgress:
        """Restore the last checkpoint up to epoch `latest`; without a checkpoint nothing changes."""
        numbers = [number for number in self._numbers() if latest is None or number <= latest]
        if not numbers:
            return TrainingProgress()
        path = self._file(numbers[-1])
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
            if metadata["training"] != self.training:
                raise StoreError(f"{path} is of another training; delete {path.parent} and train again")
            record = _from_json(json.loads(metadata["record"]), tensors)
            for name, part in parts.items():
                state = record["parts"][name]
                _ = part.set_state(state) if isinstance(part, torch.Generator) else part.load_state_dict(state)
            return TrainingProgress(*record["progress"])
        except (SafetensorError, RuntimeError, KeyError, TypeError, ValueError, OSError) as error:
            raise StoreError(
                f"{path} holds no checkpoint of this training; delete {path.parent} and train again"
            ) from error

    def _numbers(self) -> list[int]:
        names = (path.stem.removeprefix("epoch") for path in self.folder.glob("epoch*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())

    def _file(self, number: int) -> Path:
        return self.folder / f"epoch{number}.safetensors"


def identify(facts: object) -> str:
    """Return a training's identity: the SHA-256 of the `repr` of its configuration."""
    return sha256(repr(facts).encode()).hexdigest()


def _to_json(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """Convert a value to JSON, tuples and mappings explicitly; copies of its tensors go into `tensors`."""
    match value:
        case Tensor():
            tensors[path] = value.detach().cpu().contiguous().clone()
            return {"tensor": path}
        case Mapping():
            return {"mapping": [[key, _to_json(item, f"{path}/{key}", tensors)] for key, item in value.items()]}
        case list() | tuple():
            items = [_to_json(item, f"{path}/{place}", tensors) for place, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        case _:
            return value


def _from_json(record: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Return the value that `_to_json` encoded."""
    match record:
        case {"tensor": path}:
            return tensors[path]
        case {"mapping": pairs}:
            return {key: _from_json(value, tensors) for key, value in pairs}
        case {"tuple": values}:
            return tuple(_from_json(value, tensors) for value in values)
        case list():
            return [_from_json(value, tensors) for value in record]
        case _:
            return record


@dataclass(frozen=True)
class Schedule:
    """Number of epochs, learning rate, gradient clipping and early stopping."""

    epochs: int
    learning_rate: Callable[[int, int], float]  # of (epoch counted from 1, batch counted from 0)
    clip: float | None = None  # maximum norm of the gradient of all weights together
    patience: int | None = None  # epochs without a lower validation loss before training stops


@dataclass(frozen=True)
class FitContext:
    """Seed, device, folder and epochs (default: all) of checkpoints; the first `after` epochs are not yielded."""

    seed: int
    device: Device = "cpu"
    folder: Path | None = None
    training: str = ""
    after: int = 0
    checkpoint_epochs: Collection[int] | None = None


class LossPart(NamedTuple):
    """Loss of one part of a batch: the minimised value, the reported sum, and its number of examples."""

    loss: Tensor
    total: float | Tensor
    examples: int


@dataclass(frozen=True, eq=False)
class Epoch:
    """A network after an epoch (from 1): weights on the CPU, mean losses (None: untrained), measurements."""

    number: int
    train_loss: float | None
    validation_loss: float
    weights: Mapping[str, Tensor]
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """The facts that a run records of the epoch."""
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
    """Train in place, one step per batch, and yield each epoch after the first `context.after`.

    `batches` returns the batches of an epoch by its number. `losses` yields the parts of a batch one after the other,
    which bounds memory; their gradients add up. Checkpoints store the states of model, optimizer and `others`. An
    interrupted training gives the same result as an uninterrupted one if batches depend only on these and on the
    epoch's number. One thread computes, so that a seed gives the same weights whatever else runs (on a GPU the last
    bits differ).
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
    """Train on an epoch's batches and return their mean loss."""
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
            "may give; the earlier epochs stay saved"
        )
