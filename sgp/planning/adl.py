"""Actions with any condition and with conditional effects as cases in STRIPS; each says of which action it is one.

In a case the conditions of some effects hold and those of the others do not, and of each disjunction one part does, as
unified-planning splits it. An existential precondition becomes further parameters. What quantifies over objects in
another way is written out first, for the objects of one problem alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain, combinations, product
from math import prod
from typing import NamedTuple

from sgp.planning.adl_library import conjunctions
from sgp.planning.adl_objects import World, renamed, written_out, written_out_each
from sgp.planning.clock import look, now
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
from sgp.planning.pddl_conditions import FALSE, TRUE, conjunction, joined, mapped, negated

MOST_CASES = 1_000  # of one action
MOST_ALTERNATIVES = 100  # of one goal
MOST_ATOMS = 100_000  # of one action or goal, when its quantifiers are gone
MOST_SECONDS = 10.0  # for the cases of one action
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
    """The cases of an action, under its name.

    Raises TooManyCases, also where they are not made in MOST_SECONDS, and MissingLibrary without unified-planning.
    """
    started, found, forms = now(), list[Schema](), list[tuple[_Form, Action]]()

    def is_late() -> bool:
        look()
        return now() - started > MOST_SECONDS

    for instance, original in _instances(action, world):
        forms.append((_form(instance, world), original))
        if is_late():
            break
    for place, (form, original) in enumerate(forms):
        late = is_late()
        if late or len(found) + form.most > MOST_CASES:
            cases = _shown(len(found) + sum(each.most for each, _ in forms[place:]))
            made = (
                f"{len(found):,} were made in {MOST_SECONDS:g} seconds" if late else f"at most {MOST_CASES:,} are made"
            )
            raise TooManyCases(f"up to {cases} cases{' or more' if late else ''}, and {made}")
        found += form.cases(original)
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
    wanted = written_out(goal, world, {})
    number = _count(wanted)
    if number > MOST_ALTERNATIVES:
        raise TooManyCases(f"up to {_shown(number)} conjunctions, and at most {MOST_ALTERNATIVES:,} are tried")
    return tuple(_split(wanted))


def _count(condition: Condition, positive: bool = True) -> int:
    """A bound on the number of conjunctions of which a condition without quantifiers is the disjunction.

    Or its negation. It is no larger than 10^100.
    """
    if isinstance(condition, Literal):
        return 1
    found = [_count(part, positive) for part in condition.parts]
    return sum(found) if (condition.kind == "or") == positive else _product(found)


def _product(numbers: Iterable[int]) -> int:
    found = 1
    for each in numbers:
        found = min(found * each, 10**100)
    return found


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
    return f"{number:,}" if number < 10**15 else "10^15 or more"


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

    def bound(literal: Literal) -> Literal:
        return renamed(literal, binding)

    return AdlAction(
        action.name,
        tuple(each for each in action.parameters if each.name not in binding),
        mapped(action.precondition, bound),
        tuple(
            ConditionalEffect(each.variables, mapped(each.condition, bound), tuple(map(bound, each.literals)))
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


class _Form(NamedTuple):
    """An action without quantifiers: its precondition, and the literals of its effect by their conditions.

    `scopes` are the variables of existential quantifiers, which have marks in the precondition; there are no more than
    `most` cases.
    """

    action: AdlAction
    precondition: Condition
    effects: Mapping[Condition, tuple[Literal, ...]]
    scopes: tuple[tuple[Parameter, ...], ...]
    most: int

    def cases(self, original: Action) -> Iterator[Schema]:
        """The cases. Raises MissingLibrary without unified-planning, where there are several."""
        conditions = [each for each in self.effects if each != TRUE]
        held = chain.from_iterable(combinations(conditions, size) for size in range(len(conditions) + 1))
        for hold in held if self.most else ():
            parts = (each if each in hold else negated(each) for each in conditions)
            does = dict.fromkeys(literal for each in (TRUE, *hold) for literal in self.effects.get(each, ()))
            effect = tuple(each for each in does if each.positive or Literal(each.atom, True) not in does)
            for needs in _split(joined("and", (self.precondition, *parts))):
                yield self._case(needs, effect, original)

    def _case(self, needs: tuple[Literal, ...], effect: tuple[Literal, ...], original: Action) -> Schema:
        within = {literal.atom.predicate for literal in needs}
        met = [scope for place, scope in enumerate(self.scopes) if f"{_SCOPE}{place}" in within]
        parameters = (*self.action.parameters, *chain.from_iterable(met))
        holds = tuple(each for each in needs if not each.atom.predicate.startswith(_SCOPE))
        return Schema(self.action.name, parameters, holds, effect, self.action.cost, original)


def _split(condition: Condition) -> Iterator[tuple[Literal, ...]]:
    """The conjunctions of which a condition without quantifiers is the disjunction, but those that cannot hold."""
    parts = condition.parts if isinstance(condition, Formula) and condition.kind == "and" else (condition,)
    for chosen in product(*map(conjunctions, dict.fromkeys(parts))):
        literals = tuple(dict.fromkeys(chain.from_iterable(chosen)))
        if not any(Literal(atom, not positive) in literals for atom, positive in literals):
            yield literals


def _form(action: AdlAction, world: World | None) -> _Form:
    """An action with its quantifiers written out. Raises TooManyCases where they stand for too many atoms."""
    precondition, scopes = _opened(action.precondition)
    effects: dict[Condition, tuple[Literal, ...]] = {}
    if world is None:
        for each in action.effects:
            effects[each.condition] = (*effects.get(each.condition, ()), *each.literals)
    else:
        under = (_size(Formula("forall", (each.condition,), each.variables), world) for each in action.effects)
        _require_few(_size(precondition, world) + sum(under))
        precondition = written_out(precondition, world, {})
        for each in action.effects:
            for binding, condition in written_out_each(each.variables, each.condition, world):
                literals = (renamed(literal, binding) for literal in each.literals)
                effects[condition] = (*effects.get(condition, ()), *literals)
    either = (_count(each) + _count(each, False) for each in effects if each != TRUE)
    return _Form(action, precondition, effects, tuple(scopes), _product([_count(precondition), *either]))
