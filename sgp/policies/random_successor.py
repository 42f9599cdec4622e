"""Policy that takes a random successor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.task import Successor, Task


@dataclass(frozen=True)
class RandomSuccessor:
    """Random costs that depend only on seed, problem and path length, not on problems solved at the same time."""

    seed: int
    rules: Rules = REPLACE

    def refuses(self, task: Task) -> str | None:
        """Return None: every task is accepted."""
        return None

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return uniform random costs."""
        return [
            Ranking(np.random.default_rng(self._stream(node)).random(len(choice)))
            for node, choice in zip(nodes, choices, strict=True)
        ]

    def _stream(self, node: Node) -> list[int]:
        return [self.seed, int(node.task.problem.sha256[:16], 16), node.length]
