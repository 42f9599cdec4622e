"""Whether a model of transitions knows when it is right: abstention and calibration, by similarities in pools.

Ours. Of a pool the similarities of its candidates with what was predicted are given, the true one first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Similarities = NDArray[np.floating[Any]]  # [candidates]
_BINS = 10


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive is above a negative, equal ones by half; both [n], at least one of each."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def abstention(found: Sequence[Similarities]) -> float:
    """How well the greatest similarity tells pools that have the true state from the same ones without it, as AUROC.

    At 0.5 it tells nothing, so that no threshold makes the model abstain where the truth is missing.
    """
    return auroc([float(each.max()) for each in found], [float(each[1:].max(initial=-1.0)) for each in found])


def calibration_error(found: Sequence[Similarities], temperature: float) -> float:
    """The expected calibration error of the candidate that is most similar, over ten bins of its probability.

    Probabilities are a softmax of similarities over `temperature`, as in the loss that they were learned by; among
    equally similar candidates it counts by which share of them is right.
    """
    sure, right = np.empty(len(found)), np.empty(len(found))
    for place, each in enumerate(found):
        weights = np.exp((each - each.max()) / temperature)
        best = each == each.max()
        sure[place], right[place] = weights.max() / weights.sum(), float(best[0]) / best.sum()
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float((sure - right)[bins == each].sum())) for each in range(_BINS)]
    return sum(gaps) / len(found)
