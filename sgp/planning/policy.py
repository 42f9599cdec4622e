"""What a learned model has to be in order to plan: a policy that costs candidates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError
from sgp.planning.candidates import successors
from sgp.planning.rollout import TIE_RELATIVE, Written
from sgp.planning.task import State, Successor, Task


class Successors(Protocol):
    """Candidates of a state: its successors, or a lookahead tree in which `Successor.parent` points upward."""

    def __call__(self, task: Task, state: State) -> Sequence[Successor]:
        """The candidates; none where the state is a dead end."""
        ...


def one_step(task: Task, state: State) -> Sequence[Successor]:
    """The states one action away, in the order of the PDDL's actions and objects."""
    return successors(task, state)


def one_of_each(task: Task, state: State) -> Sequence[Successor]:
    """The states one action away, one of those whose actions differ in interchangeable objects alone."""
    return successors(task, state, representatives=True)


@dataclass(frozen=True, eq=False)
class Node:
    """A state on the way to the goal.

    `memory` is whatever the policy gave for the candidate that became this node (an embedding, an LSTM's hidden
    state, a token prefix), None at the start; `cost` is the path's; `arrived` is how the node was reached from
    `before` (both None at the start); `length` counts the actions so far.
    """

    task: Task
    state: State
    memory: Any = None
    cost: float = 0.0
    arrived: Successor | None = None
    before: Node | None = None
    length: int = 0


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a policy thinks of the candidates of one node.

    `costs` [n]: lower is better, +inf rejects. `keys`, one per candidate where given: equal keys mean that the
    model cannot tell the candidates apart. `memories`, one per candidate where given: what a node made of it will
    carry. `note` is for people to look at (the predicted embedding, say); `reason` says why all are rejected, where
    they are. `written` has the tokens of an action that was written, each with its probability.
    """

    costs: NDArray[np.float64]
    keys: Sequence[Hashable] | None = None
    memories: Sequence[Any] | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    written: Written = ()


@dataclass(frozen=True)
class Rules:
    """How a planner reads a policy's costs.

    With `only_chosen` a goal state ends the search only where it is among the cheapest, as a decoding needs that is
    faithful to a policy which generates actions; else the first goal state generated at finite cost does. Raises
    ConfigurationError for a tolerance out of range.
    """

    additive: bool  # whether costs add up along the path (distances) or replace the path's cost (heuristic values)
    tie: float = TIE_RELATIVE  # costs that differ by this share of the lower one are tied
    only_chosen: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.tie < 1:
            raise ConfigurationError(f"tolerance of ties is {self.tie}; expected a number from 0 and below 1")


ADD_UP, REPLACE = Rules(additive=True), Rules(additive=False)


class Policy(Protocol):
    """Costs candidates. It owns its embedding, be it of a state, of a pair of states or of a lookahead tree.

    A policy holds no state of its own between calls: what it must remember goes into the memories.
    """

    @property
    def rules(self) -> Rules:
        """How its costs are read."""

    def refuses(self, task: Task) -> str | None:
        """Why the policy cannot represent this problem, or None where it can."""

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node for its choices (never empty); nodes may belong to different tasks."""
