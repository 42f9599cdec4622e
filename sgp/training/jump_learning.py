"""Deep Q-learning over jumps: a network tries, keeps what it met, and learns how many jumps are left (AIW-AD)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import huber_loss

from sgp.encoders.trees import LookaheadEncoder, concatenate_trees
from sgp.errors import ConfigurationError
from sgp.models.candidate_network import CandidateNetwork
from sgp.models.device import Device
from sgp.planning.policy import Successors
from sgp.planning.task import Task
from sgp.policies.tree_scores import PART, TreeScores, tree_scores
from sgp.training.depth_ranking import depth_ranking_loss
from sgp.training.epochs import Epoch
from sgp.training.jumps import Replay, Transition, explored, in_hindsight
from sgp.training.tree_ranking import LabelledTrees, TreeTraining, take_step, train_trees


@dataclass(frozen=True)
class JumpLearning:
    """How jumps are tried and learned from. Defaults: AIW-AD, section 7, for jumps; in brackets, for single actions."""

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


def train_jumps(
    model: CandidateNetwork,
    config: TreeTraining,
    learning: JumpLearning,
    tasks: Sequence[Task],
    successors: Successors,
    encoder: LookaheadEncoder,
    validation: LabelledTrees,
    seed: int,
    device: Device,
    folder: Path,
    training: str,
    after: int = 0,
) -> Iterator[Epoch]:
    """Trains in place by trying, and gives every epoch after the first `after`; see `train_trees`.

    In an epoch the network jumps in some tasks, drawn at random, by its scores and a temperature; each trajectory is
    kept, and one that failed is kept in hindsight, too. Then it takes its steps towards -1 + discount * max Q of where
    a jump leads (Huber loss), Q being that of the epoch's begin: so often the target network is renewed, of which the
    paper says nothing. Raises ConfigurationError where no jump could be tried.
    """
    replay = Replay(tasks, successors, encoder, learning.replay)

    def epoch(optimizer: torch.optim.Optimizer, number: int) -> float:
        rng = np.random.default_rng([seed, number])
        policy = TreeScores(encoder, model.eval(), device)
        places = rng.integers(len(tasks), size=learning.trajectories).tolist()
        temperature = learning.temperature(number, config.epochs)
        for tried in explored(tasks, places, policy, successors, temperature, learning.jumps, rng):
            replay.add(tried)
            if learning.hindsight and not tried.solved:
                again = in_hindsight(tasks[tried.problem], tried, successors, rng)
                if again is not None:
                    replay.add(again)
        return _learn(model.train(), optimizer, config, learning, replay.transitions, rng, device, number)

    return train_trees(model, config, epoch, validation, device, folder, training, after, {"replay": replay})


def targets(
    model: CandidateNetwork, learning: JumpLearning, transitions: Sequence[Transition], device: Device
) -> NDArray[np.float32]:
    """What the scores of the jumps [n] should be: -1 + discount * the value of where they lead."""
    values = np.array([learning.never if each.lost else 0.0 for each in transitions], np.float32)
    going = [place for place, each in enumerate(transitions) if each.after is not None]
    after = [each.after for each in transitions if each.after is not None]
    if after:
        values[going] = [scores.max() for scores in tree_scores(model, concatenate_trees(after), device)]
    # No state is worse than a dead end, and none is better than the goal, whatever an unready network says.
    return np.asarray(-1 + learning.discount * np.clip(values, learning.never, 0.0), np.float32)


def _learn(
    model: CandidateNetwork,
    optimizer: torch.optim.Optimizer,
    config: TreeTraining,
    learning: JumpLearning,
    transitions: Sequence[Transition],
    rng: np.random.Generator,
    device: Device,
    number: int,
) -> float:
    """The steps of an epoch; the mean loss met on the way."""
    if not transitions:
        raise ConfigurationError(
            "no jump of a training problem could be tried; expected problems whose initial state is no goal state and "
            "has successors"
        )
    trees = concatenate_trees([each.tree for each in transitions])
    chosen = np.array([each.chosen for each in transitions])
    wanted = targets(model, learning, transitions, device)

    def losses(drawn: NDArray[np.int64]) -> Iterator[tuple[Tensor, Tensor]]:
        for part in trees.select(drawn).parts(PART[device]):
            some = trees.select(drawn[part])
            graphs = model.marked(*some.joined())
            scores, depths = model(graphs)
            first = np.cumsum(some.candidates) - some.candidates
            taken = scores[torch.as_tensor(first + chosen[drawn[part]], device=device)]
            ordered = depth_ranking_loss(depths, graphs.depth_trees, len(part))
            yield huber_loss(taken, torch.as_tensor(wanted[drawn[part]], device=device), reduction="none"), ordered

    total = 0.0
    for step in range((number - 1) * config.steps, number * config.steps):
        total += take_step(model, optimizer, config, step, losses(rng.integers(len(transitions), size=config.batch)))
    return total / (config.steps * config.batch)
