"""EmbedPlan: prediction of the next state in the space of frozen sentence vectors.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan). States and actions are described in English and
embedded by a frozen encoder; projection heads and a small network are trained contrastively. The paper measures
retrieval. Planning with the model is ours: it follows predictions that are most similar to the goal.
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
from sgp.methods.state_encoders import encoder_of_domain, text_encoders
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
    """Text encoder, network and training."""

    text: TextConfig = field(default_factory=TextConfig)
    shape: LatentShape = field(default_factory=LatentShape)
    training: ContrastTraining = field(default_factory=ContrastTraining)


class LatentModel:
    """Transition model: a frozen text encoder and a network on top; embeddings have length 1."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], network: LatentTransition, device: Device):
        self.encoder_of, self.network, self.device = encoder_of, network, device

    def refuses(self, task: Task) -> str | None:
        """Return why a text is too long for the encoder, or None."""
        return self.encoder_of(task).refuses(task)

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' latent embeddings [n, L]."""
        return self._numbers(self.network.embed, self.encoder_of(task).embed(task, states))

    def embed_goal(self, task: Task) -> NDArray[np.floating[Any]]:
        """Return the latent embedding [L] of a state in which exactly the goal's positive atoms are true."""
        return np.asarray(self._numbers(self.network.embed, self.encoder_of(task).embed_goal(task)[None])[0])

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted latent embeddings [n, L] of the next states."""
        encoder, places = self.encoder_of(task), {state: place for place, state in enumerate(dict.fromkeys(states))}
        rows = encoder.embed(task, list(places))[[places[state] for state in states]]
        return self._numbers(self.network.predict, rows, encoder.embed_actions(actions))

    @torch.no_grad()
    def _numbers(self, computed: Callable[..., torch.Tensor], *rows: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
        given = (torch.from_numpy(each).to(self.device) for each in rows)
        found: NDArray[np.floating[Any]] = torch.nn.functional.normalize(computed(*given), dim=-1).cpu().numpy()
        return found


class EmbedPlan(NetworkMethod[EmbedPlanTraining, GoalwardDecoding, LatentTransition, LatentModel]):
    """Next-state prediction in the space of sentence vectors, trained contrastively."""

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
        "true-successors": GoalwardDecoding(compared="true"),  # upper bound: planning with perfect predictions
    }

    def build(self, training: EmbedPlanTraining, domain: DomainText) -> LatentTransition:
        """Build the heads and the network on top of the frozen encoder."""
        return LatentTransition(encoder_of_domain(training.text, domain).dimension, training.shape)

    def fit(
        self, training: EmbedPlanTraining, data: Transitions, network: LatentTransition, context: FitContext
    ) -> Iterator[Epoch]:
        """Train until the validation loss stops falling; with 0 epochs yield the untrained network as epoch 0.

        Raises ConfigurationError for a text longer than the encoder's limit.
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
        """Return the transition model."""
        return LatentModel(text_encoders(training.text), network, device)

    def load_model(self, run: Run) -> LatentModel:
        """Return the model of a run, verified against the embedding stored in the run."""
        return self.load_learned(run)

    def planner(self, training: EmbedPlanTraining, learned: LatentModel, decoding: GoalwardDecoding) -> Planner:
        """Return a beam search toward states that are most similar to the goal."""
        return decoding.planner(learned)

    def sample(self, training: EmbedPlanTraining, learned: LatentModel, task: Task) -> Vectors:
        """Return the embedding of the initial state."""
        return {"embedding": learned.embed(task, [task.init])[0]}


METHOD = EmbedPlan()
