"""A relational graph neural network that scores the candidates of a state, all in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pymimir_rgnn import MLP
from torch import Tensor, nn

from sgp.models.relational import RelationalBody, RelationalShape

Numbers = NDArray[np.integer[Any]]


class Marked(NamedTuple):
    """Graphs beside each other whose `nodes` are of three kinds: things, places of candidates, and depths.

    `things` [t], `places` [p] and `depths` [d] number the nodes of each kind; `owners` [p] tells of which candidate a
    place is, `partners` [p] which thing it is a copy of, where it is one. `thing_trees` [t], `candidate_trees` [c] and
    `depth_trees` [d] tell of which graph each is; `arguments` [m, arity] number the nodes of each relation's tuples.
    """

    nodes: int
    things: Tensor
    thing_trees: Tensor
    places: Tensor
    owners: Tensor
    partners: Tensor
    candidate_trees: Tensor
    depths: Tensor
    depth_trees: Tensor
    arguments: Mapping[str, Tensor]


class LookaheadModel(RelationalBody):
    """Graphs of states with their candidates to a score of each candidate and of each depth.

    The body is that of every relational network of the house. Where a candidate is a node, Q = MLP(that node, sum over
    the things' nodes); where it is `copied` things, Q = MLP(sum over things of MLP(thing, its copy)) (AIW-AD, section
    5). Of depths a linear probe, which tells their order (section 6).
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape, copied: bool = False):
        super().__init__(arities, shape)
        self.read_pair = MLP(2 * shape.hidden, shape.hidden) if copied else None
        self.read_candidate = MLP(shape.hidden if copied else 2 * shape.hidden, 1)
        self.probe = nn.Linear(shape.hidden, 1, bias=False)

    def forward(self, graphs: Marked) -> tuple[Tensor, Tensor]:
        """The scores Q [c] of candidates and z [d] of depths."""
        carried = self.carried(graphs.nodes, graphs.arguments)
        if self.read_pair is None:
            trees = int(graphs.thing_trees[-1]) + 1  # every graph has things
            context = self.summed(carried[graphs.things], graphs.thing_trees, trees)
            read = torch.cat([carried[graphs.places], context[graphs.candidate_trees]], dim=1)
        else:
            pairs = self.read_pair(torch.cat([carried[graphs.partners], carried[graphs.places]], dim=1))
            read = self.summed(pairs, graphs.owners, len(graphs.candidate_trees))
        scores: Tensor = self.read_candidate(read)[:, 0]
        depths: Tensor = self.probe(carried[graphs.depths])[:, 0]
        return scores, depths

    def marked(
        self,
        nodes: int,
        things: Numbers,
        thing_trees: Numbers,
        places: Numbers,
        owners: Numbers,
        partners: Numbers,
        candidate_trees: Numbers,
        depths: Numbers,
        depth_trees: Numbers,
        arguments: Mapping[str, Numbers],
    ) -> Marked:
        """Arrays as what `forward` takes, on the network's device."""
        device = next(self.parameters()).device

        def tensor(numbers: Numbers) -> Tensor:
            return torch.as_tensor(numbers, device=device)

        return Marked(
            nodes,
            tensor(things),
            tensor(thing_trees),
            tensor(places),
            tensor(owners),
            tensor(partners),
            tensor(candidate_trees),
            tensor(depths),
            tensor(depth_trees),
            {name: tensor(rows) for name, rows in arguments.items()},
        )

    @torch.inference_mode()
    def scores(self, graphs: Marked) -> NDArray[np.float32]:
        """The scores Q [c] of candidates, for arrays' sake."""
        return np.asarray(self(graphs)[0].cpu().numpy())
