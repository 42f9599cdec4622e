"""AIW-AD: a relational network scores all states of a width-1 lookahead in one pass, and the best one is jumped to.

Source: "Efficient Lookahead Encoding and Abstracted Width for Learning General Policies in Classical Planning"
(aiw-ad). Candidates are the states that abstracted IW(1) reaches; state and tree are one graph of relations (aggregated
delta); the network gives each candidate a score Q. What differs here, and is said in the fields: the network is
smaller, and variant `exact`, which is ours, learns from whole state spaces what the paper's learning finds out by
trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.pairs import tree_encoder
from sgp.encoders.trees import LookaheadEncoder, TreeConfig
from sgp.errors import ConfigurationError
from sgp.methods.configuration import from_record
from sgp.methods.contract import Settings, Snapshot
from sgp.methods.passing import keep_one, require_readable
from sgp.models.device import Device, choose_device
from sgp.models.lookahead import LookaheadModel
from sgp.models.relational import RelationalShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Successors
from sgp.planning.reach import Reach, check_reach, successors_for
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.tree_scores import TreeScores
from sgp.training.checkpoint import identify
from sgp.training.epochs import Epoch
from sgp.training.jump_learning import JumpLearning, train_jumps
from sgp.training.labels import LabelConfig, followed, label, no_fit
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, spread, train_ranking

LearnsBy = Literal["labels", "trying"]

_WEIGHTS = "model.safetensors"
_SMALL = RelationalShape(layers=12, hidden=32)  # AIW-AD, section 7: 32; it prints no layers, pymimir-rgnn's are 30


@dataclass(frozen=True)
class AIWADTraining:
    """Which candidates, which graph, which network, and how it learns.

    By `labels` of whole state spaces, or by trying (`learning`); `training` says how steps are taken, either way.
    """

    learns_by: LearnsBy = "labels"
    candidates: Reach = "aiw"  # AIW, IW or primitive successors, and variants of AIW (AIW-AD, appendices B and C)
    enough: int = 0  # a lookahead ends after a depth with so many novel states and progress; 0, as published: never
    trees: TreeConfig = field(default_factory=TreeConfig)
    shape: RelationalShape = _SMALL
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="exact", space=50_000))
    learning: JumpLearning = field(default_factory=JumpLearning)
    training: TreeTraining = field(default_factory=TreeTraining)
    decoding: str = DEFAULT  # by which validation selects among the epochs

    def __post_init__(self) -> None:
        check_reach(self.candidates, self.enough)
        if self.learns_by not in get_args(LearnsBy):
            raise ConfigurationError(
                f"learns_by is '{self.learns_by}'; expected one of {', '.join(get_args(LearnsBy))}"
            )
        if self.trees.told == "actions" and self.candidates != "one-step":
            raise ConfigurationError(
                f"trees.told actions conflicts with candidates {self.candidates}, which are several actions away; "
                "expected candidates one-step"
            )
        if self.labels.source in ("visited", "joined"):
            raise ConfigurationError(
                f"labels.source is {self.labels.source}; expected exact, optimal or experts, because no network is "
                "fitted on the way to the others"
            )

    @property
    def successors(self) -> Successors:
        """What makes the candidates of a state."""
        return successors_for(self.candidates, self.enough)


class AIWAD:
    """The method of the AIW-AD paper, greedy as there: visited states are excluded."""

    key = "aiw-ad"
    title = "AIW-AD"
    paper = "aiw-ad"
    libraries = ("torch", "pymimir-rgnn")
    learns_from = Demonstrations
    variants: Mapping[str, AIWADTraining] = {"exact": AIWADTraining(), "aiw": AIWADTraining("trying")}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}
    sweep: Sequence[Settings] = ()  # it passes through epochs
    ablations: Sequence[Settings] = (
        {"candidates": "iw"},
        {"candidates": "base-aiw"},
        {"candidates": "capped-aiw"},
        {"candidates": "reduced-aiw"},
        {"candidates": "one-step"},
        {"candidates": "one-step", "trees.told": "actions"},
        {"trees.depths": "false"},
        {"trees.edges": "false"},
        {"trees.depths": "false", "trees.edges": "false"},
        {"training.depth_weight": "0"},
        {"trees.told": "external"},
        {"trees.told": "internal"},
        {"trees.told": "internal-delta"},
    )

    def deterministic(self, training: AIWADTraining) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, training: AIWADTraining) -> bool:
        """The network knows no names. With jumps the candidates depend on the order in which atoms become novel."""
        return training.candidates == "one-step"

    def snapshots(
        self, training: AIWADTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planner after every epoch; `folder` keeps the last epochs, from which the training goes on.

        Raises ConfigurationError for a problem that cannot be encoded, where no state is labelled or the loss is no
        longer finite, StoreError where the folder is damaged or of another training.
        """
        encoder = tree_encoder(data.train[0].task.domain_text, training.trees)
        require_readable(data, encoder.refuses)
        for epoch in _epochs(training, encoder, data, seed, device, folder, after):
            save = partial(self._save, training, data, epoch)
            yield Snapshot(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: AIWADTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Trains all epochs and keeps the last one, whose steps were the smallest.

        The loss on experts' decisions is no guide here: it grows as a network becomes sure of other right choices. The
        paper selects by coverage of problems for validation, then by length: `--by coverage` takes the first of best
        coverage.
        """
        keep_one(self, training, training.training.epochs, data, draft, "last")
        policy = _policy(training, data.train[0].task.domain_text, draft.folder / _WEIGHTS)
        return self.decodings[DEFAULT].planner(policy, training.successors)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """The planner of a run, verified to score candidates as it did when it was trained."""
        training = from_record(AIWADTraining, run.training)
        policy = _policy(training, run.domain_text, run.folder / _WEIGHTS)
        run.verify(policy.sample(Task(run.check_problem), training.successors))
        return decoding.planner(policy, training.successors)

    def _save(self, training: AIWADTraining, data: Demonstrations, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        model = _network(training, tree_encoder(task.domain_text, training.trees), seed=0)
        model.load_state_dict(epoch.weights)
        model.save(draft.folder / _WEIGHTS)
        draft.facts.update(
            **epoch.facts,
            parameters=model.count_parameters(),
        )
        policy = _policy(training, task.domain_text, draft.folder / _WEIGHTS)
        draft.keep_check(task.problem, policy.sample(task, training.successors))


def _epochs(
    training: AIWADTraining,
    encoder: LookaheadEncoder,
    data: Demonstrations,
    seed: int,
    device: Device,
    folder: Path,
    after: int,
) -> Iterator[Epoch]:
    """The epochs of a training, compared by the decisions of the experts in the problems for validation.

    By trying, nothing of the experts' plans for training is looked at.
    """
    model, successors = _network(training, encoder, seed), training.successors
    decisions = list(followed(data.validation, successors))
    validation = LabelledTrees.of(
        encoder, spread(decisions, training.training.compared), f"the validation problems of {data.domain}"
    )
    identity = identify((data.sha256, asdict(training), seed))
    if training.learns_by == "trying":
        tasks = [each.task for each in data.train]
        return train_jumps(
            model,
            training.training,
            training.learning,
            tasks,
            successors,
            encoder,
            validation,
            seed,
            device,
            folder,
            identity,
            after,
        )

    decisions = label(training.labels, data.train, successors, no_fit, np.random.default_rng(seed))
    train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
    return train_ranking(model, training.training, train, validation, seed, device, folder, identity, after)


def _network(training: AIWADTraining, encoder: LookaheadEncoder, seed: int) -> LookaheadModel:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LookaheadModel(encoder.relations, training.shape, training.trees.copied)


def _policy(training: AIWADTraining, domain: DomainText, weights: Path) -> TreeScores:
    encoder, device = tree_encoder(domain, training.trees), choose_device("auto")
    model = _network(training, encoder, seed=0)
    model.read(weights)
    return TreeScores(encoder, model.to(device).eval(), device)


METHOD = AIWAD()
