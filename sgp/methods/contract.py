"""Protocols of the learning methods: their data, their planners or models, and their optional abilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import DataKind, Demonstrations, Problems
from sgp.models.device import Device
from sgp.planning.planner import Planner
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.embedding import TransitionModel

if TYPE_CHECKING:
    from sgp.training.labels import Labelled

Settings = Mapping[str, str]  # configuration fields by path, as text; the prefix "decoding." addresses the decoding


class Method(Protocol):
    """A learning method; its module is named after its `key`, with "_" for "-".

    `variants` names the training configurations (frozen dataclasses that check themselves), the default first.
    `learns_from` is the type of data that `train` receives; `Transitions` may be of several domains. A method is a
    `PlanningMethod`, a `PredictingMethod` or both, and may be `Selectable` or `SupportsAttribution`. Optional fields:
    `ablations`, each of which changes one ingredient of the default variant, and `choices`, the values of settings that
    validation chooses one after the other, starting from the first.
    """

    key: str
    paper: str

    @property
    def libraries(self) -> Sequence[str]:
        """Distributions, as `pip install` names them, whose versions the method's runs record."""

    @property
    def learns_from(self) -> DataKind:
        """The type of training data."""

    @property
    def variants(self) -> Mapping[str, Any]:
        """Training configurations by name."""

    def train(self, training: Any, data: Any, draft: RunDraft) -> Any:
        """Train, write into the draft's folder everything that loading needs, and return the planner or model."""

    def deterministic(self, training: Any) -> bool:
        """Return whether every seed gives the same model, so that one run is enough."""

    def invariant(self, training: Any) -> bool:
        """Return whether renaming a problem's objects preserves all embeddings and all multisets of costs."""


class MethodBase:
    """Defaults of methods: the seed matters, and so may names and the order of objects."""

    paper = ""
    libraries: Sequence[str] = ()

    def deterministic(self, training: Any) -> bool:
        """Return whether every seed gives the same model."""
        return False

    def invariant(self, training: Any) -> bool:
        """Return whether renaming objects preserves all embeddings and costs."""
        return False


@dataclass(frozen=True)
class NoTraining:
    """Empty configuration of methods that learn nothing."""


class UntrainedMethod(MethodBase):
    """Defaults of methods that learn nothing; `planner` makes their planner from a decoding and a seed."""

    learns_from = Problems
    variants: Mapping[str, Any] = {"default": NoTraining()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}

    def planner(self, decoding: BeamDecoding, seed: int) -> Planner:
        """Return the planner."""
        raise NotImplementedError

    def train(self, training: Any, data: Problems, draft: RunDraft) -> Planner:
        """Return the planner; nothing is learned."""
        return self.planner(self.decodings[DEFAULT], draft.key.seed)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner with the run's seed."""
        return self.planner(decoding, run.key.seed)


class WLMethod(MethodBase):
    """Defaults of methods that only collect WL colours, which contain no names; nothing is drawn."""

    def deterministic(self, training: Any) -> bool:
        """Return True: training draws nothing."""
        return True

    def invariant(self, training: Any) -> bool:
        """Return True: colours contain no names."""
        return True


@runtime_checkable
class PlanningMethod(Method, Protocol):
    """A method that makes planners.

    `decodings` names the decoding configurations (frozen dataclasses that check themselves), "default" first. They are
    chosen when a planner is loaded. A decoding named "portfolio" also plans with the run `Run.second`.
    """

    @property
    def decodings(self) -> Mapping[str, Any]:
        """Decoding configurations by name."""

    def train(self, training: Any, data: Any, draft: RunDraft) -> Planner:
        """Train a planner, write into the draft's folder what `load` needs, and return it with its default decoding."""

    def load(self, run: Run, decoding: Any) -> Planner:
        """Return the planner of a run; raises StoreError or, for a conflicting decoding, ConfigurationError."""


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

    def checkpoints(
        self, training: Any, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Checkpoint]:
        """Yield the planners of one training after the first `after`; it may resume from its own `folder`."""


@dataclass(frozen=True, eq=False)
class WeightContributions:
    """Contributions `amounts` [n, r, c] of n decisions to the `weights` [r, c] of c features in the r rows of delta."""

    weights: NDArray[np.float64]
    decisions: Sequence[Labelled]
    amounts: NDArray[np.float64]


@runtime_checkable
class SupportsAttribution(Protocol):
    """A method whose learned weights are sums over its training decisions (representer points)."""

    def weight_contributions(self, run: Run, data: Any, columns: Sequence[int]) -> WeightContributions:
        """Return the contribution of each decision to the weights of `columns`; `data` is the run's training data."""
