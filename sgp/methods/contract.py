"""Protocols of the learning methods: their data, their planners or models, and their optional abilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import DataKind, Demonstrations
from sgp.models.device import Device
from sgp.planning.planner import Planner
from sgp.policies.embedding import TransitionModel

if TYPE_CHECKING:
    from sgp.training.labels import Labelled

Settings = Mapping[str, str]  # configuration fields by path, as text; the prefix "decoding." addresses the decoding


class Method(Protocol):
    """A learning method; its module is named after its `key`, with "_" for "-".

    `variants` names the training configurations (frozen dataclasses that check themselves), the default first.
    `learns_from` is the type of data that `train` receives; `Transitions` may be of several domains. A method is a
    `PlanningMethod`, a `PredictingMethod` or both, and may be `Selectable`, `SupportsAttribution`, `Ablatable` or
    `Tunable`.
    """

    key: str
    title: str
    paper: str

    @property
    def libraries(self) -> Sequence[str]:
        """Distributions, as `pip install` names them, whose versions the method's runs record."""
        ...

    @property
    def learns_from(self) -> DataKind:
        """The type of training data."""
        ...

    @property
    def variants(self) -> Mapping[str, Any]:
        """Training configurations by name."""
        ...

    def train(self, training: Any, data: Any, draft: RunDraft) -> Any:
        """Train, write into the draft's folder everything that loading needs, and return the planner or model."""

    def deterministic(self, training: Any) -> bool:
        """Return whether every seed gives the same model, so that one run is enough."""

    def invariant(self, training: Any) -> bool:
        """Return whether renaming a problem's objects preserves all embeddings and all multisets of costs."""


@runtime_checkable
class PlanningMethod(Method, Protocol):
    """A method that makes planners.

    `decodings` names the decoding configurations (frozen dataclasses that check themselves), "default" first. They are
    chosen when a planner is loaded. A decoding named "portfolio" also plans with the run `Run.second`.
    """

    @property
    def decodings(self) -> Mapping[str, Any]:
        """Decoding configurations by name."""
        ...

    def train(self, training: Any, data: Any, draft: RunDraft) -> Planner:
        """Train a planner, write into the draft's folder what `load` needs, and return it with its default decoding."""

    def load(self, run: Run, decoding: Any) -> Planner:
        """Return the planner of a run.

        Raises StoreError where the run's files are damaged or of another version, ConfigurationError for a decoding
        that conflicts with the training.
        """


@runtime_checkable
class PredictingMethod(Method, Protocol):
    """A method that makes transition models, which predict the next state's embedding."""

    def train(self, training: Any, data: Any, draft: RunDraft) -> TransitionModel | Planner:
        """Train a model and write what `load_model` needs; return a planner if the model can plan."""

    def load_model(self, run: Run) -> TransitionModel:
        """Return the model of a run; raises StoreError where the run's files are damaged or of another version."""


@dataclass(frozen=True)
class Checkpoint:
    """A planner at one point of a training: after an epoch or boosting round, or for one regularisation value."""

    name: str  # "epoch 3"
    training: Any  # the configuration saved with the planner's run
    loss: float  # on the validation trajectories
    save: Callable[[RunDraft], None]  # writes into the draft's folder what `load` needs, with facts and check vectors
    like: str = ""  # name of an earlier identical planner of this training


@runtime_checkable
class Selectable(Protocol):
    """A method whose training yields several planners, from which validation can select one.

    `sweep` lists the settings of these planners; it is empty where the planners are epochs or boosting rounds.
    Validation uses the decoding that the configuration's field `decoding` names.
    """

    @property
    def sweep(self) -> Sequence[Settings]:
        """Training settings, one entry per planner."""
        ...

    def checkpoints(
        self, training: Any, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Checkpoint]:
        """Yield the planners of one training, skipping the first `after`.

        `folder` belongs to the method, which stores there what it needs to resume after an interruption.
        """


@dataclass(frozen=True, eq=False)
class WeightContributions:
    """Contribution of each training decision to the weights of selected features.

    A feature has weights [r, c]: in a state the effective weight is the first row plus the second row times the share
    of satisfied goal literals. `amounts` [n, r, c] are the contributions of the n decisions.
    """

    weights: NDArray[np.float64]
    decisions: Sequence[Labelled]
    amounts: NDArray[np.float64]


@runtime_checkable
class SupportsAttribution(Protocol):
    """A method whose learned weights are sums over its training decisions (representer points)."""

    def weight_contributions(self, run: Run, data: Any, columns: Sequence[int]) -> WeightContributions:
        """Return the contribution of each decision to the weights of `columns`; `data` is the run's training data.

        Raises ConfigurationError for a training whose weights are not such sums.
        """


@runtime_checkable
class Ablatable(Protocol):
    """A method with ablations: each entry of `ablations` changes one ingredient of the default variant."""

    @property
    def ablations(self) -> Sequence[Settings]:
        """Settings of training and decoding; the settings of one entry are changed together."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A method with settings that validation chooses one after the other."""

    @property
    def choices(self) -> Mapping[str, Sequence[str]]:
        """Values of each setting of training or decoding; the first value is the starting point."""
        ...
