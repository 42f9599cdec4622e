"""Why a candidate was taken and not others: the features that made the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgp.planning.rollout import Rollout, Step, runners_up
from sgp.planning.views import Contrast, Embedding

FEATURES = 5  # that an explanation names
OTHERS = 4  # candidates of a step that its chosen one is explained against
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

    def record(self) -> dict[str, Any]:
        """What a step's record holds of it."""
        why = [{**vars(reason), "share": float(f"{reason.share:.6g}")} for reason in self.reasons]
        return {"against": self.other, "measure": self.measure, "why": why}


def explain(rollout: Rollout, policy: object) -> list[tuple[Explanation, ...]]:
    """For each step why its candidate was taken rather than the cheapest others that were open, the runner-up first.

    Empty where no other one was open, and for a policy without an embedding.
    """
    if not isinstance(policy, Embedding):
        return [()] * len(rollout.steps)
    others = [_others(step) for step in rollout.steps]
    cut = [
        replace(step, candidates=[step.candidates[place] for place in (step.chosen, *some)], chosen=0)
        for step, some in zip(rollout.steps, others, strict=True)
    ]
    return [
        tuple(
            explained(policy.contrast(rollout.task, step, view, 0, place), other)
            for place, other in enumerate(some, start=1)
        )
        for step, view, some in zip(cut, policy.views(rollout.task, cut), others, strict=True)
    ]


def explanation_records(rollout: Rollout, policy: object) -> list[dict[str, Any]]:
    """What the records of a rollout's steps hold of `explain`: that against the runner-up, and `others`."""
    found = []
    for explanations in explain(rollout, policy):
        first, others = explanations[:1], [each.record() for each in explanations[1:]]
        found.append({**(first[0].record() if first else {}), **({"others": others} if others else {})})
    return found


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


def _others(step: Step) -> Sequence[int]:
    return runners_up(step.costs.tolist(), step.open_to_choice.tolist(), step.chosen)[:OTHERS]
