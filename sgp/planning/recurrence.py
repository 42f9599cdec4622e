"""Repetition of decisions that recur in states that differ only in the sizes of large classes.

Where one more interchangeable object changes no cost, a policy decides alike in such states, up to ties. What it chose
between two of them, such as fetching two of thousands of balls, is then repeated with the next objects, without
candidates and rankings.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sgp.errors import PlanError
from sgp.planning.clock import with_limit_checks
from sgp.planning.declarations import Action
from sgp.planning.instantiation import MergedObjects
from sgp.planning.policy import Node
from sgp.planning.task import Successor, Task, count_open_goals

_MOST_MET = 32  # states that are kept; each takes 16 bytes an object
_MOST_KINDS = 256  # objects that static atoms or goals distinguish; comparing states takes time in their square
_MOST_SKIPPED = 63  # states between two that are compared, while none recurs


class _Met(NamedTuple):
    """A node with fewer open goals than all before it, its objects, and the next actions if decisions recur."""

    node: Node
    objects: MergedObjects
    expected: list[Action]


class Recurrence:
    """The nodes of a search whose states may recur.

    Classes of at least `enough` objects count as equally large.
    """

    def __init__(self, task: Task, enough: int):
        self._task, self._enough = task, enough
        self._fewest: float = math.inf  # open goals
        self._met: dict[tuple[bytes, bytes, bytes], _Met] = {}
        self._skipped = 0  # next states that are not compared
        self._misses = 0  # compared states since the last repetition
        _, kinds = task.symmetric_objects
        sizes = np.bincount(kinds[kinds >= 0])
        self._is_over = sizes.max(initial=0) < 2 * enough or len(sizes) > _MOST_KINDS  # no class is large enough
        self._numbers = {parameter.name: number for number, parameter in enumerate(task.objects)}

    def repetition(self, node: Node, horizon: float) -> Successor | None:
        """Return the jump that repeats the decisions before a node as often as they recur; None if they did not recur.

        Decisions recur if they led between two states that differ only in the sizes of large classes, the second with
        fewer open goals, if the same holds for the decisions before them, and if both chose the same actions of the
        respective next objects. A path with the jump has at most `horizon` actions.
        """
        if self._is_over or (missing := count_open_goals(self._task, node.state)) >= self._fewest:
            return None
        self._fewest = missing
        if self._skipped:
            self._skipped -= 1
            return None
        objects = self._task.lifted.merged_objects(self._task.fluent_array(node.state))
        signatures, sizes = np.unique(objects.signatures, return_counts=True)
        if sizes.max(initial=0) < 2 * self._enough:
            self._is_over = True
            return None
        key = objects.others, signatures.tobytes(), np.minimum(sizes, self._enough).tobytes()
        earlier, expected, jump = self._met.pop(key, None), [], None
        if earlier is not None:
            chosen = _actions_between(earlier.node, node)
            period = _Period(self._numbers, chosen, earlier.objects, objects)
            times = min(period.times(self._enough), (horizon - node.length) // len(chosen))
            if times >= 1:
                expected = next(period.repeated(1))
                if chosen == earlier.expected:
                    jump = self._jump(node, period, int(times))
        self._met[key] = _Met(node, objects, expected)
        if len(self._met) > _MOST_MET:
            del self._met[next(iter(self._met))]  # met least recently
        self._misses = 0 if jump else self._misses + 1
        self._skipped = min(self._misses // 4, _MOST_SKIPPED)
        return jump

    def _jump(self, node: Node, period: _Period, times: int) -> Successor | None:
        actions = [action for each in with_limit_checks(period.repeated(times)) for action in each]
        try:
            return Successor(tuple(actions), self._task.after_all(node.state, actions))
        except PlanError:  # two signatures are equal by chance, which has a probability of 2^-64
            return None


class _Period:
    """Actions between two states, to be repeated with the objects that now have the places of theirs in the classes."""

    def __init__(
        self, numbers: Mapping[str, int], actions: Sequence[Action], before: MergedObjects, now: MergedObjects
    ):
        self._numbers, self._actions, self._now = numbers, actions, now
        involved = {numbers[name] for action in actions for name in action.objects}
        self._objects = np.intersect1d(list(involved), now.numbers).tolist()
        self._starts = [before.signature(number) for number in self._objects]
        self._ends = [now.signature(number) for number in self._objects]
        members = {signature: before.members(signature) for signature in self._starts}
        self._sizes = {signature: len(each) for signature, each in members.items()}
        self._places = [
            bisect_left(members[start], each) for start, each in zip(self._starts, self._objects, strict=True)
        ]

    def times(self, enough: int) -> int:
        """Return how often the actions can be repeated before a class has fewer than `enough` objects."""
        shrinking = []
        for signature, size in self._sizes.items():
            left = len(self._now.members(signature))
            if left < size:
                shrinking.append((left - enough) // (size - left))
        return min(shrinking, default=0) if max(self._places, default=0) < enough else 0

    def repeated(self, times: int) -> Iterator[list[Action]]:
        """Yield the actions of each repetition."""
        names_of = list(self._numbers)
        members = {signature: self._now.members(signature) for signature in (*self._starts, *self._ends)}
        for _ in range(times):
            following = [members[start][place] for start, place in zip(self._starts, self._places, strict=True)]
            for number, start, end in zip(following, self._starts, self._ends, strict=True):
                if start != end:
                    del members[start][bisect_left(members[start], number)]
                    insort(members[end], number)
            names = {names_of[each]: names_of[number] for each, number in zip(self._objects, following, strict=True)}
            yield [
                Action(action.name, tuple(names.get(name, name) for name in action.objects)) for action in self._actions
            ]


def _actions_between(first: Node, last: Node) -> list[Action]:
    """Return the actions on the path from a node to a later one."""
    jumps = list[tuple[Action, ...]]()
    while last is not first:
        assert last.arrived is not None
        assert last.before is not None
        jumps.append(last.arrived.actions)
        last = last.before
    return [action for actions in reversed(jumps) for action in actions]
