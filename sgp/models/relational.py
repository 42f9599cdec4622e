"""A relational graph neural network that maps relations over objects to a number."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pymimir_rgnn import (
    MLP,
    Encoder,
    HyperparameterConfig,
    MLPUpdates,
    PredicateMLPMessages,
    SmoothMaximumAggregation,
)
from torch import Tensor, nn

from sgp.errors import ConfigurationError
from sgp.models.weights import Network

warnings.filterwarnings("ignore", r"index_reduce\(\) is in beta")  # torch to pymimir-rgnn, not to our users


@dataclass(frozen=True)
class RelationalShape:
    """The layers of the network. Defaults: dynamic-validation, appendix A."""

    layers: int = 30  # rounds of messages, all with the same weights
    hidden: int = 32  # numbers that an object carries

    def __post_init__(self) -> None:
        for name in ("layers", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"GNN {name} is {getattr(self, name)}; expected at least 1")


class _Arities(Encoder):  # type: ignore[misc]
    """Tells pymimir-rgnn which relations there are; the tuples are made elsewhere."""

    def __init__(self, arities: Mapping[str, int]):
        self._arities = arities

    def get_relations(self, domain: None) -> list[tuple[str, int]]:
        return list(self._arities.items())

    def encode(self, *_: Any) -> None:
        raise NotImplementedError("relations come as arrays")


class RelationalBody(Network):
    """Relations over the objects of graphs to what each object carries after some rounds of messages.

    An object starts from zero. In every layer each tuple of a relation sends a message to each of its objects, made by
    the relation's own two-layer network from what all its objects carry; an object adds to what it carries a normalised
    update from the smooth maximum of its messages. Source: Stahlberg, Bonet and Geffner (ICAPS 2022), in the form of
    pymimir-rgnn, which adds what an object carries to its update and to its messages, normalises the update, and draws
    no random numbers for objects.
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape):
        super().__init__()
        self.shape = shape
        self._keys = {name: str(place) for place, name in enumerate(arities)}  # names of PDDL may be torch's own
        config = HyperparameterConfig(domain=None, embedding_size=shape.hidden)
        relations = _Arities({self._keys[name]: arity for name, arity in arities.items()})
        self.messages = PredicateMLPMessages(config, (relations,))
        self.maximum = SmoothMaximumAggregation()
        self.update, self.normalised = MLPUpdates(config), nn.LayerNorm(shape.hidden)

    def carried(self, count: int, arguments: Mapping[str, Tensor]) -> Tensor:
        """What `count` objects carry in the end [count, hidden]; `arguments` [m, arity] number them.

        At least one relation has a tuple.
        """
        relations = {self._keys[name]: rows.reshape(-1) for name, rows in arguments.items()}
        carried = self.normalised.weight.new_zeros(count, self.shape.hidden)
        for _ in range(self.shape.layers):
            messages, receivers = self.messages(carried, relations)
            update = self.update(carried, self.maximum(carried, messages, receivers))
            carried = carried + self.normalised(update)
        return carried

    def summed(self, read: Tensor, owners: Tensor, graphs: int) -> Tensor:
        """Rows [m, hidden] summed by the graph that owns each [graphs, hidden].

        Graph by graph: differences of a running sum, as pymimir-rgnn takes them, depend on the graphs beside.
        """
        return read.new_zeros(graphs, self.shape.hidden).index_add(0, owners, read)


class RelationalModel(RelationalBody):
    """Relations over the objects of B graphs to a value for each graph [B], read from the sum over its objects:
    V = f(sum g(object)).
    """

    def __init__(self, arities: Mapping[str, int], shape: RelationalShape):
        super().__init__(arities, shape)
        self.read_object, self.read_value = MLP(shape.hidden, shape.hidden), MLP(shape.hidden, 1)

    def forward(self, objects: Tensor, arguments: Mapping[str, Tensor]) -> Tensor:
        """Values [B] of graphs with `objects` [B] each; `arguments` [m, arity] number the objects of all graphs.

        At least one relation has a tuple.
        """
        owners = torch.repeat_interleave(torch.arange(len(objects), device=objects.device), objects)
        read = self.read_object(self.carried(len(owners), arguments))
        values: Tensor = self.read_value(self.summed(read, owners, len(objects)))[:, 0]
        return values

    def tensors(
        self, objects: NDArray[np.integer[Any]], arguments: Mapping[str, NDArray[np.integer[Any]]]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Arrays as what `forward` takes, on the network's device."""
        device = next(self.parameters()).device
        return (
            torch.as_tensor(objects, device=device),
            {name: torch.as_tensor(rows, device=device) for name, rows in arguments.items()},
        )

    @torch.inference_mode()
    def values(
        self, objects: NDArray[np.integer[Any]], arguments: Mapping[str, NDArray[np.integer[Any]]]
    ) -> NDArray[np.float32]:
        """Values [B] of graphs that `forward` describes."""
        return np.asarray(self(*self.tensors(objects, arguments)).cpu().numpy())
