"""Action schemas as arrays for joins: binding orders of parameters, and the literals complete after each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.atom_table import SEVERAL, Indexes
from sgp.planning.joins import EQUATION, Literals, Rows, Schemas, constant_term
from sgp.planning.operators import CSR
from sgp.planning.pddl import Atom, Literal, Schema
from sgp.planning.problem_index import ProblemIndex

_NOTHING = -1


def schemas_of(index: ProblemIndex, only_static: bool = False) -> tuple[Schemas, Indexes]:
    """Return the schemas of a problem, and the atom indexes of joins, with `only_static` of static literals alone."""
    builder, counts, objects = _Builder(index, only_static), index.counts, len(index.names)
    built = [builder.schema(schema, counts) for schema in index.schemas]
    orders = [(number, _NOTHING, steps_of) for number, (_, steps_of) in enumerate(built)]
    for number, schema in () if only_static else enumerate(index.schemas):
        for first in range(len(schema.parameters)):
            orders.append((number, _NOTHING, builder.schema(schema, counts, [first])[1]))
        _, needed, forbidden, _, _ = built[number][0]
        for literal in (*needed, *forbidden):
            parameters = dict.fromkeys(term for term in builder.literals[literal][2] if term >= 0)
            orders.append((number, literal, builder.schema(schema, counts, list(parameters))[1]))
    steps = [step for _, _, steps_of in orders for step in steps_of]
    kinds = {step.kind: step.fits for step in steps}
    first_checks, needs, forbids, adds, deletes = (CSR.of([lists[part] for lists, _ in built]) for part in range(5))
    indexes = Indexes.of(builder.indexes, objects, index.arity)
    predicates, positive, terms = ([literal[part] for literal in builder.literals] for part in range(3))
    ends = np.cumsum([0, *(len(steps_of) for _, _, steps_of in orders)])
    schemas = Schemas(
        schema_of=np.array([number for number, _, _ in orders], np.int32),
        first_literals=np.array([literal for _, literal, _ in orders], np.int32),
        steps=ends.astype(np.int32),
        parameters=np.array([step.parameter for step in steps], np.int32),
        remaining_slots=np.array([step.remaining_slots for step in steps], np.int32),
        kinds=np.array([list(kinds).index(step.kind) for step in steps], np.int32),
        fits=np.array(list(kinds.values()), np.bool_).reshape(len(kinds), objects),
        values=CSR.of([np.flatnonzero(mask).tolist() for mask in kinds.values()]),
        sources=builder.rows([step.sources for step in steps], indexes, 7),
        supports=builder.rows([step.supports for step in steps], indexes, 4),
        checks=CSR.of([step.checks for step in steps]),
        first_checks=first_checks,
        needs=needs,
        forbids=forbids,
        adds=adds,
        deletes=deletes,
        added=np.array([step.added for step in steps], np.bool_),
        literals=Literals(
            np.array(predicates, np.int32),
            np.array(positive, np.bool_),
            np.array(terms, np.int32).reshape(-1, index.arity),
        ),
        widest=(1 + int(np.diff(ends).max()), int(np.diff(adds.indptr).max()), int(np.diff(deletes.indptr).max())),
    )
    return schemas, indexes


def _binding_order(
    schema: Schema,
    literals: Iterable[Literal],
    counts: Mapping[str, tuple[int, ...]],
    fitting: Sequence[int],
    first: Sequence[int],
) -> list[int]:
    """Return the parameters of a schema in the binding order of joins: `first`, then fewest estimated objects first.

    The estimate assumes that a literal's atoms are uniformly distributed: `counts` has the number of each predicate's
    atoms, and of the objects at each position. `fitting` has the number of objects of each parameter's kind.
    """
    names = [parameter.name for parameter in schema.parameters]
    atoms = [atom for atom, positive in literals if positive and atom.predicate != "="]
    order = [*first]

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


class _Step(NamedTuple):
    """One step of a schema's binding order, with the columns of `Schemas`."""

    parameter: int
    remaining_slots: int
    kind: tuple[frozenset[str], frozenset[str]]  # types, and static predicates of one argument
    fits: NDArray[np.bool_]
    sources: list[tuple[int, ...]]
    supports: list[tuple[int, ...]]
    checks: list[int]
    added: bool


class _Builder:
    """A builder of schema arrays, with the literals and indexes so far."""

    def __init__(self, index: ProblemIndex, only_static: bool):
        self._index, self._only_static, self._fluent = index, only_static, index.domain.fluent_predicates
        self._of_kinds: dict[tuple[frozenset[str], frozenset[str]], NDArray[np.bool_]] = {}  # cache
        self.literals: list[tuple[int, bool, list[int]]] = []
        self.indexes: list[dict[tuple[int, ...], int]] = [{} for _ in index.predicates]  # by argument positions

    def schema(
        self, schema: Schema, counts: Mapping[str, tuple[int, ...]], first: Sequence[int] = ()
    ) -> tuple[list[list[int]], list[_Step]]:
        """Return lists of literals (without parameters, needed, forbidden, added, deleted), and the steps in order.

        The steps begin with the parameters `first`.
        """
        names = [parameter.name for parameter in schema.parameters]
        left_out = self._fluent if self._only_static else ()
        of_kinds = [literal for literal in schema.precondition if self._restricts_kind(literal, names)]
        joined = [
            literal
            for literal in schema.precondition
            if literal.atom.predicate not in left_out and literal not in of_kinds
        ]
        kinds = [
            (
                frozenset(parameter.types),
                frozenset(atom.predicate for atom, _ in of_kinds if atom.objects == (parameter.name,)),
            )
            for parameter in schema.parameters
        ]
        fits = [self._of_kind(*kind) for kind in kinds]
        order = _binding_order(schema, joined, counts, [int(mask.sum()) for mask in fits], first)
        bound_at = {names[place]: step for step, place in enumerate(order)}

        def complete_at(literal: Literal) -> int:
            return max((bound_at[name] for name in literal.atom.objects if name in bound_at), default=-1)

        whole = [(complete_at(literal), self._literal(literal, names), literal) for literal in schema.precondition]
        fluent = [(number, literal.positive) for _, number, literal in whole if literal.atom.predicate in self._fluent]
        precondition = [entry for entry in whole if entry[2] in joined]
        lists = [
            [number for step, number, _ in precondition if step < 0],
            *([number for number, positive in fluent if positive is sign] for sign in (True, False)),
            *(
                [self._literal(literal, names) for literal in schema.effect if literal.positive is sign]
                for sign in (True, False)
            ),
        ]
        added = max((complete_at(literal) for literal in schema.effect if literal.positive), default=-1)
        steps = []
        for step, place in enumerate(order):
            later_slots = [later for later in order[step + 1 :] if later < place]
            before, upto = ({names[bound] for bound in order[:end]} for end in (step, step + 1))
            sources, supports = list[tuple[int, ...]](), list[tuple[int, ...]]()
            for at, number, (atom, positive) in precondition:
                if not positive or atom.predicate == "=" or names[place] not in atom.objects:
                    continue
                literal, column = self._lookup(number, atom, names, before)
                exact = at == step and atom.objects.count(names[place]) == 1
                sources.append((literal, column, column, atom.objects.index(names[place]), int(exact)))
                if at > step:
                    supports.append(self._lookup(number, atom, names, upto))
            slots = sum(bool((fits[later] & fits[place]).any()) for later in later_slots)
            checks = [number for at, number, _ in precondition if at == step]
            steps.append(_Step(place, slots, kinds[place], fits[place], sources, supports, checks, step == added))
        return lists, steps

    def _restricts_kind(self, literal: Literal, names: Sequence[str]) -> bool:
        """Whether a literal is a static atom of one parameter, so that it restricts the objects like a type."""
        (predicate, objects), positive = literal
        return positive and len(objects) == 1 and objects[0] in names and predicate not in self._fluent

    def _of_kind(self, types: frozenset[str], predicates: frozenset[str]) -> NDArray[np.bool_]:
        """Return a mask [n] of the objects of one of these types of which all these static predicates hold."""
        kind = types, predicates
        if kind not in self._of_kinds:
            masks = [self._index.of_types(sorted(types)), *map(self._index.having, sorted(predicates))]
            self._of_kinds[kind] = np.logical_and.reduce(masks)
        return self._of_kinds[kind]

    def _literal(self, literal: Literal, names: Sequence[str]) -> int:
        atom, positive = literal
        numbers = self._index.numbers
        terms = [names.index(name) if name in names else constant_term(numbers[name]) for name in atom.objects]
        predicate = EQUATION if atom.predicate == "=" else self._index.predicates[atom.predicate]
        self.literals.append((predicate, positive, terms + [-1] * (self._index.arity - len(terms))))
        return len(self.literals) - 1

    def _lookup(self, literal: int, atom: Atom, names: Sequence[str], bound: Collection[str]) -> tuple[int, int]:
        """Return a literal and, for its bound terms, the index number within its predicate."""
        given = tuple(place for place, name in enumerate(atom.objects) if name in bound or name not in names)
        numbers = self.indexes[self._index.predicates[atom.predicate]]
        return literal, numbers.setdefault(given, len(numbers))

    def rows(self, lookups: Sequence[Sequence[tuple[int, ...]]], indexes: Indexes, width: int) -> Rows:
        """Build the sources or supports of each step; index numbers are relative to the literal's predicate."""
        rows = []
        for literal, number, *further in chain.from_iterable(lookups):
            predicate, _, terms = self.literals[literal]
            index = int(indexes.indptr[predicate]) + number
            place, start = indexes.direct[index].tolist()
            term = terms[place] if place >= 0 else _NOTHING
            if term < _NOTHING:  # a constant
                start, term = start + constant_term(term), _NOTHING
            rows.append((literal, index, _NOTHING if place == SEVERAL else start, term, *further))
        return Rows(np.cumsum([0, *map(len, lookups)]).astype(np.int32), np.array(rows, np.int32).reshape(-1, width))
