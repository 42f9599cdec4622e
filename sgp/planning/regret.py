"""Regret of each step of a rollout, by the remaining actions before and after it. Needs no planning library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DEAD_END = "dead end"  # recorded number of remaining actions if no plan leads to the goal


def regrets(left: Sequence[float | None], taken: Iterable[int]) -> list[float | None]:
    """Regret of each step: its actions plus the remaining actions after it, minus the remaining actions before it.

    `left` has the remaining actions of every state [steps + 1], infinite in a dead end and None if unknown. `taken` has
    the actions of each step. The regret is 0 on an optimal path, infinite for the step into a dead end, None if unknown
    or within a dead end.
    """
    return [
        None if before is None or after is None or before == math.inf else actions + after - before
        for before, after, actions in zip(left, left[1:], taken, strict=False)
    ]


def recorded_left(actions: Iterable[float | None], optimal: bool) -> dict[str, Any]:
    """Encode the remaining actions for a record's head, without infinities, and whether they are minimal."""
    return {"actions": [DEAD_END if each == math.inf else each for each in actions], "optimal": optimal}


def read_left(left: Mapping[str, Any]) -> tuple[list[float | None], bool]:
    """Decode the remaining actions of every state, and whether they are minimal, from a record's head."""
    actions = [math.inf if each == DEAD_END else None if each is None else float(each) for each in left["actions"]]
    return actions, bool(left["optimal"])
