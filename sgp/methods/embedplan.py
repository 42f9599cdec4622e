"""EmbedPlan: predicts the state after an action in the space of frozen sentence vectors.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan). States and actions are said in English and
embedded by a frozen encoder; heads and a small network are learned by contrast. It is measured by retrieval. That it
plans, too, is ours: it goes where what it predicts looks most like the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run
from sgp.datasets.training_data import Transitions
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.methods.network_method import NetworkMethod, Vectors
from sgp.methods.texts import encoder_of_domain, text_encoders
from sgp.models.device import Device
from sgp.models.latent_transition import LatentShape, LatentTransition
from sgp.planning.pddl import Action, DomainText
from sgp.planning.planner import Planner
from sgp.planning.task import State, Task
from sgp.policies.decoding import DEFAULT
from sgp.policies.toward_goal import GoalwardDecoding
from sgp.training.fit import Epoch, FitContext
from sgp.training.latent_transitions import ContrastTraining, fit_transitions, mean_loss, transition_rows


@dataclass(frozen=True)
class EmbedPlanTraining:
    """What is embedded how, by which network, and how it is learned."""

    text: TextConfig = field(default_factory=TextConfig)
    shape: LatentShape = field(default_factory=LatentShape)
    training: ContrastTraining = field(default_factory=ContrastTraining)


class LatentModel:
    """The model of transitions: a frozen encoder of texts, and the network above it. Embeddings have length 1."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], network: LatentTransition, device: Device):
        self.encoder_of, self.network, self.device = encoder_of, network, device

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


class EmbedPlan(NetworkMethod[EmbedPlanTraining, GoalwardDecoding, LatentTransition, LatentModel]):
    """Predicted states in the space of sentences, learned by contrast."""

    key = "embedplan"
    title = "EmbedPlan"
    paper = "embedplan"
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

    def invariant(self, training: EmbedPlanTraining) -> bool:
        """Names are parts of sentences."""
        return False

    def build(self, training: EmbedPlanTraining, domain: DomainText) -> LatentTransition:
        """The heads and the network above the frozen encoder."""
        return LatentTransition(encoder_of_domain(training.text, domain).dimension, training.shape)

    def fit(
        self, training: EmbedPlanTraining, data: Transitions, network: LatentTransition, context: FitContext
    ) -> Iterator[Epoch]:
        """Learns until the validation loss no longer falls; epoch 0 is the network without training, where that is all.

        Raises ConfigurationError for a text over the encoder's limit.
        """
        encoder_of, config = text_encoders(training.text), training.training
        train, validation = (
            transition_rows(part, encoder_of, config.actions, context.seed, f"embed {data.domain}")
            for part in (data.train, data.validation)
        )
        metrics = {"dimension": train.states.shape[1]}
        if not config.epochs and not context.after:
            yield Epoch(0, None, mean_loss(network, config, validation), network.state_dict(), metrics)
        for epoch in fit_transitions(network, config, train, validation, context):
            yield replace(epoch, metrics=metrics)

    def learned(
        self, training: EmbedPlanTraining, domain: DomainText, network: LatentTransition, device: Device
    ) -> LatentModel:
        """The model of transitions."""
        return LatentModel(text_encoders(training.text), network, device)

    def load_model(self, run: Run) -> LatentModel:
        """The model of a run, verified to embed a state as it did when it was trained."""
        return self.load_learned(run)

    def planner(self, training: EmbedPlanTraining, learned: LatentModel, decoding: GoalwardDecoding) -> Planner:
        """A beam of the states that look most like the goal."""
        return decoding.planner(learned)

    def sample(self, training: EmbedPlanTraining, learned: LatentModel, task: Task) -> Vectors:
        """The embedding of the initial state."""
        return {"embedding": learned.embed(task, [task.init])[0]}


METHOD = EmbedPlan()
