"""What networks have in common that score the candidates of a state, all in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgp.models.weights import Network

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


class CandidateNetwork(Network):
    """A network that scores all candidates of a state in one pass.

    It is called on what `marked` makes, and gives the scores [c] of candidates and those [d] of depths.
    """

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
        """The scores [c] of candidates, for arrays' sake."""
        return np.asarray(self(graphs)[0].cpu().numpy())
