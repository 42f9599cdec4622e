"""State-centric planning: predict the next state's embedding, take the nearest valid successor.

Source: "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric). A state and its goal
become a feature vector each; a model predicts the next state's vector (state mode) or the change of the vector
(delta mode); of the successors that the actions allow, the nearest is taken, so that every step is executable.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import TrainingData
from sgp.domains import serving
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError
from sgp.methods.candidates import Candidates, check_candidates, successors_for
from sgp.methods.labels import Decision, LabelConfig, label
from sgp.methods.policies import Metric, NearestEmbedding, Predictor, StateEncoder
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.device import choose_device
from sgp.models.linear import LinearModel
from sgp.models.recurrent import Head, LSTMShape, RecurrentModel
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Successors
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.training.boosting import BoostingConfig, fit_boosted_trees
from sgp.training.contrastive import ContrastiveConfig, bilinear_rows, fit_contrastive
from sgp.training.recurrent import Loss, RecurrentTraining, fit_recurrent

Encoder = Literal["wl", "fsf"]
Model = Literal["xgboost", "lstm", "linear"]
Mode = Literal["state", "delta"]

METRICS: Mapping[Mode, Metric] = {"state": "cosine", "delta": "euclidean"}  # state-centric, Table 7
LOSSES: Mapping[Mode, Loss] = {"state": "cosine", "delta": "squared"}  # state-centric, Table 7; trees: always squared

_ENCODER, _TREES, _WEIGHTS = "encoder.json", "model.ubj", "model.safetensors"


@dataclass(frozen=True)
class LSTMConfig:
    """The network and its training (state-centric, Table 7 and appendix G.2)."""

    shape: LSTMShape = field(default_factory=LSTMShape)
    training: RecurrentTraining = field(default_factory=RecurrentTraining)
    state_head: Head = "two-layer"  # with which all four parameter counts of Table 3 come out
    delta_head: Head = "linear"  # as published; the text has "two-layer", Table 3 counts neither

    def __post_init__(self) -> None:
        for name in ("state_head", "delta_head"):
            if getattr(self, name) not in get_args(Head):
                raise ConfigurationError(
                    f"LSTM {name} is '{getattr(self, name)}'; expected one of {', '.join(get_args(Head))}"
                )


@dataclass(frozen=True)
class StateCentricConfig:
    """What is predicted, from which features, by which model, and how plans are decoded."""

    encoder: Encoder = "wl"  # Weisfeiler-Leman features, or fixed-size factored slots
    model: Model = (
        "xgboost"  # boosted trees, an LSTM that remembers the path, or (ours) a linear map fitted contrastively
    )
    mode: Mode = "delta"  # predict the next embedding, or its difference from the present one
    wl: WLConfig = field(default_factory=WLConfig)
    boosting: BoostingConfig = field(default_factory=BoostingConfig)
    lstm: LSTMConfig = field(default_factory=LSTMConfig)
    contrastive: ContrastiveConfig = field(default_factory=ContrastiveConfig)  # how the linear model is fitted
    labels: LabelConfig = field(default_factory=lambda: LabelConfig("experts"))  # what the linear model is fitted to
    candidates: Candidates = "one-step"  # the paper's successors, or jumps
    enough: int = 128  # a lookahead ends after a depth with so many novel states and progress; 0: it never does
    beam: int = 3  # nodes kept at each step (state-centric, Table 7)
    strip_static: bool = False  # decode without static atoms, as the published implementation does by accident

    def __post_init__(self) -> None:
        for name, kind in (("encoder", Encoder), ("model", Model), ("mode", Mode)):
            if getattr(self, name) not in get_args(kind):
                raise ConfigurationError(
                    f"{name} is '{getattr(self, name)}'; expected one of {', '.join(get_args(kind))}"
                )
        check_candidates(self.candidates, self.enough)
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")
        if self.model == "linear" and self.mode == "state":
            raise ConfigurationError("model linear conflicts with mode state; it predicts the change, use mode delta")
        if self.model == "linear" and self.contrastive.kind == "squared":
            raise ConfigurationError("model linear conflicts with contrastive.kind squared; use model xgboost for that")
        if self.strip_static and self.encoder == "fsf":
            raise ConfigurationError("strip_static conflicts with encoder fsf, whose slots hold no static atoms")

    @property
    def successors(self) -> Successors:
        """What makes the candidates of a state."""
        return successors_for(self.candidates, self.enough)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> StateCentricConfig:
        """The configuration that a run's record holds."""
        lstm = dict(record["lstm"])
        lstm.update(shape=LSTMShape(**lstm["shape"]), training=RecurrentTraining(**lstm["training"]))
        parts = {
            "wl": WLConfig(**record["wl"]),
            "boosting": BoostingConfig(**record["boosting"]),
            "lstm": LSTMConfig(**lstm),
            "contrastive": ContrastiveConfig(**record["contrastive"]),
            "labels": LabelConfig(**record["labels"]),
        }
        return cls(**{**record, **parts})


@dataclass(frozen=True)
class RowPredictor:
    """Predicts by boosted trees or a linear map; every prediction depends on state and goal alone."""

    model: BoostedTrees | LinearModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D]."""
        output = self.model.predict(np.hstack([states, goals]))
        return (states + output if self.mode == "delta" else output).astype(np.float32), carried


@dataclass(frozen=True)
class RecurrentPredictor:
    """Predicts by an LSTM, whose hidden state is carried along the path."""

    model: RecurrentModel
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D] and hidden states."""
        output, hidden = self.model.step(np.hstack([states, goals]), list(carried))
        return (states + output if self.mode == "delta" else output), hidden


def transitions(
    encoder: StateEncoder, trajectories: Sequence[Trajectory], mode: Mode
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """For each trajectory of at least one action, rows [T, 2D] and targets [T, D].

    A row is a state's embedding and the goal's; its target is the next embedding, or the difference to it.
    """
    found = []
    for trajectory in trajectories:
        if len(trajectory) == 0:
            continue
        states = encoder.embed(trajectory.task, trajectory.states)
        goal = np.broadcast_to(encoder.embed_goal(trajectory.task), states[1:].shape)
        found.append((np.hstack([states[:-1], goal]), states[1:] - states[:-1] if mode == "delta" else states[1:]))
    return found


class StateCentric:
    """The method of the state-centric paper: {WL, FSF} x {XGBoost, LSTM} x {delta, state}.

    Two more variants borrow what contrastive jumps are made of, one ingredient each: the loss, and the candidates.
    """

    key = "state-centric"
    title = "State-centric planning"
    paper = "state-centric"
    variants: Mapping[str, StateCentricConfig] = {
        f"{encoder}-{model}-{mode}": StateCentricConfig(encoder, model, mode)
        for encoder, model, mode in product(get_args(Encoder), get_args(Model)[:2], reversed(get_args(Mode)))
    } | {
        "wl-contrastive-delta": StateCentricConfig(model="linear"),
        "wl-xgboost-delta-jumps": StateCentricConfig(candidates="aiw"),
    }

    def deterministic(self, config: StateCentricConfig) -> bool:
        """Boosting samples nothing, the linear map starts from zero; the LSTM starts from random weights."""
        return config.model == "xgboost" or (config.model == "linear" and config.labels.deterministic)

    def invariant(self, config: StateCentricConfig) -> bool:
        """WL colours know no names; the slots stand in the order of the objects, and so does what a jump finds new."""
        return config.encoder == "wl" and config.candidates == "one-step"

    def train(self, config: StateCentricConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Makes the encoder from the training states and fits the model, stopping by the validation trajectories."""
        started = time.perf_counter()
        encoder = self._make_encoder(config, data)
        if isinstance(encoder, WLEncoder):
            encoder.save(draft.folder / _ENCODER)
        train, validation = (transitions(encoder, part, config.mode) for part in (data.train, data.validation))
        title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
        predictor: Predictor
        if config.model == "xgboost":
            model = fit_boosted_trees(
                config.boosting, _stack(train), _stack(validation), draft.key.seed, draft.device, title=title
            )
            model.save(draft.folder / _TREES)
            predictor = RowPredictor(model, config.mode)
            draft.facts.update(rounds=model.rounds, nodes=model.count_nodes())
        elif config.model == "linear":
            linear, found = self._fit_linear(config, encoder, data, draft.key.seed)
            linear.save(draft.folder / _WEIGHTS)
            predictor = RowPredictor(linear, config.mode)
            draft.facts.update(parameters=linear.matrix.size, **found)
        else:
            network = _network(config, encoder.dimension, draft.key.seed)
            best = fit_recurrent(
                network,
                config.lstm.training,
                LOSSES[config.mode],
                train,
                validation,
                draft.key.seed,
                draft.device,
                title,
            )
            network.save(draft.folder / _WEIGHTS)
            predictor = RecurrentPredictor(network, config.mode)
            draft.facts.update(parameters=network.count_parameters(), **best)
        draft.facts.update(
            dimension=encoder.dimension, largest=data.largest, seconds=round(time.perf_counter() - started, 3)
        )
        policy = self._policy(config, encoder, predictor)
        draft.keep_check(data.train[0].task.problem, policy.sample(data.train[0].task))
        return Planner(policy, config.successors, config.beam)

    def load(self, run: Run) -> Planner:
        """The planner of a run, verified to predict what it predicted when it was trained."""
        config, facts = StateCentricConfig.from_record(run.config), run.record["facts"]
        encoder: WLEncoder | FSFEncoder
        if config.encoder == "wl":
            run.require_version("wlplan")
            encoder = WLEncoder.load(run.folder / _ENCODER, run.domain_text)
        else:
            encoder = _fsf(run.domain_text, facts["largest"])
        predictor: Predictor
        if config.model == "xgboost":
            predictor = RowPredictor(BoostedTrees.load(run.folder / _TREES, facts["rounds"]), config.mode)
        elif config.model == "linear":
            predictor = RowPredictor(LinearModel.load(run.folder / _WEIGHTS), config.mode)
        else:
            network = _network(config, encoder.dimension, seed=0)
            network.read(run.folder / _WEIGHTS)
            predictor = RecurrentPredictor(network.to(choose_device("auto")).eval(), config.mode)
        policy = self._policy(config, encoder, predictor)
        run.verify(policy.sample(Task(run.check_problem)))
        return Planner(policy, config.successors, config.beam)

    def _make_encoder(self, config: StateCentricConfig, data: TrainingData) -> WLEncoder | FSFEncoder:
        if config.encoder == "fsf":
            return _fsf(data.train[0].task.domain_text, data.largest)
        return WLEncoder.fit(config.wl, ((each.task, each.states) for each in data.train))

    def _fit_linear(
        self, config: StateCentricConfig, encoder: StateEncoder, data: TrainingData, seed: int
    ) -> tuple[LinearModel, dict[str, float]]:
        """A map from state and goal to a change, to which the change to the right candidate is nearest."""

        def fit(decisions: Sequence[Decision]) -> tuple[LinearModel, dict[str, float]]:
            here = np.vstack([encoder.embed(each.task, [each.state]) for each in decisions])
            goals = np.stack([encoder.embed_goal(each.task) for each in decisions])
            there = [encoder.embed(each.task, [other.state for other in each.choice]) for each in decisions]
            changes = np.vstack([after - before for after, before in zip(there, here, strict=True)]).astype(np.float64)
            first = np.concatenate([[0], np.cumsum([len(each.choice) for each in decisions])])
            w, found = fit_contrastive(
                config.contrastive,
                bilinear_rows(np.hstack([here, goals]).astype(np.float64), changes, first),
                (changes**2).sum(axis=1),
                first,
                np.concatenate([each.positive for each in decisions]),
                np.array([each.weight for each in decisions]),
            )
            return LinearModel(w.reshape(changes.shape[1], -1) / (2 * config.contrastive.alpha)), found

        def planner(decisions: Sequence[Decision]) -> Planner:
            policy = NearestEmbedding(encoder, RowPredictor(fit(decisions)[0], config.mode), METRICS[config.mode])
            return Planner(policy, config.successors, config.beam)

        rng = np.random.default_rng(seed)
        return fit(label(config.labels, data.train, config.successors, planner, rng))

    def _policy(
        self, config: StateCentricConfig, encoder: WLEncoder | FSFEncoder, predictor: Predictor
    ) -> NearestEmbedding:
        if config.strip_static and isinstance(encoder, WLEncoder):
            encoder = encoder.without_static()
        return NearestEmbedding(encoder, predictor, METRICS[config.mode])


def _fsf(text: DomainText, objects: int) -> FSFEncoder:
    domain = serving(text)
    if domain is None:
        raise ConfigurationError(
            f"domain '{text.name}' is none of the house's, so that the encoding 'fsf' has no slots for it; use 'wl'"
        )
    return FSFEncoder(domain, objects)


def _network(config: StateCentricConfig, dimension: int, seed: int) -> RecurrentModel:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    head = config.lstm.state_head if config.mode == "state" else config.lstm.delta_head
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentModel(2 * dimension, dimension, config.lstm.shape, head)


def _stack(
    sequences: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """All rows and all targets."""
    rows, targets = zip(*sequences, strict=True)
    return np.vstack(rows), np.vstack(targets)


METHODS = (StateCentric(),)
