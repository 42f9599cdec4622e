"""Another weight for a feature: the planner that training would have made, had it learned so many times the weight."""

from __future__ import annotations

import math
from dataclasses import replace

from sgp.analysis.blame import columns_of
from sgp.errors import ConfigurationError
from sgp.planning.planner import Planner
from sgp.planning.rollout import Rollout
from sgp.policies.nearest_transition import NearestTransition


def reweighted(planner: Planner, rollout: Rollout, place: int, other: int, feature: str, factor: float) -> Planner:
    """The planner with the weight of a feature times `factor`: 0 takes it away, -1 turns it around.

    `feature` is one of the words that explain the choice of step `place` (from 0) against candidate `other`; all
    features that read so there are meant, as in `blame`. Raises InputError for words that set nothing apart there,
    ConfigurationError for a planner whose features have no weights and for a factor that is no finite number.
    """
    if not math.isfinite(factor):
        raise ConfigurationError(f"the factor is {factor}; expected a finite number")
    policy = planner.policy
    if not isinstance(policy, NearestTransition):
        raise ConfigurationError(
            f"the features of a {type(policy).__name__} have no weights; expected a run of contrastive-jumps"
        )
    return replace(planner, policy=policy.reweighted(columns_of(policy, rollout, place, other, feature), factor))
