"""Policy that takes the candidate of highest score in a lookahead tree, which is scored as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.models.device import Device
from sgp.models.networks import CandidateNetwork
from sgp.planning.clock import with_limit_checks
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task

# Relation arguments computed at once: a part fits a core's cache, and a gradient of 30 layers fits 0.4 GB.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Policy that costs a candidate by -Q, the expected number of remaining jumps (AIW-AD, section 7)."""

    encoder: LookaheadEncoder
    model: CandidateNetwork
    device: Device
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; trees are scored in parts of bounded memory."""
        trees = [
            self.encoder.encode(node.task, node.state, choice)
            for node, choice in zip(with_limit_checks(nodes), choices, strict=True)
        ]
        scores = tree_scores(self.model, concatenate_trees(trees), self.device)
        return [Ranking(-each.astype(np.float64)) for each in scores]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, used to verify a run."""
        (ranking,) = self.rank([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": ranking.costs}


def tree_scores(model: CandidateNetwork, trees: Trees, device: Device) -> list[NDArray[np.float32]]:
    """Return the scores [c] of each tree's candidates."""
    parts = [
        model.scores(model.graphs(*trees.select(part).joined()))
        for part in with_limit_checks(trees.parts(PART[device]))
    ]
    return np.split(np.concatenate(parts), np.cumsum(trees.candidates)[:-1])
