"""Open goals: go where the fewest goals are open. Nothing is learned."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sgp.datasets.training_data import DataKind, Problems
from sgp.planning.policy import one_step
from sgp.planning.task import missing_goal_atoms
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.lowest_value import LowestValue


@dataclass(frozen=True)
class Nothing:
    """Nothing to configure."""


class Values:
    def refuses(self, task):
        return None

    def __call__(self, states):
        return np.array([len(missing_goal_atoms(task, each)) for task, some in states for each in some], np.float64)


class OpenGoals:
    key, title, paper, libraries = "open-goals", "Open goals", "", ()
    learns_from: DataKind = Problems
    variants: Mapping[str, Nothing] = {"all": Nothing()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(), "wide": BeamDecoding(beam=3)}

    def deterministic(self, training):
        return True

    def invariant(self, training):
        return True

    def train(self, training, data, draft):
        return self.load(None, self.decodings[DEFAULT])

    def load(self, run, decoding):
        return decoding.planner(LowestValue(Values()), one_step)


METHOD = OpenGoals()
