"""The policy that goes anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.task import Successor, Task


@dataclass(frozen=True)
class RandomSuccessor:
    """Costs successors at random, the same for one seed, problem and state whatever else is solved beside it."""

    seed: int
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Never."""
        return None

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Uniform random costs."""
        return [
            Ranking(np.random.default_rng(self._stream(node)).random(len(choice)))
            for node, choice in zip(nodes, choices, strict=True)
        ]

    def _stream(self, node: Node) -> list[int]:
        return [self.seed, int(node.task.problem.sha256[:16], 16), node.length]
