"""How a curve over sizes ended."""

from __future__ import annotations

from enum import Enum


class Ended(Enum):
    """Why a scaling evaluation tried no larger size."""

    FELL = "fell"  # coverage was below the threshold at several sizes in a row
    EXHAUSTED = "exhausted"  # the domain has no larger problems
    LARGEST = "largest"  # the largest size to try was reached
    TIME = "time"  # time ran out

    @property
    def cut(self) -> bool:
        """Whether the planner might have scaled further: it was stopped from outside."""
        return self in (Ended.LARGEST, Ended.TIME)

    @property
    def metric(self) -> str:
        """The metric of a curve's scores that tells this; its value is 1."""
        return f"ended_{self.value}"


CUT_METRICS = frozenset(each.metric for each in Ended if each.cut)
