"""What keeps a policy from wandering: after many decisions without progress, only what is new counts, or noise helps.

Where nothing that training saw tells candidates apart, a policy can shuffle objects through exponentially many states
without repeating one. Each atom can be new once, so that asking for one ends this after as many decisions as there are
atoms (novelty of width 1, by the number of open goals: Lipovetzky and Geffner 2017, here along a rollout). Random
choices leave plateaus, too (Nakhost and Mueller 2009): candidates are drawn by their softmax until there is progress,
as in `sgp.planning.restarts` by Gumbel noise on the costs. A policy that gets what it wants is left alone, however long
its way (the draws of a restart are denials, too); one that is denied it again and again, because it was there before,
goes in circles. Now and then each action schema has the same chance (type-based exploration: Xie et al. 2014), because
what a policy wrongly shuns may be one candidate of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.candidates import schemas
from sgp.planning.policy import Node
from sgp.planning.rollout import tie_margin
from sgp.planning.task import Successor, missing_goal_atoms

EVEN = 4  # of so many draws one is among the schemas first
STALE = 1000.0  # what a candidate without a new atom costs more: more than any path that has one


class Progress(NamedTuple):
    """How far a path has come: the fewest open goals, the decisions since, and the atoms that held once it stalled.

    `denied` of these decisions did not take the candidate that costs least, because its state was visited, say.
    """

    fewest: int
    since: int = 0
    held: frozenset[int] = frozenset()
    denied: int = 0


def followed(node: Node, patience: int) -> Progress:
    """The progress of the path to a node; `node.memory` is that of the node before, None at the start.

    A path has stalled after more than `patience` decisions for each object of the task without fewer open goals; with
    a patience of 0 never.
    """
    missing = len(missing_goal_atoms(node.task, node.state))
    before = node.memory
    if before is None or missing < before.fewest:
        return Progress(missing)
    since = before.since + 1
    stalled = patience > 0 and since > patience * node.task.size
    held = before.held.union(node.task.fluents(node.state)) if stalled else before.held
    return Progress(before.fewest, since, held, before.denied)


def remembered(progress: Progress, costs: NDArray[np.float64], tie: float) -> list[Progress]:
    """What the path to each candidate [n] remembers: whether the decision took what costs least."""
    if not len(costs):
        return []
    found = [progress._replace(denied=progress.denied + 1)] * len(costs)
    least = float(costs.min())
    for place in np.flatnonzero(costs <= least + tie_margin(least, tie)).tolist():
        found[place] = progress
    return found


def stale(progress: Progress, node: Node, choice: Sequence[Successor]) -> tuple[Progress, NDArray[np.bool_]]:
    """Which candidates [n] of a stalled path have no atom that did not hold since, and no fewer open goals than ever.

    Where all are, none is, and what held is forgotten.
    """
    if not progress.held:
        return progress, np.zeros(len(choice), np.bool_)
    task = node.task
    found = np.array(
        [
            progress.held.issuperset(task.fluents(each.state))
            and len(missing_goal_atoms(task, each.state)) >= progress.fewest
            for each in choice
        ],
        np.bool_,
    )
    if found.all():
        return progress._replace(held=frozenset(task.fluents(node.state))), np.zeros(len(choice), np.bool_)
    return progress, found


def drawn(
    costs: NDArray[np.float64], progress: Progress, node: Node, choice: Sequence[Successor], escape: int, seed: int
) -> NDArray[np.float64]:
    """The costs [n], finite ones, by which a candidate is drawn by the softmax of their negatives.

    So it is after more than `escape` decisions without progress that were denied what costs least, in every `EVEN`-th
    of them with the same probability for each schema; else `costs` are given back, as with an `escape` of 0. The same
    each time for a seed and a path's length.
    """
    if not 0 < escape < progress.denied:
        return costs
    noise = np.random.default_rng((seed, node.length)).gumbel(size=len(choice))
    return np.asarray((costs if progress.since % EVEN else _evened(costs, choice)) - noise)


def _evened(costs: NDArray[np.float64], choice: Sequence[Successor]) -> NDArray[np.float64]:
    """The costs [n] that make the schemas of the last actions equally probable, and leave each one's candidates."""
    even = costs.copy()
    named = np.array(schemas(choice))
    for schema in np.unique(named):
        alike = named == schema
        even[alike] += np.logaddexp.reduce(-costs[alike])
    return even
