"""Symmetry-aware transformers: SymT-E (a heuristic), SymT-ED (writes plans), and the baseline PlanGPT.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt). The available text ends at the references;
the appendix with layers, optimiser and vocabulary is missing. The implementation follows the main text and is not an
exact reproduction. Comments at the fields mark our own choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.tokens import Tokens, Vocabulary
from sgp.errors import ConfigurationError, check_fields
from sgp.methods.configuration import configure_decoding
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, Vectors, require_readable
from sgp.models.device import Device
from sgp.models.transformer import HeuristicTransformer, PlanTransformer, SequenceTransformer, TransformerShape, padded
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Rules, one_step
from sgp.planning.states import State
from sgp.planning.task import Task, TaskCache
from sgp.policies.decoding import DEFAULT
from sgp.policies.lowest_value import LowestValue
from sgp.policies.writing import How, Writer, WrittenActions
from sgp.training.fit import Epoch, FitContext
from sgp.training.two_views import (
    ExpertsPlan,
    Lengths,
    Loss,
    TwoViews,
    distance_loss,
    fit_views,
    plan_lengths,
    plan_loss,
    sequence_lengths,
    sequence_loss,
    sources,
    state_lengths,
)

Kind = Literal["plans", "heuristic", "sequence"]
Model = PlanTransformer | HeuristicTransformer | SequenceTransformer

_AT_ONCE = 1 << 20  # attention scores of a head computed at once: 4 MB
_SOON = TwoViews(alone=1000, ramp=1000)  # the symmetry losses start once copying is learned


@dataclass(frozen=True)
class SymTTraining:
    """Kind of model, vocabulary size, network and training."""

    kind: Kind = "plans"
    names: int = 128  # in the vocabulary; the paper uses a large number that it does not print
    positions: int = 2048  # only for kind "sequence"
    shape: TransformerShape = field(default_factory=TransformerShape)
    training: TwoViews = field(default_factory=TwoViews)
    # Used by validation to select among the epochs (the paper does not state how) and as the run's default.
    decoding: str = DEFAULT

    def __post_init__(self) -> None:
        check_fields(self, names=1, positions=1)
        if self.kind == "sequence" and (self.training.attention or self.training.hidden):
            raise ConfigurationError(
                f"training.attention is {self.training.attention} and training.hidden {self.training.hidden} of a "
                "sequence; expected 0, because its atoms are in the order of their names, which differs between views"
            )


@dataclass(frozen=True)
class SymTDecoding:
    """Action selection from a trained model (symt, section 5).

    `how` selects the decoding of models that write plans (see `WrittenActions`); "lowest" follows a heuristic to the
    successor of least value. The decodings of the paper allow visited states and take no goal state that was not
    chosen.
    """

    how: How | Literal["best", "lowest"] = "best"  # "best": "ranked", or "lowest" for a heuristic
    beam: int = 1  # only with ranked actions or a heuristic
    revisits: bool = False  # visited states remain candidates
    seed: int = 0  # for the random names of objects

    def __post_init__(self) -> None:
        check_fields(self, beam=1)
        if self.beam > 1 and self.how not in ("best", "ranked", "lowest"):
            raise ConfigurationError(
                f"beam {self.beam} conflicts with how {self.how}; expected ranked or lowest beside it"
            )


@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """Goal distances by SymT-E, cached per state and task, because many states recur."""

    model: HeuristicTransformer
    tokens: Tokens
    device: Device
    seed: int
    # A cache: dropping it costs only time.
    known: TaskCache[dict[State, float]] = field(default_factory=TaskCache)

    def refuses(self, task: Task) -> str | None:
        """Return why the task cannot be encoded as tokens, or None."""
        return self.tokens.refuses(task)

    @torch.inference_mode()
    def __call__(self, states: Sequence[tuple[Task, Sequence[State]]]) -> NDArray[np.float64]:
        """Return the values [n] of the states of several tasks, concatenated; the states of one task are batched."""
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
    """The method of the symt paper; decoding `unvisited` is ours: it ranks applicable actions and revisits no state."""

    key = "symt"
    paper = "symt"
    learns_from = Demonstrations
    variants: Mapping[str, SymTTraining] = {
        "ed": SymTTraining(training=_SOON, decoding="regrounding"),
        "e": SymTTraining("heuristic", training=replace(_SOON, rename="one"), decoding="lowest"),
        "plangpt": SymTTraining("sequence", training=TwoViews(attention=0.0, hidden=0.0), decoding="applicable"),
    }
    decodings: Mapping[str, SymTDecoding] = {
        DEFAULT: SymTDecoding(),  # for a training that names no decoding
        **{how: SymTDecoding(how, revisits=True) for how in (*get_args(How), "lowest")},
        "unvisited": SymTDecoding(),
    }
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs

    def build(self, training: SymTTraining, domain: DomainText) -> Model:
        """Build the network of the configured kind."""
        vocabulary = Vocabulary(domain, training.names)
        if training.kind == "sequence":
            return SequenceTransformer(len(vocabulary), training.positions, training.shape)
        kind = PlanTransformer if training.kind == "plans" else HeuristicTransformer
        return kind(len(vocabulary), vocabulary.arity, training.shape)

    def fit(self, training: SymTTraining, data: Demonstrations, network: Model, context: FitContext) -> Iterator[Epoch]:
        """Train on optimal plans, or on the experts' plans where the state space is too large."""
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
        loss, lengths = _loss(network, tokens, context.device)
        width = training.shape.width
        for epoch in fit_views(network, loss, tokens, training.training, train, validation, width, lengths, context):
            yield replace(epoch, metrics={**epoch.metrics, **experts})

    def learned(self, training: SymTTraining, domain: DomainText, network: Model, device: Device) -> Transformer:
        """Return the network with its tokens."""
        return Transformer(network, Tokens(Vocabulary(domain, training.names)), device)

    def planner(self, training: SymTTraining, learned: Transformer, decoding: SymTDecoding) -> Planner:
        """Return a beam search over successors; raises ConfigurationError for a decoding of another kind of model."""
        _check(training.kind, decoding)
        model, tokens, device = learned
        policy: LowestValue | WrittenActions
        if isinstance(model, HeuristicTransformer):
            rules = Rules(additive=False, only_chosen=decoding.how == "lowest")
            policy = LowestValue(LearnedDistance(model, tokens, device, decoding.seed), rules)
        else:
            how: How = "ranked" if decoding.how == "best" or decoding.how == "lowest" else decoding.how
            policy = WrittenActions(Writer(model, device), tokens, how, decoding.seed)
        return Planner(policy, one_step, decoding.beam, revisits=decoding.revisits)

    def sample(self, training: SymTTraining, learned: Transformer, task: Task) -> Vectors:
        """Return the value of the initial state, or the logits of the first written token."""
        model, tokens, device = learned
        if isinstance(model, HeuristicTransformer):
            return {"value": LearnedDistance(model, tokens, device, 0)([(task, [task.init])])}
        return WrittenActions(Writer(model, device), tokens, "ranked").sample(task)


def _loss(model: Model, tokens: Tokens, device: Device) -> tuple[Loss, Lengths]:
    if isinstance(model, HeuristicTransformer):
        return distance_loss(model, tokens, device), state_lengths(tokens)
    if isinstance(model, SequenceTransformer):
        return sequence_loss(model, tokens, device), sequence_lengths(tokens, model.positions)
    return plan_loss(model, tokens, device), plan_lengths(tokens)


def _check(kind: Kind, decoding: SymTDecoding) -> None:
    """Raise ConfigurationError for a decoding of another kind of model."""
    if decoding.how == "best" or (kind == "heuristic") == (decoding.how == "lowest"):
        return
    what = "a heuristic" if kind == "heuristic" else "a model that writes plans"
    expected = "best or lowest" if kind == "heuristic" else f"best, {', '.join(get_args(How))}"
    raise ConfigurationError(f"decoding by {decoding.how} conflicts with {what}; expected how {expected}")


METHOD = SymT()
