"""Lookahead by width: the states that a novelty-pruned breadth-first search reaches become candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sgp.errors import ConfigurationError
from sgp.planning.pddl import Action
from sgp.planning.task import State, Successor, Task

Abstraction = Literal["none", "types", "base"]
LAYER_LIMIT = 1000  # states kept at each depth by the capped variant (AIW-AD, appendix B)

_Form = int | tuple[object, ...]


@dataclass(frozen=True)
class Lookahead:
    """IW(1) from a state: candidates are all one-step successors, and all novel states with the actions to them.

    A state is novel if one of its atoms, or of their abstractions, was true in no state generated before it, the
    first state's atoms included (Lipovetzky and Geffner 2012; AIW-AD, section 3). With `abstraction` "types" every
    argument of an atom but one is replaced by its object's type, one position after the other, atoms of the goal stay
    whole (abstracted IW); with "base" there is one type for all objects (base-abstracted IW). `layer` keeps at each
    depth only so many novel states to expand, those that satisfy more goal atoms first (capped). Goal states are
    candidates whatever their novelty. `states` bounds the number of candidates, so that memory stays bounded.

    Candidates stand in the order in which they were generated; `parent` is the candidate that one was generated from,
    `actions` the whole path from the first state.
    """

    abstraction: Abstraction = "none"
    layer: int | None = None
    states: int = 100_000

    def __post_init__(self) -> None:
        if self.abstraction not in get_args(Abstraction):
            raise ConfigurationError(
                f"abstraction is '{self.abstraction}'; expected one of {', '.join(get_args(Abstraction))}"
            )
        for name in ("layer", "states"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"lookahead's {name} is {value}; expected at least 1")

    def __call__(self, task: Task, state: State) -> Sequence[Successor]:
        """The candidates of a state; none where it is a dead end."""
        forms = _Forms(task, self.abstraction)
        seen: set[_Form] = set(forms(state))
        met = {state}
        found: list[Successor] = []
        layer: list[tuple[State, tuple[Action, ...], int | None]] = [(state, (), None)]
        while layer:
            novel: list[tuple[State, tuple[Action, ...], int | None]] = []
            for origin, path, parent in layer:
                for actions, after, _ in task.successors(origin):
                    if after in met:
                        continue
                    known = len(seen)
                    seen.update(forms(after))
                    new = len(seen) > known
                    if not (new or parent is None or task.is_goal(after)):
                        continue
                    met.add(after)
                    found.append(Successor(path + actions, after, parent))
                    if new:
                        novel.append((after, path + actions, len(found) - 1))
                    if len(found) >= self.states:
                        return found
            if self.layer is not None and len(novel) > self.layer:
                satisfied = _GoalCount(task)
                novel.sort(key=lambda entry: -satisfied(entry[0]))  # stable: first seen, first kept
                novel = novel[: self.layer]
            layer = novel
        return found


class _Forms:
    """What is tested for novelty: the indices of a state's atoms, or the abstracted atoms, remembered by index."""

    def __init__(self, task: Task, abstraction: Abstraction):
        self._task, self._abstraction = task, abstraction
        self._types = {
            thing.name: () if abstraction == "base" else tuple(sorted(thing.types)) for thing in task.objects
        }
        self._whole = {literal.atom for literal in task.goal}
        self._known: dict[int, tuple[_Form, ...]] = {}

    def __call__(self, state: State) -> Iterable[_Form]:
        """The forms of the atoms true in a state."""
        if self._abstraction == "none":
            return self._task.fluents(state)
        return (form for index in self._task.fluents(state) for form in self._known.get(index) or self._learn(index))

    def _learn(self, index: int) -> tuple[_Form, ...]:
        atom = self._task.fluent(index)
        forms: tuple[_Form, ...] = (index,)
        if atom not in self._whole and atom.objects:
            forms = tuple(
                (
                    atom.predicate,
                    kept,
                    *(name if place == kept else self._types[name] for place, name in enumerate(atom.objects)),
                )
                for kept in range(len(atom.objects))
            )
        self._known[index] = forms
        return forms


class _GoalCount:
    """How many of the goal's literals a state satisfies."""

    def __init__(self, task: Task):
        self._task = task
        self._goal = {literal.atom: literal.positive for literal in task.goal}
        self._static = set(task.static_atoms)

    def __call__(self, state: State) -> int:
        true = {atom for atom in map(self._task.fluent, self._task.fluents(state)) if atom in self._goal}
        true |= {atom for atom in self._static if atom in self._goal}
        return sum((atom in true) is positive for atom, positive in self._goal.items())
