"""Symmetry-aware transformers: SymT-E, a heuristic, SymT-ED, which writes plans, and PlanGPT beside them.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt). The text at hand ends at the references:
layers, optimiser and vocabulary stand in an appendix that is missing, so that this is faithful to the main text and not
a reproduction. What is ours is said at the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.tokens import Tokens, Vocabulary
from sgp.errors import ConfigurationError, expected_one_of
from sgp.methods.configuration import configure_decoding, from_record
from sgp.methods.contract import Settings, Snapshot
from sgp.methods.passing import keep_one, require_readable
from sgp.models.device import Device, choose_device
from sgp.models.transformer import HeuristicTransformer, PlanTransformer, SequenceTransformer, TransformerShape, padded
from sgp.planning.clock import looking
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Rules, one_step
from sgp.planning.task import State, Task
from sgp.policies.decoding import DEFAULT
from sgp.policies.lowest_value import LowestValue
from sgp.policies.writers import PlanWriter, SequenceWriter
from sgp.policies.writing import How, WrittenActions
from sgp.training.checkpoint import identify
from sgp.training.epochs import Epoch
from sgp.training.plan_examples import ExpertsPlan, sources
from sgp.training.two_views import (
    Lengths,
    Loss,
    TwoViews,
    distance_loss,
    plan_lengths,
    plan_loss,
    sequence_lengths,
    sequence_loss,
    state_lengths,
    train_views,
)

Kind = Literal["plans", "heuristic", "sequence"]
Model = PlanTransformer | HeuristicTransformer | SequenceTransformer

_WEIGHTS = "model.safetensors"
_AT_ONCE = 1 << 20  # scores of a head that are computed together: 4 MB of them
_SOON = TwoViews(alone=1000, ramp=1000)  # the losses count where copying was learned


@dataclass(frozen=True)
class SymTTraining:
    """What is learned, by which network, from how many names. Raises ConfigurationError for values that cannot be."""

    kind: Kind = "plans"
    names: int = 128  # of the vocabulary; the paper chooses a large one and does not print it
    positions: int = 2048  # of a sequence alone
    shape: TransformerShape = field(default_factory=TransformerShape)
    training: TwoViews = field(default_factory=TwoViews)
    # By which validation selects among the epochs, of which the paper says nothing, and the run plans by default.
    decoding: str = DEFAULT

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigurationError(f"kind is '{self.kind}'; {expected_one_of(get_args(Kind), self.kind)}")
        for name in ("names", "positions"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.kind == "sequence" and (self.training.attention or self.training.hidden):
            raise ConfigurationError(
                f"training.attention is {self.training.attention} and training.hidden {self.training.hidden} of a "
                "sequence; expected 0, because its atoms stand in the order of their names, another one in each view"
            )


@dataclass(frozen=True)
class SymTDecoding:
    """How actions are taken from what was learned (symt, section 5). Raises ConfigurationError for what cannot be.

    `how` is of models that write: see `WrittenActions`; a heuristic is followed to the successor of least value, for
    which `lowest` stands. The faithful ones keep visited states and take no goal state that was not chosen.
    """

    how: How | Literal["best", "lowest"] = "best"  # ranked, or lowest of a heuristic
    beam: int = 1  # of ranked actions
    revisits: bool = False  # visited states stay candidates
    seed: int = 0  # by which objects are named

    def __post_init__(self) -> None:
        known = (*get_args(How), "best", "lowest")
        if self.how not in known:
            raise ConfigurationError(f"how is '{self.how}'; {expected_one_of(known, self.how)}")
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")
        if self.beam > 1 and self.how not in ("best", "ranked", "lowest"):
            raise ConfigurationError(
                f"beam {self.beam} conflicts with how {self.how}; expected ranked or lowest beside it"
            )


@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """How far the goal is from states, by SymT-E; a state of a task is read once, because many go in circles."""

    model: HeuristicTransformer
    tokens: Tokens
    device: Device
    seed: int
    # A memo, not a state: dropping it changes nothing but time.
    known: WeakKeyDictionary[Task, dict[State, float]] = field(default_factory=WeakKeyDictionary)

    def refuses(self, task: Task) -> str | None:
        """What tokens say."""
        return self.tokens.refuses(task)

    @torch.inference_mode()
    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.float64]:
        """The values [n] of states of some tasks, one after the other, those of each task computed together."""
        found = list[float]()
        for task, some in states:
            known = self.known.setdefault(task, {})
            new = [each for each in dict.fromkeys(some) if each not in known]
            naming = self.tokens.drawn_naming(task, self.seed)
            rows = [self.tokens.named(self.tokens.state(task, each), naming) for each in new]
            longest = max(map(len, rows), default=1)
            step = max(1, _AT_ONCE // longest**2)
            for begin in looking(range(0, len(rows), step)):
                atoms, real = padded(rows[begin : begin + step], self.device)
                known.update(zip(new[begin : begin + step], self.model.values(atoms, real).tolist(), strict=True))
            found += [known[each] for each in some]
        return np.array(found)


class SymT:
    """The method of the paper. Decoding `unvisited` is ours: it ranks what can be done, and visits no state twice."""

    key = "symt"
    title = "Symmetry-aware transformers"
    paper = "symt"
    libraries = ("torch",)
    learns_from = Demonstrations
    variants: Mapping[str, SymTTraining] = {
        "ed": SymTTraining(training=_SOON, decoding="regrounding"),
        "e": SymTTraining("heuristic", training=replace(_SOON, rename="one"), decoding="lowest"),
        "plangpt": SymTTraining("sequence", training=TwoViews(attention=0.0, hidden=0.0), decoding="applicable"),
    }
    decodings: Mapping[str, SymTDecoding] = {
        DEFAULT: SymTDecoding(),  # of a training that names none
        "greedy": SymTDecoding("greedy", revisits=True),
        "applicable": SymTDecoding("applicable", revisits=True),
        "regrounding": SymTDecoding("regrounding", revisits=True),
        "ranked": SymTDecoding("ranked", revisits=True),
        "lowest": SymTDecoding("lowest", revisits=True),
        "unvisited": SymTDecoding(),
    }
    sweep: Sequence[Settings] = ()  # it passes through epochs

    def deterministic(self, training: SymTTraining) -> bool:
        """Training starts from random weights."""
        return False

    def invariant(self, training: SymTTraining) -> bool:
        """That names say nothing is learned, and never wholly."""
        return False

    def snapshots(
        self, training: SymTTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planner after every epoch; `folder` keeps the last epochs, from which the training goes on.

        Raises ConfigurationError for a problem that cannot be told in tokens or where the loss is no longer finite,
        StoreError where the folder is damaged or of another training.
        """
        _check(training.kind, configure_decoding(self, training.decoding)[1])
        tokens = _tokens(training, data.train[0].task.domain_text)
        require_readable(data, tokens.refuses)
        model = _network(training, tokens.vocabulary, seed)
        goals = training.kind == "heuristic"
        train, validation = (sources(part, training.training.space, goals) for part in (data.train, data.validation))
        for part, of in ((train, "training"), (validation, "validation")):
            if not part:
                raise ConfigurationError(
                    f"no {of} problem of {data.domain} has a plan with actions; expected one whose initial state is no "
                    "goal state"
                )
        identity = identify((data.sha256, asdict(training), seed))
        loss = _loss(model, tokens, device)
        experts = sum(isinstance(each, ExpertsPlan) for each in train)
        width, lengths = training.shape.width, _lengths(training, tokens)
        for epoch in train_views(
            model,
            loss,
            tokens,
            training.training,
            train,
            validation,
            width,
            lengths,
            seed,
            device,
            folder,
            identity,
            after,
        ):
            save = partial(self._save, training, data, experts, epoch)
            yield Snapshot(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: SymTTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Trains all epochs and keeps the one of least validation loss; the paper's way is `--by coverage`."""
        keep_one(self, training, training.training.epochs, data, draft, "least loss")
        domain = data.train[0].task.domain_text
        return _planner(training, domain, draft.folder / _WEIGHTS, configure_decoding(self, training.decoding)[1])

    def load(self, run: Run, decoding: SymTDecoding) -> Planner:
        """The planner of a run, verified to compute what it did when it was trained.

        Raises ConfigurationError for a decoding of another kind of model.
        """
        training = from_record(SymTTraining, run.training)
        run.verify(_sample(training, run.domain_text, run.folder / _WEIGHTS, Task(run.check_problem)))
        return _planner(training, run.domain_text, run.folder / _WEIGHTS, decoding)

    def _save(self, training: SymTTraining, data: Demonstrations, experts: int, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        model = _network(training, _tokens(training, task.domain_text).vocabulary, seed=0)
        model.load_state_dict(epoch.weights)
        model.save(draft.folder / _WEIGHTS)
        draft.facts.update(
            **epoch.facts,
            parameters=model.count_parameters(),
            experts_plans=experts,  # problems whose state space is too large: their experts' plans are learned from
        )
        draft.keep_check(task.problem, _sample(training, task.domain_text, draft.folder / _WEIGHTS, task))


def _tokens(training: SymTTraining, domain: DomainText) -> Tokens:
    return Tokens(Vocabulary(domain, training.names))


def _network(training: SymTTraining, vocabulary: Vocabulary, seed: int) -> Model:
    """The network with first weights from the seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if training.kind == "sequence":
            return SequenceTransformer(len(vocabulary), training.positions, training.shape)
        kind = PlanTransformer if training.kind == "plans" else HeuristicTransformer
        return kind(len(vocabulary), vocabulary.arity, training.shape)


def _loss(model: Model, tokens: Tokens, device: Device) -> Loss:
    if isinstance(model, SequenceTransformer):
        return sequence_loss(model, tokens, device)
    if isinstance(model, PlanTransformer):
        return plan_loss(model, tokens, device)
    return distance_loss(model, tokens, device)


def _lengths(training: SymTTraining, tokens: Tokens) -> Lengths:
    if training.kind == "heuristic":
        return state_lengths(tokens)
    return sequence_lengths(tokens, training.positions) if training.kind == "sequence" else plan_lengths(tokens)


def _read(training: SymTTraining, domain: DomainText, weights: Path) -> tuple[Model, Tokens, Device]:
    tokens, device = _tokens(training, domain), choose_device("auto")
    model = _network(training, tokens.vocabulary, seed=0)
    model.read(weights)
    return model.to(device).eval(), tokens, device


def _check(kind: Kind, decoding: SymTDecoding) -> None:
    """Raises ConfigurationError for a decoding of another kind of model."""
    if decoding.how == "best" or (kind == "heuristic") == (decoding.how == "lowest"):
        return
    what = "a heuristic" if kind == "heuristic" else "a model that writes plans"
    expected = "best or lowest" if kind == "heuristic" else f"best, {', '.join(get_args(How))}"
    raise ConfigurationError(f"decoding by {decoding.how} conflicts with {what}; expected how {expected}")


def _planner(training: SymTTraining, domain: DomainText, weights: Path, decoding: SymTDecoding) -> Planner:
    _check(training.kind, decoding)
    model, tokens, device = _read(training, domain, weights)
    if isinstance(model, HeuristicTransformer):
        rules = Rules(additive=False, only_chosen=decoding.how == "lowest")
        value = LearnedDistance(model, tokens, device, decoding.seed)
        return Planner(LowestValue(value, rules), one_step, decoding.beam, revisits=decoding.revisits)
    how: How = "ranked" if decoding.how == "best" or decoding.how == "lowest" else decoding.how
    policy = WrittenActions(_writer(model, device), tokens, how, decoding.seed)
    return Planner(policy, one_step, decoding.beam, revisits=decoding.revisits)


def _writer(model: PlanTransformer | SequenceTransformer, device: Device) -> PlanWriter | SequenceWriter:
    return PlanWriter(model, device) if isinstance(model, PlanTransformer) else SequenceWriter(model, device)


def _sample(training: SymTTraining, domain: DomainText, weights: Path, task: Task) -> dict[str, NDArray[np.float64]]:
    """What is computed first of a task's initial state, by which a run is verified."""
    model, tokens, device = _read(training, domain, weights)
    if isinstance(model, HeuristicTransformer):
        return {"value": LearnedDistance(model, tokens, device, 0)([(task, [task.init])])}
    return WrittenActions(_writer(model, device), tokens, "ranked").sample(task)


METHOD = SymT()
