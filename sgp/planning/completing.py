"""A complete search for what a policy did not solve: the policy first, then LAMA in the time that is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sgp.errors import UnsolvableProblem
from sgp.memory import fair_share
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.planner import NO_LIMIT, Limit
from sgp.planning.restarts import Restarting
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.task import Successor, Task
from sgp.planning.trajectory import Trajectory
from sgp.workers import at_work

POLICY_SHARE = 0.5  # of a problem's seconds; the search has what is left
LEAST = 1.0  # seconds that a search is begun with


@dataclass(frozen=True)
class Completing(Restarting):
    """A planner that hands to LAMA what neither its rollout nor its restarts solve.

    The policy has half of a problem's seconds, `LAMA_FIRST` what is left of all, in a process of its own with the
    memory of the limit; without a limit on seconds the search has its own. Its plan's steps have one candidate each,
    forced, at no cost. `resume` goes on by the policy alone. Raises ToolError where Fast Downward is missing or fails.
    """

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Each task's place and rollout as it ends; what the policy fails on is searched one after the other."""
        limit = replace(limit, memory=limit.memory or fair_share(at_work()))
        own = replace(limit, seconds=limit.seconds and POLICY_SHARE * limit.seconds)
        for place, rollout in super().solve_each(tasks, own):
            yield place, rollout if rollout.solved else _completed(rollout, limit)


def _completed(failed: Rollout, limit: Limit) -> Rollout:
    """The rollout of LAMA's first plan, or the one that failed where the search finds none in its time."""
    task, left = failed.task, LAMA_FIRST.seconds
    if limit.seconds is not None:
        left = min(left, limit.seconds - task.seconds - failed.seconds)
    if left < LEAST:
        return failed
    assert limit.memory is not None
    stage = replace(LAMA_FIRST, seconds=left, megabytes=max(1, limit.memory >> 20))
    try:
        found = find_plan(task.problem, [stage], strict=True)
    except UnsolvableProblem as error:
        return replace(failed, reason=str(error))
    seconds = failed.seconds + found.seconds
    if found.plan is None:
        return replace(failed, seconds=seconds, outcome=Outcome.TIMEOUT, reason="nor did LAMA find a plan in time")
    trajectory = Trajectory.of(task, found.plan)
    return Rollout(task, _steps(trajectory), Outcome.SOLVED, seconds, "solved by LAMA's first plan")


def _steps(trajectory: Trajectory) -> tuple[Step, ...]:
    """A plan from outside as decisions that were not the policy's."""
    marks = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8)
    return tuple(
        Step(state, [Successor((action,), after)], np.zeros(1), None, marks, 0)
        for state, action, after in zip(trajectory.states, trajectory.actions, trajectory.states[1:], strict=False)
    )
