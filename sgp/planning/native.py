"""pymimir's form of a problem: the text that it is handed, and whether it understood what our readers did.

pymimir is handed a text written anew from what our readers understood: it wants every requirement declared and the
sections in one order, dies of actions without a precondition, and takes types for predicates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pymimir.advanced import formalism

from sgp.errors import UnsupportedPddl
from sgp.planning.declarations import OBJECT, DomainText, Parameter, ProblemText, Schema
from sgp.planning.pddl import Problem
from sgp.planning.pddl_syntax import Source, placed, shown
from sgp.planning.pddl_writing import type_names, with_constants, write_domain, write_problem

_NAME = re.compile(r"\??[a-z][a-z0-9_-]*")
_OWN = frozenset({OBJECT, "number", "="})  # predicates that pymimir has besides those of types


def parsed(problem: Problem, domain: DomainText, text: ProblemText) -> formalism.Problem:
    """pymimir's problem. Raises UnsupportedPddl where pymimir does not understand what our readers did."""
    _require_names(Source(problem.domain_source, problem.domain_pddl), _names_of(domain))
    _require_names(Source(problem.problem_source, problem.problem_pddl), (each.name for each in text.objects))
    source = problem.domain_source
    domain, text = with_constants(domain, text)
    try:
        parser = formalism.Parser(write_domain(domain), "", formalism.ParserOptions())
        source = problem.problem_source
        native = parser.parse_problem(write_problem(domain, text), "", formalism.ParserOptions())
    except (RuntimeError, IndexError) as error:  # the latter where it cannot print its own message, which is no user's
        raise UnsupportedPddl(
            "the planning library does not read this, though it is PDDL; simplify it", source
        ) from error
    for what, ours, theirs in _understood(domain, text, native):
        if ours != theirs:
            raise UnsupportedPddl(
                f"the planning library understands {what} differently; rename what has a name twice or simplify it",
                problem.domain_source if what.startswith(("predicates", "action")) else problem.problem_source,
            )
    return native


def _names_of(domain: DomainText) -> Iterable[str]:
    """All names that a domain declares."""
    yield from domain.types
    yield from (each.name for each in domain.constants)
    yield from domain.predicates
    for schema in domain.schemas.values():
        yield from (schema.name, *(each.name for each in schema.parameters))


def _require_names(source: Source, names: Iterable[str]) -> None:
    """Raises UnsupportedPddl for a name that pymimir does not read."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise source.refusal(
                f"'{shown(name)}' is not supported as a name; expected a letter, then letters, digits, '-' and '_'",
                placed(source, name),
                UnsupportedPddl,
            )


def _understood(
    domain: DomainText, text: ProblemText, native: formalism.Problem
) -> Iterable[tuple[str, object, object]]:
    """What was read, ours and theirs: predicates, actions, objects, initial state and goal."""
    names = type_names(domain)
    hidden = _OWN | set(names.values())
    theirs = native.get_domain()
    predicates = (*theirs.get_static_predicates(), *theirs.get_fluent_predicates(), *theirs.get_derived_predicates())
    arities = {each.get_name(): each.get_arity() for each in predicates if each.get_name() not in hidden}
    yield "predicates", dict(domain.predicates), arities
    actions = list(theirs.get_actions())
    yield "action names", list(domain.schemas), [each.get_name() for each in actions]
    for action in actions:
        schema = domain.schemas[action.get_name()]
        yield f"action '{schema.name}'", _own_action(schema, names), _their_action(action, schema, hidden)
    own = {each.name: _kinds(each, names) for each in (*domain.constants, *text.objects)}
    objects = native.get_problem_and_domain_objects()
    yield "objects", own, {each.get_name(): frozenset(kind.get_name() for kind in each.get_bases()) for each in objects}
    atoms = (*native.get_static_initial_atoms(), *native.get_fluent_initial_atoms())
    true = {str(each) for each in atoms if each.get_predicate().get_name() not in hidden}
    yield "the initial state", set(map(str, text.init)), true
    goal = (*native.get_static_goal_literals(), *native.get_fluent_goal_literals())
    yield "the goal", set(map(str, text.goal)), set(map(str, goal))


def _own_action(schema: Schema, names: Mapping[str, str]) -> object:
    kinds = [_kinds(each, names) for each in schema.parameters]
    return kinds, set(map(str, schema.precondition)), set(map(str, schema.effect))


def _their_action(action: formalism.Action, schema: Schema, hidden: frozenset[str]) -> object:
    """Types of the parameters, precondition and effect, variables under our names; types are preconditions there."""
    parameters = list(action.get_parameters())
    kinds = [frozenset(kind.get_name() for kind in each.get_bases()) for each in parameters]
    variables = {
        each.get_variable().get_name(): own.name for each, own in zip(parameters, schema.parameters, strict=False)
    }

    def renamed(literal: object) -> str:
        return re.sub(r"\?[^\s()]+", lambda found: variables.get(found[0], found[0]), str(literal))

    condition = action.get_conjunctive_condition()
    needs = [*condition.get_static_literals(), *condition.get_fluent_literals()]
    typing = hidden - {"="}
    kept = {renamed(each) for each in needs if each.get_atom().get_predicate().get_name() not in typing}
    effects = [
        renamed(literal)
        for effect in action.get_conditional_effects()
        for literal in effect.get_conjunctive_effect().get_literals()
    ]
    return kinds, kept, set(effects)


def _kinds(thing: Parameter, names: Mapping[str, str]) -> frozenset[str]:
    return frozenset(names[each] for each in thing.types)
