"""What tells objects apart that may be interchangeable, as strongly mixed hashes, which add up.

Sums of weakly mixed ones are equal where nothing else is, and actions vanish.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sgp.compilation import compiled, mix
from sgp.planning.clock import looking
from sgp.planning.operators import Ints, is_in
from sgp.planning.pddl import Atom, DomainText, ProblemText

_KIND, _FLUENT = np.uint64(1), np.uint64(2)  # where hashes of kinds and of what fluents say begin

_Signature = frozenset[tuple[object, ...]]


def kinds_of(domain: DomainText, problem: ProblemText) -> dict[str, int]:
    """The objects that another one is like but for fluent atoms, in their order; the number of each one's kind."""
    names = [each.name for each in problem.objects]  # constants are like no other
    static = ((atom, "") for atom in problem.init if atom.predicate not in domain.fluent_predicates)
    always = signatures(names, [*static, *((atom, sign) for atom, sign in problem.goal)])
    kinds: dict[object, list[str]] = {}
    for each in problem.objects:
        kinds.setdefault((each.types, always[each.name]), []).append(each.name)
    number = {name: kind for kind, alike in enumerate(kinds.values()) if len(alike) > 1 for name in alike}
    return {name: number[name] for name in names if name in number}


def signatures(names: Iterable[str], atoms: Iterable[tuple[Atom, object]]) -> dict[str, _Signature]:
    """Of each object the marked atoms that it stands in, with a gap in its own place."""
    found: dict[str, set[tuple[object, ...]]] = {name: set() for name in names}
    for atom, mark in looking(atoms):
        for name in dict.fromkeys(atom.objects):
            if name in found:
                found[name].add((mark, atom.predicate, *(None if each == name else each for each in atom.objects)))
    return {name: frozenset(each) for name, each in found.items()}


@compiled
def mark_of_kind(kind: int) -> np.uint64:
    """What an object's kind tells of it."""
    return _and_then(_KIND, kind)


@compiled
def mark_of(predicate: int, arguments: Ints, position: int) -> np.uint64:
    """What a true atom tells of the object in one place, with a gap there; 0 where it stood before."""
    if is_in(arguments[:position], arguments[position]):
        return np.uint64(0)
    mark = _and_then(_FLUENT, predicate)
    for other in arguments:
        mark = _and_then(mark, -1 if other == arguments[position] else other)
    return mark


@compiled
def _and_then(before: np.uint64, number: int) -> np.uint64:
    """The hash of a sequence that a number is added to; sums of others are the same with a probability of 2^-64."""
    return mix(before + np.uint64(number + 2) * np.uint64(0x9E3779B97F4A7C15))
