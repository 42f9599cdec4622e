"""Blame: the training states that gave a feature its weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sgp.datasets.runs import Run
from sgp.datasets.training_data import Demonstrations
from sgp.errors import ConfigurationError, InputError
from sgp.methods import get_method
from sgp.methods.contract import Accountable, Decision
from sgp.planning.rollout import Rollout
from sgp.planning.views import Embedding
from sgp.policies.nearest_transition import goal_share

MOST = 6  # decisions that are named, of each sign together


@dataclass(frozen=True, eq=False)
class Culprit:
    """A decision of training, and how much of the feature's weight it gave: above 0 where it made it likelier."""

    decision: Decision
    amount: float


@dataclass(frozen=True, eq=False)
class Blame:
    """Who gave a feature its weight in a state: those of the largest amounts, and how many decisions there are.

    `told` is the sum over all decisions, which differs from `weight` by as much as the fit was ended early.
    """

    feature: str
    weight: float
    told: float
    culprits: tuple[Culprit, ...]
    decisions: int


def blame(
    run: Run,
    policy: object,
    data: Demonstrations,
    rollout: Rollout,
    place: int,
    other: int,
    feature: str,
    most: int = MOST,
) -> Blame:
    """The decisions of training that gave a feature its weight, as it sets apart two candidates of a rollout's step.

    They are the chosen one of step `place` (from 0) and candidate `other`; `feature` is one of the words that explain
    the choice, which can stand for several features that read alike. `policy` is the run's own, `data` what it was
    trained on.
    Raises InputError for words that set nothing apart there, ConfigurationError for a run whose weights are no sums
    over decisions.
    """
    method = get_method(run.key.method)
    if not isinstance(method, Accountable) or not isinstance(policy, Embedding):
        raise ConfigurationError(
            f"the weights of {run.key.method} are no sums over training decisions; expected a run of contrastive-jumps"
        )
    step = rollout.steps[place]
    pair = replace(step, candidates=[step.candidates[each] for each in (step.chosen, other)], chosen=0)
    (view,) = policy.views(rollout.task, [pair])
    contrast = policy.contrast(rollout.task, pair, view, 0, 1)
    telling = np.flatnonzero(contrast.first != contrast.second).tolist()
    columns = [column for column, words in zip(telling, contrast.words(telling), strict=True) if words == feature]
    if not columns:
        raise InputError(
            f"'{feature}' does not set these candidates of step {place + 1} apart; expected words of an explanation"
        )
    weighed = method.weighed(run, data, columns)
    by_row = np.array([1.0, goal_share(rollout.task, step.state)])[: len(weighed.weights)]
    amounts = (weighed.amounts * by_row[None, :, None]).sum(axis=(1, 2))
    order = np.argsort(-np.abs(amounts), kind="stable")[:most].tolist()
    return Blame(
        feature,
        float((weighed.weights * by_row[:, None]).sum()),
        float(amounts.sum()),
        tuple(Culprit(weighed.decisions[each], float(amounts[each])) for each in order if amounts[each]),
        len(amounts),
    )
