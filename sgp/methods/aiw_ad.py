"""AIW-AD: a relational network scores all states of a width-1 lookahead in one pass; the planner jumps to the best.

Source: "Efficient Lookahead Encoding and Abstracted Width for Learning General Policies in Classical Planning"
(aiw-ad). The candidates are the states that abstracted IW(1) reaches. State and lookahead tree form one relational
graph (aggregated delta). The network gives each candidate a score Q. Two differences from the paper: the network is
smaller, and the variant `exact`, which is ours, learns from labels of whole state spaces instead of Q-learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.trees import TreeConfig, tree_encoder
from sgp.errors import ConfigurationError, check_fields
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import CandidateSet, successors_for
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Successors
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.tree_scores import TreeScores
from sgp.training.fit import Epoch, FitContext
from sgp.training.jump_learning import JumpLearning, fit_q
from sgp.training.labels import LabelConfig, followed, label
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, fit_ranking, spread

LearnsBy = Literal["labels", "trying"]

_SMALL = RelationalShape(layers=12, hidden=32)  # AIW-AD, section 7: hidden 32; layers unprinted (pymimir-rgnn: 30)


@dataclass(frozen=True)
class AIWADTraining:
    """Candidate set, graph encoding, network and learning algorithm.

    `labels` configures learning from labels of whole state spaces, `learning` configures Q-learning, and `training`
    configures the optimisation of both.
    """

    RENAMED_FIELDS: ClassVar[Mapping[str, str]] = {"enough": "min_novel"}  # by their names in earlier versions

    learns_by: LearnsBy = "labels"
    candidates: CandidateSet = "aiw"  # AIW, IW, one-step successors, or variants of AIW (AIW-AD, appendices B and C)
    min_novel: int = 0  # stop after a depth with so many novel states and progress; 0, as published: never
    trees: TreeConfig = field(default_factory=TreeConfig)
    shape: RelationalShape = _SMALL
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="optimal-only", space=50_000))
    learning: JumpLearning = field(default_factory=JumpLearning)
    training: TreeTraining = field(default_factory=TreeTraining)
    decoding: str = DEFAULT  # used by validation to select among the epochs

    def __post_init__(self) -> None:
        check_fields(self, min_novel=0)
        if self.trees.encoding == "actions" and self.candidates != "one-step":
            raise ConfigurationError(
                f"trees.encoding actions conflicts with candidates {self.candidates}, which are several actions away; "
                "expected candidates one-step"
            )
        self.labels.refuse_dagger()

    @property
    def successors(self) -> Successors:
        """The generator of a state's candidates."""
        return successors_for(self.candidates, self.min_novel)


class AIWAD(NetworkMethod[AIWADTraining, BeamDecoding, LookaheadModel, TreeScores]):
    """The method of the AIW-AD paper, with its greedy decoding that excludes visited states."""

    key = "aiw-ad"
    title = "AIW-AD"
    paper = "aiw-ad"
    libraries = ("torch", "pymimir-rgnn")
    learns_from = Demonstrations
    variants: Mapping[str, AIWADTraining] = {"exact": AIWADTraining(), "aiw": AIWADTraining("trying")}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs
    # The validation loss does not select the epoch: it grows as the network becomes confident in other correct choices.
    # The paper selects by coverage on validation problems, then by plan length: `--by coverage`.
    keeps: ClassVar[Literal["last", "least loss"]] = "last"
    ablations: Sequence[Settings] = (
        {"candidates": "iw"},
        {"candidates": "base-aiw"},
        {"candidates": "capped-aiw"},
        {"candidates": "reduced-aiw"},
        {"candidates": "one-step"},
        {"candidates": "one-step", "trees.encoding": "actions"},
        {"trees.depths": "false"},
        {"trees.edges": "false"},
        {"trees.depths": "false", "trees.edges": "false"},
        {"training.depth_weight": "0"},
        {"trees.encoding": "external"},
        {"trees.encoding": "internal"},
        {"trees.encoding": "internal-delta"},
    )

    def invariant(self, training: AIWADTraining) -> bool:
        """Return whether candidates are one-step: jumps depend on the order in which atoms become novel."""
        return training.candidates == "one-step"

    def build(self, training: AIWADTraining, domain: DomainText) -> LookaheadModel:
        """Build the network over the relations of a lookahead tree."""
        return LookaheadModel(tree_encoder(domain, training.trees).relations, training.shape, training.trees.copied)

    def fit(
        self, training: AIWADTraining, data: Demonstrations, network: LookaheadModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Train on labels, or by Q-learning, which ignores the experts' training plans.

        The validation loss is measured on the experts' decisions in the validation problems.
        """
        encoder, successors = tree_encoder(data.train[0].task.domain_text, training.trees), training.successors
        require_readable((*data.train, *data.validation), encoder.refuses)
        decisions = spread(list(followed(data.validation, successors)), training.training.compared)
        validation = LabelledTrees.of(encoder, decisions, f"the validation problems of {data.domain}")
        if training.learns_by == "trying":
            tasks, learning = [each.task for each in data.train], training.learning
            return fit_q(network, training.training, learning, tasks, successors, encoder, validation, context)
        decisions = label(training.labels, data.train, successors, np.random.default_rng(context.seed))
        train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
        return fit_ranking(network, training.training, train, validation, context)

    def learned(
        self, training: AIWADTraining, domain: DomainText, network: LookaheadModel, device: Device
    ) -> TreeScores:
        """Return the policy that follows the network's scores."""
        return TreeScores(tree_encoder(domain, training.trees), network, device)

    def planner(self, training: AIWADTraining, learned: TreeScores, decoding: BeamDecoding) -> Planner:
        """Return a beam search over the training's candidate set, or over the candidate set that the decoding names."""
        return decoding.planner(learned, training.successors)

    def sample(self, training: AIWADTraining, learned: TreeScores, task: Task) -> Vectors:
        """Return the costs of the initial state's candidates."""
        return learned.sample(task, training.successors)


METHOD = AIWAD()
