"""Restarts: after a rollout that failed, others by the same policy with noise on its costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Self

import numpy as np

from sgp.errors import ConfigurationError
from sgp.memory import fair_share
from sgp.planning.planner import NO_LIMIT, Limit, Planner, horizon
from sgp.planning.policy import Node, Policy, Ranking, Rules
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.task import Successor, Task
from sgp.workers import at_work

TEMPERATURES = (0.5, 1.0)  # in turn
SHARE = 0.5  # of the seconds and decisions that are left, for a rollout that others come after


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
    """A planner that tries again where a rollout reached a dead end, a horizon, or its share of the limit.

    Without a limit on seconds or decisions it does so `restarts` times at most, each time with the horizon of the
    problem's size. Else the first rollout has half of that limit and no horizon; what it leaves goes to others, each
    with the horizon that is asked for, or that of the problem's size times a term of `luby`'s sequence, which wastes
    little whatever horizon is the right one. Further rollouts keep one node and draw it. All of them together have the
    seconds, the decisions and the memory of one limit.

    A problem that none solves has the first rollout. `resume` goes on once, without restarts. Raises ConfigurationError
    for a number or a seed below 0.
    """

    restarts: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("restarts", "seed"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected at least 0")

    @classmethod
    def of(cls, planner: Planner, restarts: int, seed: int) -> Self:
        """The same planner with restarts."""
        own = {each.name: getattr(planner, each.name) for each in fields(Planner)}
        return cls(**own, restarts=restarts, seed=seed)

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Each task's place and rollout as it ends; those that failed are tried again one after the other."""
        limit = replace(limit, memory=limit.memory or fair_share(at_work()))  # not a share of what is left each time
        for place, first in super().solve_each(tasks, limit):
            yield place, first if first.solved else self._again(first, limit, first.seconds, decided(first))

    def share(self, limit: Limit) -> float:
        """Half, where restarts come after."""
        return SHARE if self.restarts and limit.ends else 1.0

    def _again(self, first: Rollout, limit: Limit, seconds: float, decisions: int) -> Rollout:
        """The next rollout that solves the problem, or `first`, with the seconds of all; so much was spent before."""
        rollout = first
        for attempt in count() if self.restarts and limit.ends else range(self.restarts):
            refused = rollout.outcome is not Outcome.TIMEOUT and not rollout.steps
            if refused or rollout.outcome is Outcome.MEMORY:
                break  # another would end alike
            left = left_of(limit, first.task, seconds, decisions)
            if left is None:
                break
            times = luby(attempt + 1) if limit.ends else 1
            left = replace(left, actions=limit.actions or times * horizon(first.task.size))
            rollout = self._noisy(attempt).solve(first.task, left)
            seconds, decisions = seconds + rollout.seconds, decisions + decided(rollout)
            if rollout.solved:
                return replace(rollout, seconds=seconds, reason=f"solved by restart {attempt + 1}")
        return failed(first, limit, seconds)

    def _noisy(self, attempt: int) -> Planner:
        """The planner of a restart."""
        return self._drawn_from(self, attempt)

    def _drawn_from(self, planner: Planner, attempt: int) -> Planner:
        """A planner with noise on its costs."""
        policy = Noisy(planner.policy, TEMPERATURES[attempt % len(TEMPERATURES)], (self.seed, attempt))
        once = Planner(*(getattr(planner, each.name) for each in fields(Planner)))
        return replace(once, policy=policy, width=1, margin=math.inf, keep=self.keep)


def luby(number: int) -> int:
    """A term, from the first, of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ... (Luby, Sinclair, Zuckerman 1993)."""
    half = 1 << (number.bit_length() - 1)
    return half if number == 2 * half - 1 else luby(number - half + 1)


def left_of(limit: Limit, task: Task, seconds: float, decisions: int) -> Limit | None:
    """What is left of a limit after so many seconds and decisions on a task; None where nothing is."""
    spent = task.seconds + seconds  # each rollout counts the reading of the problem
    if spent >= (limit.seconds or math.inf) or decisions >= (limit.decisions or math.inf):
        return None
    return replace(
        limit,
        seconds=limit.seconds and limit.seconds - seconds,
        decisions=limit.decisions and limit.decisions - decisions,
    )


def decided(rollout: Rollout) -> int:
    """How many decisions a rollout made, the one that found nothing among them."""
    return len(rollout.steps) + (rollout.outcome in (Outcome.STUCK, Outcome.REFUSED))


def failed(first: Rollout, limit: Limit, seconds: float) -> Rollout:
    """The first rollout of those that took all of a limit, with the seconds of all."""
    ended = first.outcome is Outcome.HORIZON and limit.decisions is not None and limit.actions is None
    reason = f"the limit of {limit.decisions} decisions is reached" if ended else first.reason
    return replace(first, seconds=seconds, reason=reason)
