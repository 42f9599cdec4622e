"""The candidates that methods choose among: successors alone, or what a width-1 search reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from sgp.errors import ConfigurationError
from sgp.planning.lookahead import LAYER_LIMIT, Lookahead
from sgp.planning.policy import Successors, one_of_each, one_step

Reach = Literal["one-step", "iw", "aiw", "capped-aiw", "base-aiw", "reduced-aiw"]


def check_reach(candidates: str, enough: int) -> None:
    """Raises ConfigurationError for settings that name no candidates."""
    if candidates not in get_args(Reach):
        raise ConfigurationError(f"candidates is '{candidates}'; expected one of {', '.join(get_args(Reach))}")
    if enough < 0:
        raise ConfigurationError(f"enough is {enough}; expected at least 0, which ends no search early")


def successors_for(candidates: Reach, enough: int = 0, representatives: bool = False) -> Successors:
    """What makes the candidates of a state; a lookahead ends early with `enough`, unless it is 0.

    With `representatives`, one of those whose actions differ in interchangeable objects alone. Raises
    ConfigurationError for settings that name no candidates.
    """
    check_reach(candidates, enough)
    end = enough or None
    lookaheads: Mapping[Reach, Successors] = {
        "one-step": one_of_each if representatives else one_step,
        "iw": Lookahead(enough=end, representatives=representatives),
        "aiw": Lookahead("types", enough=end, representatives=representatives),
        "capped-aiw": Lookahead("types", layer=LAYER_LIMIT, enough=end, representatives=representatives),
        "base-aiw": Lookahead("base", enough=end, representatives=representatives),
        "reduced-aiw": Lookahead("goals", enough=end, representatives=representatives),
    }
    return lookaheads[candidates]
