"""How a policy over jumps is decoded: a beam that can lose patience, try again, and ask others or a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from sgp.errors import ConfigurationError
from sgp.planning.completing import Completing
from sgp.planning.planner import Planner
from sgp.planning.policy import Policy, Successors
from sgp.planning.portfolio import Portfolio
from sgp.policies.decoding import BeamDecoding


@dataclass(frozen=True)
class JumpDecoding(BeamDecoding):
    """A beam that can lose patience, try again, and ask a search."""

    patience: int = 0  # decisions for each object without progress, after which only new atoms count; 0: any number
    escape: int = 0  # decisions without progress and denied what costs least, then noise until there is some; 0: any
    restarts: int = 0  # further rollouts with noise on the costs; any number where a limit ends them; 0: none
    seed: int = 0  # of noise
    portfolio: bool = False  # what it does not solve, the second best of the training tries before restarts
    search: bool = False  # what the policy does not solve in half of the seconds is left to LAMA

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
        """The planner of a policy that was trained on such candidates, with others beside it."""
        once = super().planner(policy, trained)
        if self.search:
            return Completing.of(once, self.restarts, self.seed, others)
        return Portfolio.of(once, self.restarts, self.seed, others) if self.restarts or others else once

    @property
    def alone(self) -> Self:
        """One rollout of one planner, decoded alike."""
        return replace(self, restarts=0, portfolio=False, search=False)
