"""Action schemas as arrays for joins: in which order parameters are bound, and what is known after each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.planning.instances import StaticFacts
from sgp.planning.joins import EQUATION, Literals, Schemas, constant_term
from sgp.planning.operators import Lists
from sgp.planning.pddl import DomainText, Literal, Schema


def schemas_of(
    domain: DomainText, facts: StaticFacts, predicates: Mapping[str, int], counts: Mapping[str, int], width: int
) -> Schemas:
    """The schemas of a domain over the objects of a problem.

    `predicates` has the number of each one, `counts` how many of its atoms are true at first, `width` is the most
    arguments that an atom has.
    """
    made = _Arrays(facts, predicates, width)
    for schema in domain.schemas.values():
        made.add(schema, _binding_order(schema, counts))
    return made.schemas()


def _binding_order(schema: Schema, counts: Mapping[str, int]) -> list[int]:
    """The parameters in the order in which they are bound.

    Next is the one with a literal that leaves it the fewest objects, by the look of it: of whose other arguments the
    most are bound, and of whose predicate the fewest atoms are true at first.
    """
    names = [each.name for each in schema.parameters]
    order: list[int] = []

    def promise(place: int) -> tuple[float, ...]:
        bound = {names[each] for each in order}
        found = [
            (1, sum(name in bound for name in atom.objects), -counts.get(atom.predicate, 0))
            for atom, positive in schema.precondition
            if _gives(atom.objects, positive, atom.predicate, names[place])
            and all(name in bound or name not in names for name in atom.objects if name != names[place])
        ]
        return max(found, default=(0, 0, 0))

    while len(order) < len(names):
        order.append(max((place for place in range(len(names)) if place not in order), key=promise))
    return order


def _gives(objects: Sequence[str], positive: bool, predicate: str, name: str) -> bool:
    """Whether the true atoms of a literal give the objects for a parameter."""
    return positive and predicate != "=" and objects.count(name) == 1


class _Arrays:
    """Schemas as they are added."""

    def __init__(self, facts: StaticFacts, predicates: Mapping[str, int], width: int):
        self._facts, self._predicates, self._width = facts, predicates, width
        self._steps = [0]
        self._parameters, self._slack, self._fits = list[int](), list[int](), list[NDArray[np.bool_]]()
        self._sources, self._checks, self._added = list[list[int]](), list[list[int]](), list[bool]()
        self._first_checks, self._adds, self._deletes = list[list[int]](), list[list[int]](), list[list[int]]()
        self._literals: list[tuple[int, bool, list[int]]] = []

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
            self._sources.append(
                [
                    number
                    for number, (atom, positive) in own
                    if _gives(atom.objects, positive, atom.predicate, names[place])
                ]
            )
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

    def schemas(self) -> Schemas:
        count = len(self._facts.objects)
        steps = np.array(self._steps, np.int32)
        predicates, positive, terms = ([each[part] for each in self._literals] for part in range(3))
        return Schemas(
            steps,
            np.array(self._parameters, np.int32),
            np.array(self._slack, np.int32),
            np.array(self._fits, np.bool_).reshape(len(self._fits), count),
            Lists.of([np.flatnonzero(each).tolist() for each in self._fits]),
            Lists.of(self._sources),
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
