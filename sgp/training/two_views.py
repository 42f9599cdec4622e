"""Trains a transformer on examples under two namings each, by its own loss and by what both shall have in common.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 4. With Rename-Both both namings
are drawn, with Rename-One a problem's objects have the same names in one of them each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sgp.encoders.tokens import BEGIN, END, Naming, Numbers, Tokens
from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.transformer import HeuristicTransformer, PlanTransformer, Seen, SequenceTransformer, padded
from sgp.models.weights import Network
from sgp.policies.writers import MOST_TOKENS
from sgp.training.epochs import Epoch, train_epochs
from sgp.training.plan_examples import Example, Source, draw
from sgp.training.symmetry_losses import Reduction, attention_loss, hidden_loss

Rename = Literal["both", "one"]
_TRIES = 100  # rounds of drawing a batch


@dataclass(frozen=True)
class TwoViews:
    """How a transformer is trained. Where no source is named, the choice is ours, because the paper's appendix has it.

    Raises ConfigurationError for values that cannot be.
    """

    epochs: int = 40
    steps: int = 100  # an epoch
    batch: int = 8  # examples a step, each under two namings: many small steps learn more in a time than few large ones
    learning_rate: float = 1e-3  # of AdamW, after the warm-up; it falls to nothing along a cosine
    warm_up: int = 100  # steps in which the rate grows evenly
    clip: float = 1.0  # longest gradient
    rename: Rename = "both"  # for plans; for heuristics one (symt, section 4)
    attention: float = 1.0  # weight of L_att (symt, section 4)
    hidden: float = 1.0  # weight of L_hid (symt, section 4)
    alone: int = 0  # steps in which what is predicted counts alone; see `share`
    ramp: int = 0  # steps in which both weights then grow evenly to theirs
    reduction: Reduction = "mean"  # of both; printed are sums, beside which the loss of plans is nothing
    space: int = 100_000  # most states of a state space that is expanded; larger problems have their experts' plans
    compared: int = 64  # examples of problems for validation by which epochs are compared

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "batch", "space", "compared"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"views' {name} is {getattr(self, name)}; expected at least 1")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigurationError(f"views' {name} is {getattr(self, name)}; expected above 0")
        for name in ("attention", "hidden", "warm_up", "alone", "ramp"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigurationError(f"views' {name} is {getattr(self, name)}; expected a number from 0")
        if (self.attention or self.hidden) and self.alone >= self.epochs * self.steps:
            raise ConfigurationError(
                f"views' alone is {self.alone} of {self.epochs * self.steps} steps; expected fewer, so that attention "
                "and hidden count, or 0 for both"
            )
        for name, kinds in (("rename", Rename), ("reduction", Reduction)):
            if getattr(self, name) not in get_args(kinds):
                raise ConfigurationError(
                    f"views' {name} is '{getattr(self, name)}'; expected one of {', '.join(get_args(kinds))}"
                )

    def share(self, step: int) -> float:
        """The part of the losses' weights that counts in a step, counted from 0 over all epochs.

        Where all counts from the first step, a network drowns names in what all tokens share, which is the short way to
        equal hidden states, before it has learned to copy them.
        """
        return min(max(step + 1 - self.alone, 0) / max(self.ramp, 1), 1.0)

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(self.epochs * self.steps - self.warm_up, 1)
        return self.learning_rate * (1 + math.cos(math.pi * share)) / 2


class Losses(NamedTuple):
    """The loss of what is predicted, by both views, and what the views differ in.

    `copied` is the share of a plan's names for which the most probable token is the right one: below 1 where several
    plans are optimal, and next to nothing where it is not learned that names are to be copied.
    """

    predicted: Tensor
    seen: Seen
    copied: Tensor | None = None


Loss = Callable[[Sequence[Example], Sequence[Naming], Sequence[Naming], bool], Losses]  # with attention's scores or not
Length = Callable[[Example], int]  # in tokens, of what is padded


class Lengths(NamedTuple):
    """How long an example is to a model, so that batches have alike ones, and the most that it can take."""

    of: Length
    fits: Callable[[Example], bool]


def state_lengths(tokens: Tokens) -> Lengths:
    """Those of a model that reads states alone."""
    return Lengths(lambda each: len(tokens.state(each.task, each.state)), lambda each: True)


def plan_lengths(tokens: Tokens) -> Lengths:
    """Those of a model that writes plans, of at most `MOST_TOKENS` tokens; longer ones are not learned from."""

    def length(example: Example) -> int:
        return len(tokens.actions(example.task, example.plan))

    return Lengths(length, lambda each: length(each) <= MOST_TOKENS)


def sequence_lengths(tokens: Tokens, positions: int) -> Lengths:
    """Those of a model that reads state, goal and plan as one sequence and has so many positions."""
    plan = plan_lengths(tokens)

    def length(example: Example) -> int:
        return tokens.sequence_length(example.task, example.state) + plan.of(example) + 1

    return Lengths(length, lambda each: plan.fits(each) and length(each) <= positions)


def plan_loss(model: PlanTransformer, tokens: Tokens, device: Device) -> Loss:
    """The mean over tokens of -log of the probability of the next one, the end included (symt, section 4)."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        atoms, real = _states(tokens, examples, ones, others, device)
        plans, written = _plans(tokens, examples, ones, others, device)
        logits, seen = model(atoms, real, plans[:, :-1], written[:, 1:], scores)  # the end is never read
        return _of_tokens(logits[written[:, 1:]], plans[:, 1:][written[:, 1:]], tokens, seen)

    return loss


def sequence_loss(model: SequenceTransformer, tokens: Tokens, device: Device) -> Loss:
    """The same of a model that reads state and goal as a part of one sequence; those tokens are not predicted."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        rows, plans = list[Numbers](), list[NDArray[np.bool_]]()
        for namings in (ones, others):
            for example, naming in zip(examples, namings, strict=True):
                told = tokens.sequence(example.task, example.state, naming)
                plan = tokens.named(tokens.actions(example.task, example.plan), naming)
                rows.append(np.concatenate([told, plan, [END]]))
                plans.append(np.arange(len(rows[-1])) >= len(told))
        sequences, written = padded(rows, device)
        predicted, _ = padded([each.astype(np.int64) for each in plans], device)
        logits, seen = model(sequences[:, :-1], written[:, 1:], scores)
        asked = predicted[:, 1:].bool()
        return _of_tokens(logits[asked], sequences[:, 1:][asked], tokens, seen)

    return loss


def distance_loss(model: HeuristicTransformer, tokens: Tokens, device: Device) -> Loss:
    """The mean squared error of distances to the goal (symt, section 4)."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        atoms, real = _states(tokens, examples, ones, others, device)
        values, seen = model(atoms, real, scores)
        wanted = torch.tensor([len(each.plan) for each in examples] * 2, dtype=values.dtype, device=device)
        return Losses(functional.mse_loss(values, wanted), seen)

    return loss


def train_views(
    model: Network,
    loss: Loss,
    tokens: Tokens,
    config: TwoViews,
    train: Sequence[Source],
    validation: Sequence[Source],
    width: int,
    lengths: Lengths,
    seed: int,
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
) -> Iterator[Epoch]:
    """Trains in place and gives every epoch after the first `after`, compared by the loss of what is predicted.

    Examples, of those that fit, and namings of an epoch depend on its number and `seed` alone; `width` is d_k. See
    `train_epochs`.
    """
    optimizer = torch.optim.AdamW(model.to(device).parameters(), lr=config.learning_rate)
    random = np.random.default_rng((seed, 0))
    drawn = _alike(_drawn(validation, config.compared, lengths, random), lengths, config.batch, random)
    compared = [_views(tokens, config, some, random) for some in drawn]

    def epoch(number: int) -> float:
        random, total = np.random.default_rng((seed, number)), 0.0
        drawn = _drawn(train, config.steps * config.batch, lengths, random)
        batches = _alike(drawn, lengths, config.batch, random)
        for step, some in enumerate(batches, start=(number - 1) * config.steps):
            for group in optimizer.param_groups:
                group["lr"] = config.rate(step)
            share = config.share(step)
            attends = bool(config.attention and share)
            found = loss(*_views(tokens, config, some, random), attends)
            whole = found.predicted
            if attends:
                whole = whole + share * config.attention * attention_loss(found.seen, config.reduction)
            if config.hidden and share:
                whole = whole + share * config.hidden * hidden_loss(found.seen, width, config.reduction)
            if not math.isfinite(float(whole.detach())):
                raise ConfigurationError(
                    f"step {step + 1}, in epoch {number}, has the loss {float(whole.detach())}; expected a number, as "
                    f"a learning_rate below {config.learning_rate:g} may give; the epochs before are kept"
                )
            optimizer.zero_grad()
            whole.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.step()
            total += float(found.predicted.detach())
        return total / config.steps

    told = dict[str, float]()

    @torch.inference_mode()
    def validate() -> float:
        predicted, copied = list[float](), list[float]()
        for batch in compared:
            found = loss(*batch, False)
            predicted.append(float(found.predicted))
            copied += [] if found.copied is None else [float(found.copied)]
        if copied:
            told["copied"] = round(float(np.mean(copied)), 4)
        return float(np.mean(predicted))

    for each in train_epochs(model, optimizer, config.epochs, epoch, validate, device, folder, training, after):
        yield replace(each, compared=dict(told))


def _drawn(of: Sequence[Source], count: int, lengths: Lengths, random: np.random.Generator) -> list[Example]:
    """Examples, of which one that does not fit is drawn again. Raises ConfigurationError where hardly any does."""
    examples = list[Example]()
    for _ in range(_TRIES):
        examples += filter(lengths.fits, draw(of, count - len(examples), random))
        if len(examples) == count:
            return examples
    raise ConfigurationError(
        f"hardly any training example has a plan of at most {MOST_TOKENS} tokens that the model has positions for; "
        "expected smaller problems, or more positions"
    )


def _alike(
    examples: Sequence[Example], lengths: Lengths, size: int, random: np.random.Generator
) -> list[list[Example]]:
    """Batches of examples about as long as each other, in any order: little is padded."""
    ordered = sorted(examples, key=lengths.of)
    batches = [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
    return [batches[place] for place in random.permutation(len(batches))]


def _views(
    tokens: Tokens, config: TwoViews, examples: Sequence[Example], random: np.random.Generator
) -> tuple[Sequence[Example], list[Naming], list[Naming]]:
    """Examples with two namings each."""
    fixed = config.rename == "one"
    ones = [tokens.drawn_naming(each.task) if fixed else tokens.naming(each.task, random) for each in examples]
    return examples, ones, [tokens.naming(each.task, random) for each in examples]


def _states(
    tokens: Tokens, examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], device: Device
) -> tuple[Tensor, Tensor]:
    """The atoms [2 b, n, 1 + arity] of states under both namings, and which are some."""
    told = [tokens.state(each.task, each.state) for each in examples]
    rows = [
        tokens.named(each, naming) for namings in (ones, others) for each, naming in zip(told, namings, strict=True)
    ]
    return padded(rows, device)


def _plans(
    tokens: Tokens, examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], device: Device
) -> tuple[Tensor, Tensor]:
    """The plans [2 b, t] under both namings, from the begin to the end, and which of it is written."""
    told = [tokens.actions(each.task, each.plan) for each in examples]
    rows = [
        np.concatenate([[BEGIN], tokens.named(each, naming), [END]])
        for namings in (ones, others)
        for each, naming in zip(told, namings, strict=True)
    ]
    return padded(rows, device)


def _of_tokens(logits: Tensor, following: Tensor, tokens: Tokens, seen: Seen) -> Losses:
    """The losses of tokens [n] by their logits [n, tokens]."""
    right, names = logits.argmax(dim=1) == following, following >= tokens.vocabulary.first_name
    return Losses(functional.cross_entropy(logits, following), seen, (right & names).sum() / names.sum().clamp(min=1))
