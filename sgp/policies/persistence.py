"""What keeps a policy from wandering: after many decisions without progress, only what is new counts, or noise helps.

Where nothing that training saw tells candidates apart, a policy can shuffle objects through exponentially many states
without repeating one. Each atom can be new once, so that asking for one ends this after as many decisions as there are
atoms (novelty of width 1, by the number of open goals: Lipovetzky and Geffner 2017, here along a rollout). Random
choices leave plateaus, too (Nakhost and Mueller 2009): by Gumbel noise on the costs, as in `sgp.planning.restarts`,
candidates are drawn by their softmax until there is progress.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.policy import Node
from sgp.planning.task import Successor, missing_goal_atoms

STALE = 1000.0  # what a candidate without a new atom costs more: more than any path that has one


class Progress(NamedTuple):
    """How far a path has come: the fewest open goals, the decisions since, and the atoms that held once it stalled."""

    fewest: int
    since: int = 0
    held: frozenset[int] = frozenset()


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
    return Progress(before.fewest, since, held)


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


def noise(progress: Progress, node: Node, escape: int, seed: int, count: int) -> NDArray[np.float64]:
    """What is added to the costs of so many candidates [n]: after `escape` decisions without progress Gumbel noise.

    The same each time for a seed and a path's length. With an `escape` of 0 there is none.
    """
    if not 0 < escape < progress.since:
        return np.zeros(count)
    return -np.random.default_rng((seed, node.length)).gumbel(size=count)
