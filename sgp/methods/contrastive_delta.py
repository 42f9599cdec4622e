"""Contrastive delta: the loss of contrastive jumps with the embeddings of the state-centric paper.

An ablation of contrastive jumps to one ingredient: a linear map from the WL features of state and goal to a predicted
change, trained so that the change to the correct successor is nearest. The planner takes the nearest successor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders import StateEncoder
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WLConfig
from sgp.errors import ConfigurationError, StoreError, check_fields
from sgp.files import whole_file
from sgp.methods.configuration import configure_decoding, from_record, with_settings
from sgp.methods.contract import Checkpoint, MethodBase, Settings
from sgp.methods.state_encoders import encoder_kind, fit_encoder, load_encoder, save_encoder
from sgp.models.device import Device
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.nearest_embedding import NearestEmbedding, RowPredictor
from sgp.training.contrastive import ContrastiveConfig, bilinear_rows, fit_contrastive
from sgp.training.labels import LabelConfig, Labelled, candidate_costs, contrastive_loss, followed, label


class LinearModel:
    """Linear map, by one matrix, from rows [n, F] to outputs [n, D]."""

    def __init__(self, matrix: NDArray[np.float64]):
        self.matrix = matrix  # [D, F]

    def predict(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return outputs [n, D]."""
        return np.asarray(rows @ self.matrix.T)

    def save(self, path: Path) -> None:
        """Write the matrix as safetensors."""
        with whole_file(path) as temporary:
            save_file({"matrix": self.matrix}, temporary)

    @classmethod
    def load(cls, path: Path) -> LinearModel:
        """Read a matrix that `save` wrote. Raises StoreError for a file without a matrix."""
        try:
            return cls(load_file(path)["matrix"])
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{path} holds no matrix; train the run again") from error


_MODEL = "model.safetensors"


@dataclass(frozen=True)
class DeltaTraining:
    """Features, loss and labels."""

    encoder: Literal["wl", "text"] = "wl"  # Weisfeiler-Leman features, or sentences
    wl: WLConfig = field(default_factory=WLConfig)
    text: TextConfig = field(default_factory=TextConfig)
    loss: ContrastiveConfig = field(default_factory=ContrastiveConfig)
    labels: LabelConfig = field(default_factory=lambda: LabelConfig("expert"))
    decoding: str = DEFAULT  # used by validation to select among planners, and to visit states for labels

    def __post_init__(self) -> None:
        check_fields(self)
        if self.loss.kind == "squared":
            raise ConfigurationError("loss.kind is squared; use method state-centric, which predicts by squared error")


class ContrastiveDelta(MethodBase):
    """A linear map from state and goal to a change, trained contrastively."""

    key = "contrastive-delta"
    libraries = ("scipy",)
    learns_from = Demonstrations
    variants: Mapping[str, DeltaTraining] = {"wl": DeltaTraining()}
    # The beam of the compared method (state-centric, Table 7).
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(3), "greedy": BeamDecoding()}
    sweep: Sequence[Settings] = ({"loss.l2": "1.0"}, {"loss.l2": "0.1"}, {"loss.l2": "0.01"})

    def deterministic(self, training: DeltaTraining) -> bool:
        """Return whether no states are sampled for labels; optimisation starts from zero."""
        return training.labels.deterministic

    def invariant(self, training: DeltaTraining) -> bool:
        """Return whether the encoder is invariant: WL colours contain no names, sentences do."""
        return encoder_kind(training).invariant

    def train(self, training: DeltaTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Fit the encoder and the linear map."""
        started = time.perf_counter()
        encoder = fit_encoder(training, data)
        policy, facts = _fit(training, encoder, _labelled(training, encoder, data, draft.key.seed))
        _save(training, policy, facts, data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return self.decodings[DEFAULT].planner(policy, one_step)

    def checkpoints(
        self, training: DeltaTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Checkpoint]:
        """Yield one planner per setting of `sweep` with its validation loss; nothing is stored in `folder`."""
        encoder = fit_encoder(training, data)
        decisions, held_out = _labelled(training, encoder, data, seed), list(followed(data.validation, one_step))
        for settings in self.sweep[after:]:
            each = with_settings(training, settings)
            policy, facts = _fit(each, encoder, decisions)
            costs = [each.loss.alpha * found**2 for found in candidate_costs(policy, held_out)]
            name = ", ".join(f"{path} {value}" for path, value in settings.items())
            yield Checkpoint(name, each, contrastive_loss(held_out, costs), partial(_save, each, policy, facts, data))

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner of a run, verified against the predictions stored in the run."""
        training = from_record(DeltaTraining, run.training)
        policy = _policy(load_encoder(training, run), LinearModel.load(run.folder / _MODEL))
        run.verify(policy.sample(Task(run.check_problem)))
        return decoding.planner(policy, one_step)


def _policy(encoder: StateEncoder, model: LinearModel) -> NearestEmbedding:
    return NearestEmbedding(encoder, RowPredictor(model, "delta"), "euclidean")


def _labelled(training: DeltaTraining, encoder: StateEncoder, data: Demonstrations, seed: int) -> list[Labelled]:
    """Return the labelled decisions that the map is fitted to."""
    decoding: BeamDecoding = configure_decoding(METHOD, training.decoding)[1]

    def fit(decisions: Sequence[Labelled]) -> Planner:
        return decoding.planner(_fit(training, encoder, decisions)[0], one_step)

    return label(training.labels, data.train, one_step, np.random.default_rng(seed), fit)


def _fit(
    training: DeltaTraining, encoder: StateEncoder, decisions: Sequence[Labelled]
) -> tuple[NearestEmbedding, dict[str, float]]:
    """Fit a map from state and goal to a change; the change to the correct candidate should be nearest."""
    here = np.vstack([encoder.embed(each.task, [each.state]) for each in decisions])
    goals = np.stack([encoder.embed_goal(each.task) for each in decisions])
    there = [encoder.embed(each.task, [other.state for other in each.choice]) for each in decisions]
    changes = np.vstack([after - before for after, before in zip(there, here, strict=True)]).astype(np.float64)
    first = np.concatenate([[0], np.cumsum([len(each.choice) for each in decisions])])
    weights, found = fit_contrastive(
        training.loss,
        bilinear_rows(np.hstack([here, goals]).astype(np.float64), changes, first),
        (changes**2).sum(axis=1),
        first,
        np.concatenate([each.positive for each in decisions]),
        np.array([each.weight for each in decisions]),
    )
    model = LinearModel(weights.reshape(changes.shape[1], -1) / (2 * training.loss.alpha))
    return _policy(encoder, model), {"parameters": model.matrix.size, **found}


def _save(
    training: DeltaTraining, policy: NearestEmbedding, facts: Mapping[str, float], data: Demonstrations, draft: RunDraft
) -> None:
    """Write the files that `load` reads."""
    assert isinstance(policy.predictor, RowPredictor)
    save_encoder(training, policy.encoder, draft)
    policy.predictor.model.save(draft.folder / _MODEL)
    draft.facts.update(facts, dimension=policy.encoder.dimension)
    task = data.train[0].task
    draft.keep_check(task.problem, policy.sample(task))


METHOD = ContrastiveDelta()
