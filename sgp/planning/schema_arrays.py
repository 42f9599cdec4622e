"""Action schemas as arrays for joins: binding orders of parameters, and the literals complete after each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from sgp.planning.atom_table import SEVERAL, Indexes
from sgp.planning.clock import with_limit_checks
from sgp.planning.joins import EQUATION, Literals, Rows, Schemas, constant_term
from sgp.planning.operators import CSR
from sgp.planning.pddl import Atom, Literal, Schema
from sgp.planning.problem_index import ProblemIndex

_NOTHING = -1


def schemas_of(index: ProblemIndex, only_static: bool = False) -> tuple[Schemas, Indexes]:
    """Return the schemas of a problem, and the atom indexes that joins use.

    With `only_static`, joins use only static literals.
    """
    arrays, counts = _Arrays(index, only_static), _counts(index)
    for schema in index.schemas:
        fitting = [int(index.of_types(parameter.types).sum()) for parameter in schema.parameters]
        literals = [literal for literal in schema.precondition if arrays.joins(literal)]
        arrays.add(schema, _binding_order(schema, literals, counts, fitting))
    return arrays.schemas()


def _counts(index: ProblemIndex) -> dict[str, tuple[int, ...]]:
    """Count the initial atoms of each predicate, and the distinct objects at each argument position."""
    atoms: dict[str, list[tuple[str, ...]]] = {name: [] for name in index.predicates}
    for atom in with_limit_checks(index.problem.init):
        atoms[atom.predicate].append(atom.objects)
    return {
        name: (len(rows), *(len(set(column)) for column in zip(*rows, strict=True))) for name, rows in atoms.items()
    }


def _binding_order(
    schema: Schema, literals: Iterable[Literal], counts: Mapping[str, tuple[int, ...]], fitting: Sequence[int]
) -> list[int]:
    """Return the parameters of a schema in the binding order of joins, fewest estimated objects first.

    The estimate assumes that a literal's atoms are uniformly distributed: `counts` has the number of each predicate's
    atoms, and of the objects at each position. `fitting` has the number of objects of each parameter's types.
    """
    names = [parameter.name for parameter in schema.parameters]
    atoms = [atom for atom, positive in literals if positive and atom.predicate != "="]
    order: list[int] = []

    def estimate(place: int) -> float:
        estimates = [float(fitting[place])]
        for predicate, objects in atoms:
            if names[place] in objects:
                count, *distinct = counts[predicate] if counts[predicate][0] else (0,) * (1 + len(objects))
                given = [name not in names or names.index(name) in order for name in objects]
                left = count / prod(max(1, many) for many, known in zip(distinct, given, strict=True) if known)
                estimates.append(min(left, distinct[objects.index(names[place])]))
        return min(estimates)

    while len(order) < len(names):
        order.append(min((place for place in range(len(names)) if place not in order), key=estimate))
    return order


class _Arrays:
    """A builder of schema arrays."""

    def __init__(self, index: ProblemIndex, only_static: bool):
        self._index, self._only_static, self._fluent = index, only_static, index.domain.fluent_predicates
        self._steps = [0]
        self._parameters, self._remaining_slots, self._fits = list[int](), list[int](), list[NDArray[np.bool_]]()
        self._sources, self._supports = list[list[tuple[int, ...]]](), list[list[tuple[int, ...]]]()
        self._checks, self._added = list[list[int]](), list[bool]()
        self._first_checks, self._needs, self._forbids = list[list[int]](), list[list[int]](), list[list[int]]()
        self._adds, self._deletes = list[list[int]](), list[list[int]]()
        self._literals: list[tuple[int, bool, list[int]]] = []
        self._indexes: list[dict[tuple[int, ...], int]] = [{} for _ in index.predicates]  # by argument positions

    def joins(self, literal: Literal) -> bool:
        """Whether joins use a precondition literal."""
        return not self._only_static or literal.atom.predicate not in self._fluent

    def add(self, schema: Schema, order: Sequence[int]) -> None:
        names = [parameter.name for parameter in schema.parameters]
        bound_at = {names[place]: step for step, place in enumerate(order)}

        def complete_at(literal: Literal) -> int:
            return max((bound_at[name] for name in literal.atom.objects if name in bound_at), default=-1)

        whole = [(complete_at(literal), self._literal(literal, names), literal) for literal in schema.precondition]
        for lists, sign in ((self._needs, True), (self._forbids, False)):
            fluent = (each for each in whole if each[2].atom.predicate in self._fluent and each[2].positive is sign)
            lists.append([number for _, number, _ in fluent])
        precondition = [each for each in whole if self.joins(each[2])]
        for lists, sign in ((self._adds, True), (self._deletes, False)):
            lists.append([self._literal(literal, names) for literal in schema.effect if literal.positive is sign])
        added = max((complete_at(literal) for literal in schema.effect if literal.positive), default=-1)
        self._first_checks.append([number for step, number, _ in precondition if step < 0])
        fits = [self._index.of_types(parameter.types) for parameter in schema.parameters]
        for step, place in enumerate(order):
            own = [(number, each) for at, number, each in precondition if at == step]
            self._parameters.append(place)
            self._fits.append(fits[place])
            behind = [later for later in order[step + 1 :] if later < place]
            self._remaining_slots.append(sum(bool((fits[later] & fits[place]).any()) for later in behind))
            self._checks.append([number for number, _ in own])
            before, upto = ({names[each] for each in order[:end]} for end in (step, step + 1))
            joined = [
                (at, number, atom)
                for at, number, (atom, positive) in precondition
                if positive and atom.predicate != "=" and names[place] in atom.objects
            ]
            self._sources.append(
                [
                    (
                        *(found := self._lookup(number, atom, names, before)),
                        found[1],
                        atom.objects.index(names[place]),
                        int(at == step and atom.objects.count(names[place]) == 1),
                    )
                    for at, number, atom in joined
                ]
            )
            self._supports.append([self._lookup(number, atom, names, upto) for at, number, atom in joined if at > step])
            self._added.append(step == added)
        self._steps.append(self._steps[-1] + len(order))

    def _literal(self, literal: Literal, names: Sequence[str]) -> int:
        atom, positive = literal
        terms = [
            names.index(name) if name in names else constant_term(self._index.numbers[name]) for name in atom.objects
        ]
        predicate = EQUATION if atom.predicate == "=" else self._index.predicates[atom.predicate]
        self._literals.append((predicate, positive, terms + [-1] * (self._index.arity - len(terms))))
        return len(self._literals) - 1

    def _lookup(self, literal: int, atom: Atom, names: Sequence[str], bound: Collection[str]) -> tuple[int, int]:
        """Return a literal and, for its bound terms, the index number within its predicate."""
        given = tuple(place for place, name in enumerate(atom.objects) if name in bound or name not in names)
        own = self._indexes[self._index.predicates[atom.predicate]]
        return literal, own.setdefault(given, len(own))

    def _rows(self, found: Sequence[Sequence[tuple[int, ...]]], indexes: Indexes, width: int) -> Rows:
        """Build the sources or supports of each step; index numbers are relative to the literal's predicate."""
        rows = []
        for literal, number, *further in chain.from_iterable(found):
            predicate, _, terms = self._literals[literal]
            index = int(indexes.indptr[predicate]) + number
            place, first = indexes.direct[index].tolist()
            term = terms[place] if place >= 0 else _NOTHING
            if term < _NOTHING:  # a constant
                first, term = first + constant_term(term), _NOTHING
            rows.append((literal, index, _NOTHING if place == SEVERAL else first, term, *further))
        return Rows(np.cumsum([0, *map(len, found)]).astype(np.int32), np.array(rows, np.int32).reshape(-1, width))

    def schemas(self) -> tuple[Schemas, Indexes]:
        count = len(self._index.names)
        indexes = Indexes.of(self._indexes, count, self._index.arity)
        steps = np.array(self._steps, np.int32)
        predicates, positive, terms = ([each[part] for each in self._literals] for part in range(3))
        schemas = Schemas(
            steps,
            np.array(self._parameters, np.int32),
            np.array(self._remaining_slots, np.int32),
            np.array(self._fits, np.bool_).reshape(len(self._fits), count),
            CSR.of([np.flatnonzero(each).tolist() for each in self._fits]),
            self._rows(self._sources, indexes, 7),
            self._rows(self._supports, indexes, 4),
            CSR.of(self._checks),
            CSR.of(self._first_checks),
            CSR.of(self._needs),
            CSR.of(self._forbids),
            CSR.of(self._adds),
            CSR.of(self._deletes),
            np.array(self._added, np.bool_),
            Literals(
                np.array(predicates, np.int32),
                np.array(positive, np.bool_),
                np.array(terms, np.int32).reshape(-1, self._index.arity),
            ),
            np.array([1 + np.diff(steps).max()], np.int32),
        )
        return schemas, indexes
