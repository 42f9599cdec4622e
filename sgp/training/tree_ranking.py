"""Training of a network that scores candidates of lookahead trees, from labels or by `sgp.methods.aiw_ad`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from sgp.encoders.trees import TreeEncoder, Trees, concatenate_trees
from sgp.errors import ConfigurationError, check_fields
from sgp.models.device import Device
from sgp.models.networks import CandidateNetwork
from sgp.planning.clock import with_limit_checks
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task
from sgp.training.fit import Batch, Epoch, FitContext, LossPart, Parts, Schedule, fit
from sgp.training.labels import Labelled

# Relation arguments computed at once: a part fits a core's cache, and a gradient of 30 layers fits 0.4 GB.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Policy that costs a candidate by -Q, the expected number of remaining jumps (AIW-AD, section 7)."""

    encoder: TreeEncoder
    model: CandidateNetwork
    device: Device
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; trees are scored in parts of bounded memory."""
        return [Ranking(-scores.astype(np.float64)) for scores in self.scores(nodes, choices)]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, used to verify a run."""
        (ranking,) = self.rank([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": ranking.costs}

    def scores(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[NDArray[np.float32]]:
        """Return the candidates' scores [n] of each node."""
        return tree_scores(self.model, concatenate_trees(self._trees(nodes, choices)), self.device)

    def _trees(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Trees]:
        return [
            self.encoder.encode(node.task, node.state, choice)
            for node, choice in zip(with_limit_checks(nodes), choices, strict=True)
        ]


def tree_scores(model: CandidateNetwork, trees: Trees, device: Device) -> list[NDArray[np.float32]]:
    """Return the scores [c] of each tree's candidates."""
    parts = [
        model.scores(model.graphs(*trees.select(part).joined()))
        for part in with_limit_checks(trees.parts(PART[device]))
    ]
    return np.split(np.concatenate(parts), np.cumsum(trees.candidates)[:-1])


@dataclass(frozen=True)
class TreeTraining:
    """Hyperparameters of training. Defaults: AIW-AD, section 7, unless a comment states otherwise."""

    epochs: int = 40  # paper: 300; 40 take less than 10 minutes of a core on small problems
    steps: int = 32  # per epoch
    batch: int = 32  # trees per step
    learning_rate: float = 1e-3  # of Adam at the first step
    last_rate: float = 1e-5  # at the last step, after linear decay
    depth_weight: float = 0.1  # of the depth loss, which the paper leaves open
    clip: float = 1.0  # maximum gradient norm, which the paper does not state
    compared: int = 128  # most experts' decisions for the validation loss

    def __post_init__(self) -> None:
        positive = "learning_rate", "last_rate", "clip"
        check_fields(self, "trees'", positive, epochs=1, steps=1, batch=1, compared=1, depth_weight=0)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0 over all epochs."""
        share = step / max(self.epochs * self.steps - 1, 1)
        return self.learning_rate + min(share, 1.0) * (self.last_rate - self.learning_rate)

    @property
    def schedule(self) -> Schedule:
        """The schedule of a training."""
        return Schedule(self.epochs, lambda epoch, batch: self.rate((epoch - 1) * self.steps + batch), self.clip)


@dataclass(frozen=True, eq=False)
class LabelledTrees:
    """Trees [n], the mask of correct candidates [c] over all trees in order, and the trees' weights [n]."""

    trees: Trees
    right: NDArray[np.bool_]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, encoder: TreeEncoder, decisions: Sequence[Labelled], what: str = "") -> LabelledTrees:
        """Encode decisions; raises ConfigurationError, naming their source `what`, where there are none."""
        if not decisions:
            raise ConfigurationError(
                f"no state of {what or 'the problems'} has a right candidate; expected a problem whose initial state "
                "is no goal state"
            )
        return cls(
            concatenate_trees(
                [encoder.encode(each.task, each.state, each.choice) for each in with_limit_checks(decisions)]
            ),
            np.concatenate([each.positive for each in decisions]),
            np.array([each.weight for each in decisions]),
        )

    def right_of(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the mask of correct candidates of selected trees, concatenated."""
        first = np.concatenate([[0], np.cumsum(self.trees.candidates)])
        return np.concatenate([self.right[first[place] : first[place + 1]] for place in places])


def fit_ranking(
    model: CandidateNetwork,
    config: TreeTraining,
    train: LabelledTrees,
    validation: LabelledTrees,
    context: FitContext,
    others: Parts = MappingProxyType({}),
) -> Iterator[Epoch]:
    """Train by the contrastive loss on trees sampled by weight; see `fit_trees`."""
    shares, device = train.weights / train.weights.sum(), context.device

    def batches(epoch: int) -> Iterator[NDArray[np.int64]]:
        rng = np.random.default_rng([context.seed, epoch])
        return (rng.choice(len(shares), config.batch, p=shares) for _ in range(config.steps))

    def losses(batch: NDArray[np.int64]) -> Iterator[tuple[Tensor, Tensor]]:
        for part in train.trees.select(batch).parts(PART[device]):
            scores, depths, right, trees, depth_trees = _forward(model, train, batch[part], device)
            depth_losses = depth_ranking_loss(depths, depth_trees, len(part))
            yield contrastive_losses(scores, right, trees, len(part)), depth_losses

    return fit_trees(model, config, batches, losses, validation, context, others)


def fit_trees(
    model: CandidateNetwork,
    config: TreeTraining,
    batches: Callable[[int], Iterable[Batch]],
    losses: Callable[[Batch], Iterator[tuple[Tensor, Tensor]]],
    validation: LabelledTrees,
    context: FitContext,
    others: Parts = MappingProxyType({}),
) -> Iterator[Epoch]:
    """Train with Adam by the losses [n] and depth losses [n] of the trees of each part of a batch; see `fit`."""

    def parts(batch: Batch) -> Iterator[LossPart]:
        for tree_losses, depth_losses in losses(batch):
            loss = (tree_losses + config.depth_weight * depth_losses).sum() / config.batch
            yield LossPart(loss, tree_losses.detach().sum(), len(tree_losses))

    optimizer = torch.optim.Adam(model.to(context.device).parameters(), lr=config.learning_rate)
    validate = partial(mean_loss, model, validation, context.device)
    return fit(model, optimizer, config.schedule, batches, parts, validate, context, others)


def contrastive_losses(scores: Tensor, right: Tensor, trees: Tensor, count: int) -> Tensor:
    """Return -log softmax share of the correct candidates in each tree [count]; `trees` [c] are their trees."""
    return _log_sums(scores, trees, count) - _log_sums(scores[right], trees[right], count)


def _log_sums(scores: Tensor, trees: Tensor, count: int) -> Tensor:
    """Return the logarithm of the sum of exp(score) over each tree's candidates [count]."""
    most = scores.detach().new_full((count,), -math.inf).scatter_reduce(0, trees, scores.detach(), "amax")
    sums = scores.new_zeros(count).index_add(0, trees, (scores - most[trees]).exp())
    return sums.log() + most


def depth_ranking_loss(scores: Tensor, trees: Tensor, count: int) -> Tensor:
    """Return the loss of the order of depths in each of `count` trees [count] (AIW-AD, section 6, Burges et al. 2005).

    `scores` z [d] are those of depths 1, 2, ... of each tree, `trees` [d] the tree index of each. Each pair k < l has
    the loss log(1 + exp(z_k - z_l)), weighted by 1 / (l - k) over the sum of all weights in the tree. A tree with fewer
    than two depths has the loss 0.
    """
    earlier, later = torch.triu_indices(len(scores), len(scores), 1, device=scores.device)
    together = trees[earlier] == trees[later]
    earlier, later = earlier[together], later[together]
    weights = 1.0 / (later - earlier)
    total = weights.new_zeros(count).index_add(0, trees[earlier], weights)
    shares = weights / total[trees[earlier]]
    losses: Tensor = shares * softplus(scores[earlier] - scores[later])
    return losses.new_zeros(count).index_add(0, trees[earlier], losses)


@torch.inference_mode()
def mean_loss(model: CandidateNetwork, labelled: LabelledTrees, device: Device) -> float:
    """Return the weighted mean contrastive loss."""
    losses = [
        contrastive_losses(scores, right, trees, len(part)).cpu().numpy()
        for part in with_limit_checks(labelled.trees.parts(PART[device]))
        for scores, _, right, trees, _ in [_forward(model, labelled, part, device)]
    ]
    return float(labelled.weights @ np.concatenate(losses) / labelled.weights.sum())


def _forward(
    model: CandidateNetwork, labelled: LabelledTrees, part: NDArray[np.int64], device: Device
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return scores of candidates and depths, the mask of correct candidates, and the tree indices of both."""
    graphs = model.graphs(*labelled.trees.select(part).joined())
    scores, depths = model(graphs)
    right = torch.as_tensor(labelled.right_of(part), device=device)
    return scores, depths, right, graphs.candidate_trees, graphs.depth_trees
