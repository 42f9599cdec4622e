"""The features of a marked transition in words, told of the very objects and atoms that have them.

Features are hashes, which cannot be read. Here the graph of one transition is walked once more, slowly, and every hash
is met again together with what it was made of: what the kernels compute, said aloud.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sgp.encoders.kernels.marked_graph import (
    ATOM,
    CLOSED,
    COLOUR,
    EDGE,
    LEVEL,
    OBJECT,
    OPEN,
    STEP,
    TOKEN,
    marked,
    number,
    pair,
)
from sgp.encoders.kernels.marked_sets import total_of_set
from sgp.planning.pddl import OBJECT as ROOT
from sgp.planning.pddl import Atom
from sgp.planning.task import State, Task

SCALARS_IN_WORDS = ("log2 of the number of actions", "the goal is reached")
_LISTED = 4  # atoms that a neighbourhood names

Walked = Mapping[str, Sequence[int]]  # of every predicate the places of the arguments where walks enter its atoms
Colours = list[dict["Atom | str", int]]  # of every atom and object, by level of refinement


class Depths(NamedTuple):
    """How far features reach (the fields of `MarkedConfig`)."""

    iterations: int
    open_atoms: int
    closed_atoms: int
    passed_atoms: bool = False


class TransitionWords:
    """The features of transitions from one state."""

    def __init__(
        self,
        depths: Depths,
        task: Task,
        state: State,
        objects: Mapping[str, int],
        kind: Callable[[Atom], int],
        walked: Walked,
    ):
        """`objects` has every object's first colour, `kind` gives an atom's, `walked` says where walks enter."""
        self.depths, self.task, self.objects, self.kind, self.walked = depths, task, objects, kind, walked
        self.goal = {literal.atom: literal.positive for literal in task.goal}
        self.kinds = _kinds(task)
        self.static = {atom for atom in task.static_atoms if len(atom.objects) > 1}
        self.before = self._true(state)
        self.atoms = self.before | set(self.goal)
        self.plain = self.refine(self.atoms, self.before, self.before)
        self.alone = self._alone() if depths.passed_atoms else {}
        self.passed = {**self.objects, **{name: self._passed(name) for name in self.alone}}

    def of(self, state: State) -> dict[int, str]:
        """Words by hash for each feature of the transition to a state; the first witness of a feature speaks."""
        return _Transition(self, self._true(state)).words

    def _true(self, state: State) -> set[Atom]:
        return {self.task.fluent(index) for index in self.task.fluents(state)} | self.static

    def _alone(self) -> dict[str, list[Atom]]:
        """The atoms of each object alone."""
        found: dict[str, list[Atom]] = {}
        for atom in sorted(self.atoms):
            if len(atom.objects) == 1:
                found.setdefault(atom.objects[0], []).append(atom)
        return found

    def _passed(self, name: str) -> int:
        """The colour that an object has within walks."""
        value = sum(_pair(EDGE, self.plain[0][atom], 0) for atom in self.alone[name]) % 2**64
        return _pair(OBJECT, self.objects[name], value)

    def refine(self, atoms: set[Atom], before: set[Atom], after: set[Atom]) -> Colours:
        """Colours at each level in the graph of these atoms."""
        around = _around(atoms)
        first: dict[Atom | str, int] = {atom: self.mark(atom, before, after) for atom in atoms}
        first.update(self.objects)
        levels: Colours = [first]
        for _ in range(self.depths.iterations):
            levels.append(refined(levels[-1], atoms, self.objects, around))
        return levels

    def mark(self, atom: Atom, before: set[Atom], after: set[Atom]) -> int:
        """An atom's first colour."""
        return int(marked(np.uint64(self.kind(atom)), atom in before, atom in after))


Around = Mapping[str, list[tuple[Atom, int]]]  # of each object its atoms, and its place in them


def _around(atoms: Iterable[Atom]) -> Around:
    found: dict[str, list[tuple[Atom, int]]] = {}
    for atom in sorted(atoms):
        for place, name in enumerate(atom.objects):
            found.setdefault(name, []).append((atom, place))
    return found


def refined(
    last: Mapping[Atom | str, int], atoms: Iterable[Atom], objects: Iterable[str], around: Around
) -> dict[Atom | str, int]:
    """One round: an object sees the set of its atoms, an atom its objects by position."""
    new: dict[Atom | str, int] = {}
    for name in objects:
        edges = [_pair(EDGE, last[atom], place) for atom, place in around.get(name, ())]
        new[name] = _pair(OBJECT, last[name], int(total_of_set(np.array(edges, np.uint64))))
    for atom in atoms:
        value = sum(_pair(EDGE, last[name], place) for place, name in enumerate(atom.objects)) % 2**64
        new[atom] = _pair(ATOM, last[atom], value)
    return new


def _kinds(task: Task) -> dict[str, list[str]]:
    """The types and static unary predicates of each object."""
    found = {thing.name: [each for each in thing.types if each != ROOT] for thing in task.objects}
    for atom in task.static_atoms:
        if len(atom.objects) == 1:
            found[atom.objects[0]].append(atom.predicate)
    return found


class _Transition:
    """One transition and its features."""

    def __init__(self, state: TransitionWords, after: set[Atom]):
        self.state, self.after = state, after
        self.changed = state.before ^ after
        self.atoms = state.atoms | after
        self.around = _around(self.atoms)
        self.words: dict[int, str] = {}
        self._add_colours()
        tokens = self._add_tokens()
        if state.depths.open_atoms or state.depths.closed_atoms:
            self._add_walks(tokens)

    def _say(self, value: int, said: str) -> None:
        self.words.setdefault(value, said)

    def _add_colours(self) -> None:
        for level, colours in enumerate(self.state.refine(self.atoms, self.state.before, self.after)):
            for node, colour in colours.items():
                if self.state.plain[level].get(node) != colour:
                    self._say(_pair(COLOUR, _number(LEVEL, level), colour), self._node(node, level))

    def _add_tokens(self) -> dict[str, int]:
        around = _around(self.changed)
        colours: dict[Atom | str, int] = {name: self.state.objects[name] for name in around}
        colours |= {atom: self.state.mark(atom, self.state.before, self.after) for atom in self.changed}
        for _ in range(2):
            colours = refined(colours, self.changed, around, around)
        for atom in sorted(self.changed):
            others = sorted({other for name in atom.objects for other, _ in around[name]} - {atom})
            self._say(_pair(TOKEN, _number(ATOM, 0), colours[atom]), f"{self._atom(atom)}{self._beside(others)}")
        for name, near in around.items():
            said = f"of {self._object(name)} changes only: {self._listed(atom for atom, _ in near)}"
            self._say(_pair(TOKEN, _number(OBJECT, 0), colours[name]), said)
        return {name: colours[name] for name in around}

    def _add_walks(self, tokens: dict[str, int]) -> None:
        state, first = self.state, self.state.plain[0]

        def walk(name: str, said: int, path: tuple[Atom, ...], told: tuple[Atom, ...], start: str) -> None:
            for atom, place in self.around.get(name, ()):
                if atom in path or atom in self.changed:
                    continue
                length, way = len(path) + 1, (*told, atom)
                entered = place in state.walked.get(atom.predicate, ())
                if entered and len(atom.objects) == 1 and length <= state.depths.open_atoms:
                    self._say(_pair(OPEN, said, first[atom]), f"{start} changes, beside it {self._listed(way)}")
                for out, other in enumerate(atom.objects):
                    if out == place:
                        continue
                    step = _pair(STEP, said, _pair(STEP, first[atom], 64 * place + out))
                    if other in tokens:
                        from_end = out in state.walked.get(atom.predicate, ())
                        if length <= state.depths.closed_atoms and (from_end if path else entered):
                            self._say(_pair(CLOSED, step, tokens[other]), self._joined(start, other, way))
                        continue
                    if not entered:
                        continue
                    step, way = _pair(STEP, step, state.passed[other]), (*told, atom, *state.alone.get(other, ()))
                    if length <= state.depths.open_atoms:
                        self._say(_pair(OPEN, step, 0), f"{start} changes, beside it {self._listed(way)}")
                    if length < max(state.depths.open_atoms, state.depths.closed_atoms):
                        walk(other, step, (*path, atom), way, start)

        for name, token in tokens.items():
            walk(name, _pair(STEP, _number(STEP, 0), token), (), (), name)

    def _joined(self, one: str, two: str, way: tuple[Atom, ...]) -> str:
        """A closed walk, told alike from both of its ends."""
        if two < one:
            one, two, way = two, one, way[::-1]
        return f"{one if one == two else f'{one} and {two}'} change, joined by {self._listed(way)}"

    def _node(self, node: Atom | str, level: int) -> str:
        """What an atom or an object sees at a level."""
        if isinstance(node, str):
            return f"{self._object(node)} with {self._neighbours(node, level)}"
        if level == 0:
            return self._atom(node)
        if level == 1:
            kinds = [f"{name} {kind}" for name in dict.fromkeys(node.objects) if (kind := self._kind(name))]
            return f"{self._atom(node)}{', ' if kinds else ''}{', '.join(kinds)}"
        seen = [f"{name} with {self._neighbours(name, level - 1, node)}" for name in dict.fromkeys(node.objects)]
        return f"{self._atom(node)}; {'; '.join(seen)}"

    def _neighbours(self, name: str, level: int, but: Atom | None = None) -> str:
        return self._listed((atom for atom, _ in self.around.get(name, ()) if atom != but), alike=True) or "nothing"

    def _listed(self, atoms: Iterable[Atom], alike: bool = False) -> str:
        """Atoms in words, what changes first, then goals; of alike ones (of one first colour) the first."""
        there = list(atoms)
        if alike:
            there.sort(key=lambda atom: (atom not in self.changed, atom not in self.state.goal, atom))
            colour = {atom: self.state.mark(atom, self.state.before, self.after) for atom in there}
            kinds: dict[int, list[Atom]] = {}
            for atom in there:
                kinds.setdefault(colour[atom], []).append(atom)
            said = [
                self._atom(each[0]) + (f" and {len(each) - 1} alike" if len(each) > 1 else "")
                for each in kinds.values()
            ]
        else:
            said = [self._atom(atom) for atom in there]
        more = f", and {len(said) - _LISTED} more" if len(said) > _LISTED else ""
        return ", ".join(said[:_LISTED]) + more

    def _beside(self, others: list[Atom]) -> str:
        return f"; also {self._listed(others)}" if others else ""

    def _atom(self, atom: Atom) -> str:
        """An atom, how it changes, and its place in the goal."""
        before, after, wanted = atom in self.state.before, atom in self.after, self.state.goal.get(atom)
        if before != after:
            change = f"{atom} becomes {'true' if after else 'false'}"
            return change if wanted is None else f"{change}, {'a goal' if wanted else 'a goal not to be'}"
        if wanted is None:
            return str(atom)
        return f"{atom}, {'a goal that holds' if before == wanted else 'an open goal'}"

    def _object(self, name: str) -> str:
        return " ".join(filter(None, (name, self._kind(name))))

    def _kind(self, name: str) -> str:
        """The types and static unary predicates of an object, in brackets."""
        found = self.state.kinds[name]
        return f"({', '.join(found)})" if found else ""


def _pair(salt: int, first: int, second: int) -> int:
    return int(pair(salt, np.uint64(first), np.uint64(second)))


def _number(salt: int, value: int) -> int:
    return int(number(salt, value))
