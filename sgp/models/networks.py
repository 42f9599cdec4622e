"""Networks with weights in safetensors files, and networks that score a state's candidates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sgp.errors import StoreError
from sgp.files import whole_file


class Network(nn.Module):
    """A network whose weights can be saved to a file."""

    def save(self, path: Path) -> None:
        """Write the weights as safetensors."""
        with whole_file(path) as temporary:
            save_file({name: value.contiguous().cpu() for name, value in self.state_dict().items()}, temporary)

    def read(self, path: Path) -> None:
        """Load the weights that `save` wrote. Raises StoreError for another file or for weights of another shape."""
        try:
            self.load_state_dict(load_file(path))
        except (SafetensorError, RuntimeError, OSError) as error:
            raise StoreError(f"{path} holds no weights of this network; train the run again") from error

    def count_parameters(self) -> int:
        """Count the trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


class CandidateGraphs(NamedTuple):
    """Several graphs as one: the nodes of objects [t], places of candidates [p] and depths [d], and each one's graph.

    `owners` [p] are the candidates of places, `partners` [p] the objects that they copy. `arguments` [m, arity] number
    the nodes of each relation's tuples.
    """

    nodes: int
    objects: Tensor
    object_trees: Tensor
    places: Tensor
    owners: Tensor
    partners: Tensor
    candidate_trees: Tensor
    depths: Tensor
    depth_trees: Tensor
    arguments: Mapping[str, Tensor]


class CandidateNetwork(Network):
    """A network from `CandidateGraphs` to scores of all candidates [c] and of depths [d], in one pass."""

    def graphs(self, nodes: int, *arrays: Any) -> CandidateGraphs:
        """Return `CandidateGraphs` on the network's device from its fields as arrays, in their order."""
        device = next(self.parameters()).device
        *numbers, arguments = arrays
        relations = {name: torch.as_tensor(rows, device=device) for name, rows in arguments.items()}
        return CandidateGraphs._make([nodes, *(torch.as_tensor(rows, device=device) for rows in numbers), relations])

    @torch.inference_mode()
    def scores(self, graphs: CandidateGraphs) -> NDArray[np.float32]:
        """Return the scores [c] of candidates as an array."""
        return np.asarray(self(graphs)[0].cpu().numpy())
