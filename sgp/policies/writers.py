"""Transformer decoding: read prompts and append tokens, in batches, with a key-value cache.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. Other rows of a batch change
only the last bits of a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgp.encoders.tokens import BEGIN, Naming, Tokens
from sgp.models.device import Device
from sgp.models.transformer import (
    KeyValues,
    PastKeyValues,
    PlanTransformer,
    SequenceTransformer,
    TransformerShape,
    padded,
)
from sgp.planning.clock import check_limits
from sgp.planning.task import State, Task

MOST_TOKENS = 500  # maximum number of tokens written for a problem (symt, section 5)
_BYTES = 1 << 28  # of keys, values and scores computed at once
_COPIES = 6  # of scores that exist at once


class DecoderInput(NamedTuple):
    """A state of a task with names for the objects."""

    task: Task
    state: State
    naming: Naming


@dataclass(frozen=True, eq=False)
class Prefix:
    """Tokens written so far: logits [tokens] of the next token, number of tokens, and the decoder's state."""

    logits: NDArray[np.float64]
    length: int
    state: Any = None


class KVCache:
    """A buffer [layers, 2, heads, capacity, d_k] of keys and values; the first `used` tokens are filled."""

    def __init__(self, buffer: Tensor, used: int):
        self.buffer, self.used = buffer, used


@dataclass(frozen=True, eq=False)
class _DecoderState:
    """The first `length` tokens of a cache; the encoder's keys and values [2, heads, atoms, d_k] (maybe 0 atoms)."""

    encoded: Tensor
    cache: KVCache
    length: int

    @property
    def key_values(self) -> Tensor:
        return self.cache.buffer[:, :, :, : self.length]

    def appended(self, new: Tensor) -> _DecoderState:
        """Append tokens, in the same cache unless it is full or already continues differently."""
        length, cache = self.length + new.shape[3], self.cache
        if cache.used != self.length or cache.buffer.shape[3] < length:
            cache = KVCache(new.new_empty((*new.shape[:3], 2 * length, new.shape[4])), self.length)
            cache.buffer[:, :, :, : self.length] = self.key_values
        cache.buffer[:, :, :, self.length : length] = new
        cache.used = length
        return _DecoderState(self.encoded, cache, length)


class Writer(ABC):
    """A network that reads states and writes tokens after them, for many rows at once, each after its own prefix."""

    model: PlanTransformer | SequenceTransformer
    device: Device

    @abstractmethod
    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Return why the model cannot read a state and write after it, or None."""

    @abstractmethod
    def begin(self, tokens: Tokens, inputs: Sequence[DecoderInput]) -> list[Prefix]:
        """Read states and return their prefixes without written tokens."""

    def write(self, prefixes: Sequence[Prefix], rows: Sequence[Sequence[int]]) -> list[Prefix]:
        """Append all rows in batches."""
        lengths = [prefix.length + len(row) for prefix, row in zip(prefixes, rows, strict=True)]
        return self._append([prefix.state for prefix in prefixes], rows, lengths)

    @torch.inference_mode()
    def log_probs(self, prefixes: Sequence[Prefix], rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the log probabilities of all rows, computed in batches."""
        found = np.empty(len(rows))
        for place, after, _ in self._decode_rows([prefix.state for prefix in prefixes], rows):
            logits = np.vstack([prefixes[place].logits, after[:-1]])
            logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
            found[place] = logs[np.arange(len(logs)), rows[place]].sum()
        return found

    @torch.inference_mode()
    def _append(
        self, states: Sequence[_DecoderState], rows: Sequence[Sequence[int]], lengths: Sequence[int]
    ) -> list[Prefix]:
        """Append a row to each state and return the prefixes, of the given lengths."""
        prefixes = {
            place: Prefix(logits[-1], lengths[place], states[place].appended(new))
            for place, logits, new in self._decode_rows(states, rows)
        }
        return [prefixes[place] for place in range(len(rows))]

    def _decode_rows(
        self, states: Sequence[_DecoderState], rows: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, NDArray[np.float64], Tensor]]:
        """Yield each row's index, the logits after each of its tokens, and its keys and values."""
        read = [each.encoded.shape[2] + each.length + len(row) for each, row in zip(states, rows, strict=True)]
        for places in _batches([_size(self.model.shape, len(row), of) for row, of in zip(rows, read, strict=True)]):
            tokens, present = padded([np.array(rows[place], np.int64) for place in places], self.device)
            some = [states[place] for place in places]
            if all(each is some[0] for each in some):  # true for the candidates of one node
                some = some[:1]
            encoded, real = _stacked([each.encoded for each in some], len(places))
            layers, cached = _stacked([each.key_values for each in some], len(places))
            past = PastKeyValues([KeyValues(*layer) for layer in layers], cached) if cached.shape[1] else None
            logits, caches = self._decode(tokens, present, (KeyValues(*encoded), real), past)
            new = torch.stack([torch.stack(list(each)) for each in caches])
            for number, place in enumerate(places):
                length = len(rows[place])
                yield place, logits[number, :length].double().cpu().numpy(), new[:, :, number, :, :length]

    @abstractmethod
    def _decode(
        self, tokens: Tensor, present: Tensor, encoded: tuple[KeyValues, Tensor], past: PastKeyValues | None
    ) -> tuple[Tensor, Sequence[KeyValues]]:
        """Return the logits after tokens [b, t], masked by `present` [b, t], and their keys and values by layer."""

    def _empty(self, encoded: Tensor) -> _DecoderState:
        """Return a state without tokens."""
        shape = self.model.shape
        return _DecoderState(encoded, KVCache(encoded.new_empty((shape.layers, 2, shape.heads, 0, shape.width)), 0), 0)


@dataclass(frozen=True, eq=False)
class PlanWriter(Writer):
    """SymT-ED as a writer."""

    model: PlanTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Return None: no state has too many atoms."""
        return None

    @torch.inference_mode()
    def begin(self, tokens: Tokens, inputs: Sequence[DecoderInput]) -> list[Prefix]:
        """Encode the atoms of states."""
        rows = [tokens.named(tokens.state(each.task, each.state), each.naming) for each in inputs]
        states = dict[int, _DecoderState]()
        for places in _batches([_size(self.model.shape, len(row), len(row)) for row in rows]):
            atoms, real = padded([rows[place] for place in places], self.device)
            key_values, _ = self.model.crossed(self.model.encode(atoms, real))
            encoded = torch.stack(list(key_values))
            for number, place in enumerate(places):
                states[place] = self._empty(encoded[:, number, :, : len(rows[place])].clone())
        return self._append([states[place] for place in range(len(rows))], [[BEGIN]] * len(rows), [0] * len(rows))

    def _decode(
        self, tokens: Tensor, present: Tensor, encoded: tuple[KeyValues, Tensor], past: PastKeyValues | None
    ) -> tuple[Tensor, Sequence[KeyValues]]:
        return self.model.decode(tokens, present, encoded, past)


@dataclass(frozen=True, eq=False)
class SequenceWriter(Writer):
    """PlanGPT as a writer."""

    model: SequenceTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Return why the model has too few positions, or None."""
        length = tokens.sequence_length(task, state)
        if length + MOST_TOKENS <= self.model.positions:
            return None
        return (
            f"state and goal have {length} tokens and a plan up to {MOST_TOKENS}, and the model "
            f"{self.model.positions} positions; train with positions={length + MOST_TOKENS} or more"
        )

    @torch.inference_mode()
    def begin(self, tokens: Tokens, inputs: Sequence[DecoderInput]) -> list[Prefix]:
        """Read states and goals."""
        rows = [tokens.sequence(each.task, each.state, each.naming).tolist() for each in inputs]
        shape = self.model.shape
        none = torch.empty((2, shape.heads, 0, shape.width), device=self.device)
        return self._append([self._empty(none) for _ in rows], rows, [0] * len(rows))

    def _decode(
        self, tokens: Tensor, present: Tensor, encoded: tuple[KeyValues, Tensor], past: PastKeyValues | None
    ) -> tuple[Tensor, Sequence[KeyValues]]:
        return self.model.decode(tokens, present, past)


def _size(shape: TransformerShape, count: int, read: int) -> int:
    """Return the bytes needed by `count` tokens that attend to `read` tokens."""
    return 4 * read * (2 * shape.layers * shape.hidden + _COPIES * shape.heads * count)


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices of rows to compute together, small rows first: at most `_BYTES`, or a single row.

    Each row counts as the largest, to which it is padded.
    """
    places = list[int]()
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        if places and (len(places) + 1) * sizes[place] > _BYTES:
            check_limits()
            yield places
            places = []
        places.append(place)
    check_limits()
    if places:
        yield places


def _stacked(parts: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """Stack parts [..., heads, n, d_k] to [..., b, heads, n, d_k], padded, and return the mask [b, n] of real tokens.

    There are `count` parts, or one part that is broadcast to `count` without copying.
    """
    longest = max(each.shape[-2] for each in parts)
    *first, heads, _, width = parts[0].shape
    table = parts[0].new_zeros((*first, len(parts), heads, longest, width))
    for number, each in enumerate(parts):
        table[..., number, :, : each.shape[-2], :] = each
    lengths = torch.tensor([each.shape[-2] for each in parts], device=table.device)
    real = torch.arange(longest, device=table.device)[None] < lengths[:, None]
    return table.expand(*first, count, heads, longest, width), real.expand(count, -1)
