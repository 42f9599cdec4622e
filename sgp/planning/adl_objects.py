"""Conditions that quantify over the objects of one problem, written out with what is known of its static atoms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sgp.planning.declarations import Atom, Condition, Literal, Parameter
from sgp.planning.pddl_conditions import FALSE, TRUE, joined


@dataclass(frozen=True)
class World:
    """The objects of one problem, each with all its types; its atoms; and the predicates that some action changes."""

    objects: tuple[tuple[str, frozenset[str]], ...]
    atoms: frozenset[Atom]
    fluents: frozenset[str]

    def of(self, types: Iterable[str]) -> list[str]:
        """The objects of one of these types."""
        wanted = set(types)
        return [name for name, kinds in self.objects if not kinds.isdisjoint(wanted)]

    @cached_property
    def _kinds(self) -> dict[str, frozenset[str]]:
        return dict(self.objects)

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: place for place, (name, _) in enumerate(self.objects)}

    @cached_property
    def _with(self) -> dict[tuple[str, int, str], list[Atom]]:
        """The atoms by predicate, place and the object in it."""
        found: dict[tuple[str, int, str], list[Atom]] = {}
        for atom in self.atoms:
            for place, name in enumerate(atom.objects):
                found.setdefault((atom.predicate, place, name), []).append(atom)
        return found

    @cached_property
    def _of_predicate(self) -> dict[str, list[Atom]]:
        found: dict[str, list[Atom]] = {}
        for atom in self.atoms:
            found.setdefault(atom.predicate, []).append(atom)
        return found

    def knows(self, literal: Literal) -> bool | None:
        """Whether a literal that no action changes holds; None for another one, or one with variables."""
        (predicate, objects), positive = literal
        if predicate in self.fluents or any(each.startswith("?") for each in objects):
            return None
        return (objects[0] == objects[1] if predicate == "=" else literal.atom in self.atoms) == positive

    def values(
        self, variables: Sequence[Parameter], condition: Condition, holds: bool, binding: Mapping[str, str]
    ) -> Iterator[Mapping[str, str]]:
        """A binding with each choice of objects for variables, in their order, for which a condition can hold, or fail.

        Those for which it is known that it cannot may be among them.
        """
        if not variables:
            yield binding
            return
        (variable, types), *rest = variables
        fitting = self._fitting(condition, variable, holds, binding)
        names = self.of(types)
        if fitting is not None:
            of_type = (each for each in fitting if not self._kinds[each].isdisjoint(types))
            names = sorted(of_type, key=self._order.__getitem__)
        for name in names:
            yield from self.values(rest, condition, holds, {**binding, variable: name})

    def _fitting(self, condition: Condition, variable: str, holds: bool, binding: Mapping[str, str]) -> set[str] | None:
        """The objects among which those for a variable are for which a condition can hold, or fail; None for any."""
        if isinstance(condition, Literal):
            (predicate, objects), positive = condition
            static = predicate != "=" and predicate not in self.fluents
            known = static and positive == holds and variable in objects
            return self._objects_in(condition.atom, variable, binding) if known else None
        if condition.kind == ("forall" if holds else "exists"):  # of no objects it would say nothing of the variable
            return None
        found = [self._fitting(part, variable, holds, binding) for part in condition.parts]
        sets = [each for each in found if each is not None]
        if condition.kind == ("or" if holds else "and"):
            return set().union(*sets) if len(sets) == len(found) else None
        return set.intersection(*sets) if sets else None

    def _objects_in(self, wanted: Atom, variable: str, binding: Mapping[str, str]) -> set[str]:
        """The objects that atoms have in the place of a variable, where they agree with what is bound."""
        names = [binding.get(each, each) for each in wanted.objects]
        given = [(place, name) for place, name in enumerate(names) if not name.startswith("?")]
        found = self._of_predicate.get(wanted.predicate, [])
        if given:
            found = min((self._with.get((wanted.predicate, *each), []) for each in given), key=len)
        where = names.index(variable)
        return {atom.objects[where] for atom in found if all(atom.objects[place] == name for place, name in given)}


def written_out(condition: Condition, world: World, binding: Mapping[str, str]) -> Condition:
    """A condition without quantifiers, with objects in the place of bound variables, and without what is known."""
    if isinstance(condition, Literal):
        literal = renamed(condition, binding)
        known = world.knows(literal)
        return literal if known is None else TRUE if known else FALSE
    if not condition.variables:
        return joined(condition.kind, (written_out(part, world, binding) for part in condition.parts))
    (body,), exists = condition.parts, condition.kind == "exists"
    values = world.values(condition.variables, body, exists, binding)
    return joined("or" if exists else "and", (written_out(body, world, each) for each in values))


def written_out_each(
    variables: Sequence[Parameter], condition: Condition, world: World
) -> Iterator[tuple[Mapping[str, str], Condition]]:
    """For each choice of objects for variables, in their order, the condition, but where it is known not to hold."""
    for binding in world.values(variables, condition, True, {}):
        found = written_out(condition, world, binding)
        if found != FALSE:
            yield binding, found


def renamed(literal: Literal, binding: Mapping[str, str]) -> Literal:
    """A literal with objects in the place of bound variables."""
    (name, objects), positive = literal
    return Literal(Atom(name, tuple(binding.get(each, each) for each in objects)), positive)
