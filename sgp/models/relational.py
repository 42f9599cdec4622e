"""Relational graph neural networks for the value of a state and the scores of its candidates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pymimir_rgnn import MLP, Encoder, HyperparameterConfig, MLPUpdates, PredicateMLPMessages, SmoothMaximumAggregation
from torch import Tensor, nn

from sgp.errors import check_fields
from sgp.models.networks import CandidateGraphs, CandidateNetwork, Network

warnings.filterwarnings("ignore", r"index_reduce\(\) is in beta")  # addresses pymimir-rgnn, not our users


@dataclass(frozen=True)
class RelationalShape:
    """Layers of the network. Defaults: dynamic-validation, appendix A."""

    layers: int = 30  # rounds of messages, with shared weights
    hidden: int = 32  # dimension of an object's vector

    def __post_init__(self) -> None:
        check_fields(self, "GNN", layers=1, hidden=1)


class _Arities(Encoder):  # type: ignore[misc]
    """The relations for pymimir-rgnn, without an encoder: tuples come as arrays."""

    def __init__(self, arities: Mapping[str, int]):
        self._arities = arities

    def get_relations(self, domain: None) -> list[tuple[str, int]]:
        return list(self._arities.items())

    def encode(self, *_: Any) -> None:
        raise NotImplementedError("relations come as arrays")


class RelationalBody(Network):
    """Message-passing network from relations over the objects of graphs to a vector of each object.

    An object's initial vector is zero. In every layer, each tuple sends a message to each of its objects, computed by
    the relation's own two-layer network from its objects' vectors. A normalised update from the smooth maximum of its
    messages is added to an object's vector. Source: Stahlberg, Bonet and Geffner (ICAPS 2022), in the form of
    pymimir-rgnn, which adds an object's vector to its update and to its messages, normalises the update, and draws no
    random numbers for objects.
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape):
        super().__init__()
        self.shape = shape
        self._keys = {name: str(place) for place, name in enumerate(arities)}  # PDDL names may be torch attributes
        config = HyperparameterConfig(domain=None, embedding_size=shape.hidden)
        relations = _Arities({self._keys[name]: arity for name, arity in arities.items()})
        self.messages = PredicateMLPMessages(config, (relations,))
        self.maximum = SmoothMaximumAggregation()
        self.update, self.normalised = MLPUpdates(config), nn.LayerNorm(shape.hidden)

    def carried(self, count: int, arguments: Mapping[str, Tensor]) -> Tensor:
        """Return the vectors [count, hidden] of objects, numbered in `arguments` [m, arity] (at least one tuple)."""
        relations = {self._keys[name]: rows.reshape(-1) for name, rows in arguments.items()}
        carried = self.normalised.weight.new_zeros(count, self.shape.hidden)
        for _ in range(self.shape.layers):
            messages, receivers = self.messages(carried, relations)
            update = self.update(carried, self.maximum(carried, messages, receivers))
            carried = carried + self.normalised(update)
        return carried

    def summed(self, read: Tensor, owners: Tensor, graphs: int) -> Tensor:
        """Sum rows [m, hidden] by graph, each separately: differences of a running sum depend on the other graphs."""
        return read.new_zeros(graphs, self.shape.hidden).index_add(0, owners, read)


class RelationalModel(RelationalBody):
    """Network from relations over the objects of B graphs to values [B]: V = f(sum over objects of g(object))."""

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape):
        super().__init__(arities, shape)
        self.read_object, self.read_value = MLP(shape.hidden, shape.hidden), MLP(shape.hidden, 1)

    def forward(self, objects: Tensor, arguments: Mapping[str, Tensor]) -> Tensor:
        """Return the values [B] of graphs with `objects` [B] objects each, numbered consecutively in `arguments`."""
        owners = torch.repeat_interleave(torch.arange(len(objects), device=objects.device), objects)
        read = self.read_object(self.carried(len(owners), arguments))
        values: Tensor = self.read_value(self.summed(read, owners, len(objects)))[:, 0]
        return values

    def tensors(
        self, objects: NDArray[np.integer[Any]], arguments: Mapping[str, NDArray[np.integer[Any]]]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the arguments of `forward`, given as arrays, on the network's device."""
        device = next(self.parameters()).device
        return (
            torch.as_tensor(objects, device=device),
            {name: torch.as_tensor(rows, device=device) for name, rows in arguments.items()},
        )

    @torch.inference_mode()
    def values(
        self, objects: NDArray[np.integer[Any]], arguments: Mapping[str, NDArray[np.integer[Any]]]
    ) -> NDArray[np.float32]:
        """Return the values [B] of graphs given as arrays; see `forward`."""
        return np.asarray(self(*self.tensors(objects, arguments)).cpu().numpy())


class LookaheadModel(RelationalBody, CandidateNetwork):
    """Network from graphs of states with their candidates to scores of candidates and depths (AIW-AD, sections 5, 6).

    Q = MLP(candidate's node, sum of objects), or for `copied` objects MLP(sum of MLP(object, its copy)).
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape, copied: bool = False):
        super().__init__(arities, shape)
        self.read_pair = MLP(2 * shape.hidden, shape.hidden) if copied else None
        self.read_candidate = MLP(shape.hidden if copied else 2 * shape.hidden, 1)
        self.probe = nn.Linear(shape.hidden, 1, bias=False)

    def forward(self, graphs: CandidateGraphs) -> tuple[Tensor, Tensor]:
        """Return the scores Q of candidates [c] and z of depths [d]."""
        carried = self.carried(graphs.nodes, graphs.arguments)
        if self.read_pair is None:
            trees = int(graphs.object_trees[-1]) + 1  # every graph has objects
            context = self.summed(carried[graphs.objects], graphs.object_trees, trees)
            read = torch.cat([carried[graphs.places], context[graphs.candidate_trees]], dim=1)
        else:
            pairs = self.read_pair(torch.cat([carried[graphs.partners], carried[graphs.places]], dim=1))
            read = self.summed(pairs, graphs.owners, len(graphs.candidate_trees))
        scores: Tensor = self.read_candidate(read)[:, 0]
        depths: Tensor = self.probe(carried[graphs.depths])[:, 0]
        return scores, depths
