"""Decoding of a policy: candidate set, beam width, margin and revisits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sgp.errors import ConfigurationError
from sgp.planning.lookahead import CandidateSet, check_candidate_set, successors_for
from sgp.planning.planner import Planner
from sgp.planning.policy import Policy, Successors

DEFAULT = "default"  # the first decoding of every method
PORTFOLIO = "portfolio"  # for methods that plan with the two best planners of a training
TRAINED: Literal["trained"] = "trained"
ENOUGH = 16  # the default of contrastive jumps


@dataclass(frozen=True)
class BeamDecoding:
    """A beam search over candidates."""

    beam: int = 1  # maximum number of nodes per decision
    margin: float = 0.0  # nodes that cost more than the cheapest plus this are dropped; 0: no limit
    revisits: bool = False  # visited states remain candidates
    prune_dead_ends: bool = False  # exclude relaxed dead ends (h_max infinite)
    candidates: CandidateSet | Literal["trained"] = TRAINED  # the training's candidate set, or another
    enough: int = (
        ENOUGH  # stop another candidate set's lookahead after a depth with so many novel states and progress; 0: never
    )

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigurationError(f"beam is {self.beam}; expected at least 1")
        if not 0 <= self.margin < math.inf:
            raise ConfigurationError(f"margin is {self.margin}; expected a number from 0")
        if self.candidates != TRAINED:
            check_candidate_set(self.candidates, self.enough)
        elif self.enough != ENOUGH:
            raise ConfigurationError(f"enough {self.enough} conflicts with candidates {TRAINED}; name other candidates")

    def planner(self, policy: Policy, trained: Successors) -> Planner:
        """Return the planner of a policy; `trained` generates the candidates that training used."""
        successors = trained if self.candidates == TRAINED else successors_for(self.candidates, self.enough)
        return Planner(
            policy,
            successors,
            self.beam,
            self.margin or math.inf,
            revisits=self.revisits,
            prune_dead_ends=self.prune_dead_ends,
        )
