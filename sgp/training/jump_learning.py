"""Deep Q-learning over jumps: episodes into a replay buffer, and how many jumps are left learned from it (AIW-AD)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import huber_loss

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.errors import ConfigurationError
from sgp.models.device import Device
from sgp.models.networks import CandidateNetwork
from sgp.planning.policy import Successors
from sgp.planning.task import Task
from sgp.policies.tree_scores import PART, TreeScores, tree_scores
from sgp.training.episodes import ReplayBuffer, Transition, collect_episodes, relabel_with_hindsight_goal
from sgp.training.fit import Epoch, FitContext
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, depth_ranking_loss, fit_trees


@dataclass(frozen=True)
class JumpLearning:
    """How episodes are collected and learned from. Defaults: AIW-AD, section 7, for jumps; in brackets: for actions."""

    discount: float = 0.999
    trajectories: int = 4  # an epoch, which the paper calls an episode
    jumps: int = 20  # most of a trajectory (200)
    replay: int = 100  # transitions kept (1000); what it counts the paper leaves open, the ratio to `jumps` says this
    hot: float = 1.0  # temperature of the first epoch
    cold: float = 0.1  # of the last, after falling evenly; theirs falls over 1000 episodes
    hindsight: bool = True  # of trajectories that failed

    def __post_init__(self) -> None:
        for name in ("trajectories", "jumps", "replay"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"learning's {name} is {getattr(self, name)}; expected at least 1")
        for name in ("hot", "cold"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigurationError(f"learning's {name} is {getattr(self, name)}; expected above 0")
        if not 0 < self.discount < 1:
            raise ConfigurationError(f"learning's discount is {self.discount}; expected a number between 0 and 1")

    @property
    def never(self) -> float:
        """The value of a dead end: -1 a jump for ever. The paper leaves it open."""
        return -1 / (1 - self.discount)

    def temperature(self, epoch: int, epochs: int) -> float:
        """The temperature of an epoch, counted from 1."""
        return self.hot + (epoch - 1) / max(epochs - 1, 1) * (self.cold - self.hot)


def fit_q(
    model: CandidateNetwork,
    config: TreeTraining,
    learning: JumpLearning,
    tasks: Sequence[Task],
    successors: Successors,
    encoder: LookaheadEncoder,
    validation: LabelledTrees,
    context: FitContext,
) -> Iterator[Epoch]:
    """Trains by deep Q-learning; see `fit_trees`.

    In an epoch the network acts in some tasks, drawn at random, by its scores and a temperature; episodes go into the
    replay buffer, failed ones with a hindsight goal, too. Then it takes its steps towards -1 + discount * max Q of
    where a jump leads (Huber loss), Q being that of the epoch's begin: so often the target network is renewed, on
    which the paper says nothing. Raises ConfigurationError where no jump could be tried.
    """
    buffer, device = ReplayBuffer(tasks, successors, encoder, learning.replay), context.device

    def batches(epoch: int) -> Iterator[_Batch]:
        rng = np.random.default_rng([context.seed, epoch])
        policy = TreeScores(encoder, model.eval(), device)
        places = rng.integers(len(tasks), size=learning.trajectories).tolist()
        temperature = learning.temperature(epoch, config.epochs)
        for episode in collect_episodes(tasks, places, policy, successors, temperature, learning.jumps, rng):
            buffer.add(episode)
            if learning.hindsight and not episode.solved:
                relabelled = relabel_with_hindsight_goal(tasks[episode.problem], episode, successors, rng)
                if relabelled is not None:
                    buffer.add(relabelled)
        transitions = buffer.transitions
        if not transitions:
            raise ConfigurationError(
                "no jump of a training problem could be tried; expected problems whose initial state is no goal state "
                "and has successors"
            )
        trees = concatenate_trees([each.tree for each in transitions])
        chosen = np.array([each.chosen for each in transitions])
        q_values = targets(model, learning, transitions, device)
        model.train()
        for _ in range(config.steps):
            drawn = rng.integers(len(transitions), size=config.batch)
            yield _Batch(trees.select(drawn), chosen[drawn], q_values[drawn])

    def losses(batch: _Batch) -> Iterator[tuple[Tensor, Tensor]]:
        for part in batch.trees.parts(PART[device]):
            trees = batch.trees.select(part)
            graphs = model.graphs(*trees.joined())
            scores, depths = model(graphs)
            first = np.cumsum(trees.candidates) - trees.candidates
            taken = scores[torch.as_tensor(first + batch.chosen[part], device=device)]
            wanted = torch.as_tensor(batch.targets[part], device=device)
            depth_losses = depth_ranking_loss(depths, graphs.depth_trees, len(part))
            yield huber_loss(taken, wanted, reduction="none"), depth_losses

    return fit_trees(model, config, batches, losses, validation, context, {"replay": buffer})


class _Batch(NamedTuple):
    """Trees [n], the candidate that was jumped to in each, and the target of its score."""

    trees: Trees
    chosen: NDArray[np.int64]
    targets: NDArray[np.float32]


def targets(
    model: CandidateNetwork, learning: JumpLearning, transitions: Sequence[Transition], device: Device
) -> NDArray[np.float32]:
    """The targets of the jumps' scores [n]: -1 + discount * the value of where they lead."""
    values = np.array([learning.never if each.dead_end else 0.0 for each in transitions], np.float32)
    open_ends = [place for place, each in enumerate(transitions) if each.after is not None]
    after = [each.after for each in transitions if each.after is not None]
    if after:
        values[open_ends] = [scores.max() for scores in tree_scores(model, concatenate_trees(after), device)]
    # No state is worse than a dead end, and none is better than the goal, whatever the network says.
    return np.asarray(-1 + learning.discount * np.clip(values, learning.never, 0.0), np.float32)
