"""A portfolio: rollouts of several planners one after the other, then restarts of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

from sgp.planning.planner import Limit, Planner
from sgp.planning.restarts import TEMPERATURES, Restarting, left_of, share
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.task import Task


@dataclass(frozen=True)
class Portfolio(Restarting):
    """A planner that leaves what it does not solve to others, best first, and then restarts with all of them in turn.

    A rollout has half of what is left of a limit on decisions, or on seconds, the reading of the problem taken off, so
    that one that wanders leaves something to the next. Without others it is `Restarting`.
    """

    others: tuple[Planner, ...] = ()

    @classmethod
    def of(cls, planner: Planner, restarts: int, seed: int, others: Sequence[Planner] = ()) -> Self:
        """The same planner with others and restarts."""
        own = {each.name: getattr(planner, each.name) for each in fields(Planner)}
        return cls(**own, restarts=restarts, seed=seed, others=tuple(others))

    def first(self, task: Task, limit: Limit) -> Limit:
        """Half of the limit, where others or restarts come after."""
        return share(task, limit) if self.others else super().first(task, limit)

    def _again(self, first: Rollout, limit: Limit, seconds: float, decisions: int) -> Rollout:
        """As with restarts alone; the other planners come before them."""
        for number, planner in enumerate(self.others, 2):
            left = None if first.outcome is Outcome.MEMORY else left_of(limit, first.task, seconds, decisions)
            if left is None:
                return replace(first, seconds=seconds)
            rollout = replace(planner, keep=self.keep).solve(first.task, share(first.task, left))
            seconds, decisions = seconds + rollout.seconds, decisions + len(rollout.steps) + 1
            if rollout.solved:
                return replace(rollout, seconds=seconds, reason=f"solved by planner {number}")
        return super()._again(first, limit, seconds, decisions)

    def _noisy(self, attempt: int) -> Planner:
        """Each planner's in turn, by all temperatures."""
        turn = attempt // len(TEMPERATURES) % (1 + len(self.others))
        return self._drawn_from((self, *self.others)[turn], attempt)
