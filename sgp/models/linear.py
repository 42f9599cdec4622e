"""A linear map from rows to outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.errors import StoreError
from sgp.files import whole_file


class LinearModel:
    """Linear map, by one matrix, from rows [n, F] to outputs [n, D]."""

    def __init__(self, matrix: NDArray[np.float64]):
        self.matrix = matrix  # [D, F]

    def predict(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return outputs [n, D]."""
        return np.asarray(rows @ self.matrix.T)

    def save(self, path: Path) -> None:
        """Write the matrix as safetensors."""
        with whole_file(path) as temporary:
            save_file({"matrix": self.matrix}, temporary)

    @classmethod
    def load(cls, path: Path) -> LinearModel:
        """Read a matrix that `save` wrote. Raises StoreError for a file without a matrix."""
        try:
            return cls(load_file(path)["matrix"])
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{path} holds no matrix; train the run again") from error
