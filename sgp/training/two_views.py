"""Training of a transformer on examples under two namings each, by its prediction loss and the symmetry losses.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 4. With Rename-Both both namings
are random; with Rename-One one of the two namings of a problem is always the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sgp.encoders.tokens import BEGIN, END, Naming, Numbers, Tokens
from sgp.errors import ConfigurationError, check_fields
from sgp.models.device import Device
from sgp.models.networks import Network
from sgp.models.transformer import (
    HeuristicTransformer,
    PlanTransformer,
    Seen,
    SequenceTransformer,
    padded,
)
from sgp.planning.pddl import Action
from sgp.planning.policy import one_step
from sgp.planning.state_space import StateSpace
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory
from sgp.policies.writing import MOST_TOKENS
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit


class Example(NamedTuple):
    """A state of a task, and a plan from it to the goal.

    The paper trains on optimal plans (symt, section 6); its text does not state how states are sampled. Here a problem
    is drawn uniformly, then a state from which the goal is reachable, then one of its optimal plans. For a problem with
    too large a state space, states are drawn from the expert's plan.
    """

    task: Task
    state: State
    plan: tuple[Action, ...]


@dataclass(frozen=True)
class OptimalPlans:
    """Optimal plans of a problem with a known state space."""

    space: StateSpace
    solvable: np.ndarray  # indices of states from which the goal is reachable; goal states only with `goals`
    known: dict[State, list[tuple[Action, State]]] = field(default_factory=dict)  # cache of a state's optimal steps

    def draw(self, random: np.random.Generator) -> Example:
        """Draw a state and an optimal plan."""
        state = start = self.space.state(int(random.choice(self.solvable)))
        plan = list[Action]()
        while not self.space.task.is_goal(state):
            if state not in self.known:
                choice = one_step(self.space.task, state)
                left = choice.lengths + self.space.distance_beyond(choice)
                best = [choice[place] for place in np.flatnonzero(left == left.min()).tolist()]
                self.known[state] = [(each.actions[0], each.state) for each in best]
            ways = self.known[state]
            action, state = ways[random.integers(len(ways))]
            plan.append(action)
        return Example(self.space.task, start, tuple(plan))


@dataclass(frozen=True)
class ExpertsPlan:
    """A problem with one known plan."""

    trajectory: Trajectory
    goals: bool

    def draw(self, random: np.random.Generator) -> Example:
        """Draw a state of the plan with the remaining plan."""
        place = int(random.integers(len(self.trajectory) + self.goals))
        return Example(self.trajectory.task, self.trajectory.states[place], self.trajectory.actions[place:])


Source = OptimalPlans | ExpertsPlan  # a distribution of examples of one problem


def sources(trajectories: Sequence[Trajectory], space: int, goals: bool) -> list[Source]:
    """Return the problems' sources of examples, from spaces of at most `space` states; goal states with `goals`."""
    found: list[Source] = []
    for each in trajectories:
        if len(each):
            whole = StateSpace.expand(each.task, space)
            if whole is None:
                found.append(ExpertsPlan(each, goals))
            else:
                solvable = (whole.distances >= (0 if goals else 1)) & (whole.distances < np.inf)
                found.append(OptimalPlans(whole, np.flatnonzero(solvable)))
    return found


def draw(of: Sequence[Source], count: int, random: np.random.Generator) -> list[Example]:
    """Draw `count` examples, the problem of each uniformly."""
    return [of[place].draw(random) for place in random.integers(len(of), size=count)]


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
        """Return the factor of the symmetry losses in a step: 0 until the network has learned to copy names."""
        return min(max(step + 1 - self.alone, 0) / max(self.ramp, 1), 1.0)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0 over all epochs."""
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(self.epochs * self.steps - self.warm_up, 1)
        return self.learning_rate * (1 + math.cos(math.pi * share)) / 2


class Losses(NamedTuple):
    """The prediction loss over both views, what the symmetry losses compare, and the share of `copied` names."""

    predicted: Tensor
    seen: Seen
    copied: Tensor | None = None


Views = Sequence[tuple[Example, Naming]]  # examples under one naming each, then the same under another
Loss = Callable[[Views, bool], Losses]  # flag: return attention scores


class Lengths(NamedTuple):
    """Length of an example for a model, by which examples are batched, and whether the example fits the model."""

    of: Callable[[Example], int]  # in tokens, of the padded sequence
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

    def loss(views: Views, scores: bool) -> Losses:
        atoms, real = _states(tokens, views, device)
        plans, written = padded([np.array([BEGIN, *_plan(tokens, *view), END]) for view in views], device)
        logits, seen = model(atoms, real, plans[:, :-1], written[:, 1:], scores)  # the end token is never an input
        return _of_tokens(logits[written[:, 1:]], plans[:, 1:][written[:, 1:]], tokens, seen)

    return loss


def sequence_loss(model: SequenceTransformer, tokens: Tokens, device: Device) -> Loss:
    """Return the loss of plans for a sequence model; tokens of state and goal are not predicted."""

    def loss(views: Views, scores: bool) -> Losses:
        prompts = [tokens.sequence(example.task, example.state, naming) for example, naming in views]
        rows = [np.array([*prompt, *_plan(tokens, *view), END]) for prompt, view in zip(prompts, views, strict=True)]
        plans = [
            (np.arange(len(row)) >= len(prompt)).astype(np.int64) for prompt, row in zip(prompts, rows, strict=True)
        ]
        sequences, written = padded(rows, device)
        logits, seen = model(sequences[:, :-1], written[:, 1:], scores)
        following = padded(plans, device)[0][:, 1:].bool()
        return _of_tokens(logits[following], sequences[:, 1:][following], tokens, seen)

    return loss


def distance_loss(model: HeuristicTransformer, tokens: Tokens, device: Device) -> Loss:
    """Return the loss of a heuristic: mean squared error of the distances to the goal (symt, section 4)."""

    def loss(views: Views, scores: bool) -> Losses:
        values, seen = model(*_states(tokens, views, device), scores)
        wanted = torch.tensor([len(example.plan) for example, _ in views], dtype=values.dtype, device=device)
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
    """Train on examples that fit the model, drawn by epoch and seed, and validate the prediction; see `fit`."""
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
        parts = loss(views, attends)
        whole = parts.predicted
        if attends:
            whole = whole + share * config.attention * attention_loss(parts.seen, config.reduction)
        if config.hidden and share:
            whole = whole + share * config.hidden * hidden_loss(parts.seen, width, config.reduction)
        yield LossPart(whole, float(parts.predicted.detach()), 1)

    @torch.inference_mode()
    def validate() -> float:
        found = [loss(views, False) for views in held_out]
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
    first = [tokens.drawn_naming(each.task) if fixed else tokens.naming(each.task, random) for each in examples]
    second = [tokens.naming(each.task, random) for each in examples]
    return list(zip([*examples, *examples], [*first, *second], strict=True))


def _states(tokens: Tokens, views: Views, device: Device) -> tuple[Tensor, Tensor]:
    """Return the atoms [2 b, n, 1 + arity] of the views' states, and the mask of real atoms."""
    rows = [tokens.named(tokens.state(example.task, example.state), naming) for example, naming in views]
    return padded(rows, device)


def _plan(tokens: Tokens, example: Example, naming: Naming) -> Numbers:
    return tokens.named(tokens.actions(example.task, example.plan), naming)


def _of_tokens(logits: Tensor, following: Tensor, tokens: Tokens, seen: Seen) -> Losses:
    """Return the losses of tokens [n] by their logits [n, tokens]."""
    right, names = logits.argmax(dim=1) == following, following >= tokens.vocabulary.first_name
    return Losses(functional.cross_entropy(logits, following), seen, (right & names).sum() / names.sum().clamp(min=1))


def attention_loss(seen: Seen, reduction: Reduction) -> Tensor:
    """L_att: squared differences of attention scores (symt, section 4); "sum" is as printed."""
    parts = []
    for scores, *masks in seen.attended:
        one, two = scores.chunk(2)
        rows, columns = (mask.chunk(2)[0] for mask in masks)
        squares = ((one - two) ** 2 * (rows[:, None, :, None] & columns[:, None, None])).sum()
        parts.append(squares / (len(one) if reduction == "sum" else int(rows.sum()) * one.shape[1]))
    return torch.stack(parts).sum() / (1 if reduction == "sum" else len(parts))


def hidden_loss(seen: Seen, width: int, reduction: Reduction) -> Tensor:
    """L_hid: squared differences of the first `width` (d_k) hidden units (symt, section 4); "sum" is as printed."""
    parts = []
    for hidden, mask in seen.left:
        one, two = hidden[:, :, :width].chunk(2)
        rows = mask.chunk(2)[0]
        squares = ((one - two) ** 2 * rows[:, :, None]).sum()
        parts.append(squares / (len(one) if reduction == "sum" else int(rows.sum()) * width))
    return torch.stack(parts).sum() / (1 if reduction == "sum" else len(parts))
