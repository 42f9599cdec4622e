"""The applicable actions of a state that has very many: one for all that differ by interchangeable objects alone.

Two objects are interchangeable in a state if nothing tells them apart: types, atoms and goal stay what they are when
the two change places. Sandwiches that are not made yet are, and the slices of one kind of bread. Actions that differ in
such objects alone lead to states that differ in names alone, and a plan from one of them is a plan from the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from sgp.planning.clock import OutOfMemory, looking
from sgp.planning.instances import Places, Relation, StaticFacts, TooLarge
from sgp.planning.pddl import Action, Atom, DomainText, Literal, ProblemText, Schema

MOST_LISTED = 10_000  # applicable actions of one schema at first, with which pymimir lists them all
MOST_CANDIDATES = 100_000  # actions of one schema that differ by more than interchangeable objects

_Signature = frozenset[tuple[object, ...]]


class Representatives:
    """What instantiates the actions of one problem, state by state."""

    def __init__(self, domain: DomainText, problem: ProblemText, static: Iterable[Atom]):
        facts = self._facts = StaticFacts(domain, problem)
        self._schemas = list(domain.schemas.values())
        named = {constant.name for constant in domain.constants}
        own = [frozenset({(each.types, each.name if each.name in named else "")}) for each in facts.objects]
        names = [each.name for each in facts.objects]
        always = signatures(names, [*((atom, "") for atom in static), *((atom, sign) for atom, sign in problem.goal)])
        self._always = dict(zip(names, map(frozenset.union, own, (always[name] for name in names)), strict=True))

    @classmethod
    def where_needed(cls, domain: DomainText, problem: ProblemText, static: Iterable[Atom]) -> Representatives | None:
        """None for a problem that has few enough applicable actions at first."""
        facts = StaticFacts(domain, problem)
        fluents = [atom for atom in problem.init if atom.predicate in domain.fluent_predicates]
        each_its_own = range(len(facts.objects))
        try:
            for schema in domain.schemas.values():
                _StateFacts(facts, fluents, each_its_own).instances(schema, MOST_LISTED)
        except TooLarge:
            return cls(domain, problem, static)
        return None

    def applicable(self, atoms: Sequence[Atom]) -> list[Action]:
        """Applicable actions where just these fluent atoms hold.

        Raises OutOfMemory for a schema that has more than MOST_CANDIDATES, LimitReached where time is up before.
        """
        names = [each.name for each in self._facts.objects]
        now = signatures(names, [(atom, "") for atom in atoms])
        facts = _StateFacts(self._facts, atoms, [(self._always[name], now[name]) for name in names])
        found = []
        for schema in self._schemas:
            try:
                rows = facts.instances(schema, MOST_CANDIDATES)
            except TooLarge as error:
                raise OutOfMemory(
                    f"action '{schema.name}' has more than {MOST_CANDIDATES:,} instances in one state"
                ) from error
            found += [Action(schema.name, tuple([names[place] for place in row])) for row in rows.tolist()]
        return found


def signatures(names: Iterable[str], atoms: Iterable[tuple[Atom, object]]) -> dict[str, _Signature]:
    """Of each object the marked atoms that it stands in, with a gap in its own place."""
    found: dict[str, set[tuple[object, ...]]] = {name: set() for name in names}
    for atom, mark in looking(atoms):
        for name in dict.fromkeys(atom.objects):
            found[name].add((mark, atom.predicate, *(None if each == name else each for each in atom.objects)))
    return {name: frozenset(each) for name, each in found.items()}


class _StateFacts(StaticFacts):
    """All atoms of a state. Instances are only those that take each class of interchangeable objects in order."""

    def __init__(self, facts: StaticFacts, atoms: Sequence[Atom], signatures: Sequence[Hashable]):
        self.__dict__.update(vars(facts))  # what the static facts are made into, once for all states
        by_predicate: dict[str, list[Atom]] = {}
        for atom in atoms:
            by_predicate.setdefault(atom.predicate, []).append(atom)
        fluent: dict[str, Relation] = {name: self.relation([self.places(same)]) for name, same in by_predicate.items()}
        self._relations, self._fluent_predicates = {**self._relations, **fluent}, frozenset()
        classes: dict[Hashable, int] = {}
        self._class = np.array([classes.setdefault(each, len(classes)) for each in signatures])
        before: dict[int, int] = {}
        rank = np.zeros(len(signatures), np.int64)
        for place, of in enumerate(self._class.tolist()):
            rank[place] = before[of] = before.get(of, -1) + 1
        self._rank = rank

    def _extended(self, schema: Schema, rows: Places, literals: Sequence[Literal]) -> Places:
        """The rows whose last object is of those in use, or the next one of its class."""
        rows = super()._extended(schema, rows, literals)
        last = rows[:, -1]
        used = np.full(len(rows), -1, np.int64)
        for column in rows[:, :-1].T:
            same = self._class[column] == self._class[last]
            used = np.maximum(used, np.where(same, self._rank[column], -1))
        return rows[self._rank[last] <= used + 1]
