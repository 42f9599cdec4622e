"""Checkpoints: the training state after an epoch on disk, from which an interrupted training resumes exactly.

A checkpoint is one safetensors file: every tensor that training changes, with JSON metadata for all other values and
the training's identity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sgp.errors import StoreError
from sgp.models.networks import write_tensors


class Stateful(Protocol):
    """An object with a torch state: a network, an optimizer, a replay buffer."""

    def state_dict(self) -> Any:
        """Return the state: numbers and tensors in mappings and sequences."""

    def load_state_dict(self, state: Any, /) -> Any:
        """Restore a state."""


# The objects that training changes, by name.
Parts = Mapping[str, Stateful | torch.Generator | np.random.Generator]


class TrainingProgress(NamedTuple):
    """Number of completed epochs, and the epoch of least validation loss (0 before the first)."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf


@dataclass(frozen=True)
class Checkpoints:
    """The last checkpoints of one training in its own folder: `epoch7.safetensors`.

    `training` identifies the training (`identify`). The last `keep` checkpoints are stored: the last one, and the
    previous one for a caller that was interrupted before it recorded the last.
    """

    folder: Path
    training: str
    keep: int = 2

    def save(self, progress: TrainingProgress, parts: Parts) -> None:
        """Write a checkpoint; delete the oldest, and later ones of a training that resumed from an earlier epoch."""
        write_checkpoint(self._file(progress.epoch), self.training, progress, parts)
        numbers = self._numbers()
        for number in {*numbers}.difference([each for each in numbers if each <= progress.epoch][-self.keep :]):
            self._file(number).unlink()

    def resume(self, parts: Parts, latest: int | None = None) -> TrainingProgress:
        """Restore the last checkpoint up to epoch `latest`; without a checkpoint nothing changes."""
        numbers = [number for number in self._numbers() if latest is None or number <= latest]
        return read_checkpoint(self._file(numbers[-1]), self.training, parts) if numbers else TrainingProgress()

    def _numbers(self) -> list[int]:
        names = (path.stem.removeprefix("epoch") for path in self.folder.glob("epoch*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())

    def _file(self, number: int) -> Path:
        return self.folder / f"epoch{number}.safetensors"


def identify(facts: object, tensors: Iterable[Tensor] = ()) -> str:
    """Return a training's identity: the SHA-256 of the `repr` of its configuration and of tensors."""
    digest = sha256(repr(facts).encode())
    for tensor in tensors:
        digest.update(f" {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, training: str, progress: TrainingProgress, parts: Parts) -> None:
    """Write the states of a training's parts."""
    states = {name: _state(part) for name, part in parts.items()}
    tensors: dict[str, Tensor] = {}
    record = _to_json({"progress": list(progress), "parts": states}, "", tensors)
    write_tensors(path, tensors, {"training": training, "record": json.dumps(record)})


def read_checkpoint(path: Path, training: str, parts: Parts) -> TrainingProgress:
    """Restore the states of a training's parts; raises StoreError for a damaged file or a file of another training."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
        if metadata["training"] != training:
            raise StoreError(f"{path} is of another training; delete {path.parent} and train again")
        record = _from_json(json.loads(metadata["record"]), tensors)
        for name, part in parts.items():
            _restore(part, record["parts"][name])
        return TrainingProgress(*record["progress"])
    except (SafetensorError, KeyError, RuntimeError, TypeError, ValueError, OSError) as error:
        raise StoreError(
            f"{path} holds no checkpoint of this training; delete {path.parent} and train again"
        ) from error


def _state(part: Stateful | torch.Generator | np.random.Generator) -> Any:
    if isinstance(part, torch.Generator):
        return part.get_state()
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return part.state_dict()


def _restore(part: Stateful | torch.Generator | np.random.Generator, state: Any) -> None:
    if isinstance(part, torch.Generator):
        part.set_state(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    else:
        part.load_state_dict(state)


def _to_json(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """Convert a value to JSON; its tensors go into `tensors`, keyed by their paths within the value.

    Tuples and mappings are encoded explicitly, because JSON has neither tuples nor numeric keys. Tensors are copied,
    because safetensors rejects shared memory (e.g. tied embedding and output weights).
    """
    match value:
        case Tensor():
            tensors[path] = value.detach().cpu().clone()
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
