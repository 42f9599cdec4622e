"""The policy that takes the candidate whose transition is nearest to a learned change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.marked_transition import Embedded, Measured
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.rollout import Step
from sgp.planning.task import State, Successor, Task, missing_goal_atoms
from sgp.planning.views import Contrast, Vector, View
from sgp.policies.persistence import STALE, drawn, followed, remembered, stale


class TransitionEncoder(Protocol):
    """Embeds transitions from a state to its candidates."""

    def refuses(self, task: Task) -> str | None:
        """Why the task has no embedding, or None where it has one."""

    @property
    def dimension(self) -> int:
        """D."""

    def embed(self, task: Task, state: State, choice: Sequence[Successor]) -> Embedded:
        """The transitions' embeddings."""
        ...

    def measure(self, task: Task, state: State, choice: Sequence[Successor], weights: NDArray[np.float64]) -> Measured:
        """What decoding asks of the embeddings, without keeping those of all candidates at once."""
        ...

    def unseen(self, task: Task, state: State, choice: Sequence[Successor]) -> float:
        """The share of the transitions' features that training never saw."""
        ...

    def in_words(self, task: Task, state: State, choice: Sequence[Successor], columns: Sequence[int]) -> list[str]:
        """What some columns stand for, as the given transitions show it."""
        ...


Encoding = TypeVar("Encoding", bound=TransitionEncoder)


@dataclass(frozen=True, eq=False)
class NearestTransition(Generic[Encoding]):
    """Costs a candidate by the distance of its transition's embedding psi from a learned change w / (2 alpha).

    The cost is alpha (|psi - delta|^2 - |delta|^2) = alpha |psi|^2 - w.psi: the same order, without the large constant
    in which small differences would drown. With two rows of weights the change depends on the state: w = w0 + p w1
    with the share p of the goal's atoms that are true. Where costs add up the cost is the negative logarithm of the
    candidate's share in the softmax over its siblings, which adds up along a path. Candidates of equal embedding have
    equal keys. With `patience` a path that stalled takes what is new, whatever the embedding says, and with `escape` it
    draws by this `seed` until there is progress (`persistence`).
    """

    encoder: Encoding
    weights: NDArray[np.float64]  # [1 or 2, D]
    alpha: float
    rules: Rules = REPLACE
    patience: int = 0  # decisions for each object without progress; 0: any number
    escape: int = 0  # decisions without progress that were denied what costs least; 0: any number
    seed: int = 0
    embeds: Literal["transitions"] = "transitions"

    def refuses(self, task: Task) -> str | None:
        """What the encoder says."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node."""
        rankings = []
        for node, choice in zip(nodes, choices, strict=True):
            weights = self._weights(node)
            measured = self.encoder.measure(node.task, node.state, choice, weights)
            costs = self.alpha * measured.squared_norms - measured.products
            squared = float(weights @ weights) / (2 * self.alpha) ** 2  # |delta|^2
            distances = np.sqrt(np.maximum(costs / self.alpha + squared, 0.0))
            if self.rules.additive and len(costs):
                least = costs.min()  # scipy's logsumexp takes as long as the embedding, for rows as short as these
                costs = costs - least + np.log(np.exp(least - costs).sum())
            memories = None
            if self.patience or self.escape:
                progress, without_news = stale(followed(node, self.patience), node, choice)
                costs = costs + STALE * without_news
                memories = remembered(progress, costs, self.rules.tie)
                costs = drawn(costs, progress, node, choice, self.escape, self.seed)
            rankings.append(Ranking(costs, measured.keys, memories, note={"distance": distances}))
        return rankings

    def _weights(self, node: Node) -> NDArray[np.float64]:
        if len(self.weights) == 1:
            return np.asarray(self.weights[0])
        return np.asarray(self.weights[0] + goal_share(node.task, node.state) * self.weights[1])

    def reweighted(self, columns: Sequence[int], factor: float) -> Self:
        """The same with the weights of some columns, in all rows, times a factor."""
        weights = self.weights.copy()
        weights[:, columns] *= factor
        return replace(self, weights=weights)

    def vectors(self, task: Task, steps: Sequence[Step]) -> Vector:
        """The vectors psi [n, D] of the transitions to all candidates of the steps."""
        return np.vstack([view.candidates for view in self.views(task, steps)])

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """The vectors psi of each step's candidates; the learned change is a direction, no point among them."""
        for step in steps:
            embedded = self.encoder.embed(task, step.state, step.candidates)
            yield View(None, None, embedded.dense(self.encoder.dimension))

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Feature by feature: a feature of value x adds alpha x^2 - w x to the cost."""
        one, two = view.candidates[[first, second]].astype(np.float64)
        weights = self._weights(Node(task, step.state))
        choice = [step.candidates[place] for place in (first, second)]
        return Contrast(
            measure="cost",
            first=one,
            second=two,
            shares=self.alpha * (one**2 - two**2) - weights * (one - two),
            words=lambda columns: self.encoder.in_words(task, step.state, choice, columns),
        )

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.floating[Any]]]:
        """The costs [n] of the initial state's candidates, by which a run is verified."""
        (ranking,) = self.rank([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": ranking.costs}


def goal_share(task: Task, state: State) -> float:
    """The share of the goal's literals that hold."""
    return 1 - len(missing_goal_atoms(task, state)) / max(len(task.goal), 1)
