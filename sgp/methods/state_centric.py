"""State-centric planning: predict the next state's embedding and take the nearest valid successor.

Source: "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric). State and goal are
each encoded as a feature vector. A model predicts the next state's vector (state mode) or the change of the vector
(delta mode). The planner takes the nearest of the applicable actions' successors, so that every step is executable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders import StateEncoder, encoder_keys
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError, check_fields, expected_one_of
from sgp.methods.configuration import from_record
from sgp.methods.contract import Checkpoint, Settings
from sgp.methods.state_encoders import encoder_kind, fit_encoder, load_encoder, save_encoder
from sgp.models.boosted_trees import BoostedTrees
from sgp.models.device import Device, choose_device
from sgp.models.recurrent import Head, LSTMShape, RecurrentModel
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.nearest_embedding import Metric, Mode, NearestEmbedding, RecurrentPredictor, RowPredictor
from sgp.progress import track
from sgp.training.boosting import BoostingConfig, fit_boosted_trees
from sgp.training.fit import FitContext, identify
from sgp.training.recurrent import Loss, RecurrentTraining, Sequences, best_epoch, fit_recurrent, prediction_rows

Model = Literal["xgboost", "lstm"]

METRICS: Mapping[Mode, Metric] = {"state": "cosine", "delta": "euclidean"}  # state-centric, Table 7
LOSSES: Mapping[Mode, Loss] = {"state": "cosine", "delta": "squared"}  # state-centric, Table 7; trees: always squared

_FILES: Mapping[Model, str] = {"xgboost": "model.ubj", "lstm": "model.safetensors"}


@dataclass(frozen=True)
class LSTMConfig:
    """The network and its training (state-centric, Table 7 and appendix G.2)."""

    shape: LSTMShape = field(default_factory=LSTMShape)
    training: RecurrentTraining = field(default_factory=RecurrentTraining)
    state_head: Head = "two-layer"  # reproduces all four parameter counts of Table 3
    delta_head: Head = "linear"  # as published; the text has "two-layer"; linear matches no count of Table 3

    def __post_init__(self) -> None:
        check_fields(self, "LSTM")


@dataclass(frozen=True)
class StateCentricTraining:
    """Encoder, model and prediction target."""

    encoder: str = "wl"  # Weisfeiler-Leman features, fixed-size slots (fsf), sentences (text), or a plugin's encoder
    model: Model = "xgboost"  # boosted trees, or an LSTM over the path
    mode: Mode = "delta"  # predict the next embedding, or its difference from the current one
    wl: WLConfig = field(default_factory=WLConfig)
    text: TextConfig = field(default_factory=TextConfig)
    boosting: BoostingConfig = field(default_factory=BoostingConfig)
    lstm: LSTMConfig = field(default_factory=LSTMConfig)
    parts: int = 20  # rounds or epochs are divided into so many parts; each gives one planner to select from
    decoding: str = DEFAULT  # used by validation to select among these planners

    def __post_init__(self) -> None:
        check_fields(self, parts=1)
        if self.encoder not in encoder_keys():
            raise ConfigurationError(f"encoder is '{self.encoder}'; {expected_one_of(encoder_keys(), self.encoder)}")


@dataclass(frozen=True)
class StateCentricDecoding(BeamDecoding):
    """A beam over one-step successors, as in the paper, or over jumps."""

    beam: int = 3  # state-centric, Table 7
    strip_static: bool = False  # omit static atoms, as the published implementation does by accident


class StateCentric:
    """The method of the state-centric paper: {WL, FSF} x {XGBoost, LSTM} x {delta, state}."""

    key = "state-centric"
    title = "State-centric planning"
    paper = "state-centric"
    libraries = ("wlplan", "xgboost", "torch")
    learns_from = Demonstrations
    variants: Mapping[str, StateCentricTraining] = {
        f"{encoder}-{model}-{mode}": StateCentricTraining(encoder, model, mode)
        for encoder, model, mode in product(("wl", "fsf"), get_args(Model), reversed(get_args(Mode)))
    }
    decodings: Mapping[str, StateCentricDecoding] = {
        DEFAULT: StateCentricDecoding(),
        "greedy": StateCentricDecoding(beam=1),
        "no-statics": StateCentricDecoding(strip_static=True),
        "jumps": StateCentricDecoding(candidates="aiw", min_novel=128),  # ours: the candidates of contrastive jumps
    }
    sweep: Sequence[Settings] = ()  # empty: the planners are rounds or epochs

    def deterministic(self, config: StateCentricTraining) -> bool:
        """Return whether the model is XGBoost: boosting samples nothing, the LSTM starts from random weights."""
        return config.model == "xgboost"

    def invariant(self, config: StateCentricTraining) -> bool:
        """Return whether the encoder is invariant: WL colours contain no names, FSF slots are in object order."""
        return encoder_kind(config).invariant

    def train(self, config: StateCentricTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Fit the encoder to the training states, then the model with early stopping on the validation trajectories."""
        started = time.perf_counter()
        title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
        fitted = next(_fit(replace(config, parts=1), data, draft.key.seed, draft.device, title))
        fitted.save(data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return fitted.planner(self.decodings[DEFAULT])

    def checkpoints(
        self,
        config: StateCentricTraining,
        data: Demonstrations,
        folder: Path,
        seed: int,
        device: Device,
        after: int = 0,
    ) -> Iterator[Checkpoint]:
        """Yield the planner of least validation loss of each part of a training's rounds or epochs.

        The planner of least loss overall equals that of `train`. An LSTM's training resumes from `folder`; boosting is
        repeated because it is fast compared with validation.
        """
        title = f"train {data.domain} {config.encoder}-{config.model}-{config.mode} seed {seed}"
        for fitted in _fit(config, data, seed, device, title, folder, after):
            yield Checkpoint(fitted.name, config, fitted.loss, partial(fitted.save, data))

    def load(self, run: Run, decoding: StateCentricDecoding) -> Planner:
        """Return the planner of a run, verified against the predictions stored in the run.

        Raises ConfigurationError for `strip_static` with an encoder other than WL.
        """
        config, facts = from_record(StateCentricTraining, run.training), run.record["facts"]
        if decoding.strip_static and config.encoder != "wl":
            raise ConfigurationError(
                f"strip_static conflicts with encoder {config.encoder}, whose static atoms cannot be left out"
            )
        encoder, file = load_encoder(config, run), run.folder / _FILES[config.model]
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
    """A fitted model with its encoder, the facts that its run records, its name and its validation loss."""

    config: StateCentricTraining
    encoder: StateEncoder
    predictor: RowPredictor | RecurrentPredictor
    facts: Mapping[str, float]
    name: str = ""
    loss: float = 0.0

    def policy(self, strip_static: bool = False) -> NearestEmbedding:
        encoder = self.encoder
        if strip_static and isinstance(encoder, WLEncoder):
            encoder = encoder.without_static()
        return NearestEmbedding(encoder, self.predictor, METRICS[self.config.mode])

    def planner(self, decoding: StateCentricDecoding) -> Planner:
        return decoding.planner(self.policy(decoding.strip_static), one_step)

    def save(self, data: Demonstrations, draft: RunDraft) -> None:
        """Write the files that `load` reads."""
        save_encoder(self.config, self.encoder, draft)
        self.predictor.model.save(draft.folder / _FILES[self.config.model])
        draft.facts.update(self.facts, dimension=self.encoder.dimension, largest=data.largest)
        task = data.train[0].task
        draft.keep_check(task.problem, self.policy().sample(task))


def _fit(
    config: StateCentricTraining,
    data: Demonstrations,
    seed: int,
    device: Device,
    title: str,
    folder: Path | None = None,
    after: int = 0,
) -> Iterator[_Fitted]:
    """Yield the model of least validation loss of each part of a training, after the first `after` parts."""
    encoder, mode = fit_encoder(config, data), config.mode
    train, validation = (prediction_rows(encoder, part, mode) for part in (data.train, data.validation))
    if config.model == "xgboost":
        trees, losses = fit_boosted_trees(config.boosting, _stack(train), _stack(validation), seed, device, title=title)
        for part in _parts(len(losses), config.parts)[after:]:
            rounds = min(part, key=lambda number: losses[number - 1])
            some = trees if rounds == trees.rounds else trees.after(rounds)
            facts: dict[str, float] = {"rounds": rounds, "nodes": some.count_nodes()}
            yield _Fitted(config, encoder, RowPredictor(some, mode), facts, f"round {rounds}", losses[rounds - 1])
        return
    parts = _parts(config.lstm.training.epochs, config.parts)
    ends, identity = [part[-1] for part in parts], identify((data.sha256, asdict(config), seed))
    done = ends[after - 1] if after else 0
    context = FitContext(seed, device, folder, identity, done, ends)
    network = _network(config, encoder.dimension, seed)
    epochs = fit_recurrent(network, config.lstm.training, LOSSES[mode], train, validation, context)
    epochs = track(epochs, title, ends[-1] - done)
    for part in parts[after:]:
        best = best_epoch(islice(epochs, len(part)))
        if best is not None:
            trained = _network(config, encoder.dimension, seed=0)
            trained.load_state_dict(best.weights)
            facts = {"parameters": trained.count_parameters(), **best.facts}
            predictor = RecurrentPredictor(trained.to(device).eval(), mode)
            yield _Fitted(config, encoder, predictor, facts, f"epoch {best.number}", best.validation_loss)


def _network(config: StateCentricTraining, dimension: int, seed: int) -> RecurrentModel:
    """Build the network with initial weights from the seed; torch's global generator is not changed."""
    head = config.lstm.state_head if config.mode == "state" else config.lstm.delta_head
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentModel(2 * dimension, dimension, config.lstm.shape, head)


def _parts(count: int, parts: int) -> list[range]:
    """Split the numbers 1 to `count` into `parts` ranges of nearly equal length, at most one range per number."""
    parts = min(parts, count)
    return [range(count * part // parts + 1, count * (part + 1) // parts + 1) for part in range(parts)]


def _stack(sequences: Sequences) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Stack all rows and all targets."""
    rows, targets = zip(*sequences, strict=True)
    return np.vstack(rows), np.vstack(targets)


METHOD = StateCentric()
