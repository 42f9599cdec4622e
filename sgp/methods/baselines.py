"""Trivial planners, shown in every report as baselines: random successors, and the prediction of no change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders import Embeddings
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.methods.configuration import from_record
from sgp.methods.contract import NoTraining, UntrainedMethod, WLMethod
from sgp.planning.planner import Planner
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, one_step
from sgp.planning.task import Successor, Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.nearest_embedding import NearestEmbedding


@dataclass(frozen=True)
class RandomSuccessor:
    """Random costs that depend only on seed, problem and path length, not on problems solved at the same time."""

    seed: int
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return None: every task is accepted."""
        return None

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return uniform random costs."""
        streams = ([self.seed, int(node.task.problem.sha256[:16], 16), node.length] for node in nodes)
        return [
            Ranking(np.random.default_rng(stream).random(len(choice)))
            for stream, choice in zip(streams, choices, strict=True)
        ]


_ENCODER = "encoder.json"


class RandomWalk(UntrainedMethod):
    """Method whose planner takes a random unvisited successor."""

    key = "random-successor"
    variants: Mapping[str, NoTraining] = {"unvisited": NoTraining()}

    def planner(self, decoding: BeamDecoding, seed: int) -> Planner:
        """Return a planner whose costs are drawn from the seed."""
        return decoding.planner(RandomSuccessor(seed), one_step)


@dataclass(frozen=True)
class ZeroChangeTraining:
    """The features that are predicted not to change."""

    wl: WLConfig = field(default_factory=WLConfig)


def _unchanged(states: Embeddings, goals: Embeddings, carried: Sequence[Any]) -> tuple[NDArray[Any], Sequence[Any]]:
    return states, carried


class ZeroChange(WLMethod):
    """Predictor of an unchanged embedding; its planner takes the nearest successor."""

    key = "zero-change"
    learns_from = Demonstrations
    variants: Mapping[str, ZeroChangeTraining] = {"wl": ZeroChangeTraining()}
    # The beam of the compared method (state-centric, Table 7).
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(3), "greedy": BeamDecoding()}

    def train(self, training: ZeroChangeTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Collect the WL vocabulary; nothing else is learned."""
        encoder = WLEncoder.fit(training.wl, ((each.task, each.states) for each in data.train))
        encoder.save(draft.folder / _ENCODER)
        policy = NearestEmbedding(encoder, _unchanged, "euclidean")
        draft.facts.update(dimension=encoder.dimension)
        draft.keep_check(data.train[0].task.problem, policy.sample(data.train[0].task))
        return self.decodings[DEFAULT].planner(policy, one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner of a run, verified against the predictions stored in the run."""
        from_record(ZeroChangeTraining, run.training)
        encoder = WLEncoder.load(run.folder / _ENCODER, run.domain_text)
        policy = NearestEmbedding(encoder, _unchanged, "euclidean")
        run.verify(policy.sample(Task(run.check_problem)))
        return decoding.planner(policy, one_step)


METHODS = {method.key: method for method in (RandomWalk(), ZeroChange())}
