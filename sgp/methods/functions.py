"""Policies of the user's own: a function that gives costs to candidates, registered as a method of this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np

from sgp.errors import InputError
from sgp.methods import REGISTERED, built_in_keys, method_plugins
from sgp.methods.contract import UntrainedMethod
from sgp.planning.planner import Planner
from sgp.planning.policy import REPLACE, Node, Ranking, Rules, one_step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task
from sgp.policies.decoding import BeamDecoding

PolicyFunction = Callable[[Task, State, Sequence[Successor]], Any]


@dataclass(frozen=True)
class FunctionPolicy:
    """Policy whose costs are returned by a function."""

    name: str
    function: PolicyFunction
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return None: every task is accepted."""
        return None

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node. Raises InputError where the function returns neither costs nor an index."""
        return [self._ranking(node, choice) for node, choice in zip(nodes, choices, strict=True)]

    def _ranking(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        found = self.function(node.task, node.state, choice)
        try:
            costs = np.asarray(found, np.float64)
        except (TypeError, ValueError):
            costs = np.array(np.nan)
        if costs.ndim == 0 and float(costs) in range(len(choice)):
            costs = (np.arange(len(choice)) != int(costs)).astype(np.float64)
        if costs.shape != (len(choice),) or np.isnan(costs).any():
            raise InputError(
                f"policy {self.name} returned {found!r:.80} for {len(choice)} candidates; expected the cost of each as "
                "a number, the lowest is chosen, or the index of the chosen one"
            )
        return Ranking(costs)


@dataclass(frozen=True)
class FunctionTraining:
    """Identifies one registration, because a function has no content that can be compared."""

    registration: str = field(default_factory=lambda: uuid4().hex)


class FunctionMethod(UntrainedMethod):
    """Method that learns nothing and plans with a function."""

    def __init__(self, key: str, function: PolicyFunction):
        self.key, self.function = key, function
        self.variants = {key: FunctionTraining()}

    def planner(self, decoding: BeamDecoding, seed: int) -> Planner:
        """Return the planner."""
        return decoding.planner(FunctionPolicy(self.key, self.function), one_step)


def register_policy(name: str, function: PolicyFunction | None = None) -> Any:
    """Register a function as a method of this process; also a decorator: `@sgp.register_policy("my-policy")`.

    `function(task, state, candidates)` returns the cost of each candidate (the lowest is chosen), or the index of one.
    A candidate has a `state` and `actions`. `evaluate` and `train` take the name like that of any other method.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise InputError(f"policy is {name!r}; expected a name of lower-case letters, digits and '-'")
    if name in built_in_keys() or name in method_plugins():
        raise InputError(f"policy {name} has the name of a method of sgp or of an installed package; choose another")
    if function is None:
        return lambda decorated: register_policy(name, decorated)
    if not callable(function):
        raise InputError(f"policy {name} is {function!r:.80}; expected a function of task, state and candidates")
    REGISTERED[name] = FunctionMethod(name, function)
    return function
