"""The transformers of symmetry-aware training: an encoder of atoms, a decoder of plans.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), sections 2 and 4. All layers of a stack
share their weights, and nothing tells positions: neither atoms nor tokens of a plan have one. What modules attend to
and what layers leave is given beside a result, because training compares it between two namings of one problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.weights import Network


@dataclass(frozen=True)
class TransformerShape:
    """The layers of a transformer; those of the paper are `PAPER`. Raises ConfigurationError for what cannot be."""

    layers: int = 6
    hidden: int = 128
    heads: int = 8

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"transformer {name} is {getattr(self, name)}; expected at least 1")
        if self.hidden % self.heads:
            raise ConfigurationError(
                f"transformer hidden is {self.hidden}; expected a multiple of heads, which is {self.heads}"
            )

    @property
    def width(self) -> int:
        """d_k, the numbers of a head, and those of hidden states that two namings share (symt, section 4)."""
        return self.hidden // self.heads


PAPER = TransformerShape(12, 768, 12)  # state-centric, Table 4; the heads are GPT-2's, which symt does not print


class Kept(NamedTuple):
    """Keys and values [b, heads, n, d_k] of tokens that were read."""

    keys: Tensor
    values: Tensor

    def behind(self, before: Kept | None) -> Kept:
        """Both, one after the other."""
        if before is None:
            return self
        return Kept(torch.cat([before.keys, self.keys], dim=2), torch.cat([before.values, self.values], dim=2))


class Before(NamedTuple):
    """What is kept by each layer of tokens that were read before others, and which of it [b, m] are tokens."""

    layers: Sequence[Kept]
    there: Tensor


class Attended(NamedTuple):
    """The scores [b, heads, n, m] of a module, and which of its rows [b, n] and columns [b, m] are tokens."""

    scores: Tensor
    rows: Tensor
    columns: Tensor


class Left(NamedTuple):
    """What a layer left [b, n, hidden], and which of it are tokens [b, n]."""

    hidden: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Seen:
    """What modules attended to and what layers left, in their order.

    Where `scores` are not asked for, modules leave none and are computed faster.
    """

    scores: bool = True
    attended: list[Attended] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


class Attention(nn.Module):
    """Multi-head attention, which gives its scores where they are asked for (symt, section 2)."""

    def __init__(self, shape: TransformerShape):
        super().__init__()
        self.shape = shape
        self.asks, self.keys, self.values, self.out = (nn.Linear(shape.hidden, shape.hidden) for _ in range(4))

    def kept(self, rows: Tensor) -> Kept:
        """Keys and values of rows [b, m, hidden]."""
        return Kept(self._by_head(self.keys(rows)), self._by_head(self.values(rows)))

    def forward(self, rows: Tensor, kept: Kept, open_to: Tensor, scores: bool) -> tuple[Tensor, Tensor | None]:
        """What rows [b, n, hidden] take from others, and the scores [b, heads, n, m] where they are asked for.

        `open_to` [b or 1, n or 1, m] says what each may attend to, at least one.
        """
        asks, given = self._by_head(self.asks(rows)), None
        if scores:
            logits = asks @ kept.keys.transpose(2, 3) / math.sqrt(self.shape.width)
            given = logits.masked_fill(~open_to[:, None], -math.inf).softmax(dim=3)
            taken = given @ kept.values
        else:
            mask = open_to[:, None].expand(len(rows), 1, rows.shape[1], open_to.shape[2])
            taken = nn.functional.scaled_dot_product_attention(asks, kept.keys, kept.values, mask)
        out: Tensor = self.out(taken.transpose(1, 2).flatten(2))
        return out, given

    def _by_head(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.shape.heads, self.shape.width).transpose(1, 2)


class Layer(nn.Module):
    """Attention among tokens, to the encoder's tokens where it is `crossing`, then each token by itself.

    Each part is normalised first and added.
    """

    def __init__(self, shape: TransformerShape, crossing: bool = False):
        super().__init__()
        self.among, self.before_among = Attention(shape), nn.LayerNorm(shape.hidden)
        self.cross: Attention | None = Attention(shape) if crossing else None
        self.before_cross: nn.LayerNorm | None = nn.LayerNorm(shape.hidden) if crossing else None
        self.alone = nn.Sequential(
            nn.LayerNorm(shape.hidden),
            nn.Linear(shape.hidden, 4 * shape.hidden),
            nn.GELU(),
            nn.Linear(4 * shape.hidden, shape.hidden),
        )

    def forward(
        self,
        rows: Tensor,
        real: Tensor,
        open_to: Tensor,
        seen: Seen | None = None,
        before: Kept | None = None,
        encoded: tuple[Kept, Tensor] | None = None,
    ) -> tuple[Tensor, Kept]:
        """The rows [b, n, hidden] after it, of which `real` [b, n] are tokens, and their own keys and values.

        Tokens that were read `before` are attended to first; `encoded` has the encoder's, and which [b, m] are tokens.
        """
        wanted = seen is not None and seen.scores
        normed = self.before_among(rows)
        own = self.among.kept(normed)
        taken, scores = self.among(normed, own.behind(before), open_to, wanted and before is None)
        rows = rows + taken
        if seen is not None and scores is not None:
            seen.attended.append(Attended(scores, real, real))
        if self.cross is not None and self.before_cross is not None and encoded is not None:
            kept, atoms = encoded
            taken, scores = self.cross(self.before_cross(rows), kept, atoms[:, None], wanted)
            rows = rows + taken
            if seen is not None and scores is not None:
                seen.attended.append(Attended(scores, real, atoms))
        rows = rows + self.alone(rows)
        if seen is not None:
            seen.left.append(Left(rows, real))
        return rows, own


class Encoded(NamedTuple):
    """The encoder's tokens [b, n, hidden], and which they are [b, n]; the rest pads."""

    rows: Tensor
    real: Tensor


class AtomEncoder(Network):
    """Atoms of named objects to what each carries in the end, exactly equivariant in the order of the atoms."""

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__()
        self.shape, self.tokens = shape, tokens
        self.embedding = nn.Embedding(tokens, shape.hidden)
        self.atom = nn.Linear((1 + arity) * shape.hidden, shape.hidden)
        self.encoder = Layer(shape)

    def encode(self, atoms: Tensor, real: Tensor, seen: Seen | None = None) -> Encoded:
        """Atoms [b, n, 1 + arity] in tokens, of which `real` [b, n] are some."""
        rows = self.atom(self.embedding(atoms).flatten(2))
        for _ in range(self.shape.layers):
            rows, _ = self.encoder(rows, real, real[:, None], seen)
        return Encoded(rows, real)


class HeuristicTransformer(AtomEncoder):
    """SymT-E: a state and its goal to how far the goal is, read from d_k numbers of each atom, summed.

    They are those that two namings are to share, normalised among themselves, so that nothing else is read.
    """

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__(tokens, arity, shape)
        self.shared = nn.LayerNorm(shape.width)
        self.readout = nn.Sequential(nn.Linear(shape.width, shape.hidden), nn.GELU(), nn.Linear(shape.hidden, 1))

    def forward(self, atoms: Tensor, real: Tensor, scores: bool = True) -> tuple[Tensor, Seen]:
        """Distances [b] of states in tokens; see `encode`."""
        seen = Seen(scores)
        return self.values(atoms, real, seen), seen

    def values(self, atoms: Tensor, real: Tensor, seen: Seen | None = None) -> Tensor:
        """The same without what was seen, unless there is where to keep it."""
        rows = self.shared(self.encode(atoms, real, seen).rows[:, :, : self.shape.width])
        values: Tensor = self.readout((rows * real[:, :, None]).sum(dim=1))[:, 0]
        return values


class PlanTransformer(AtomEncoder):
    """SymT-ED: a state and its goal to a plan, token by token; no token of a plan has a position (NoPE)."""

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__(tokens, arity, shape)
        self.encoded, self.decoder = nn.LayerNorm(shape.hidden), Layer(shape, crossing=True)
        self.decoded = nn.LayerNorm(shape.hidden)
        self.head = nn.Sequential(nn.Linear(shape.hidden, shape.hidden), nn.GELU(), nn.Linear(shape.hidden, tokens))

    def forward(
        self, atoms: Tensor, real: Tensor, plans: Tensor, written: Tensor, scores: bool = True
    ) -> tuple[Tensor, Seen]:
        """The logits [b, t, tokens] of each token behind those of plans [b, t], of which `written` [b, t] are some."""
        seen = Seen(scores)
        encoded = self.encode(atoms, real, seen)
        logits, _ = self.decode(plans, written, self.crossed(encoded), seen=seen)
        return logits, seen

    def crossed(self, encoded: Encoded) -> tuple[Kept, Tensor]:
        """Keys and values of the encoder's tokens, the same for all layers, and which they are."""
        assert self.decoder.cross is not None
        return self.decoder.cross.kept(self.encoded(encoded.rows)), encoded.real

    def decode(
        self,
        plans: Tensor,
        written: Tensor,
        encoded: tuple[Kept, Tensor],
        before: Before | None = None,
        seen: Seen | None = None,
    ) -> tuple[Tensor, list[Kept]]:
        """The logits [b, t, tokens] behind tokens [b, t], and their keys and values by layer.

        What stands `before` them is attended to as well.
        """
        rows, own = self.embedding(plans), list[Kept]()
        open_to = _causal(plans.shape[1], before, plans.device)
        for place in range(self.shape.layers):
            earlier = before.layers[place] if before else None
            rows, kept = self.decoder(rows, written, open_to, seen, earlier, encoded)
            own.append(kept)
        logits: Tensor = self.head(self.decoded(rows))
        return logits, own


class SequenceTransformer(Network):
    """PlanGPT as symt describes it: one sequence of state, goal and plan, with learned positions, decoded causally.

    Its layers have weights of their own each, as GPT-2's.
    """

    def __init__(self, tokens: int, positions: int, shape: TransformerShape):
        super().__init__()
        self.shape, self.tokens, self.positions = shape, tokens, positions
        self.embedding, self.place = nn.Embedding(tokens, shape.hidden), nn.Embedding(positions, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.decoded = nn.LayerNorm(shape.hidden)
        self.head = nn.Linear(shape.hidden, tokens)

    def forward(self, sequences: Tensor, written: Tensor, scores: bool = True) -> tuple[Tensor, Seen]:
        """The logits [b, t, tokens] behind each token of sequences [b, t], of which `written` [b, t] are some."""
        seen = Seen(scores)
        logits, _ = self.decode(sequences, written, seen=seen)
        return logits, seen

    def decode(
        self, sequences: Tensor, written: Tensor, before: Before | None = None, seen: Seen | None = None
    ) -> tuple[Tensor, list[Kept]]:
        """The logits [b, t, tokens] behind tokens [b, t], and their keys and values by layer; see `before` above."""
        places = torch.arange(sequences.shape[1], device=sequences.device)[None]
        if before:
            places = places + before.there.sum(dim=1, keepdim=True)
        # Behind the last token there may be padding, which nothing looks at.
        rows, own = self.embedding(sequences) + self.place(places.clamp(max=self.positions - 1)), list[Kept]()
        open_to = _causal(sequences.shape[1], before, sequences.device)
        for number, layer in enumerate(self.layers):
            rows, kept = layer(rows, written, open_to, seen, before.layers[number] if before else None)
            own.append(kept)
        logits: Tensor = self.head(self.decoded(rows))
        return logits, own


def _causal(count: int, before: Before | None, device: torch.device) -> Tensor:
    """What each of so many tokens may attend to [1 or b, count, m + count]: those before it, and itself."""
    places = torch.arange(count, device=device)
    among = (places[None] <= places[:, None])[None]
    if before is None:
        return among
    earlier = before.there[:, None].expand(-1, count, -1)
    return torch.cat([earlier, among.expand(len(earlier), -1, -1)], dim=2)


def padded(rows: Sequence[NDArray[np.int64]], device: Device) -> tuple[Tensor, Tensor]:
    """Rows of tokens [n, ...], of different lengths, as one table [b, longest, ...], and which of it are some."""
    longest = max(map(len, rows))
    table = np.zeros((len(rows), longest, *rows[0].shape[1:]), np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    there = np.arange(longest)[None] < np.array([len(row) for row in rows])[:, None]
    return torch.as_tensor(table, device=device), torch.as_tensor(there, device=device)
