"""The instances of action schemas that a problem's static facts allow, found by joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import look, looking
from sgp.planning.pddl import Atom, DomainText, Literal, ProblemText, Schema

_AT_A_TIME = 10_000  # bindings that are extended together
_MOST_AT_ONCE = 1_000_000  # bindings that are made of them where all objects are tried

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
        self._projected: dict[tuple[int, ...], Relation] = {}  # a memo
        code, first = np.zeros(len(arguments), np.int64), np.zeros(min(len(arguments), 1), np.int64)
        for column in arguments.T:
            known, first, code = np.unique(code * size + column, return_index=True, return_inverse=True)
            self._levels.append(known)
        self.arguments = arguments[first]

    def __len__(self) -> int:
        return len(self.arguments)

    def find(self, columns: Sequence[Places], count: int) -> Places:
        """The places [count] of the atoms with these arguments, columns [count] each; -1 where there is none.

        With fewer columns, those of the atoms' first arguments among all there are.
        """
        if not len(self):
            return np.full(count, -1)
        code, found = np.zeros(count, np.int64), np.ones(count, np.bool_)
        for known, column in zip(self._levels, columns, strict=False):
            code = code * self._size + column
            place = np.minimum(np.searchsorted(known, code), len(known) - 1)
            found &= known[place] == code
            code = place
        return np.where(found, code, -1)

    def extensions(self, columns: Sequence[Places], count: int) -> tuple[Places, Places]:
        """For each of `count` rows the objects that can stand in the last place, given columns for the other ones.

        Which row each extension belongs to, and the object.
        """
        last = self._levels[-1] if len(self) else np.empty(0, np.int64)
        of_row = self.find(columns, count)
        begin, end = (np.searchsorted(last, (of_row + more) * self._size) for more in (0, 1))
        counts = np.where(of_row < 0, 0, end - begin)
        row = np.repeat(np.arange(count), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, last[np.repeat(begin, counts) + within] % self._size

    def projected(self, places: Sequence[int]) -> Relation:
        """What stands in some of the places of its atoms."""
        known = self if list(places) == list(range(len(self._levels))) else self._projected.get(tuple(places))
        if known is None:
            known = self._projected[tuple(places)] = Relation(self.arguments[:, places], self._size)
        return known

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many atoms there are, and how many objects stand in each place."""
        return len(self), *(len(np.unique(column)) for column in self.arguments.T)


def binding_order(
    schema: Schema, literals: Iterable[Literal], counts: Mapping[str, tuple[int, ...]], fitting: Sequence[int]
) -> list[int]:
    """The parameters of a schema in the order in which joins bind them, those with the fewest objects first.

    How many a literal leaves is estimated as if its atoms were spread evenly: `counts` has the number of each
    predicate's atoms, and of the objects in each place. `fitting` has the number of objects of each parameter's types.
    """
    names = [each.name for each in schema.parameters]
    atoms = [atom for atom, positive in literals if positive and atom.predicate != "="]
    order: list[int] = []

    def estimate(place: int) -> float:
        found = [float(fitting[place])]
        for predicate, objects in atoms:
            if names[place] in objects:
                count, *distinct = counts[predicate]
                given = [each not in names or names.index(each) in order for each in objects]
                left = count / prod(max(1, many) for many, known in zip(distinct, given, strict=True) if known)
                found.append(min(left, distinct[objects.index(names[place])]))
        return min(found)

    while len(order) < len(names):
        order.append(min((place for place in range(len(names)) if place not in order), key=estimate))
    return order


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
        static = [each for each in schema.precondition if each.atom.predicate not in self._fluent_predicates]
        fitting = [int(self.fitting(each.types).sum()) for each in schema.parameters]
        counts = {atom.predicate: self._relation(atom).counts for atom, _ in static if atom.predicate != "="}
        order = binding_order(schema, static, counts, fitting)
        bound = replace(schema, parameters=tuple(schema.parameters[place] for place in order))
        start = self._kept(bound, np.zeros((1, 0), np.int64), static)
        parts, met = [start[:0].reshape(0, len(order))], [0] * (len(order) + 1)
        for rows in self._extensions(bound, start, static):
            met[rows.shape[1]] += len(rows)
            if most is not None and met[rows.shape[1]] > most:
                raise TooLarge
            look()
            if rows.shape[1] == len(order):
                parts.append(rows)
        rows = np.concatenate(parts)[:, np.argsort(order)]
        return rows[np.lexsort(rows.T[::-1])] if order else rows

    def columns(self, schema: Schema, names: Iterable[str], rows: Places) -> list[Places]:
        """The arguments [m] that rows of parameters give to the names of parameters and constants."""
        places = {parameter.name: place for place, parameter in enumerate(schema.parameters)}
        return [rows[:, places[name]] if name in places else np.full(len(rows), self._numbers[name]) for name in names]

    def _extensions(self, schema: Schema, rows: Places, static: Sequence[Literal]) -> Iterator[Places]:
        """The rows, and below them those with further parameters, some at a time: they may grow before they shrink."""
        yield rows
        depth = rows.shape[1]
        if depth == len(schema.parameters):
            return
        parameter = schema.parameters[depth]
        own = [literal for literal in static if parameter.name in literal.atom.objects]
        source = self._source(schema, depth, own)
        at_a_time = _AT_A_TIME if source else max(1, _MOST_AT_ONCE // max(1, len(self.objects)))
        own = [each for each in own if each.atom != source or source.objects.count(parameter.name) > 1]
        for first in range(0, len(rows), at_a_time):
            longer = self._extended(schema, rows[first : first + at_a_time], source)
            yield from self._extensions(schema, self._kept(schema, longer, own), static)

    def _kept(self, schema: Schema, rows: Places, literals: Sequence[Literal]) -> Places:
        """The rows for which the literals hold, as far as they are bound."""
        for literal in literals:
            rows = rows[self._can_hold(schema, literal, rows)]
        return rows

    def _given(self, schema: Schema, atom: Atom, depth: int) -> list[int]:
        """The places of an atom whose objects the first parameters, or constants, give."""
        unbound = {each.name for each in schema.parameters[depth:]}
        return [place for place, name in enumerate(atom.objects) if name not in unbound]

    def _source(self, schema: Schema, depth: int, literals: Sequence[Literal]) -> Atom | None:
        """Which of some literals leaves a parameter the fewest objects, estimated; None where its types do."""
        parameter, found = schema.parameters[depth], None
        fewest = float(self.fitting(parameter.types).sum())
        for atom, positive in literals:
            if positive and atom.predicate != "=":
                count, *distinct = self._relation(atom).counts
                left = count / prod(max(1, distinct[place]) for place in self._given(schema, atom, depth))
                if left <= fewest:
                    fewest, found = left, atom
        return found

    def _extended(self, schema: Schema, rows: Places, source: Atom | None) -> Places:
        """The rows with every object that a literal, or its types, leave the next parameter."""
        parameter = schema.parameters[rows.shape[1]]
        fits = self.fitting(parameter.types)
        if source is not None:
            given = self._given(schema, source, rows.shape[1])
            known = self.columns(schema, [source.objects[place] for place in given], rows)
            relation = self._relation(source).projected([*given, source.objects.index(parameter.name)])
            row, value = relation.extensions(known, len(rows))
            kept = fits[value]
            row, value = row[kept], value[kept]
        else:
            values = np.flatnonzero(fits)
            row, value = np.repeat(np.arange(len(rows)), len(values)), np.tile(values, len(rows))
        return np.column_stack([rows[row], value])

    def _can_hold(self, schema: Schema, literal: Literal, rows: Places) -> _Mask:
        """Of each row whether a static literal holds, or, where it is positive and not all bound, can hold."""
        atom, positive = literal
        given = self._given(schema, atom, rows.shape[1])
        whole = len(given) == len(atom.objects)
        if not whole and (not positive or atom.predicate == "="):
            return np.ones(len(rows), np.bool_)
        columns = self.columns(schema, [atom.objects[place] for place in given], rows)
        if atom.predicate == "=":
            return np.asarray((columns[0] == columns[1]) == positive)
        relation = self._relation(atom)
        if given != list(range(len(given))):
            relation = relation.projected(given)
        return np.asarray((relation.find(columns, len(rows)) >= 0) == positive)

    def _relation(self, atom: Atom) -> Relation:
        return self._relations.get(atom.predicate) or self._empty[len(atom.objects)]
