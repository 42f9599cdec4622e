"""A transition model in the space of frozen vectors: heads for states and actions, and a network for the next state.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sgp.errors import check_fields
from sgp.models.networks import Network

Kind = Literal["mlp", "hypernetwork"]


@dataclass(frozen=True)
class LatentShape:
    """Layers of the network. Raises ConfigurationError for invalid values."""

    kind: Kind = "mlp"  # embedplan, section 3; the hypernetwork is its alternative
    head_layers: int = 2  # linear layers; the paper has 4 hidden layers, its implementation 2 within a domain
    width: int = 0  # of the heads' hidden layers; 0: the input's width, as in the implementation; not in the paper
    latent: int = 128  # embedplan, Table 6
    hidden: int = 128  # width of the transition network (embedplan, eq. 28)
    layers: int = 3  # layers of the transition network (embedplan, eq. 28)

    def __post_init__(self) -> None:
        check_fields(self, "shape", head_layers=1, width=0, latent=1, hidden=1, layers=2)


class LatentTransition(Network):
    """Heads for states and actions, and the network that predicts the latent state after an action."""

    def __init__(self, dimension: int, shape: LatentShape):
        super().__init__()
        self.states, self.actions = _head(dimension, shape), _head(dimension, shape)
        self.step: nn.Module = _Modulated(shape) if shape.kind == "hypernetwork" else _Residual(shape)

    def embed(self, states: Tensor) -> Tensor:
        """Return latent states [n, L] of state vectors [n, D]."""
        latent: Tensor = self.states(states)
        return latent

    def predict(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [n, L] after actions, given vectors [n, D] of states and of actions."""
        predicted: Tensor = self.step(self.states(states), self.actions(actions))
        return predicted


class _Residual(nn.Module):
    """LN(f([h_s; h_a]) + W h_s) (embedplan, eq. 27 and 28)."""

    def __init__(self, shape: LatentShape):
        super().__init__()
        hidden: list[nn.Module] = []
        for place in range(shape.layers - 1):
            hidden += [nn.Linear(shape.hidden if place else 2 * shape.latent, shape.hidden), nn.GELU()]
        self.change = nn.Sequential(*hidden, nn.Linear(shape.hidden, shape.latent))
        self.state_map = nn.Linear(shape.latent, shape.latent, bias=False)
        self.norm = nn.LayerNorm(shape.latent)

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [..., L] after actions."""
        change = self.change(torch.cat([states, actions], dim=-1))
        after: Tensor = self.norm(change + self.state_map(states))
        return after


class _Modulated(nn.Module):
    """Layers over the state with scales and shifts predicted from the action (embedplan, eq. 29).

    The paper does not specify their positions. Here they follow each linear layer, before its activation, and the scale
    is one plus the prediction.
    """

    def __init__(self, shape: LatentShape):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(shape.latent, shape.latent) for _ in range(shape.layers))
        self.modulation = nn.Sequential(
            nn.Linear(shape.latent, shape.hidden),
            nn.GELU(),
            nn.Linear(shape.hidden, 2 * shape.layers * shape.latent),
        )
        self.state_map = nn.Linear(shape.latent, shape.latent, bias=False)
        self.norm = nn.LayerNorm(shape.latent)

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [..., L] after actions."""
        modulation = self.modulation(actions).unflatten(-1, (len(self.layers), 2, -1))
        latent = states
        for place, layer in enumerate(self.layers):
            scale, shift = modulation[..., place, 0, :], modulation[..., place, 1, :]
            latent = (1 + scale) * layer(latent) + shift
            if place + 1 < len(self.layers):
                latent = nn.functional.gelu(latent)
        after: Tensor = self.norm(latent + self.state_map(states))
        return after


def _head(dimension: int, shape: LatentShape) -> nn.Sequential:
    """W_L GELU(LN(... GELU(LN(W_1 z)))) (embedplan, eq. 26)."""
    width = shape.width or dimension
    parts: list[nn.Module] = []
    for place in range(shape.head_layers - 1):
        parts += [nn.Linear(width if place else dimension, width), nn.LayerNorm(width), nn.GELU()]
    return nn.Sequential(*parts, nn.Linear(width if parts else dimension, shape.latent))
