"""Readers of PDDL domains and problems, with consistency checks between their sections.

They accept PDDL that Fast Downward and VAL read with the same meaning. Declared requirements are not compared
with the features used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise

from sgp.planning.adl import TooManyCases, World, alternatives, cases_of, numbered_names, quantifier, strips_schema
from sgp.planning.clock import with_limit_checks
from sgp.planning.costs import number_of
from sgp.planning.declarations import (
    OBJECT,
    TRUE,
    AdlAction,
    AsWritten,
    Atom,
    Condition,
    DomainText,
    Parameter,
    ProblemText,
    Schema,
    conjunction,
)
from sgp.planning.pddl_formulas import (
    Scope,
    atom,
    condition,
    effects,
    free_name,
    function_call,
    name_of,
    parameter,
    parameters,
    typed_list,
)
from sgp.planning.pddl_syntax import Block, Source, Word, read_sections, shown

_DOMAIN_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions")
_PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")
_Actions = dict[str, tuple[Block, AdlAction]]  # with their positions in the text


def read_domain(text: str, source: str = "domain") -> DomainText:
    """Parse a domain; its schemas are the same for all problems. Raises PddlError."""
    origin = Scope(source, text)
    return _with_schemas(*_read_domain(origin), origin)


def read_both(
    domain: tuple[str, str], problem: tuple[str, str], alternative: int | None = None
) -> tuple[DomainText, ProblemText]:
    """Parse a domain and a problem, each a text and the name of its source.

    Schemas of actions that quantify over objects are compiled for the objects of this problem. `alternative` selects
    one conjunction of a disjunctive goal.
    """
    origin = Scope(domain[1], domain[0])
    declared, actions = _read_domain(origin)
    effects = chain.from_iterable(action.effects for _, action in actions.values())
    fluents = frozenset(literal.atom.predicate for effect in effects for literal in effect.literals)
    text = _with_goal(*_read_problem(problem, declared), declared, fluents, alternative)
    world = cache(lambda: _world(declared, text, fluents))
    return _with_schemas(declared, actions, origin, world), text


def read_as_written(domain: tuple[str, str], problem: tuple[str, str]) -> AsWritten:
    """Parse a domain and a problem, each a text and the name of its source, without compilation."""
    origin = Scope(domain[1], domain[0])
    declared, actions = _read_domain(origin)
    text, goal, _, _ = _read_problem(problem, declared)
    adl = {name: action for name, (_, action) in actions.items()}
    return AsWritten(replace(declared, remarks=origin.remarks), adl, text, goal)


def read_declarations(domain: tuple[str, str], problem: tuple[str, str]) -> AsWritten:
    """Parse the declarations of texts that may have unsupported conditions and effects, which are left out."""
    origin, other = Scope(domain[1], domain[0]), Scope(problem[1], problem[0])
    name, sections = read_sections(origin, "domain")
    parts = {section.head: section for section in sections}
    origin.declared = other.declared = types = _types(parts.get(":types", Block()), origin)
    constants = _objects(parts.get(":constants", Block()), origin)
    other.names = {constant.name for constant in constants}
    actions: dict[str, AdlAction] = {}
    for section in sections:
        if section.head == ":durative-action":
            raise origin.unsupported("section :durative-action is not supported; rewrite this without it", section)
        if section.head == ":action" and len(section) > 1:
            given = next((after for key, after in pairwise(section) if key == ":parameters"), Block())
            variables = parameters(origin.block(given), 0, origin)
            actions[str(section[1])] = AdlAction(str(section[1]), variables, TRUE, ())
    problem_name, sections = read_sections(other, "problem")
    listed = next((section for section in sections if section.head == ":objects"), Block())
    text = ProblemText(problem_name, name, _objects(listed, other), (), ())
    return AsWritten(DomainText(name, types, constants, {}, {}, {}), actions, text, TRUE)


def read_problem(text: str, source: str = "problem", domain: DomainText | None = None) -> ProblemText:
    """Parse a problem with one conjunction as its goal, checked against its domain if given. Raises PddlError."""
    return _with_goal(*_read_problem((text, source), domain), domain, domain.fluent_predicates if domain else ())


def _read_domain(origin: Scope) -> tuple[DomainText, _Actions]:
    """Parse a domain without schemas, and its actions with their positions."""
    name, sections = read_sections(origin, "domain")
    actions = [section for section in sections if section.head == ":action"]
    by_head = _by_head([section for section in sections if section.head != ":action"], _DOMAIN_SECTIONS, origin)
    origin.declared = types = _types(by_head[":types"], origin)
    constants = _objects(by_head[":constants"], origin)
    origin.predicates = predicates = _predicates(by_head[":predicates"], origin)
    functions = {"total-cost": 0} | {
        function.head: sum(str(word).startswith("?") for word in function)
        for function in by_head[":functions"][1:]
        if isinstance(function, Block)
    }
    origin.require(actions, "the domain has no '(:action ...)'; expected at least one", None)
    text = DomainText(name, types, constants, {name: len(each) for name, each in predicates.items()}, {}, predicates)
    origin.names, origin.types = {name for name, _ in constants}, text.types_of(constants) if types else {}
    origin.functions = functions
    read: _Actions = {}
    for section in actions:
        action = _action(section, origin)
        message = f"a second action has the name '{shown(action.name)}'; rename one"
        origin.require(action.name not in read, message, section[1])
        read[action.name] = section, action
    costs = bool(by_head[":functions"]) or ":action-costs" in by_head[":requirements"]
    costs = costs or any(action.cost for _, action in read.values())
    return replace(text, costs=costs, functions=functions), read


def _read_problem(text: tuple[str, str], domain: DomainText | None) -> tuple[ProblemText, Condition, Block, Source]:
    """Parse a problem without its goal, and the goal with its position."""
    origin = Scope(text[1], text[0])
    name, sections = read_sections(origin, "problem")
    by_head = _by_head(sections, _PROBLEM_SECTIONS, origin)
    for needed in (":domain", ":init", ":goal"):
        origin.require(by_head[needed], f"the problem has no '({needed} ...)' section", None)
    goal, naming, metric = by_head[":goal"], by_head[":domain"], by_head[":metric"]
    if len(goal) != 2 or not isinstance(goal[1], Block):
        raise origin.refusal("expected '(:goal (and ...))'", goal)
    origin.require(len(naming) == 2 and naming.flat, "expected '(:domain NAME)'", naming)
    if domain and naming[1] != domain.name:
        origin.remark(
            f"the domain names differ: the problem is of '{shown(str(naming[1]))}', the domain file has "
            f"'{shown(domain.name)}'; it is read as if they were the same",
            naming[1],
        )
    constants = domain.constants if domain else ()
    origin.names = {name for name, _ in constants}
    if domain:
        origin.predicates, origin.declared, origin.functions = domain.arguments, domain.types, domain.functions
    objects = _objects(by_head[":objects"], origin)
    origin.names |= {name for name, _ in objects}
    origin.types = domain.types_of((*constants, *objects)) if domain and domain.types else {}
    init, values = _init(by_head[":init"], origin)
    minimised = len(metric) == 3 and metric[1] == "minimize" and metric[2] == ["total-cost"]
    formula = condition(goal[1], origin)
    read = ProblemText(name, str(naming[1]), objects, init, (), origin.remarks, values=values, minimised=minimised)
    return read, formula, goal, origin


def _by_head(sections: Sequence[Block], known: Sequence[str], source: Source) -> dict[str, Block]:
    """Return all known sections by keyword, empty if absent."""
    by_head = {head: Block() for head in known}
    for section in sections:
        if section.head not in known:
            raise source.unsupported(
                f"section {shown(section.head)} is not supported; rewrite this without it", section
            )
        source.require(not by_head[section.head], f"a second section {section.head}; merge the two", section)
        by_head[section.head] = section
    return by_head


def _types(section: Block, source: Source) -> dict[str, tuple[str, ...]]:
    """Return each type with its parents; a type that occurs only as a parent is declared, too."""
    types: dict[str, tuple[str, ...]] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for word, kinds in typed_list(section, 1, source, "a type"):
        declared = (kind for kind in kinds if isinstance(kind, Word) and kind != OBJECT)
        parents |= {free_name(kind, source, "a type"): (OBJECT,) for kind in declared}
        if word == OBJECT:
            above = "'object' is above all types; remove what is declared above it"
            source.require(set(kinds) == {OBJECT}, above, word)
            continue
        name = free_name(word, source, "a type")
        if name in kinds:
            source.remark("a type is declared as its own supertype, which is ignored", word)
        if name in types:
            source.remark("a type is declared twice; it has the supertypes of both", word)
        types[name] = tuple(dict.fromkeys([*types.get(name, ()), *(str(kind) for kind in kinds if kind != name)]))
    types = {name: tuple(kind for kind in kinds if kind != OBJECT) or (OBJECT,) for name, kinds in types.items()}
    types |= {name: kinds for name, kinds in parents.items() if name not in types}
    try:
        TopologicalSorter(types).prepare()
    except CycleError as error:
        cycle = shown(", ".join(dict.fromkeys(error.args[1])))
        raise source.refusal(f"the types {cycle} form a cycle; remove it", section) from error
    return types


def _objects(section: Block, scope: Scope) -> tuple[Parameter, ...]:
    """Parse objects or constants with new and unique names."""
    objects: dict[str, Parameter] = {}
    for name, kinds in typed_list(section, 1, scope, "an object"):
        again = name in objects or name in scope.names
        scope.require(not again, f"object '{shown(name)}' has already been defined; remove one", name)
        objects[str(name)] = parameter(name, kinds, scope)
    return tuple(objects.values())


def _predicates(section: Block, scope: Scope) -> dict[str, tuple[Parameter, ...]]:
    """Parse the predicates with their arguments."""
    predicates: dict[str, tuple[Parameter, ...]] = {}
    for declaration in section[1:]:
        if not isinstance(declaration, Block) or not declaration.head:
            raise scope.refusal("expected '(predicate ?x ...)' in :predicates", declaration)
        if declaration.head == "=":  # "=" is predefined
            continue
        name = free_name(declaration[0], scope, "a predicate")
        arguments = parameters(declaration, 1, scope)
        if len({argument.name for argument in arguments}) < len(arguments):
            scope.remark(
                "a variable occurs twice in a predicate's declaration; the arguments are different all the same",
                declaration,
            )
        if name in predicates:
            before, now = ([types for _, types in each] for each in (predicates[name], arguments))
            message = f"a second predicate has the name '{shown(name)}' and other arguments; rename one"
            scope.require(before == now, message, declaration)
            scope.remark("a predicate is declared twice", declaration)
        predicates[name] = arguments
    return predicates


def _action(section: Block, scope: Scope) -> AdlAction:
    if len(section) < 2 or not isinstance(section[1], Word):
        raise scope.refusal("expected '(:action NAME ...)'", section)
    name = name_of(section[1], scope, "an action")
    parts: dict[str, Block] = {}
    items = iter(section[2:])
    for key in items:
        value = next(items, None)
        if key not in (":parameters", ":precondition", ":effect") or not isinstance(value, Block):
            raise scope.refusal(
                f"expected ':parameters (...)', ':precondition (...)' or ':effect (...)' in action '{shown(name)}', "
                f"found '{shown(key if isinstance(key, Word) else '(')}'",
                key,
            )
        repeated = f"a second {shown(str(key))} in action '{shown(name)}'; merge the two"
        scope.require(key not in parts, repeated, key)
        parts[str(key)] = value
    scope.require(":effect" in parts, f"action '{shown(name)}' has no ':effect'", section)
    listed = parts.get(":parameters", Block())
    variables = parameters(listed, 0, scope)
    for variable, many in Counter(name for name, _ in variables).items():
        if many > 1:  # Fast Downward merges them into one object, VAL uses the last of two
            raise scope.unsupported(
                f"action '{shown(name)}': the parameter {shown(variable)} occurs twice, which planners read "
                "differently; rename one",
                [word for word in listed if word == variable][1],
            )
    names = {variable.name for variable in variables}
    inner = replace(scope, names={*scope.names, *names}, taken=names)
    precondition = condition(parts.get(":precondition", Block()), inner)
    return AdlAction(name, variables, precondition, *effects(parts[":effect"], inner))


def _init(section: Block, scope: Scope) -> tuple[tuple[Atom, ...], tuple[str, ...]]:
    """Return the initial atoms, and the values of numeric functions as text."""
    atoms: dict[Atom, None] = {}
    negated: list[tuple[Atom, Block]] = []
    values: dict[str, str] = {}
    for item in with_limit_checks(section[1:]):
        fact = scope.block(item, "'(predicate object ...)' in :init")
        if fact.head == "not" and len(fact) == 2 and isinstance(fact[1], Block):
            scope.remark("':init' lists what is true; '(not ...)' in it is ignored", fact)
            negated.append((atom(fact[1], scope), fact))
        elif fact.head == "=":
            if len(fact) != 3 or not isinstance(fact[1], Block):
                raise scope.refusal("expected '(= (function ...) number)' in :init; remove other equations", fact)
            function, value = function_call(fact[1], scope), str(fact[2])
            number_of(value, scope.name, fact.line)
            again = values.setdefault(function, value) != value
            scope.require(not again, f"{shown(function)} has a second value in :init; remove one", fact)
        elif fact.head == "at" and isinstance(fact[-1], Block):
            raise scope.unsupported("timed initial literals (at) are not supported; rewrite this", fact)
        else:
            atoms[atom(fact, scope)] = None
    for absent, fact in negated:
        scope.require(absent not in atoms, "an atom is true and false in :init; remove one of the two", fact)
    return tuple(atoms), tuple(f"(= {function} {value})" for function, value in values.items())


def _world(domain: DomainText, text: ProblemText, fluents: Collection[str]) -> World:
    """Return the objects and static atoms for the evaluation of quantified conditions."""
    static = frozenset(atom for atom in text.init if atom.predicate not in fluents)
    types = domain.types_of((*domain.constants, *text.objects))
    return World(tuple(types.items()), static, frozenset(fluents))


def _with_goal(
    text: ProblemText,
    formula: Condition,
    place: Block,
    source: Source,
    domain: DomainText | None,
    fluents: Collection[str],
    alternative: int | None = None,
) -> ProblemText:
    """Add the goal to a problem, or one conjunction of a disjunctive goal."""
    literals = conjunction(formula)
    if literals is not None:
        return replace(text, goal=literals)
    if domain is None:
        raise source.refusal("the goal is no conjunction of literals, and is read without its domain; give both", place)
    try:
        goals = alternatives(formula, _world(domain, text, fluents))
    except TooManyCases as error:
        raise source.unsupported(f"the goal has {error}; that many are not supported; simplify it", place) from error
    source.require(goals, "the goal cannot hold in any state; mend it", place)
    if alternative is None and len(goals) > 1:
        raise source.unsupported(
            f"the goal is a disjunction of {len(goals):,} conjunctions, solved one by one; disjunctive goals to "
            "learn from are not supported; rewrite this as one conjunction",
            place,
        )
    return replace(text, goal=goals[alternative or 0], goals=len(goals))


def _with_schemas(
    domain: DomainText, actions: _Actions, source: Source, world: Callable[[], World] | None = None
) -> DomainText:
    """Add a schema for each case of the actions; without a `world`, schemas are the same for all problems."""
    cases = {name: _cases(action, place, source, world) for name, (place, action) in actions.items()}
    schemas = numbered_names(cases)
    source.require(schemas, "no action can ever be applicable or change anything; mend their conditions", None)
    compiled = [name for name, (_, action) in actions.items() if strips_schema(action) is None]
    specific = any(quantifier(actions[name][1]) for name in compiled)
    if compiled:
        how = "for the objects of this problem alone" if specific else "the same for all problems"
        counts = ", ".join(f"{shown(name)} ({len(cases[name]):,})" for name in compiled)
        source.remark(
            f"conditions and effects of ADL are compiled to actions of STRIPS, {how}: {counts}; "
            "plans are shown in the actions of the file",
            actions[compiled[0]][0],
        )
    types, schemas = _with_unions(domain.types, schemas)
    arities = {name: len(action.parameters) for name, (_, action) in actions.items() if specific}
    return replace(domain, types=types, schemas=schemas, remarks=source.remarks, problem_specific=arities)


def _cases(action: AdlAction, place: Block, source: Source, world: Callable[[], World] | None) -> tuple[Schema, ...]:
    """Return the schemas of an action; one that is not STRIPS is compiled, if necessary for one problem's objects."""
    schema, quantified = strips_schema(action), quantifier(action)
    if schema is not None:
        return (schema,)
    if quantified and world is None:
        raise source.unsupported(
            f"action '{shown(action.name)}': {quantified} ranges over a problem's objects and is compiled for one "
            "problem alone; domains to learn in with such quantifiers are not supported; rewrite this without it",
            place,
        )
    try:
        return cases_of(action, world() if quantified and world else None)
    except TooManyCases as error:
        raise source.unsupported(
            f"action '{shown(action.name)}': compiled to STRIPS it has {error}; that many are not supported; give it "
            "fewer conditional effects and disjunctions" + (", or the problem fewer objects" if quantified else ""),
            place,
        ) from error


def _with_unions(
    types: Mapping[str, tuple[str, ...]], schemas: Mapping[str, Schema]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Schema]]:
    """Add a supertype for each `(either ...)`."""
    hierarchy = dict(types)
    unions: dict[frozenset[str], str] = {}

    def single(parameter: Parameter) -> Parameter:
        kinds = frozenset(parameter.types)
        if len(kinds) == 1 or OBJECT in kinds:
            return Parameter(parameter.name, (OBJECT if OBJECT in kinds else parameter.types[0],))
        if kinds not in unions:
            name = "-or-".join(sorted(kinds))
            while name in hierarchy:
                name += "-"
            unions[kinds] = name
            for kind in kinds:
                hierarchy[kind] = (*(parent for parent in hierarchy[kind] if parent != OBJECT), name)
            hierarchy[name] = (OBJECT,)
        return Parameter(parameter.name, (unions[kinds],))

    return hierarchy, {
        name: replace(schema, parameters=tuple(map(single, schema.parameters))) for name, schema in schemas.items()
    }
