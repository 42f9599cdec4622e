"""A complete search for what a policy did not solve: the policy first, then LAMA in the time that is left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sgp.errors import UnsolvableProblem
from sgp.memory import fair_share, give_back, resident_memory
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.planner import NO_LIMIT, Limit
from sgp.planning.portfolio import Portfolio
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.task import Successor, Task
from sgp.planning.trajectory import Trajectory
from sgp.workers import at_work

POLICY_SHARE = 0.5  # of a problem's seconds; the search has what is left
LEAST = 1.0  # seconds that a search is begun with
LEAST_MEGABYTES = 64  # with less Fast Downward does not start


@dataclass(frozen=True)
class Completing(Portfolio):
    """A planner that hands to LAMA what neither rollouts, its own and those of others beside it, nor restarts solve.

    The policy has half of a problem's seconds and of the memory that may still be taken; `LAMA_FIRST` has what is left
    of both, by the clock and in a process of its own, or its own seconds without a limit on them. Its plan's steps have
    one candidate each, forced, at no cost. `resume` goes on by the policy alone. Raises ToolError where Fast Downward
    is missing or fails.
    """

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Each task's place and rollout as it ends; what the policy fails on is searched one after the other."""
        memory, held = limit.memory or fair_share(at_work()), resident_memory()
        limit = replace(limit, memory=memory)
        own = replace(
            limit,
            seconds=limit.seconds and POLICY_SHARE * limit.seconds,
            memory=memory if held >= memory else held + int(POLICY_SHARE * (memory - held)),
        )
        for place, rollout in super().solve_each(tasks, own):
            yield place, rollout if rollout.solved else _completed(rollout, limit)


def _completed(failed: Rollout, limit: Limit) -> Rollout:
    """The rollout of LAMA's first plan, or the one that failed where the search finds none in its time."""
    task, left = failed.task, LAMA_FIRST.seconds
    if limit.seconds is not None:
        left = min(left, limit.seconds - task.seconds - failed.seconds)
    give_back()
    assert limit.memory is not None
    megabytes = (limit.memory - resident_memory()) >> 20
    if left < LEAST or megabytes < LEAST_MEGABYTES:
        return failed
    started = time.perf_counter()
    try:
        found = find_plan(task.problem, [replace(LAMA_FIRST, seconds=left, megabytes=megabytes)], strict=True).plan
        reason = "nor did LAMA find a plan"
    except UnsolvableProblem as error:
        found, reason = None, str(error)
    taken = time.perf_counter() - started
    seconds = failed.seconds + taken
    if found is None:
        outcome = Outcome.TIMEOUT if taken >= left - LEAST else failed.outcome
        return replace(failed, seconds=seconds, outcome=outcome, reason=reason)
    return Rollout(task, _steps(Trajectory.of(task, found)), Outcome.SOLVED, seconds, "solved by LAMA's first plan")


def _steps(trajectory: Trajectory) -> tuple[Step, ...]:
    """A plan from outside as decisions that were not the policy's."""
    marks = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8)
    return tuple(
        Step(state, [Successor((action,), after)], np.zeros(1), None, marks, 0)
        for state, action, after in zip(trajectory.states, trajectory.actions, trajectory.states[1:], strict=False)
    )
