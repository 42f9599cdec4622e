"""What a method is: what it learns from, what it makes, and what else it can do, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import DataKind, Demonstrations
from sgp.models.device import Device
from sgp.planning.planner import Planner
from sgp.planning.task import State, Successor, Task
from sgp.planning.transition_model import TransitionModel

Settings = Mapping[str, str]  # fields of a configuration by path, as text; "decoding." leads into the decoding


class Method(Protocol):
    """A way to learn. Its file is named as its `key`, with "_" for "-".

    `variants` names its configurations of training (frozen dataclasses that check themselves), the default first.
    `learns_from` says which data `train` receives; of `Transitions` they may be of several domains. `libraries` are the
    distributions whose versions its runs record. A method is a `PlanningMethod`, a `PredictingMethod` or, where its
    models can plan, both, and may be `Selectable`, `Accountable`, `Ablatable` or `Tunable`.
    """

    key: str
    title: str
    paper: str

    @property
    def libraries(self) -> Sequence[str]:
        """Distributions, as `pip install` names them."""
        ...

    @property
    def learns_from(self) -> DataKind:
        """The kind of data."""
        ...

    @property
    def variants(self) -> Mapping[str, Any]:
        """Configurations of training by name."""
        ...

    def train(self, training: Any, data: Any, draft: RunDraft) -> Any:
        """Learns and writes into the draft's folder what is loaded later; what is learned (see the kinds below)."""

    def deterministic(self, training: Any) -> bool:
        """Whether every seed gives the same model, so that one run is enough."""

    def invariant(self, training: Any) -> bool:
        """Whether renaming the objects of a problem changes no embedding and no multiset of costs."""


@runtime_checkable
class PlanningMethod(Method, Protocol):
    """A method that makes planners.

    `decodings` names the ways in which one training can plan (frozen dataclasses that check themselves), "default"
    first: none of them is asked for before a planner is loaded. One named "portfolio" plans by `Run.second`, too.
    """

    @property
    def decodings(self) -> Mapping[str, Any]:
        """Configurations of decoding by name."""
        ...

    def train(self, training: Any, data: Any, draft: RunDraft) -> Planner:
        """Learns a planner and writes into the draft's folder what `load` needs; the planner decodes by default."""

    def load(self, run: Run, decoding: Any) -> Planner:
        """The planner of a run.

        Raises StoreError where the run's files are damaged or of another version, ConfigurationError for a decoding
        that the training does not allow.
        """


@runtime_checkable
class PredictingMethod(Method, Protocol):
    """A method that makes models of transitions, which predict and are measured."""

    def train(self, training: Any, data: Any, draft: RunDraft) -> TransitionModel | Planner:
        """Learns a model and writes into the draft's folder what `load_model` needs; the planner, where it can plan."""

    def load_model(self, run: Run) -> TransitionModel:
        """The model of a run. Raises StoreError where the run's files are damaged or of another version."""


@dataclass(frozen=True)
class Snapshot:
    """A planner at one moment of a training: after an epoch, a boosting round, for a regularisation value."""

    name: str  # "epoch 3"
    training: Any  # the configuration that its run is saved with
    loss: float  # on the validation trajectories
    save: Callable[[RunDraft], None]  # writes into the draft's folder what `load` needs, facts and check vectors
    like: str = ""  # the name of an earlier one of this training that is the same planner


@runtime_checkable
class Selectable(Protocol):
    """A method whose training passes through several planners, of which a validation can select one.

    `sweep` has the settings that it passes through, none where it passes through epochs or rounds. The planners are
    validated by the decoding that the configuration's field `decoding` names.
    """

    @property
    def sweep(self) -> Sequence[Settings]:
        """Settings of training, one of each planner."""
        ...

    def snapshots(
        self, training: Any, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planners of one training, from the one after the first `after`.

        `folder` is the method's own, to keep what it needs to go on after an interruption.
        """


class Decision(Protocol):
    """A training state with its candidates and which of them are right."""

    @property
    def task(self) -> Task:
        """Whose state it is."""
        ...

    @property
    def state(self) -> State:
        """The state."""
        ...

    @property
    def choice(self) -> Sequence[Successor]:
        """The candidates."""
        ...

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which of them [b] are right."""
        ...


@dataclass(frozen=True, eq=False)
class Weighed:
    """Which decisions of training gave some features their weights.

    A feature has the weights [r, c], which add up to its weight in a state, the second ones by the share of the goal
    that holds there; `amounts` [n, r, c] are what each of the n decisions adds to them.
    """

    weights: NDArray[np.float64]
    decisions: Sequence[Decision]
    amounts: NDArray[np.float64]


@runtime_checkable
class Accountable(Protocol):
    """A method whose learned weights are sums over the decisions that it was trained on."""

    def weighed(self, run: Run, data: Any, columns: Sequence[int]) -> Weighed:
        """What gave the features of some columns their weights; `data` are those that the run was trained on.

        Raises ConfigurationError for a training whose weights are no such sums.
        """


@runtime_checkable
class Ablatable(Protocol):
    """A method that can be taken apart: `ablations` changes one ingredient of its default variant in each."""

    @property
    def ablations(self) -> Sequence[Settings]:
        """Settings of training and decoding, changed together."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A method with settings that are chosen by validation, one after the other, each with its values."""

    @property
    def choices(self) -> Mapping[str, Sequence[str]]:
        """Values by setting, of training or decoding, the first of each being the one to start from."""
        ...
