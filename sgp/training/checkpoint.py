"""Checkpoints: moments of a training on disk, from which it goes on as if it had not been interrupted.

A checkpoint is one safetensors file: every tensor that the training changes, and beside them as JSON what is no tensor
and the training's identity. It serves whatever trains by epochs or by steps with torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sgp.errors import StoreError
from sgp.models.weights import write_tensors


class Stateful(Protocol):
    """What torch gives a state to: networks, optimizers, schedules of the learning rate."""

    def state_dict(self) -> Any:
        """The state: numbers and tensors in mappings and sequences."""

    def load_state_dict(self, state: Any, /) -> Any:
        """Takes such a state."""


# What a training changes as it goes, by name; generators are those of `np.random.default_rng`, and all of torch's.
Parts = Mapping[str, Stateful | torch.Generator | np.random.Generator]


@dataclass(frozen=True, eq=False)
class Best:
    """The best moment of a training so far: its number, what is told of it (losses), and the weights it had."""

    number: int
    facts: Mapping[str, float]
    weights: Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Moment:
    """How far a training is: epochs or steps done, 0 before the first, and its best so far where it keeps one."""

    number: int
    best: Best | None = None


@dataclass(frozen=True)
class Checkpoints:
    """The last moments of one training in a folder of its own, a file each: `epoch7.safetensors`.

    `training` tells trainings apart (`identify`), `unit` is what is counted. Of moments `keep` are kept: the last, and
    the one before for whoever was ended before taking note of the last.
    """

    folder: Path
    training: str
    unit: Literal["epoch", "step"] = "epoch"
    keep: int = 2

    def save(self, moment: Moment, parts: Parts) -> None:
        """Keeps this moment. Later ones, of a training that went back to an earlier one, go, and so do the oldest."""
        write_checkpoint(self._file(moment.number), self.training, moment, parts)
        kept = self._kept()
        for number in {*kept}.difference([each for each in kept if each <= moment.number][-self.keep :]):
            self._file(number).unlink()

    def resume(self, parts: Parts, latest: int | None = None) -> Moment:
        """Takes the last moment kept, or the last one up to number `latest`; where there is none, leaves all as it is.

        Raises StoreError for a checkpoint that is damaged or of another training.
        """
        numbers = [each for each in self._kept() if latest is None or each <= latest]
        return read_checkpoint(self._file(numbers[-1]), self.training, parts) if numbers else Moment(0)

    def _kept(self) -> list[int]:
        """The numbers of the moments kept, ascending."""
        names = (path.stem.removeprefix(self.unit) for path in self.folder.glob(f"{self.unit}*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())

    def _file(self, number: int) -> Path:
        return self.folder / f"{self.unit}{number}.safetensors"


def identify(facts: object, tensors: Iterable[Tensor] = ()) -> str:
    """The identity of a training, a SHA-256: of what it is told, such as configuration and seed, by its `repr`, and of
    tensors, such as its data and first weights.
    """
    digest = sha256(repr(facts).encode())
    for tensor in tensors:
        digest.update(f" {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, training: str, moment: Moment, parts: Parts) -> None:
    """Writes a moment of a training with the states of its parts."""
    best = moment.best and {"number": moment.best.number, "facts": moment.best.facts, "weights": moment.best.weights}
    states = {name: _state(part) for name, part in parts.items()}
    tensors: dict[str, Tensor] = {}
    record = _taken_apart({"number": moment.number, "best": best, "parts": states}, "", tensors)
    write_tensors(path, tensors, {"training": training, "record": json.dumps(record)})


def read_checkpoint(path: Path, training: str, parts: Parts) -> Moment:
    """Gives the parts of a training the states that they had, and tells which moment that was.

    Raises StoreError for a file that is missing, damaged, no checkpoint, or of another training.
    """
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
        if about["training"] != training:
            raise StoreError(f"{path} is of another training; delete {path.parent} and train again")
        record = _put_together(json.loads(about["record"]), tensors)
        for name, part in parts.items():
            _restore(part, record["parts"][name])
        return Moment(record["number"], record["best"] and Best(**record["best"]))
    except (SafetensorError, KeyError, RuntimeError, TypeError, ValueError, OSError) as error:
        raise StoreError(f"{path} holds no moment of this training; delete {path.parent} and train again") from error


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


def _taken_apart(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """The value as JSON; its tensors go into `tensors` by their paths within it.

    JSON has neither tuples nor numbers for keys, so that both are spelt out. Tensors are copied: safetensors takes none
    that share memory, as the weights of an embedding and of the head tied to it do.
    """
    match value:
        case Tensor():
            tensors[path] = value.detach().cpu().clone()
            return {"tensor": path}
        case Mapping():
            return {"mapping": [[key, _taken_apart(each, f"{path}/{key}", tensors)] for key, each in value.items()]}
        case list() | tuple():
            found = [_taken_apart(each, f"{path}/{place}", tensors) for place, each in enumerate(value)]
            return found if isinstance(value, list) else {"tuple": found}
        case _:
            return value


def _put_together(record: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The value that `_taken_apart` was given."""
    match record:
        case {"tensor": path}:
            return tensors[path]
        case {"mapping": pairs}:
            return {key: _put_together(each, tensors) for key, each in pairs}
        case {"tuple": values}:
            return tuple(_put_together(each, tensors) for each in values)
        case list():
            return [_put_together(each, tensors) for each in record]
        case _:
            return record
