"""Policy that takes the candidate nearest to a predicted embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders import Embeddings, StateEncoder
from sgp.planning.clock import check_limits
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules
from sgp.planning.rollout import Step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, parts
from sgp.policies.embedding import Contrast, View

Metric = Literal["euclidean", "cosine"]
Mode = Literal["state", "delta"]  # prediction target: the next embedding, or its difference from the current one

_AT_ONCE = 64 << 20  # bytes of embeddings computed at once


# A function from the embeddings [B, D] of states and goals, and the memories of the previous nodes (None at the start),
# to next embeddings [B, D] and new memories.
Predictor = Callable[[Embeddings, Embeddings, Sequence[Any]], tuple[NDArray[np.floating[Any]], Sequence[Any]]]


@dataclass(frozen=True)
class RowPredictor:
    """Prediction from rows of state and goal by a model with `predict(rows)`, or `step(rows, hidden)` (an LSTM)."""

    model: Any
    mode: Mode

    def __call__(
        self, states: Embeddings, goals: Embeddings, carried: Sequence[Any]
    ) -> tuple[NDArray[np.floating[Any]], Sequence[Any]]:
        """Return next embeddings [B, D] and the new memories."""
        rows, recurrent = np.hstack([states, goals]), hasattr(self.model, "step")
        output, after = self.model.step(rows, list(carried)) if recurrent else (self.model.predict(rows), carried)
        predicted = states + output if self.mode == "delta" else output
        return (predicted if recurrent else predicted.astype(np.float32)), after


class _Memory(NamedTuple):
    """Memory of a node: the goal's embedding [D], and the predictor's memory."""

    goal: Embeddings
    carried: Any


@dataclass(frozen=True)
class NearestEmbedding:
    """Policy that costs a successor by its embedding's distance from the predicted one (state-centric, Algorithm 1)."""

    encoder: StateEncoder
    predictor: Predictor
    metric: Metric
    rules: Rules = ADD_UP
    embeds: Literal["states"] = "states"

    def refuses(self, task: Task) -> str | None:
        """Return why the encoder cannot encode the task, or None."""
        return self.encoder.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; candidates are embedded by task; the predictor is called once for all."""
        states, goals, predicted, carried = self._predict(nodes)
        rankings: list[Ranking | None] = [None] * len(nodes)
        for task, places in _by_task(nodes).items():
            size = states[places[0]].nbytes
            embedded: list[Iterable[Embeddings]]
            if size * sum(len(choices[place]) for place in places) <= _AT_ONCE:
                embedded = [[rows] for rows in self._embed(task, places, nodes, choices)]
            else:
                embedded = [self._embed_parts(nodes[place], choices[place], size) for place in places]
            for place, pieces in zip(places, embedded, strict=True):
                costs, keys = list[NDArray[np.float64]](), list[Hashable]()
                for rows in pieces:
                    costs.append(distances(self.metric, rows, predicted[place]))
                    keys += map(_digest, rows)
                memories = [_Memory(goals[place], carried[place])] * len(keys)
                rankings[place] = Ranking(np.concatenate(costs), keys, memories, {"predicted": predicted[place]})
        return [ranking for ranking in rankings if ranking is not None]

    def _predict(
        self, nodes: Sequence[Node]
    ) -> tuple[list[Embeddings], list[Embeddings], NDArray[np.floating[Any]], Sequence[Any]]:
        """Return each node's embedding and its goal's, the predictions [n, D], and the predictor's memories."""
        found: dict[int, Embeddings] = {}
        for task, places in _by_task(nodes).items():
            found.update(zip(places, self.encoder.embed(task, [nodes[place].state for place in places]), strict=True))
        states = [found[place] for place in range(len(nodes))]
        memories: list[_Memory] = [node.memory or _Memory(self.encoder.embed_goal(node.task), None) for node in nodes]
        goals = [memory.goal for memory in memories]
        carried = [memory.carried for memory in memories]
        return states, goals, *self.predictor(np.stack(states), np.stack(goals), carried)

    def embed(self, task: Task, states: Sequence[State]) -> Embeddings:
        """Return the embeddings [n, D] of states."""
        return self.encoder.embed(task, states)

    def unseen(self, task: Task, states: Sequence[State]) -> NDArray[np.float64] | None:
        """Return the share [n] of each state's features unseen in training; None without a vocabulary."""
        unseen: Callable[..., NDArray[np.float64]] | None = getattr(self.encoder, "unseen", None)
        return unseen(task, states) if unseen else None

    def sample(self, task: Task) -> dict[str, NDArray[np.floating[Any]]]:
        """Return the vectors [D] of initial state, goal and first prediction, used to verify a run."""
        state, goal = self.encoder.embed(task, [task.init]), self.encoder.embed_goal(task)[None]
        predicted, _ = self.predictor(state, goal, [None])
        return {"embedding": state[0], "goal": goal[0], "prediction": predicted[0]}

    def vectors(self, task: Task, steps: Sequence[Step]) -> Embeddings:
        """Return the embeddings [n, D] of the steps' states."""
        return self.encoder.embed(task, [step.state for step in steps])

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """Yield the vectors of a path's steps; the predictor's memory is carried along the path."""
        memory: _Memory | None = None
        for step in steps:
            node = Node(task, step.state, memory)
            (candidates,) = self._embed(task, [0], [node], [step.candidates])
            (state,), (goal,), (predicted,), (carried,) = self._predict([node])
            yield View(state, predicted, candidates)
            memory = _Memory(goal, carried)

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Compare two candidates per coordinate of the squared Euclidean or of the cosine distance."""
        assert view.predicted is not None
        one, two = view.candidates[[first, second]].astype(np.float64)
        shares = [_shares(self.metric, row, view.predicted.astype(np.float64)) for row in (one, two)]
        measure = "squared distance" if self.metric == "euclidean" else "cosine distance"
        return Contrast(measure, one, two, shares[0] - shares[1], lambda columns: self.encoder.in_words(task, columns))

    def _embed(
        self, task: Task, places: Sequence[int], nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]
    ) -> list[Embeddings]:
        """Return the embeddings [n, D] of the candidates of nodes of one task, computed in one batch."""
        rows = self.encoder.embed_candidates(
            task, [nodes[place].state for place in places], [choices[place] for place in places]
        )
        return np.split(rows, np.cumsum([len(choices[place]) for place in places])[:-1])

    def _embed_parts(self, node: Node, choice: Sequence[Successor], size: int) -> Iterator[Embeddings]:
        """Yield the embeddings of one node's candidates in parts of bounded memory; a row has `size` bytes."""
        for part in parts(choice, max(_AT_ONCE // max(size, 1), 1)):
            check_limits()
            yield self.encoder.embed_candidates(node.task, [node.state], [part])


def _by_task(nodes: Sequence[Node]) -> dict[Task, list[int]]:
    """Return the indices of each task's nodes."""
    places: dict[Task, list[int]] = {}
    for place, node in enumerate(nodes):
        places.setdefault(node.task, []).append(place)
    return places


def distances(
    metric: Metric, candidates: NDArray[np.floating[Any]], prediction: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Return distances [n] of candidates [n, D] from a prediction [D]; zero vectors have cosine distance 1."""
    rows, target = candidates.astype(np.float64), prediction.astype(np.float64)
    if metric == "euclidean":
        return np.asarray(np.linalg.norm(rows - target, axis=1))
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(target)
    return np.asarray(1.0 - np.divide(rows @ target, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def _shares(metric: Metric, row: NDArray[np.float64], prediction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each coordinate's share [D] of the squared distance, or of the cosine distance minus 1."""
    if metric == "euclidean":
        return np.asarray((row - prediction) ** 2)
    length = float(np.linalg.norm(row) * np.linalg.norm(prediction))
    return np.asarray(-row * prediction / length if length > 0 else np.zeros_like(row))


def _digest(row: Embeddings) -> Hashable:
    """Return a short hash of an embedding; storing the rows themselves as keys would exhaust memory."""
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()
