"""State-centric planning: predict the next state's embedding, take the nearest valid successor.

Source: "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric). A state and its goal
become a feature vector each; a model predicts the next state's vector (state mode) or the change of the vector
(delta mode); of the successors that the actions allow, the nearest is taken, so that every step is executable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
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
from sgp.methods import Snapshot, overridden
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.device import Device, choose_device
from sgp.models.linear import LinearModel
from sgp.models.recurrent import Head, LSTMShape, RecurrentModel
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Successors
from sgp.planning.reach import Reach, check_reach, successors_for
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import Metric, NearestEmbedding
from sgp.policies.predictors import Mode, RecurrentPredictor, RowPredictor
from sgp.training.boosting import BoostingConfig, fit_boosted_trees
from sgp.training.contrastive import ContrastiveConfig, bilinear_rows, fit_contrastive
from sgp.training.labels import LabelConfig, Labelled, candidate_costs, contrastive_loss, followed, label
from sgp.training.prediction_rows import Sequences, prediction_rows
from sgp.training.recurrent import Loss, RecurrentFit, RecurrentTraining

Encoder = Literal["wl", "fsf"]
Model = Literal["xgboost", "lstm", "linear"]

METRICS: Mapping[Mode, Metric] = {"state": "cosine", "delta": "euclidean"}  # state-centric, Table 7
LOSSES: Mapping[Mode, Loss] = {"state": "cosine", "delta": "squared"}  # state-centric, Table 7; trees: always squared

_ENCODER = "encoder.json"
_FILES: Mapping[Model, str] = {"xgboost": "model.ubj", "lstm": "model.safetensors", "linear": "model.safetensors"}


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
    candidates: Reach = "one-step"  # the paper's successors, or jumps
    enough: int = 128  # a lookahead ends after a depth with so many novel states and progress; 0: it never does
    beam: int = 3  # nodes kept at each step (state-centric, Table 7)
    strip_static: bool = False  # decode without static atoms, as the published implementation does by accident

    def __post_init__(self) -> None:
        for name, kind in (("encoder", Encoder), ("model", Model), ("mode", Mode)):
            if getattr(self, name) not in get_args(kind):
                raise ConfigurationError(
                    f"{name} is '{getattr(self, name)}'; expected one of {', '.join(get_args(kind))}"
                )
        check_reach(self.candidates, self.enough)
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

    # What a joint training passes through (`snapshots`): parts of the rounds or epochs, L2 weights of the linear map.
    sweep: Mapping[str, Any] = {"parts": 20, "contrastive.l2": ("1.0", "0.1", "0.01")}

    def deterministic(self, config: StateCentricConfig) -> bool:
        """Boosting samples nothing, the linear map starts from zero; the LSTM starts from random weights."""
        return config.model == "xgboost" or (config.model == "linear" and config.labels.deterministic)

    def invariant(self, config: StateCentricConfig) -> bool:
        """WL colours know no names; the slots stand in the order of the objects, and so does what a jump finds new."""
        return config.encoder == "wl" and config.candidates == "one-step"

    def train(self, config: StateCentricConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Makes the encoder from the training states and fits the model, stopping by the validation trajectories."""
        started = time.perf_counter()
        fitting = _Fitting.of(config, data, draft.key.seed, draft.device)
        title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
        if config.model == "xgboost":
            fitted = fitting.with_trees(fitting.trees(title)[0])
        elif config.model == "linear":
            fitted = fitting.linear(config, fitting.decisions())
        else:
            fitted = fitting.with_network(*fitting.recurrent().best(config.lstm.training.epochs, title))
        fitted.save(data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return fitted.planner

    def snapshots(
        self,
        config: StateCentricConfig,
        data: TrainingData,
        folder: Path,
        seed: int,
        device: Device,
        after: int = 0,
    ) -> Iterator[Snapshot]:
        """One planner for each part of a training's rounds or epochs: the one of least validation loss in that part.

        So the one of least loss is what `train` gives. Of the linear map, which is fitted in one go, one for each L2
        weight. An LSTM's training goes on from `folder`; boosting, which is quick beside validation, is done anew.
        """
        fitting = _Fitting.of(config, data, seed, device)
        title = f"train {data.domain} {config.encoder}-{config.model}-{config.mode} seed {seed}"
        if config.model == "xgboost":
            return fitting.rounds(self.sweep["parts"], title, after)
        if config.model == "linear":
            return fitting.regularised(self.sweep["contrastive.l2"][after:])
        return fitting.epochs(self.sweep["parts"], title, after, folder)

    def load(self, run: Run) -> Planner:
        """The planner of a run, verified to predict what it predicted when it was trained."""
        config, facts = StateCentricConfig.from_record(run.config), run.record["facts"]
        encoder: WLEncoder | FSFEncoder
        if config.encoder == "wl":
            run.require_version("wlplan")
            encoder = WLEncoder.load(run.folder / _ENCODER, run.domain_text)
        else:
            encoder = _fsf(run.domain_text, facts["largest"])
        file = run.folder / _FILES[config.model]
        predictor: RowPredictor | RecurrentPredictor
        if config.model == "xgboost":
            predictor = RowPredictor(BoostedTrees.load(file, facts["rounds"]), config.mode)
        elif config.model == "linear":
            predictor = RowPredictor(LinearModel.load(file), config.mode)
        else:
            network = _network(config, encoder.dimension, seed=0)
            network.read(file)
            predictor = RecurrentPredictor(network.to(choose_device("auto")).eval(), config.mode)
        fitted = _Fitted(config, encoder, predictor, facts)
        run.verify(fitted.policy.sample(Task(run.check_problem)))
        return fitted.planner


@dataclass(frozen=True)
class _Fitted:
    """A fitted model with its encoder, and what its run says of it."""

    config: StateCentricConfig
    encoder: WLEncoder | FSFEncoder
    predictor: RowPredictor | RecurrentPredictor
    facts: Mapping[str, float]

    @property
    def policy(self) -> NearestEmbedding:
        encoder = self.encoder
        if self.config.strip_static and isinstance(encoder, WLEncoder):
            encoder = encoder.without_static()
        return NearestEmbedding(encoder, self.predictor, METRICS[self.config.mode])

    @property
    def planner(self) -> Planner:
        return Planner(self.policy, self.config.successors, self.config.beam)

    def save(self, data: TrainingData, draft: RunDraft) -> None:
        """Writes what `load` reads."""
        if isinstance(self.encoder, WLEncoder):
            self.encoder.save(draft.folder / _ENCODER)
        self.predictor.model.save(draft.folder / _FILES[self.config.model])
        draft.facts.update(self.facts, dimension=self.encoder.dimension, largest=data.largest)
        task = data.train[0].task
        draft.keep_check(task.problem, self.policy.sample(task))


@dataclass(frozen=True)
class _Fitting:
    """What models are fitted to: a domain's trajectories through an encoder."""

    config: StateCentricConfig
    data: TrainingData
    encoder: WLEncoder | FSFEncoder
    seed: int
    device: Device

    @classmethod
    def of(cls, config: StateCentricConfig, data: TrainingData, seed: int, device: Device) -> _Fitting:
        """Makes the encoder from the training states."""
        if config.encoder == "fsf":
            return cls(config, data, _fsf(data.train[0].task.domain_text, data.largest), seed, device)
        encoder = WLEncoder.fit(config.wl, ((each.task, each.states) for each in data.train))
        return cls(config, data, encoder, seed, device)

    def trees(self, title: str) -> tuple[BoostedTrees, Sequence[float]]:
        """The trees of least validation loss, and that loss after each round."""
        train, validation = map(_stack, self._transitions())
        return fit_boosted_trees(self.config.boosting, train, validation, self.seed, self.device, title=title)

    def with_trees(self, trees: BoostedTrees) -> _Fitted:
        facts = {"rounds": trees.rounds, "nodes": trees.count_nodes()}
        return _Fitted(self.config, self.encoder, RowPredictor(trees, self.config.mode), facts)

    def rounds(self, parts: int, title: str, after: int) -> Iterator[Snapshot]:
        """The round of least validation loss of each part of a boosting, without the first `after` of them."""
        trees, losses = self.trees(title)
        for part in _parts(len(losses), parts)[after:]:
            best = min(part, key=lambda rounds: losses[rounds - 1])
            kept = trees if best == trees.rounds else trees.after(best)
            yield self._snapshot(f"round {best}", losses[best - 1], self.with_trees(kept))

    def recurrent(self) -> RecurrentFit:
        """The training of a network, at its start."""
        config, (train, validation) = self.config, self._transitions()
        network = _network(config, self.encoder.dimension, self.seed)
        return RecurrentFit(
            network, config.lstm.training, LOSSES[config.mode], train, validation, self.seed, self.device
        )

    def with_network(self, network: RecurrentModel, best: Mapping[str, float]) -> _Fitted:
        facts = {"parameters": network.count_parameters(), **best}
        return _Fitted(self.config, self.encoder, RecurrentPredictor(network, self.config.mode), facts)

    def epochs(self, parts: int, title: str, after: int, folder: Path) -> Iterator[Snapshot]:
        """The epoch of least validation loss of each part of a training, without the first `after` of them.

        After each part the training is kept in `folder`; where the one after part `after` is missing, it is done anew.
        """
        fit = self.recurrent()
        ends = [0, *(part[-1] for part in _parts(self.config.lstm.training.epochs, parts))]
        kept = folder / f"epoch{ends[after]}.safetensors"
        if kept.is_file():
            fit.resume(kept)
        for end in ends[1:]:
            if end <= fit.epoch:
                continue
            network, best = fit.best(end - fit.epoch, f"{title}, to epoch {end}")
            if end > ends[after]:
                yield self._snapshot(
                    f"epoch {best['epoch']}", best["validation_loss"], self.with_network(network, best)
                )
                before, kept = kept, folder / f"epoch{end}.safetensors"
                fit.save(kept)
                before.unlink(missing_ok=True)

    def decisions(self) -> list[Labelled]:
        """What the linear map is fitted to."""
        rng = np.random.default_rng(self.seed)

        def fit(decisions: Sequence[Labelled]) -> Planner:
            return self.linear(self.config, decisions).planner

        return label(self.config.labels, self.data.train, self.config.successors, fit, rng)

    def linear(self, config: StateCentricConfig, decisions: Sequence[Labelled]) -> _Fitted:
        """A map from state and goal to a change, to which the change to the right candidate is nearest."""
        encoder = self.encoder
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
        model = LinearModel(w.reshape(changes.shape[1], -1) / (2 * config.contrastive.alpha))
        facts = {"parameters": model.matrix.size, **found}
        return _Fitted(config, encoder, RowPredictor(model, config.mode), facts)

    def regularised(self, values: Sequence[str]) -> Iterator[Snapshot]:
        """A linear map for each L2 weight, with the loss that it was fitted by."""
        decisions, held_out = self.decisions(), list(followed(self.data.validation, self.config.successors))
        for value in values:
            config = overridden(self.config, "contrastive.l2", value)
            fitted = self.linear(config, decisions)
            costs = [config.contrastive.alpha * found**2 for found in candidate_costs(fitted.policy, held_out)]
            yield self._snapshot(f"contrastive.l2 {value}", contrastive_loss(held_out, costs), fitted)

    def _transitions(self) -> tuple[Sequences, Sequences]:
        """Of the training trajectories, and of those for validation."""
        encoder, mode = self.encoder, self.config.mode
        return prediction_rows(encoder, self.data.train, mode), prediction_rows(encoder, self.data.validation, mode)

    def _snapshot(self, name: str, loss: float, fitted: _Fitted) -> Snapshot:
        return Snapshot(name, fitted.config, loss, partial(fitted.save, self.data))


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


def _parts(count: int, parts: int) -> list[range]:
    """The numbers from 1 to `count` in so many parts of nearly equal length, or of one number each."""
    parts = min(parts, count)
    return [range(count * part // parts + 1, count * (part + 1) // parts + 1) for part in range(parts)]


def _stack(sequences: Sequences) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """All rows and all targets."""
    rows, targets = zip(*sequences, strict=True)
    return np.vstack(rows), np.vstack(targets)


METHODS = (StateCentric(),)
