"""Action schemas as arrays for joins: in which order parameters are bound, and what is known after each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sgp.planning.atom_table import SEVERAL, Indexes, indexes_of
from sgp.planning.clock import looking
from sgp.planning.instances import StaticFacts, binding_order
from sgp.planning.joins import EQUATION, Literals, Rows, Schemas, constant_term
from sgp.planning.operators import Lists
from sgp.planning.pddl import Atom, DomainText, Literal, ProblemText, Schema

_NOTHING = -1


def schemas_of(
    domain: DomainText, problem: ProblemText, facts: StaticFacts, predicates: Mapping[str, int], width: int
) -> tuple[Schemas, Indexes]:
    """The schemas of a domain over the objects of a problem, and the indexes by which joins find its atoms.

    `predicates` has the number of each one, `width` is the most arguments that an atom has.
    """
    made, counts = _Arrays(facts, predicates, width), _counts(domain, problem)
    for schema in domain.schemas.values():
        fitting = [int(facts.fitting(each.types).sum()) for each in schema.parameters]
        made.add(schema, binding_order(schema, schema.precondition, counts, fitting))
    return made.schemas()


def _counts(domain: DomainText, problem: ProblemText) -> dict[str, tuple[int, ...]]:
    """How many atoms of each predicate are true at first, and how many objects stand in each of its places."""
    atoms: dict[str, list[tuple[str, ...]]] = {name: [] for name in domain.predicates}
    for each in looking(problem.init):
        atoms[each.predicate].append(each.objects)
    return {
        name: (len(found), *(len({each[place] for each in found}) for place in range(arity)))
        for (name, arity), found in zip(domain.predicates.items(), atoms.values(), strict=True)
    }


class _Arrays:
    """Schemas as they are added."""

    def __init__(self, facts: StaticFacts, predicates: Mapping[str, int], width: int):
        self._facts, self._predicates, self._width = facts, predicates, width
        self._steps = [0]
        self._parameters, self._slack, self._fits = list[int](), list[int](), list[NDArray[np.bool_]]()
        self._sources, self._supports = list[list[tuple[int, ...]]](), list[list[tuple[int, ...]]]()
        self._checks, self._added = list[list[int]](), list[bool]()
        self._first_checks, self._adds, self._deletes = list[list[int]](), list[list[int]](), list[list[int]]()
        self._literals: list[tuple[int, bool, list[int]]] = []
        self._indexes: list[dict[tuple[int, ...], int]] = [{} for _ in predicates]  # by their places, as they are met

    def add(self, schema: Schema, order: Sequence[int]) -> None:
        names = [each.name for each in schema.parameters]
        bound_at = {names[place]: step for step, place in enumerate(order)}

        def complete_at(literal: Literal) -> int:
            return max((bound_at[name] for name in literal.atom.objects if name in bound_at), default=-1)

        precondition = [(complete_at(each), self._literal(each, names), each) for each in schema.precondition]
        adds = [each for each in schema.effect if each.positive]
        added = max(map(complete_at, adds), default=-1)
        self._first_checks.append([number for step, number, _ in precondition if step < 0])
        self._adds.append([self._literal(each, names) for each in adds])
        self._deletes.append([self._literal(each, names) for each in schema.effect if not each.positive])
        fits = [self._facts.fitting(parameter.types) for parameter in schema.parameters]
        for step, place in enumerate(order):
            own = [(number, each) for at, number, each in precondition if at == step]
            self._parameters.append(place)
            self._fits.append(fits[place])
            behind = [later for later in order[step + 1 :] if later < place]
            self._slack.append(sum(bool((fits[later] & fits[place]).any()) for later in behind))
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
            names.index(name) if name in names else constant_term(self._facts.number(name)) for name in atom.objects
        ]
        predicate = EQUATION if atom.predicate == "=" else self._predicates[atom.predicate]
        self._literals.append((predicate, positive, terms + [-1] * (self._width - len(terms))))
        return len(self._literals) - 1

    def _lookup(self, literal: int, atom: Atom, names: Sequence[str], bound: Collection[str]) -> tuple[int, int]:
        """A literal, and the number of the index by what is bound of it among those of its predicate."""
        given = tuple(place for place, name in enumerate(atom.objects) if name in bound or name not in names)
        own = self._indexes[self._predicates[atom.predicate]]
        return literal, own.setdefault(given, len(own))

    def _rows(self, found: Sequence[Sequence[tuple[int, ...]]], indexes: Indexes, width: int) -> Rows:
        """Sources or supports by step, given with an index's number among those of the literal's predicate."""
        rows = []
        for literal, number, *further in chain.from_iterable(found):
            predicate, _, terms = self._literals[literal]
            index = int(indexes.first[predicate]) + number
            place, first = indexes.direct[index].tolist()
            term = terms[place] if place >= 0 else _NOTHING
            if term < _NOTHING:  # a constant
                first, term = first + constant_term(term), _NOTHING
            rows.append((literal, index, _NOTHING if place == SEVERAL else first, term, *further))
        return Rows(np.cumsum([0, *map(len, found)]).astype(np.int32), np.array(rows, np.int32).reshape(-1, width))

    def schemas(self) -> tuple[Schemas, Indexes]:
        count = len(self._facts.objects)
        indexes = indexes_of(self._indexes, count, self._width)
        steps = np.array(self._steps, np.int32)
        predicates, positive, terms = ([each[part] for each in self._literals] for part in range(3))
        schemas = Schemas(
            steps,
            np.array(self._parameters, np.int32),
            np.array(self._slack, np.int32),
            np.array(self._fits, np.bool_).reshape(len(self._fits), count),
            Lists.of([np.flatnonzero(each).tolist() for each in self._fits]),
            self._rows(self._sources, indexes, 7),
            self._rows(self._supports, indexes, 4),
            Lists.of(self._checks),
            Lists.of(self._first_checks),
            Lists.of(self._adds),
            Lists.of(self._deletes),
            np.array(self._added, np.bool_),
            Literals(
                np.array(predicates, np.int32),
                np.array(positive, np.bool_),
                np.array(terms, np.int32).reshape(-1, self._width),
            ),
            np.array([1 + np.diff(steps).max()], np.int32),
        )
        return schemas, indexes
