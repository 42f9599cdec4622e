"""Random successor: a trivial planner, shown in every report as a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Problems
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.random_successor import RandomSuccessor


@dataclass(frozen=True)
class RandomSuccessorTraining:
    """Empty configuration."""


class RandomWalk:
    """Method whose planner takes a random unvisited successor."""

    key = "random-successor"
    title = "Random successor"
    paper = ""
    libraries: Sequence[str] = ()
    learns_from = Problems
    variants: Mapping[str, RandomSuccessorTraining] = {"unvisited": RandomSuccessorTraining()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}

    def deterministic(self, training: RandomSuccessorTraining) -> bool:
        """Return False: every seed gives another walk."""
        return False

    def invariant(self, training: RandomSuccessorTraining) -> bool:
        """Return False: costs are drawn in the order of the candidates."""
        return False

    def train(self, training: RandomSuccessorTraining, data: Problems, draft: RunDraft) -> Planner:
        """Return the planner; nothing is learned."""
        return self.decodings[DEFAULT].planner(RandomSuccessor(draft.key.seed), one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner with the run's seed."""
        return decoding.planner(RandomSuccessor(run.key.seed), one_step)


METHOD = RandomWalk()
