"""Stagnation handling: after many decisions without progress only novel states count, or candidates are sampled.

A policy whose features cannot distinguish candidates can move objects through exponentially many states without
repeating one. Each atom can be new only once, so requiring a new atom ends this after at most as many decisions as
there are atoms (novelty of width 1, by the number of open goals: Lipovetzky and Geffner 2017, here along a rollout).
Random choices also leave plateaus (Nakhost and Mueller 2009): candidates are sampled by softmax until there is
progress, implemented as Gumbel noise on the costs, as in restarts. Only denied decisions count: those that could not
take the cheapest candidate, for example because its state was visited. Periodically each action schema has the same
probability (type-based exploration: Xie et al. 2014), because the correct candidate may be one of hundreds.
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

SCHEMA_DRAW_PERIOD = 4  # one of so many draws samples the action schema first
STAGNATION_COST = 1000.0  # extra cost of a candidate without a new atom: more than any path that has one


class Progress(NamedTuple):
    """A path's minimum number of open goals, decisions since then, and atoms true since the path stalled.

    `denied` counts the decisions that could not take the cheapest candidate, for example because its state was visited.
    """

    fewest: int
    since: int = 0
    held: frozenset[int] = frozenset()
    denied: int = 0


def update_progress(node: Node, patience: int) -> Progress:
    """Return the progress of the path to a node; `node.memory` is the previous node's progress, None at the start.

    A path has stalled after more than `patience` decisions per object of the task without fewer open goals. With
    patience 0 it never stalls.
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
    """Return the progress of the path to each candidate [n]; all but the cheapest candidates count as denied."""
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
    """Return the mask [n] of a stalled path's candidates with no new atom and no fewer open goals than its minimum.

    Where all candidates are stagnant, the mask is all False and the record of true atoms restarts.
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
    """Return the costs [n] with Gumbel noise, so that the minimum is a sample from the softmax of the negative costs.

    Sampling begins after more than `escape` denied decisions without progress; otherwise, and with `escape` 0, the
    costs do not change. Every `SCHEMA_DRAW_PERIOD`-th draw gives each schema the same probability. Costs must be
    finite. The draws depend only on the seed and the path's length.
    """
    if not 0 < escape < progress.denied:
        return costs
    noise = np.random.default_rng((seed, node.length)).gumbel(size=len(choice))
    if progress.since % SCHEMA_DRAW_PERIOD == 0:
        costs = _equal_schemas(costs, Candidates.of(node.task, node.state, choice))
    return np.asarray(costs - noise)


def _equal_schemas(costs: NDArray[np.float64], choice: Candidates) -> NDArray[np.float64]:
    """Return costs [n] that make the last actions' schemas equally probable; ratios within a schema do not change."""
    even = costs.copy()
    named = np.array(choice.schemas)
    for schema in np.unique(named):
        alike = named == schema
        even[alike] += np.logaddexp.reduce(-costs[alike])
    return even
