"""Restarts: after a rollout that failed, others by the same policy with noise on its costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from sgp.errors import ConfigurationError
from sgp.memory import fair_share
from sgp.planning.planner import NO_LIMIT, Limit, Planner
from sgp.planning.policy import Node, Policy, Ranking, Rules
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.task import Successor, Task
from sgp.workers import at_work

TEMPERATURES = (0.5, 1.0)  # in turn


@dataclass(frozen=True)
class Noisy:
    """A policy with Gumbel noise on its costs, the same each time for a seed and a path's length.

    The cheapest of several candidates is drawn with probability exp(-cost / temperature), normalised (Gumbel 1954).
    """

    policy: Policy
    temperature: float
    seed: tuple[int, ...]

    @property
    def rules(self) -> Rules:
        """Those of the policy; noise does not add up, so that one node is kept."""
        return replace(self.policy.rules, additive=False)

    def refuses(self, task: Task) -> str | None:
        """What the policy says."""
        return self.policy.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """The policy's rankings with noise; what it rejects stays rejected."""
        found = []
        for node, ranking in zip(nodes, self.policy.rank(nodes, choices), strict=True):
            noise = np.random.default_rng((*self.seed, node.length)).gumbel(size=len(ranking.costs))
            found.append(replace(ranking, costs=ranking.costs - self.temperature * noise))
        return found


@dataclass(frozen=True)
class Restarting(Planner):
    """A planner that tries again, `restarts` times at most, where a rollout reached the horizon or a dead end.

    Further rollouts keep one node and draw it. All of them together have the seconds, the decisions and the memory of
    one limit. A problem that none solves has the first rollout. `resume` goes on once, without restarts. Raises
    ConfigurationError for a number or a seed below 0.
    """

    restarts: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("restarts", "seed"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected at least 0")

    @classmethod
    def of(cls, planner: Planner, restarts: int, seed: int) -> Restarting:
        """The same planner with restarts."""
        own = {each.name: getattr(planner, each.name) for each in fields(Planner)}
        return cls(**own, restarts=restarts, seed=seed)

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Each task's place and rollout as it ends; those that failed are tried again one after the other."""
        limit = replace(limit, memory=limit.memory or fair_share(at_work()))  # not a share of what is left each time
        for place, first in super().solve_each(tasks, limit):
            yield place, first if first.solved else self._again(first, limit)

    def _again(self, first: Rollout, limit: Limit) -> Rollout:
        rollout, seconds, decisions = first, first.seconds, len(first.steps) + 1
        for attempt in range(self.restarts):
            if rollout.outcome in (Outcome.TIMEOUT, Outcome.MEMORY) or not rollout.steps:
                break  # nothing is left to try with, or the policy refuses the problem
            left = _left(limit, seconds, decisions)
            if left is None:
                break
            policy = Noisy(self.policy, TEMPERATURES[attempt % len(TEMPERATURES)], (self.seed, attempt))
            (rollout,) = Planner(policy, self.successors, revisits=self.revisits).solve_many([first.task], left)
            seconds, decisions = seconds + rollout.seconds, decisions + len(rollout.steps) + 1  # that found nothing
            if rollout.solved:
                return replace(rollout, seconds=seconds, reason=f"solved by restart {attempt + 1}")
        return replace(first, seconds=seconds)


def _left(limit: Limit, seconds: float, decisions: int) -> Limit | None:
    """What is left of a limit after so many seconds and decisions; None where nothing is."""
    if seconds >= (limit.seconds or math.inf) or decisions >= (limit.decisions or math.inf):
        return None
    return replace(
        limit,
        seconds=limit.seconds and limit.seconds - seconds,
        decisions=limit.decisions and limit.decisions - decisions,
    )
