"""Predictors of the next embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # each method imports the model that it uses
    from sgp.models.boosted_trees import BoostedTrees
    from sgp.models.linear import LinearModel
    from sgp.models.recurrent import RecurrentModel

Mode = Literal["state", "delta"]


@dataclass(frozen=True)
class RowPredictor:
    """Predicts by boosted trees or a linear map; every prediction depends on state and goal alone."""

    model: BoostedTrees | LinearModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D]."""
        output = self.model.predict(np.hstack([states, goals]))
        return (states + output if self.mode == "delta" else output).astype(np.float32), carried


@dataclass(frozen=True)
class RecurrentPredictor:
    """Predicts by an LSTM, whose hidden state is carried along the path."""

    model: RecurrentModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.floating[Any]], Sequence[Any]]:
        """Next embeddings [B, D] and hidden states."""
        output, hidden = self.model.step(np.hstack([states, goals]), list(carried))
        return (states + output if self.mode == "delta" else output), hidden
