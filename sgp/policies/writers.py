"""Models as writers: they read states and write tokens behind them, many at once, and nothing is computed twice.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. What is computed beside a row
changes its last bits alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgp.encoders.tokens import BEGIN, Naming, Tokens
from sgp.models.device import Device
from sgp.models.transformer import Before, Kept, PlanTransformer, SequenceTransformer, TransformerShape, padded
from sgp.planning.clock import look
from sgp.planning.task import State, Task

MOST_TOKENS = 500  # of all that is written for a problem (symt, section 5)
_BYTES = 1 << 28  # of keys, values and scores that are computed together
_COPIES = 6  # of scores that exist at once


class Told(NamedTuple):
    """What a writer reads: a state of a task whose objects have names."""

    task: Task
    state: State
    naming: Naming


@dataclass(frozen=True, eq=False)
class Tail:
    """What is written up to some token: the logits [tokens] of the next one, and how many stand behind the begin.

    `memory` is the writer's own.
    """

    following: NDArray[np.float64]
    length: int
    memory: Any = None


class Writer(Protocol):
    """A model that reads states and writes tokens behind them."""

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Why it cannot read a state and write behind it, or None where it can."""

    def begin(self, tokens: Tokens, told: Sequence[Told]) -> list[Tail]:
        """Reads states; nothing is written."""
        ...

    def write(self, tails: Sequence[Tail], rows: Sequence[Sequence[int]]) -> list[Tail]:
        """Writes tokens, at least one, behind others."""
        ...

    def weigh(self, tails: Sequence[Tail], rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The logarithms [n] of the probabilities of rows of tokens that would be written behind others."""
        ...


class _Book:
    """Keys and values [layers, 2, heads, capacity, d_k] of tokens, written one behind the other."""

    def __init__(self, pages: Tensor, used: int):
        self.pages, self.used = pages, used


@dataclass(frozen=True, eq=False)
class _Read:
    """The first tokens of a book, and what is known of the state [2, heads, atoms, d_k] where that is apart."""

    atoms: Tensor
    book: _Book
    length: int

    @property
    def pages(self) -> Tensor:
        return self.book.pages[:, :, :, : self.length]

    def followed_by(self, own: Tensor) -> _Read:
        """With further tokens: in the same book, unless others stand there already or it is full."""
        length, book = self.length + own.shape[3], self.book
        if book.used != self.length or book.pages.shape[3] < length:
            book = _Book(own.new_empty((*own.shape[:3], 2 * length, own.shape[4])), self.length)
            book.pages[:, :, :, : self.length] = self.pages
        book.pages[:, :, :, self.length : length] = own
        book.used = length
        return _Read(self.atoms, book, length)


class _NetworkWriter:
    """What writers have in common: the network reads many rows at once, each behind what was written before it."""

    model: PlanTransformer | SequenceTransformer
    device: Device

    def write(self, tails: Sequence[Tail], rows: Sequence[Sequence[int]]) -> list[Tail]:
        """All rows at once."""
        return self._written([each.memory for each in tails], rows, [each.length for each in tails])

    @torch.inference_mode()
    def weigh(self, tails: Sequence[Tail], rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """All rows at once."""
        found = np.empty(len(rows))
        for place, behind, _ in self._passed([each.memory for each in tails], rows):
            logits = np.vstack([tails[place].following, behind[:-1]])
            logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
            found[place] = logs[np.arange(len(logs)), rows[place]].sum()
        return found

    @torch.inference_mode()
    def _written(
        self, before: Sequence[_Read], rows: Sequence[Sequence[int]], lengths: Sequence[int], told: bool = False
    ) -> list[Tail]:
        """What stands behind rows; those that are `told` are no part of a plan."""
        tails = dict[int, Tail]()
        for place, logits, own in self._passed(before, rows):
            length = lengths[place] + (0 if told else len(rows[place]))
            tails[place] = Tail(logits[-1], length, before[place].followed_by(own))
        return [tails[place] for place in range(len(rows))]

    def _passed(
        self, before: Sequence[_Read], rows: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, NDArray[np.float64], Tensor]]:
        """The place of each row, the logits behind each of its tokens, and their own keys and values."""
        read = [each.atoms.shape[2] + each.length + len(row) for each, row in zip(before, rows, strict=True)]
        for places in _together([_size(self.model.shape, len(row), of) for row, of in zip(rows, read, strict=True)]):
            plans, written = padded([np.array(rows[place], np.int64) for place in places], self.device)
            reads = [before[place] for place in places]
            if all(each is reads[0] for each in reads):  # as the candidates of one node
                reads = reads[:1]
            atoms, real = _stacked([each.atoms for each in reads], len(places))
            pages, there = _stacked([each.pages for each in reads], len(places))
            earlier = Before([Kept(*layer) for layer in pages], there) if there.shape[1] else None
            logits, kept = self._decoded(plans, written, (Kept(*atoms), real), earlier)
            own = torch.stack([torch.stack(list(each)) for each in kept])
            for number, place in enumerate(places):
                length = len(rows[place])
                found = logits[number, :length].double().cpu().numpy()
                yield place, found, own[:, :, number, :, :length]

    @abstractmethod
    def _decoded(
        self, plans: Tensor, written: Tensor, atoms: tuple[Kept, Tensor], before: Before | None
    ) -> tuple[Tensor, Sequence[Kept]]:
        """The logits behind tokens [b, t], of which `written` [b, t] are some, and their keys and values by layer."""

    def _unwritten(self, atoms: Tensor) -> _Read:
        """A book without tokens."""
        shape = self.model.shape
        return _Read(atoms, _Book(atoms.new_empty((shape.layers, 2, shape.heads, 0, shape.width)), 0), 0)


@dataclass(frozen=True, eq=False)
class PlanWriter(_NetworkWriter):
    """SymT-ED as a writer."""

    model: PlanTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """No state has too many atoms."""
        return None

    @torch.inference_mode()
    def begin(self, tokens: Tokens, told: Sequence[Told]) -> list[Tail]:
        """Encodes the atoms of states."""
        rows = [tokens.named(tokens.state(each.task, each.state), each.naming) for each in told]
        read = dict[int, _Read]()
        for places in _together([_size(self.model.shape, len(row), len(row)) for row in rows]):
            atoms, real = padded([rows[place] for place in places], self.device)
            kept, _ = self.model.crossed(self.model.encode(atoms, real))
            both = torch.stack(list(kept))
            for number, place in enumerate(places):
                read[place] = self._unwritten(both[:, number, :, : len(rows[place])].clone())
        return self._written([read[place] for place in range(len(rows))], [[BEGIN]] * len(rows), [0] * len(rows), True)

    def _decoded(
        self, plans: Tensor, written: Tensor, atoms: tuple[Kept, Tensor], before: Before | None
    ) -> tuple[Tensor, Sequence[Kept]]:
        return self.model.decode(plans, written, atoms, before)


@dataclass(frozen=True, eq=False)
class SequenceWriter(_NetworkWriter):
    """PlanGPT as a writer."""

    model: SequenceTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Its positions are so many."""
        length = tokens.sequence_length(task, state)
        if length + MOST_TOKENS <= self.model.positions:
            return None
        return (
            f"state and goal have {length} tokens and a plan up to {MOST_TOKENS}, and the model "
            f"{self.model.positions} positions; train with positions={length + MOST_TOKENS} or more"
        )

    @torch.inference_mode()
    def begin(self, tokens: Tokens, told: Sequence[Told]) -> list[Tail]:
        """Reads states and goals."""
        rows = [tokens.sequence(each.task, each.state, each.naming).tolist() for each in told]
        shape = self.model.shape
        none = torch.empty((2, shape.heads, 0, shape.width), device=self.device)
        return self._written([self._unwritten(none) for _ in rows], rows, [0] * len(rows), True)

    def _decoded(
        self, plans: Tensor, written: Tensor, atoms: tuple[Kept, Tensor], before: Before | None
    ) -> tuple[Tensor, Sequence[Kept]]:
        return self.model.decode(plans, written, before)


def _size(shape: TransformerShape, count: int, read: int) -> int:
    """The bytes of so many tokens that attend to so many."""
    return 4 * read * (2 * shape.layers * shape.hidden + _COPIES * shape.heads * count)


def _together(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Places of rows that are computed together, the small ones first: at most `_BYTES` of them, or one.

    Each counts as the largest, to which it is padded. Looks at the limits in between.
    """
    places = list[int]()
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        if places and (len(places) + 1) * sizes[place] > _BYTES:
            look()
            yield places
            places = []
        places.append(place)
    look()
    if places:
        yield places


def _stacked(parts: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """Parts [..., heads, n, d_k] as one [..., b, heads, n, d_k], padded, and which of it [b, n] they are.

    There are `count` parts, or one that stands for so many and is not copied.
    """
    longest = max(each.shape[-2] for each in parts)
    *first, heads, _, width = parts[0].shape
    table = parts[0].new_zeros((*first, len(parts), heads, longest, width))
    for number, each in enumerate(parts):
        table[..., number, :, : each.shape[-2], :] = each
    lengths = torch.tensor([each.shape[-2] for each in parts], device=table.device)
    there = torch.arange(longest, device=table.device)[None] < lengths[:, None]
    return table.expand(*first, count, heads, longest, width), there.expand(count, -1)
