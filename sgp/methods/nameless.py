"""A transformer without names: what symmetry-aware training aims at holds by construction, on problems of any size.

Ours, beside "Symmetry-Aware Transformer Training for Automated Planning" (symt): there, tokens are names, and losses
teach a transformer that they say nothing. Here objects have no names, so that nothing has to be taught. The network
scores the applicable actions of a state, and learns from whole state spaces that all optimal ones are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.trees import TreeConfig, TreeEncoder, applied
from sgp.errors import ConfigurationError
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.nameless import NamelessModel, NamelessShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.action_probabilities import ActionProbabilities
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.training.fit import Epoch, FitContext
from sgp.training.labels import LabelConfig, followed, label
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, fit_ranking, spread

_ACTIONS = TreeConfig("actions", depths=False, edges=False)
_SPACE = 100_000  # most states of a state space that is expanded


@dataclass(frozen=True)
class NamelessTraining:
    """The network, its labels and its training; the loss is the contrastive one, of which depths are no part."""

    shape: NamelessShape = field(default_factory=NamelessShape)
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="optimal", space=_SPACE))
    training: TreeTraining = field(default_factory=lambda: TreeTraining(epochs=30, depth_weight=0.0))
    decoding: str = DEFAULT  # by which validation selects among the epochs

    def __post_init__(self) -> None:
        self.labels.refuse_dagger()
        if self.training.depth_weight:
            raise ConfigurationError(
                f"training.depth_weight is {self.training.depth_weight}; expected 0, because all candidates are one "
                "action away"
            )


class Nameless(NetworkMethod[NamelessTraining, BeamDecoding, NamelessModel, ActionProbabilities]):
    """Actions by a transformer over objects without names; visited states are excluded unless a decoding says so."""

    key = "nameless"
    title = "Nameless transformer"
    paper = "symt"
    learns_from = Demonstrations
    variants: Mapping[str, NamelessTraining] = {
        "pointer": NamelessTraining(),
        "random-names": NamelessTraining(NamelessShape(drawn=True)),  # a middle way
    }
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(), "greedy": BeamDecoding(revisits=True)}
    sweep: Sequence[Settings] = ()  # its planners are epochs
    keeps: ClassVar[Literal["last", "least loss"]] = "last"  # its steps were the smallest

    def invariant(self, training: NamelessTraining) -> bool:
        """The network knows no names, unless vectors are drawn as such."""
        return not training.shape.drawn

    def build(self, training: NamelessTraining, domain: DomainText) -> NamelessModel:
        """The network over the relations of a state and its applicable actions."""
        schemas = {applied(name) for name in domain.schemas}
        return NamelessModel(TreeEncoder(domain, _ACTIONS).relations, schemas, training.shape)

    def fit(
        self, training: NamelessTraining, data: Demonstrations, network: NamelessModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Learns from labels; epochs are compared by the experts' decisions in the problems for validation."""
        encoder = TreeEncoder(data.train[0].task.domain_text, _ACTIONS)
        require_readable((*data.train, *data.validation), encoder.refuses)
        decisions = label(training.labels, data.train, one_step, np.random.default_rng(context.seed))
        train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
        compared = spread(list(followed(data.validation, one_step)), training.training.compared)
        validation = LabelledTrees.of(encoder, compared, f"the validation problems of {data.domain}")
        others = {"drawing": network.drawing.manual_seed(context.seed)}
        return fit_ranking(network, training.training, train, validation, context, others)

    def learned(
        self, training: NamelessTraining, domain: DomainText, network: NamelessModel, device: Device
    ) -> ActionProbabilities:
        """The policy that takes the most probable action."""
        return ActionProbabilities(TreeEncoder(domain, _ACTIONS), network, device)

    def planner(self, training: NamelessTraining, learned: ActionProbabilities, decoding: BeamDecoding) -> Planner:
        """A beam over applicable actions."""
        return decoding.planner(learned, one_step)

    def sample(self, training: NamelessTraining, learned: ActionProbabilities, task: Task) -> Vectors:
        """The costs of the initial state's actions."""
        return learned.sample(task, one_step)


METHOD = Nameless()
