"""Interfaces of learned models: policies for the planner, embeddings for display, and transition models."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError
from sgp.planning.pddl import Action
from sgp.planning.rollout import TIE_RELATIVE, Step, Written
from sgp.planning.task import Candidates, State, Successor, Task

Vector = NDArray[np.floating[Any]]


Successors: TypeAlias = Callable[[Task, State], Candidates]
"""A function from states to candidates, none for a dead end: successors, or a lookahead tree linked by parents."""


def one_step(task: Task, state: State) -> Candidates:
    """Return the states one action away."""
    return task.successors(state)


def one_of_each(task: Task, state: State) -> Candidates:
    """Return the states one action away, one per class that differs only in interchangeable objects."""
    return task.successors(state, representatives=True)


@dataclass(frozen=True, eq=False)
class Node:
    """A state on the path to the goal.

    `memory` is the policy's value for the candidate that became this node (an embedding, an LSTM's hidden state, a
    token prefix), None at the start. `cost` is the path cost. `arrived` is the successor that led from `before` to this
    node, both None at the start. `length` is the number of actions so far. `decided` builds the step that led to this
    node, on request, because most nodes are dropped.
    """

    task: Task
    state: State
    memory: Any = None
    cost: float = 0.0
    arrived: Successor | None = None
    before: Node | None = None
    length: int = 0
    decided: Callable[[], Step] | None = None

    @cached_property
    def step(self) -> Step | None:
        """The decision that led to this node; None at the start."""
        return None if self.decided is None else self.decided()

    def steps(self) -> tuple[Step, ...]:
        """Return the decisions of the path, oldest first."""
        steps, node = list[Step](), self
        while node.step is not None and node.before is not None:
            steps.append(node.step)
            node = node.before
        return tuple(reversed(steps))

    def drop_other_candidates(self) -> None:
        """Drop the candidates that were not chosen from each decision of the path."""
        node: Node | None = self
        while node is not None and node.decided is not None and node.step is not None:
            vars(node).update(step=node.step.alone(), decided=None)
            node = node.before


@dataclass(frozen=True, eq=False)
class Ranking:
    """A policy's costs for the candidates of one node.

    `costs` [n]: lower is better, +inf rejects. `keys` [n], optional: candidates with equal keys are indistinguishable
    to the model. `memories` [n], optional: the memory of the node that a candidate becomes. `note` is for display (such
    as the predicted embedding). `reason` describes why all candidates are rejected. `written` has the tokens of a
    generated action, each with its probability.
    """

    costs: NDArray[np.float64]
    keys: Sequence[Hashable] | None = None
    memories: Sequence[Any] | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    written: Written = ()


@dataclass(frozen=True)
class Rules:
    """The interpretation of a policy's costs.

    With `only_chosen`, a goal state ends the search only if it is among the cheapest, as a faithful decoding of
    action-generating policies needs. Otherwise the first generated goal state of finite cost ends it. Raises
    ConfigurationError for a tolerance out of range.
    """

    additive: bool  # whether costs add up along the path (distances) or replace the path's cost (heuristic values)
    tie: float = TIE_RELATIVE  # relative tolerance: costs that differ by at most this share of the lower cost are tied
    only_chosen: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.tie < 1:
            raise ConfigurationError(f"tolerance of ties is {self.tie}; expected a number from 0 and below 1")


ADD_UP, REPLACE = Rules(additive=True), Rules(additive=False)


class Policy(Protocol):
    """A function that assigns costs to candidates.

    A policy owns its embedding, which may be of a state, a pair of states or a lookahead tree. It has no mutable state
    between calls; memories carry information along a path.
    """

    @property
    def rules(self) -> Rules:
        """The interpretation of the policy's costs."""

    def refuses(self, task: Task) -> str | None:
        """Return why the policy cannot represent this problem; None if it can."""

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node for its nonempty choices; nodes may belong to different tasks."""
        ...


@dataclass(frozen=True, eq=False)
class View:
    """The vectors of one step: its state [D], the prediction [D], and its candidates [n, D].

    State and prediction are None if the model embeds transitions and predicts no single point.
    """

    state: Vector | None
    predicted: Vector | None
    candidates: Vector


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two candidates of a step by feature: their values [D], and each feature's share of the difference.

    `shares` [D] sum to the first candidate's `measure` minus the second's; negative shares favour the first. `words`
    describes the features of some columns.
    """

    measure: str  # "cost", or "squared distance"
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    shares: NDArray[np.float64]
    words: Callable[[Sequence[int]], list[str]]


@runtime_checkable
class Embedding(Protocol):
    """A policy whose costs come from an embedding. Policies without one (random choice) do not implement it."""

    @property
    def embeds(self) -> Literal["states", "transitions"]:
        """The embedded objects."""

    def vectors(self, task: Task, steps: Sequence[Step]) -> Vector:
        """Return the vectors [n, D] of the steps' states, or of the transitions to all of their candidates."""
        ...

    def views(self, task: Task, steps: Sequence[Step]) -> Iterator[View]:
        """Yield the vectors of the steps of one path from the initial state, in order."""
        ...

    def contrast(self, task: Task, step: Step, view: View, first: int, second: int) -> Contrast:
        """Compare two candidates of a step by feature; `view` is the step's."""
        ...


class TransitionModel(Protocol):
    """An embedding of states, with predictions of successor states' embeddings."""

    def refuses(self, task: Task) -> str | None:
        """Return why the model cannot represent this problem; None if it can."""

    def embed(self, task: Task, states: Sequence[State]) -> Vector:
        """Return the states' embeddings [n, D]."""
        ...

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> Vector:
        """Return the predicted successor embeddings [n, D] of states and their applicable actions."""
        ...


class GoalModel(TransitionModel, Protocol):
    """A transition model that also embeds goals among states, so that a policy can use it."""

    def embed_goal(self, task: Task) -> Vector:
        """Return the goal's embedding [D]."""
        ...


@runtime_checkable
class SeenFromAction(Protocol):
    """A transition model whose state embeddings depend on the action, for example by renamed arguments.

    Its predictions are compared with these embeddings, not with those of `embed`.
    """

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> Vector:
        """Return the states' embeddings [n, D] for comparison with predictions of `action`."""
        ...


def unit(rows: Vector) -> NDArray[np.float64]:
    """Scale embeddings [n, D] to length 1 for cosine similarity; zero vectors are unchanged."""
    exact = np.asarray(rows, np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-30))
