"""State-centric planning: predict the next state's embedding and take the nearest valid successor.

Source: "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric). State and goal are
each encoded as a feature vector. A model predicts the next state's vector (state mode) or the change of the vector
(delta mode). The planner continues with the nearest of the applicable actions' successors (beam search), so that every
step is executable.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import xgboost
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders import StateEncoder, encoder_keys
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError, MissingLibrary, StoreError, check_fields, expected_one_of
from sgp.files import whole_file
from sgp.installed import lacking
from sgp.methods.configuration import from_record
from sgp.methods.contract import Checkpoint, Settings
from sgp.methods.state_encoders import encoder_kind, fit_encoder, load_encoder, save_encoder
from sgp.models.device import Device, choose_device
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.nearest_embedding import Metric, Mode, NearestEmbedding, RowPredictor
from sgp.progress import progress, track
from sgp.training.trajectory_rows import Head, Loss, LSTMShape, RecurrentTraining, Sequences, prediction_rows
from sgp.workers import threads

if TYPE_CHECKING:
    from sgp.training.recurrent import RecurrentModel

Rows = NDArray[np.floating[Any]]


class BoostedTrees:
    """A fitted ensemble that maps rows [n, F] to outputs [n, D]."""

    def __init__(self, booster: xgboost.Booster, rounds: int):
        self._booster = booster
        self.use_threads(threads())
        self.rounds = rounds  # rounds that early stopping selected
        config = json.loads(booster.save_config())
        self.outputs = int(config["learner"]["learner_model_param"]["num_target"])

    def after(self, rounds: int) -> BoostedTrees:
        """Return the ensemble of the first rounds, which equals the result of training with this many rounds."""
        return BoostedTrees(self._booster[:rounds], rounds)

    def count_nodes(self) -> int:
        """Count the nodes of all trees in use (state-centric, Table 3)."""
        model = json.loads(self._booster.save_raw("json").decode())["learner"]["gradient_booster"]["model"]
        return sum(int(tree["tree_param"]["num_nodes"]) for tree in model["trees"][: self.rounds * self.outputs])

    def predict(self, rows: Rows) -> NDArray[np.float32]:
        """Return outputs [n, D]; a row's outputs do not depend on the other rows."""
        found = self._booster.inplace_predict(
            np.ascontiguousarray(rows, np.float32), iteration_range=(0, self.rounds), validate_features=False
        )
        return np.asarray(found, np.float32).reshape(len(rows), self.outputs)

    def use_threads(self, count: int) -> None:
        """Set the number of threads of `predict`."""
        self._booster.set_param({"nthread": count})

    def save(self, path: Path) -> None:
        """Write the trees in XGBoost's UBJSON format."""
        with whole_file(path) as temporary:
            temporary.write_bytes(self._booster.save_raw("ubj"))  # XGBoost's save_model does not report why it fails

    @classmethod
    def load(cls, path: Path, rounds: int) -> BoostedTrees:
        """Read trees that `save` wrote. Raises StoreError for another file."""
        booster = xgboost.Booster()
        try:
            booster.load_model(path)
        except xgboost.core.XGBoostError as error:
            raise StoreError(f"{path} is no model of XGBoost; train the run again") from error
        booster.set_param({"device": "cpu"})
        return cls(booster, rounds)


@dataclass(frozen=True)
class BoostingConfig:
    """Hyperparameters of boosting. Defaults: state-centric, Table 7."""

    depth: int = 8  # maximum depth of a tree
    learning_rate: float = 0.1  # factor of each tree's contribution
    rounds: int = 1000  # maximum number of rounds
    patience: int = 10  # rounds without a better validation error before stopping

    def __post_init__(self) -> None:
        check_fields(self, "boosting", ["learning_rate"], depth=1, rounds=1, patience=1)
        if self.learning_rate > 1:
            raise ConfigurationError(f"boosting learning_rate is {self.learning_rate}; expected at most 1")


class _Progress(xgboost.callback.TrainingCallback):
    def __init__(self, bar: tqdm[None]):
        self._bar = bar

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._bar.update()
        return False


def fit_boosted_trees(
    config: BoostingConfig,
    train: tuple[Rows, Rows],
    validation: tuple[Rows, Rows],
    seed: int,
    device: Device = "cpu",
    title: str = "boosting",
) -> tuple[BoostedTrees, Sequence[float]]:
    """Fit trees to (rows [n, F], targets [n, D]) by squared error until the validation error stops falling.

    Returns the trees up to the round of least validation error, and the error (root mean square) after each round.
    """
    data = [xgboost.DMatrix(rows, label=targets, nthread=threads()) for rows, targets in (train, validation)]
    parameters = {
        "objective": "reg:squarederror",
        "max_depth": config.depth,
        "learning_rate": config.learning_rate,
        "tree_method": "hist",
        "multi_strategy": "one_output_per_tree",
        "device": device,
        "seed": seed,
        "verbosity": 0,
        "nthread": threads(),
    }
    errors: dict[str, dict[str, list[float]]] = {}
    with progress(f"{title}, rounds") as bar:  # no total, because early stopping decides the number of rounds
        booster = xgboost.train(
            parameters,
            data[0],
            num_boost_round=config.rounds,
            evals=[(data[1], "validation")],
            callbacks=[xgboost.callback.EarlyStopping(rounds=config.patience), _Progress(bar)],
            evals_result=errors,
            verbose_eval=False,
        )
    booster.set_param({"device": "cpu"})
    return BoostedTrees(booster, int(booster.best_iteration) + 1), errors["validation"]["rmse"]


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
    parts: int = 20  # intervals of rounds or epochs; the best planner of each is one to select from
    decoding: str = DEFAULT  # used by validation to select among these planners

    def __post_init__(self) -> None:
        check_fields(self, parts=1)
        if self.encoder not in encoder_keys():
            raise ConfigurationError(f"encoder is '{self.encoder}'; {expected_one_of(encoder_keys(), self.encoder)}")


@dataclass(frozen=True)
class StateCentricDecoding(BeamDecoding):
    """A beam over one-step successors, as in the paper, or over the states of a width-1 search."""

    beam: int = 3  # state-centric, Table 7
    strip_static: bool = False  # omit static atoms, as the published implementation does by accident


class StateCentric:
    """The method of the state-centric paper: {WL, FSF} x {XGBoost, LSTM} x {delta, state}."""

    key = "state-centric"
    paper = "state-centric"
    libraries = ("xgboost",)
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
    sweep: Sequence[Settings] = ()  # no settings: the checkpoints are rounds or epochs

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
        """Yield the planner of least loss of each part of a training; only an LSTM resumes, from `folder`."""
        title = f"train {data.domain} {config.encoder}-{config.model}-{config.mode} seed {seed}"
        for fitted in _fit(config, data, seed, device, title, folder, after):
            yield Checkpoint(fitted.name, config, fitted.loss, partial(fitted.save, data))

    def load(self, run: Run, decoding: StateCentricDecoding) -> Planner:
        """Return the planner of a run, verified against the predictions stored in the run."""
        config, facts = from_record(StateCentricTraining, run.training), run.record["facts"]
        if decoding.strip_static and config.encoder != "wl":
            raise ConfigurationError(
                f"strip_static conflicts with encoder {config.encoder}, whose static atoms cannot be left out"
            )
        encoder, file = load_encoder(config, run), run.folder / _FILES[config.model]
        model: BoostedTrees | RecurrentModel
        if config.model == "xgboost":
            model = BoostedTrees.load(file, facts["rounds"])
        else:
            model = _network(config, encoder.dimension, seed=0)
            model.read(file)
            model.to(choose_device("auto")).eval()
        fitted = _Fitted(config, encoder, model, facts)
        run.verify(fitted.policy().sample(Task(run.check_problem)))
        return fitted.planner(decoding)


@dataclass(frozen=True)
class _Fitted:
    """A fitted model with its encoder, the facts that its run records, its name and its validation loss."""

    config: StateCentricTraining
    encoder: StateEncoder
    model: BoostedTrees | RecurrentModel
    facts: Mapping[str, float]
    name: str = ""
    loss: float = 0.0

    def policy(self, strip_static: bool = False) -> NearestEmbedding:
        encoder = self.encoder
        if strip_static and isinstance(encoder, WLEncoder):
            encoder = encoder.without_static()
        return NearestEmbedding(encoder, RowPredictor(self.model, self.config.mode), METRICS[self.config.mode])

    def planner(self, decoding: StateCentricDecoding) -> Planner:
        return decoding.planner(self.policy(decoding.strip_static), one_step)

    def save(self, data: Demonstrations, draft: RunDraft) -> None:
        """Write the files that `load` reads."""
        save_encoder(self.config, self.encoder, draft)
        draft.libraries += ("torch",) if self.config.model == "lstm" else ()
        self.model.save(draft.folder / _FILES[self.config.model])
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
            yield _Fitted(config, encoder, some, facts, f"round {rounds}", losses[rounds - 1])
        return
    _require_torch()
    from sgp.training.fit import FitContext, identify
    from sgp.training.recurrent import best_epoch, fit_recurrent

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
            model = trained.to(device).eval()
            yield _Fitted(config, encoder, model, facts, f"epoch {best.number}", best.validation_loss)


def _network(config: StateCentricTraining, dimension: int, seed: int) -> RecurrentModel:
    """Build the network with initial weights from the seed; torch's global generator is not changed."""
    _require_torch()
    import torch

    from sgp.training.recurrent import RecurrentModel

    head = config.lstm.state_head if config.mode == "state" else config.lstm.delta_head
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentModel(2 * dimension, dimension, config.lstm.shape, head)


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingLibrary(lacking("the LSTM", "torch"))


def _parts(count: int, parts: int) -> list[range]:
    """Split the numbers 1 to `count` into `parts` ranges of nearly equal length, at most one range per number."""
    parts = min(parts, count)
    return [range(count * part // parts + 1, count * (part + 1) // parts + 1) for part in range(parts)]


def _stack(sequences: Sequences) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Stack all rows and all targets."""
    rows, targets = zip(*sequences, strict=True)
    return np.vstack(rows), np.vstack(targets)


METHOD = StateCentric()
