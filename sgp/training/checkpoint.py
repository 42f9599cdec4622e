"""Checkpoints: the state of a training after an epoch on disk, from which it resumes as if never interrupted.

A checkpoint is one safetensors file: every tensor that the training changes, and as JSON what is no tensor and the
training's identity.
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
    """Whatever has a state as torch gives it: networks, optimizers, replay buffers."""

    def state_dict(self) -> Any:
        """The state: numbers and tensors in mappings and sequences."""

    def load_state_dict(self, state: Any, /) -> Any:
        """Restores such a state."""


# What a training changes as it goes, by name.
Parts = Mapping[str, Stateful | torch.Generator | np.random.Generator]


class TrainingProgress(NamedTuple):
    """Epochs done, and the epoch of least validation loss among them (0 before the first)."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf


@dataclass(frozen=True)
class Checkpoints:
    """The last checkpoints of one training in a folder of its own: `epoch7.safetensors`.

    `training` identifies the training (`identify`). The last `keep` are kept: one, and the one before for a caller
    that was interrupted before it recorded the last.
    """

    folder: Path
    training: str
    keep: int = 2

    def save(self, progress: TrainingProgress, parts: Parts) -> None:
        """Writes a checkpoint and deletes later ones, as of a training that went back, and the oldest."""
        write_checkpoint(self._file(progress.epoch), self.training, progress, parts)
        numbers = self._numbers()
        for number in {*numbers}.difference([each for each in numbers if each <= progress.epoch][-self.keep :]):
            self._file(number).unlink()

    def resume(self, parts: Parts, latest: int | None = None) -> TrainingProgress:
        """Restores the last checkpoint, or the last one up to epoch `latest`; without any all stays as it is."""
        numbers = [number for number in self._numbers() if latest is None or number <= latest]
        return read_checkpoint(self._file(numbers[-1]), self.training, parts) if numbers else TrainingProgress()

    def _numbers(self) -> list[int]:
        names = (path.stem.removeprefix("epoch") for path in self.folder.glob("epoch*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())

    def _file(self, number: int) -> Path:
        return self.folder / f"epoch{number}.safetensors"


def identify(facts: object, tensors: Iterable[Tensor] = ()) -> str:
    """A training's identity: the SHA-256 of the `repr` of its configuration and of tensors."""
    digest = sha256(repr(facts).encode())
    for tensor in tensors:
        digest.update(f" {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, training: str, progress: TrainingProgress, parts: Parts) -> None:
    """Writes the states of a training's parts."""
    states = {name: _state(part) for name, part in parts.items()}
    tensors: dict[str, Tensor] = {}
    record = _to_json({"progress": list(progress), "parts": states}, "", tensors)
    write_tensors(path, tensors, {"training": training, "record": json.dumps(record)})


def read_checkpoint(path: Path, training: str, parts: Parts) -> TrainingProgress:
    """Restores the states of a training's parts.

    Raises StoreError for a file that is missing, damaged, no checkpoint, or of another training.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
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
    """The value as JSON; its tensors go into `tensors` by their paths within it.

    JSON has neither tuples nor numbers for keys, so both are spelt out. Tensors are copied: safetensors takes none
    that share memory, as the weights of an embedding and of the head tied to it do.
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
    """The value that `_to_json` was given."""
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
