"""EmbedPlan: predicts the state after an action in the space of frozen sentence vectors.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan). States and actions are said in English and
embedded by a frozen encoder; heads and a small network are learned by contrast. It is measured by retrieval. That it
plans, too, is ours: it goes where what it predicts looks most like the goal.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Transitions
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.methods.configuration import from_record
from sgp.methods.texts import text_encoders
from sgp.models.device import Device, choose_device
from sgp.models.latent_transition import LatentShape, LatentTransition
from sgp.planning.pddl import Action
from sgp.planning.planner import Planner
from sgp.planning.task import State, Task
from sgp.policies.decoding import DEFAULT
from sgp.policies.toward_goal import GoalwardDecoding
from sgp.progress import progress
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

    def train(self, training: EmbedPlanTraining, data: Transitions, draft: RunDraft) -> Planner:
        """Trains until the loss in validation no longer falls, and keeps the epoch in which it was least.

        Raises ConfigurationError where the loss is no longer finite, and for a text over the encoder's limit.
        """
        started, seed, config = time.perf_counter(), draft.key.seed, training.training
        encoder_of = text_encoders(training.text)
        train, validation = (
            transition_rows(part, encoder_of, config.actions, seed, f"embed {data.domain} {draft.key.variant}")
            for part in (data.train, data.validation)
        )
        network = _network(train.states.shape[1], training.shape, seed)
        draft.facts.update(epoch=0, epochs=0, validation_loss=mean_loss(network, config, validation))
        identity, least = identify((data.sha256, asdict(training), seed)), np.inf
        network.save(draft.folder / _WEIGHTS)
        title = f"train {data.domain} {draft.key.variant} seed {seed}"
        with tempfile.TemporaryDirectory() as folder, progress(title, config.epochs) as bar:
            for epoch in train_transitions(
                network, config, train, validation, seed, draft.device, Path(folder), identity
            ):
                draft.facts.update(epochs=epoch.number)
                if epoch.validation_loss < least:
                    least = epoch.validation_loss
                    network.save(draft.folder / _WEIGHTS)
                    draft.facts.update(epoch.facts)
                bar.advance()
        network.read(draft.folder / _WEIGHTS)
        model = LatentModel(encoder_of, network, draft.device)
        draft.facts.update(
            dimension=train.states.shape[1],
            parameters=network.count_parameters(),
            seconds=round(time.perf_counter() - started, 3),
        )
        first = data.train[0].task
        draft.keep_check(first.problem, {"embedding": model.embed(first, [first.init])[0]})
        return self.decodings[DEFAULT].planner(model)

    def load(self, run: Run, decoding: GoalwardDecoding) -> Planner:
        """The planner by the model of a run."""
        return decoding.planner(self.load_model(run))

    def load_model(self, run: Run) -> LatentModel:
        """The model of a run, verified to embed a state as it did when it was trained."""
        training = from_record(EmbedPlanTraining, run.training)
        network = _network(int(run.record["facts"]["dimension"]), training.shape, seed=0)
        network.read(run.folder / _WEIGHTS)
        model = LatentModel(text_encoders(training.text), network, choose_device("auto"))
        task = Task(run.check_problem)
        run.verify({"embedding": model.embed(task, [task.init])[0]})
        return model


def _network(dimension: int, shape: LatentShape, seed: int) -> LatentTransition:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LatentTransition(dimension, shape)


METHOD = EmbedPlan()
