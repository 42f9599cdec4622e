"""An LSTM that maps sequences of rows to sequences of outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.errors import check_fields
from sgp.models.networks import Network

Head = Literal["linear", "two-layer"]
Precision = Literal["single", "double"]
Hidden = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class LSTMShape:
    """Layers and precision of the network. Defaults: state-centric, Table 7."""

    hidden: int = 256  # units per layer
    layers: int = 2
    # CPUs round sums differently. In single precision, training amplifies this to different networks; in double, it is
    # slower, and the networks differ only by rounding.
    precision: Precision = "single"

    def __post_init__(self) -> None:
        check_fields(self, "LSTM", hidden=1, layers=1)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights."""
        return torch.float64 if self.precision == "double" else torch.float32


class RecurrentModel(Network):
    """Network from rows [B, T, F] to outputs [B, T, D], step by step or for a whole sequence.

    The head is one linear layer, or two with layer normalisation and a ReLU between, which reproduces the parameter
    counts of state-centric, Table 3.
    """

    def __init__(self, inputs: int, outputs: int, shape: LSTMShape, head: Head):
        super().__init__()
        self.lstm = nn.LSTM(inputs, shape.hidden, shape.layers, batch_first=True)
        self.head = (
            nn.Linear(shape.hidden, outputs)
            if head == "linear"
            else nn.Sequential(
                nn.Linear(shape.hidden, shape.hidden),
                nn.LayerNorm(shape.hidden),
                nn.ReLU(),
                nn.Linear(shape.hidden, outputs),
            )
        )
        self.shape = shape
        if shape.precision == "double":
            self.double()

    def forward(self, rows: Tensor, hidden: Hidden | None = None) -> tuple[Tensor, Hidden]:
        """Return outputs [B, T, D] and the hidden state after the last row, two tensors [layers, B, hidden]."""
        states, after = self.lstm(rows, hidden)  # [B, T, H]
        return self.head(states), after

    @torch.inference_mode()
    def step(
        self, rows: NDArray[np.floating[Any]], hidden: list[Hidden | None]
    ) -> tuple[NDArray[np.floating[Any]], list[Hidden]]:
        """Return outputs [B, D] of single rows [B, F], and the hidden states after them; None is the initial state."""
        device = next(self.parameters()).device
        zero = torch.zeros(self.shape.layers, self.shape.hidden, dtype=self.shape.dtype, device=device)
        stacked = tuple(
            torch.stack([zero if each is None else each[part] for each in hidden], dim=1) for part in (0, 1)
        )
        inputs = torch.as_tensor(np.ascontiguousarray(rows), dtype=self.shape.dtype, device=device)  # [B, F]
        outputs, (short, long) = self(inputs[:, None], stacked)
        # Clones, because a view would keep the hidden states of the whole batch in memory.
        after = [(short[:, place].clone(), long[:, place].clone()) for place in range(len(hidden))]
        return outputs[:, 0].cpu().numpy(), after
