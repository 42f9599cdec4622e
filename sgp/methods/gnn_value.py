"""The GNN value policy: learn how far states are from the goal, go where it is nearest.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic-validation), section 4
and appendix A, whose network is that of Stahlberg, Bonet and Geffner, "Learning General Optimal Policies with Graph
Neural Networks" (ICAPS 2022). A relational graph neural network is trained on the states of the teacher's plans to the
number of actions left; the planner goes to the successor of lowest value and visits no state twice.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import TrainingData
from sgp.encoders.relations import RelationalEncoder, concatenate
from sgp.errors import ConfigurationError
from sgp.methods import Snapshot
from sgp.models.device import Device, choose_device
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory
from sgp.policies.lowest_value import LowestValue
from sgp.progress import progress
from sgp.training.relational import Epoch, RelationalTraining, ValuedStates, predict, train_values

_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class ValueGNNConfig:
    """The network and its training (dynamic-validation, appendix A)."""

    shape: RelationalShape = field(default_factory=RelationalShape)
    training: RelationalTraining = field(default_factory=RelationalTraining)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ValueGNNConfig:
        """The configuration that a run's record holds."""
        return cls(RelationalShape(**record["shape"]), RelationalTraining(**record["training"]))


@dataclass(frozen=True, eq=False)
class LearnedValue:
    """Values states by a relational network."""

    encoder: RelationalEncoder
    model: RelationalModel
    device: Device

    def refuses(self, task: Task) -> str | None:
        """What the encoder says."""
        return self.encoder.refuses(task)

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.float32]:
        """The values [n] of states of some tasks, one after the other, computed together."""
        return predict(self.model, concatenate([self.encoder.encode(*each) for each in states]), self.device)


def costs_to_go(encoder: RelationalEncoder, trajectories: Sequence[Trajectory]) -> ValuedStates:
    """All states of the trajectories, each valued with the number of actions that its plan has left: 0 at the goal.

    Of an optimal plan that is the distance to the goal, V*. Stahlberg, Bonet and Geffner take all states of small
    problems; the dynamic-validation paper, whose problems are too large for that, says that the policy imitates the
    planner and not on which states: here, those that the plans visit. Raises ConfigurationError for a problem that
    cannot be encoded.
    """
    for each in trajectories:
        refusal = encoder.refuses(each.task)
        if refusal is not None:
            raise ConfigurationError(f"{each.task.name} cannot be trained on: {refusal}; leave it out of the suite")
    states = concatenate([encoder.encode(each.task, each.states) for each in trajectories])
    left = [np.arange(len(each), -1, -1, dtype=np.float32) for each in trajectories]
    return ValuedStates(states, np.concatenate(left))


class ValueGNN:
    """The method of the dynamic-validation paper.

    The loss is the absolute error |V - V*| of Stahlberg, Bonet and Geffner (2022), its mean over a batch. The paper
    repeats a training with three seeds and shows one.
    """

    key = "gnn-value"
    title = "GNN value policy"
    paper = "dynamic-validation"
    variants: Mapping[str, ValueGNNConfig] = {"rgnn": ValueGNNConfig()}

    def deterministic(self, config: ValueGNNConfig) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, config: ValueGNNConfig) -> bool:
        """The network knows objects by their relations alone."""
        return True

    def snapshots(
        self, config: ValueGNNConfig, data: TrainingData, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planner after every epoch; `folder` keeps the last epochs, from which the training goes on.

        Raises ConfigurationError for a problem that cannot be encoded or where the loss is no longer finite, StoreError
        where the folder is damaged or of another training.
        """
        encoder = RelationalEncoder(data.train[0].task.domain_text)
        train, validation = (costs_to_go(encoder, part) for part in (data.train, data.validation))
        model = _network(config.shape, encoder, seed)
        training = sha256(f"{data.sha256} {asdict(config)} {seed}".encode()).hexdigest()
        epochs = train_values(model, config.training, train, validation, seed, device, folder, training, after)
        for epoch in epochs:
            save = partial(self._save, config, data, epoch)
            yield Snapshot(f"epoch {epoch.number}", config, epoch.validation_loss, save)

    def train(self, config: ValueGNNConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Trains all epochs and keeps the one of least validation loss, the first among equals (column "Loss")."""
        started = time.perf_counter()
        title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
        best: Snapshot | None = None
        with tempfile.TemporaryDirectory() as folder, progress(title, config.training.epochs) as bar:
            for snapshot in self.snapshots(config, data, Path(folder), draft.key.seed, draft.device):
                if best is None or snapshot.loss < best.loss:
                    best = snapshot
                bar.advance()
        assert best is not None, "a training has at least one epoch"
        best.save(draft)
        draft.facts.update(seconds=round(time.perf_counter() - started, 3))
        return _planner(config, data.train[0].task.domain_text, draft.folder / _WEIGHTS)

    def load(self, run: Run) -> Planner:
        """The planner of a run, verified to value states as it did when it was trained."""
        config = ValueGNNConfig.from_record(run.config)
        planner = _planner(config, run.domain_text, run.folder / _WEIGHTS)
        run.verify(_sample(planner, Task(run.check_problem)))
        return planner

    def _save(self, config: ValueGNNConfig, data: TrainingData, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        model = _network(config.shape, RelationalEncoder(task.domain_text), seed=0)
        model.load_state_dict(epoch.weights)
        model.save(draft.folder / _WEIGHTS)
        draft.facts.update(
            epoch=epoch.number,
            train_loss=epoch.train_loss,
            validation_loss=epoch.validation_loss,
            parameters=model.count_parameters(),
            largest=data.largest,
        )
        planner = _planner(config, task.domain_text, draft.folder / _WEIGHTS)
        draft.keep_check(task.problem, _sample(planner, task))


def _network(shape: RelationalShape, encoder: RelationalEncoder, seed: int) -> RelationalModel:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RelationalModel(encoder.relations, shape)


def _planner(config: ValueGNNConfig, domain: DomainText, weights: Path) -> Planner:
    encoder, device = RelationalEncoder(domain), choose_device("auto")
    model = _network(config.shape, encoder, seed=0)
    model.read(weights)
    return Planner(LowestValue(LearnedValue(encoder, model.to(device).eval(), device)))


def _sample(planner: Planner, task: Task) -> dict[str, NDArray[np.floating[Any]]]:
    """The value [1] of a task's initial state, by which a run is verified."""
    assert isinstance(planner.policy, LowestValue)
    return {"value": planner.policy.value([(task, [task.init])])}


METHODS = (ValueGNN(),)
