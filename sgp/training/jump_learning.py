"""Deep Q-learning over jumps with a replay buffer: a network learns the number of remaining jumps (AIW-AD)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import huber_loss

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.errors import ConfigurationError, check_fields
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
    """Collection of episodes and Q-learning. Defaults: AIW-AD, section 7, for jumps; in brackets: for actions."""

    discount: float = 0.999
    trajectories: int = 4  # per epoch, which the paper calls an episode
    jumps: int = 20  # maximum length of a trajectory (200)
    replay: int = 100  # transitions stored (1000); the paper leaves the unit open, inferred from the ratio to `jumps`
    hot: float = 1.0  # temperature of the first epoch
    cold: float = 0.1  # of the last epoch, after linear decay; the paper decays over 1000 episodes
    hindsight: bool = True  # relabel failed trajectories

    def __post_init__(self) -> None:
        check_fields(self, "learning's", ["hot", "cold", "discount"], trajectories=1, jumps=1, replay=1)
        if self.discount >= 1:
            raise ConfigurationError(f"learning's discount is {self.discount}; expected a number between 0 and 1")

    @property
    def never(self) -> float:
        """The value of a dead end: -1 per jump for ever; the paper does not define it."""
        return -1 / (1 - self.discount)

    def temperature(self, epoch: int, epochs: int) -> float:
        """Return the temperature of an epoch, counted from 1."""
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
    """Train by deep Q-learning; see `fit_trees`.

    In each epoch the network acts in randomly drawn tasks, sampling by its scores and a temperature. The episodes enter
    the replay buffer; failed episodes are also added with a hindsight goal. Then the network takes its steps toward the
    targets -1 + discount * max Q of the state that a jump leads to (Huber loss). Q is the network at the start of the
    epoch: the target network is renewed once per epoch, which the paper does not specify. Raises ConfigurationError
    where no training problem allows a jump.
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
                "no jump of a training problem was evaluated; expected problems whose initial state is no goal state "
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
    """Trees [n], the chosen candidate of each, and the target of its score."""

    trees: Trees
    chosen: NDArray[np.int64]
    targets: NDArray[np.float32]


def targets(
    model: CandidateNetwork, learning: JumpLearning, transitions: Sequence[Transition], device: Device
) -> NDArray[np.float32]:
    """Return the targets of the jumps' scores [n]: -1 + discount * the value of the next state."""
    values = np.array([learning.never if each.dead_end else 0.0 for each in transitions], np.float32)
    open_ends = [place for place, each in enumerate(transitions) if each.after is not None]
    after = [each.after for each in transitions if each.after is not None]
    if after:
        values[open_ends] = [scores.max() for scores in tree_scores(model, concatenate_trees(after), device)]
    # Clip to the value of a dead end (lowest) and of a goal (highest), whatever the network predicts.
    return np.asarray(-1 + learning.discount * np.clip(values, learning.never, 0.0), np.float32)
