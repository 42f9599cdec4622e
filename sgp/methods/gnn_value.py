"""The GNN value policy: learn how far states are from the goal, go where it is nearest.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic-validation), section 4
and appendix A, whose network is that of Stahlberg, Bonet and Geffner, "Learning General Optimal Policies with Graph
Neural Networks" (ICAPS 2022). A relational graph neural network is trained on the states of the teacher's plans to the
number of actions left; the planner goes to the successor of lowest value and visits no state twice.
"""

from __future__ import annotations

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
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.relations import RelationalEncoder, concatenate
from sgp.errors import ConfigurationError
from sgp.methods.configuration import from_record
from sgp.methods.contract import Settings, Snapshot
from sgp.methods.passing import keep_one
from sgp.models.device import Device, choose_device
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue
from sgp.training.epochs import Epoch
from sgp.training.relational import RelationalTraining, ValuedStates, predict, train_values

_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class ValueGNNTraining:
    """The network and its training (dynamic-validation, appendix A)."""

    shape: RelationalShape = field(default_factory=RelationalShape)
    training: RelationalTraining = field(default_factory=RelationalTraining)
    decoding: str = DEFAULT  # by which validation selects among the epochs


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
    libraries = ("torch", "pymimir-rgnn")
    learns_from = Demonstrations
    variants: Mapping[str, ValueGNNTraining] = {"rgnn": ValueGNNTraining()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}
    sweep: Sequence[Settings] = ()  # it passes through epochs

    def deterministic(self, training: ValueGNNTraining) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, training: ValueGNNTraining) -> bool:
        """The network knows objects by their relations alone."""
        return True

    def snapshots(
        self, training: ValueGNNTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planner after every epoch; `folder` keeps the last epochs, from which the training goes on.

        Raises ConfigurationError for a problem that cannot be encoded or where the loss is no longer finite, StoreError
        where the folder is damaged or of another training.
        """
        encoder = RelationalEncoder(data.train[0].task.domain_text)
        train, validation = (costs_to_go(encoder, part) for part in (data.train, data.validation))
        model = _network(training.shape, encoder, seed)
        identity = sha256(f"{data.sha256} {asdict(training)} {seed}".encode()).hexdigest()
        epochs = train_values(model, training.training, train, validation, seed, device, folder, identity, after)
        for epoch in epochs:
            save = partial(self._save, training, data, epoch)
            yield Snapshot(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: ValueGNNTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Trains all epochs and keeps the one of least validation loss, the first among equals (column "Loss")."""
        keep_one(self, training, training.training.epochs, data, draft, "least loss")
        policy = _policy(training, data.train[0].task.domain_text, draft.folder / _WEIGHTS)
        return self.decodings[DEFAULT].planner(policy, one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """The planner of a run, verified to value states as it did when it was trained."""
        training = from_record(ValueGNNTraining, run.training)
        policy = _policy(training, run.domain_text, run.folder / _WEIGHTS)
        run.verify(_sample(policy, Task(run.check_problem)))
        return decoding.planner(policy, one_step)

    def _save(self, training: ValueGNNTraining, data: Demonstrations, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        model = _network(training.shape, RelationalEncoder(task.domain_text), seed=0)
        model.load_state_dict(epoch.weights)
        model.save(draft.folder / _WEIGHTS)
        draft.facts.update(
            **epoch.facts,
            parameters=model.count_parameters(),
            largest=data.largest,
        )
        policy = _policy(training, task.domain_text, draft.folder / _WEIGHTS)
        draft.keep_check(task.problem, _sample(policy, task))


def _network(shape: RelationalShape, encoder: RelationalEncoder, seed: int) -> RelationalModel:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RelationalModel(encoder.relations, shape)


def _policy(training: ValueGNNTraining, domain: DomainText, weights: Path) -> LowestValue:
    encoder, device = RelationalEncoder(domain), choose_device("auto")
    model = _network(training.shape, encoder, seed=0)
    model.read(weights)
    return LowestValue(LearnedValue(encoder, model.to(device).eval(), device))


def _sample(policy: LowestValue, task: Task) -> dict[str, NDArray[np.floating[Any]]]:
    """The value [1] of a task's initial state, by which a run is verified."""
    return {"value": policy.value([(task, [task.init])])}


METHOD = ValueGNN()
