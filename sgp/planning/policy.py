"""The interface between the planner and a policy: nodes, successor functions, rankings and rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError
from sgp.planning.rollout import TIE_RELATIVE, BeamNode, Step, Written
from sgp.planning.states import State
from sgp.planning.task import Candidates, Successor, Task

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
    node, on request, because most nodes are dropped. `beam` and `lane` are those of the step.
    """

    task: Task
    state: State
    memory: Any = None
    cost: float = 0.0
    arrived: Successor | None = None
    before: Node | None = None
    length: int = 0
    decided: Callable[[], Step] | None = None
    beam: Sequence[BeamNode] = ()
    lane: int = 0

    @cached_property
    def step(self) -> Step | None:
        """The decision that led to this node; None at the start."""
        return None if self.decided is None else replace(self.decided(), beam=self.beam, lane=self.lane)

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
    action-generating policies needs. Otherwise the first generated goal state of finite cost ends it.
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
    between calls; memories carry information along a path. It may have an attribute `class_size`: the size from which a
    class of interchangeable objects can have more of them at equal costs of all actions, or None.
    """

    @property
    def rules(self) -> Rules:
        """The interpretation of the policy's costs."""

    def refuses(self, task: Task) -> str | None:
        """Return why the policy cannot represent this problem; None if it can."""

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node for its nonempty choices; nodes may belong to different tasks."""
        ...
