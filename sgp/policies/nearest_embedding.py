"""The policy that takes the candidate nearest to a predicted embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.contract import Embeddings, StateEncoder
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules
from sgp.planning.rollout import Step
from sgp.planning.task import State, Successor, Task
from sgp.planning.views import Contrast, View

Metric = Literal["euclidean", "cosine"]


@runtime_checkable
class Vocabulary(Protocol):
    """An encoder whose features come from training, and who tells what it does not know."""

    def unseen(self, task: Task, states: Sequence[State]) -> NDArray[np.float64]:
        """The share [n] of each state's features that training never saw."""
        ...


class Predictor(Protocol):
    """Predicts next embeddings [B, D] from states' and goals' embeddings [B, D] each.

    `carried` has what the prediction for the node before left behind (None at the start); the second result is what
    this one leaves.
    """

    def __call__(
        self, states: Embeddings, goals: Embeddings, carried: Sequence[Any]
    ) -> tuple[NDArray[np.floating[Any]], Sequence[Any]]:
        """Next embeddings [B, D], and what each prediction leaves behind."""
        ...


class _Memory(NamedTuple):
    """What a node carries: its own embedding [D], the goal's [D], and what the predictor left behind."""

    state: Embeddings
    goal: Embeddings
    carried: Any


class _Memories(Sequence[_Memory]):
    """The memory of each candidate, made when it is asked for: most candidates never become nodes."""

    def __init__(self, candidates: Embeddings, goal: Embeddings, carried: Any):
        self._candidates, self._goal, self._carried = candidates, goal, carried

    def __len__(self) -> int:
        return len(self._candidates)

    def __getitem__(self, index: Any) -> Any:
        # A copy: a view would keep the embeddings of all candidates alive along the whole path.
        return _Memory(self._candidates[index].copy(), self._goal, self._carried)


@dataclass(frozen=True)
class NearestEmbedding:
    """Costs a successor by the distance of its embedding from the predicted one (state-centric, Algorithm 1).

    Successors of equal embedding have equal keys.
    """

    encoder: StateEncoder
    predictor: Predictor
    metric: Metric
    rules: Rules = ADD_UP
    embeds: Literal["states"] = "states"

    def refuses(self, task: Task) -> str | None:
        """What the encoder says."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node: candidates are embedded task by task, one prediction is made for all nodes."""
        memories, embedded = self._embed(nodes, choices)
        predicted, carried = self.predictor(
            np.stack([memory.state for memory in memories]),
            np.stack([memory.goal for memory in memories]),
            [memory.carried for memory in memories],
        )
        return [
            Ranking(
                costs=distances(self.metric, candidates, prediction),
                keys=[_digest(row) for row in candidates],
                memories=_Memories(candidates, memory.goal, left),
                note={"predicted": prediction},
            )
            for memory, candidates, prediction, left in zip(memories, embedded, predicted, carried, strict=True)
        ]

    def unseen(self, task: Task, states: Sequence[State]) -> NDArray[np.float64] | None:
        """The share [n] of each state's features that training never saw; None for an encoder without a vocabulary."""
        return self.encoder.unseen(task, states) if isinstance(self.encoder, Vocabulary) else None

    def sample(self, task: Task) -> dict[str, NDArray[np.floating[Any]]]:
        """The vectors [D] of a task's initial state and goal and the first prediction, by which a run is verified."""
        state, goal = self.encoder.embed(task, [task.init]), self.encoder.embed_goal(task)[None]
        predicted, _ = self.predictor(state, goal, [None])
        return {"embedding": state[0], "goal": goal[0], "prediction": predicted[0]}

    def vectors(self, task: Task, steps: Sequence[Step]) -> Embeddings:
        """The vectors [n, D] of the steps' states."""
        return self.encoder.embed(task, [step.state for step in steps])

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """The vectors of a path's steps; what the predictor carries is carried along the path."""
        memory: _Memory | None = None
        for step in steps:
            (here,), (candidates,) = self._embed([Node(task, step.state, memory)], [step.candidates])
            (predicted,), (carried,) = self.predictor(here.state[None], here.goal[None], [here.carried])
            yield View(here.state, predicted, candidates)
            memory = _Memory(candidates[step.chosen], here.goal, carried)

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Coordinate by coordinate: of the squared Euclidean distance, or of the cosine distance."""
        assert view.predicted is not None
        one, two = view.candidates[[first, second]].astype(np.float64)
        shares = [_shares(self.metric, row, view.predicted.astype(np.float64)) for row in (one, two)]
        return Contrast(
            measure="squared distance" if self.metric == "euclidean" else "cosine distance",
            first=one,
            second=two,
            shares=shares[0] - shares[1],
            words=lambda columns: self.encoder.in_words(task, columns),
        )

    def _embed(
        self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]
    ) -> tuple[list[_Memory], list[Embeddings]]:
        """Each node's memory and the embeddings [n, D] of its candidates, task by task."""
        memories: list[_Memory | None] = [node.memory for node in nodes]
        embedded: list[Embeddings] = [np.empty(0, np.float32)] * len(nodes)
        places: dict[Task, list[int]] = {}
        for place, node in enumerate(nodes):
            places.setdefault(node.task, []).append(place)
        for task, of_task in places.items():
            for place in of_task:
                if memories[place] is None:
                    (own,) = self.encoder.embed(task, [nodes[place].state])
                    memories[place] = _Memory(own, self.encoder.embed_goal(task), None)
            rows = self.encoder.embed_candidates(
                task, [nodes[place].state for place in of_task], [choices[place] for place in of_task]
            )
            ends = np.cumsum([len(choices[place]) for place in of_task])
            for place, candidates in zip(of_task, np.split(rows, ends[:-1]), strict=True):
                embedded[place] = candidates
        return [memory for memory in memories if memory is not None], embedded


def distances(
    metric: Metric, candidates: NDArray[np.floating[Any]], prediction: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Distances [n] of candidates [n, D] from a prediction [D]; a zero vector is at cosine distance 1 from all."""
    rows, target = candidates.astype(np.float64), prediction.astype(np.float64)
    if metric == "euclidean":
        return np.asarray(np.linalg.norm(rows - target, axis=1))
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(target)
    return np.asarray(1.0 - np.divide(rows @ target, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def _shares(metric: Metric, row: NDArray[np.float64], prediction: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each coordinate [D] adds to the squared distance, or takes from the cosine distance, of 1 without any."""
    if metric == "euclidean":
        return np.asarray((row - prediction) ** 2)
    length = float(np.linalg.norm(row) * np.linalg.norm(prediction))
    return np.asarray(-row * prediction / length if length > 0 else np.zeros_like(row))


def _digest(row: Embeddings) -> Hashable:
    """A short name for an embedding; keeping the rows themselves as keys would fill the memory."""
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()
