"""A transformer over objects that have no names: atoms link them by argument position, applicable actions are scored.

The way beyond "Symmetry-Aware Transformer Training for Automated Planning" (symt), whose tokens are names: what an
object is called enters nowhere, so that renaming changes nothing, no loss has to teach that, and no vocabulary bounds
how many objects there may be.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sgp.errors import ConfigurationError
from sgp.models.candidate_network import CandidateNetwork, Marked


@dataclass(frozen=True)
class NamelessShape:
    """The layers of the network. Raises ConfigurationError for values that cannot be."""

    layers: int = 6  # all with the same weights, as in symt
    hidden: int = 64  # numbers that an object carries
    heads: int = 4
    drawn: bool = False  # half of these numbers are drawn for every object at first, like a name; else all start alike

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"nameless {name} is {getattr(self, name)}; expected at least 1")
        if self.hidden % self.heads:
            raise ConfigurationError(
                f"nameless hidden is {self.hidden}; expected a multiple of heads, which is {self.heads}"
            )


class _Atoms(NamedTuple):
    """Tuples of all relations as tokens [m], their objects at each position [m, k], and which positions they have."""

    relations: Tensor
    objects: Tensor
    has: Tensor


class NamelessModel(CandidateNetwork):
    """Graphs of states with their candidates to a score of each candidate.

    Objects start alike. In each layer, normalised first, a token is made of every tuple from its relation and what its
    objects carry, each by its position; every object attends to the tokens that it is in, then to the other objects of
    its graph, then it is changed by itself. A candidate is scored from its schema, what its action's objects carry, by
    position, and the mean of all objects. Relations in `actions` are those of candidates, which stand first in them.
    """

    def __init__(self, arities: Mapping[str, int], actions: Collection[str], shape: NamelessShape):
        super().__init__()
        self.shape = shape
        self.drawing = torch.Generator()  # of what objects are given instead of names
        self._places = {name: place for place, name in enumerate(arities)}
        self._actions = [name for name in arities if name in actions]
        self._facts = [name for name in arities if name not in actions]
        hidden = shape.hidden
        self._longest = max((arities[name] for name in self._facts), default=1)
        self._most = max((arities[name] - 1 for name in self._actions), default=0)
        self.kinds = nn.Embedding(len(arities), hidden)
        self.start = nn.Parameter(torch.randn(hidden) / math.sqrt(hidden))
        self.gather = nn.Linear(hidden, self._longest * hidden, bias=False)
        self.token = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU())
        self.scatter = nn.Linear(2 * hidden, self._longest * 2 * hidden)
        self.asks, self.told = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.all, self.heard = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.alone = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(4))
        self.apply_to = nn.Linear(hidden, (1 + self._most) * hidden, bias=False)
        self.score = nn.Sequential(
            nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, 1)
        )

    def forward(self, graphs: Marked) -> tuple[Tensor, Tensor]:
        """The scores [c] of candidates; of depths, which this network does not look at, zeros [d]."""
        place = graphs.things.new_zeros(graphs.nodes)
        place[graphs.things] = torch.arange(len(graphs.things), device=place.device)
        atoms = self._atoms(graphs, place)
        carried = self._first(graphs)
        taken = _seats(graphs.thing_trees)
        for _ in range(self.shape.layers):
            carried = carried + self._from_atoms(self.norms[0](carried), atoms)
            carried = carried + self._from_objects(self.norms[1](carried), taken)
            carried = carried + self.alone(self.norms[2](carried))
        return self._scores(self.norms[3](carried), graphs, place), carried.new_zeros(len(graphs.depths))

    def _first(self, graphs: Marked) -> Tensor:
        """What objects [t, hidden] carry at first: the same, or in part what is drawn for each."""
        carried = self.start.expand(len(graphs.things), -1)
        if not self.shape.drawn:
            return carried
        drawn = torch.randn(len(carried), self.shape.hidden // 2, generator=self.drawing).to(carried.device)
        return torch.cat([carried[:, drawn.shape[1] :], drawn], dim=1)

    def _atoms(self, graphs: Marked, place: Tensor) -> _Atoms:
        rows = [graphs.arguments[name] for name in self._facts]
        relations = torch.cat(
            [place.new_full((len(each),), self._places[name]) for name, each in zip(self._facts, rows, strict=True)]
        )
        objects = torch.cat([functional.pad(each, (0, self._longest - each.shape[1]), value=-1) for each in rows])
        has = objects >= 0
        return _Atoms(relations, place[objects.clamp(min=0)], has)

    def _from_atoms(self, carried: Tensor, atoms: _Atoms) -> Tensor:
        """What every object [t, hidden] takes from the tokens that it is in; nothing where there are none."""
        hidden, heads = self.shape.hidden, self.shape.heads
        token = self.kinds(atoms.relations) + self._by_position(self.gather(carried), atoms.objects, atoms.has)
        pairs = self.scatter(self.token(token)).view(len(token), self._longest, 2 * hidden)[atoms.has]  # [p, 2 hidden]
        objects = atoms.objects[atoms.has]
        keys, values = (each.view(-1, heads, hidden // heads) for each in pairs.split(hidden, dim=1))
        asked = self.asks(carried).view(-1, heads, hidden // heads)[objects]
        weights = _softmax_by((asked * keys).sum(dim=2) / math.sqrt(hidden // heads), objects, len(carried))
        weighed = (weights[:, :, None] * values).flatten(1)
        told: Tensor = self.told(carried.new_zeros(len(carried), hidden).index_add(0, objects, weighed))
        return told

    def _by_position(self, carried: Tensor, objects: Tensor, has: Tensor) -> Tensor:
        """Of each row [m, k] of objects the sum over positions of what they carry for it [t, k hidden]."""
        every = carried.view(len(carried), -1, self.shape.hidden)
        found = every.new_zeros(len(objects), self.shape.hidden)
        for position in range(objects.shape[1]):
            found = found + every[objects[:, position], position] * has[:, position, None]
        return found

    def _from_objects(self, carried: Tensor, taken: Tensor) -> Tensor:
        """What every object [t, hidden] takes from all objects of its graph; `taken` [b, n] seats them by graph."""
        width = self.shape.hidden // self.shape.heads
        seated = carried.new_zeros(*taken.shape, 3 * self.shape.hidden)
        seated[taken] = self.all(carried)
        by_head = seated.view(*taken.shape, 3, self.shape.heads, width)
        asked, keys, values = by_head.permute(2, 0, 3, 1, 4)
        heard = functional.scaled_dot_product_attention(asked, keys, values, attn_mask=taken[:, None, None])
        told: Tensor = self.heard(heard.transpose(1, 2).flatten(2)[taken])
        return told

    def _scores(self, carried: Tensor, graphs: Marked, place: Tensor) -> Tensor:
        trees = int(graphs.thing_trees[-1]) + 1  # every graph has things
        counts = torch.bincount(graphs.thing_trees, minlength=trees)
        sums = carried.new_zeros(trees, self.shape.hidden).index_add(0, graphs.thing_trees, carried)
        seen = self.apply_to(carried)
        mean = self.apply_to(sums / counts[:, None])[:, : self.shape.hidden]
        candidate = place.new_zeros(graphs.nodes)
        candidate[graphs.places] = torch.arange(len(graphs.places), device=place.device)
        read = mean[graphs.candidate_trees]
        for name in self._actions:
            rows = graphs.arguments[name]
            objects = place[rows[:, 1:]]
            chosen = self.kinds.weight[self._places[name]] + self._by_position(
                seen[:, self.shape.hidden :], objects, torch.ones_like(objects, dtype=torch.bool)
            )
            read = read.index_add(0, candidate[rows[:, 0]], chosen)
        scores: Tensor = self.score(read)[:, 0]
        return scores


def _softmax_by(logits: Tensor, owners: Tensor, count: int) -> Tensor:
    """The softmax of logits [p, h] among those of one owner each."""
    where = owners[:, None].expand_as(logits)
    most = logits.new_full((count, logits.shape[1]), -math.inf).scatter_reduce(0, where, logits.detach(), "amax")
    powers = (logits - most[owners]).exp()
    sums = logits.new_zeros(count, logits.shape[1]).index_add(0, owners, powers)
    return powers / sums[owners]


def _seats(trees: Tensor) -> Tensor:
    """Which seats [b, n] objects take that stand tree by tree, the first so many of each tree's."""
    counts = torch.bincount(trees)
    return torch.arange(int(counts.max()), device=trees.device)[None] < counts[:, None]
