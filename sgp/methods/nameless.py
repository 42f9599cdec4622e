"""Transformer without object names: exact symmetry by construction, for problems of any size.

This method is ours, a counterpart of "Symmetry-Aware Transformer Training for Automated Planning" (symt). There, tokens
are names, and losses teach the transformer to ignore them. Here objects have no names, so that nothing must be taught.
The network scores the applicable actions of a state. Labels come from whole state spaces: all optimal actions are
correct.
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
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.tree_scores import ActionProbabilities
from sgp.training.fit import Epoch, FitContext
from sgp.training.labels import LabelConfig, followed, label
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, fit_ranking, spread

_ACTIONS = TreeConfig("actions", depths=False, edges=False)
_SPACE = 100_000  # most states of an expanded state space


@dataclass(frozen=True)
class NamelessTraining:
    """Network, labels and training; the loss is the contrastive one without the depth term."""

    shape: NamelessShape = field(default_factory=NamelessShape)
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="optimal", space=_SPACE))
    training: TreeTraining = field(default_factory=lambda: TreeTraining(epochs=30, depth_weight=0.0))
    decoding: str = DEFAULT  # used by validation to select among the epochs

    def __post_init__(self) -> None:
        self.labels.refuse_dagger()
        if self.training.depth_weight:
            raise ConfigurationError(
                f"training.depth_weight is {self.training.depth_weight}; expected 0, because all candidates are one "
                "action away"
            )


class Nameless(NetworkMethod[NamelessTraining, BeamDecoding, NamelessModel, ActionProbabilities]):
    """Action ranking by a transformer over nameless objects; the default decoding excludes visited states."""

    key = "nameless"
    title = "Nameless transformer"
    paper = "symt"
    learns_from = Demonstrations
    variants: Mapping[str, NamelessTraining] = {
        "pointer": NamelessTraining(),
        "random-names": NamelessTraining(NamelessShape(drawn=True)),  # intermediate variant: random vectors as names
    }
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(), "greedy": BeamDecoding(revisits=True)}
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs
    keeps: ClassVar[Literal["last", "least loss"]] = "last"  # the last epoch has the smallest steps

    def invariant(self, training: NamelessTraining) -> bool:
        """Return whether no random vectors are drawn as names."""
        return not training.shape.drawn

    def build(self, training: NamelessTraining, domain: DomainText) -> NamelessModel:
        """Build the network over the relations of a state and its applicable actions."""
        schemas = {applied(name) for name in domain.schemas}
        return NamelessModel(TreeEncoder(domain, _ACTIONS).relations, schemas, training.shape)

    def fit(
        self, training: NamelessTraining, data: Demonstrations, network: NamelessModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Train on labels; the validation loss is measured on the experts' decisions in the validation problems."""
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
        """Return the policy that takes the most probable action."""
        return ActionProbabilities(TreeEncoder(domain, _ACTIONS), network, device)

    def planner(self, training: NamelessTraining, learned: ActionProbabilities, decoding: BeamDecoding) -> Planner:
        """Return a beam search over applicable actions."""
        return decoding.planner(learned, one_step)

    def sample(self, training: NamelessTraining, learned: ActionProbabilities, task: Task) -> Vectors:
        """Return the costs of the initial state's actions."""
        return learned.sample(task, one_step)


METHOD = Nameless()
