"""Symmetry-aware transformers: SymT-E, a heuristic, SymT-ED, which writes plans, and PlanGPT beside them.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt). The text at hand ends at the references:
layers, optimiser and vocabulary stand in an appendix that is missing, so that this is faithful to the main text and not
a reproduction. What is ours is said at the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.tokens import Tokens, Vocabulary
from sgp.errors import ConfigurationError, expected_one_of
from sgp.methods.configuration import configure_decoding
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.transformer import HeuristicTransformer, PlanTransformer, SequenceTransformer, TransformerShape, padded
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Rules, one_step
from sgp.planning.task import State, Task
from sgp.policies.decoding import DEFAULT
from sgp.policies.lowest_value import LowestValue
from sgp.policies.writers import PlanWriter, SequenceWriter
from sgp.policies.writing import How, WrittenActions
from sgp.training.fit import Epoch, FitContext
from sgp.training.plan_examples import ExpertsPlan, sources
from sgp.training.two_views import (
    Lengths,
    Loss,
    TwoViews,
    distance_loss,
    fit_views,
    plan_lengths,
    plan_loss,
    sequence_lengths,
    sequence_loss,
    state_lengths,
)

Kind = Literal["plans", "heuristic", "sequence"]
Model = PlanTransformer | HeuristicTransformer | SequenceTransformer

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
            for begin in with_limit_checks(range(0, len(rows), step)):
                atoms, real = padded(rows[begin : begin + step], self.device)
                known.update(zip(new[begin : begin + step], self.model.values(atoms, real).tolist(), strict=True))
            found += [known[each] for each in some]
        return np.array(found)


class Transformer(NamedTuple):
    """A trained network with its tokens."""

    model: Model
    tokens: Tokens
    device: Device


class SymT(NetworkMethod[SymTTraining, SymTDecoding, Model, Transformer]):
    """The method of the paper. Decoding `unvisited` is ours: it ranks what can be done, and visits no state twice."""

    key = "symt"
    title = "Symmetry-aware transformers"
    paper = "symt"
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
    sweep: Sequence[Settings] = ()  # its planners are epochs

    def invariant(self, training: SymTTraining) -> bool:
        """That names say nothing is learned, and never wholly."""
        return False

    def build(self, training: SymTTraining, domain: DomainText) -> Model:
        """The network of this kind."""
        vocabulary = Vocabulary(domain, training.names)
        if training.kind == "sequence":
            return SequenceTransformer(len(vocabulary), training.positions, training.shape)
        kind = PlanTransformer if training.kind == "plans" else HeuristicTransformer
        return kind(len(vocabulary), vocabulary.arity, training.shape)

    def fit(self, training: SymTTraining, data: Demonstrations, network: Model, context: FitContext) -> Iterator[Epoch]:
        """Learns from optimal plans, or from experts' plans where a state space is too large."""
        _check(training.kind, configure_decoding(self, training.decoding)[1])
        tokens = Tokens(Vocabulary(data.train[0].task.domain_text, training.names))
        require_readable((*data.train, *data.validation), tokens.refuses)
        goals, space = training.kind == "heuristic", training.training.space
        train, validation = (sources(part, space, goals) for part in (data.train, data.validation))
        for part, split in ((train, "training"), (validation, "validation")):
            if not part:
                raise ConfigurationError(
                    f"no {split} problem of {data.domain} has a plan with actions; expected one whose initial state is "
                    "no goal state"
                )
        experts = {"experts_plans": sum(isinstance(each, ExpertsPlan) for each in train)}
        loss, lengths = _loss(network, tokens, context.device), _lengths(training, tokens)
        width = training.shape.width
        for epoch in fit_views(network, loss, tokens, training.training, train, validation, width, lengths, context):
            yield replace(epoch, metrics={**epoch.metrics, **experts})

    def learned(self, training: SymTTraining, domain: DomainText, network: Model, device: Device) -> Transformer:
        """The network with its tokens."""
        return Transformer(network, Tokens(Vocabulary(domain, training.names)), device)

    def planner(self, training: SymTTraining, learned: Transformer, decoding: SymTDecoding) -> Planner:
        """A beam of one policy over successors. Raises ConfigurationError for a decoding of another kind of model."""
        _check(training.kind, decoding)
        model, tokens, device = learned
        policy: LowestValue | WrittenActions
        if isinstance(model, HeuristicTransformer):
            rules = Rules(additive=False, only_chosen=decoding.how == "lowest")
            policy = LowestValue(LearnedDistance(model, tokens, device, decoding.seed), rules)
        else:
            how: How = "ranked" if decoding.how == "best" or decoding.how == "lowest" else decoding.how
            policy = WrittenActions(_writer(model, device), tokens, how, decoding.seed)
        return Planner(policy, one_step, decoding.beam, revisits=decoding.revisits)

    def sample(self, training: SymTTraining, learned: Transformer, task: Task) -> Vectors:
        """The value of the initial state, or the logits of the first token written behind it."""
        model, tokens, device = learned
        if isinstance(model, HeuristicTransformer):
            return {"value": LearnedDistance(model, tokens, device, 0)([(task, [task.init])])}
        return WrittenActions(_writer(model, device), tokens, "ranked").sample(task)


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


def _check(kind: Kind, decoding: SymTDecoding) -> None:
    """Raises ConfigurationError for a decoding of another kind of model."""
    if decoding.how == "best" or (kind == "heuristic") == (decoding.how == "lowest"):
        return
    what = "a heuristic" if kind == "heuristic" else "a model that writes plans"
    expected = "best or lowest" if kind == "heuristic" else f"best, {', '.join(get_args(How))}"
    raise ConfigurationError(f"decoding by {decoding.how} conflicts with {what}; expected how {expected}")


def _writer(model: PlanTransformer | SequenceTransformer, device: Device) -> PlanWriter | SequenceWriter:
    return PlanWriter(model, device) if isinstance(model, PlanTransformer) else SequenceWriter(model, device)


METHOD = SymT()
