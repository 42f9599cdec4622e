"""Lookahead by width: states of a novelty-pruned breadth-first search as candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from sgp.errors import ConfigurationError, check_fields
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.policy import Successors, one_of_each, one_step
from sgp.planning.states import State
from sgp.planning.task import Candidates, Task
from sgp.planning.width_search import SearchLimits

CandidateSet = Literal["one-step", "iw", "aiw", "capped-aiw", "base-aiw", "reduced-aiw"]
LAYER_LIMIT = 1000  # states expanded at each depth by the capped variant (AIW-AD, appendix B)
REPETITIONS = 4  # transition embeddings, which are sets, differ by the number of actions alone beyond a few of them


@dataclass(frozen=True)
class Lookahead:
    """IW(1) from a state: all one-step successors, and all novel states with their action paths.

    A state is novel if one of its atoms, or of their abstractions, was true in no state generated before it, the first
    state's atoms included (Lipovetzky and Geffner 2012; AIW-AD, section 3).

    `abstraction` "types" replaces every argument of an atom but one by its object's type, for each argument in turn,
    except in goal atoms (abstracted IW). "base" uses one type for all objects (base-abstracted IW). "goals" also
    abstracts goal atoms by types ("reduced goals", AIW-AD, appendix C).

    `layer` limits the novel states expanded at each depth, those with more satisfied goals first (capped). With
    `min_novel`, the search ends after a depth with so many novel states if one satisfies more positive goal atoms than
    the first state; distant candidates of large problems are expensive and rarely chosen. Goal states are always
    candidates. `states` bounds the number of candidates and thus memory. With `representatives`, each state applies one
    of the actions that differ only in interchangeable objects. Of states after an action and its repetitions with other
    objects of the same classes, such as loading packages one after the other, those after 1 to `repetitions` actions
    and the last one are candidates; 0 is no such limit.

    Candidates are in generation order. `parent` is the candidate of the predecessor, `actions` the path from the first
    state.
    """

    abstraction: Abstraction = "none"
    layer: int | None = None
    min_novel: int | None = None
    states: int = 100_000
    representatives: bool = False
    repetitions: int = REPETITIONS

    def __post_init__(self) -> None:
        given = {name: 1.0 for name in ("layer", "min_novel", "states") if getattr(self, name) is not None}
        check_fields(self, "lookahead's", **given, repetitions=0)

    def __call__(self, task: Task, state: State) -> Candidates:
        """Return the candidates of a state; none for a dead end."""
        limits = SearchLimits(False, self.layer or 0, self.min_novel or 0, self.states, self.repetitions)
        return task.search(state, self.abstraction, limits, self.representatives)


def successors_for(candidates: CandidateSet, min_novel: int = 0, representatives: bool = False) -> Successors:
    """Return the successor function of a candidate set.

    A lookahead ends early with `min_novel`, unless it is 0. With `representatives`, there is one of the candidates
    whose actions differ only in interchangeable objects.
    """
    if candidates not in get_args(CandidateSet):
        raise ConfigurationError(f"candidates is '{candidates}'; expected one of {', '.join(get_args(CandidateSet))}")
    if min_novel < 0:
        raise ConfigurationError(f"min_novel is {min_novel}; expected at least 0, which ends no search early")
    if candidates == "one-step":
        return one_of_each if representatives else one_step
    abstractions: Mapping[CandidateSet, Abstraction] = {"iw": "none", "base-aiw": "base", "reduced-aiw": "goals"}
    return Lookahead(
        abstractions.get(candidates, "types"),
        layer=LAYER_LIMIT if candidates == "capped-aiw" else None,
        min_novel=min_novel or None,
        representatives=representatives,
    )
