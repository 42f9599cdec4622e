"""Two trivial predictors that every report shows beside the learned ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import TrainingData
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import NearestEmbedding
from sgp.policies.random_successor import RandomSuccessor

_ENCODER = "encoder.json"


@dataclass(frozen=True)
class ZeroChangeConfig:
    """The features in which nothing is predicted to change, and the beam of the method it is compared with."""

    wl: WLConfig = field(default_factory=WLConfig)
    beam: int = 3  # state-centric, Table 7


def _unchanged(
    states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
) -> tuple[NDArray[np.float32], Sequence[Any]]:
    return states, carried


class ZeroChange:
    """Predicts that the state's embedding does not change, and takes the nearest successor."""

    key = "zero-change"
    title = "Zero change"
    paper = ""
    variants: Mapping[str, ZeroChangeConfig] = {"wl": ZeroChangeConfig()}

    def deterministic(self, config: ZeroChangeConfig) -> bool:
        """Nothing is drawn."""
        return True

    def invariant(self, config: ZeroChangeConfig) -> bool:
        """WL colours know no names."""
        return True

    def train(self, config: ZeroChangeConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Collects the WL vocabulary; there is nothing else to learn."""
        encoder = WLEncoder.fit(config.wl, ((each.task, each.states) for each in data.train))
        encoder.save(draft.folder / _ENCODER)
        policy = NearestEmbedding(encoder, _unchanged, "euclidean")
        draft.facts.update(dimension=encoder.dimension)
        draft.keep_check(data.train[0].task.problem, policy.sample(data.train[0].task))
        return Planner(policy, width=config.beam)

    def load(self, run: Run) -> Planner:
        """The planner of a run."""
        run.require_version("wlplan")
        encoder = WLEncoder.load(run.folder / _ENCODER, run.domain_text)
        policy = NearestEmbedding(encoder, _unchanged, "euclidean")
        run.verify(policy.sample(Task(run.check_problem)))
        return Planner(policy, width=run.config["beam"])


@dataclass(frozen=True)
class RandomSuccessorConfig:
    """Nothing to configure."""


class RandomWalk:
    """Takes a random successor that was not visited."""

    key = "random-successor"
    title = "Random successor"
    paper = ""
    variants: Mapping[str, RandomSuccessorConfig] = {"unvisited": RandomSuccessorConfig()}

    def deterministic(self, config: RandomSuccessorConfig) -> bool:
        """Every seed walks another way."""
        return False

    def invariant(self, config: RandomSuccessorConfig) -> bool:
        """The costs are drawn in the order of the candidates."""
        return False

    def train(self, config: RandomSuccessorConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Nothing to learn."""
        return Planner(RandomSuccessor(draft.key.seed))

    def load(self, run: Run) -> Planner:
        """The planner with the run's seed."""
        return Planner(RandomSuccessor(run.key.seed))


METHODS = (ZeroChange(), RandomWalk())
