"""A transformer without names: what symmetry-aware training aims at holds by construction, on problems of any size.

Ours, beside "Symmetry-Aware Transformer Training for Automated Planning" (symt): there, tokens are names, and losses
teach a transformer that they say nothing. Here objects have no names, so that nothing has to be taught. The network
scores the applicable actions of a state, and learns from whole state spaces that all optimal ones are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.trees import TreeConfig, TreeEncoder, applied
from sgp.errors import ConfigurationError
from sgp.methods.configuration import from_record
from sgp.methods.contract import Settings, Snapshot
from sgp.methods.passing import keep_one, require_readable
from sgp.models.device import Device, choose_device
from sgp.models.nameless import NamelessModel, NamelessShape
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.action_probabilities import ActionProbabilities
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.training.checkpoint import identify
from sgp.training.epochs import Epoch
from sgp.training.labels import LabelConfig, followed, label, no_fit
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, spread, train_ranking

_WEIGHTS = "model.safetensors"
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
        if self.labels.source in ("visited", "joined"):
            raise ConfigurationError(
                f"labels.source is {self.labels.source}; expected exact, optimal or experts, because no network is "
                "fitted on the way to the others"
            )
        if self.training.depth_weight:
            raise ConfigurationError(
                f"training.depth_weight is {self.training.depth_weight}; expected 0, because all candidates are one "
                "action away"
            )


class Nameless:
    """Actions by a transformer over objects without names; visited states are excluded unless a decoding says so."""

    key = "nameless"
    title = "Nameless transformer"
    paper = "symt"
    libraries = ("torch",)
    learns_from = Demonstrations
    variants: Mapping[str, NamelessTraining] = {
        "pointer": NamelessTraining(),
        "random-names": NamelessTraining(NamelessShape(drawn=True)),  # a middle way
    }
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(), "greedy": BeamDecoding(revisits=True)}
    sweep: Sequence[Settings] = ()  # it passes through epochs

    def deterministic(self, training: NamelessTraining) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, training: NamelessTraining) -> bool:
        """The network knows no names, unless vectors are drawn as such."""
        return not training.shape.drawn

    def snapshots(
        self, training: NamelessTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planner after every epoch; `folder` keeps the last epochs, from which the training goes on.

        Raises ConfigurationError for a problem that cannot be encoded, where no state is labelled or the loss is no
        longer finite, StoreError where the folder is damaged or of another training.
        """
        encoder = TreeEncoder(data.train[0].task.domain_text, _ACTIONS)
        require_readable(data, encoder.refuses)
        for epoch in _epochs(training, encoder, data, seed, device, folder, after):
            save = partial(self._save, training, data, epoch)
            yield Snapshot(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: NamelessTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Trains all epochs and keeps the last one, whose steps were the smallest."""
        keep_one(self, training, training.training.epochs, data, draft, "last")
        policy = _policy(training, data.train[0].task.domain_text, draft.folder / _WEIGHTS)
        return self.decodings[DEFAULT].planner(policy, one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """The planner of a run, verified to score actions as it did when it was trained."""
        training = from_record(NamelessTraining, run.training)
        policy = _policy(training, run.domain_text, run.folder / _WEIGHTS)
        run.verify(policy.sample(Task(run.check_problem), one_step))
        return decoding.planner(policy, one_step)

    def _save(self, training: NamelessTraining, data: Demonstrations, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        model = _network(training.shape, task.domain_text, seed=0)
        model.load_state_dict(epoch.weights)
        model.save(draft.folder / _WEIGHTS)
        draft.facts.update(
            **epoch.facts,
            parameters=model.count_parameters(),
        )
        policy = _policy(training, task.domain_text, draft.folder / _WEIGHTS)
        draft.keep_check(task.problem, policy.sample(task, one_step))


def _epochs(
    training: NamelessTraining,
    encoder: TreeEncoder,
    data: Demonstrations,
    seed: int,
    device: Device,
    folder: Path,
    after: int,
) -> Iterator[Epoch]:
    """The epochs of a training, compared by the decisions of the experts in the problems for validation."""
    decisions = label(training.labels, data.train, one_step, no_fit, np.random.default_rng(seed))
    train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
    compared = spread(list(followed(data.validation, one_step)), training.training.compared)
    validation = LabelledTrees.of(encoder, compared, f"the validation problems of {data.domain}")
    model = _network(training.shape, encoder.domain, seed)
    others = {"drawing": model.drawing.manual_seed(seed)}
    identity = identify((data.sha256, asdict(training), seed))
    return train_ranking(model, training.training, train, validation, seed, device, folder, identity, after, others)


def _network(shape: NamelessShape, domain: DomainText, seed: int) -> NamelessModel:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    relations = TreeEncoder(domain, _ACTIONS).relations
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return NamelessModel(relations, {applied(name) for name in domain.schemas}, shape)


def _policy(training: NamelessTraining, domain: DomainText, weights: Path) -> ActionProbabilities:
    device = choose_device("auto")
    model = _network(training.shape, domain, seed=0)
    model.read(weights)
    return ActionProbabilities(TreeEncoder(domain, _ACTIONS), model.to(device).eval(), device)


METHOD = Nameless()
