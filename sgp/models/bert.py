"""The forward pass of BERT and of MPNet as frozen encoders of sentences: tokens to one vector a text.

Sources: "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (Devlin et al. 2019);
"MPNet: Masked and Permuted Pre-training for Language Understanding" (Song et al. 2020), which adds to attention a
number for each distance of two tokens, as T5 does; "Sentence-BERT" (Reimers and Gurevych 2019) for the mean of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from sgp.errors import StoreError
from sgp.models.device import Device
from sgp.models.transformer import padded

_FAR = 128  # tokens that are as far apart or farther share a bucket (T5, and MPNet after it)
_NAMES = {
    "words": "embeddings.word_embeddings",
    "places": "embeddings.position_embeddings",
    "kinds": "embeddings.token_type_embeddings",
    "start": "embeddings.LayerNorm",
    "distances": "encoder.relative_attention_bias",
    "layers": "encoder.layer",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "after": "output.LayerNorm",
}
_BERT = {
    **_NAMES,
    "asks": "attention.self.query",
    "keys": "attention.self.key",
    "values": "attention.self.value",
    "out": "attention.output.dense",
    "among": "attention.output.LayerNorm",
}
_MPNET = {
    **_NAMES,
    "asks": "attention.attn.q",
    "keys": "attention.attn.k",
    "values": "attention.attn.v",
    "out": "attention.attn.o",
    "among": "attention.LayerNorm",
}


@dataclass(frozen=True)
class BertShape:
    """The layers of an encoder, and what the parts of its tensors' names are called in its file."""

    layers: int
    hidden: int
    heads: int
    tokens: int  # of its vocabulary
    places: int  # that have a vector
    limit: int  # the most tokens of a text that it was made for, special ones counted
    epsilon: float  # of its normalisations
    first: int  # the place of a text's first token
    kinds: int  # of tokens, by which BERT tells two texts apart; one text is all of the first; 0: none
    buckets: int  # of distances between tokens; 0: attention does not look at distance
    names: Mapping[str, str]


# The encoders' own config.json and sentence_bert_config.json; a layer is four times as wide inside.
SHAPES: Mapping[str, BertShape] = {
    "minilm": BertShape(6, 384, 12, 30522, 512, 256, 1e-12, first=0, kinds=2, buckets=0, names=_BERT),
    "mpnet": BertShape(12, 768, 12, 30527, 514, 384, 1e-5, first=2, kinds=0, buckets=32, names=_MPNET),
}


class BertLayer(nn.Module):
    """Attention among tokens, then each token by itself; each part is added and normalised afterwards."""

    def __init__(self, shape: BertShape):
        super().__init__()
        self.heads, hidden = shape.heads, shape.hidden
        self.asks, self.keys, self.values, self.out = (nn.Linear(hidden, hidden) for _ in range(4))
        self.among = nn.LayerNorm(hidden, shape.epsilon)
        self.wide, self.narrow = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.after = nn.LayerNorm(hidden, shape.epsilon)

    def forward(self, rows: Tensor, bias: Tensor) -> Tensor:
        """The rows [b, n, hidden] after it; `bias` [b, heads, n, n] is added to attention's logits."""
        asks, keys, values = (self._by_head(part(rows)) for part in (self.asks, self.keys, self.values))
        taken = functional.scaled_dot_product_attention(asks, keys, values, attn_mask=bias)
        rows = self.among(rows + self.out(taken.transpose(1, 2).flatten(2)))
        after: Tensor = self.after(rows + self.narrow(functional.gelu(self.wide(rows))))
        return after

    def _by_head(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


class Bert(nn.Module):
    """Tokens of texts to one vector of unit length each, the mean of what its tokens carry in the end."""

    def __init__(self, shape: BertShape):
        super().__init__()
        self.shape = shape
        self.words, self.places = nn.Embedding(shape.tokens, shape.hidden), nn.Embedding(shape.places, shape.hidden)
        self.kinds = nn.Embedding(shape.kinds, shape.hidden) if shape.kinds else None
        self.distances = nn.Embedding(shape.buckets, shape.heads) if shape.buckets else None
        self.start = nn.LayerNorm(shape.hidden, shape.epsilon)
        self.layers = nn.ModuleList(BertLayer(shape) for _ in range(shape.layers))

    def forward(self, tokens: Tensor, there: Tensor) -> Tensor:
        """Vectors [b, hidden] of texts in tokens [b, n], of which `there` [b, n] are some; the rest pads, behind."""
        rows = self.words(tokens) + self.places(self.shape.first + torch.arange(tokens.shape[1], device=tokens.device))
        if self.kinds is not None:
            rows = rows + self.kinds.weight[0]
        rows, bias = self.start(rows), self._bias(there)
        for layer in self.layers:
            rows = layer(rows, bias)
        means = (rows * there[:, :, None]).sum(dim=1) / there.sum(dim=1, keepdim=True)
        return functional.normalize(means, dim=1)

    @torch.inference_mode()
    def vectors(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Vectors [n, hidden] of texts in tokens, at least one text, in one batch."""
        device: Device = "cuda" if self.words.weight.is_cuda else "cpu"
        vectors: NDArray[np.float32] = self(*padded([np.array(text, np.int64) for text in texts], device)).cpu().numpy()
        return vectors

    def _bias(self, there: Tensor) -> Tensor:
        """What is added to attention's logits [b, heads, n, n]: nothing is taken from padding."""
        size = there.shape[1]
        bias = torch.zeros(there.shape, device=there.device).masked_fill(~there, -math.inf)[:, None, None]
        if self.distances is not None:
            bias = bias + self.distances(_buckets(size, self.shape.buckets).to(there.device)).permute(2, 0, 1)
        return bias.expand(-1, self.shape.heads, size, -1)


def _buckets(size: int, count: int) -> Tensor:
    """The bucket [n, n] of the way from each of n tokens to each other, half of them for those behind it.

    Half of these have one distance each, the others as many more as the distance grows (T5, MPNet).
    """
    places = torch.arange(size)
    ways = places[:, None] - places[None]
    half, single = count // 2, count // 4
    growing = torch.log(ways.abs().clamp(min=single) / single) / math.log(_FAR / single)
    far = (single + (growing * (half - single)).long()).clamp(max=half - 1)
    return torch.where(ways.abs() < single, ways.abs(), far) + half * (ways < 0)


def read_bert(file: Path, shape: BertShape, device: Device) -> Bert:
    """An encoder with the weights of a safetensors file. Raises StoreError for a file that has not all of them."""
    with torch.device("meta"):  # nothing is drawn, so that the generator of a training stays where it was
        model = Bert(shape)
    try:
        found = load_file(file, device)
        state = {name: found[_in_file(name, shape)] for name in model.state_dict()}
        model.load_state_dict(state, assign=True)
    except (SafetensorError, KeyError, RuntimeError, OSError) as error:
        raise StoreError(f"{file} holds no weights of this encoder; install it again") from error
    return model.requires_grad_(False).eval()


def _in_file(name: str, shape: BertShape) -> str:
    """A tensor's name in a file: each part of ours has one there, numbers and the tensor's kind stay."""
    return ".".join(shape.names.get(part, part) for part in name.split("."))
