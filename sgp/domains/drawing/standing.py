"""Which objects stand in which, as follows from the actions of a domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sgp.planning.pddl import OBJECT, Atom, DomainText, Schema

Member = tuple[str, int]  # a predicate and the number of the argument that stands in the other one
_MOST_GROUPS = 64  # that are examined for one predicate


@dataclass
class Standing:
    """What stands where: the argument that stands, by predicate, and which kinds stand in which, inner one first."""

    kinds: Mapping[str, frozenset[str]]  # the types and static properties of the objects of a kind
    text: DomainText
    inside: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    @property
    def edges(self) -> set[tuple[str, str]]:
        """The pairs of all predicates."""
        return set[tuple[str, str]]().union(*self.pairs.values())

    @classmethod
    def of(cls, text: DomainText, kinds: Mapping[str, frozenset[str]]) -> Standing:
        """Find what stands where: no action adds more atoms of a group of predicates about an object than it deletes.

        The first argument of an atom stands in the second one, or the second in the first where only that is possible.
        """
        standing = cls(kinds, text)
        for group in sorted(_groups(text), key=lambda group: (all(place for _, place in group), -len(group))):
            standing._add(group)
        return standing

    def _add(self, group: Sequence[Member]) -> None:
        """Add a group's predicates unless they stand already, overlap in kinds, or make a circle."""
        pairs = {predicate: set(self._pairs(predicate, place)) for predicate, place in group}
        new = set[tuple[str, str]]().union(*pairs.values())
        taken = {first for first, _ in new} & {first for first, _ in self.edges}
        if not taken and not self.inside.keys() & pairs.keys() and not _circular(self.edges | new):
            self.inside |= dict(group)
            self.pairs |= pairs

    def _pairs(self, predicate: str, place: int) -> Iterator[tuple[str, str]]:
        for schema in self.text.schemas.values():
            for literal in (*schema.precondition, *schema.effect):
                if literal.atom.predicate == predicate:
                    inner, outer = (self._fitting(schema, literal.atom.objects[each]) for each in (place, 1 - place))
                    yield from ((one, two) for one in inner for two in outer)

    def kinds_of(self, predicate: str) -> Iterator[str]:
        """The kinds of a predicate's first argument."""
        for schema in self.text.schemas.values():
            for literal in (*schema.precondition, *schema.effect):
                if literal.atom.predicate == predicate:
                    yield from self._fitting(schema, literal.atom.objects[0])

    def _fitting(self, schema: Schema, name: str) -> list[str]:
        """The kinds of the objects that can be a parameter of an action."""
        types = next((set(types) for other, types in schema.parameters if other == name), {OBJECT})
        static = {
            literal.atom.predicate
            for literal in schema.precondition
            if literal.positive
            and literal.atom.objects == (name,)
            and literal.atom.predicate not in self.text.fluent_predicates
        }
        return [kind for kind, facts in self.kinds.items() if types & facts and static <= facts]

    def outermost_first(self) -> Iterator[str]:
        """The kinds, each after those in which it stands."""
        waiting = list(self.kinds)
        while waiting:
            held = {inner for inner, outer in self.edges if inner != outer and outer in waiting}
            yield from (kind for kind in waiting if kind not in held)
            waiting = [kind for kind in waiting if kind in held]


def _circular(edges: set[tuple[str, str]]) -> bool:
    """Whether kinds stand in each other; a kind that stands on itself is a pile."""
    left = {(inner, outer) for inner, outer in edges if inner != outer}
    while left:
        inner = {first for first, _ in left}
        rest = {(first, outer) for first, outer in left if outer in inner}
        if rest == left:
            return True
        left = rest
    return False


def _groups(text: DomainText) -> list[list[Member]]:
    """Predicates of which at most as many atoms are true of an object as at first, of two arguments each."""
    found = []
    for predicate, arity in text.predicates.items():
        for place in range(2) if arity == 2 and predicate in text.fluent_predicates else ():
            group = _balanced(text, (predicate, place)) or ()
            members = sorted((name, number) for name, number in group if text.predicates[name] == 2)
            if members and members not in found:
                found.append(members)
    return found


def _balanced(text: DomainText, member: Member) -> frozenset[Member] | None:
    """The smallest group with a member of which no action adds more atoms of an object than it deletes."""
    waiting, seen = [frozenset([member])], set[frozenset[Member]]()
    while waiting and len(seen) < _MOST_GROUPS:
        group = waiting.pop(0)
        seen.add(group)
        grown = _growing(text, group)
        if grown is None:
            return group
        schema, name = grown
        for predicate, objects in _deleted(schema):
            known = {each for each, _ in group}
            waiting += [
                group | {(predicate, place)}
                for place, other in enumerate(objects)
                if other == name and len(objects) <= 2 and predicate not in known
            ]
    return None


def _growing(text: DomainText, group: frozenset[Member]) -> tuple[Schema, str] | None:
    """An action that adds more atoms of a group than it deletes, and the parameter of which they are."""
    for schema in text.schemas.values():
        added = [literal.atom for literal in schema.effect if literal.positive]
        changes = Counter[str]()
        for atoms, sign in ((added, 1), (_deleted(schema), -1)):
            for predicate, objects in atoms:
                changes.update({objects[place]: sign for name, place in sorted(group) if name == predicate})
        name = next((name for name, change in changes.items() if change > 0), None)
        if name is not None:
            return schema, name
    return None


def _deleted(schema: Schema) -> list[Atom]:
    """The atoms that an action requires and deletes."""
    required = {literal.atom for literal in schema.precondition if literal.positive}
    return [literal.atom for literal in schema.effect if not literal.positive and literal.atom in required]
