"""What is tried where a rollout fails: other planners, restarts with noise on the costs, and LAMA."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from sgp.errors import ConfigurationError, UnsolvableProblem
from sgp.memory import give_back, resident_memory
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.planner import Budget, Limit, Planner, horizon
from sgp.planning.policy import Node, Policy, Ranking, Rules
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.task import Successor, Task
from sgp.planning.trajectory import Trajectory

TEMPERATURES = (0.5, 1.0)  # of restarts, in turn
SHARE = 0.5  # of the seconds and decisions that are left, for a rollout that others come after
POLICY_SHARE = 0.5  # of a problem's seconds; LAMA has what is left
LEAST_SECONDS = 1.0  # with which LAMA is started
LEAST_MEGABYTES = 64  # with less Fast Downward does not start


@dataclass(frozen=True)
class OtherPlanner:
    """A planner that tries what was not solved before, with half of what is left of the limit."""

    planner: Planner
    number: int  # among the planners, from 2
    first_share = SHARE

    def limit(self, limit: Limit) -> Limit:
        """What the rollouts may take: all."""
        return limit

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """The rollout of the other planner, or the failed one."""
        left = None if failed.outcome is Outcome.MEMORY else budget.left()
        if left is None:
            return budget.ended(failed)
        part = replace(
            left,
            seconds=left.seconds and failed.task.seconds + SHARE * max(0.0, left.seconds - failed.task.seconds),
            decisions=left.decisions and max(1, int(SHARE * left.decisions)),
        )
        rollout = budget.spend(replace(self.planner, keep=planner.keep).solve(failed.task, part))
        return budget.solved(rollout, f"by planner {self.number}") if rollout.solved else budget.ended(failed)


@dataclass(frozen=True)
class Restarts:
    """Further rollouts that draw from the planners in turn, where one reached a dead end, a horizon, or its share.

    Without a limit on seconds or decisions there are `most` at most, each with the horizon of the problem's size. Else
    the first rollout has half of that limit and no horizon; what it leaves goes to any number of others, each with the
    horizon that the limit names, or that of the problem's size times a term of `luby`'s sequence, which wastes little
    whatever horizon is the right one. Restarts keep one node. Raises ConfigurationError for a number or a seed below 0.
    """

    most: int
    seed: int

    def __post_init__(self) -> None:
        for name, value in (("restarts", self.most), ("seed", self.seed)):
            if value < 0:
                raise ConfigurationError(f"{name} is {value}; expected at least 0")

    @property
    def first_share(self) -> float:
        """Which part of a limit the first rollout may take."""
        return SHARE if self.most else 1.0

    def limit(self, limit: Limit) -> Limit:
        """What the rollouts may take: all."""
        return limit

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """The first restart that solves the problem, or the failed rollout."""
        limit, rollout = budget.limit, failed
        for attempt in count() if self.most and limit.ends else range(self.most):
            refused = rollout.outcome is not Outcome.TIMEOUT and not rollout.steps
            left = None if refused or rollout.outcome is Outcome.MEMORY else budget.left()  # another would end the same
            if left is None:
                break
            times = luby(attempt + 1) if limit.ends else 1
            left = replace(left, actions=limit.actions or times * horizon(failed.task.size))
            rollout = budget.spend(self.noisy(planner, attempt).solve(failed.task, left))
            if rollout.solved:
                return budget.solved(rollout, f"by restart {attempt + 1}")
        return budget.ended(failed)

    def noisy(self, planner: Planner, attempt: int) -> Planner:
        """The planner of a restart: each planner's turn has all temperatures."""
        others = [other.planner for other in planner.fallbacks if isinstance(other, OtherPlanner)]
        drawn = (planner, *others)[attempt // len(TEMPERATURES) % (1 + len(others))]
        policy = Noisy(drawn.policy, TEMPERATURES[attempt % len(TEMPERATURES)], (self.seed, attempt))
        return replace(drawn, policy=policy, width=1, margin=math.inf, keep=planner.keep, fallbacks=())


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
        rankings = []
        for node, ranking in zip(nodes, self.policy.rank(nodes, choices), strict=True):
            noise = np.random.default_rng((*self.seed, node.length)).gumbel(size=len(ranking.costs))
            rankings.append(replace(ranking, costs=ranking.costs - self.temperature * noise))
        return rankings


def luby(number: int) -> int:
    """A term, from the first, of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ... (Luby, Sinclair, Zuckerman 1993)."""
    half = 1 << (number.bit_length() - 1)
    return half if number == 2 * half - 1 else luby(number - half + 1)


@dataclass(frozen=True)
class LamaFallback:
    """LAMA's first iteration on problems that no rollout solved, with the remaining time.

    The policy has half of a problem's seconds and of the memory that may still be taken; `LAMA_FIRST` has what is left
    of both, in a process of its own, or its own seconds without a limit. Its plan's steps have one candidate each,
    forced, at no cost. Raises ToolError where Fast Downward is missing or fails.
    """

    first_share = 1.0

    def limit(self, limit: Limit) -> Limit:
        """What the rollouts may take."""
        memory, held = limit.memory, resident_memory()
        assert memory is not None
        return replace(
            limit,
            seconds=limit.seconds and POLICY_SHARE * limit.seconds,
            memory=memory if held >= memory else held + int(POLICY_SHARE * (memory - held)),
        )

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """The rollout of LAMA's first plan, or the failed one."""
        failed, task, limit, left = budget.ended(failed), failed.task, budget.whole, LAMA_FIRST.seconds
        if limit.seconds is not None:
            left = min(left, limit.seconds - task.seconds - failed.seconds)
        give_back()
        assert limit.memory is not None
        megabytes = (limit.memory - resident_memory()) >> 20
        if left < LEAST_SECONDS or megabytes < LEAST_MEGABYTES:
            return failed
        started = time.perf_counter()
        try:
            plan = find_plan(task.problem, [replace(LAMA_FIRST, seconds=left, megabytes=megabytes)], strict=True).plan
            reason = "nor did LAMA find a plan"
        except UnsolvableProblem as error:
            plan, reason = None, str(error)
        taken = time.perf_counter() - started
        seconds = failed.seconds + taken
        if plan is None:
            outcome = Outcome.TIMEOUT if taken >= left - LEAST_SECONDS else failed.outcome
            return replace(failed, seconds=seconds, outcome=outcome, reason=reason)
        return Rollout(task, _steps(Trajectory.of(task, plan)), Outcome.SOLVED, seconds, "solved by LAMA's first plan")


def _steps(trajectory: Trajectory) -> tuple[Step, ...]:
    """A plan from outside as decisions that were not the policy's."""
    marks = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8)
    return tuple(
        Step(state, [Successor((action,), after)], np.zeros(1), None, marks, 0)
        for state, action, after in zip(trajectory.states, trajectory.actions, trajectory.states[1:], strict=False)
    )
