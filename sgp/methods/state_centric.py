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
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.domains import serving
from sgp.encoders import encoder_keys, plugged_encoder, recorded_encoder_libraries
from sgp.encoders.contract import EncoderKind, StateEncoder
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WL, WLConfig, WLEncoder
from sgp.errors import ConfigurationError
from sgp.methods.configuration import from_record
from sgp.methods.contract import Settings, Snapshot
from sgp.methods.texts import Text
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.device import Device, choose_device
from sgp.models.recurrent import Head, LSTMShape, RecurrentModel
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.nearest_embedding import Metric, NearestEmbedding
from sgp.policies.predictors import Mode, RecurrentPredictor, RowPredictor
from sgp.training.boosting import BoostingConfig, fit_boosted_trees
from sgp.training.prediction_rows import Sequences, prediction_rows
from sgp.training.recurrent import Loss, RecurrentFit, RecurrentTraining

Model = Literal["xgboost", "lstm"]

METRICS: Mapping[Mode, Metric] = {"state": "cosine", "delta": "euclidean"}  # state-centric, Table 7
LOSSES: Mapping[Mode, Loss] = {"state": "cosine", "delta": "squared"}  # state-centric, Table 7; trees: always squared

_ENCODER = "encoder.json"
_SLOTS = "fsf"
_FILES: Mapping[Model, str] = {"xgboost": "model.ubj", "lstm": "model.safetensors"}


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
class StateCentricTraining:
    """What is predicted, from which features, by which model."""

    encoder: str = "wl"  # Weisfeiler-Leman features, fixed-size slots (fsf), sentences (text), or of another package
    model: Model = "xgboost"  # boosted trees, or an LSTM that remembers the path
    mode: Mode = "delta"  # predict the next embedding, or its difference from the present one
    wl: WLConfig = field(default_factory=WLConfig)
    text: TextConfig = field(default_factory=TextConfig)
    boosting: BoostingConfig = field(default_factory=BoostingConfig)
    lstm: LSTMConfig = field(default_factory=LSTMConfig)
    parts: int = 20  # of the rounds or epochs, each of which gives a planner to select from
    decoding: str = DEFAULT  # by which validation selects among these

    def __post_init__(self) -> None:
        known = {"encoder": encoder_keys(), "model": get_args(Model), "mode": get_args(Mode)}
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ConfigurationError(f"{name} is '{getattr(self, name)}'; expected one of {', '.join(values)}")
        if self.parts < 1:
            raise ConfigurationError(f"parts is {self.parts}; expected at least 1")


@dataclass(frozen=True)
class StateCentricDecoding(BeamDecoding):
    """A beam over the paper's successors, or over jumps."""

    beam: int = 3  # state-centric, Table 7
    strip_static: bool = False  # without static atoms, as the published implementation does by accident


class StateCentric:
    """The method of the state-centric paper: {WL, FSF} x {XGBoost, LSTM} x {delta, state}."""

    key = "state-centric"
    title = "State-centric planning"
    paper = "state-centric"
    libraries = ("wlplan", "xgboost", "torch")
    learns_from = Demonstrations
    variants: Mapping[str, StateCentricTraining] = {
        f"{encoder}-{model}-{mode}": StateCentricTraining(encoder, model, mode)
        for encoder, model, mode in product(("wl", _SLOTS), get_args(Model), reversed(get_args(Mode)))
    }
    decodings: Mapping[str, StateCentricDecoding] = {
        DEFAULT: StateCentricDecoding(),
        "greedy": StateCentricDecoding(beam=1),
        "no-statics": StateCentricDecoding(strip_static=True),
        "jumps": StateCentricDecoding(candidates="aiw", enough=128),  # ours: those of contrastive jumps
    }
    sweep: Sequence[Settings] = ()  # it passes through rounds or epochs

    def deterministic(self, config: StateCentricTraining) -> bool:
        """Boosting samples nothing; the LSTM starts from random weights."""
        return config.model == "xgboost"

    def invariant(self, config: StateCentricTraining) -> bool:
        """WL colours know no names; the slots stand in the order of the objects."""
        return config.encoder != _SLOTS and _kind(config).invariant

    def train(self, config: StateCentricTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Makes the encoder from the training states and fits the model, stopping by the validation trajectories."""
        started = time.perf_counter()
        fitting = _Fitting.of(config, data, draft.key.seed, draft.device)
        title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
        if config.model == "xgboost":
            fitted = fitting.with_trees(fitting.trees(title)[0])
        else:
            fitted = fitting.with_network(*fitting.recurrent().best(config.lstm.training.epochs, title))
        fitted.save(data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return fitted.planner(self.decodings[DEFAULT])

    def snapshots(
        self,
        config: StateCentricTraining,
        data: Demonstrations,
        folder: Path,
        seed: int,
        device: Device,
        after: int = 0,
    ) -> Iterator[Snapshot]:
        """One planner for each part of a training's rounds or epochs: the one of least validation loss in that part.

        So the one of least loss is what `train` gives. An LSTM's training goes on from `folder`; boosting, which is
        quick beside validation, is done anew.
        """
        fitting = _Fitting.of(config, data, seed, device)
        title = f"train {data.domain} {config.encoder}-{config.model}-{config.mode} seed {seed}"
        if config.model == "xgboost":
            return fitting.rounds(config.parts, title, after)
        return fitting.epochs(config.parts, title, after, folder)

    def load(self, run: Run, decoding: StateCentricDecoding) -> Planner:
        """The planner of a run, verified to predict what it predicted when it was trained.

        Raises ConfigurationError for a decoding without static atoms where the encoder knows none.
        """
        config, facts = from_record(StateCentricTraining, run.training), run.record["facts"]
        if decoding.strip_static and config.encoder != "wl":
            raise ConfigurationError(
                f"strip_static conflicts with encoder {config.encoder}, whose static atoms cannot be left out"
            )
        if config.encoder == "wl":
            run.require_version("wlplan")
        encoder: StateEncoder
        if config.encoder == _SLOTS:
            encoder = _fsf(run.domain_text, facts["largest"])
        else:
            encoder = _kind(config).load(run.folder / _ENCODER, run.domain_text, facts["largest"])
        file = run.folder / _FILES[config.model]
        predictor: RowPredictor | RecurrentPredictor
        if config.model == "xgboost":
            predictor = RowPredictor(BoostedTrees.load(file, facts["rounds"]), config.mode)
        else:
            network = _network(config, encoder.dimension, seed=0)
            network.read(file)
            predictor = RecurrentPredictor(network.to(choose_device("auto")).eval(), config.mode)
        fitted = _Fitted(config, encoder, predictor, facts)
        run.verify(fitted.policy().sample(Task(run.check_problem)))
        return fitted.planner(decoding)


@dataclass(frozen=True)
class _Fitted:
    """A fitted model with its encoder, and what its run says of it."""

    config: StateCentricTraining
    encoder: StateEncoder
    predictor: RowPredictor | RecurrentPredictor
    facts: Mapping[str, float]

    def policy(self, strip_static: bool = False) -> NearestEmbedding:
        encoder = self.encoder
        if strip_static and isinstance(encoder, WLEncoder):
            encoder = encoder.without_static()
        return NearestEmbedding(encoder, self.predictor, METRICS[self.config.mode])

    def planner(self, decoding: StateCentricDecoding) -> Planner:
        return decoding.planner(self.policy(decoding.strip_static), one_step)

    def save(self, data: Demonstrations, draft: RunDraft) -> None:
        """Writes what `load` reads."""
        if self.config.encoder != _SLOTS:
            _kind(self.config).save(self.encoder, draft.folder / _ENCODER)
        draft.libraries = recorded_encoder_libraries(self.config.encoder)
        if self.config.encoder == "text":
            draft.libraries = tuple(_kind(self.config).libraries)
        self.predictor.model.save(draft.folder / _FILES[self.config.model])
        draft.facts.update(self.facts, dimension=self.encoder.dimension, largest=data.largest)
        task = data.train[0].task
        draft.keep_check(task.problem, self.policy().sample(task))


@dataclass(frozen=True)
class _Fitting:
    """What models are fitted to: a domain's trajectories through an encoder."""

    config: StateCentricTraining
    data: Demonstrations
    encoder: StateEncoder
    seed: int
    device: Device

    @classmethod
    def of(cls, config: StateCentricTraining, data: Demonstrations, seed: int, device: Device) -> _Fitting:
        """Makes the encoder from the training states."""
        if config.encoder == _SLOTS:
            return cls(config, data, _fsf(data.train[0].task.domain_text, data.largest), seed, device)
        encoder = _kind(config).fit([(each.task, each.states) for each in data.train], data.largest)
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

    def _transitions(self) -> tuple[Sequences, Sequences]:
        """Of the training trajectories, and of those for validation."""
        encoder, mode = self.encoder, self.config.mode
        return prediction_rows(encoder, self.data.train, mode), prediction_rows(encoder, self.data.validation, mode)

    def _snapshot(self, name: str, loss: float, fitted: _Fitted) -> Snapshot:
        return Snapshot(name, fitted.config, loss, partial(fitted.save, self.data))


def _kind(config: StateCentricTraining) -> EncoderKind:
    """What makes the encoder and finds it again, for all but the slots, which a domain of the house defines."""
    if config.encoder == "wl":
        return WL(config.wl)
    return Text(config.text) if config.encoder == "text" else plugged_encoder(config.encoder)


def _fsf(text: DomainText, objects: int) -> FSFEncoder:
    domain = serving(text)
    if domain is None:
        raise ConfigurationError(
            f"domain '{text.name}' is none of the house's, so that the encoding 'fsf' has no slots for it; use 'wl'"
        )
    return FSFEncoder(domain, objects)


def _network(config: StateCentricTraining, dimension: int, seed: int) -> RecurrentModel:
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


METHOD = StateCentric()
