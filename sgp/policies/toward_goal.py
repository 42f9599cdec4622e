"""The policy that takes the action whose predicted state looks most like the goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError, TextTooLong, expected_one_of
from sgp.planning.candidates import parts
from sgp.planning.clock import looking
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Ranking, Rules, one_step
from sgp.planning.task import Successor, Task
from sgp.planning.transition_model import GoalModel, unit

Compared = Literal["predicted", "true"]
_AT_ONCE = 1024  # candidates that are predicted together, so that memory stays bounded
_RULES = Rules(additive=False)  # of costs from 1 on the tolerance of ties is above what single precision leaves


@dataclass(frozen=True)
class GoalwardDecoding:
    """A beam of the states nearest to the goal. Raises ConfigurationError for values that cannot be.

    `compared` says whether what is predicted of a successor is compared with the goal, or its own embedding: the
    second is what planning would be if every prediction were right.
    """

    beam: int = 1  # nodes kept at each decision, at most
    revisits: bool = False  # visited states stay candidates
    compared: Compared = "predicted"

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")
        if self.compared not in get_args(Compared):
            raise ConfigurationError(
                f"compared is '{self.compared}'; {expected_one_of(get_args(Compared), self.compared)}"
            )

    def planner(self, model: GoalModel) -> Planner:
        """The planner by a model of transitions."""
        return Planner(TowardGoal(model, self.compared), one_step, self.beam, revisits=self.revisits)


@dataclass(frozen=True)
class TowardGoal:
    """Costs a successor by 2 - the cosine of the goal's embedding and that predicted of its action (1 to 3).

    With `compared` "true" the successor's own embedding stands for the prediction. Ours: embedplan, section 5.1, leaves
    search guided by predicted embeddings to future work.
    """

    model: GoalModel
    compared: Compared = "predicted"
    rules: Rules = _RULES

    def refuses(self, task: Task) -> str | None:
        """What the model says."""
        return self.model.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node. A node carries the goal's embedding, which is made once a problem."""
        return [self._rank(node, choice) for node, choice in zip(nodes, choices, strict=True)]

    def _rank(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        try:
            goal = unit(self.model.embed_goal(node.task)[None])[0] if node.memory is None else node.memory
            rows = [self._rows(node, part) for part in parts(choice, _AT_ONCE)]
        except TextTooLong as error:  # of a state on the way: this problem is refused, and no other
            return Ranking(np.full(len(choice), np.inf), reason=str(error))
        costs = 2.0 - np.concatenate(rows) @ goal if rows else np.empty(0)
        return Ranking(costs, memories=[goal] * len(choice))

    def _rows(self, node: Node, choice: Sequence[Successor]) -> NDArray[np.float64]:
        """What stands for some candidates [n, D], of length 1."""
        some = list(looking(choice))
        if self.compared == "true":
            return unit(self.model.embed(node.task, [each.state for each in some]))
        return unit(self.model.predict(node.task, [node.state] * len(some), [each.actions[0] for each in some]))
