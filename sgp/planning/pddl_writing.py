"""PDDL output for Fast Downward and VAL, which accept less PDDL than the built-in readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from sgp.planning.declarations import (
    OBJECT,
    TRUE,
    Action,
    AdlAction,
    AsWritten,
    Atom,
    Condition,
    ConditionalEffect,
    DomainText,
    Formula,
    Literal,
    Parameter,
    ProblemText,
    join,
    negate,
)

_VARIABLE = re.compile(r"\?[^\s()]+")
_SAME: Mapping[str, str] = {}  # no name changes
_VAL_OBJECTS = 4000  # of one type in a row; VAL's parser has 10,000 entries for them
_STRIPS = ":strips :typing :negative-preconditions :equality"


def rewritten(domain: DomainText, problem: ProblemText) -> tuple[str, str]:
    """Write STRIPS with action costs; types become predicates if they are not a tree (Fast Downward)."""
    written = strips(domain, problem)
    if any(len(types) > 1 for types in (*domain.types.values(), *(types for _, types in written.objects))):
        names = type_names(domain)
        written = _without_types(written, {kind: names[kind] for kind in domain.types})
    return write_domain(written, domain.costs), write_problem(written, domain.costs)


def strips(domain: DomainText, problem: ProblemText) -> AsWritten:
    """Return the compiled domain and problem for the writers; objects that schemas use become constants."""
    if domain.problem_specific:
        domain = replace(domain, constants=domain.constants + problem.objects)
        problem = replace(problem, objects=())
    actions = {name: schema.action for name, schema in domain.schemas.items()}
    return AsWritten(domain, actions, problem, Formula("and", problem.goal))


def write_domain(written: AsWritten, costs: bool = False, requires: str = _STRIPS) -> str:
    """Write the domain as PDDL."""
    domain, names = written.domain, type_names(written.domain)
    types = [Parameter(names[name], tuple(names[kind] for kind in above)) for name, above in domain.types.items()]
    functions = {name: [Parameter("", (OBJECT,))] * arity for name, arity in domain.functions.items()}
    parts = [
        f"(:requirements {requires}{' :action-costs' if costs else ''})",
        _section(":types", _typed(types, {})),
        _section(":constants", _typed(domain.constants, names)),
        _section(":predicates", [_predicate(*declaration, names) for declaration in domain.arguments.items()]),
        _section(":functions", [f"{_predicate(*each, {OBJECT: OBJECT})} - number" for each in functions.items()])
        if costs
        else "",
        *(_action(action, names, costs) for action in written.actions.values()),
    ]
    return "(define (domain d)\n" + "\n".join(filter(None, parts)) + ")\n"


def write_problem(written: AsWritten, costs: bool = False, row: int | None = None) -> str:
    """Write the problem that belongs to the output of `write_domain`.

    Consecutive objects of one type share a line; with `row`, at most so many, and each line names the type.
    """
    problem = written.problem
    total = [] if any(value.startswith("(= (total-cost)") for value in problem.values) else ["(= (total-cost) 0)"]
    init = [*map(str, problem.init), *([*total, *problem.values] if costs else [])]
    metric = "\n  (:metric minimize (total-cost))" if costs and problem.minimised else ""
    same = [list(group) for _, group in groupby(problem.objects, key=attrgetter("types"))]
    rows = [
        each[begin : begin + (row or len(each))] for each in same for begin in range(0, len(each), row or len(each))
    ]
    typed = _typed([row[-1] for row in rows], type_names(written.domain), always=len(rows) > len(same))
    objects = [" ".join([*(name for name, _ in row[:-1]), last]) for row, last in zip(rows, typed, strict=True)]
    goal = written.goal.parts if isinstance(written.goal, Formula) and written.goal.kind == "and" else (written.goal,)
    return _problem("p", "d", objects, init, map(condition_text, goal), metric)


def format_problem(problem: ProblemText) -> str:
    """Write a problem as PDDL, without costs; `read_problem` reads it back unchanged."""
    typed = any(types != (OBJECT,) for _, types in problem.objects)
    objects = _typed(problem.objects, {} if typed else {OBJECT: OBJECT})
    return _problem(problem.name, problem.domain, objects, map(str, problem.init), map(str, problem.goal))


def _problem(
    name: str, domain: str, objects: Iterable[str], init: Iterable[str], goal: Iterable[str], metric: str = ""
) -> str:
    parts = ((":objects", objects), (":init", init), (":goal (and", goal))
    body = "".join(f"\n  ({head}" + "".join(f"\n    {line}" for line in lines) + ")" for head, lines in parts)
    return f"(define (problem {name})\n  (:domain {domain}){body}){metric})\n"


def condition_text(condition: Condition, names: Mapping[str, str] = _SAME) -> str:
    """Write a condition as PDDL, with new names of objects and free variables, quantifiers without types."""
    if isinstance(condition, Literal):
        return str(condition.renamed(names))
    variables = f" ({' '.join(name for name, _ in condition.variables)})" if condition.variables else ""
    return f"({condition.kind}{variables}{''.join(f' {condition_text(part, names)}' for part in condition.parts)})"


def _action(action: AdlAction, names: Mapping[str, str], costs: bool) -> str:
    effects = [_effect(effect) for effect in action.effects]
    effects += [f"(increase (total-cost) {action.cost})"] if costs and action.cost else []
    return (
        f"(:action {action.name} :parameters ({' '.join(_typed(action.parameters, names))})\n"
        f"  :precondition {condition_text(action.precondition)}\n  :effect (and {' '.join(effects)}))"
    )


def _effect(effect: ConditionalEffect) -> str:
    literals = " ".join(map(str, effect.literals))
    if effect.condition == TRUE and not effect.variables:
        return literals
    text = f"(and {literals})"
    if effect.condition != TRUE:
        text = f"(when {condition_text(effect.condition)} {text})"
    return f"(forall ({' '.join(name for name, _ in effect.variables)}) {text})" if effect.variables else text


def _predicate(name: str, arguments: Sequence[Parameter], names: Mapping[str, str]) -> str:
    numbered = [Parameter(f"?x{place}", types) for place, (_, types) in enumerate(arguments)]
    return f"({' '.join([name, *_typed(numbered, names)])})"


def _section(keyword: str, items: Sequence[str]) -> str:
    return f"({keyword} {' '.join(items)})" if items else ""


def _typed(parameters: Iterable[Parameter], names: Mapping[str, str], always: bool = False) -> list[str]:
    """Return the entries of a typed list; untyped if `names` of types has only the root, unless `always`."""

    def entry(name: str, types: Sequence[str]) -> str:
        kinds = " ".join(names.get(kind, kind) for kind in types)
        return f"{name} - {kinds}" if len(types) == 1 else f"{name} - (either {kinds})"

    untyped = len(names) == 1 and not always
    return [name if untyped else entry(name, types) for name, types in parameters]


def type_names(domain: DomainText) -> dict[str, str]:
    """Return new names for types that share one with a predicate."""
    taken, names = {*domain.predicates, *domain.types}, {OBJECT: OBJECT}
    for name in domain.types:
        other = name
        while other in domain.predicates or (other != name and other in taken):
            other += "-type"
        names[name] = other
        taken.add(other)
    return names


def _without_types(
    written: AsWritten,
    types: Mapping[str, str],
    predicates: Mapping[str, str] = _SAME,
    terms: Mapping[str, str] = _SAME,
    actions: Mapping[str, str] = _SAME,
) -> AsWritten:
    """Replace types by predicates (`types`) and rename other symbols; `terms` maps objects."""
    domain, problem = written.domain, written.problem

    def untyped(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
        return tuple(Parameter(terms.get(name, name), (OBJECT,)) for name, _ in parameters)

    def typing(parameters: Iterable[Parameter]) -> list[Condition]:
        return [
            join("or", [Literal(Atom(types[kind], (terms.get(name, name),)), True) for kind in kinds])
            for name, kinds in parameters
            if OBJECT not in kinds
        ]

    def literal(old: Literal) -> Literal:
        predicate, objects = old.renamed(terms).atom
        return Literal(Atom(predicates.get(predicate, predicate), objects), old.positive)

    def condition(old: Condition) -> Condition:
        if isinstance(old, Literal):
            return literal(old)
        parts, kinds = map(condition, old.parts), typing(old.variables)
        if old.kind == "forall":
            body = join("or", [*map(negate, kinds), *parts])
        else:
            body = join("or" if old.kind == "or" else "and", [*kinds, *parts])
        return Formula(old.kind, (body,), untyped(old.variables)) if old.variables else body

    def effect(old: ConditionalEffect) -> ConditionalEffect:
        under = join("and", [*typing(old.variables), condition(old.condition)])
        return ConditionalEffect(untyped(old.variables), under, tuple(map(literal, old.literals)))

    def action(old: AdlAction) -> AdlAction:
        precondition = join("and", [*typing(old.parameters), condition(old.precondition)])
        name = actions.get(old.name, old.name)
        return AdlAction(name, untyped(old.parameters), precondition, tuple(map(effect, old.effects)), old.cost)

    arguments = {predicates.get(name, name): untyped(each) for name, each in domain.arguments.items()}
    arguments |= dict.fromkeys(types.values(), (Parameter("?x", (OBJECT,)),))
    facts = [
        Atom(types[kind], (terms.get(name, name),))
        for name, above in domain.types_of(written.objects).items()
        for kind in sorted(above - {OBJECT})
    ]
    return AsWritten(
        replace(domain, types={}, constants=untyped(domain.constants), predicates={}, arguments=arguments),
        {name: action(old) for name, old in written.actions.items()},
        replace(
            problem,
            objects=untyped(problem.objects),
            init=(*facts, *(literal(Literal(atom, True)).atom for atom in problem.init)),
        ),
        condition(written.goal),
    )


class Numbered:
    """A task for VAL with numbered names, and types as predicates.

    VAL reserves words such as `after` and `name` everywhere. It rejects non-ASCII letters, a variable of a supertype in
    place of a subtype, and an action without a precondition.
    """

    def __init__(self, written: AsWritten):
        predicates = _numbers("predicate", written.domain.predicates)
        types = _numbers("type", written.domain.types)
        self._actions = _numbers("action", written.actions)
        self._objects = _numbers("object", (name for name, _ in written.objects))
        renamed = _without_types(written, types, predicates, self._objects, self._actions)
        texts = write_domain(renamed, requires=":adl"), write_problem(renamed, row=_VAL_OBJECTS)
        variables = _numbers("?v", dict.fromkeys(_VARIABLE.findall("".join(texts))))
        self.domain_pddl, self.problem_pddl = (_VARIABLE.sub(lambda match: variables[match[0]], text) for text in texts)
        self._old = {
            new: old for names in (predicates, types, self._objects, self._actions) for old, new in names.items()
        }

    def plan(self, plan: Sequence[Action]) -> tuple[Action, ...]:
        """Translate a plan to the new names."""
        return tuple(
            Action(self._actions[name], tuple(self._objects[value] for value in objects)) for name, objects in plan
        )

    def restored(self, report: str) -> str:
        """Translate a report back to the names of the files."""
        pattern = r"\b(?:predicate|type|object|action)\d+\b"
        return re.sub(pattern, lambda match: self._old.get(match[0], match[0]), report)


def _numbers(kind: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{kind}{number}" for number, name in enumerate(names)}
