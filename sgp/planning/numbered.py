"""A task in names that mean nothing, for judges that do not read its own.

VAL takes words such as `after` and `name` for its own wherever they stand, refuses letters beyond ASCII, a variable of
a supertype in the place of a subtype, and an action without a precondition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sgp.planning.declarations import (
    OBJECT,
    Action,
    AdlAction,
    AsWritten,
    Atom,
    Condition,
    ConditionalEffect,
    Formula,
    Literal,
    Parameter,
)
from sgp.planning.pddl_conditions import TRUE, joined, negated
from sgp.planning.pddl_writing import condition_text

_Variables = Mapping[str, str]  # new names by the old ones


class Numbered:
    """Domain, problem and plans as text in which every name is its kind and a number, and types are predicates."""

    def __init__(self, written: AsWritten):
        self._written = written
        self._predicates = _numbered("predicate", written.domain.predicates) | {"=": "="}
        self._types = _numbered("type", written.domain.types)
        self._objects = _numbered("object", (each.name for each in written.objects))
        self._actions = _numbered("action", written.actions)

    @property
    def domain_pddl(self) -> str:
        """The domain; actions have their conditions as written, and no costs."""
        arities = {self._predicates[name]: arity for name, arity in self._written.domain.predicates.items()}
        arities |= dict.fromkeys(self._types.values(), 1)
        predicates = "".join(
            f" ({name}{''.join(f' ?x{place}' for place in range(arity))})" for name, arity in arities.items()
        )
        parts = [
            "(:requirements :adl)",
            _section(":constants", self._names(self._written.domain.constants)),
            f"(:predicates{predicates})" if predicates else "",
            *map(self._action, self._written.actions.values()),
        ]
        return "(define (domain d)\n" + "\n".join(filter(None, parts)) + ")\n"

    @property
    def problem_pddl(self) -> str:
        """The problem."""
        kinds = [
            Atom(self._types[kind], (self._objects[each.name],))
            for each in self._written.objects
            for kind in sorted(set().union(*map(self._written.domain.supertypes, each.types)) - {OBJECT})
        ]
        init = [*kinds, *(self._literal(Literal(atom, True), {}).atom for atom in self._written.problem.init)]
        return (
            f"(define (problem p)\n(:domain d)\n{_section(':objects', self._names(self._written.problem.objects))}\n"
            f"(:init {' '.join(map(str, init))})\n(:goal {condition_text(self._condition(self._written.goal, {}))}))\n"
        )

    def plan(self, plan: Sequence[Action]) -> tuple[Action, ...]:
        """A plan of actions and objects that domain and problem have."""
        return tuple(
            Action(self._actions[name], tuple(self._objects[each] for each in objects)) for name, objects in plan
        )

    def restored(self, report: str) -> str:
        """What was said of this text, in the names of the files."""
        new = (self._predicates, self._types, self._objects, self._actions)
        old = {number: name for names in new for name, number in names.items()}
        return re.sub(r"\b(?:predicate|type|object|action)\d+\b", lambda found: old.get(found[0], found[0]), report)

    def _names(self, objects: Iterable[Parameter]) -> list[str]:
        return [self._objects[each.name] for each in objects]

    def _action(self, action: AdlAction) -> str:
        variables = _variables(action.parameters, {})
        needs = joined(
            "and", [*self._kinds(action.parameters, variables), self._condition(action.precondition, variables)]
        )
        does = "".join(f" {self._effect(each, variables)}" for each in action.effects)
        return (
            f"(:action {self._actions[action.name]} :parameters ({' '.join(variables.values())})\n"
            f"  :precondition {condition_text(needs)}\n  :effect (and{does}))"
        )

    def _effect(self, effect: ConditionalEffect, above: _Variables) -> str:
        variables = _variables(effect.variables, above)
        kinds = self._kinds(effect.variables, variables)
        condition = joined("and", [*kinds, self._condition(effect.condition, variables)])
        does = "".join(f" {self._literal(each, variables)}" for each in effect.literals)
        text = f"(and{does})" if condition == TRUE else f"(when {condition_text(condition)} (and{does}))"
        bound = " ".join(variables[each.name] for each in effect.variables)
        return f"(forall ({bound}) {text})" if bound else text

    def _condition(self, condition: Condition, above: _Variables) -> Condition:
        if isinstance(condition, Literal):
            return self._literal(condition, above)
        variables = _variables(condition.variables, above)
        parts = [self._condition(part, variables) for part in condition.parts]
        if not condition.variables:
            return joined(condition.kind, parts)
        kinds = self._kinds(condition.variables, variables)
        within = (
            joined("and", [*kinds, *parts])
            if condition.kind == "exists"
            else joined("or", [*(negated(each) for each in kinds), *parts])
        )
        bound = tuple(Parameter(variables[each.name], (OBJECT,)) for each in condition.variables)
        return Formula(condition.kind, (within,), bound)

    def _kinds(self, parameters: Iterable[Parameter], variables: _Variables) -> list[Condition]:
        """That variables stand for objects of their types."""
        return [
            joined("or", [Literal(Atom(self._types[kind], (variables[each.name],)), True) for kind in each.types])
            for each in parameters
            if OBJECT not in each.types
        ]

    def _literal(self, literal: Literal, variables: _Variables) -> Literal:
        name, objects = literal.atom
        terms = (variables[each] if each in variables else self._objects[each] for each in objects)
        return Literal(Atom(self._predicates[name], tuple(terms)), literal.positive)


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{kind}{number}" for number, name in enumerate(names)}


def _variables(parameters: Iterable[Parameter], above: _Variables) -> dict[str, str]:
    """New names of variables, those above them first."""
    return {**above, **{each.name: f"?v{number}" for number, each in enumerate(parameters, len(above))}}


def _section(keyword: str, names: Sequence[str]) -> str:
    return f"({keyword} {' '.join(names)})" if names else ""
