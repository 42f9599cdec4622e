"""Strategies for failed rollouts: other planners, restarts with noisy costs, and LAMA."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from sgp.errors import ConfigurationError, UnsolvableProblem
from sgp.planning.clock import give_back, resident_memory
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.planner import Budget, Fallback, Limit, Planner, horizon
from sgp.planning.policy import Node, Policy, Ranking, Rules
from sgp.planning.rollout import Mark, Outcome, Rollout, Step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, Trajectory

TEMPERATURES = (0.5, 1.0)  # of restarts, in turn
SHARE = 0.5  # of the remaining seconds and decisions, for a rollout that others follow
POLICY_SHARE = 0.5  # of a problem's seconds; LAMA has the rest
LEAST_SECONDS = 1.0  # minimum to start LAMA
LEAST_MEGABYTES = 64  # minimum to start Fast Downward


def with_shared_seconds(left: Limit, task: Task) -> Limit:
    """Return what is left of a limit with `SHARE` of the seconds that reading the task leaves."""
    return replace(left, seconds=left.seconds and task.seconds + SHARE * max(0.0, left.seconds - task.seconds))


@dataclass(frozen=True)
class OtherPlanner(Fallback):
    """Another planner for problems that are not solved yet, with half of the remaining limit."""

    planner: Planner
    number: int  # index among the planners, from 2
    first_share = SHARE

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return the other planner's rollout, or the failed one."""
        left = None if failed.outcome is Outcome.MEMORY else budget.left()
        if left is None:
            return budget.ended(failed)
        part = replace(
            with_shared_seconds(left, failed.task), decisions=left.decisions and max(1, int(SHARE * left.decisions))
        )
        rollout = budget.spend(replace(self.planner, keep=planner.keep).solve(failed.task, part))
        return budget.solved(rollout, f"by planner {self.number}") if rollout.solved else budget.ended(failed)


@dataclass(frozen=True)
class Restarts(Fallback):
    """Repeat a failed rollout from the initial state, with noise on the costs and with each planner in turn.

    Without a limit on seconds or decisions, there are at most `most` restarts, each with the horizon of the problem's
    size. Otherwise the first rollout has half of that limit (more while the number of open goals falls) and no horizon,
    and the rest is for any number of restarts. Their horizon is the limit's, or that of the problem's size times a term
    of the `luby` sequence, which is efficient for any unknown best horizon. Restarts use a beam of one node.
    """

    most: int
    seed: int

    def __post_init__(self) -> None:
        for name, value in (("restarts", self.most), ("seed", self.seed)):
            if value < 0:
                raise ConfigurationError(f"{name} is {value}; expected at least 0")

    @property
    def first_share(self) -> float:
        """The first rollout's share of a limit."""
        return SHARE if self.most else 1.0

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return the first restart that solves the problem, or the failed rollout."""
        limit, rollout, without_decision = budget.limit, failed, 0
        others = sum(isinstance(fallback, OtherPlanner) for fallback in planner.fallbacks)
        tolerated = len(TEMPERATURES) * (1 + others) if others else 0  # until every planner had its turn
        for attempt in count() if self.most and limit.ends else range(self.most):
            undecided = rollout.outcome is not Outcome.TIMEOUT and not rollout.steps
            without_decision = without_decision + 1 if undecided else 0
            # Noise changes no refusal, and no memory limit: the next restarts would end in the same way.
            in_vain = without_decision > tolerated or rollout.outcome is Outcome.MEMORY
            left = None if in_vain else budget.left()
            if left is None:
                break
            times = luby(attempt + 1) if limit.ends else 1
            left = replace(left, actions=limit.actions or times * horizon(failed.task.size))
            rollout = budget.spend(self.noisy(planner, attempt).solve(failed.task, left))
            if rollout.solved:
                return budget.solved(rollout, f"by restart {attempt + 1}")
        return budget.ended(failed)

    def noisy(self, planner: Planner, attempt: int) -> Planner:
        """Return the planner of a restart; each planner cycles through all temperatures."""
        others = [other.planner for other in planner.fallbacks if isinstance(other, OtherPlanner)]
        drawn = (planner, *others)[attempt // len(TEMPERATURES) % (1 + len(others))]
        policy = Noisy(drawn.policy, TEMPERATURES[attempt % len(TEMPERATURES)], (self.seed, attempt))
        return replace(drawn, policy=policy, width=1, margin=math.inf, keep=planner.keep, fallbacks=())


@dataclass(frozen=True)
class Noisy:
    """A policy with Gumbel noise on its costs, determined by the seed and the path's length (Gumbel 1954).

    With the noise, each candidate is the cheapest with probability proportional to exp(-cost / temperature).
    """

    policy: Policy
    temperature: float
    seed: tuple[int, ...]

    @property
    def rules(self) -> Rules:
        """The policy's rules; noise does not add up along a path, so the beam has one node."""
        return replace(self.policy.rules, additive=False)

    def refuses(self, task: Task) -> str | None:
        """Return the policy's refusal."""
        return self.policy.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return the policy's rankings with noise; rejected candidates remain rejected."""
        rankings = []
        for node, ranking in zip(nodes, self.policy.rank(nodes, choices), strict=True):
            noise = np.random.default_rng((*self.seed, node.length)).gumbel(size=len(ranking.costs))
            rankings.append(replace(ranking, costs=ranking.costs - self.temperature * noise))
        return rankings


def luby(number: int) -> int:
    """Return a term of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ..., from 1 (Luby, Sinclair, Zuckerman 1993)."""
    half = 1 << (number.bit_length() - 1)
    return half if number == 2 * half - 1 else luby(number - half + 1)


@dataclass(frozen=True)
class LamaFallback(Fallback):
    """LAMA's first iteration on problems that no rollout solved, with the remaining time.

    The policy has half of a problem's seconds, or more while its first rollout lowers the number of open goals, and
    half of the available memory. `LAMA_FIRST` runs in its own process with
    the rest of both, or with its own time limit if there is no limit. Each step of its plan has one forced candidate of
    cost 0.
    """

    def limit(self, limit: Limit) -> Limit:
        """Return the limit of all rollouts together."""
        memory, held = limit.memory, resident_memory()
        assert memory is not None
        return replace(
            limit,
            seconds=limit.seconds and POLICY_SHARE * limit.seconds,
            memory=memory if held >= memory else held + int(POLICY_SHARE * (memory - held)),
        )

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return the rollout of LAMA's first plan, or the failed one."""
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
        trajectory = Trajectory.of(task, plan)
        path = [
            Successor((action,), after) for action, after in zip(trajectory.actions, trajectory.states[1:], strict=True)
        ]
        steps = forced_steps(task.init, path)
        return Rollout(task, steps, Outcome.SOLVED, seconds, "solved by LAMA's first plan", decisions=failed.decisions)


def forced_steps(state: State, path: Sequence[Successor]) -> tuple[Step, ...]:
    """Return a step for each successor on a path from a state: its only candidate, forced at cost 0."""
    marks, states = np.array([Mark.CHOSEN | Mark.FORCED], np.uint8), [state, *(each.state for each in path)]
    return tuple(
        Step(before, [successor._replace(parent=None)], np.zeros(1), None, marks, 0)
        for before, successor in zip(states, path, strict=False)
    )
