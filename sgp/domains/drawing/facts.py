"""Which true atoms a drawing has a place for, and which it must say in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom

Facts = Mapping[str, list[tuple[str, ...]]]


def sorted_out(scene: Scene, places: Mapping[str, tuple[Collection[str], ...]]) -> tuple[Facts, list[Atom]]:
    """Of some predicates the objects they are true of, and the atoms that a drawing has no place for.

    `places` names for each predicate the objects that can stand at each of its arguments. An atom with others (a
    problem may say of a car that a car is at it) is for the words below the drawing.
    """
    facts: dict[str, list[tuple[str, ...]]] = {}
    also: list[Atom] = []
    for predicate, kinds in places.items():
        known = [frozenset(kind) for kind in kinds]
        facts[predicate] = []
        for objects in scene.tuples(predicate, len(kinds)):
            if all(name in kind for name, kind in zip(objects, known, strict=True)):
                facts[predicate].append(objects)
            else:
                also.append(Atom(predicate, objects))
    return facts, also
