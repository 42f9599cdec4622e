"""Stagnation handling: after many denied decisions without progress, candidates are sampled.

A policy whose features cannot distinguish candidates can move objects through exponentially many states without
repeating one. Random choices leave such plateaus (Nakhost and Mueller 2009): candidates are sampled by softmax until
there is progress, implemented as Gumbel noise on the costs, as in restarts. Only denied decisions count: those that
could not take the cheapest candidate, for example because its state was visited. Periodically each action schema has
the same probability (type-based exploration: Xie et al. 2014), because the correct candidate may be one of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.policy import Node
from sgp.planning.rollout import tie_margin
from sgp.planning.task import Candidates, Successor, missing_goal_atoms

SCHEMA_DRAW_PERIOD = 4  # one of so many draws samples the action schema first


class Progress(NamedTuple):
    """A path's minimum number of open goals, and the decisions since then.

    `denied` counts the decisions that could not take the cheapest candidate, for example because its state was visited.
    """

    fewest: int
    since: int = 0
    denied: int = 0


def update_progress(node: Node) -> Progress:
    """Return the progress of the path to a node; `node.memory` is the previous node's progress, None at the start."""
    missing = len(missing_goal_atoms(node.task, node.state))
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
    """Return the costs [n] with Gumbel noise, so that the minimum is a sample from the softmax of the negative costs.

    Sampling begins after more than `noise_after` denied decisions without progress; otherwise, and with `noise_after`
    0, the costs do not change. Every `SCHEMA_DRAW_PERIOD`-th draw gives each schema the same probability. Costs must be
    finite. The draws depend only on the seed and the path's length.
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
