"""Policy that takes the most probable applicable action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.models.device import Device
from sgp.models.nameless import NamelessModel
from sgp.planning.clock import with_limit_checks
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task
from sgp.policies.tree_scores import tree_scores

ALIKE = 1e-4  # tolerance of equal scores: symmetric actions differ by far less (rounding), others by far more


@dataclass(frozen=True, eq=False)
class ActionProbabilities:
    """Policy with costs -log of action probabilities, so that a path's cost is -log of its plan's probability.

    Actions that the network cannot distinguish (for example, that differ in interchangeable objects) share key and
    cost.
    """

    encoder: LookaheadEncoder
    model: NamelessModel
    device: Device
    rules: Rules = ADD_UP

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; random object vectors are seeded by the problem's text."""
        trees = [
            self.encoder.encode(node.task, node.state, choice)
            for node, choice in zip(with_limit_checks(nodes), choices, strict=True)
        ]
        return [_ranking(place, each) for place, each in enumerate(self._scores(nodes, trees))]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, used to verify a run."""
        nodes, choice = [Node(task, task.init)], successors(task, task.init)
        (scores,) = self._scores(nodes, [self.encoder.encode(task, task.init, choice)])
        return {"costs": _costs(scores)}

    def _scores(self, nodes: Sequence[Node], trees: Sequence[Trees]) -> list[NDArray[np.float32]]:
        """Return the candidates' scores of each node; with random object vectors one node at a time."""
        if not self.model.shape.drawn:
            return tree_scores(self.model, concatenate_trees(trees), self.device)
        found = []
        for node, tree in zip(nodes, trees, strict=True):
            self.model.drawing.manual_seed(int(node.task.problem.sha256[:15], 16))
            found += tree_scores(self.model, tree, self.device)
        return found


def _costs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return -log of the probability of each candidate [n]."""
    exact = scores.astype(np.float64)
    return np.asarray(np.logaddexp.reduce(exact) - exact)


def _ranking(node: int, scores: NDArray[np.float32]) -> Ranking:
    """Rank one node's candidates by scores [n]; costs within `ALIKE` of a group's cheapest become equal."""
    costs = _costs(scores)
    alike, cheapest = np.empty(len(costs), np.int64), list[float]()
    for place in np.argsort(costs, kind="stable").tolist():
        if not cheapest or costs[place] > cheapest[-1] + ALIKE:
            cheapest.append(float(costs[place]))
        alike[place] = len(cheapest) - 1
    return Ranking(np.array(cheapest)[alike], keys=[(node, each) for each in alike.tolist()])
