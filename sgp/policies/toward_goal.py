"""Policy that takes the action whose predicted state is most similar to the goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sgp.errors import TextTooLong, check_fields
from sgp.planning.clock import with_limit_checks
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Ranking, Rules, one_step
from sgp.planning.task import Successor, Task, parts
from sgp.policies.embedding import GoalModel, unit

Compared = Literal["predicted", "true"]
_AT_ONCE = 1024  # candidates predicted at once, so that memory stays bounded
_RULES = Rules(additive=False)  # costs are at least 1, so that the tolerance of ties exceeds single-precision rounding


@dataclass(frozen=True)
class GoalwardDecoding:
    """A beam search toward states nearest to the goal.

    `compared` selects the embedding compared with the goal: the predicted successor's, or the true successor's. The
    second is an upper bound: planning with perfect predictions.
    """

    beam: int = 1  # maximum number of nodes per decision
    revisits: bool = False  # visited states remain candidates
    compared: Compared = "predicted"

    def __post_init__(self) -> None:
        check_fields(self, beam=1)

    def planner(self, model: GoalModel) -> Planner:
        """Return the planner of a transition model."""
        return Planner(TowardGoal(model, self.compared), one_step, self.beam, revisits=self.revisits)


@dataclass(frozen=True)
class TowardGoal:
    """Policy that costs a successor by 2 - cosine of the goal's embedding and the predicted one (from 1 to 3).

    With `compared` "true" the successor's own embedding replaces the prediction. The policy is ours: embedplan, section
    5.1, leaves search guided by predicted embeddings to future work.
    """

    model: GoalModel
    compared: Compared = "predicted"
    rules: Rules = _RULES

    def refuses(self, task: Task) -> str | None:
        """Return why the model cannot embed the task, or None."""
        return self.model.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; nodes carry the goal's embedding, which is computed once per problem."""
        return [self._rank(node, choice) for node, choice in zip(nodes, choices, strict=True)]

    def _rank(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        try:
            goal = unit(self.model.embed_goal(node.task)[None])[0] if node.memory is None else node.memory
            rows = [self._rows(node, part) for part in parts(choice, _AT_ONCE)]
        except TextTooLong as error:  # of a later state: only this problem is refused
            return Ranking(np.full(len(choice), np.inf), reason=str(error))
        costs = 2.0 - np.concatenate(rows) @ goal if rows else np.empty(0)
        return Ranking(costs, memories=[goal] * len(choice))

    def _rows(self, node: Node, choice: Sequence[Successor]) -> NDArray[np.float64]:
        """Return the compared embeddings [n, D] of candidates, of length 1."""
        some = list(with_limit_checks(choice))
        if self.compared == "true":
            return unit(self.model.embed(node.task, [each.state for each in some]))
        return unit(self.model.predict(node.task, [node.state] * len(some), [each.actions[0] for each in some]))
