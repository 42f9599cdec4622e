"""Lookahead by width: the states that a novelty-pruned breadth-first search reaches become candidates."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sgp.errors import ConfigurationError
from sgp.planning.candidates import Candidates
from sgp.planning.clock import look, stop
from sgp.planning.ground_model import GroundModel
from sgp.planning.lifted_model import Whole
from sgp.planning.novelty import novel_states
from sgp.planning.novelty_forms import novelty_forms
from sgp.planning.novelty_nodes import Search
from sgp.planning.operators import Ints, Lists
from sgp.planning.pddl import Atom
from sgp.planning.symmetry import NO_SYMMETRY, symmetry_of
from sgp.planning.task import State, Successor, Task

Abstraction = Literal["none", "types", "base", "goals"]
LAYER_LIMIT = 1000  # states kept at each depth by the capped variant (AIW-AD, appendix B)


@dataclass(frozen=True)
class Lookahead:
    """IW(1) from a state: candidates are all one-step successors, and all novel states with the actions to them.

    A state is novel if one of its atoms, or of their abstractions, was true in no state generated before it, the
    first state's atoms included (Lipovetzky and Geffner 2012; AIW-AD, section 3). With `abstraction` "types" every
    argument of an atom but one is replaced by its object's type, one position after the other, atoms of the goal stay
    whole (abstracted IW); with "base" there is one type for all objects (base-abstracted IW); with "goals" atoms of the
    goal are abstracted by types, too ("reduced goals", AIW-AD, appendix C). `layer` keeps at each
    depth only so many novel states to expand, those that satisfy more of the goal first (capped). With `enough` the
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
    enough: int | None = None
    states: int = 100_000
    representatives: bool = False

    def __post_init__(self) -> None:
        if self.abstraction not in get_args(Abstraction):
            raise ConfigurationError(
                f"abstraction is '{self.abstraction}'; expected one of {', '.join(get_args(Abstraction))}"
            )
        for name in ("layer", "enough", "states"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"lookahead's {name} is {value}; expected at least 1")

    def __call__(self, task: Task, state: State) -> Sequence[Successor]:
        """The candidates of a state; none where it is a dead end."""
        if task.joins(self.representatives):
            return self._lifted(task, state)
        assert task.model is not None
        return self._compiled(task, task.model, state)

    def _compiled(self, task: Task, model: GroundModel, state: State) -> Candidates:
        """Searches over arrays of all ground actions."""
        forms, count = _novelty_forms(task, self.abstraction, model)
        fluents = np.array(task.fluents(state), np.int32)
        symmetry = symmetry_of(task, model)[1] if self.representatives else NO_SYMMETRY
        found = novel_states(
            model.operators, forms, count, model.goal, model.atoms, fluents, self._search, symmetry, stop()
        )
        look()
        return Candidates(task, model, state, fluents, found)

    def _lifted(self, task: Task, state: State) -> Candidates:
        """The same by joins."""
        fluents = np.array(task.fluents(state), np.int32)
        whole: Whole = "all" if self.abstraction == "none" else "none" if self.abstraction == "goals" else "goal"
        alike = self.representatives or task.has_many_actions
        instances, found = task.lifted.novel(fluents, _types(task, self.abstraction), whole, self._search, alike)
        return Candidates(task, instances, state, fluents, found)

    @property
    def _search(self) -> Search:
        return Search(self.layer or 0, self.enough or 0, self.states)


_FORMS: weakref.WeakKeyDictionary[Task, dict[Abstraction, tuple[Lists, int]]] = weakref.WeakKeyDictionary()
_TYPES: weakref.WeakKeyDictionary[Task, dict[Abstraction, Ints]] = weakref.WeakKeyDictionary()


def _novelty_forms(task: Task, abstraction: Abstraction, model: GroundModel) -> tuple[Lists, int]:
    """What stands for each fluent of a grounded task, and how many forms there are; a memo that dies with the task."""
    known = _FORMS.setdefault(task, {})
    if abstraction not in known:
        kept = model.fluents if abstraction == "none" else _kept(task, abstraction)
        whole = np.zeros(model.atoms, np.bool_)
        whole[[model.fluents[atom] for atom in kept if atom in model.fluents]] = True
        types = _types(task, abstraction)
        known[abstraction] = novelty_forms(model.predicates, model.fluent_arguments, types, whole)
    return known[abstraction]


def _kept(task: Task, abstraction: Abstraction) -> set[Atom]:
    """The atoms that an abstraction leaves whole."""
    return set() if abstraction == "goals" else {literal.atom for literal in task.goal}


def _types(task: Task, abstraction: Abstraction) -> Ints:
    """The numbers [n] of the types that an abstraction puts in the place of objects; a memo that dies with the task."""
    known = _TYPES.setdefault(task, {})
    if abstraction not in known:
        kinds: dict[tuple[str, ...], int] = {}
        types = [() if abstraction == "base" else tuple(sorted(thing.types)) for thing in task.objects]
        known[abstraction] = np.array([kinds.setdefault(each, len(kinds)) for each in types], np.int32)
    return known[abstraction]
