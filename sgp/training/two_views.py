"""Training of a transformer on examples under two namings each, by its prediction loss and the symmetry losses.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 4. With Rename-Both both namings
are random; with Rename-One one of the two namings of a problem is always the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sgp.encoders.tokens import BEGIN, END, Naming, Numbers, Tokens
from sgp.errors import ConfigurationError, check_fields
from sgp.models.device import Device
from sgp.models.networks import Network
from sgp.models.transformer import (
    Attended,
    HeuristicTransformer,
    Left,
    PlanTransformer,
    Seen,
    SequenceTransformer,
    padded,
)
from sgp.policies.writers import MOST_TOKENS
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit
from sgp.training.plan_examples import Example, Source, draw

Rename = Literal["both", "one"]
Reduction = Literal["mean", "sum"]
_TRIES = 100  # attempts to fill a batch


@dataclass(frozen=True)
class TwoViews:
    """Hyperparameters of training; values without a source are ours, because the paper's appendix is not available."""

    epochs: int = 40
    steps: int = 100  # per epoch
    batch: int = 8  # examples per step, each under two namings; many small steps learn faster than few large ones
    learning_rate: float = 1e-3  # of AdamW, after warm-up; cosine decay to zero
    warm_up: int = 100  # steps of linear warm-up
    clip: float = 1.0  # maximum gradient norm
    rename: Rename = "both"  # for plans; heuristics use one (symt, section 4)
    attention: float = 1.0  # weight of L_att (symt, section 4)
    hidden: float = 1.0  # weight of L_hid (symt, section 4)
    alone: int = 0  # steps with the prediction loss alone; see `share`
    ramp: int = 0  # further steps in which the weights of the symmetry losses grow linearly
    reduction: Reduction = "mean"  # of both symmetry losses; the paper prints sums, far above the loss of plans
    space: int = 100_000  # most states of an expanded state space; larger problems use their experts' plans
    compared: int = 64  # validation examples for the validation loss

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("epochs", "steps", "batch", "space", "compared"), 1)
        weights = dict.fromkeys(("attention", "hidden", "warm_up", "alone", "ramp"), 0)
        check_fields(self, "views'", ["learning_rate", "clip"], **counts, **weights)
        if (self.attention or self.hidden) and self.alone >= self.epochs * self.steps:
            raise ConfigurationError(
                f"views' alone is {self.alone} of {self.epochs * self.steps} steps; expected fewer, so that attention "
                "and hidden count, or 0 for both"
            )

    def share(self, step: int) -> float:
        """Return the factor of the symmetry losses' weights in a step, counted from 0 over all epochs.

        With full weights from the first step, a network makes hidden states equal by suppressing names in favour of
        features shared by all tokens, before it has learned to copy names.
        """
        return min(max(step + 1 - self.alone, 0) / max(self.ramp, 1), 1.0)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0 over all epochs."""
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(self.epochs * self.steps - self.warm_up, 1)
        return self.learning_rate * (1 + math.cos(math.pi * share)) / 2


class Losses(NamedTuple):
    """The prediction loss over both views, and the activations that the symmetry losses compare.

    `copied` is the share of a plan's names predicted correctly (most probable token). It is below 1 where several plans
    are optimal, and near 0 until the network learns to copy names.
    """

    predicted: Tensor
    seen: Seen
    copied: Tensor | None = None


Loss = Callable[[Sequence[Example], Sequence[Naming], Sequence[Naming], bool], Losses]  # flag: return attention scores
Length = Callable[[Example], int]  # in tokens, of the padded sequence
Views = tuple[Sequence[Example], list[Naming], list[Naming]]


class Lengths(NamedTuple):
    """Length of an example for a model, by which examples are batched, and whether the example fits the model."""

    of: Length
    fits: Callable[[Example], bool]


def state_lengths(tokens: Tokens) -> Lengths:
    """Return the lengths for a model that reads only states."""
    return Lengths(lambda each: len(tokens.state(each.task, each.state)), lambda each: True)


def plan_lengths(tokens: Tokens) -> Lengths:
    """Return the lengths for a model that writes plans; plans over `MOST_TOKENS` tokens are not trained on."""

    def length(example: Example) -> int:
        return len(tokens.actions(example.task, example.plan))

    return Lengths(length, lambda each: length(each) <= MOST_TOKENS)


def sequence_lengths(tokens: Tokens, positions: int) -> Lengths:
    """Return the lengths for a model that reads state, goal and plan as one sequence of at most `positions` tokens."""
    plan = plan_lengths(tokens)

    def length(example: Example) -> int:
        return tokens.sequence_length(example.task, example.state) + plan.of(example) + 1

    return Lengths(length, lambda each: plan.fits(each) and length(each) <= positions)


def plan_loss(model: PlanTransformer, tokens: Tokens, device: Device) -> Loss:
    """Return the loss of plans: mean -log probability of the next token, the end token included (symt, section 4)."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        atoms, real = _states(tokens, examples, ones, others, device)
        plans, written = _plans(tokens, examples, ones, others, device)
        logits, seen = model(atoms, real, plans[:, :-1], written[:, 1:], scores)  # the end token is never an input
        return _of_tokens(logits[written[:, 1:]], plans[:, 1:][written[:, 1:]], tokens, seen)

    return loss


def sequence_loss(model: SequenceTransformer, tokens: Tokens, device: Device) -> Loss:
    """Return the loss of plans for a sequence model; tokens of state and goal are not predicted."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        rows, plans = list[Numbers](), list[NDArray[np.bool_]]()
        for namings in (ones, others):
            for example, naming in zip(examples, namings, strict=True):
                prompt = tokens.sequence(example.task, example.state, naming)
                plan = tokens.named(tokens.actions(example.task, example.plan), naming)
                rows.append(np.concatenate([prompt, plan, [END]]))
                plans.append(np.arange(len(rows[-1])) >= len(prompt))
        sequences, written = padded(rows, device)
        predicted, _ = padded([each.astype(np.int64) for each in plans], device)
        logits, seen = model(sequences[:, :-1], written[:, 1:], scores)
        following = predicted[:, 1:].bool()
        return _of_tokens(logits[following], sequences[:, 1:][following], tokens, seen)

    return loss


def distance_loss(model: HeuristicTransformer, tokens: Tokens, device: Device) -> Loss:
    """Return the loss of a heuristic: mean squared error of the distances to the goal (symt, section 4)."""

    def loss(examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], scores: bool) -> Losses:
        atoms, real = _states(tokens, examples, ones, others, device)
        values, seen = model(atoms, real, scores)
        wanted = torch.tensor([len(each.plan) for each in examples] * 2, dtype=values.dtype, device=device)
        return Losses(functional.mse_loss(values, wanted), seen)

    return loss


def fit_views(
    model: Network,
    loss: Loss,
    tokens: Tokens,
    config: TwoViews,
    train: Sequence[Source],
    validation: Sequence[Source],
    width: int,
    lengths: Lengths,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train on examples that fit the model; the validation loss is the prediction loss. See `fit`.

    The examples and namings of an epoch depend only on its number and the seed; `width` is d_k.
    """
    optimizer = torch.optim.AdamW(model.to(context.device).parameters(), lr=config.learning_rate)
    rng = np.random.default_rng((context.seed, 0))
    examples = _similar_lengths(_drawn(validation, config.compared, lengths, rng), lengths, config.batch, rng)
    held_out = [_views(tokens, config, batch, rng) for batch in examples]
    metrics = dict[str, float]()

    def batches(epoch: int) -> Iterator[tuple[float, Views]]:
        rng = np.random.default_rng((context.seed, epoch))
        examples = _drawn(train, config.steps * config.batch, lengths, rng)
        for place, batch in enumerate(_similar_lengths(examples, lengths, config.batch, rng)):
            yield config.share((epoch - 1) * config.steps + place), _views(tokens, config, batch, rng)

    def losses(batch: tuple[float, Views]) -> Iterator[LossPart]:
        share, views = batch
        attends = bool(config.attention and share)
        parts = loss(*views, attends)
        whole = parts.predicted
        if attends:
            whole = whole + share * config.attention * attention_loss(parts.seen, config.reduction)
        if config.hidden and share:
            whole = whole + share * config.hidden * hidden_loss(parts.seen, width, config.reduction)
        yield LossPart(whole, float(parts.predicted.detach()), 1)

    @torch.inference_mode()
    def validate() -> float:
        found = [loss(*views, False) for views in held_out]
        copied = [float(each.copied) for each in found if each.copied is not None]
        if copied:
            metrics["copied"] = round(float(np.mean(copied)), 4)
        return float(np.mean([float(each.predicted) for each in found]))

    def rate(epoch: int, batch: int) -> float:
        return config.rate((epoch - 1) * config.steps + batch)

    schedule = Schedule(config.epochs, rate, config.clip)
    for epoch in fit(model, optimizer, schedule, batches, losses, validate, context):
        yield replace(epoch, metrics=dict(metrics))


def _drawn(of: Sequence[Source], count: int, lengths: Lengths, random: np.random.Generator) -> list[Example]:
    """Draw examples that fit the model; raises ConfigurationError where hardly any fits."""
    examples = list[Example]()
    for _ in range(_TRIES):
        examples += filter(lengths.fits, draw(of, count - len(examples), random))
        if len(examples) == count:
            return examples
    raise ConfigurationError(
        f"hardly any training example has a plan of at most {MOST_TOKENS} tokens that the model has positions for; "
        "expected smaller problems, or more positions"
    )


def _similar_lengths(
    examples: Sequence[Example], lengths: Lengths, size: int, random: np.random.Generator
) -> list[list[Example]]:
    """Return batches of examples of similar length, in random order, to reduce padding."""
    ordered = sorted(examples, key=lengths.of)
    batches = [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
    return [batches[place] for place in random.permutation(len(batches))]


def _views(tokens: Tokens, config: TwoViews, examples: Sequence[Example], random: np.random.Generator) -> Views:
    """Return examples with two namings each."""
    fixed = config.rename == "one"
    ones = [tokens.drawn_naming(each.task) if fixed else tokens.naming(each.task, random) for each in examples]
    return examples, ones, [tokens.naming(each.task, random) for each in examples]


def _states(
    tokens: Tokens, examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], device: Device
) -> tuple[Tensor, Tensor]:
    """Return the atoms [2 b, n, 1 + arity] of states under both namings, and the mask of real atoms."""
    states = [tokens.state(each.task, each.state) for each in examples]
    rows = [
        tokens.named(each, naming) for namings in (ones, others) for each, naming in zip(states, namings, strict=True)
    ]
    return padded(rows, device)


def _plans(
    tokens: Tokens, examples: Sequence[Example], ones: Sequence[Naming], others: Sequence[Naming], device: Device
) -> tuple[Tensor, Tensor]:
    """Return the plans [2 b, t] under both namings, with begin and end tokens, and the mask of real tokens."""
    plans = [tokens.actions(each.task, each.plan) for each in examples]
    rows = [
        np.concatenate([[BEGIN], tokens.named(each, naming), [END]])
        for namings in (ones, others)
        for each, naming in zip(plans, namings, strict=True)
    ]
    return padded(rows, device)


def _of_tokens(logits: Tensor, following: Tensor, tokens: Tokens, seen: Seen) -> Losses:
    """Return the losses of tokens [n] by their logits [n, tokens]."""
    right, names = logits.argmax(dim=1) == following, following >= tokens.vocabulary.first_name
    return Losses(functional.cross_entropy(logits, following), seen, (right & names).sum() / names.sum().clamp(min=1))


def attention_loss(seen: Seen, reduction: Reduction) -> Tensor:
    """L_att: squared differences of attention scores, over modules, layers, heads, rows and columns (symt, section 4).

    "sum", as printed, sums all of them and divides by the batch size. "mean" is the mean over rows, each of which sums
    to one, then over modules, layers and heads.
    """
    return torch.stack([_of_scores(each, reduction) for each in seen.attended]).sum() / _over(seen.attended, reduction)


def hidden_loss(seen: Seen, width: int, reduction: Reduction) -> Tensor:
    """L_hid: squared differences of each token's first `width` (d_k) hidden units per layer (symt, section 4).

    "sum" is as printed; "mean" is the mean over tokens and units, then over layers.
    """
    return torch.stack([_of_hidden(each, width, reduction) for each in seen.left]).sum() / _over(seen.left, reduction)


def _of_scores(attended: Attended, reduction: Reduction) -> Tensor:
    one, two = attended.scores.chunk(2)
    rows, columns = attended.rows.chunk(2)[0], attended.columns.chunk(2)[0]
    among = rows[:, None, :, None] & columns[:, None, None]
    squares = ((one - two) ** 2 * among).sum()
    return squares / (len(one) if reduction == "sum" else int(rows.sum()) * one.shape[1])


def _of_hidden(left: Left, width: int, reduction: Reduction) -> Tensor:
    one, two = left.hidden[:, :, :width].chunk(2)
    rows = left.rows.chunk(2)[0]
    squares = ((one - two) ** 2 * rows[:, :, None]).sum()
    return squares / (len(one) if reduction == "sum" else int(rows.sum()) * width)


def _over(parts: list[Attended] | list[Left], reduction: Reduction) -> int:
    return 1 if reduction == "sum" else len(parts)
