"""Why a planner works or fails, measured on the states of expert plans."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sgp.evaluation.scores import Measurement, Score
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Policy, Ranking
from sgp.planning.rollout import tie_margin
from sgp.planning.task import State, Successor, Task
from sgp.planning.trajectory import Trajectory

OVER_SIZE = ("expert_top1", "unseen")


class _Encoder(Protocol):
    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.float32]: ...


class EmbeddingPolicy(Policy, Protocol):
    """A policy that predicts an embedding and takes the nearest successor."""

    @property
    def encoder(self) -> _Encoder:
        """What embeds states."""
        ...

    @property
    def predictor(self) -> Any:
        """What predicts the next embedding."""
        ...


@dataclass(frozen=True)
class ExpertDecision:
    """One expert decision as a policy sees it.

    `rank` is that of the expert's successor among the candidates that the policy can tell apart, 1 for the best;
    within a tie of several the mean of their ranks. `top1` and `top3` are chances, ties broken evenly. `candidates`
    counts different successor states, `distinguishable` those that the policy can tell apart.
    """

    problem: str
    size: int
    step: int
    rank: float
    top1: float
    top3: float
    candidates: int
    distinguishable: int


def decisions(planner: Planner, trajectories: Sequence[Trajectory]) -> list[ExpertDecision]:
    """Every decision of the trajectories, as the planner meets it on the expert's path.

    States that the path visited are no candidates, and the policy's memory is carried along. Problems that the policy
    refuses are left out. Trajectories advance in lockstep, so that the policy is called on batches.
    """
    return [_decision(met.node, met.choice, met.ranking, met.expert) for met in along_experts(planner, trajectories)]


@dataclass(frozen=True, eq=False)
class Met:
    """A decision on an expert's path: the node, its candidates, how they are ranked, and which one the expert takes."""

    trajectory: Trajectory
    node: Node
    choice: Sequence[Successor]
    ranking: Ranking
    expert: int


def along_experts(planner: Planner, trajectories: Sequence[Trajectory]) -> Iterator[Met]:
    """Every decision that a planner meets on the paths of experts, as `decisions` says."""
    waiting = [each for each in trajectories if len(each) and planner.policy.refuses(each.task) is None]
    for start in range(0, len(waiting), planner.batch):
        paths = [_Path(each) for each in waiting[start : start + planner.batch]]
        while paths:
            choices = [each.choices(planner) for each in paths]
            rankings = planner.policy.rank([each.node for each in paths], choices)
            for each, choice, ranking in zip(paths, choices, rankings, strict=True):
                yield each.follow(choice, ranking)
            paths = [each for each in paths if each.node.length < len(each.trajectory)]


class _Path:
    """An expert's trajectory and how far it was followed."""

    def __init__(self, trajectory: Trajectory):
        self.trajectory = trajectory
        self.node = Node(trajectory.task, trajectory.task.init)

    def choices(self, planner: Planner) -> list[Successor]:
        """The candidates that were not visited, the expert's in any case: its plan may have loops."""
        visited = set(self.trajectory.states[: self.node.length + 1]) - {self.trajectory.states[self.node.length + 1]}
        return [each for each in planner.successors(self.node.task, self.node.state) if each.state not in visited]

    def follow(self, choice: Sequence[Successor], ranking: Ranking) -> Met:
        """The decision, and a step along the expert's path."""
        node, after = self.node, self.trajectory.states[self.node.length + 1]
        place = [each.state for each in choice].index(after)
        self.node = Node(
            task=node.task,
            state=after,
            memory=None if ranking.memories is None else ranking.memories[place],
            cost=node.cost + float(ranking.costs[place]),
            arrived=choice[place],
            before=node,
            length=node.length + 1,
        )
        return Met(self.trajectory, node, choice, ranking, place)


def _decision(node: Node, choice: Sequence[Successor], ranking: Ranking, expert: int) -> ExpertDecision:
    keys: Sequence[Hashable] = [each.state for each in choice] if ranking.keys is None else ranking.keys
    cheapest: dict[Hashable, float] = {}
    for key, cost in zip(keys, ranking.costs.tolist(), strict=True):
        cheapest[key] = min(cost, cheapest.get(key, np.inf))
    costs, own = np.array(list(cheapest.values())), cheapest[keys[expert]]
    margin = tie_margin(own) if np.isfinite(own) else 0.0
    better = int((costs < own - margin).sum())
    tied = int((costs <= own + margin).sum()) - better
    return ExpertDecision(
        problem=node.task.name,
        size=node.task.size,
        step=node.length,
        rank=better + (tied + 1) / 2,
        top1=float(np.clip((1 - better) / tied, 0.0, 1.0)),
        top3=float(np.clip((3 - better) / tied, 0.0, 1.0)),
        candidates=len({each.state for each in choice}),
        distinguishable=len(cheapest),
    )


@dataclass(frozen=True)
class PerfectPredictor:
    """Predicts the embeddings [T + 1, D] of an expert's states, one after the other, whatever state is reached."""

    embeddings: NDArray[np.float32]

    def __call__(
        self, states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
    ) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """The next embeddings [B, D]; what is carried is the number of steps."""
        steps = [1 if each is None else each + 1 for each in carried]
        return self.embeddings[np.minimum(steps, len(self.embeddings) - 1)], steps


def perfect_prediction(planner: Planner, trajectories: Iterable[Trajectory]) -> dict[str, bool]:
    """Which problems (by SHA-256) are solved greedily when every prediction is the expert's next embedding.

    What is lost here is lost by features and decoding; what is lost beyond is the prediction's. The planner's policy
    must predict embeddings.
    """
    policy = cast(EmbeddingPolicy, planner.policy)
    found = {}
    for trajectory in trajectories:
        if policy.refuses(trajectory.task) is not None:
            found[trajectory.task.problem.sha256] = False
            continue
        embeddings = policy.encoder.embed(trajectory.task, trajectory.states)
        perfect = replace(cast(Any, policy), predictor=PerfectPredictor(embeddings))
        rollout = Planner(perfect, planner.successors).solve(trajectory.task)
        found[trajectory.task.problem.sha256] = rollout.solved
    return found


def predicts_embeddings(policy: object) -> bool:
    """Whether a policy is one that predicts an embedding, as `perfect_prediction` needs."""
    return is_dataclass(policy) and hasattr(policy, "predictor") and hasattr(policy, "encoder")


def unseen_features(policy: Policy, trajectories: Iterable[Trajectory]) -> dict[str, float] | None:
    """For each problem (by SHA-256) the mean share of its states' features that training never saw.

    None where the policy's encoder has no vocabulary.
    """
    share = getattr(getattr(policy, "encoder", None), "unseen", None)
    if share is None:
        return None
    return {
        trajectory.task.problem.sha256: float(np.mean(share(trajectory.task, trajectory.states)))
        for trajectory in trajectories
    }


def diagnose(planner: Planner, subject: Measurement, trajectories: Sequence[Trajectory]) -> list[Score]:
    """The metrics of DIAGNOSTICS for a whole split, OVER_SIZE for each size; `count` is of decisions or of problems."""
    sizes = {trajectory.task.problem.sha256: trajectory.task.size for trajectory in trajectories}
    made = decisions(planner, trajectories)
    unseen = unseen_features(planner.policy, trajectories)
    perfect = perfect_prediction(planner, trajectories) if predicts_embeddings(planner.policy) else None
    scores: list[Score] = []
    for size in (None, *sorted(set(sizes.values()))):

        def add(metric: str, values: Sequence[float], size: int | None = size) -> None:
            if values and (size is None or metric in OVER_SIZE):
                value = float(np.mean(values))
                scores.append(Score(**vars(subject), size=size, metric=metric, value=value, count=len(values)))

        of_size = [each for each in made if size in (None, each.size)]
        add("expert_rank", [each.rank for each in of_size])
        add("expert_top1", [each.top1 for each in of_size])
        add("expert_top3", [each.top3 for each in of_size])
        if of_size and size is None:
            states = sum(each.candidates for each in of_size)
            share = 1 - sum(each.distinguishable for each in of_size) / states
            scores.append(
                Score(**vars(subject), size=size, metric="indistinguishable", value=share, count=len(of_size))
            )
        for metric, found in (("unseen", unseen), ("perfect_coverage", perfect)):
            if found is not None:
                add(metric, [float(value) for sha256, value in found.items() if size in (None, sizes[sha256])])
    return scores
