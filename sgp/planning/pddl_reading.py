"""The readers of domains and problems: what their sections declare, checked against each other.

They read what Fast Downward, VAL and pymimir read and mean alike, with a remark where the letter of PDDL asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgp.errors import UnsupportedPddl
from sgp.planning.clock import looking
from sgp.planning.declarations import OBJECT, Atom, DomainText, Parameter, ProblemText, Schema
from sgp.planning.pddl_formulas import Scope, atom, free_name, literals, name_of, typed_list
from sgp.planning.pddl_syntax import Block, Source, Word, read_sections, shown, words_of

SUPPORTED_REQUIREMENTS = frozenset({":strips", ":typing", ":negative-preconditions", ":equality", ":action-costs"})
# Of PDDL 1.2 to 3.1. Whether a text needs more than the supported ones is seen from what it uses.
_REQUIREMENTS = SUPPORTED_REQUIREMENTS | {
    *(":adl", ":disjunctive-preconditions", ":existential-preconditions", ":universal-preconditions"),
    *(":quantified-preconditions", ":conditional-effects", ":derived-predicates", ":axioms", ":negation"),
    *(":fluents", ":numeric-fluents", ":object-fluents", ":durative-actions", ":duration-inequalities"),
    *(":continuous-effects", ":timed-initial-literals", ":timed-effects", ":preferences", ":constraints", ":time"),
    *(":domain-axioms", ":goal-utilities", ":safety-constraints", ":expression-evaluation", ":non-deterministic"),
}
_IMPLIED = {
    ":adl": {":typing", ":negative-preconditions", ":equality"},
    ":negation": {":negative-preconditions"},
    ":fluents": {":action-costs"},
    ":numeric-fluents": {":action-costs"},
}
_ONCE = (":requirements", ":types", ":constants", ":predicates", ":functions")
_OF_PROBLEMS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")
_Uses = dict[str, Word | Block]


def read_domain(text: str, source: str = "domain") -> DomainText:
    """What a domain's text declares. Raises PddlError, and UnsupportedPddl for what the package does not handle."""
    origin = Source(source, text)
    name, sections = read_sections(origin, "domain")
    actions = [section for section in sections if section.head == ":action"]
    by_head = _by_head([section for section in sections if section.head != ":action"], _ONCE, origin)
    _in_order(sections, (*_ONCE[:3], (":predicates", ":functions"), ":action"), origin)
    uses: _Uses = {}
    requirements = _requirements(by_head.get(":requirements"), origin)
    types = _types(by_head.get(":types"), origin, uses)
    constants = _things(by_head.get(":constants"), types, {}, origin, uses)
    predicates = _predicates(by_head.get(":predicates"), types, origin, uses)
    if ":functions" in by_head:  # action costs are declared here and not used
        uses[":action-costs"] = by_head[":functions"]
    if not actions:
        raise origin.refusal("the domain has no '(:action ...)'; expected at least one")
    known = {constant.name: constant for constant in constants}
    scope = Scope(predicates, known, _kinds(DomainText(name, (), types, constants, {}, {}), known), uses)
    schemas: dict[str, Schema] = {}
    for section in actions:
        schema = _schema(section, types, scope, origin)
        if schema.name in schemas:
            raise origin.refusal(f"a second action has the name '{shown(schema.name)}'; rename one", section[1])
        schemas[schema.name] = schema
    _compare(requirements, uses, origin)
    return DomainText(
        name,
        tuple(requirements),
        types,
        constants,
        {name: len(arguments) for name, arguments in predicates.items()},
        schemas,
        predicates,
        ":action-costs" in requirements or ":action-costs" in uses,
        origin.remarks,
    )


def read_problem(text: str, source: str = "problem", domain: DomainText | None = None) -> ProblemText:
    """What a problem's text declares. Raises PddlError, also where objects, initial state or goal are missing.

    With its `domain`, all names, arities and types are checked against it.
    """
    origin = Source(source, text)
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
    scope = Scope(domain.arguments if domain else None, names, _kinds(domain, names), uses)
    init = _init(by_head[":init"], scope, origin)
    wanted = literals(goal[1], origin, scope)
    if domain:
        # Action costs are declared by the domain, or are of no consequence.
        _compare(domain.requirements, {each: at for each, at in uses.items() if each != ":action-costs"}, origin)
    return ProblemText(name, of, objects, init, wanted, origin.remarks)


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
            if requirement not in SUPPORTED_REQUIREMENTS:
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


def _plain(found: Parameter, types: Mapping[str, tuple[str, ...]] | None, source: Source) -> Parameter:
    """A parameter without places, whose types are declared."""
    for kind in found.types:
        if types is not None and kind not in types and kind != OBJECT and isinstance(kind, Word):
            raise source.refusal(f"type '{shown(kind)}' is undefined; declare it in (:types ...) or correct it", kind)
    return Parameter(str(found.name), tuple(map(str, found.types)))


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
        found[str(each.name)] = _plain(each, types, source)
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
        plain = tuple(_plain(each, types, source) for each in arguments)
        if name in found:
            if [each.types for each in found[name]] != [each.types for each in plain]:
                raise source.refusal(
                    f"a second predicate has the name '{shown(name)}' and other arguments; rename one", declaration
                )
            source.remark("a predicate is declared twice", declaration)
        found[name] = plain
    return found


def _schema(section: Block, types: Mapping[str, tuple[str, ...]], scope: Scope, source: Source) -> Schema:
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
        if len(each.types) > 1:  # the planning library takes it for "of both types"
            raise source.refusal(
                f"action '{shown(name)}': '{shown(each.name)} - (either {shown(' '.join(each.types))})' is not "
                "supported; declare a type above these",
                section,
                UnsupportedPddl,
            )
        parameters[str(each.name)] = _plain(each, types, source)
    inner = Scope(scope.predicates, {**scope.names, **parameters}, scope.kinds, scope.uses)
    return Schema(
        name=name,
        parameters=tuple(parameters.values()),
        precondition=literals(parts.get(":precondition", Block()), source, inner),
        effect=literals(parts[":effect"], source, inner, effect=True),
    )


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
        raise source.refusal(
            f"the domain names differ: the problem is of '{shown(section[1])}', the domain file has "
            f"'{shown(domain.name)}'; give the file of the problem's domain",
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
    """The atoms that are true at first; values of numeric functions, which action costs use, are passed over."""
    found: dict[Atom, None] = {}
    false: list[tuple[Atom, Block]] = []
    for fact in looking(section[1:]):
        if not isinstance(fact, Block):
            raise source.refusal(f"expected '(predicate object ...)' in :init, found '{shown(fact)}'", fact)
        if fact.head == "not" and len(fact) == 2 and isinstance(fact[1], Block):
            source.remark("':init' lists what is true; '(not ...)' in it is passed over", fact)
            false.append((atom(fact[1], source, scope), fact))
        elif fact.head == "=":
            if len(fact) != 3 or not isinstance(fact[1], Block):
                raise source.refusal("expected '(= (function ...) number)' in :init; remove other equations", fact)
        elif fact.head == "at" and isinstance(fact[-1], Block):
            raise source.refusal("timed initial literals (at) are not supported; rewrite this", fact, UnsupportedPddl)
        else:
            found[atom(fact, source, scope)] = None
    for each, fact in false:
        if each in found:
            raise source.refusal("an atom is true and false in :init; remove one of the two", fact)
    return tuple(found)
