"""How a policy is decoded: which candidates, how many nodes at once, whether visited states stay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sgp.errors import ConfigurationError
from sgp.planning.planner import Planner
from sgp.planning.policy import Policy, Successors
from sgp.planning.reach import Reach, check_reach, successors_for

DEFAULT = "default"  # the first decoding of every method
PORTFOLIO = "portfolio"  # of methods that plan by the two best planners of a training
TRAINED: Literal["trained"] = "trained"
ENOUGH = 16  # of contrastive jumps


@dataclass(frozen=True)
class BeamDecoding:
    """A beam over candidates. Raises ConfigurationError for values that cannot be."""

    beam: int = 1  # nodes kept at each decision, at most
    margin: float = 0.0  # nodes that cost so much more than the cheapest are dropped; 0: none is
    revisits: bool = False  # visited states stay candidates
    shuns_dead_ends: bool = False  # those that the delete relaxation tells are not chosen
    candidates: Reach | Literal["trained"] = TRAINED  # those that the training saw, or others
    enough: int = (
        ENOUGH  # other candidates' lookahead ends after a depth with so many novel states and progress; 0: never
    )

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")
        if not 0 <= self.margin < math.inf:
            raise ConfigurationError(f"margin is {self.margin}; expected a number from 0")
        if self.candidates != TRAINED:
            check_reach(self.candidates, self.enough)
        elif self.enough != ENOUGH:
            raise ConfigurationError(f"enough {self.enough} conflicts with candidates {TRAINED}; name other candidates")

    def planner(self, policy: Policy, trained: Successors) -> Planner:
        """The planner of a policy that was trained on such candidates."""
        successors = trained if self.candidates == TRAINED else successors_for(self.candidates, self.enough)
        return Planner(
            policy,
            successors,
            self.beam,
            self.margin or math.inf,
            revisits=self.revisits,
            shuns_dead_ends=self.shuns_dead_ends,
        )
