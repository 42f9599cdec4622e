"""Policy that takes the candidate whose transition is nearest to a learned change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.marked_transition import MarkedTransitionEncoder
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, Successors
from sgp.planning.rollout import Step, tie_margin
from sgp.planning.states import State
from sgp.planning.task import Candidates, Successor, Task, count_open_goals
from sgp.policies.embedding import Contrast, Vector, View

SCHEMA_DRAW_PERIOD = 4  # one of so many draws samples the action schema first


class Progress(NamedTuple):
    """A path's minimum number of open goals, and the decisions since then.

    `denied` counts the decisions that could not take the cheapest candidate, for example because its state was visited.
    A policy whose features cannot distinguish candidates can move objects through exponentially many states. After many
    denied decisions candidates are sampled until there is progress (Nakhost and Mueller 2009). Periodically each action
    schema has the same probability (Xie et al. 2014), because the correct candidate may be one of hundreds.
    """

    fewest: int
    since: int = 0
    denied: int = 0


def update_progress(node: Node) -> Progress:
    """Return the progress of the path to a node; `node.memory` is the previous node's progress, None at the start."""
    missing = count_open_goals(node.task, node.state)
    before: Progress | None = node.memory
    if before is None or missing < before.fewest:
        return Progress(missing)
    return before._replace(since=before.since + 1)


def progress_of_candidates(progress: Progress, costs: NDArray[np.float64], tie: float) -> list[Progress]:
    """Return the progress of the path to each candidate [n]; all but the cheapest candidates count as denied."""
    if not len(costs):
        return []
    denied = [progress._replace(denied=progress.denied + 1)] * len(costs)
    least = float(costs.min())
    for place in np.flatnonzero(costs <= least + tie_margin(least, tie)).tolist():
        denied[place] = progress
    return denied


def sample_with_gumbel(
    costs: NDArray[np.float64], progress: Progress, node: Node, choice: Sequence[Successor], noise_after: int, seed: int
) -> NDArray[np.float64]:
    """Return costs [n] with Gumbel noise (the minimum samples the softmax) after `noise_after` denied decisions.

    Every `SCHEMA_DRAW_PERIOD`-th draw gives each schema the same probability. Draws depend on seed and path length.
    """
    if not 0 < noise_after < progress.denied:
        return costs
    noise = np.random.default_rng((seed, node.length)).gumbel(size=len(choice))
    if progress.since % SCHEMA_DRAW_PERIOD == 0:
        costs = _equal_schemas(costs, Candidates.of(node.task, node.state, choice))
    return np.asarray(costs - noise)


def _equal_schemas(costs: NDArray[np.float64], choice: Candidates) -> NDArray[np.float64]:
    """Return costs [n] that make the last actions' schemas equally probable; ratios within a schema do not change."""
    even = costs.copy()
    named = np.array([action.name for action in choice.actions])
    for schema in np.unique(named):
        same = named == schema
        even[same] += np.logaddexp.reduce(-costs[same])
    return even


@dataclass(frozen=True, eq=False)
class NearestTransition:
    """Policy with costs by the distance of a transition's embedding psi from a learned change w / (2 alpha).

    The cost is alpha (|psi - delta|^2 - |delta|^2) = alpha |psi|^2 - w.psi, which has the same order as the distance
    without a large constant in which rounding would hide small differences. With two rows of weights the change depends
    on the state: w = w0 + p w1 with the share p of satisfied goal literals. Where costs add up, the cost is -log of the
    candidate's softmax probability among its siblings. Candidates of equal embedding have equal keys. With
    `noise_after` a path without progress samples its candidates, with `seed`, until there is progress (see
    `Progress`).
    """

    encoder: MarkedTransitionEncoder
    weights: NDArray[np.float64]  # [1 or 2, D]
    alpha: float
    rules: Rules = REPLACE
    noise_after: int = 0  # decisions without progress that were denied the cheapest candidate; 0: no limit
    seed: int = 0
    embeds: Literal["transitions"] = "transitions"

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    @property
    def class_size(self) -> int | None:
        """The size from which classes of interchangeable objects have equal costs; None for no such size."""
        return None if len(self.weights) > 1 else self.encoder.class_size

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node."""
        rankings = []
        for node, choice in zip(nodes, choices, strict=True):
            weights = self._weights(node)
            measured = self.encoder.measure(node.task, node.state, choice, weights)
            costs = self.alpha * measured.squared_norms - measured.products
            squared = float(weights @ weights) / (2 * self.alpha) ** 2  # |delta|^2
            distances = np.sqrt(np.maximum(costs / self.alpha + squared, 0.0))
            if self.rules.additive and len(costs):
                least = costs.min()  # on rows this short scipy's logsumexp takes as long as the embedding
                costs = costs - least + np.log(np.exp(least - costs).sum())
            memories = None
            if self.noise_after:
                progress = update_progress(node)
                memories = progress_of_candidates(progress, costs, self.rules.tie)
                costs = sample_with_gumbel(costs, progress, node, choice, self.noise_after, self.seed)
            rankings.append(Ranking(costs, measured.keys, memories, note={"distance": distances}))
        return rankings

    def _weights(self, node: Node) -> NDArray[np.float64]:
        if len(self.weights) == 1:
            return np.asarray(self.weights[0])
        return np.asarray(self.weights[0] + goal_share(node.task, node.state) * self.weights[1])

    def reweighted(self, columns: Sequence[int], factor: float) -> Self:
        """Return the policy with the weights of some columns, in all rows, multiplied by a factor."""
        weights = self.weights.copy()
        weights[:, columns] *= factor
        return replace(self, weights=weights)

    def vectors(self, task: Task, steps: Sequence[Step]) -> Vector:
        """Return the embeddings psi [n, D] of the transitions to all candidates of the steps."""
        return np.vstack([view.candidates for view in self.views(task, steps)])

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """Yield the embeddings psi of each step's candidates; delta is a direction and gives no predicted point."""
        for step in steps:
            embedded = self.encoder.embed(task, step.state, step.candidates)
            yield View(None, None, embedded.dense(self.encoder.dimension))

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Compare two candidates per feature: a feature of value x adds alpha x^2 - w x to the cost."""
        one, two = view.candidates[[first, second]].astype(np.float64)
        weights = self._weights(Node(task, step.state))
        choice = [step.candidates[place] for place in (first, second)]
        shares = self.alpha * (one**2 - two**2) - weights * (one - two)
        words = partial(self.encoder.in_words, task, step.state, choice)
        return Contrast("cost", one, two, shares, words)

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.floating[Any]]]:
        """Return the costs [n] of the initial state's candidates, used to verify a run."""
        (ranking,) = self.rank([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": ranking.costs}


def goal_share(task: Task, state: State) -> float:
    """Return the share of satisfied goal literals."""
    return 1 - count_open_goals(task, state) / max(len(task.goal), 1)
