"""Compilation of ADL actions to STRIPS schemas.

An action becomes one schema per case. A case fixes which effect conditions are true and one part of each disjunction.

The variables of an existential precondition become additional parameters. Other quantifiers are expanded over the
objects of one problem, and static atoms are replaced by their truth values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import chain, combinations, product
from math import prod
from typing import NamedTuple

from sgp.planning.clock import check_limits, clock_seconds
from sgp.planning.declarations import (
    FALSE,
    TRUE,
    Action,
    AdlAction,
    Atom,
    Condition,
    Formula,
    Literal,
    Parameter,
    Schema,
    conjunction,
    is_true,
    join,
    negate,
    parts_of,
)

MAX_CASES = 1_000  # of one action
MAX_ALTERNATIVES = 100  # of one goal
MAX_ATOMS = 100_000  # of one action or goal, after its quantifiers are expanded
MAX_SECONDS = 10.0  # for the cases of one action
Binding = Mapping[str, str]  # objects by variables


class TooManyCases(Exception):
    """An action or a goal has more cases than the limit allows."""


@dataclass(frozen=True)
class World:
    """Typed objects and static atoms of one problem, and the predicates that actions change."""

    objects: tuple[tuple[str, frozenset[str]], ...]
    atoms: frozenset[Atom]
    fluents: frozenset[str]

    def of(self, types: Iterable[str]) -> list[str]:
        """Return the objects of one of these types."""
        names = set(types)
        return [name for name, kinds in self.objects if not kinds.isdisjoint(names)]

    @cached_property
    def _index(self) -> dict[tuple[str, int, str], list[Atom]]:
        """Static atoms by predicate, argument position and object, and by predicate alone (position -1)."""
        index: dict[tuple[str, int, str], list[Atom]] = {}
        for atom in self.atoms:
            for place, name in ((-1, ""), *enumerate(atom.objects)):
                index.setdefault((atom.predicate, place, name), []).append(atom)
        return index

    def bindings(
        self, variables: Sequence[Parameter], condition: Condition, holds: bool, binding: Binding
    ) -> Iterator[Binding]:
        """Yield a superset of the extensions of the binding under which the condition is true (`holds`) or false."""
        if not variables:
            yield binding
            return
        (variable, types), *rest = variables
        fitting = self._fitting(condition, variable, holds, binding)
        for name in self.of(types):
            if fitting is None or name in fitting:
                yield from self.bindings(rest, condition, holds, {**binding, variable: name})

    def _fitting(self, condition: Condition, variable: str, holds: bool, binding: Binding) -> set[str] | None:
        """Return the objects for a variable with which the condition may be true (or false); None for all objects."""
        if isinstance(condition, Literal):
            (predicate, objects), positive = condition
            if predicate == "=" or predicate in self.fluents or positive != holds or variable not in objects:
                return None
            names = [binding.get(name, name) for name in objects]
            given = [(place, name) for place, name in enumerate(names) if not name.startswith("?")]
            keys = [(predicate, *key) for key in given] or [(predicate, -1, "")]
            atoms = min((self._index.get(key, []) for key in keys), key=len)
            where = objects.index(variable)
            return {atom.objects[where] for atom in atoms if all(atom.objects[place] == name for place, name in given)}
        if condition.kind == ("forall" if holds else "exists"):
            return None  # without objects, the condition does not depend on the variable
        parts = [self._fitting(part, variable, holds, binding) for part in condition.parts]
        sets = [part for part in parts if part is not None]
        if condition.kind == ("or" if holds else "and"):
            return set().union(*sets) if len(sets) == len(parts) else None
        return set.intersection(*sets) if sets else None

    def expand(self, condition: Condition, binding: Binding) -> Condition:
        """Return the ground condition without quantifiers and static atoms."""
        if isinstance(condition, Literal):
            literal = condition.renamed(binding)
            if literal.atom.predicate in self.fluents or any(name.startswith("?") for name in literal.atom.objects):
                return literal
            return TRUE if is_true(literal.atom, self.atoms) == literal.positive else FALSE
        if not condition.variables:
            return join(condition.kind, (self.expand(part, binding) for part in condition.parts))
        (body,), exists = condition.parts, condition.kind == "exists"
        bindings = self.bindings(condition.variables, body, exists, binding)
        return join("or" if exists else "and", (self.expand(body, inner) for inner in bindings))


def strips_schema(action: AdlAction) -> Schema | None:
    """Return the schema of a STRIPS action; None for other actions."""
    precondition = conjunction(action.precondition)
    if precondition is None or any(effect.variables or effect.condition != TRUE for effect in action.effects):
        return None
    literals = tuple(literal for effect in action.effects for literal in effect.literals)
    return Schema(action.name, action.parameters, precondition, literals, action.cost)


def quantifier(action: AdlAction) -> str:
    """Describe the quantifiers that cannot be compiled without objects; "" for none."""
    precondition, _ = _without_exists(action.precondition)
    conditions = [(effect.condition, "a condition of its effect") for effect in action.effects]
    for condition, place in [(precondition, "its precondition"), *conditions]:
        if kinds := {part.kind for part in parts_of(condition) if isinstance(part, Formula) and part.variables}:
            return f"{' and '.join(sorted(kinds))} in {place}"
    return "forall in its effect" if any(effect.variables for effect in action.effects) else ""


@lru_cache(maxsize=128)
def cases_of(action: AdlAction, world: World | None) -> tuple[Schema, ...]:
    """Return the cases of an action, all under its name. Raises TooManyCases, also after MAX_SECONDS."""
    started, schemas, forms = clock_seconds(), list[Schema](), list[_Form]()

    def is_late() -> bool:
        check_limits()
        return clock_seconds() - started > MAX_SECONDS

    for binding in _deciding_bindings(action, world):
        forms.append(_form(action, world, binding))
        if is_late():
            break
    for place, form in enumerate(forms):
        late = is_late()
        if late or len(schemas) + form.bound > MAX_CASES:
            cases = _number(len(schemas) + sum(other.bound for other in forms[place:]))
            made = f"at most {MAX_CASES:,} are made"
            if late:
                made = f"{len(schemas):,} were made in {MAX_SECONDS:g} seconds"
            raise TooManyCases(f"up to {cases} cases{' or more' if late else ''}, and {made}")
        schemas += form.cases() if form.bound else ()
    return tuple(schemas)


def numbered_names(cases: Mapping[str, tuple[Schema, ...]]) -> dict[str, Schema]:
    """Give each case a unique name: the action's name, with a number if the action has several cases."""
    dash = "-"
    while any(
        f"{name}{dash}{number}" in cases for name, schemas in cases.items() for number in range(1, len(schemas) + 1)
    ):
        dash += "-"
    named = (
        (name if len(schemas) == 1 else f"{name}{dash}{number}", schema)
        for name, schemas in cases.items()
        for number, schema in enumerate(schemas, 1)
    )
    return {name: replace(schema, name=name) for name, schema in named}


@lru_cache(maxsize=128)
def alternatives(goal: Condition, world: World) -> tuple[tuple[Literal, ...], ...]:
    """Return the disjuncts of a goal; none if the goal is unsatisfiable. Raises TooManyCases."""
    _require_few_atoms(_size(goal, world))
    expanded = world.expand(goal, {})
    number = _bound(expanded)
    if number > MAX_ALTERNATIVES:
        raise TooManyCases(
            f"up to {_number(number)} conjunctions, more than the {MAX_ALTERNATIVES:,} that are supported"
        )
    return tuple(dict.fromkeys(_disjuncts(expanded)))


def _disjuncts(condition: Condition) -> Iterator[tuple[Literal, ...]]:
    """Yield the disjunctive normal form of a condition without quantifiers, contradictions omitted."""
    if isinstance(condition, Literal):
        yield (condition,)
    elif condition.kind == "or":
        yield from chain.from_iterable(map(_disjuncts, condition.parts))
    else:
        for parts in product(*(tuple(_disjuncts(part)) for part in condition.parts)):
            literals = tuple(dict.fromkeys(chain.from_iterable(parts)))
            if not any(negate(literal) in literals for literal in literals):
                yield literals


def _bound(condition: Condition, positive: bool = True) -> int:
    """Bound the size of the disjunctive normal form of a condition or its negation, capped at 10^100."""
    if isinstance(condition, Literal):
        return 1
    numbers = [_bound(part, positive) for part in condition.parts]
    return sum(numbers) if (condition.kind == "or") == positive else _capped_product(numbers)


def _capped_product(numbers: Iterable[int]) -> int:
    return reduce(lambda product, number: min(product * number, 10**100), numbers, 1)


def _size(condition: Condition, world: World) -> int:
    """Return the number of atoms of a condition after its quantifiers are expanded."""
    if isinstance(condition, Literal):
        return 1
    below = sum(_size(part, world) for part in condition.parts)
    return max(1, below) * prod(len(world.of(variable.types)) for variable in condition.variables)


def _require_few_atoms(number: int) -> None:
    if number > MAX_ATOMS:
        raise TooManyCases(
            f"{_number(number)} atoms for the objects of the problem, and at most {MAX_ATOMS:,} are made"
        )


def _number(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "10^15 or more"


def _deciding_bindings(action: AdlAction, world: World | None) -> Iterator[Binding]:
    """Yield all bindings of the parameters that share a static atom with a quantified variable."""
    if world is None:
        yield {}
        return
    precondition, scopes = _without_exists(action.precondition)
    free = {parameter.name for parameter in (*action.parameters, *scopes)}
    conditions = (precondition, *(effect.condition for effect in action.effects))
    names: set[str] = set()
    for part in chain.from_iterable(map(parts_of, conditions)):
        if isinstance(part, Literal) and part.atom.predicate not in world.fluents:
            variables = {name for name in part.atom.objects if name.startswith("?")}
            names |= set() if variables <= free else variables
    deciding = [parameter for parameter in action.parameters if parameter.name in names]
    number = prod(len(world.of(parameter.types)) for parameter in deciding)
    if number > MAX_CASES:
        listed = ", ".join(parameter.name for parameter in deciding)
        raise TooManyCases(f"{number:,} values of {listed}, and at most {MAX_CASES:,} cases are made")
    yield from world.bindings(deciding, precondition, True, {})


def _without_exists(condition: Condition) -> tuple[Condition, list[Parameter]]:
    """Turn existential quantifiers, except below a universal one, into free variables; also return these.

    A trivial equality marks each variable in the cases that need an object for it.
    """
    variables: list[Parameter] = []

    def opened(part: Condition) -> Condition:
        if isinstance(part, Literal) or part.kind == "forall":
            return part
        variables.extend(part.variables)
        equalities = (Literal(Atom("=", (name, name)), True) for name, _ in part.variables)
        return join("or" if part.kind == "or" else "and", (*equalities, *map(opened, part.parts)))

    return opened(condition), variables


class _Form(NamedTuple):
    """An action without quantifiers, and an upper bound on the number of its cases.

    `original` is the declared action with some parameters replaced by objects. `variables` come from existential
    quantifiers. `effects` maps conditions to literals.
    """

    action: AdlAction
    original: Action
    precondition: Condition
    variables: tuple[Parameter, ...]
    effects: Mapping[Condition, tuple[Literal, ...]]
    cost: str
    bound: int

    def cases(self) -> Iterator[Schema]:
        conditions = [condition for condition in self.effects if condition != TRUE]
        for true in chain.from_iterable(combinations(conditions, size) for size in range(len(conditions) + 1)):
            decided = (condition if condition in true else negate(condition) for condition in conditions)
            literals = dict.fromkeys(chain.from_iterable(self.effects.get(part, ()) for part in (TRUE, *true)))
            effect = tuple(literal for literal in literals if literal.positive or negate(literal) not in literals)
            for conjuncts in dict.fromkeys(_disjuncts(join("and", (self.precondition, *decided)))):
                used = {name for literal in conjuncts for name in literal.atom.objects}
                parameters = [variable for variable in self.action.parameters if variable.name in self.original.objects]
                parameters += [variable for variable in self.variables if variable.name in used]
                needed = tuple(part for part in conjuncts if not (part.positive and is_true(part.atom, ())))
                yield Schema(self.action.name, tuple(parameters), needed, effect, self.cost, self.original)


def _form(action: AdlAction, world: World | None, binding: Binding) -> _Form:
    """Bind some parameters and expand the quantifiers. Raises TooManyCases for too many atoms."""
    precondition, variables = _without_exists(action.precondition)
    effects: dict[Condition, tuple[Literal, ...]] = {}
    if world is None:
        for effect in action.effects:
            effects[effect.condition] = (*effects.get(effect.condition, ()), *effect.literals)
    else:
        scopes = (_size(Formula("forall", (effect.condition,), effect.variables), world) for effect in action.effects)
        _require_few_atoms(_size(precondition, world) + sum(scopes))
        precondition = world.expand(precondition, binding)
        for effect in action.effects if precondition != FALSE else ():
            for inner in world.bindings(effect.variables, effect.condition, True, binding):
                condition = world.expand(effect.condition, inner)
                if condition != FALSE:
                    literals = (literal.renamed(inner) for literal in effect.literals)
                    effects[condition] = (*effects.get(condition, ()), *literals)
    either = [_bound(condition) + _bound(condition, False) for condition in effects if condition != TRUE]
    return _Form(
        action,
        Action(action.name, tuple(binding.get(name, name) for name, _ in action.parameters)),
        precondition,
        tuple(variables),
        effects,
        re.sub(r"\?[^\s()]+", lambda match: binding.get(match[0], match[0]), action.cost),
        _capped_product([_bound(precondition), *either]),
    )
