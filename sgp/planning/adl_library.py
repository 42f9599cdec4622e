"""unified-planning's disjunctive normal form of a condition.

It is handed propositions without parameters and objects, so that what was found once serves all conditions of a form.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from sgp.installed import missing
from sgp.planning.declarations import Atom, Condition, Literal
from sgp.planning.pddl_conditions import conjunction, mapped


def conjunctions(condition: Condition) -> list[tuple[Literal, ...]]:
    """The conjunctions of which a condition without quantifiers is the disjunction.

    Raises MissingLibrary where there are several and unified-planning is not installed.
    """
    literals = conjunction(condition)
    if literals is not None:
        return [literals]
    atoms: dict[Atom, Atom] = {}
    form = mapped(condition, lambda each: Literal(atoms.setdefault(each.atom, _proposition(len(atoms))), each.positive))
    names = {proposition: atom for atom, proposition in atoms.items()}
    return [tuple(Literal(names[atom], sign) for atom, sign in each) for each in _conjunctions(form)]


def _proposition(number: int) -> Atom:
    return Atom(f"f{number}", ())


def _library(module: str) -> Any:
    """A module of unified-planning. Raises MissingLibrary where it is not installed."""
    try:
        return importlib.import_module(f"unified_planning.{module}")
    except ModuleNotFoundError as error:
        raise missing("PDDL with or, imply, when, forall or exists", error) or error from error


@lru_cache(maxsize=1024)
def _conjunctions(condition: Condition) -> tuple[tuple[Literal, ...], ...]:
    environment = _library("environment").Environment()
    make, kind = environment.expression_manager, environment.type_manager.BoolType()

    def expression(part: Condition) -> Any:
        if isinstance(part, Literal):
            fluent = _library("model").Fluent(part.atom.predicate, kind, environment=environment)
            return make.FluentExp(fluent) if part.positive else make.Not(make.FluentExp(fluent))
        parts = [expression(each) for each in part.parts]
        return make.And(parts) if part.kind == "and" else make.Or(parts)

    def literal(found: Any) -> Literal:
        atom = found.arg(0) if found.is_not() else found
        return Literal(Atom(atom.fluent().name, ()), not found.is_not())

    split = _library("model.walkers").Dnf(environment).get_dnf_expression(expression(condition))
    found = []
    for each in (part.simplify() for part in (split.args if split.is_or() else [split])):
        if not each.is_false():
            parts = each.args if each.is_and() else [] if each.is_true() else [each]
            found.append(tuple(map(literal, parts)))
    return tuple(found)
