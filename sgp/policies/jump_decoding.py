"""Decoding of a policy over jumps: a beam with stagnation handling, restarts, a portfolio and a fallback search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from sgp.errors import ConfigurationError
from sgp.planning.planner import Fallback, Planner
from sgp.planning.policy import Policy, Successors
from sgp.planning.strategies import LamaFallback, OtherPlanner, Restarts
from sgp.policies.decoding import BeamDecoding


@dataclass(frozen=True)
class JumpDecoding(BeamDecoding):
    """A beam with stagnation handling, restarts, a portfolio and a LAMA fallback."""

    patience: int = 0  # decisions per object without progress before only new atoms count; 0: never
    escape: int = 0  # decisions without progress that were denied the cheapest candidate, before noise; 0: never
    restarts: int = 0  # further rollouts with noise on the costs; unlimited where a limit ends them; 0: none
    seed: int = 0  # of the noise
    portfolio: bool = False  # unsolved problems go to the training's second-best planner before restarts
    search: bool = False  # problems unsolved after half of the time limit go to LAMA

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience < 0:
            raise ConfigurationError(f"patience is {self.patience}; expected at least 0, which never ends")
        if self.escape and self.revisits:
            raise ConfigurationError(
                f"escape {self.escape} conflicts with revisits: where visited states stay open, nothing is denied"
            )
        for name in ("escape", "restarts", "seed"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected at least 0")

    def planner(self, policy: Policy, trained: Successors, others: Sequence[Planner] = ()) -> Planner:
        """Return the planner; `trained` generates the candidates that training used, `others` are fallbacks."""
        once = super().planner(policy, trained)
        fallbacks: list[Fallback] = [OtherPlanner(other, number) for number, other in enumerate(others, 2)]
        if self.restarts:
            fallbacks.append(Restarts(self.restarts, self.seed))
        if self.search:
            fallbacks.append(LamaFallback())
        return replace(once, fallbacks=tuple(fallbacks))

    @property
    def alone(self) -> Self:
        """The decoding reduced to one rollout of one planner."""
        return replace(self, restarts=0, portfolio=False, search=False)
