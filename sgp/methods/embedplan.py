"""EmbedPlan: predicts the state after an action in the space of frozen sentence vectors.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan). States and actions are said in English and
embedded by a frozen encoder; heads and a small network are learned by contrast. It is measured by retrieval. That it
plans, too, is ours: it goes where what it predicts looks most like the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Transitions
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.methods.configuration import from_record
from sgp.methods.contract import Snapshot
from sgp.methods.passing import keep_one
from sgp.methods.texts import text_encoders
from sgp.models.device import Device, choose_device
from sgp.models.latent_transition import LatentShape, LatentTransition
from sgp.planning.pddl import Action
from sgp.planning.planner import Planner
from sgp.planning.task import State, Task
from sgp.policies.decoding import DEFAULT
from sgp.policies.toward_goal import GoalwardDecoding
from sgp.training.checkpoint import identify
from sgp.training.latent_transitions import ContrastTraining, mean_loss, train_transitions, transition_rows

_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class EmbedPlanTraining:
    """What is embedded how, by which network, and how it is learned."""

    text: TextConfig = field(default_factory=TextConfig)
    shape: LatentShape = field(default_factory=LatentShape)
    training: ContrastTraining = field(default_factory=ContrastTraining)


class LatentModel:
    """The model of transitions: a frozen encoder of texts, and the network above it. Embeddings have length 1."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], network: LatentTransition, device: Device):
        self.encoder_of, self.network, self.device = encoder_of, network.to(device).eval(), device

    def refuses(self, task: Task) -> str | None:
        """Why a text is too long for the encoder, or None."""
        return self.encoder_of(task).refuses(task)

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """The states' latent embeddings [n, L]."""
        return self._numbers(self.network.embed, self.encoder_of(task).embed(task, states))

    def embed_goal(self, task: Task) -> NDArray[np.floating[Any]]:
        """The goal's latent embedding [L], that of a state in which its positive atoms alone hold."""
        return np.asarray(self._numbers(self.network.embed, self.encoder_of(task).embed_goal(task)[None])[0])

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """The predicted latent embeddings [n, L] of the states after."""
        encoder, places = self.encoder_of(task), {state: place for place, state in enumerate(dict.fromkeys(states))}
        rows = encoder.embed(task, list(places))[[places[state] for state in states]]
        return self._numbers(self.network.predict, rows, encoder.embed_actions(actions))

    @torch.no_grad()
    def _numbers(self, computed: Callable[..., torch.Tensor], *rows: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
        given = (torch.from_numpy(each).to(self.device) for each in rows)
        found: NDArray[np.floating[Any]] = torch.nn.functional.normalize(computed(*given), dim=-1).cpu().numpy()
        return found


class EmbedPlan:
    """Predicted states in the space of sentences, learned by contrast."""

    key = "embedplan"
    title = "EmbedPlan"
    paper = "embedplan"
    libraries = ("torch",)
    learns_from = Transitions
    variants: Mapping[str, EmbedPlanTraining] = {
        "minilm-atoms": EmbedPlanTraining(),
        "minilm-sentence": EmbedPlanTraining(TextConfig(mode="sentence")),
        "mpnet-sentence": EmbedPlanTraining(TextConfig("mpnet", "sentence")),
        "hashed-atoms": EmbedPlanTraining(TextConfig("hashed")),  # needs no weights
        "untrained": EmbedPlanTraining(training=ContrastTraining(epochs=0)),
    }
    decodings: Mapping[str, GoalwardDecoding] = {
        DEFAULT: GoalwardDecoding(),
        "true-successors": GoalwardDecoding(compared="true"),  # what planning would be if every prediction were right
    }

    def deterministic(self, training: EmbedPlanTraining) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, training: EmbedPlanTraining) -> bool:
        """Names are parts of sentences."""
        return False

    def snapshots(
        self, training: EmbedPlanTraining, data: Transitions, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The model after every epoch, the first one where there is none; `folder` keeps the last epochs.

        Raises ConfigurationError where the loss is no longer finite and for a text over the encoder's limit, StoreError
        where the folder is damaged or of another training.
        """
        encoder_of, config = text_encoders(training.text), training.training
        train, validation = (
            transition_rows(part, encoder_of, config.actions, seed, f"embed {data.domain}")
            for part in (data.train, data.validation)
        )
        network = _network(train.states.shape[1], training.shape, seed)
        if not config.epochs and not after:
            loss = mean_loss(network, config, validation)
            save = partial(self._save, training, data, network.state_dict(), {"epoch": 0, "validation_loss": loss})
            yield Snapshot("untrained", training, loss, save)
        identity = identify((data.sha256, asdict(training), seed))
        for epoch in train_transitions(network, config, train, validation, seed, device, folder, identity, after):
            save = partial(self._save, training, data, epoch.weights, epoch.facts)
            yield Snapshot(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: EmbedPlanTraining, data: Transitions, draft: RunDraft) -> Planner:
        """Trains until the loss in validation no longer falls, and keeps the epoch in which it was least.

        Raises what `snapshots` raises.
        """
        keep_one(self, training, training.training.epochs, data, draft, "least loss")
        dimension = int(draft.facts["dimension"])
        return self.decodings[DEFAULT].planner(_model(training, dimension, draft.folder / _WEIGHTS, draft.device))

    def load(self, run: Run, decoding: GoalwardDecoding) -> Planner:
        """The planner by the model of a run."""
        return decoding.planner(self.load_model(run))

    def load_model(self, run: Run) -> LatentModel:
        """The model of a run, verified to embed a state as it did when it was trained."""
        training, dimension = from_record(EmbedPlanTraining, run.training), int(run.record["facts"]["dimension"])
        model = _model(training, dimension, run.folder / _WEIGHTS, choose_device("auto"))
        task = Task(run.check_problem)
        run.verify({"embedding": model.embed(task, [task.init])[0]})
        return model

    def _save(
        self,
        training: EmbedPlanTraining,
        data: Transitions,
        weights: Mapping[str, torch.Tensor],
        facts: Mapping[str, float],
        draft: RunDraft,
    ) -> None:
        first = data.train[0].task
        dimension = text_encoders(training.text)(first).dimension
        network = _network(dimension, training.shape, seed=0)
        network.load_state_dict(weights)
        network.save(draft.folder / _WEIGHTS)
        draft.facts.update(**facts, dimension=dimension, parameters=network.count_parameters())
        model = _model(training, dimension, draft.folder / _WEIGHTS, draft.device)
        draft.keep_check(first.problem, {"embedding": model.embed(first, [first.init])[0]})


def _model(training: EmbedPlanTraining, dimension: int, weights: Path, device: Device) -> LatentModel:
    network = _network(dimension, training.shape, seed=0)
    network.read(weights)
    return LatentModel(text_encoders(training.text), network, device)


def _network(dimension: int, shape: LatentShape, seed: int) -> LatentTransition:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LatentTransition(dimension, shape)


METHOD = EmbedPlan()
