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
    """Graphs beside each other whose `nodes` are of three kinds: things, candidates and depths.

    `things` [t], `candidates` [c] and `depths` [d] number the nodes of each kind; `thing_trees`, `candidate_trees` and
    `depth_trees` tell of which graph each is; `arguments` [m, arity] number the nodes of each relation's tuples.
    """

    nodes: int
    things: Tensor
    thing_trees: Tensor
    candidates: Tensor
    candidate_trees: Tensor
    depths: Tensor
    depth_trees: Tensor
    arguments: Mapping[str, Tensor]


class LookaheadModel(RelationalBody):
    """Graphs of states with their candidates to a score of each candidate and of each depth.

    The body is that of every relational network of the house. Q = MLP(candidate's node, sum over the things' nodes)
    (AIW-AD, section 5); of depths a linear probe, which tells their order (section 6).
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape):
        super().__init__(arities, shape)
        self.read_candidate, self.probe = MLP(2 * shape.hidden, 1), nn.Linear(shape.hidden, 1, bias=False)

    def forward(self, graphs: Marked) -> tuple[Tensor, Tensor]:
        """The scores Q [c] of candidates and z [d] of depths."""
        carried = self.carried(graphs.nodes, graphs.arguments)
        trees = int(graphs.thing_trees[-1]) + 1  # every graph has things
        context = self.summed(carried[graphs.things], graphs.thing_trees, trees)
        read = torch.cat([carried[graphs.candidates], context[graphs.candidate_trees]], dim=1)
        scores: Tensor = self.read_candidate(read)[:, 0]
        depths: Tensor = self.probe(carried[graphs.depths])[:, 0]
        return scores, depths

    def marked(
        self,
        nodes: int,
        things: Numbers,
        thing_trees: Numbers,
        candidates: Numbers,
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
            tensor(candidates),
            tensor(candidate_trees),
            tensor(depths),
            tensor(depth_trees),
            {name: tensor(rows) for name, rows in arguments.items()},
        )

    @torch.inference_mode()
    def scores(self, graphs: Marked) -> NDArray[np.float32]:
        """The scores Q [c] of candidates, for arrays' sake."""
        return np.asarray(self(graphs)[0].cpu().numpy())
