"""Weight attribution: which training decisions gave a feature its weight (representer points), and other weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgp.datasets.runs import Run
from sgp.datasets.training_data import Demonstrations
from sgp.errors import ConfigurationError, InputError
from sgp.methods import get_method
from sgp.methods.contract import SupportsAttribution
from sgp.planning.planner import Planner
from sgp.planning.policy import Embedding
from sgp.planning.rollout import Rollout, Step
from sgp.policies.nearest_transition import NearestTransition, goal_share
from sgp.training.labels import Labelled

MOST = 6  # decisions that are listed


@dataclass(frozen=True, eq=False)
class TrainingInfluence:
    """A training decision and its contribution to a feature's weight, positive where it raised the weight.

    `right` and `wrong` are the indices of a right and a wrong candidate that differ most in the feature, in the
    direction of the amount's sign.
    """

    decision: Labelled
    amount: float
    right: int
    wrong: int


@dataclass(frozen=True, eq=False)
class WeightAttribution:
    """The training decisions that contribute most to a feature's weight in a state, and the number of all decisions.

    `attributed` is the sum over all decisions; it differs from `weight` as far as the fit had not converged.
    """

    feature: str
    weight: float
    attributed: float
    influences: tuple[TrainingInfluence, ...]
    decisions: int


def attribute_weight(
    run: Run,
    policy: object,
    data: Demonstrations,
    rollout: Rollout,
    place: int,
    other: int,
    feature: str,
    most: int = MOST,
) -> WeightAttribution:
    """The training decisions that produced the weight of a feature that distinguishes two candidates of a step.

    They are the chosen candidate of step `place` (from 0) and candidate `other`; `feature` is a text of the
    explanation, which can represent several features with the same text.
    """
    method = attributable(run)
    assert isinstance(policy, Embedding)
    columns = columns_of(policy, rollout, place, other, feature)
    parts = method.weight_contributions(run, data, columns)
    by_row = np.array([1.0, goal_share(rollout.task, rollout.steps[place].state)])[: len(parts.weights)]
    amounts = (parts.amounts * by_row[None, :, None]).sum(axis=(1, 2))
    order = np.argsort(-np.abs(amounts), kind="stable")[:most].tolist()
    largest = [(parts.decisions[each], float(amounts[each])) for each in order if amounts[each]]
    return WeightAttribution(
        feature,
        float((parts.weights * by_row[:, None]).sum()),
        float(amounts.sum()),
        tuple(_influence(policy, decision, amount, columns) for decision, amount in largest),
        len(amounts),
    )


def attributable(run: Run) -> SupportsAttribution:
    """The method of a run whose weights are sums over decisions. Raises ConfigurationError for other runs."""
    method = get_method(run.key.method)
    if not isinstance(method, SupportsAttribution):
        raise ConfigurationError(
            f"the weights of {run.key.method} are not sums over training decisions; expected a run of contrastive-jumps"
        )
    return method


def columns_of(policy: Embedding, rollout: Rollout, place: int, other: int, feature: str) -> list[int]:
    """The columns of the embedding with the text `feature` that differ between the candidates of `attribute_weight`."""
    step = rollout.steps[place]
    pair = replace(step, candidates=[step.candidates[each] for each in (step.chosen, other)], chosen=0)
    (view,) = policy.views(rollout.task, [pair])
    contrast = policy.contrast(rollout.task, pair, view, 0, 1)
    telling = np.flatnonzero(contrast.first != contrast.second).tolist()
    columns = [column for column, words in zip(telling, contrast.words(telling), strict=True) if words == feature]
    if not columns:
        raise InputError(
            f"'{feature}' does not distinguish these candidates of step {place + 1}; choose a feature of an explanation"
        )
    return columns


def _influence(policy: Embedding, decision: Labelled, amount: float, columns: Sequence[int]) -> TrainingInfluence:
    """A decision with the candidates that show its amount best."""
    count = len(decision.choice)
    step = Step(decision.state, list(decision.choice), np.zeros(count), None, np.zeros(count, np.uint8), 0)
    (view,) = policy.views(decision.task, [step])
    values = np.sign(amount) * view.candidates[:, columns].sum(axis=1)
    right = int(np.argmax(np.where(decision.positive, values, -np.inf)))
    return TrainingInfluence(decision, amount, right, int(np.argmin(np.where(decision.positive, np.inf, values))))


def reweighted(planner: Planner, rollout: Rollout, place: int, other: int, feature: str, factor: float) -> Planner:
    """The planner with the weight of a feature times `factor`: 0 removes the feature, -1 flips its sign."""
    if not math.isfinite(factor):
        raise ConfigurationError(f"the factor is {factor}; expected a finite number")
    policy = planner.policy
    if not isinstance(policy, NearestTransition):
        raise ConfigurationError(
            f"the features of a {type(policy).__name__} have no weights; expected a run of contrastive-jumps"
        )
    return replace(planner, policy=policy.reweighted(columns_of(policy, rollout, place, other, feature), factor))
