"""Domains and problems written anew, so that every planner reads them alike.

All supported requirements are declared, sections stand in their usual order, every action has a precondition, what
was compiled stands as its cases, and what no planner needs (comments, names of domain and problem) is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sgp.planning.declarations import OBJECT, Atom, Condition, DomainText, Literal, Parameter, ProblemText, Schema
from sgp.planning.pddl import Problem


def rewritten(problem: Problem) -> tuple[str, str]:
    """Domain and problem written anew, with action costs. Raises PddlError for text that cannot be used."""
    domain, text = _with_a_tree_of_types(*with_constants(*problem.read()))
    costs = domain.costs
    return write_domain(domain, costs), write_problem(domain, text, costs)


def with_constants(domain: DomainText, text: ProblemText) -> tuple[DomainText, ProblemText]:
    """The same, with all objects among the domain's constants where its schemas speak of them."""
    if not domain.alone:
        return domain, text
    return replace(domain, constants=domain.constants + text.objects), replace(text, objects=())


def write_domain(domain: DomainText, costs: bool = False) -> str:
    """The domain as text that every planner reads: all supported requirements, sections in their usual order."""
    functions = "".join(
        f" {_predicate(name, [Parameter('', (OBJECT,))] * arity, {OBJECT: OBJECT})} - number"
        for name, arity in ({"total-cost": 0} | dict(domain.functions)).items()
    )
    names = type_names(domain)
    kinds = [Parameter(names[name], tuple(names[each] for each in above)) for name, above in domain.types.items()]
    predicates = "".join(f" {_predicate(*each, names)}" for each in domain.arguments.items())
    parts = [
        f"(:requirements :strips :typing :negative-preconditions :equality{' :action-costs' if costs else ''})",
        f"(:types{_typed(kinds, {})})" if kinds else "",
        f"(:constants{_typed(domain.constants, names)})" if domain.constants else "",
        f"(:predicates{predicates})" if predicates else "",
        f"(:functions{functions})" if costs else "",
        *(_action(schema, names, costs) for schema in domain.schemas.values()),
    ]
    return "(define (domain d)\n" + "\n".join(filter(None, parts)) + ")\n"


def write_problem(domain: DomainText, text: ProblemText, costs: bool = False) -> str:
    """The problem as text that every planner reads."""
    total = [] if any(each.startswith("(= (total-cost)") for each in text.values) else ["(= (total-cost) 0)"]
    init = [*map(str, text.init), *(total + list(text.values) if costs else [])]
    metric = "(:metric minimize (total-cost))" if costs and text.minimised else ""
    objects = f"(:objects{_typed(text.objects, type_names(domain))})\n" if text.objects else ""
    return (
        f"(define (problem p)\n(:domain d)\n{objects}"
        f"(:init {' '.join(init)})\n(:goal {_conjunction(text.goal)}){metric})\n"
    )


def _with_a_tree_of_types(domain: DomainText, text: ProblemText) -> tuple[DomainText, ProblemText]:
    """The same with predicates for types where these are no tree, which Fast Downward does not read."""
    things = domain.constants + text.objects
    if all(len(kinds) == 1 for kinds in (*domain.types.values(), *(each.types for each in things))):
        return domain, text
    names = {kind: f"{name}-type" for kind, name in type_names(domain).items() if kind != OBJECT}
    while set(names.values()) & set(domain.predicates):
        names = {kind: f"{name}-type" for kind, name in names.items()}

    def plain(found: Iterable[Parameter]) -> tuple[Parameter, ...]:
        return tuple(Parameter(each.name, (OBJECT,)) for each in found)

    def kept(schema: Schema) -> Schema:
        kinds = [
            Literal(Atom(names[each.types[0]], (each.name,)), True)
            for each in schema.parameters
            if each.types[0] in names
        ]
        return replace(schema, parameters=plain(schema.parameters), precondition=(*kinds, *schema.precondition))

    facts = {
        Atom(names[kind], (each.name,)): None
        for each in things
        for own in each.types
        for kind in sorted(domain.supertypes(own) - {OBJECT})
    }
    arguments = {name: plain(found) for name, found in domain.arguments.items()}
    arguments |= dict.fromkeys(names.values(), (Parameter("?x", (OBJECT,)),))
    return (
        replace(
            domain,
            types={},
            constants=plain(domain.constants),
            predicates={name: len(found) for name, found in arguments.items()},
            arguments=arguments,
            schemas={name: kept(schema) for name, schema in domain.schemas.items()},
        ),
        replace(text, objects=plain(text.objects), init=(*facts, *text.init)),
    )


def _predicate(name: str, arguments: Sequence[Parameter], names: Mapping[str, str]) -> str:
    return f"({name}{_typed([Parameter(f'?x{place}', types) for place, (_, types) in enumerate(arguments)], names)})"


def _action(schema: Schema, names: Mapping[str, str], costs: bool) -> str:
    cost = [f"(increase (total-cost) {schema.cost})"] if costs and schema.cost else []
    return (
        f"(:action {schema.name} :parameters ({_typed(schema.parameters, names).strip()})\n"
        f"  :precondition {_conjunction(schema.precondition)}\n  :effect {_conjunction([*schema.effect, *cost])})"
    )


def condition_text(condition: Condition) -> str:
    """A condition as PDDL, quantifiers without types."""
    if isinstance(condition, Literal):
        return str(condition)
    variables = f" ({' '.join(each.name for each in condition.variables)})" if condition.variables else ""
    return f"({condition.kind}{variables}{''.join(f' {condition_text(part)}' for part in condition.parts)})"


def _conjunction(parts: Sequence[Literal | str]) -> str:
    return f"(and{''.join(f' {part}' for part in parts)})"


def _typed(parameters: Iterable[Parameter], names: Mapping[str, str]) -> str:
    """A typed list, a space before each; without types where `names` has none but the root."""
    found = []
    for name, types in parameters:
        kinds = [names.get(each, each) for each in types]
        kind = kinds[0] if len(kinds) == 1 else f"(either {' '.join(kinds)})"
        found.append(f" {name}" if len(names) == 1 else f" {name} - {kind}")
    return "".join(found)


def type_names(domain: DomainText) -> dict[str, str]:
    """The types' names in pymimir's text: pymimir makes each a predicate, whose name no predicate may have."""
    taken, found = {*domain.predicates, *domain.types}, {OBJECT: OBJECT}
    for name in domain.types:
        other = name
        while other in domain.predicates or (other != name and other in taken):
            other += "-type"
        found[name] = other
        taken.add(other)
    return found
