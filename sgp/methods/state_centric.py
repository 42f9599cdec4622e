"""State-centric planning: predict the next state's embedding, take the nearest valid successor.

Source: "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric). A state and its goal
become a feature vector each; a model predicts the next state's vector (state mode) or the change of the vector
(delta mode); of the successors that the actions allow, the nearest is taken, so that every step is executable.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import TrainingData
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError
from sgp.methods.policies import Metric, NearestEmbedding, StateEncoder
from sgp.models.boosted_trees import BoostedTrees
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.training.boosting import BoostingConfig, fit_boosted_trees

Mode = Literal["state", "delta"]
METRICS: Mapping[Mode, Metric] = {"state": "cosine", "delta": "euclidean"}  # state-centric, Table 7

_ENCODER, _MODEL = "encoder.json", "model.ubj"


@dataclass(frozen=True)
class StateCentricConfig:
    """What is predicted, from which features, by which model, and how plans are decoded."""

    mode: Mode = "delta"  # predict the next embedding, or its difference from the present one
    wl: WLConfig = field(default_factory=WLConfig)
    boosting: BoostingConfig = field(default_factory=BoostingConfig)
    beam: int = 3  # nodes kept at each step (state-centric, Table 7)

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ConfigurationError(f"mode is '{self.mode}'; expected one of {', '.join(get_args(Mode))}")
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> StateCentricConfig:
        """The configuration that a run's record holds."""
        return cls(
            mode=record["mode"],
            wl=WLConfig(**record["wl"]),
            boosting=BoostingConfig(**record["boosting"]),
            beam=record["beam"],
        )


@dataclass(frozen=True)
class TreePredictor:
    """Predicts by boosted trees; every prediction depends on state and goal alone."""

    model: BoostedTrees
    mode: Mode

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Next embeddings [B, D]."""
        output = self.model.predict(np.hstack([states, goals]))
        return (states + output if self.mode == "delta" else output), carried


def transition_rows(
    encoder: StateEncoder, trajectories: Sequence[Trajectory], mode: Mode
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rows [n, 2D] of state and goal embeddings, and targets [n, D]: the next embedding or the difference to it."""
    rows, targets = [], []
    for trajectory in trajectories:
        if len(trajectory) == 0:
            continue
        states = encoder.embed(trajectory.task, trajectory.states)
        goal = np.broadcast_to(encoder.embed_goal(trajectory.task), states[1:].shape)
        rows.append(np.hstack([states[:-1], goal]))
        targets.append(states[1:] - states[:-1] if mode == "delta" else states[1:])
    return np.vstack(rows), np.vstack(targets)


class StateCentric:
    """The method of the state-centric paper."""

    key = "state-centric"
    title = "State-centric planning"
    paper = "state-centric"
    variants: Mapping[str, StateCentricConfig] = {
        "wl-xgboost-delta": StateCentricConfig(mode="delta"),
        "wl-xgboost-state": StateCentricConfig(mode="state"),
    }

    def deterministic(self, config: StateCentricConfig) -> bool:
        """Boosting samples nothing."""
        return True

    def train(self, config: StateCentricConfig, data: TrainingData, draft: RunDraft) -> Planner:
        """Collects the WL vocabulary on the training states and fits the trees, stopping early on validation."""
        started = time.perf_counter()
        encoder = WLEncoder.fit(config.wl, ((each.task, each.states) for each in data.train))
        model = fit_boosted_trees(
            config.boosting,
            transition_rows(encoder, data.train, config.mode),
            transition_rows(encoder, data.validation, config.mode),
            seed=draft.key.seed,
            device="cuda" if draft.device == "cuda" else "cpu",
            title=f"train {data.domain} {draft.key.variant}",
        )
        encoder.save(draft.folder / _ENCODER)
        model.save(draft.folder / _MODEL)
        draft.facts.update(
            dimension=encoder.dimension,
            rounds=model.rounds,
            nodes=model.count_nodes(),
            seconds=round(time.perf_counter() - started, 3),
        )
        policy = self._policy(config, encoder, model)
        draft.keep_check(data.train[0].task.problem, policy.sample(data.train[0].task))
        return Planner(policy, width=config.beam)

    def load(self, run: Run) -> Planner:
        """The planner of a run, verified to predict what it predicted when it was trained."""
        run.require_version("wlplan")
        encoder = WLEncoder.load(run.folder / _ENCODER, run.domain_text)
        model = BoostedTrees.load(run.folder / _MODEL, run.record["facts"]["rounds"])
        config = StateCentricConfig.from_record(run.config)
        policy = self._policy(config, encoder, model)
        run.verify(policy.sample(Task(run.check_problem)))
        return Planner(policy, width=config.beam)

    def _policy(self, config: StateCentricConfig, encoder: WLEncoder, model: BoostedTrees) -> NearestEmbedding:
        return NearestEmbedding(encoder, TreePredictor(model, config.mode), METRICS[config.mode])


METHODS = (StateCentric(),)
