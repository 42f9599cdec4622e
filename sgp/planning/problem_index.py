"""Numbering of a problem's objects and predicates, for arrays of atoms and actions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import with_limit_checks
from sgp.planning.hash_table import Ints, Mask
from sgp.planning.pddl import Action, Atom, DomainText, ProblemText


class ProblemIndex:
    """Numbers of the objects (constants first), predicates and schemas of a problem, in the order of the PDDL."""

    def __init__(self, domain: DomainText, problem: ProblemText):
        self.domain, self.problem = domain, problem
        self.objects = domain.constants + problem.objects
        self.names = [parameter.name for parameter in self.objects]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.schemas = list(domain.schemas.values())
        self.predicates = {name: number for number, name in enumerate(domain.predicates)}
        self._predicate_names = list(domain.predicates)
        self.arity = max([2, *domain.predicates.values()])
        """The most arguments of a literal; "=" has two."""
        self._types = list(domain.types_of(self.objects).values())
        self._of_types: dict[tuple[str, ...], NDArray[np.bool_]] = {}  # cache

    def of_types(self, types: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask [n] of the objects of one of these types."""
        key = tuple(types)
        if key not in self._of_types:
            self._of_types[key] = np.array([not above.isdisjoint(types) for above in self._types], np.bool_)
        return self._of_types[key]

    def having(self, predicate: str) -> NDArray[np.bool_]:
        """Return a mask [n] of the objects of which a static predicate of one argument holds."""
        predicates, rows = self.static_rows
        mask = np.zeros(len(self.names), np.bool_)
        mask[rows[predicates == self.predicates[predicate], 0]] = True
        return mask

    def rows(self, atoms: Sequence[Atom]) -> tuple[Ints, Ints]:
        """Return the predicates [k] and arguments [k, w] of atoms, padded with -1."""
        predicates = np.array([self.predicates[atom.predicate] for atom in atoms], np.int32)
        padding = [-1] * self.arity
        rows = [([self.numbers[name] for name in names] + padding)[: self.arity] for _, names in atoms]
        return predicates, np.array(rows, np.int32).reshape(len(atoms), self.arity)

    def atoms(self, predicates: Ints, rows: Ints) -> list[Atom]:
        """Return the atoms [k] with these predicates and arguments."""
        names = self.names
        return [
            Atom(self._predicate_names[predicate], tuple([names[number] for number in row if number >= 0]))
            for predicate, row in zip(predicates.tolist(), rows.tolist(), strict=True)
        ]

    @cached_property
    def static_rows(self) -> tuple[Ints, Ints]:
        """The predicates [k] and arguments [k, w] of the static initial atoms."""
        fluent = self.domain.fluent_predicates
        return self.rows([atom for atom in self.problem.init if atom.predicate not in fluent])

    @cached_property
    def counts(self) -> dict[str, tuple[int, ...]]:
        """The number of initial atoms of each predicate, and of the distinct objects at each argument position."""
        atoms: dict[str, list[tuple[str, ...]]] = {name: [] for name in self.predicates}
        for predicate, objects in with_limit_checks(self.problem.init):
            atoms[predicate].append(objects)
        return {
            name: (len(rows), *(len(set(column)) for column in zip(*rows, strict=True))) for name, rows in atoms.items()
        }

    @cached_property
    def symmetric_objects(self) -> tuple[Mask, Ints]:
        """A mask [n] of the objects that only fluents distinguish from another object, and kinds [n], -1 for none."""
        own = [parameter.name for parameter in self.problem.objects]  # constants are never interchangeable
        always = self._occurrences(own)
        kinds: dict[object, list[str]] = {}
        for parameter in self.problem.objects:
            kinds.setdefault((parameter.types, always[parameter.name]), []).append(parameter.name)
        numbers = np.full(len(self.names), -1, np.int32)
        for kind, names in enumerate(kinds.values()):
            if len(names) > 1:
                numbers[[self.numbers[name] for name in names]] = kind
        return numbers >= 0, numbers

    def _occurrences(self, names: Sequence[str]) -> dict[str, frozenset[tuple[object, ...]]]:
        """Return each object's static atoms and goal literals, with a gap at its argument position."""
        fluent = self.domain.fluent_predicates
        static = ((atom, "") for atom in self.problem.init if atom.predicate not in fluent)
        found: dict[str, set[tuple[object, ...]]] = {name: set() for name in names}
        for atom, mark in with_limit_checks([*static, *((atom, sign) for atom, sign in self.problem.goal)]):
            for name in dict.fromkeys(atom.objects):
                if name in found:
                    gaps = (None if other == name else other for other in atom.objects)
                    found[name].add((mark, atom.predicate, *gaps))
        return {name: frozenset(own) for name, own in found.items()}

    def goal(self, positive: bool) -> list[Atom]:
        """Return the fluent atoms of the goal's positive or negative literals."""
        fluent = self.domain.fluent_predicates
        return [atom for atom, sign in self.problem.goal if sign is positive and atom.predicate in fluent]


class Instances:
    """Ground actions: rows [m, 1 + p] of a schema and its arguments."""

    def __init__(self, index: ProblemIndex, rows: Ints):
        self._index, self.rows = index, rows
        self._actions: dict[int, Action] = {}

    def __len__(self) -> int:
        """Return the number of actions."""
        return len(self.rows)

    def action(self, number: int) -> Action:
        """Return an action with its arguments."""
        if number not in self._actions:
            which, *arguments = self.rows[number].tolist()
            schema, names = self._index.schemas[which], self._index.names
            objects = tuple([names[argument] for argument in arguments[: len(schema.parameters)]])
            self._actions[number] = Action(schema.name, objects)
        return self._actions[number]
