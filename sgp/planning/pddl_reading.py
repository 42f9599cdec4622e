"""The readers of domains and problems: what their sections declare, checked against each other.

They read what Fast Downward, VAL and pymimir read and mean alike, with a remark where the letter of PDDL asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from sgp.errors import UnsupportedPddl
from sgp.planning.clock import looking
from sgp.planning.costs import number_of
from sgp.planning.declarations import (
    OBJECT,
    AdlAction,
    AsWritten,
    Atom,
    Condition,
    DomainText,
    Parameter,
    ProblemText,
)
from sgp.planning.pddl_conditions import condition, effects, flat_text
from sgp.planning.pddl_formulas import Scope, atom, free_name, name_of, plain, typed_list
from sgp.planning.pddl_schemas import World, goals_of, with_schemas
from sgp.planning.pddl_syntax import Block, Source, Word, read_sections, shown, words_of

_STRIPS = frozenset({":strips", ":typing", ":negative-preconditions", ":equality", ":action-costs"})
_QUANTIFIED = {":existential-preconditions", ":universal-preconditions"}
_CONDITIONS = {":disjunctive-preconditions", ":conditional-effects", *_QUANTIFIED}
SUPPORTED_REQUIREMENTS = _STRIPS | _CONDITIONS | {":adl", ":quantified-preconditions"}
# Of PDDL 1.2 to 3.1. Whether a text needs more than the supported ones is seen from what it uses.
_REQUIREMENTS = SUPPORTED_REQUIREMENTS | {
    *(":derived-predicates", ":axioms", ":negation"),
    *(":fluents", ":numeric-fluents", ":object-fluents", ":durative-actions", ":duration-inequalities"),
    *(":continuous-effects", ":timed-initial-literals", ":timed-effects", ":preferences", ":constraints", ":time"),
    *(":domain-axioms", ":goal-utilities", ":safety-constraints", ":expression-evaluation", ":non-deterministic"),
}
_IMPLIED = {
    ":adl": {":typing", ":negative-preconditions", ":equality", *_CONDITIONS},
    ":quantified-preconditions": _QUANTIFIED,
    ":negation": {":negative-preconditions"},
    ":fluents": {":action-costs"},
    ":numeric-fluents": {":action-costs"},
}
_ONCE = (":requirements", ":types", ":constants", ":predicates", ":functions")
_OF_PROBLEMS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")
_Uses = dict[str, Word | Block]


def read_domain(text: str, source: str = "domain") -> DomainText:
    """What a domain's text declares, its actions as schemas that are the same for all problems.

    Raises PddlError, UnsupportedPddl for what the package does not handle or has too many cases, and MissingLibrary
    where actions are to be compiled and the extra `unified-planning` is not installed.
    """
    origin = Source(source, text)
    return with_schemas(*_declared(origin), origin)


def read_both(
    domain: tuple[str, str], problem: tuple[str, str], alternative: int | None = None
) -> tuple[DomainText, ProblemText]:
    """What the texts of a domain and a problem, each with its source, declare.

    Where an action quantifies over objects, its schemas are those for the objects of this problem alone. `alternative`
    is the place of one of the conjunctions of which a disjunctive goal asks for one. Raises as the readers of each.
    """
    origin = Source(domain[1], domain[0])
    declared, actions = _declared(origin)
    fluents = frozenset(
        each.atom.predicate for _, action in actions.values() for effect in action.effects for each in effect.literals
    )
    found = _read_problem(problem, declared, fluents, alternative)
    world = cache(lambda: _world(declared, found.objects, found.init, fluents))  # some actions need it
    return with_schemas(declared, actions, origin, world), found


def read_as_written(domain: tuple[str, str], problem: tuple[str, str]) -> AsWritten:
    """What the texts of a domain and a problem, each with its source, declare; nothing is compiled.

    Raises PddlError, and UnsupportedPddl for what the package does not handle.
    """
    origin = Source(domain[1], domain[0])
    declared, actions = _declared(origin)
    text, goal, _, _ = _with_goal(problem, declared)
    adl = {name: action for name, (_, action) in actions.items()}
    return AsWritten(replace(declared, remarks=origin.remarks), adl, text, goal)


def _declared(origin: Source) -> tuple[DomainText, dict[str, tuple[Block, AdlAction]]]:
    """What a domain's text declares but for schemas, and the actions that they are made of, with their places."""
    name, sections = read_sections(origin, "domain")
    actions = [section for section in sections if section.head == ":action"]
    by_head = _by_head([section for section in sections if section.head != ":action"], _ONCE, origin)
    _in_order(sections, (*_ONCE[:3], (":predicates", ":functions"), ":action"), origin)
    uses: _Uses = {}
    requirements = _requirements(by_head.get(":requirements"), origin)
    types = _types(by_head.get(":types"), origin, uses)
    constants = _things(by_head.get(":constants"), types, {}, origin, uses)
    predicates = _predicates(by_head.get(":predicates"), types, origin, uses)
    if ":functions" in by_head:  # functions are of use for action costs alone
        uses[":action-costs"] = by_head[":functions"]
    if not actions:
        raise origin.refusal("the domain has no '(:action ...)'; expected at least one")
    known = {constant.name: constant for constant in constants}
    kinds = _kinds(DomainText(name, (), types, constants, {}, {}), known)
    scope = Scope(predicates, known, kinds, uses, types)
    functions = _functions(by_head.get(":functions", Block()))
    found: dict[str, tuple[Block, AdlAction]] = {}
    for section in actions:
        action = _action(section, scope, origin)
        called = action.cost.strip("()").partition(" ")[0]
        if action.cost.startswith("(") and called not in functions:
            raise origin.refusal(
                f"the function '{shown(called)}' is undefined; declare it in (:functions ...)", section
            )
        if action.name in found:
            raise origin.refusal(f"a second action has the name '{shown(action.name)}'; rename one", section[1])
        found[action.name] = section, action
    _compare(requirements, uses, origin)
    arities = {name: len(arguments) for name, arguments in predicates.items()}
    costs = ":action-costs" in requirements or ":action-costs" in uses
    text = DomainText(name, tuple(requirements), types, constants, arities, {}, predicates, costs, functions=functions)
    return text, found


def read_problem(text: str, source: str = "problem", domain: DomainText | None = None) -> ProblemText:
    """What a problem's text declares. Raises PddlError, also where objects, initial state or goal are missing.

    With its `domain`, all names, arities and types are checked against it; without it, a goal has to be a conjunction
    of literals. Raises UnsupportedPddl where the goal asks for one of several conjunctions.
    """
    return _read_problem((text, source), domain, domain.fluent_predicates if domain else frozenset())


def _read_problem(
    text: tuple[str, str], domain: DomainText | None, fluents: frozenset[str], alternative: int | None = None
) -> ProblemText:
    found, asked, goal, origin = _with_goal(text, domain)
    goals = goals_of(
        asked, (lambda: _world(domain, found.objects, found.init, fluents)) if domain else None, goal, origin
    )
    if alternative is None and len(goals) > 1:
        raise origin.refusal(
            f"the goal asks for one of {len(goals):,} conjunctions, which are solved one by one; disjunctive goals to "
            "learn from are not supported; rewrite this as one conjunction",
            goal,
            UnsupportedPddl,
        )
    return replace(found, goal=goals[alternative or 0], goals=len(goals))


def _with_goal(text: tuple[str, str], domain: DomainText | None) -> tuple[ProblemText, Condition, Block, Source]:
    """What a problem's text declares but for the goal, and the goal with its place."""
    origin = Source(text[1], text[0])
    name, sections = read_sections(origin, "problem")
    by_head = _by_head(sections, _OF_PROBLEMS, origin)
    for needed in (":domain", ":init", ":goal"):
        if needed not in by_head:
            raise origin.refusal(f"the problem has no '({needed} ...)' section")
    _in_order(sections, _OF_PROBLEMS, origin)
    _requirements(by_head.get(":requirements"), origin)
    of = _domain_name(by_head[":domain"], domain, origin)
    goal = by_head[":goal"]
    if len(goal) != 2 or not isinstance(goal[1], Block):
        raise origin.refusal("expected '(:goal (and ...))'", goal)
    uses: _Uses = {}
    known = {constant.name: constant for constant in domain.constants} if domain else {}
    objects = _things(by_head.get(":objects"), domain.types if domain else None, known, origin, uses)
    names = {**known, **{each.name: each for each in objects}}
    types = domain.types if domain else None
    scope = Scope(domain.arguments if domain else None, names, _kinds(domain, names), uses, types)
    init = _init(by_head[":init"], scope, origin)
    asked: Condition = condition(goal[1], origin, scope)
    if domain:
        # Action costs are declared by the domain, or are of no consequence.
        _compare(domain.requirements, {each: at for each, at in uses.items() if each != ":action-costs"}, origin)
    equations = [fact for fact in by_head[":init"] if isinstance(fact, Block) and fact.head == "="]
    values = tuple(f"(= {flat_text(fact[1])} {fact[2]})" for fact in equations)
    low = _minimised(by_head.get(":metric"))
    found = ProblemText(name, of, objects, init, (), origin.remarks, values=values, minimised=low)
    return found, asked, goal, origin


def _functions(section: Block) -> dict[str, int]:
    """The numeric functions with their arities."""
    declared = [each for each in section[1:] if isinstance(each, Block)]
    return {each.head: sum(isinstance(word, Word) and word.startswith("?") for word in each) for each in declared}


def _minimised(metric: Block | None) -> bool:
    """Whether a problem asks for a plan of low cost."""
    return metric is not None and len(metric) == 3 and metric[1] == "minimize" and metric[2] == ["total-cost"]


def _world(domain: DomainText, objects: Sequence[Parameter], init: Sequence[Atom], fluents: frozenset[str]) -> World:
    """What conditions that quantify over objects speak of."""
    things = (*domain.constants, *objects)
    above = {kinds: frozenset[str]().union(*map(domain.supertypes, kinds)) for _, kinds in things}
    known = frozenset(each for each in init if each.predicate not in fluents)
    return World(tuple((name, above[kinds]) for name, kinds in things), known, fluents)


def _by_head(sections: Sequence[Block], known: Sequence[str], source: Source) -> dict[str, Block]:
    found: dict[str, Block] = {}
    for section in sections:
        if section.head not in known:
            raise source.refusal(
                f"section {shown(section.head)} is not supported; rewrite this without it", section, UnsupportedPddl
            )
        if section.head in found:
            raise source.refusal(f"a second section {section.head} stands here; make one of the two", section)
        found[section.head] = section
    return found


def _in_order(sections: Sequence[Block], order: Sequence[str | tuple[str, ...]], source: Source) -> None:
    """Remarks on the first section that stands after one that it should stand before."""
    rank = {
        head: place for place, heads in enumerate(order) for head in ((heads,) if isinstance(heads, str) else heads)
    }
    last = sections[0] if sections else Block()
    for section in sections:
        if rank[section.head] < rank[last.head]:
            source.remark(f"{section.head} stands after {last.head} and is read as if it stood before", section)
            return
        last = section


def _requirements(section: Block | None, source: Source) -> dict[str, Word]:
    """The requirements, each with the place that it is declared in."""
    found: dict[str, Word] = {}
    for requirement in words_of(section or Block(), 1, source):
        if requirement not in _REQUIREMENTS:
            raise source.refusal(
                f"requirement {shown(requirement)} is not supported; supported are "
                + ", ".join(sorted(SUPPORTED_REQUIREMENTS)),
                requirement,
                UnsupportedPddl,
            )
        found.setdefault(str(requirement), requirement)
    return found


def _compare(declared: Sequence[str] | Mapping[str, Word], uses: _Uses, source: Source) -> None:
    """Remarks on requirements that are used and not declared, and on declared ones of which nothing is used."""
    implied = {*declared}.union(*(_IMPLIED.get(each, set()) for each in declared))
    for requirement, at in uses.items():
        if requirement not in implied:
            source.remark(f"{requirement} is used and not declared; it is read as if it were declared", at)
    if isinstance(declared, Mapping):
        for requirement, word in declared.items():
            needed = {requirement, *_IMPLIED.get(requirement, ())} & _CONDITIONS & set(uses)
            if requirement not in _STRIPS and not needed:
                source.remark(f"{requirement} is declared and not needed; it is passed over", word)


def _types(section: Block | None, source: Source, uses: _Uses) -> dict[str, tuple[str, ...]]:
    """Each type with the types above it. A type that only stands above others counts as declared."""
    if section is None or len(section) == 1:
        return {}
    uses.setdefault(":typing", section)
    found: dict[str, tuple[str, ...]] = {}
    above: dict[str, None] = {}
    for word, kinds in typed_list(section, 1, source, "a type", uses):
        assert isinstance(word, Word)
        for kind in kinds:
            if isinstance(kind, Word) and kind != OBJECT:
                above[free_name(kind, source, "a type")] = None
        if word == OBJECT:
            if set(kinds) != {OBJECT}:
                raise source.refusal("'object' is above all types; remove what is declared above it", word)
            source.remark("'object' is declared as a type, which every domain has", word)
            continue
        name = free_name(word, source, "a type")
        if name in kinds:
            source.remark("a type is declared as its own supertype, which is passed over", word)
        if name in found:
            source.remark("a type is declared twice; it has the supertypes of both", word)
        own = [str(kind) for kind in kinds if kind != name]
        found[name] = tuple(dict.fromkeys([*found.get(name, ()), *own]))
    for name in above:
        if name not in found:
            found[name] = (OBJECT,)
    found = {name: (*(kind for kind in kinds if kind != OBJECT),) or (OBJECT,) for name, kinds in found.items()}
    _without_cycles(found, section, source)
    return found


def _without_cycles(types: Mapping[str, tuple[str, ...]], section: Block, source: Source) -> None:
    left = dict(types)
    while left:
        free = [name for name, kinds in left.items() if not any(kind in left for kind in kinds)]
        if not free:
            raise source.refusal(f"the types {shown(', '.join(left))} stand above each other; mend the circle", section)
        for name in free:
            del left[name]


def _things(
    section: Block | None,
    types: Mapping[str, tuple[str, ...]] | None,
    known: Mapping[str, Parameter],
    source: Source,
    uses: _Uses,
) -> tuple[Parameter, ...]:
    """Objects or constants, each name once."""
    found: dict[str, Parameter] = {}
    for each in typed_list(section, 1, source, "an object", uses) if section else ():
        if each.name in found or each.name in known:
            assert isinstance(each.name, Word)
            raise source.refusal(f"object '{shown(each.name)}' has already been defined; remove one", each.name)
        found[str(each.name)] = plain(each, types, source)
    return tuple(found.values())


def _predicates(
    section: Block | None, types: Mapping[str, tuple[str, ...]], source: Source, uses: _Uses
) -> dict[str, tuple[Parameter, ...]]:
    """The predicates with their arguments."""
    found: dict[str, tuple[Parameter, ...]] = {}
    for declaration in section[1:] if section else ():
        if not isinstance(declaration, Block) or not declaration.head:
            raise source.refusal("expected '(predicate ?x ...)' in :predicates", declaration)
        if declaration.head == "=":
            source.remark("'=' is declared as a predicate, which every domain has", declaration)
            continue
        name = free_name(declaration[0], source, "a predicate")
        arguments = typed_list(declaration, 1, source, "a variable", uses)
        if len({each.name for each in arguments}) < len(arguments):
            source.remark("a variable stands twice in a predicate's declaration; each place is its own", declaration)
        kept = tuple(plain(each, types, source) for each in arguments)
        if name in found:
            if [each.types for each in found[name]] != [each.types for each in kept]:
                raise source.refusal(
                    f"a second predicate has the name '{shown(name)}' and other arguments; rename one", declaration
                )
            source.remark("a predicate is declared twice", declaration)
        found[name] = kept
    return found


def _action(section: Block, scope: Scope, source: Source) -> AdlAction:
    if len(section) < 2 or not isinstance(section[1], Word):
        raise source.refusal("expected '(:action NAME ...)'", section)
    name = name_of(section[1], source, "an action")
    parts = _parts(section, source)
    if ":effect" not in parts:
        raise source.refusal(f"action '{shown(name)}' has no ':effect'", section)
    parameters: dict[str, Parameter] = {}
    for each in typed_list(parts.get(":parameters", Block()), 0, source, "a variable", scope.uses):
        if each.name in parameters:  # Fast Downward takes them for one object, VAL for the last of two
            assert isinstance(each.name, Word)
            raise source.refusal(
                f"action '{shown(name)}': the parameter {shown(each.name)} stands twice, which planners read "
                "differently; rename one",
                each.name,
                UnsupportedPddl,
            )
        parameters[str(each.name)] = plain(each, scope.types, source)
    inner = scope.of_action(parameters)
    precondition = condition(parts.get(":precondition", Block()), source, inner)
    does, cost = effects(parts[":effect"], source, inner)
    return AdlAction(name, tuple(parameters.values()), precondition, does, cost)


def _parts(section: Block, source: Source) -> dict[str, Block]:
    """The parts of an action by their keywords."""
    found: dict[str, Block] = {}
    items = iter(section[2:])
    for key in items:
        value = next(items, None)
        if key not in (":parameters", ":precondition", ":effect") or not isinstance(value, Block):
            raise source.refusal(
                f"expected ':parameters (...)', ':precondition (...)' or ':effect (...)' in action '"
                f"{shown(str(section[1]))}', found '{shown(key if isinstance(key, Word) else '(')}'",
                key,
            )
        if key in found:
            raise source.refusal(
                f"a second {key} stands in action '{shown(str(section[1]))}'; make one of the two", key
            )
        found[str(key)] = value
    return found


def _domain_name(section: Block, domain: DomainText | None, source: Source) -> str:
    if len(section) != 2 or not isinstance(section[1], Word):
        raise source.refusal("expected '(:domain NAME)'", section)
    if domain is not None and section[1] != domain.name:
        source.remark(
            f"the domain names differ: the problem is of '{shown(section[1])}', the domain file has "
            f"'{shown(domain.name)}'; it is read as if they were the same",
            section[1],
        )
    return str(section[1])


def _kinds(domain: DomainText | None, names: Mapping[str, Parameter]) -> dict[str, frozenset[str]]:
    """Of each object all types, where the domain has some."""
    if domain is None or not domain.types:
        return {}
    above = {kinds: frozenset[str]().union(*map(domain.supertypes, kinds)) for _, kinds in names.values()}
    return {name: above[thing.types] for name, thing in names.items()}


def _init(section: Block, scope: Scope, source: Source) -> tuple[Atom, ...]:
    """The atoms that are true at first; values of numeric functions, which action costs use, are checked."""
    found: dict[Atom, None] = {}
    false: list[tuple[Atom, Block]] = []
    values: dict[str, str] = {}
    for fact in looking(section[1:]):
        if not isinstance(fact, Block):
            raise source.refusal(f"expected '(predicate object ...)' in :init, found '{shown(fact)}'", fact)
        if fact.head == "not" and len(fact) == 2 and isinstance(fact[1], Block):
            source.remark("':init' lists what is true; '(not ...)' in it is passed over", fact)
            false.append((atom(fact[1], source, scope), fact))
        elif fact.head == "=":
            if len(fact) != 3 or not isinstance(fact[1], Block):
                raise source.refusal("expected '(= (function ...) number)' in :init; remove other equations", fact)
            call, value = flat_text(fact[1]), flat_text(fact[2])
            number_of(value, source.name, fact.line)
            if values.setdefault(call, value) != value:
                raise source.refusal(f"{shown(call)} has a second value in :init; remove one", fact)
        elif fact.head == "at" and isinstance(fact[-1], Block):
            raise source.refusal("timed initial literals (at) are not supported; rewrite this", fact, UnsupportedPddl)
        else:
            found[atom(fact, source, scope)] = None
    for each, fact in false:
        if each in found:
            raise source.refusal("an atom is true and false in :init; remove one of the two", fact)
    return tuple(found)
