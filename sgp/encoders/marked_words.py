"""Descriptions in words of the features of a marked transition, by the objects and atoms that have them.

Hashes cannot be inverted. This module computes the features of one transition again in plain Python, slowly, and
records for every hash the objects and atoms from which it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sgp.encoders.kernels.hashing import number, pair, total_of_set
from sgp.encoders.kernels.marked_graph import ATOM, CLOSED, COLOUR, EDGE, LEVEL, OBJECT, OPEN, STEP, TOKEN, marked
from sgp.planning.pddl import OBJECT as ROOT
from sgp.planning.pddl import Atom
from sgp.planning.states import State
from sgp.planning.task import Task

if TYPE_CHECKING:
    from sgp.encoders.marked_transition import MarkedConfig

SCALARS_IN_WORDS = ("log2 of the number of actions", "the goal is reached")
_LISTED = 4  # maximal number of atoms in a description

Walked = Mapping[str, Sequence[int]]  # for each predicate, the argument positions where walks enter its atoms
Colours = list[dict["Atom | str", int]]  # colours of atoms and objects, by level of refinement


class TransitionWords:
    """Descriptions of the features of transitions from one state."""

    def __init__(
        self,
        config: MarkedConfig,
        task: Task,
        state: State,
        objects: Mapping[str, int],
        kind: Callable[[Atom], int],
        walked: Walked,
    ):
        """`objects` has initial colours, `kind` returns kind hashes, `walked` has the positions where walks enter."""
        self.config, self.task, self.objects, self.kind, self.walked = config, task, objects, kind, walked
        self.goal = {literal.atom: literal.positive for literal in task.goal}
        self.kinds = _kinds(task)
        self.static = {atom for atom in task.static_atoms if len(atom.objects) > 1}
        self.before = self._true(state)
        self.atoms = self.before | set(self.goal)
        self.plain = self.refine(self.atoms, self.before, self.before)
        unary = _around(atom for atom in self.atoms if len(atom.objects) == 1) if config.passed_atoms else {}
        self.alone = {name: [atom for atom, _ in near] for name, near in unary.items()}  # each object's unary atoms
        self.passed = dict(self.objects)  # colours of objects within walks
        for name, atoms in self.alone.items():
            value = sum(_pair(EDGE, self.plain[0][atom], 0) for atom in atoms) % 2**64
            self.passed[name] = _pair(OBJECT, self.objects[name], value)

    def of(self, state: State) -> dict[int, str]:
        """Return descriptions by hash for the features of the transition to a state, by their first occurrence."""
        return _Transition(self, self._true(state)).words

    def _true(self, state: State) -> set[Atom]:
        return {self.task.fluent(index) for index in self.task.fluents(state)} | self.static

    def refine(self, atoms: set[Atom], before: set[Atom], after: set[Atom]) -> Colours:
        """Return the colours at each level in the graph of these atoms."""
        around = _around(atoms)
        first: dict[Atom | str, int] = {atom: self.mark(atom, before, after) for atom in atoms}
        first.update(self.objects)
        levels: Colours = [first]
        for _ in range(self.config.iterations):
            levels.append(refined(levels[-1], atoms, self.objects, around))
        return levels

    def mark(self, atom: Atom, before: set[Atom], after: set[Atom]) -> int:
        """Return an atom's initial colour."""
        return int(marked(np.uint64(self.kind(atom)), atom in before, atom in after))


Around = Mapping[str, list[tuple[Atom, int]]]  # for each object, its atoms and its argument position in them


def _around(atoms: Iterable[Atom]) -> Around:
    found: dict[str, list[tuple[Atom, int]]] = {}
    for atom in sorted(atoms):
        for place, name in enumerate(atom.objects):
            found.setdefault(name, []).append((atom, place))
    return found


def refined(
    last: Mapping[Atom | str, int], atoms: Iterable[Atom], objects: Iterable[str], around: Around
) -> dict[Atom | str, int]:
    """Return colours after one round: of objects by the set of their atoms, of atoms by their objects and positions."""
    new: dict[Atom | str, int] = {}
    for name in objects:
        edges = [_pair(EDGE, last[atom], place) for atom, place in around.get(name, ())]
        new[name] = _pair(OBJECT, last[name], int(total_of_set(np.array(edges, np.uint64))))
    for atom in atoms:
        value = sum(_pair(EDGE, last[name], place) for place, name in enumerate(atom.objects)) % 2**64
        new[atom] = _pair(ATOM, last[atom], value)
    return new


def _kinds(task: Task) -> dict[str, list[str]]:
    """Return each object's types and static unary predicates."""
    found = {item.name: [each for each in item.types if each != ROOT] for item in task.objects}
    for atom in task.static_atoms:
        if len(atom.objects) == 1:
            found[atom.objects[0]].append(atom.predicate)
    return found


class _Transition:
    """The features of one transition."""

    def __init__(self, state: TransitionWords, after: set[Atom]):
        self.state, self.after = state, after
        self.changed = state.before ^ after
        self.atoms = state.atoms | after
        self.around = _around(self.atoms)
        self.words: dict[int, str] = {}
        for level, colours in enumerate(state.refine(self.atoms, state.before, after)):
            for node, colour in colours.items():
                if state.plain[level].get(node) != colour:
                    self.words.setdefault(_pair(COLOUR, _number(LEVEL, level), colour), self._node(node, level))
        tokens = self._add_tokens()
        if state.config.open_atoms or state.config.closed_atoms:
            self._add_walks(tokens)

    def _add_tokens(self) -> dict[str, int]:
        around = _around(self.changed)
        colours: dict[Atom | str, int] = {name: self.state.objects[name] for name in around}
        colours |= {atom: self.state.mark(atom, self.state.before, self.after) for atom in self.changed}
        for _ in range(2):
            colours = refined(colours, self.changed, around, around)
        for atom in sorted(self.changed):
            others = sorted({other for name in atom.objects for other, _ in around[name]} - {atom})
            words = self._atom(atom) + (f"; also {self._listed(others)}" if others else "")
            self.words.setdefault(_pair(TOKEN, _number(ATOM, 0), colours[atom]), words)
        for name, near in around.items():
            words = f"all changes of {self._object(name)}: {self._listed(atom for atom, _ in near)}"
            self.words.setdefault(_pair(TOKEN, _number(OBJECT, 0), colours[name]), words)
        return {name: colours[name] for name in around}

    def _add_walks(self, tokens: dict[str, int]) -> None:
        state, first, add = self.state, self.state.plain[0], self.words.setdefault

        def walk(name: str, walked: int, path: tuple[Atom, ...], before: tuple[Atom, ...], start: str) -> None:
            for atom, place in self.around.get(name, ()):
                if atom in path or atom in self.changed:
                    continue
                length, way = len(path) + 1, (*before, atom)
                entered = place in state.walked.get(atom.predicate, ())
                if entered and len(atom.objects) == 1 and length <= state.config.open_atoms:
                    add(_pair(OPEN, walked, first[atom]), f"{start} changes, beside it {self._listed(way)}")
                for out, other in enumerate(atom.objects):
                    if out == place:
                        continue
                    step = _pair(STEP, walked, _pair(STEP, first[atom], 64 * place + out))
                    if other in tokens:
                        from_end = out in state.walked.get(atom.predicate, ())
                        if length <= state.config.closed_atoms and (from_end if path else entered):
                            add(_pair(CLOSED, step, tokens[other]), self._joined(start, other, way))
                        continue
                    if not entered:
                        continue
                    step, way = (_pair(STEP, step, state.passed[other]), (*before, atom, *state.alone.get(other, ())))
                    if length <= state.config.open_atoms:
                        add(_pair(OPEN, step, 0), f"{start} changes, beside it {self._listed(way)}")
                    if length < max(state.config.open_atoms, state.config.closed_atoms):
                        walk(other, step, (*path, atom), way, start)

        for name, token in tokens.items():
            walk(name, _pair(STEP, _number(STEP, 0), token), (), (), name)

    def _joined(self, one: str, two: str, way: tuple[Atom, ...]) -> str:
        """Describe a closed walk; the description is the same from both ends."""
        if two < one:
            one, two, way = two, one, way[::-1]
        return f"{one if one == two else f'{one} and {two}'} change, joined by {self._listed(way)}"

    def _node(self, node: Atom | str, level: int) -> str:
        """Describe an atom or an object with its neighbourhood at a level."""
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
        return self._listed((atom for atom, _ in self.around.get(name, ()) if atom != but), group=True) or "nothing"

    def _listed(self, atoms: Iterable[Atom], group: bool = False) -> str:
        """List atoms in words; with `group`, changed atoms, then goals, then others, one of each equivalence class."""
        there = list(atoms)
        if group:
            there.sort(key=lambda atom: (atom not in self.changed, atom not in self.state.goal, atom))
            colour = {atom: self.state.mark(atom, self.state.before, self.after) for atom in there}
            kinds: dict[int, list[Atom]] = {}
            for atom in there:
                kinds.setdefault(colour[atom], []).append(atom)
            words = [
                self._atom(each[0]) + (f" and {len(each) - 1} equivalent" if len(each) > 1 else "")
                for each in kinds.values()
            ]
        else:
            words = [self._atom(atom) for atom in there]
        more = f", and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
        return ", ".join(words[:_LISTED]) + more

    def _atom(self, atom: Atom) -> str:
        """Describe an atom, its change, and its sign in the goal."""
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
        """Return an object's types and static unary predicates in parentheses."""
        found = self.state.kinds[name]
        return f"({', '.join(found)})" if found else ""


def _pair(salt: int, first: int, second: int) -> int:
    return int(pair(salt, np.uint64(first), np.uint64(second)))


def _number(salt: int, value: int) -> int:
    return int(number(salt, value))
