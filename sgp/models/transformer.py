"""The transformers of symmetry-aware training: an encoder of atoms and a decoder of plans.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), sections 2 and 4. All layers of a stack
share their weights. Neither atoms nor tokens of a plan have positions. Attention scores and outputs of layers are
returned with a result, because training compares them between two namings of one problem.
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

from sgp.errors import ConfigurationError, check_fields
from sgp.models.device import Device
from sgp.models.networks import Network


@dataclass(frozen=True)
class TransformerShape:
    """Layers of a transformer; `PAPER` has those of the paper. Raises ConfigurationError for invalid values."""

    layers: int = 6
    hidden: int = 128
    heads: int = 8

    def __post_init__(self) -> None:
        check_fields(self, "transformer", layers=1, hidden=1, heads=1)
        if self.hidden % self.heads:
            raise ConfigurationError(
                f"transformer hidden is {self.hidden}; expected a multiple of heads, which is {self.heads}"
            )

    @property
    def width(self) -> int:
        """Dimension d_k of a head, and of the part of hidden states that two namings share (symt, section 4)."""
        return self.hidden // self.heads


PAPER = TransformerShape(12, 768, 12)  # state-centric, Table 4; heads as in GPT-2, not given in symt


class KeyValues(NamedTuple):
    """Keys and values [b, heads, n, d_k] of tokens."""

    keys: Tensor
    values: Tensor

    def after(self, past: KeyValues | None) -> KeyValues:
        """Return the keys and values of earlier tokens, then these."""
        if past is None:
            return self
        return KeyValues(torch.cat([past.keys, self.keys], dim=2), torch.cat([past.values, self.values], dim=2))


class PastKeyValues(NamedTuple):
    """Keys and values of earlier tokens by layer, and the mask [b, m] of tokens that are not padding."""

    layers: Sequence[KeyValues]
    present: Tensor


class Attended(NamedTuple):
    """Attention scores [b, heads, n, m] of a module, and masks of rows [b, n] and columns [b, m] without padding."""

    scores: Tensor
    rows: Tensor
    columns: Tensor


class Left(NamedTuple):
    """Output of a layer [b, n, hidden], and the mask of tokens without padding [b, n]."""

    hidden: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Seen:
    """Attention scores (only recorded if `scores`, which is slower) and layer outputs, in the order of computation."""

    scores: bool = True
    attended: list[Attended] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


class Attention(nn.Module):
    """Multi-head attention that optionally returns its scores (symt, section 2)."""

    def __init__(self, shape: TransformerShape):
        super().__init__()
        self.shape = shape
        self.query, self.key, self.value, self.out = (nn.Linear(shape.hidden, shape.hidden) for _ in range(4))

    def key_values(self, rows: Tensor) -> KeyValues:
        """Return keys and values of rows [b, m, hidden]."""
        return KeyValues(self._by_head(self.key(rows)), self._by_head(self.value(rows)))

    def forward(
        self, rows: Tensor, cached: KeyValues, attention_mask: Tensor, scores: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output for rows [b, n, hidden], and with `scores` the attention scores [b, heads, n, m]."""
        query, given = self._by_head(self.query(rows)), None
        if scores:
            logits = query @ cached.keys.transpose(2, 3) / math.sqrt(self.shape.width)
            given = logits.masked_fill(~attention_mask[:, None], -math.inf).softmax(dim=3)
            taken = given @ cached.values
        else:
            mask = attention_mask[:, None].expand(len(rows), 1, rows.shape[1], attention_mask.shape[2])
            taken = nn.functional.scaled_dot_product_attention(query, cached.keys, cached.values, mask)
        out: Tensor = self.out(taken.transpose(1, 2).flatten(2))
        return out, given

    def _by_head(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.shape.heads, self.shape.width).transpose(1, 2)


class Layer(nn.Module):
    """Self-attention, cross-attention if `crossing`, feed-forward: all with pre-normalisation and residuals."""

    def __init__(self, shape: TransformerShape, crossing: bool = False):
        super().__init__()
        self.self_attention, self.self_attention_norm = Attention(shape), nn.LayerNorm(shape.hidden)
        self.cross_attention: Attention | None = Attention(shape) if crossing else None
        self.cross_attention_norm: nn.LayerNorm | None = nn.LayerNorm(shape.hidden) if crossing else None
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(shape.hidden),
            nn.Linear(shape.hidden, 4 * shape.hidden),
            nn.GELU(),
            nn.Linear(4 * shape.hidden, shape.hidden),
        )

    def forward(
        self,
        rows: Tensor,
        real: Tensor,
        attention_mask: Tensor,
        seen: Seen | None = None,
        past: KeyValues | None = None,
        encoded: tuple[KeyValues, Tensor] | None = None,
    ) -> tuple[Tensor, KeyValues]:
        """Return the rows [b, n, hidden] after the layer, with their keys and values; `real` [b, n] is their mask."""
        wanted = seen is not None and seen.scores
        normed = self.self_attention_norm(rows)
        new = self.self_attention.key_values(normed)
        taken, scores = self.self_attention(normed, new.after(past), attention_mask, wanted and past is None)
        rows = rows + taken
        if seen is not None and scores is not None:
            seen.attended.append(Attended(scores, real, real))
        if self.cross_attention is not None and self.cross_attention_norm is not None and encoded is not None:
            cached, atoms = encoded
            taken, scores = self.cross_attention(self.cross_attention_norm(rows), cached, atoms[:, None], wanted)
            rows = rows + taken
            if seen is not None and scores is not None:
                seen.attended.append(Attended(scores, real, atoms))
        rows = rows + self.feed_forward(rows)
        if seen is not None:
            seen.left.append(Left(rows, real))
        return rows, new


class AtomEncoder(Network):
    """Encoder from atoms of named objects to a vector of each atom, exactly equivariant in the order of the atoms."""

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__()
        self.shape, self.tokens = shape, tokens
        self.embedding = nn.Embedding(tokens, shape.hidden)
        self.atom = nn.Linear((1 + arity) * shape.hidden, shape.hidden)
        self.encoder = Layer(shape)

    def encode(self, atoms: Tensor, real: Tensor, seen: Seen | None = None) -> Tensor:
        """Encode atoms [b, n, 1 + arity] of tokens; `real` [b, n] marks atoms that are not padding."""
        rows: Tensor = self.atom(self.embedding(atoms).flatten(2))
        for _ in range(self.shape.layers):
            rows, _ = self.encoder(rows, real, real[:, None], seen)
        return rows


class HeuristicTransformer(AtomEncoder):
    """SymT-E: a network from a state and its goal to the goal distance, read from d_k shared numbers of each atom."""

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__(tokens, arity, shape)
        self.shared = nn.LayerNorm(shape.width)
        self.readout = nn.Sequential(nn.Linear(shape.width, shape.hidden), nn.GELU(), nn.Linear(shape.hidden, 1))

    def forward(self, atoms: Tensor, real: Tensor, scores: bool = True) -> tuple[Tensor, Seen]:
        """Return the goal distances [b] of states in tokens, and the recorded scores and outputs; see `encode`."""
        seen = Seen(scores)
        return self.values(atoms, real, seen), seen

    def values(self, atoms: Tensor, real: Tensor, seen: Seen | None = None) -> Tensor:
        """Return the goal distances [b], recording scores and outputs only if `seen` is given."""
        rows = self.shared(self.encode(atoms, real, seen)[:, :, : self.shape.width])
        values: Tensor = self.readout((rows * real[:, :, None]).sum(dim=1))[:, 0]
        return values


class PlanTransformer(AtomEncoder):
    """SymT-ED: a network from a state and its goal to a plan, token by token, without positions (NoPE)."""

    def __init__(self, tokens: int, arity: int, shape: TransformerShape):
        super().__init__(tokens, arity, shape)
        self.encoded, self.decoder = nn.LayerNorm(shape.hidden), Layer(shape, crossing=True)
        self.decoded = nn.LayerNorm(shape.hidden)
        self.head = nn.Sequential(nn.Linear(shape.hidden, shape.hidden), nn.GELU(), nn.Linear(shape.hidden, tokens))

    def forward(
        self, atoms: Tensor, real: Tensor, plans: Tensor, written: Tensor, scores: bool = True
    ) -> tuple[Tensor, Seen]:
        """Return the logits [b, t, tokens] after each token of plans [b, t]; `written` [b, t] marks non-padding."""
        seen = Seen(scores)
        encoded = self.crossed(self.encode(atoms, real, seen)), real
        logits, _ = self.decode(plans, written, encoded, seen=seen)
        return logits, seen

    def crossed(self, rows: Tensor) -> KeyValues:
        """Return keys and values of the encoder's tokens, which all layers share."""
        assert self.decoder.cross_attention is not None
        return self.decoder.cross_attention.key_values(self.encoded(rows))

    def decode(
        self,
        plans: Tensor,
        written: Tensor,
        encoded: tuple[KeyValues, Tensor],
        past: PastKeyValues | None = None,
        seen: Seen | None = None,
    ) -> tuple[Tensor, list[KeyValues]]:
        """Return the logits [b, t, tokens] of tokens [b, t] that follow `past`, and their keys and values by layer."""
        rows, caches = self.embedding(plans), list[KeyValues]()
        attention_mask = _causal(plans.shape[1], past, plans.device)
        for place in range(self.shape.layers):
            earlier = past.layers[place] if past else None
            rows, new = self.decoder(rows, written, attention_mask, seen, earlier, encoded)
            caches.append(new)
        logits: Tensor = self.head(self.decoded(rows))
        return logits, caches


class SequenceTransformer(Network):
    """PlanGPT as described in symt: a causal decoder with learned positions; each layer has its own weights (GPT-2)."""

    def __init__(self, tokens: int, positions: int, shape: TransformerShape):
        super().__init__()
        self.shape, self.tokens, self.positions = shape, tokens, positions
        self.embedding, self.place = nn.Embedding(tokens, shape.hidden), nn.Embedding(positions, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.decoded = nn.LayerNorm(shape.hidden)
        self.head = nn.Linear(shape.hidden, tokens)

    def forward(self, sequences: Tensor, written: Tensor, scores: bool = True) -> tuple[Tensor, Seen]:
        """Return the logits [b, t, tokens] after each token of sequences [b, t]; `written` [b, t] marks non-padding."""
        seen = Seen(scores)
        logits, _ = self.decode(sequences, written, seen=seen)
        return logits, seen

    def decode(
        self, sequences: Tensor, written: Tensor, past: PastKeyValues | None = None, seen: Seen | None = None
    ) -> tuple[Tensor, list[KeyValues]]:
        """Return the logits [b, t, tokens] of tokens [b, t] that follow `past`, and their keys and values by layer."""
        places = torch.arange(sequences.shape[1], device=sequences.device)[None]
        if past:
            places = places + past.present.sum(dim=1, keepdim=True)
        # Padding may follow the last token; no real token attends to it.
        rows, caches = self.embedding(sequences) + self.place(places.clamp(max=self.positions - 1)), list[KeyValues]()
        attention_mask = _causal(sequences.shape[1], past, sequences.device)
        for number, layer in enumerate(self.layers):
            rows, new = layer(rows, written, attention_mask, seen, past.layers[number] if past else None)
            caches.append(new)
        logits: Tensor = self.head(self.decoded(rows))
        return logits, caches


def _causal(count: int, past: PastKeyValues | None, device: torch.device) -> Tensor:
    """Return the mask [1 or b, count, m + count] by which each token attends to earlier tokens and itself."""
    places = torch.arange(count, device=device)
    among = (places[None] <= places[:, None])[None]
    if past is None:
        return among
    earlier = past.present[:, None].expand(-1, count, -1)
    return torch.cat([earlier, among.expand(len(earlier), -1, -1)], dim=2)


def padded(rows: Sequence[NDArray[np.int64]], device: Device) -> tuple[Tensor, Tensor]:
    """Return rows of tokens [n, ...] of different lengths as a padded table [b, longest, ...], and its mask."""
    longest = max(map(len, rows))
    table = np.zeros((len(rows), longest, *rows[0].shape[1:]), np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    there = np.arange(longest)[None] < np.array([len(row) for row in rows])[:, None]
    return torch.as_tensor(table, device=device), torch.as_tensor(there, device=device)
