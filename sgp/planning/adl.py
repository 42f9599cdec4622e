"""Actions with any condition and with conditional effects as cases in STRIPS; each says of which action it is one.

unified-planning's compilers make the cases. They are handed a mark in the place of the effects that stand under one
condition, because they take an atom that is added and deleted for a conflict, and PDDL lets it be true. An existential
precondition becomes further parameters. What quantifies over objects in another way can be split for the objects of
one problem alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from sgp.planning.adl_library import Compilation, Marked, World
from sgp.planning.declarations import (
    Action,
    AdlAction,
    Atom,
    Condition,
    ConditionalEffect,
    Formula,
    Literal,
    Parameter,
    Schema,
)
from sgp.planning.pddl_conditions import FALSE, TRUE, conjunction, joined, mapped

MOST_CASES = 1_000  # of one action
MOST_ALTERNATIVES = 100  # of one goal
MOST_ATOMS = 100_000  # of one action or goal, when its quantifiers are gone
_SCOPE = "scope "  # and a number: a mark in the place of an existential quantifier


class TooManyCases(Exception):
    """An action or a goal has more cases than are made; the words say how many."""


def schema_of(action: AdlAction) -> Schema | None:
    """The schema of an action that is STRIPS as it stands; None for another one."""
    needs = conjunction(action.precondition)
    if needs is None or any(each.variables or each.condition != TRUE for each in action.effects):
        return None
    does = tuple(literal for each in action.effects for literal in each.literals)
    return Schema(action.name, action.parameters, needs, does, action.cost)


def quantifier(action: AdlAction) -> str:
    """What in an action speaks of all objects, so that it has no cases without them, in words; "" for nothing."""
    opened, _ = _opened(action.precondition)
    places = [(opened, "its precondition"), *((each.condition, "a condition of its effect") for each in action.effects)]
    for condition, place in places:
        if found := _kinds(condition):
            return f"{' and '.join(found)} in {place}"
    return "forall in its effect" if any(each.variables for each in action.effects) else ""


@lru_cache(maxsize=128)
def cases_of(action: AdlAction, world: World | None) -> tuple[Schema, ...]:
    """The cases of an action, under its name. Raises TooManyCases, and MissingLibrary without unified-planning."""
    found: list[Schema] = []
    for instance, original in _instances(action, world):
        found += _cases(instance, original, world, MOST_CASES - len(found))
    return tuple(found)


def named(cases: Mapping[str, tuple[Schema, ...]]) -> dict[str, Schema]:
    """The cases of all actions by names of their own: the action's where it has one, else with a number."""
    dash = "-"
    while any(f"{name}{dash}{number}" in cases for name, found in cases.items() for number, _ in enumerate(found, 1)):
        dash += "-"
    own = {
        name if len(found) == 1 else f"{name}{dash}{number}": schema
        for name, found in cases.items()
        for number, schema in enumerate(found, 1)
    }
    return {name: replace(schema, name=name) for name, schema in own.items()}


@lru_cache(maxsize=128)
def alternatives(goal: Condition, world: World) -> tuple[tuple[Literal, ...], ...]:
    """The conjunctions of which a goal asks for one; none where it cannot hold.

    Raises TooManyCases, and MissingLibrary without unified-planning.
    """
    literals = conjunction(goal)
    if literals is not None:
        return (literals,)
    _require_few(_size(goal, world))
    number, found = Compilation((), world).conjunctions(goal, MOST_ALTERNATIVES)
    if number > MOST_ALTERNATIVES:
        raise TooManyCases(f"up to {_shown(number)} conjunctions, and at most {MOST_ALTERNATIVES:,} are tried")
    return tuple(found)


def _size(condition: Condition, world: World) -> int:
    """How many atoms a condition has when its quantifiers are gone."""
    if isinstance(condition, Literal):
        return 1
    below = sum(_size(part, world) for part in condition.parts)
    return max(1, below) * prod(len(world.of(each.types)) for each in condition.variables)


def _require_few(atoms: int) -> None:
    if atoms > MOST_ATOMS:
        raise TooManyCases(f"{_shown(atoms)} atoms for the objects of the problem, and at most {MOST_ATOMS:,} are made")


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "10^15"


def _instances(action: AdlAction, world: World | None) -> Iterator[tuple[AdlAction, Action]]:
    """The action, once for all values of the parameters that decide which objects its quantifiers speak of."""
    whole = Action(action.name, tuple(each.name for each in action.parameters))
    deciding = _deciding(action, world) if world is not None else []
    if world is None or not deciding:
        yield action, whole
        return
    choices = [world.of(each.types) for each in deciding]
    if prod(map(len, choices)) > MOST_CASES:
        names = ", ".join(each.name for each in deciding)
        raise TooManyCases(f"{prod(map(len, choices)):,} values of {names}, and at most {MOST_CASES:,} cases are made")
    for values in product(*choices):
        binding = dict(zip((each.name for each in deciding), values, strict=True))
        instance = _bound(action, binding)
        if not _fails(instance.precondition, world):
            yield instance, Action(action.name, tuple(binding.get(each, each) for each in whole.objects))


def _deciding(action: AdlAction, world: World) -> list[Parameter]:
    """Parameters that stand beside a quantifier's variable in an atom that no action changes.

    With their values most of what the quantifier speaks of is known.
    """
    precondition, scopes = _opened(action.precondition)
    free = {each.name for each in (*action.parameters, *(each for scope in scopes for each in scope))}
    found: set[str] = set()
    for condition in (precondition, *(each.condition for each in action.effects)):
        for predicate, objects in _atoms(condition):
            variables = {each for each in objects if each.startswith("?")}
            if predicate not in world.fluents and not variables <= free:
                found |= variables
    return [each for each in action.parameters if each.name in found]


def _atoms(condition: Condition) -> Iterator[Atom]:
    if isinstance(condition, Literal):
        yield condition.atom
    else:
        for part in condition.parts:
            yield from _atoms(part)


def _fails(condition: Condition, world: World) -> bool:
    """Whether a ground literal that no action changes is not as a conjunction needs it."""
    for part in (condition,) if isinstance(condition, Literal) else condition.parts if condition.kind == "and" else ():
        if isinstance(part, Literal) and not any(each.startswith("?") for each in part.atom.objects):
            (predicate, objects), positive = part
            known = objects[0] == objects[1] if predicate == "=" else part.atom in world.atoms
            if predicate not in world.fluents and known != positive:
                return True
    return condition == FALSE


def _bound(action: AdlAction, binding: Mapping[str, str]) -> AdlAction:
    """An action with objects in the place of some parameters."""

    def renamed(literal: Literal) -> Literal:
        name, objects = literal.atom
        return Literal(Atom(name, tuple(binding.get(each, each) for each in objects)), literal.positive)

    return AdlAction(
        action.name,
        tuple(each for each in action.parameters if each.name not in binding),
        mapped(action.precondition, renamed),
        tuple(
            ConditionalEffect(each.variables, mapped(each.condition, renamed), tuple(map(renamed, each.literals)))
            for each in action.effects
        ),
        re.sub(r"\?[^\s()]+", lambda found: binding.get(found[0], found[0]), action.cost),
    )


def _opened(condition: Condition) -> tuple[Condition, list[tuple[Parameter, ...]]]:
    """A condition with a mark for each existential quantifier that no universal one stands above, and its variables.

    The mark keeps in which cases the variables need objects: where there are none, the other cases remain.
    """
    found: list[tuple[Parameter, ...]] = []

    def opened(part: Condition) -> Condition:
        if isinstance(part, Literal) or part.kind == "forall":
            return part
        if part.kind != "exists":
            return joined(part.kind, map(opened, part.parts))
        found.append(part.variables)
        mark = Atom(f"{_SCOPE}{len(found) - 1}", tuple(each.name for each in part.variables))
        return joined("and", (Literal(mark, True), *map(opened, part.parts)))

    return opened(condition), found


def _kinds(condition: Condition) -> list[str]:
    """The quantifiers in a condition."""
    if isinstance(condition, Literal):
        return []
    below = {kind for part in condition.parts for kind in _kinds(part)}
    return sorted(below | ({condition.kind} if condition.variables else set()))


def _cases(action: AdlAction, original: Action, world: World | None, most: int) -> Iterator[Schema]:
    precondition, scopes = _opened(action.precondition)
    if world is not None:
        under = (_size(Formula("forall", (each.condition,), each.variables), world) for each in action.effects)
        _require_few(_size(precondition, world) + sum(under))
    compilation = Compilation((*action.parameters, *(each for scope in scopes for each in scope)), world)
    always = [each for each in action.effects if each.condition == TRUE and not each.variables]
    marked = {f"mark {place}": each for place, each in enumerate(action.effects) if each not in always}
    conditions = [Marked(mark, each.variables, each.condition) for mark, each in marked.items()]
    number, cases = compilation.cases(precondition, conditions, most)
    if number > most:
        raise TooManyCases(f"up to {_shown(number)} cases or more, and at most {MOST_CASES:,} are made")
    for literals, marks in cases:
        does = {literal: None for each in always for literal in each.literals}  # one that is deleted and added is added
        for mark, each in marked.items():
            for terms in sorted(objects for name, objects in marks if name == mark):
                names = dict(zip((variable.name for variable in each.variables), terms, strict=True))
                does |= dict.fromkeys(_bound(AdlAction("", (), TRUE, (each,)), names).effects[0].literals)
        within = {literal.atom.predicate for literal in literals}
        further = [each for place, scope in enumerate(scopes) if f"{_SCOPE}{place}" in within for each in scope]
        needs = dict.fromkeys(each for each in literals if not each.atom.predicate.startswith(_SCOPE))
        effect = tuple(each for each in does if each.positive or Literal(each.atom, True) not in does)
        yield Schema(action.name, (*action.parameters, *further), tuple(needs), effect, action.cost, original)
