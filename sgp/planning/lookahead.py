"""Lookahead by width: the states that a novelty-pruned breadth-first search reaches become candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from sgp.errors import ConfigurationError
from sgp.planning.candidates import Candidates, search
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.policy import Successors, one_of_each, one_step
from sgp.planning.task import State, Task
from sgp.planning.width_search import SearchLimits

CandidateSet = Literal["one-step", "iw", "aiw", "capped-aiw", "base-aiw", "reduced-aiw"]
LAYER_LIMIT = 1000  # states kept at each depth by the capped variant (AIW-AD, appendix B)


@dataclass(frozen=True)
class Lookahead:
    """IW(1) from a state: candidates are all one-step successors, and all novel states with the actions to them.

    A state is novel if one of its atoms, or of their abstractions, was true in no state generated before it, the
    first state's atoms included (Lipovetzky and Geffner 2012; AIW-AD, section 3). With `abstraction` "types" every
    argument of an atom but one is replaced by its object's type, one position after the other, atoms of the goal stay
    whole (abstracted IW); with "base" there is one type for all objects (base-abstracted IW); with "goals" atoms of the
    goal are abstracted by types, too ("reduced goals", AIW-AD, appendix C). `layer` keeps at each
    depth only so many novel states to expand, those that satisfy more of the goal first (capped). With `min_novel` the
    search ends after a depth at which so many novel states were found, one of which has more of the goal's positive
    atoms than the first state: far candidates of large problems cost much and are rarely chosen. Goal states are
    candidates whatever their novelty. `states` bounds the number of candidates, so that memory stays bounded. With
    `representatives`, of actions that differ in interchangeable objects alone one is applied, in every state of the
    search.

    Candidates stand in the order in which they were generated; `parent` is the candidate that one was generated from,
    `actions` the whole path from the first state.
    """

    abstraction: Abstraction = "none"
    layer: int | None = None
    min_novel: int | None = None
    states: int = 100_000
    representatives: bool = False

    def __post_init__(self) -> None:
        if self.abstraction not in get_args(Abstraction):
            raise ConfigurationError(
                f"abstraction is '{self.abstraction}'; expected one of {', '.join(get_args(Abstraction))}"
            )
        for name in ("layer", "min_novel", "states"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"lookahead's {name} is {value}; expected at least 1")

    def __call__(self, task: Task, state: State) -> Candidates:
        """The candidates of a state; none where it is a dead end."""
        limits = SearchLimits(False, self.layer or 0, self.min_novel or 0, self.states)
        return search(task, state, self.abstraction, limits, self.representatives)


def check_candidate_set(candidates: str, min_novel: int) -> None:
    """Raises ConfigurationError for settings that name no candidates."""
    if candidates not in get_args(CandidateSet):
        raise ConfigurationError(f"candidates is '{candidates}'; expected one of {', '.join(get_args(CandidateSet))}")
    if min_novel < 0:
        raise ConfigurationError(f"enough is {min_novel}; expected at least 0, which ends no search early")


def successors_for(candidates: CandidateSet, min_novel: int = 0, representatives: bool = False) -> Successors:
    """What makes the candidates of a state; a lookahead ends early with `min_novel`, unless it is 0.

    With `representatives`, one of those whose actions differ in interchangeable objects alone. Raises
    ConfigurationError for settings that name no candidates.
    """
    check_candidate_set(candidates, min_novel)
    if candidates == "one-step":
        return one_of_each if representatives else one_step
    abstractions: Mapping[CandidateSet, Abstraction] = {"iw": "none", "base-aiw": "base", "reduced-aiw": "goals"}
    return Lookahead(
        abstractions.get(candidates, "types"),
        layer=LAYER_LIMIT if candidates == "capped-aiw" else None,
        min_novel=min_novel or None,
        representatives=representatives,
    )
