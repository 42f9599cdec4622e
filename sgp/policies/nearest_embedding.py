"""The policy that takes the candidate nearest to a predicted embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.contract import Embeddings, StateEncoder
from sgp.planning.candidates import parts
from sgp.planning.clock import look
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules
from sgp.planning.rollout import Step
from sgp.planning.task import State, Successor, Task
from sgp.planning.views import Contrast, View

Metric = Literal["euclidean", "cosine"]

_AT_ONCE = 64 << 20  # bytes of embeddings that are made together
_KEPT = 256 << 20  # bytes of embeddings of one call that are kept for what is chosen; beyond, that is embedded again


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
    """What a node carries: its own embedding [D], the goal's [D], and what the predictor left behind.

    The embedding is None where candidates were too many to keep theirs.
    """

    state: Embeddings | None
    goal: Embeddings
    carried: Any


class _Known(NamedTuple):
    """The same with the embedding made."""

    state: Embeddings
    goal: Embeddings
    carried: Any


class _Memories(Sequence[_Memory]):
    """The memory of each candidate, made when it is asked for: most candidates never become nodes."""

    def __init__(self, count: int, candidates: Embeddings | None, goal: Embeddings, carried: Any):
        self._count, self._candidates, self._goal, self._carried = count, candidates, goal, carried

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        # A copy: a view would keep the embeddings of all candidates alive along the whole path.
        own = None if self._candidates is None else self._candidates[index].copy()
        return _Memory(own, self._goal, self._carried)


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
        memories = self._remembered(nodes)
        predicted, carried = self.predictor(
            np.stack([memory.state for memory in memories]),
            np.stack([memory.goal for memory in memories]),
            [memory.carried for memory in memories],
        )
        rankings: list[Ranking | None] = [None] * len(nodes)
        room = _KEPT
        for task, places in _by_task(nodes).items():
            size = memories[places[0]].state.nbytes
            whole = size * sum(len(choices[place]) for place in places)
            room -= whole
            embedded: list[Iterable[Embeddings]]
            if whole <= _AT_ONCE:
                embedded = [[rows] for rows in self._embed(task, places, nodes, choices)]
            else:
                embedded = [self._embed_parts(nodes[place], choices[place], size) for place in places]
            for place, rows in zip(places, embedded, strict=True):
                count, goal, prediction = len(choices[place]), memories[place].goal, predicted[place]
                costs, keys, kept = self._costed(rows, prediction, keep=room >= 0)
                after = _Memories(count, kept, goal, carried[place])
                rankings[place] = Ranking(costs, keys, after, {"predicted": prediction})
        return [ranking for ranking in rankings if ranking is not None]

    def _costed(
        self, pieces: Iterable[Embeddings], prediction: NDArray[np.floating[Any]], keep: bool
    ) -> tuple[NDArray[np.float64], list[Hashable], Embeddings | None]:
        """Costs and keys of one node's candidates, embedded part by part, and all their embeddings where kept."""
        costs, keys, kept = list[NDArray[np.float64]](), list[Hashable](), list[Embeddings]()
        for rows in pieces:
            costs.append(distances(self.metric, rows, prediction))
            keys += [_digest(row) for row in rows]
            if keep:
                kept.append(rows)
        return (
            costs[0] if len(costs) == 1 else np.concatenate(costs),
            keys,
            (kept[0] if len(kept) == 1 else np.concatenate(kept)) if keep else None,
        )

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
            node = Node(task, step.state, memory)
            (here,), (candidates,) = self._remembered([node]), self._embed(task, [0], [node], [step.candidates])
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

    def _remembered(self, nodes: Sequence[Node]) -> list[_Known]:
        """Each node's own embedding, its goal's, and what it carries."""
        found = []
        for node in nodes:
            memory: _Memory | None = node.memory
            if memory is None:
                memory = _Memory(None, self.encoder.embed_goal(node.task), None)
            own = memory.state
            if own is None:
                (own,) = self.encoder.embed(node.task, [node.state])
            found.append(_Known(own, memory.goal, memory.carried))
        return found

    def _embed(
        self, task: Task, places: Sequence[int], nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]
    ) -> list[Embeddings]:
        """The embeddings [n, D] of the candidates of some of the nodes, all of one task, embedded together."""
        rows = self.encoder.embed_candidates(
            task, [nodes[place].state for place in places], [choices[place] for place in places]
        )
        return np.split(rows, np.cumsum([len(choices[place]) for place in places])[:-1])

    def _embed_parts(self, node: Node, choice: Sequence[Successor], size: int) -> Iterator[Embeddings]:
        """The same of one node, rows of `size` bytes, so many at a time that memory stays bounded."""
        for part in parts(choice, max(_AT_ONCE // max(size, 1), 1)):
            look()
            yield self.encoder.embed_candidates(node.task, [node.state], [part])


def _by_task(nodes: Sequence[Node]) -> dict[Task, list[int]]:
    """The places of each task's nodes."""
    places: dict[Task, list[int]] = {}
    for place, node in enumerate(nodes):
        places.setdefault(node.task, []).append(place)
    return places


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
