"""The instances of action schemas that a problem's static facts allow, found by joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import look, looking
from sgp.planning.pddl import Atom, DomainText, Literal, ProblemText, Schema

_AT_A_TIME = 10_000  # bindings that are extended together

Places = NDArray[np.int64]
_Mask = NDArray[np.bool_]


class TooLarge(Exception):
    """A problem has more instances than are wanted."""


class Relation:
    """Atoms of one predicate, their arguments as the numbers of objects [k, arity]: each atom once, in their order.

    Looked up argument by argument, as in a trie: what is known of the first ones is a number below k.
    """

    def __init__(self, arguments: Places, size: int):
        self._size = size
        self._levels: list[Places] = []
        code, first = np.zeros(len(arguments), np.int64), np.zeros(min(len(arguments), 1), np.int64)
        for column in arguments.T:
            known, first, code = np.unique(code * size + column, return_index=True, return_inverse=True)
            self._levels.append(known)
        self.arguments = arguments[first]

    def __len__(self) -> int:
        return len(self.arguments)

    def find(self, columns: Sequence[Places], count: int) -> Places:
        """The places [count] of the atoms with these arguments, columns [count] each; -1 where there is none."""
        if not len(self):
            return np.full(count, -1)
        code, found = np.zeros(count, np.int64), np.ones(count, np.bool_)
        for known, column in zip(self._levels, columns, strict=True):
            code = code * self._size + column
            place = np.minimum(np.searchsorted(known, code), len(known) - 1)
            found &= known[place] == code
            code = place
        return np.where(found, code, -1)

    def extensions(self, position: int, columns: Sequence[Places], count: int) -> tuple[Places, Places]:
        """For each of `count` rows the objects that can stand at a position, given columns for the other ones.

        Which row each extension belongs to, and the object.
        """
        others = np.delete(self.arguments, position, axis=1)
        groups = Relation(others, self._size)
        own = groups.find(list(others.T), len(others))
        order = np.argsort(own, kind="stable")
        of_row = groups.find(columns, count)
        begin = np.searchsorted(own[order], of_row, side="left")
        counts = np.where(of_row < 0, 0, np.searchsorted(own[order], of_row, side="right") - begin)
        row = np.repeat(np.arange(count), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, self.arguments[order[np.repeat(begin, counts) + within], position]


class StaticFacts:
    """The objects, types and static atoms of a problem, and the instances of action schemas that they allow."""

    def __init__(self, domain: DomainText, problem: ProblemText):
        self.objects = domain.constants + problem.objects
        self._numbers = {thing.name: place for place, thing in enumerate(self.objects)}
        self._kinds = [set().union(*map(domain.supertypes, thing.types)) for thing in self.objects]
        self._fitting: dict[tuple[str, ...], _Mask] = {}  # a memo
        self._fluent_predicates = domain.fluent_predicates
        atoms: dict[str, list[Atom]] = {}
        for atom in looking(problem.init):
            if atom.predicate not in self._fluent_predicates:
                atoms.setdefault(atom.predicate, []).append(atom)
        self._relations = {predicate: self.relation([self.places(known)]) for predicate, known in atoms.items()}
        self._empty = {arity: Relation(np.empty((0, arity), np.int64), 1) for arity in domain.predicates.values()}

    def places(self, atoms: Sequence[Atom]) -> Places:
        """The arguments [k, arity] of atoms of one predicate."""
        return np.array([[self._numbers[name] for name in atom.objects] for atom in atoms], np.int64)

    def number(self, name: str) -> int:
        """The number of an object."""
        return self._numbers[name]

    def fitting(self, types: Sequence[str]) -> _Mask:
        """Which objects [n] are of one of some types."""
        known = self._fitting.get(tuple(types))
        if known is None:
            known = np.array([not kinds.isdisjoint(types) for kinds in self._kinds], np.bool_)
            self._fitting[tuple(types)] = known
        return known

    def relation(self, parts: Sequence[Places]) -> Relation:
        """The atoms with these arguments, [k, arity] in each part."""
        return Relation(np.concatenate(parts), len(self.objects))

    def instances(self, schema: Schema, most: int | None = None) -> Places:
        """The arguments [m, p] for which the static precondition holds, in the order of the PDDL's objects.

        Raises TooLarge where there are more than `most`, or more bindings of the first so many parameters on the way.
        """
        names = [parameter.name for parameter in schema.parameters]
        checks: dict[int, list[Literal]] = {}  # each literal is looked at as soon as its last variable is bound
        for literal in schema.precondition:
            if literal.atom.predicate not in self._fluent_predicates:
                bound = [names.index(name) for name in literal.atom.objects if name in names]
                checks.setdefault(max(bound, default=-1), []).append(literal)
        start = self._kept(schema, np.zeros((1, 0), np.int64), checks.get(-1, []))
        parts, met = [start[:0].reshape(0, len(names))], [0] * (len(names) + 1)
        for rows in self._extensions(schema, start, checks):
            met[rows.shape[1]] += len(rows)
            if most is not None and met[rows.shape[1]] > most:
                raise TooLarge
            look()
            if rows.shape[1] == len(names):
                parts.append(rows)
        rows = np.concatenate(parts)
        return rows[np.lexsort(rows.T[::-1])] if names else rows

    def columns(self, schema: Schema, names: Iterable[str], rows: Places) -> list[Places]:
        """The arguments [m] that rows of parameters give to the names of parameters and constants."""
        places = {parameter.name: place for place, parameter in enumerate(schema.parameters)}
        return [rows[:, places[name]] if name in places else np.full(len(rows), self._numbers[name]) for name in names]

    def _extensions(self, schema: Schema, rows: Places, checks: Mapping[int, list[Literal]]) -> Iterator[Places]:
        """The rows, and below them those with further parameters, some at a time: they may grow before they shrink."""
        yield rows
        depth = rows.shape[1]
        if depth == len(schema.parameters):
            return
        for first in range(0, len(rows), _AT_A_TIME):
            literals = checks.get(depth, [])
            longer = self._extended(schema, rows[first : first + _AT_A_TIME], literals)
            yield from self._extensions(schema, self._kept(schema, longer, literals), checks)

    def _kept(self, schema: Schema, rows: Places, literals: Sequence[Literal]) -> Places:
        """The rows for which the literals hold."""
        for literal in literals:
            rows = rows[self._holds(schema, literal, rows)]
        return rows

    def _extended(self, schema: Schema, rows: Places, literals: Sequence[Literal]) -> Places:
        """The rows with every value of the next parameter that fits its type.

        The values come from a positive literal that the parameter completes where there is one.
        """
        parameter = schema.parameters[rows.shape[1]]
        fits = self.fitting(parameter.types)
        joining = [
            atom
            for atom, positive in literals
            if positive and atom.predicate != "=" and atom.objects.count(parameter.name) == 1
        ]
        if joining:
            atom = max(joining, key=lambda each: len(each.objects))  # the more of it is bound, the fewer values
            position = atom.objects.index(parameter.name)
            others = atom.objects[:position] + atom.objects[position + 1 :]
            row, value = self._relation(atom).extensions(position, self.columns(schema, others, rows), len(rows))
            kept = fits[value]
            row, value = row[kept], value[kept]
        else:
            values = np.flatnonzero(fits)
            row, value = np.repeat(np.arange(len(rows)), len(values)), np.tile(values, len(rows))
        return np.column_stack([rows[row], value])

    def _holds(self, schema: Schema, literal: Literal, rows: Places) -> _Mask:
        """Of each row whether a static literal holds."""
        atom, positive = literal
        columns = self.columns(schema, atom.objects, rows)
        if atom.predicate == "=":
            return np.asarray((columns[0] == columns[1]) == positive)
        return np.asarray((self._relation(atom).find(columns, len(rows)) >= 0) == positive)

    def _relation(self, atom: Atom) -> Relation:
        return self._relations.get(atom.predicate) or self._empty[len(atom.objects)]
