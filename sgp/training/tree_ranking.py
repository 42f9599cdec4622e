"""Trains a network on trees whose right candidates are known; what was interrupted goes on after its last epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.errors import ConfigurationError
from sgp.models.candidate_network import CandidateNetwork
from sgp.models.device import Device
from sgp.planning.clock import looking
from sgp.policies.tree_scores import PART
from sgp.training.checkpoint import Parts
from sgp.training.depth_ranking import depth_ranking_loss
from sgp.training.epochs import Epoch, train_epochs
from sgp.training.labels import Labelled


@dataclass(frozen=True)
class TreeTraining:
    """How a network of trees is trained. Defaults are those of AIW-AD, section 7, where nothing else is said."""

    epochs: int = 40  # theirs: 300; ours take less than 10 minutes of a core on small problems
    steps: int = 32  # an epoch
    batch: int = 32  # trees a step
    learning_rate: float = 1e-3  # of Adam at the first step
    last_rate: float = 1e-5  # at the last, after falling evenly
    depth_weight: float = 0.1  # of the loss of depths, which the paper leaves open
    clip: float = 1.0  # longest gradient, of which the paper says nothing
    compared: int = 128  # most decisions of experts by which epochs are compared

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "batch", "compared"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"trees' {name} is {getattr(self, name)}; expected at least 1")
        for name in ("learning_rate", "last_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigurationError(f"trees' {name} is {getattr(self, name)}; expected above 0")
        if not 0 <= self.depth_weight < math.inf:
            raise ConfigurationError(f"trees' depth_weight is {self.depth_weight}; expected a number from 0")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        share = step / max(self.epochs * self.steps - 1, 1)
        return self.learning_rate + min(share, 1.0) * (self.last_rate - self.learning_rate)


@dataclass(frozen=True, eq=False)
class LabelledTrees:
    """Trees [n], which of their candidates are right, tree after tree [c], and how much each tree weighs [n]."""

    trees: Trees
    right: NDArray[np.bool_]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, encoder: LookaheadEncoder, decisions: Sequence[Labelled], what: str = "") -> LabelledTrees:
        """Encodes decisions. Raises ConfigurationError, which tells `what` they are of, where there is none."""
        if not decisions:
            raise ConfigurationError(
                f"no state of {what or 'the problems'} has a right candidate; expected a problem whose initial state "
                "is no goal state"
            )
        return cls(
            concatenate_trees([encoder.encode(each.task, each.state, each.choice) for each in looking(decisions)]),
            np.concatenate([each.positive for each in decisions]),
            np.array([each.weight for each in decisions]),
        )

    def right_of(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which candidates of some trees are right, tree after tree."""
        first = np.concatenate([[0], np.cumsum(self.trees.candidates)])
        return np.concatenate([self.right[first[place] : first[place + 1]] for place in places])


def spread(decisions: Sequence[Labelled], most: int) -> list[Labelled]:
    """At most so many of the decisions, evenly along them."""
    places = np.linspace(0, len(decisions) - 1, min(len(decisions), most)).round().astype(int)
    return [decisions[place] for place in places]


def train_ranking(
    model: CandidateNetwork,
    config: TreeTraining,
    train: LabelledTrees,
    validation: LabelledTrees,
    seed: int,
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
    others: Parts = MappingProxyType({}),
) -> Iterator[Epoch]:
    """Trains in place by the contrastive loss, and gives every epoch after the first `after`; see `train_epochs`.

    Trees are drawn by their weights, those of an epoch by its number and `seed` alone.
    """

    def epoch(optimizer: torch.optim.Optimizer, number: int) -> float:
        return _train_epoch(model, optimizer, config, train, np.random.default_rng([seed, number]), device, number)

    return train_trees(model, config, epoch, validation, device, folder, training, after, others)


def train_trees(
    model: CandidateNetwork,
    config: TreeTraining,
    epoch: Callable[[torch.optim.Optimizer, int], float],
    validation: LabelledTrees,
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
    others: Parts = MappingProxyType({}),
) -> Iterator[Epoch]:
    """Epochs with steps of Adam, which are compared by the mean contrastive loss; see `train_epochs`."""
    optimizer = torch.optim.Adam(model.to(device).parameters(), lr=config.learning_rate)
    return train_epochs(
        model,
        optimizer,
        config.epochs,
        partial(epoch, optimizer),
        lambda: mean_loss(model, validation, device),
        device,
        folder,
        training,
        after,
        others,
    )


def take_step(
    model: CandidateNetwork,
    optimizer: torch.optim.Optimizer,
    config: TreeTraining,
    step: int,
    parts: Iterable[tuple[Tensor, Tensor]],
) -> float:
    """One step, the first having the number 0, and the sum of the losses that it lowers.

    `parts` has the losses of some trees each, computed when it is asked for, and those of their depths; their gradients
    add up, so that memory stays that of one part.
    """
    for group in optimizer.param_groups:
        group["lr"] = config.rate(step)
    optimizer.zero_grad()
    total = 0.0
    for losses, ordered in parts:
        loss: Tensor = (losses + config.depth_weight * ordered).sum() / config.batch
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(losses.detach().sum())
    nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimizer.step()
    return total


def contrastive_losses(scores: Tensor, right: Tensor, trees: Tensor, count: int) -> Tensor:
    """-log of the share of the right candidates in the softmax over their tree, of each of `count` trees [count].

    `scores` [c], `right` [c] and `trees` [c], the tree of each candidate; each tree has a right one.
    """
    return _log_sums(scores, trees, count) - _log_sums(scores[right], trees[right], count)


def _log_sums(scores: Tensor, trees: Tensor, count: int) -> Tensor:
    """The logarithm of the sum of exp(score) over each tree's candidates [count]."""
    most = scores.detach().new_full((count,), -math.inf).scatter_reduce(0, trees, scores.detach(), "amax")
    sums = scores.new_zeros(count).index_add(0, trees, (scores - most[trees]).exp())
    return sums.log() + most


@torch.inference_mode()
def mean_loss(model: CandidateNetwork, labelled: LabelledTrees, device: Device) -> float:
    """The mean contrastive loss, by weight."""
    losses = [
        contrastive_losses(scores, right, trees, len(part)).cpu().numpy()
        for part in looking(labelled.trees.parts(PART[device]))
        for scores, _, right, trees, _ in [_forward(model, labelled, part, device)]
    ]
    return float(labelled.weights @ np.concatenate(losses) / labelled.weights.sum())


def _forward(
    model: CandidateNetwork, labelled: LabelledTrees, part: NDArray[np.int64], device: Device
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Scores of candidates and of depths, which candidates are right, and the trees of candidates and of depths."""
    graphs = model.marked(*labelled.trees.select(part).joined())
    scores, depths = model(graphs)
    right = torch.as_tensor(labelled.right_of(part), device=device)
    return scores, depths, right, graphs.candidate_trees, graphs.depth_trees


def _train_epoch(
    model: CandidateNetwork,
    optimizer: torch.optim.Optimizer,
    config: TreeTraining,
    train: LabelledTrees,
    rng: np.random.Generator,
    device: Device,
    number: int,
) -> float:
    """The steps of an epoch; the mean loss met on the way."""
    shares = train.weights / train.weights.sum()

    def losses(drawn: NDArray[np.int64]) -> Iterator[tuple[Tensor, Tensor]]:
        for part in train.trees.select(drawn).parts(PART[device]):
            scores, depths, right, trees, depth_trees = _forward(model, train, drawn[part], device)
            ordered = depth_ranking_loss(depths, depth_trees, len(part))
            yield contrastive_losses(scores, right, trees, len(part)), ordered

    total = 0.0
    for step in range((number - 1) * config.steps, number * config.steps):
        drawn = rng.choice(len(shares), config.batch, p=shares)
        total += take_step(model, optimizer, config, step, losses(drawn))
    return total / (config.steps * config.batch)
