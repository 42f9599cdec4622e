"""GNN value policy: a network learns the distance to the goal, and the planner follows the lowest value.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic-validation), section 4
and appendix A, whose network is that of Stahlberg, Bonet and Geffner, "Learning General Optimal Policies with Graph
Neural Networks" (ICAPS 2022). A relational graph neural network is trained on the states of the teacher's plans to
predict the number of remaining actions. The planner takes the successor of lowest value and visits no state twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.relations import RelationalEncoder, RelationalStates, concatenate
from sgp.errors import check_fields
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import DomainText
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit
from sgp.training.tree_ranking import PART


@dataclass(frozen=True)
class RelationalTraining:
    """Hyperparameters of training. Defaults: dynamic-validation, appendix A."""

    epochs: int = 100
    learning_rate: float = 2e-4  # of Adam
    clip: float = 0.1  # maximum gradient norm, over all weights together (the paper leaves this open)
    batch: int = 1024  # states per step

    def __post_init__(self) -> None:
        check_fields(self, "GNN", ["learning_rate", "clip"], epochs=1, batch=1)


@dataclass(frozen=True, eq=False)
class ValuedStates:
    """States and their target values [n]."""

    states: RelationalStates
    values: NDArray[np.float32]


def fit_values(
    model: RelationalModel,
    config: RelationalTraining,
    train: ValuedStates,
    validation: ValuedStates,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train by mean absolute error; the order of batches depends only on epoch and seed. See `fit`."""
    device = context.device

    def batches(epoch: int) -> Iterator[NDArray[np.int64]]:
        order = np.random.default_rng([context.seed, epoch]).permutation(len(train.states))
        return iter(np.split(order, range(config.batch, len(order), config.batch)))

    def losses(batch: NDArray[np.int64]) -> Iterator[LossPart]:
        targets, done = torch.as_tensor(train.values[batch], device=device), 0
        for part in train.states.select(batch).parts(PART[device]):
            values = model(*model.tensors(part.objects, part.joined_arguments()))
            errors = (values - targets[done : done + len(part)]).abs().sum()
            yield LossPart(errors / len(batch), errors.detach(), len(part))
            done += len(part)

    optimizer = torch.optim.Adam(model.to(device).parameters(), lr=config.learning_rate)
    schedule = Schedule(config.epochs, lambda epoch, batch: config.learning_rate, config.clip)
    return fit(model, optimizer, schedule, batches, losses, lambda: mean_error(model, validation, device), context)


def predict(model: RelationalModel, states: RelationalStates, device: Device) -> NDArray[np.float32]:
    """Return the model's values [n] of states, computed in parts."""
    parts = [
        model.values(part.objects, part.joined_arguments()) for part in with_limit_checks(states.parts(PART[device]))
    ]
    return np.concatenate([np.empty(0, np.float32), *parts])


def mean_error(model: RelationalModel, valued: ValuedStates, device: Device) -> float:
    """Return the mean absolute error of the model's values."""
    return float(np.abs(predict(model, valued.states, device) - valued.values).mean())


@dataclass(frozen=True)
class ValueGNNTraining:
    """The network and its training (dynamic-validation, appendix A)."""

    shape: RelationalShape = field(default_factory=RelationalShape)
    training: RelationalTraining = field(default_factory=RelationalTraining)
    decoding: str = DEFAULT  # used by validation to select among the epochs


@dataclass(frozen=True, eq=False)
class LearnedValue:
    """State values by a relational network."""

    encoder: RelationalEncoder
    model: RelationalModel
    device: Device

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.float32]:
        """Return the values [n] of the states of several tasks, concatenated and computed in one batch."""
        return predict(self.model, concatenate([self.encoder.encode(*each) for each in states]), self.device)


def costs_to_go(encoder: RelationalEncoder, trajectories: Sequence[Trajectory]) -> ValuedStates:
    """Return all states of the trajectories with the number of remaining actions, V* for an optimal plan, as value.

    Stahlberg, Bonet and Geffner take all states of small problems; the paper leaves open on which states its policy
    imitates the planner.
    """
    require_readable(trajectories, encoder.refuses)
    states = concatenate([encoder.encode(each.task, each.states) for each in trajectories])
    left = [np.arange(len(each), -1, -1, dtype=np.float32) for each in trajectories]
    return ValuedStates(states, np.concatenate(left))


class ValueGNN(NetworkMethod[ValueGNNTraining, BeamDecoding, RelationalModel, LowestValue]):
    """The method of the dynamic-validation paper; the loss is |V - V*| (Stahlberg, Bonet and Geffner 2022)."""

    key = "gnn-value"
    paper = "dynamic-validation"
    libraries = ("torch", "pymimir-rgnn")
    learns_from = Demonstrations
    variants: Mapping[str, ValueGNNTraining] = {"rgnn": ValueGNNTraining()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs

    def invariant(self, training: ValueGNNTraining) -> bool:
        """Return True: the network sees objects only through their relations."""
        return True

    def build(self, training: ValueGNNTraining, domain: DomainText) -> RelationalModel:
        """Build the network over a domain's relations."""
        return RelationalModel(RelationalEncoder(domain).relations, training.shape)

    def fit(
        self, training: ValueGNNTraining, data: Demonstrations, network: RelationalModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Train on the costs to go of the teacher's plans."""
        encoder = RelationalEncoder(data.train[0].task.domain_text)
        train, validation = (costs_to_go(encoder, part) for part in (data.train, data.validation))
        for epoch in fit_values(network, training.training, train, validation, context):
            yield replace(epoch, metrics={"largest": data.largest})

    def learned(
        self, training: ValueGNNTraining, domain: DomainText, network: RelationalModel, device: Device
    ) -> LowestValue:
        """Return the policy that follows the network's values."""
        return LowestValue(LearnedValue(RelationalEncoder(domain), network, device))

    def sample(self, training: ValueGNNTraining, learned: LowestValue, task: Task) -> Vectors:
        """Return the value [1] of the initial state."""
        return {"value": learned.value([(task, [task.init])])}


METHOD = ValueGNN()
