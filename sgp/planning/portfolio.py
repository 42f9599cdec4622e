"""A portfolio: rollouts of several planners one after the other, then restarts of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

from sgp.planning.planner import Limit, Planner
from sgp.planning.restarts import SHARE, TEMPERATURES, Restarting, decided, failed, left_of
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

    def share(self, limit: Limit) -> float:
        """Half, where others or restarts come after."""
        return SHARE if self.others and limit.ends else super().share(limit)

    def _again(self, first: Rollout, limit: Limit, seconds: float, decisions: int) -> Rollout:
        """As with restarts alone; the other planners come before them."""
        for number, planner in enumerate(self.others, 2):
            left = None if first.outcome is Outcome.MEMORY else left_of(limit, first.task, seconds, decisions)
            if left is None:
                return failed(first, limit, seconds)
            rollout = replace(planner, keep=self.keep).solve(first.task, _part(first.task, left))
            seconds, decisions = seconds + rollout.seconds, decisions + decided(rollout)
            if rollout.solved:
                return replace(rollout, seconds=seconds, reason=f"solved by planner {number}")
        return super()._again(first, limit, seconds, decisions)

    def _noisy(self, attempt: int) -> Planner:
        """Each planner's in turn, by all temperatures."""
        turn = attempt // len(TEMPERATURES) % (1 + len(self.others))
        return self._drawn_from((self, *self.others)[turn], attempt)


def _part(task: Task, limit: Limit) -> Limit:
    """Half of a limit on decisions, one at least, and of its seconds beyond those in which the problem was read."""
    return replace(
        limit,
        seconds=limit.seconds and task.seconds + SHARE * max(0.0, limit.seconds - task.seconds),
        decisions=limit.decisions and max(1, int(SHARE * limit.decisions)),
    )
