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
from numpy.typing import NDArray

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.relations import RelationalEncoder, concatenate
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import State, Task, Trajectory
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue
from sgp.training.fit import Epoch, FitContext
from sgp.training.relational import RelationalTraining, ValuedStates, fit_values, predict


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
    """Return all states of the trajectories with the number of remaining actions as value: 0 at the goal.

    For an optimal plan the value is the distance to the goal, V*. Stahlberg, Bonet and Geffner take all states of small
    problems. The problems of the dynamic-validation paper are too large for that; the paper states that the policy
    imitates the planner but not on which states. Here these are the states that the plans visit. Raises
    ConfigurationError for a problem that cannot be encoded.
    """
    require_readable(trajectories, encoder.refuses)
    states = concatenate([encoder.encode(each.task, each.states) for each in trajectories])
    left = [np.arange(len(each), -1, -1, dtype=np.float32) for each in trajectories]
    return ValuedStates(states, np.concatenate(left))


class ValueGNN(NetworkMethod[ValueGNNTraining, BeamDecoding, RelationalModel, LowestValue]):
    """The method of the dynamic-validation paper.

    The loss is the absolute error |V - V*| of Stahlberg, Bonet and Geffner (2022), averaged over a batch. The paper
    trains with three seeds and shows one.
    """

    key = "gnn-value"
    title = "GNN value policy"
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

    def planner(self, training: ValueGNNTraining, learned: LowestValue, decoding: BeamDecoding) -> Planner:
        """Return a beam search over successors."""
        return decoding.planner(learned, one_step)

    def sample(self, training: ValueGNNTraining, learned: LowestValue, task: Task) -> Vectors:
        """Return the value [1] of the initial state."""
        return {"value": learned.value([(task, [task.init])])}


METHOD = ValueGNN()
