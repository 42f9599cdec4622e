"""Why a candidate was taken and not another one: the features that made the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgp.planning.rollout import Rollout, Step
from sgp.planning.views import Contrast, Embedding

FEATURES = 5  # that an explanation names
_PUT_IN_WORDS = 32  # of which equal words are found
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Reason:
    """A feature, its value for both candidates, and its share of the difference; values are None for several."""

    feature: str
    chosen: float | None
    other: float | None
    share: float


@dataclass(frozen=True)
class Explanation:
    """Why the chosen candidate rather than candidate `other` of a step.

    The shares of the reasons add up to the chosen one's measure ("cost", say) less the other's: what is below 0 speaks
    for the chosen one.
    """

    other: int
    measure: str
    reasons: tuple[Reason, ...]

    @property
    def difference(self) -> float:
        """The chosen candidate's measure less the other's."""
        return sum(reason.share for reason in self.reasons)

    def record(self) -> Mapping[str, Any]:
        """What a step's record holds of it."""
        why = [{**vars(reason), "share": float(f"{reason.share:.6g}")} for reason in self.reasons]
        return {"against": self.other, "measure": self.measure, "why": why}


def explain(rollout: Rollout, policy: object) -> list[Explanation | None]:
    """For each step why its candidate was taken rather than the best other open one.

    None where no other one was open or was rejected, and for a policy without an embedding.
    """
    if not isinstance(policy, Embedding):
        return [None] * len(rollout.steps)
    others = [runner_up(step) for step in rollout.steps]
    pairs = [
        replace(step, candidates=[step.candidates[place] for place in (step.chosen, *_some(other))], chosen=0)
        for step, other in zip(rollout.steps, others, strict=True)
    ]
    return [
        None if other is None else explained(policy.contrast(rollout.task, pair, view, 0, 1), other)
        for pair, view, other in zip(pairs, policy.views(rollout.task, pairs), others, strict=True)
    ]


def runner_up(step: Step) -> int | None:
    """The cheapest candidate that was open to choice beside the chosen one, the first of several."""
    costs = np.where(step.open_to_choice, step.costs, np.inf)
    costs[step.chosen] = np.inf
    best = int(np.argmin(costs))
    return best if np.isfinite(costs[best]) else None


def explained(contrast: Contrast, other: int) -> Explanation:
    """The features of the largest shares, those of equal words and values as one, then all others together."""
    telling = np.flatnonzero(np.abs(contrast.shares) > _NEGLIGIBLE)
    order = telling[np.argsort(-np.abs(contrast.shares[telling]), kind="stable")].tolist()
    put_in_words, rest = order[:_PUT_IN_WORDS], order[_PUT_IN_WORDS:]
    alike: dict[tuple[str, float, float], list[int]] = {}
    for column, words in zip(put_in_words, contrast.words(put_in_words), strict=True):
        alike.setdefault((words, float(contrast.first[column]), float(contrast.second[column])), []).append(column)
    named = sorted(alike, key=lambda said: -abs(contrast.shares[alike[said]].sum()))
    rest += [column for said in named[FEATURES:] for column in alike[said]]
    reasons = [Reason(*said, float(contrast.shares[alike[said]].sum())) for said in named[:FEATURES]]
    if rest:
        words = f"{len(rest)} further feature{'s' if len(rest) > 1 else ''} together"
        reasons.append(Reason(words, None, None, float(contrast.shares[rest].sum())))
    return Explanation(other, contrast.measure, tuple(reasons))


def _some(place: int | None) -> Sequence[int]:
    return () if place is None else (place,)
