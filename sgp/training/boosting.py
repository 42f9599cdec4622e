"""Training of boosted trees with early stopping on validation data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sgp.errors import ConfigurationError, check_fields
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.device import Device
from sgp.progress import progress
from sgp.workers import threads

Rows = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class BoostingConfig:
    """Hyperparameters of boosting. Defaults: state-centric, Table 7."""

    depth: int = 8  # maximum depth of a tree
    learning_rate: float = 0.1  # factor of each tree's contribution
    rounds: int = 1000  # maximum number of rounds
    patience: int = 10  # rounds without a better validation error before stopping

    def __post_init__(self) -> None:
        check_fields(self, "boosting", ["learning_rate"], depth=1, rounds=1, patience=1)
        if self.learning_rate > 1:
            raise ConfigurationError(f"boosting learning_rate is {self.learning_rate}; expected at most 1")


class _Progress(xgboost.callback.TrainingCallback):
    def __init__(self, bar: tqdm[None]):
        self._bar = bar

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._bar.update()
        return False


def fit_boosted_trees(
    config: BoostingConfig,
    train: tuple[Rows, Rows],
    validation: tuple[Rows, Rows],
    seed: int,
    device: Device = "cpu",
    title: str = "boosting",
) -> tuple[BoostedTrees, Sequence[float]]:
    """Fit trees to (rows [n, F], targets [n, D]) by squared error until the validation error stops falling.

    Returns the trees up to the first round of least validation error, and the validation error (root mean square) after
    each trained round. Training is deterministic on one kind of device; `sgp.workers.threads` sets the number of
    threads. `seed` is passed on although nothing is sampled.
    """
    data = [xgboost.DMatrix(rows, label=targets, nthread=threads()) for rows, targets in (train, validation)]
    parameters = {
        "objective": "reg:squarederror",
        "max_depth": config.depth,
        "learning_rate": config.learning_rate,
        "tree_method": "hist",
        "multi_strategy": "one_output_per_tree",
        "device": device,
        "seed": seed,
        "verbosity": 0,
        "nthread": threads(),
    }
    errors: dict[str, dict[str, list[float]]] = {}
    with progress(f"{title}, rounds") as bar:  # no total, because early stopping decides the number of rounds
        booster = xgboost.train(
            parameters,
            data[0],
            num_boost_round=config.rounds,
            evals=[(data[1], "validation")],
            callbacks=[xgboost.callback.EarlyStopping(rounds=config.patience), _Progress(bar)],
            evals_result=errors,
            verbose_eval=False,
        )
    booster.set_param({"device": "cpu"})
    return BoostedTrees(booster, int(booster.best_iteration) + 1), errors["validation"]["rmse"]
