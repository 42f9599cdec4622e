"""Pooled candidates of a beam."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate, chain, repeat

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError
from sgp.planning.policy import Node, Ranking, Rules
from sgp.planning.rollout import Mark, Step, tie_margin
from sgp.planning.states import State
from sgp.planning.task import Candidates

# Plain integers: enumeration lookups are measurable in the inner loop.
_CHOSEN, _BEAM, _VISITED, _COLLAPSED, _GOAL, _REJECTED, _TIED, _FORCED = map(np.uint8, Mark)


class Pool:
    """The n candidates of a whole beam in generation order, numbered from 0."""

    def __init__(self, nodes: Sequence[Node], choices: Sequence[Candidates], rankings: Sequence[Ranking], rules: Rules):
        self.nodes, self.choices, self.rankings, self.tie = nodes, choices, rankings, rules.tie
        sizes = [len(choice) for choice in choices]
        self.starts = list(accumulate(sizes, initial=0))
        self.costs: NDArray[np.float64] = np.concatenate(
            [_checked(ranking, size) for ranking, size in zip(rankings, sizes, strict=True)]
        )
        if rules.additive:
            self.costs = self.costs + np.repeat([node.cost for node in nodes], sizes)
        # Identities of candidates: states, and the policy's keys if it gives them.
        self.states = [key for choice in choices for key in choice.keys]
        keys = [ranking.keys or repeat(None, size) for ranking, size in zip(rankings, sizes, strict=True)]
        self.keys = list(chain.from_iterable(keys))
        self.closed = np.isposinf(self.costs)
        self.marks = np.where(self.closed, _REJECTED, np.uint8(0))
        self.dead_ends = 0  # number of candidates closed as dead ends

    def force(self, place: int) -> None:
        """Open a candidate whatever its cost; a rejected candidate adds nothing to the path's cost."""
        self.marks[place] |= _FORCED
        self.closed[place] = False
        if not math.isfinite(self.costs[place]):
            self.costs[place] = self.nodes[self._origin(place)[0]].cost

    def find_goal(self, among: Sequence[int] | None = None) -> int | None:
        """Return the first open candidate that satisfies the goal, among all or some candidates."""
        reached = np.concatenate([choice.goals for choice in self.choices]) & ~self.closed
        if among is not None:
            chosen = np.zeros(len(reached), np.bool_)
            chosen[list(among)] = True
            reached &= chosen
        if not reached.any():
            return None
        place = int(reached.argmax())
        self.marks[place] |= _GOAL
        return place

    def close(self, visited: set[Hashable], horizon: float) -> tuple[int, int]:
        """Close visited states and jumps beyond the horizon.

        Returns the number of unvisited candidates, and the number of these within the horizon.
        """
        seen = np.fromiter((state in visited for state in self.states), np.bool_, len(self.states))
        ends = [node.length + choice.lengths for node, choice in zip(self.nodes, self.choices, strict=True)]
        beyond = np.concatenate(ends) > horizon
        self.marks[seen] |= _VISITED
        self.closed |= seen | beyond
        return int((~seen).sum()), int((~seen & ~beyond).sum())

    def cheapest(self, width: int, margin: float, is_dead_end: Callable[[State], bool] | None = None) -> list[int]:
        """Return up to `width` open candidates with distinct keys and states, cheapest first, ties in generation order.

        Costs exceed the lowest cost by at most `margin`, which does not separate tied costs (`width` may). Dead ends
        are closed and replaced.
        """
        chosen, states, keys = self._open_cheapest(width, margin)
        while is_dead_end is not None and (dead := [place for place in chosen if is_dead_end(self.child(place).state)]):
            self.closed[dead] = True
            self.marks[dead] |= _REJECTED
            self.dead_ends += len(dead)
            chosen, states, keys = self._open_cheapest(width, margin)
        for place in np.flatnonzero(~self.closed).tolist():
            if self.states[place] in states or self.keys[place] in keys:
                self.marks[place] |= _COLLAPSED
        self.marks[chosen] = self.marks[chosen] & ~_COLLAPSED | _BEAM
        return chosen

    def within(self, cost: float) -> list[int]:
        """Return the open candidates that cost at most `cost`, cheapest first, ties in generation order."""
        places = np.flatnonzero(~self.closed & (self.costs <= cost))
        order: list[int] = places[np.argsort(self.costs[places], kind="stable")].tolist()
        return order

    def _open_cheapest(self, width: int, margin: float) -> tuple[list[int], set[Hashable], set[Hashable]]:
        """Select as `cheapest` does, without dead-end checks; also return the selected states and keys."""
        open_places = np.flatnonzero(~self.closed)
        order = open_places[np.argsort(self.costs[open_places], kind="stable")]
        if len(order):
            dearest = float(self.costs[order[0]]) + margin
            order = order[self.costs[order] <= max(dearest, _tie_bound(self.costs[order[0]], self.tie))]
        sorted_costs = self.costs[order]
        chosen: list[int] = []
        states, keys = set[Hashable](), set[Hashable]()
        start = 0
        while start < len(order) and len(chosen) < width:
            end = int(np.searchsorted(sorted_costs, _tie_bound(sorted_costs[start], self.tie), side="right"))
            for place in np.sort(order[start:end]).tolist():
                state, key = self.states[place], self.keys[place]
                if len(chosen) < width and state not in states and key not in keys:
                    chosen.append(place)
                    states.add(state)
                    if key is not None:
                        keys.add(key)
            start = end
        return chosen, states, keys

    def child(self, place: int) -> Node:
        """Return the node that a candidate becomes."""
        which, index = self._origin(place)
        ranking, node, choice = self.rankings[which], self.nodes[which], self.choices[which]
        of_node = slice(self.starts[which], self.starts[which + 1])
        successor, closed, marks = choice[index], self.closed[of_node], self.marks[of_node]
        # The ranking's memories would retain the embeddings of all candidates along the path.
        costs, keys, note, tie, written = ranking.costs, ranking.keys, ranking.note, self.tie, ranking.written

        def decided() -> Step:
            open_costs = np.where(closed, math.inf, costs)
            decided_marks = marks.copy()
            decided_marks[index] |= _CHOSEN
            decided_marks[open_costs <= _tie_bound(open_costs.min(), tie)] |= _TIED
            return Step(node.state, choice, costs, keys, decided_marks, index, note, written)

        return Node(
            task=node.task,
            state=successor.state,
            memory=None if ranking.memories is None else ranking.memories[index],
            cost=float(self.costs[place]),
            arrived=successor,
            before=node,
            length=node.length + len(successor.actions),
            decided=decided,
        )

    def _origin(self, place: int) -> tuple[int, int]:
        """Return the node of a candidate, and the candidate's index at that node."""
        which = bisect_right(self.starts, place) - 1
        return which, place - self.starts[which]


def _tie_bound(cost: float, tie: float) -> float:
    return float(cost) + tie_margin(float(cost), tie) if math.isfinite(cost) else -math.inf


def _checked(ranking: Ranking, count: int) -> NDArray[np.float64]:
    costs = np.asarray(ranking.costs, np.float64)
    if costs.shape != (count,) or np.isnan(costs).any() or np.isneginf(costs).any():
        raise ConfigurationError(
            f"the policy gave costs of shape {costs.shape} for {count} candidates, or a cost that is no number; "
            "expected one cost per candidate, +inf to reject"
        )
    return costs
