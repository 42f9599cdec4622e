"""Policies that score a state's candidates as a whole: by a lookahead tree, or by probabilities of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.models.device import Device
from sgp.models.nameless import NamelessModel
from sgp.models.networks import CandidateNetwork
from sgp.planning.clock import with_limit_checks
from sgp.planning.policy import ADD_UP, REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task

# Relation arguments computed at once: a part fits a core's cache, and a gradient of 30 layers fits 0.4 GB.
PART: Mapping[Device, int] = {"cpu": 8_192, "cuda": 262_144}
TOLERANCE = 1e-4  # of equal scores: symmetric actions differ by far less (rounding), others by far more


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


@dataclass(frozen=True, eq=False)
class ActionProbabilities(TreeScores):
    """Policy with costs -log of action probabilities, so that a path's cost is -log of its plan's probability.

    Actions that the network cannot distinguish (for example, that differ in interchangeable objects) share key and
    cost.
    """

    model: NamelessModel
    rules: Rules = ADD_UP

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node."""
        return [probability_ranking(place, scores) for place, scores in enumerate(self.scores(nodes, choices))]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, before similar costs become equal."""
        (scores,) = self.scores([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": _probability_costs(scores)}

    def scores(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[NDArray[np.float32]]:
        """Return the candidates' scores of each node; random object vectors are seeded by the problem's text."""
        if not self.model.shape.drawn:
            return super().scores(nodes, choices)
        scores = list[NDArray[np.float32]]()
        for node, tree in zip(nodes, self._trees(nodes, choices), strict=True):
            self.model.drawing.manual_seed(int(node.task.problem.sha256[:15], 16))
            scores += tree_scores(self.model, tree, self.device)
        return scores


def probability_ranking(node: int, scores: NDArray[np.float32]) -> Ranking:
    """Rank one node's candidates by scores [n]; costs within `TOLERANCE` of a group's cheapest become equal."""
    costs = _probability_costs(scores)
    groups, cheapest = np.empty(len(costs), np.int64), list[float]()
    for place in np.argsort(costs, kind="stable").tolist():
        if not cheapest or costs[place] > cheapest[-1] + TOLERANCE:
            cheapest.append(float(costs[place]))
        groups[place] = len(cheapest) - 1
    return Ranking(np.array(cheapest)[groups], keys=[(node, group) for group in groups.tolist()])


def _probability_costs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return -log of the probability of each candidate [n]."""
    exact = scores.astype(np.float64)
    return np.asarray(np.logaddexp.reduce(exact) - exact)


def tree_scores(model: CandidateNetwork, trees: Trees, device: Device) -> list[NDArray[np.float32]]:
    """Return the scores [c] of each tree's candidates."""
    parts = [
        model.scores(model.graphs(*trees.select(part).joined()))
        for part in with_limit_checks(trees.parts(PART[device]))
    ]
    return np.split(np.concatenate(parts), np.cumsum(trees.candidates)[:-1])
