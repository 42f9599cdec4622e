"""What each step of a rollout gave away, by the actions left before and after it. Needs no planning library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DEAD_END = "dead end"  # in records, for the actions that are left where no plan leads to the goal


def regrets(left: Sequence[float | None], taken: Iterable[int]) -> list[float | None]:
    """What each step gave away: its actions and what is left after it, less what was left before it.

    `left` has the actions that are left at every state [steps + 1], infinite in a dead end and None where that is not
    known, `taken` the actions of each step. 0 on a best way, infinite for the step into a dead end, None where that is
    not known and within a dead end.
    """
    return [
        None if before is None or after is None or before == math.inf else actions + after - before
        for before, after, actions in zip(left, left[1:], taken, strict=False)
    ]


def recorded_left(actions: Iterable[float | None], optimal: bool) -> dict[str, Any]:
    """The actions left at every state as a record's head holds them, which knows no infinity, and if they are least."""
    return {"actions": [DEAD_END if each == math.inf else each for each in actions], "optimal": optimal}


def read_left(left: Mapping[str, Any]) -> tuple[list[float | None], bool]:
    """The actions left at every state and whether they are the least, of what a record's head holds."""
    actions = [math.inf if each == DEAD_END else None if each is None else float(each) for each in left["actions"]]
    return actions, bool(left["optimal"])
