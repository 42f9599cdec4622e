"""A portfolio: rollouts of several planners one after the other, then restarts of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.restarts import TEMPERATURES, Restarting, left_of
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.task import Task

SHARE = 0.5  # of the seconds and decisions that are left, for each planner's rollout; restarts have the rest


@dataclass(frozen=True)
class Portfolio(Restarting):
    """A planner that leaves what it does not solve to others, best first, and then restarts with all of them in turn.

    A rollout has the horizon of the problem's size, and at most half of what is left of a limit on seconds, the reading
    of the problem taken off, or decisions, so that one that wanders leaves something to the next. Without others it is
    `Restarting`.
    """

    others: tuple[Planner, ...] = ()

    @classmethod
    def of(cls, planner: Planner, restarts: int, seed: int, others: Sequence[Planner] = ()) -> Self:
        """The same planner with others and restarts."""
        own = {each.name: getattr(planner, each.name) for each in fields(Planner)}
        return cls(**own, restarts=restarts, seed=seed, others=tuple(others))

    def horizon(self, task: Task, limit: Limit) -> float:
        """That of the domain's size where none is given and something comes after a rollout."""
        return limit.actions or horizon(task.size) if self.others else super().horizon(task, limit)

    def _first(self, limit: Limit) -> Limit:
        """A share of the limit, where others come after."""
        return _share(limit, 0.0) if self.others else limit

    def _again(self, first: Rollout, limit: Limit, seconds: float, decisions: int) -> Rollout:
        """As with restarts alone; the other planners come before them."""
        for number, planner in enumerate(self.others, 2):
            left = None if first.outcome is Outcome.MEMORY else left_of(limit, first.task, seconds, decisions)
            if left is None:
                return replace(first, seconds=seconds)
            left = replace(_share(left, first.task.seconds), actions=int(self.horizon(first.task, limit)))
            rollout = replace(planner, keep=self.keep).solve(first.task, left)
            seconds, decisions = seconds + rollout.seconds, decisions + len(rollout.steps) + 1
            if rollout.solved:
                return replace(rollout, seconds=seconds, reason=f"solved by planner {number}")
        return super()._again(first, limit, seconds, decisions)

    def _noisy(self, attempt: int) -> Planner:
        """Each planner's in turn, by all temperatures."""
        turn = attempt // len(TEMPERATURES) % (1 + len(self.others))
        return self._drawn_from((self, *self.others)[turn], attempt)


def _share(limit: Limit, read: float) -> Limit:
    """Half of a limit on decisions, one at least, and of its seconds beyond those in which the problem was read."""
    return replace(
        limit,
        seconds=limit.seconds and read + SHARE * (limit.seconds - read),
        decisions=limit.decisions and max(1, int(SHARE * limit.decisions)),
    )
