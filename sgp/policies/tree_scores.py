"""The policy that takes the candidate of highest score in a lookahead tree that is seen as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.models.candidate_network import CandidateNetwork
from sgp.models.device import Device
from sgp.planning.clock import looking
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task

# Arguments of tuples that are computed at once: parts stay in a core's cache, and a gradient of 30 layers in 0.4 GB.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Costs a candidate by minus its score Q, the expected number of jumps that are left (AIW-AD, section 7)."""

    encoder: LookaheadEncoder
    model: CandidateNetwork
    device: Device
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """What the encoder says."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node; trees are scored together, so many at a time that memory stays bounded."""
        trees = [
            self.encoder.encode(node.task, node.state, choice)
            for node, choice in zip(looking(nodes), choices, strict=True)
        ]
        scores = tree_scores(self.model, concatenate_trees(trees), self.device)
        return [Ranking(-each.astype(np.float64)) for each in scores]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """The costs [n] of the initial state's candidates, by which a run is verified."""
        (ranking,) = self.rank([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": ranking.costs}


def tree_scores(model: CandidateNetwork, trees: Trees, device: Device) -> list[NDArray[np.float32]]:
    """The scores [c] of each tree's candidates."""
    parts = [model.scores(model.marked(*trees.select(part).joined())) for part in looking(trees.parts(PART[device]))]
    return np.split(np.concatenate(parts), np.cumsum(trees.candidates)[:-1])
