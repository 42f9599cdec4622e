"""Gradient-boosted regression trees with one tree per output and round (XGBoost)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from sgp.errors import StoreError
from sgp.files import whole_file
from sgp.workers import threads

Rows = NDArray[np.floating[Any]]


class BoostedTrees:
    """A fitted ensemble that maps rows [n, F] to outputs [n, D]."""

    def __init__(self, booster: xgboost.Booster, rounds: int):
        self._booster = booster
        self.use_threads(threads())
        self.rounds = rounds  # rounds that early stopping selected
        config = json.loads(booster.save_config())
        self.outputs = int(config["learner"]["learner_model_param"]["num_target"])

    def after(self, rounds: int) -> BoostedTrees:
        """Return the ensemble of the first rounds, which equals the result of training with this many rounds."""
        return BoostedTrees(self._booster[:rounds], rounds)

    def count_nodes(self) -> int:
        """Count the nodes of all trees in use (state-centric, Table 3)."""
        model = json.loads(self._booster.save_raw("json").decode())["learner"]["gradient_booster"]["model"]
        return sum(int(tree["tree_param"]["num_nodes"]) for tree in model["trees"][: self.rounds * self.outputs])

    def predict(self, rows: Rows) -> NDArray[np.float32]:
        """Return outputs [n, D]; a row's outputs do not depend on the other rows."""
        found = self._booster.inplace_predict(
            np.ascontiguousarray(rows, np.float32), iteration_range=(0, self.rounds), validate_features=False
        )
        return np.asarray(found, np.float32).reshape(len(rows), self.outputs)

    def use_threads(self, count: int) -> None:
        """Set the number of threads of `predict`."""
        self._booster.set_param({"nthread": count})

    def save(self, path: Path) -> None:
        """Write the trees in XGBoost's UBJSON format."""
        with whole_file(path) as temporary:
            temporary.write_bytes(self._booster.save_raw("ubj"))  # XGBoost's save_model does not report why it fails

    @classmethod
    def load(cls, path: Path, rounds: int) -> BoostedTrees:
        """Read trees that `save` wrote. Raises StoreError for another file."""
        booster = xgboost.Booster()
        try:
            booster.load_model(path)
        except xgboost.core.XGBoostError as error:
            raise StoreError(f"{path} is no model of XGBoost; train the run again") from error
        booster.set_param({"device": "cpu"})
        return cls(booster, rounds)
