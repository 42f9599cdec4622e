"""When a sample is large enough: the sequential interval of Chow and Robbins (1965), with Student's t.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 3. Its loop condition is printed the wrong way round: problems are drawn while the interval is wider than
epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

FEWEST_MORE = 8  # results asked for at a time, where the interval may need one more: processes work on several


def enough(solved: Sequence[bool], epsilon: float, kappa: float) -> int | None:
    """How many results suffice: the first n with t^2 (s^2 + 1/n) / n <= epsilon^2; None where more are needed.

    s^2 is the variance of the first n results, t the quantile of Student's distribution for n - 1 degrees of freedom
    at 1 - kappa/2 (the term 1/n keeps two equal results from being enough).
    """
    places = np.arange(1, len(solved) + 1)
    rate = np.cumsum(np.asarray(solved, dtype=np.float64)) / places
    narrow = np.flatnonzero(half_width(rate, places, kappa) <= epsilon)
    return int(narrow[0]) + 1 if len(narrow) else None


def half_width(rate: NDArray[np.float64], count: NDArray[np.int64], kappa: float) -> NDArray[np.float64]:
    """Half the width of the intervals [n] of rates [n] after `count` results each; infinite after one."""
    t = _quantiles(kappa, int(count.max(initial=0)))[count - 1]
    return np.asarray(t * np.sqrt((rate * (1 - rate) + 1 / count) / count))


@cache
def _quantiles(kappa: float, most: int) -> NDArray[np.float64]:
    """The quantiles for 1 to `most` results."""
    degrees = np.arange(0, most)
    return np.where(degrees > 0, student.ppf(1 - kappa / 2, np.maximum(degrees, 1)), np.inf)


@cache
def least(epsilon: float, kappa: float) -> int:
    """How many equal results are enough: no fewer ever are."""
    count = 1
    while (found := enough([True] * count, epsilon, kappa)) is None:
        count *= 2
    return found


def still_needed(solved: Sequence[bool], epsilon: float, kappa: float) -> int:
    """How many more results the interval is likely to need, as far as those known tell."""
    known = len(solved)
    if known < 2:
        return least(epsilon, kappa)
    rate = mean(solved)
    t = float(_quantiles(kappa, known)[-1])
    return max(FEWEST_MORE, math.ceil((t / epsilon) ** 2 * (rate * (1 - rate) + 1 / known)) - known)
