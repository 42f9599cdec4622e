"""Best-first search guided by a policy, for problems that its rollouts do not solve."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError
from sgp.planning.beam import Pool
from sgp.planning.clock import LimitReached, check_limits
from sgp.planning.planner import Budget, Fallback, Limit, Planner, clock_of, outcome_of
from sgp.planning.policy import Node
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.states import State
from sgp.planning.strategies import SHARE, forced_steps
from sgp.planning.task import Candidates, Successor, Task, count_open_goals

MOST_CHILDREN = 64  # candidates of a state that enter the frontier; a lookahead finds hundreds
MOST_EXPANDED = 10_000  # nodes, without a limit on seconds or decisions


@dataclass(frozen=True)
class BestFirst(Fallback):
    """Best-first search over states and their candidates, until the remaining limit (or `MOST_EXPANDED`) is reached.

    A node's value is the negative log-likelihood of the candidates on its path, plus `weight` for each of its open
    goals. The node of the lowest value is expanded next. The likelihoods of a state's candidates are the softmax of
    their negative costs. (Orseau and Lelis 2021 combine a policy and a heuristic in another way.) Each state is reached
    once, and the `MOST_CHILDREN` candidates of the lowest values enter the frontier. Nodes have no memory, so that the
    policy ranks the candidates of each state as if the path began there.
    """

    weight: float
    first_share = SHARE

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise ConfigurationError(f"weight of an open goal is {self.weight}; expected a number from 0")

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return the rollout of the plan that the search finds, or the failed one."""
        left = None if failed.outcome in (Outcome.MEMORY, Outcome.REFUSED) else budget.left()
        if left is None:
            return budget.ended(failed)
        rollout = budget.spend(self.search(planner, failed.task, left))
        return budget.solved(rollout, "by best-first search") if rollout.solved else budget.ended(failed)

    def search(self, planner: Planner, task: Task, limit: Limit) -> Rollout:
        """Search from the initial state. The steps of the rollout have one forced candidate each."""
        search = _Search(planner, task, self.weight, limit.horizon(task.size))
        outcome, most = Outcome.STUCK, limit.decisions if limit.ends else MOST_EXPANDED
        with clock_of(limit) as clock:
            started = clock.now()
            try:
                with clock.within(math.inf if limit.seconds is None else limit.seconds - task.seconds):
                    while search.frontier and not search.path and outcome is Outcome.STUCK:
                        check_limits()
                        if search.expanded == most:
                            outcome = Outcome.HORIZON
                        else:
                            search.expand()
            except (LimitReached, MemoryError) as error:
                outcome = outcome_of(error)
            seconds = clock.now() - started
        outcome = Outcome.SOLVED if search.path else outcome
        return Rollout(task, forced_steps(task.init, search.path), outcome, seconds, decisions=search.expanded)


class _Search:
    """The frontier of a search, the states that it has reached, and the path to a goal state once it is found."""

    def __init__(self, planner: Planner, task: Task, weight: float, horizon: float):
        self._planner, self._task, self._weight, self._horizon = planner, task, weight, horizon
        self.frontier: list[tuple[float, int, Node]] = [(0.0, 0, Node(task, task.init))]
        self._reached: set[Hashable] = {task.init.key}
        self.expanded = 0
        self.path: list[Successor] = []

    def expand(self) -> None:
        """Expand the node of the lowest value: look for a goal state, or add its candidates to the frontier."""
        planner, task = self._planner, self._task
        _, _, node = heappop(self.frontier)
        if planner.prune_dead_ends and task.is_dead_end(node.state):
            return
        self.expanded += 1
        choice = Candidates.of(task, node.state, planner.successors(task, node.state))
        if not len(choice):
            return
        pool = Pool([node], [choice], planner.policy.rank([node], [choice]), planner.policy.rules)
        pool.close(self._reached, self._horizon)
        goal = pool.find_goal()
        if goal is not None:
            self.path = [*_path(node), choice[goal]]
            return
        if not np.isfinite(pool.costs).any():
            return
        losses = node.cost + pool.costs + np.logaddexp.reduce(-pool.costs)
        values = losses + self._weight * open_goals(task, node.state, choice)
        values[pool.closed] = math.inf
        for place in np.argsort(values, kind="stable")[: min(MOST_CHILDREN, int((~pool.closed).sum()))].tolist():
            successor = choice[place]
            if successor.state.key not in self._reached:  # candidates may be equal
                self._reached.add(successor.state.key)
                length = node.length + len(successor.actions)
                child = Node(task, successor.state, None, float(losses[place]), successor, node, length)
                heappush(self.frontier, (float(values[place]), len(self._reached), child))


def _path(node: Node) -> list[Successor]:
    """Return the candidates on the path to a node."""
    path = list[Successor]()
    while node.arrived is not None and node.before is not None:
        path.append(node.arrived)
        node = node.before
    return path[::-1]


def open_goals(task: Task, state: State, choice: Candidates) -> NDArray[np.int64]:
    """Return the number of open goals of each candidate [n] of a state."""
    goals, positive = task.goal_arrays
    fluents, changed = task.fluent_array(state), choice.changed
    change = np.zeros(1 + max(array.max(initial=0) for array in (goals, fluents, changed)), np.int64)
    change[goals] = np.where(np.isin(goals, fluents) == positive, 1, -1)  # of the number, where the atom changes
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(change[changed])])
    numbers: NDArray[np.int64] = count_open_goals(task, state) + sums[choice.indptr[1:]] - sums[choice.indptr[:-1]]
    return numbers
