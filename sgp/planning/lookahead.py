"""Lookahead by width: the states that a novelty-pruned breadth-first search reaches become candidates."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sgp.errors import ConfigurationError
from sgp.planning.candidates import Candidates
from sgp.planning.clock import look, looking, stop
from sgp.planning.ground_model import GroundModel
from sgp.planning.novelty import Search, novel_states
from sgp.planning.novelty_forms import novelty_forms
from sgp.planning.operators import Lists
from sgp.planning.pddl import Action, Atom
from sgp.planning.symmetry import NO_SYMMETRY, symmetry_of
from sgp.planning.task import State, Successor, Task

Abstraction = Literal["none", "types", "base", "goals"]
LAYER_LIMIT = 1000  # states kept at each depth by the capped variant (AIW-AD, appendix B)

_Form = int | tuple[object, ...]


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
        return self._lifted(task, state) if task.model is None else self._compiled(task, task.model, state)

    def _compiled(self, task: Task, model: GroundModel, state: State) -> Candidates:
        """Searches over arrays of all ground actions."""
        forms, count = _novelty_forms(task, self.abstraction, model)
        search = Search(self.layer or 0, self.enough or 0, self.states)
        fluents = np.array(task.fluents(state), np.int32)
        symmetry = symmetry_of(task, model)[1] if self.representatives else NO_SYMMETRY
        found = novel_states(model.operators, forms, count, model.goal, model.atoms, fluents, search, symmetry, stop())
        look()
        return Candidates(task, model, state, fluents, found)

    def _lifted(self, task: Task, state: State) -> list[Successor]:
        """The same where not all ground actions are known."""
        novelty, goal = _Novelty(task, self.abstraction, state), _Goal(task)
        most = max(len(schema.effect) for schema in task.domain_text.schemas.values())
        met = {state}
        wanted, novelties, progress = set(task.goal_atoms), 0, False
        reached = wanted.intersection(task.atoms(state))
        found: list[Successor] = []
        layer: list[tuple[State, tuple[Action, ...], int | None]] = [(state, (), None)]
        while layer and not (self.enough is not None and novelties >= self.enough and progress):
            novel: list[tuple[State, tuple[Action, ...], int | None]] = []
            for origin, path, parent in layer:
                near = goal.is_near(origin, most)
                for action in looking(task.applicable(origin, self.representatives)):
                    # What the action adds alone can be novel or reach the goal: most states need not be made.
                    new = novelty.add(action.adds)
                    if not (new or near or parent is None):
                        continue
                    after = task.after(origin, action)
                    if after in met or not (new or parent is None or task.is_goal(after)):
                        continue
                    met.add(after)
                    found.append(Successor(path + action.actions, after, parent))
                    if new:
                        novel.append((after, path + action.actions, len(found) - 1))
                        progress = progress or len(wanted.intersection(task.atoms(after))) > len(reached)
                    if len(found) >= self.states:
                        return found
            novelties += len(novel)
            if self.layer is not None and len(novel) > self.layer:
                novel.sort(key=lambda entry: -goal.satisfied(entry[0]))  # stable: first seen, first kept
                novel = novel[: self.layer]
            layer = novel
        return found


_FORMS: weakref.WeakKeyDictionary[Task, dict[Abstraction, tuple[Lists, int]]] = weakref.WeakKeyDictionary()


def _novelty_forms(task: Task, abstraction: Abstraction, model: GroundModel) -> tuple[Lists, int]:
    """What stands for each fluent of a grounded task, and how many forms there are; a memo that dies with the task."""
    known = _FORMS.setdefault(task, {})
    if abstraction not in known:
        kept = model.fluents if abstraction == "none" else _kept(task, abstraction)
        whole = np.zeros(model.atoms, np.bool_)
        whole[[model.fluents[atom] for atom in kept if atom in model.fluents]] = True
        kinds: dict[tuple[str, ...], int] = {}
        types = [() if abstraction == "base" else tuple(sorted(thing.types)) for thing in task.objects]
        numbers = np.array([kinds.setdefault(each, len(kinds)) for each in types], np.int32)
        known[abstraction] = novelty_forms(model.predicates, model.fluent_arguments, numbers, whole)
    return known[abstraction]


def _kept(task: Task, abstraction: Abstraction) -> set[Atom]:
    """The atoms that an abstraction leaves whole."""
    return set() if abstraction == "goals" else {literal.atom for literal in task.goal}


class _Novelty:
    """What was seen in one search: the indices of atoms, or their abstractions, remembered by index."""

    def __init__(self, task: Task, abstraction: Abstraction, state: State):
        self._task, self._whole = task, abstraction == "none"
        self._goal = _kept(task, abstraction)
        self._types = {
            thing.name: () if abstraction == "base" else tuple(sorted(thing.types)) for thing in task.objects
        }
        self._forms: dict[int, tuple[_Form, ...]] = {}
        self._seen: set[_Form] = set()
        self.add(task.fluents(state))

    def add(self, atoms: Iterable[int]) -> bool:
        """Whether one of the atoms is novel; all of them are seen from now on."""
        before = len(self._seen)
        if self._whole:
            self._seen.update(atoms)
        else:
            for index in atoms:
                self._seen.update(self.forms(index))
        return len(self._seen) > before

    def forms(self, index: int) -> tuple[_Form, ...]:
        """What stands for an atom."""
        return (index,) if self._whole else self._forms.get(index) or self._learn(index)

    def _learn(self, index: int) -> tuple[_Form, ...]:
        atom = self._task.fluent(index)
        forms: tuple[_Form, ...] = (index,)
        if atom.objects and atom not in self._goal:
            forms = tuple(
                (
                    atom.predicate,
                    kept,
                    *(name if place == kept else self._types[name] for place, name in enumerate(atom.objects)),
                )
                for kept in range(len(atom.objects))
            )
        self._forms[index] = forms
        return forms


class _Goal:
    """How much of a task's goal states satisfy; which atoms belong to it is remembered by index."""

    def __init__(self, task: Task):
        self._task = task
        fluents = task.domain_text.fluent_predicates
        self._literals = {each.atom: each.positive for each in task.goal if each.atom.predicate in fluents}
        self._negated = sum(not positive for positive in self._literals.values())
        self._worth: dict[int, int] = {}  # of an atom that is true: 1 for a goal atom, -1 for a negated one, else 0

    def satisfied(self, state: State) -> int:
        """The number of fluent literals of the goal that hold."""
        total = self._negated
        for index in self._task.fluents(state):
            worth = self._worth.get(index)
            if worth is None:
                positive = self._literals.get(self._task.fluent(index))
                worth = self._worth[index] = 0 if positive is None else 1 if positive else -1
            total += worth
        return total

    def is_near(self, state: State, atoms: int) -> bool:
        """Whether adding so many atoms could reach the goal."""
        return self._negated > 0 or len(self._literals) - self.satisfied(state) <= atoms
