"""The policy that takes the most probable of the applicable actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.trees import LookaheadEncoder, Trees, concatenate_trees
from sgp.models.device import Device
from sgp.models.nameless import NamelessModel
from sgp.planning.clock import looking
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules, Successors
from sgp.planning.task import Successor, Task
from sgp.policies.tree_scores import tree_scores

ALIKE = 1e-4  # scores of symmetric actions differ by rounding: far less than this, and others by far more


@dataclass(frozen=True, eq=False)
class ActionProbabilities:
    """Costs a candidate by -log of its action's probability, so that a path costs what its plan does.

    Actions that the network cannot tell apart, as those that differ in interchangeable objects, have one key and cost
    the same.
    """

    encoder: LookaheadEncoder
    model: NamelessModel
    device: Device
    rules: Rules = ADD_UP

    def refuses(self, task: Task) -> str | None:
        """What the encoder says."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node. Where objects are given what is drawn, it is drawn for each problem by its text."""
        trees = [
            self.encoder.encode(node.task, node.state, choice)
            for node, choice in zip(looking(nodes), choices, strict=True)
        ]
        return [_ranking(place, each) for place, each in enumerate(self._scores(nodes, trees))]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """The costs [n] of the initial state's candidates, by which a run is verified."""
        nodes, choice = [Node(task, task.init)], successors(task, task.init)
        (scores,) = self._scores(nodes, [self.encoder.encode(task, task.init, choice)])
        return {"costs": _costs(scores)}

    def _scores(self, nodes: Sequence[Node], trees: Sequence[Trees]) -> list[NDArray[np.float32]]:
        """The scores of the candidates of each node; where something is drawn for objects, one node at a time."""
        if not self.model.shape.drawn:
            return tree_scores(self.model, concatenate_trees(trees), self.device)
        found = []
        for node, tree in zip(nodes, trees, strict=True):
            self.model.drawing.manual_seed(int(node.task.problem.sha256[:15], 16))
            found += tree_scores(self.model, tree, self.device)
        return found


def _costs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """-log of the probability of each candidate [n]."""
    exact = scores.astype(np.float64)
    return np.asarray(np.logaddexp.reduce(exact) - exact)


def _ranking(node: int, scores: NDArray[np.float32]) -> Ranking:
    """The ranking of the candidates of one node by their scores [n]; alike are those as cheap as a group's cheapest."""
    costs = _costs(scores)
    alike, cheapest = np.empty(len(costs), np.int64), list[float]()
    for place in np.argsort(costs, kind="stable").tolist():
        if not cheapest or costs[place] > cheapest[-1] + ALIKE:
            cheapest.append(float(costs[place]))
        alike[place] = len(cheapest) - 1
    return Ranking(np.array(cheapest)[alike], keys=[(node, each) for each in alike.tolist()])
