"""From the actions and the goal that a file declares to schemas and literals, with a remark on what was compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sgp.errors import UnsupportedPddl
from sgp.planning.adl import TooManyCases, alternatives, cases_of, named, quantifier, schema_of
from sgp.planning.adl_objects import World
from sgp.planning.declarations import OBJECT, AdlAction, Condition, DomainText, Literal, Parameter, Schema
from sgp.planning.pddl_conditions import conjunction
from sgp.planning.pddl_syntax import Block, Source, shown

__all__ = ["World", "goals_of", "with_schemas"]


def with_schemas(
    domain: DomainText,
    actions: Mapping[str, tuple[Block, AdlAction]],
    source: Source,
    world: Callable[[], World] | None = None,
) -> DomainText:
    """The domain with a schema for each case of its actions.

    Without a `world` they are the same for all problems. Raises UnsupportedPddl for an action that has too many cases,
    or none that are the same for all problems.
    """
    cases: dict[str, tuple[Schema, ...]] = {}
    for name, (place, action) in actions.items():
        schema = schema_of(action)
        cases[name] = (schema,) if schema else _compiled(action, place, source, world)
    compiled = {name: found for name, found in cases.items() if any(each.original for each in found) or not found}
    alone = any(quantifier(actions[name][1]) for name in compiled)
    schemas = named(cases)
    if not schemas:
        raise source.refusal("no action can ever be applicable or change anything; mend their conditions")
    if compiled:
        how = "for the objects of this problem alone" if alone else "the same for all problems"
        told = ", ".join(f"{shown(name)} ({len(found):,})" for name, found in compiled.items())
        source.remark(
            f"conditions and effects of ADL are compiled to actions of STRIPS, {how}: {told}; "
            "plans are told in the actions of the file",
            actions[next(iter(compiled))][0],
        )
    types, schemas = _with_unions(domain.types, schemas)
    arities = {name: len(action.parameters) for name, (_, action) in actions.items()} if alone else {}
    return replace(domain, types=types, schemas=schemas, remarks=source.remarks, alone=arities)


def _compiled(action: AdlAction, place: Block, source: Source, world: Callable[[], World] | None) -> tuple[Schema, ...]:
    """The cases of an action that is not STRIPS; those for the objects of one problem where it needs them."""
    over_objects = quantifier(action)
    if over_objects and world is None:
        raise source.refusal(
            f"action '{shown(action.name)}': {over_objects} ranges over a problem's objects and is compiled for one "
            "problem alone; domains to learn in with such quantifiers are not supported; rewrite this without it",
            place,
            UnsupportedPddl,
        )
    try:
        return cases_of(action, world() if over_objects and world else None)
    except TooManyCases as error:
        raise source.refusal(
            f"action '{shown(action.name)}': compiled to STRIPS it has {error}; that many are not supported; give it "
            "fewer conditional effects and disjunctions" + (", or the problem fewer objects" if over_objects else ""),
            place,
            UnsupportedPddl,
        ) from error


def goals_of(
    goal: Condition, world: Callable[[], World] | None, place: Block, source: Source
) -> tuple[tuple[Literal, ...], ...]:
    """The conjunctions of which a goal asks for one. Raises UnsupportedPddl for too many, PddlError for none."""
    literals = conjunction(goal)
    if literals is not None:
        return (literals,)
    if world is None:
        raise source.refusal("the goal is no conjunction of literals, and is read without its domain; give both", place)
    try:
        found = alternatives(goal, world())
    except TooManyCases as error:
        raise source.refusal(
            f"the goal has {error}; that many are not supported; simplify it", place, UnsupportedPddl
        ) from error
    if not found:
        raise source.refusal("the goal cannot hold in any state; mend it", place)
    return found


def _with_unions(
    types: Mapping[str, tuple[str, ...]], schemas: Mapping[str, Schema]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Schema]]:
    """Types and schemas with a type above those of each `(either ...)`: pymimir takes it for "of all these types"."""
    found = dict(types)
    unions: dict[frozenset[str], str] = {}

    def single(parameter: Parameter) -> Parameter:
        kinds = frozenset(parameter.types)
        if len(kinds) == 1 or OBJECT in kinds:
            return Parameter(parameter.name, (OBJECT if OBJECT in kinds else parameter.types[0],))
        if kinds not in unions:
            name = "-or-".join(sorted(kinds))
            while name in found:
                name += "-"
            unions[kinds] = name
            for kind in kinds:
                found[kind] = (*(each for each in found[kind] if each != OBJECT), name)
            found[name] = (OBJECT,)
        return Parameter(parameter.name, (unions[kinds],))

    made = {
        name: schema
        if all(len(each.types) == 1 for each in schema.parameters)
        else replace(schema, parameters=tuple(map(single, schema.parameters)))
        for name, schema in schemas.items()
    }
    return found, made
