"""Decodings of a policy: a beam over candidates, with stagnation handling, restarts, a portfolio and a fallback."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from sgp.datasets.subject import DEFAULT as DEFAULT  # noqa: PLC0414  re-exported
from sgp.errors import ConfigurationError, check_fields
from sgp.planning.best_first import BestFirst
from sgp.planning.lookahead import CandidateSet, successors_for
from sgp.planning.planner import Fallback, Planner
from sgp.planning.policy import Policy, Successors
from sgp.planning.serialisation import SerialisedGoals
from sgp.planning.strategies import LamaFallback, OtherPlanner, Restarts

PORTFOLIO = "portfolio"  # for methods that plan with the two best planners of a training
TRAINED: Literal["trained"] = "trained"
MIN_NOVEL = 16  # the default of contrastive jumps


@dataclass(frozen=True)
class BeamDecoding:
    """A beam search over candidates."""

    # by their names in earlier versions
    RENAMED_FIELDS: ClassVar[Mapping[str, str]] = {"enough": "min_novel", "escape": "noise_after"}

    beam: int = 1  # maximum number of nodes per decision
    margin: float = 0.0  # nodes that cost more than the cheapest plus this are dropped; 0: no limit
    revisits: bool = False  # visited states remain candidates
    prune_dead_ends: bool = False  # exclude dead ends that `Task.is_dead_end` recognises
    candidates: CandidateSet | Literal["trained"] = TRAINED  # the training's candidate set, or another
    # Another candidate set's lookahead stops after a depth with so many novel states and progress; 0: never.
    min_novel: int = MIN_NOVEL

    def __post_init__(self) -> None:
        check_fields(self, beam=1, margin=0, min_novel=0)
        if self.candidates == TRAINED and self.min_novel != MIN_NOVEL:
            raise ConfigurationError(
                f"min_novel {self.min_novel} conflicts with candidates {TRAINED}; name other candidates"
            )

    def planner(self, policy: Policy, trained: Successors) -> Planner:
        """Return the planner of a policy; `trained` generates the candidates that training used."""
        successors = trained if self.candidates == TRAINED else successors_for(self.candidates, self.min_novel)
        return Planner(
            policy,
            successors,
            self.beam,
            self.margin or math.inf,
            revisits=self.revisits,
            prune_dead_ends=self.prune_dead_ends,
        )


@dataclass(frozen=True)
class JumpDecoding(BeamDecoding):
    """A beam with stagnation handling; for unsolved problems a portfolio, best-first search, restarts and LAMA."""

    noise_after: int = 0  # decisions without progress that were denied the cheapest candidate, before noise; 0: never
    restarts: int = 0  # further rollouts with noise on the costs; unlimited where a limit ends them; 0: none
    seed: int = 0  # of the noise
    parallel: float = 0.0  # independent candidates that cost at most so much more are taken together; 0: none
    parallel_after: int = 0  # candidates that a rollout has ranked before
    portfolio: bool = False  # unsolved problems go to the training's second planner before restarts
    best_first: float = 0.0  # weight of an open goal in best-first search on unsolved problems; 0: no such search
    search: bool = False  # unsolved problems go to searches for single goals and, after half of the time limit, to LAMA

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self, noise_after=0, restarts=0, seed=0, parallel=0, parallel_after=0, best_first=0)
        if self.parallel and self.beam > 1:
            raise ConfigurationError(
                f"parallel {self.parallel:g} conflicts with beam {self.beam}; expected a beam of 1, or no parallel"
            )
        if self.noise_after and self.revisits:
            raise ConfigurationError(
                f"noise_after {self.noise_after} conflicts with revisits: where visited states stay open, nothing is "
                "denied"
            )

    def planner(self, policy: Policy, trained: Successors, others: Sequence[Planner] = ()) -> Planner:
        """Return the planner; `trained` generates the candidates that training used, `others` are fallbacks."""
        once = replace(super().planner(policy, trained), parallel=self.parallel, parallel_after=self.parallel_after)
        fallbacks: list[Fallback] = [OtherPlanner(other, number) for number, other in enumerate(others, 2)]
        if self.search:
            fallbacks.append(SerialisedGoals(self.seed))
        if self.best_first:
            fallbacks.append(BestFirst(self.best_first))
        if self.restarts:
            fallbacks.append(Restarts(self.restarts, self.seed))
        if self.search:
            fallbacks.append(LamaFallback())
        return replace(once, fallbacks=tuple(fallbacks))

    @property
    def alone(self) -> Self:
        """The decoding reduced to one rollout of one planner."""
        return replace(self, restarts=0, portfolio=False, best_first=0.0, search=False)
