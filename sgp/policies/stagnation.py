"""Stagnation handling: after many decisions without progress only novel states count, or candidates are sampled.

A policy whose features tell no candidates apart can move objects through exponentially many states without repeating
one. Each atom can be new once, so that asking for a new atom ends this after as many decisions as there are atoms
(novelty of width 1, by the number of open goals: Lipovetzky and Geffner 2017, here along a rollout). Random choices
leave plateaus, too (Nakhost and Mueller 2009): candidates are drawn by their softmax until there is progress, as in
restarts by Gumbel noise on the costs. Only decisions that could not take the cheapest candidate count, as where its
state was visited before. Now and then each action schema has the same chance (type-based exploration: Xie et al. 2014),
because the right candidate may be one of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.candidates import Candidates
from sgp.planning.policy import Node
from sgp.planning.rollout import tie_margin
from sgp.planning.task import Successor, missing_goal_atoms

SCHEMA_DRAW_PERIOD = 4  # of so many draws one draws the action schema first
STAGNATION_COST = 1000.0  # what a candidate without a new atom costs more: more than any path that has one


class Progress(NamedTuple):
    """A path's fewest open goals, the decisions since, and the atoms that held since it was stagnant.

    `denied` of these decisions did not take the candidate that costs least, because its state was visited, say.
    """

    fewest: int
    since: int = 0
    held: frozenset[int] = frozenset()
    denied: int = 0


def update_progress(node: Node, patience: int) -> Progress:
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


def progress_of_candidates(progress: Progress, costs: NDArray[np.float64], tie: float) -> list[Progress]:
    """The progress of the path to each candidate [n]: whether the decision took a cheapest one."""
    if not len(costs):
        return []
    found = [progress._replace(denied=progress.denied + 1)] * len(costs)
    least = float(costs.min())
    for place in np.flatnonzero(costs <= least + tie_margin(least, tie)).tolist():
        found[place] = progress
    return found


def stagnant_candidates(
    progress: Progress, node: Node, choice: Sequence[Successor]
) -> tuple[Progress, NDArray[np.bool_]]:
    """Which candidates [n] of a stalled path have no atom that did not hold since, and no fewer open goals than ever.

    Where all are stagnant, none is, and the atoms that held start anew.
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


def sample_with_gumbel(
    costs: NDArray[np.float64], progress: Progress, node: Node, choice: Sequence[Successor], escape: int, seed: int
) -> NDArray[np.float64]:
    """The costs [n], finite ones, by which a candidate is drawn by the softmax of their negatives.

    This begins after more than `escape` decisions without progress that could not take the cheapest candidate; every
    `SCHEMA_DRAW_PERIOD`-th draw gives each schema the same probability. Before, and with an `escape` of 0, the costs
    stay as they are. The draws depend on the seed and the path's length alone.
    """
    if not 0 < escape < progress.denied:
        return costs
    noise = np.random.default_rng((seed, node.length)).gumbel(size=len(choice))
    if progress.since % SCHEMA_DRAW_PERIOD == 0:
        costs = _equal_schemas(costs, Candidates.of(node.task, node.state, choice))
    return np.asarray(costs - noise)


def _equal_schemas(costs: NDArray[np.float64], choice: Candidates) -> NDArray[np.float64]:
    """The costs [n] that make the schemas of the last actions equally probable, and leave each one's candidates."""
    even = costs.copy()
    named = np.array(choice.schemas)
    for schema in np.unique(named):
        alike = named == schema
        even[alike] += np.logaddexp.reduce(-costs[alike])
    return even
