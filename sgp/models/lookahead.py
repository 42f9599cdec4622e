"""A relational graph neural network that scores the candidates of a state, all in one pass."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from pymimir_rgnn import MLP
from torch import Tensor, nn

from sgp.models.candidate_network import CandidateNetwork, Marked
from sgp.models.relational import RelationalBody, RelationalShape


class LookaheadModel(RelationalBody, CandidateNetwork):
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
