"""Domains and problems written anew, so that every planner reads them alike.

All supported requirements are declared, sections stand in their usual order, every action has a precondition, and
what no planner needs (costs, comments, names of domain and problem) is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sgp.planning.declarations import OBJECT, DomainText, Literal, Parameter, ProblemText, Schema
from sgp.planning.pddl import Problem, read_domain, read_problem


def rewritten(problem: Problem) -> tuple[str, str]:
    """Domain and problem written anew. Raises PddlError for text that cannot be used."""
    domain = read_domain(problem.domain_pddl, problem.domain_source)
    text = read_problem(problem.problem_pddl, problem.problem_source, domain)
    return write_domain(domain), write_problem(domain, text)


def write_domain(domain: DomainText) -> str:
    """The domain as text that every planner reads: all supported requirements, sections in their usual order."""
    names = type_names(domain)
    kinds = [Parameter(names[name], tuple(names[each] for each in above)) for name, above in domain.types.items()]
    predicates = "".join(f" {_predicate(*each, names)}" for each in domain.arguments.items())
    parts = [
        "(:requirements :strips :typing :negative-preconditions :equality)",
        f"(:types{_typed(kinds, {})})" if kinds else "",
        f"(:constants{_typed(domain.constants, names)})" if domain.constants else "",
        f"(:predicates{predicates})" if predicates else "",
        *(_action(schema, names) for schema in domain.schemas.values()),
    ]
    return "(define (domain d)\n" + "\n".join(filter(None, parts)) + ")\n"


def write_problem(domain: DomainText, text: ProblemText) -> str:
    """The problem as text that every planner reads."""
    objects = f"(:objects{_typed(text.objects, type_names(domain))})\n" if text.objects else ""
    return (
        f"(define (problem p)\n(:domain d)\n{objects}"
        f"(:init {' '.join(map(str, text.init))})\n(:goal {_conjunction(text.goal)}))\n"
    )


def _predicate(name: str, arguments: Sequence[Parameter], names: Mapping[str, str]) -> str:
    return f"({name}{_typed([Parameter(f'?x{place}', types) for place, (_, types) in enumerate(arguments)], names)})"


def _action(schema: Schema, names: Mapping[str, str]) -> str:
    return (
        f"(:action {schema.name} :parameters ({_typed(schema.parameters, names).strip()})\n"
        f"  :precondition {_conjunction(schema.precondition)}\n  :effect {_conjunction(schema.effect)})"
    )


def _conjunction(literals: Sequence[Literal]) -> str:
    return f"(and{''.join(f' {literal}' for literal in literals)})"


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
