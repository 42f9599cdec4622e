"""Parsing of PDDL names, typed lists, atoms, conditions and effects into negation normal form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count

from sgp.planning.costs import number_of
from sgp.planning.declarations import (
    DUAL,
    OBJECT,
    TRUE,
    Atom,
    Condition,
    ConditionalEffect,
    Formula,
    Literal,
    Parameter,
    join,
)
from sgp.planning.pddl_syntax import Block, Source, Word, shown


def _refusals(feature: str, *heads: str) -> dict[str, str]:
    return {head: f"{feature} ({head}) are not supported; rewrite this with predicates alone" for head in heads}


_UNSUPPORTED = {
    **_refusals("preferences", "preference"),
    **_refusals("nondeterministic effects", "oneof", "probabilistic"),
    **_refusals("numeric conditions", "<", "<=", ">", ">="),
    **_refusals("numeric effects", "decrease", "assign", "scale-up", "scale-down"),
}
_CHOICES = _refusals("effects that leave a choice", "or", "imply", "exists")
_CONNECTIVES = frozenset({"and", "or", "not", "imply", "forall", "exists", "when"})
_RESERVED = frozenset(_UNSUPPORTED) | _CONNECTIVES | {"either", "increase", "number", OBJECT}
_EQUALITY = (Parameter("?x", (OBJECT,)), Parameter("?y", (OBJECT,)))  # arguments of "="
_MAX_DEPTH = 50  # of nested connectives; "and" within "and" counts once


@dataclass
class Scope(Source):
    """A text with the names that its formulas may use.

    `predicates` is None if unknown (a problem without its domain). `declared` has the domain's types, `names` the
    objects and variables, `types` all types of each object; types of variables are not checked. `functions` has the
    arities of numeric functions, None if unknown. `renaming` gives quantified variables names that are unique within
    the action (`taken`).
    """

    predicates: Mapping[str, tuple[Parameter, ...]] | None = None
    declared: Mapping[str, tuple[str, ...]] | None = None
    names: set[str] = field(default_factory=set)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    functions: Mapping[str, int] | None = None
    renaming: Mapping[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)


def name_of(item: Word | Block, source: Source, what: str) -> str:
    """Return a name with any characters. Raises PddlError."""
    word = source.word(item, f"the name of {what}")
    if word.startswith("-"):
        remedy = f"write '- {shown(word[1:])}' where a type is meant" if word != "-" else f"expected the name of {what}"
        raise source.refusal(f"'{shown(word)}' is no name; {remedy}", word)
    _require_no_comma(word, source)
    if word.startswith("?") != (what == "a variable"):
        expected = f"expected a variable '?x', found '{shown(word)}'; write '?{shown(word)}'"
        if word.startswith("?"):
            expected = f"expected the name of {what}, found the variable '{shown(word)}'; remove the '?'"
        raise source.refusal(expected, word)
    return str(word)


def _require_no_comma(word: Word, source: Source) -> None:
    if "," in word:
        parts = " ".join(filter(None, word.split(",")))
        remedy = f"separate names by spaces: '{shown(parts)}'" if parts else "remove it"
        raise source.refusal(f"a comma in '{shown(word)}' is no part of PDDL; {remedy}", word)


def free_name(item: Word | Block, source: Source, what: str) -> str:
    """Return a predicate or type name. Raises UnsupportedPddl for reserved words of formulas."""
    name = name_of(item, source, what)
    if name in _RESERVED:
        raise source.unsupported(
            f"'{name}' is not supported as the name of {what}, because it means something in PDDL; rename it", item
        )
    return name


def typed_list(block: Block, start: int, source: Source, what: str) -> list[tuple[Word, tuple[Word | str, ...]]]:
    """Parse names with types, as in `a b - t c`; names without a type have the type "object"."""
    typed: list[tuple[Word, tuple[Word | str, ...]]] = []
    pending: list[Word] = []
    items = iter(block[start:])
    for item in items:
        if item != "-":
            if what == "a variable" and pending and pending[-1].endswith("-") and not str(item).startswith(("?", "(")):
                remedy = f"write '{shown(pending[-1][:-1])} - {shown(str(item))}' where a type is meant"
                raise source.refusal(f"'{shown(pending[-1])}' ends in '-'; {remedy}", pending[-1])
            name_of(item, source, what)
            pending.append(source.word(item, "a name"))
            continue
        kind = next(items, None)
        if kind is None:
            raise source.refusal("'-' is followed by no type", item)
        several = isinstance(kind, Block) and kind.head == "either" and len(kind) > 1
        source.require(several or isinstance(kind, Word), "expected a type or '(either type ...)' after '-'", kind)
        types = tuple(source.words(kind)) if isinstance(kind, Block) else (kind,)
        for name in types:
            name_of(name, source, "a type")
        typed += [(name, types) for name in pending]
        pending = []
    return [*typed, *((name, (OBJECT,)) for name in pending)]


def parameter(name: Word, types: Iterable[Word | str], scope: Scope) -> Parameter:
    """Return a name with its types, which must be declared if the declarations are known."""
    declared = scope.declared
    for kind in types:
        if declared is not None and kind not in declared and kind != OBJECT and isinstance(kind, Word):
            raise scope.refusal(f"type '{shown(kind)}' is undefined; declare it in (:types ...) or correct it", kind)
    return Parameter(str(name), tuple(map(str, types)))


def parameters(block: Block, start: int, scope: Scope) -> tuple[Parameter, ...]:
    """Parse variables with declared types."""
    return tuple(parameter(*typed, scope) for typed in typed_list(block, start, scope, "a variable"))


def atom(block: Block, scope: Scope, equality: bool = False) -> Atom:
    """Parse an atom; the predicate, its arity and the objects' types are checked."""
    head = str(block.head)
    if not head:
        raise scope.refusal("expected '(predicate name ...)', found an empty or nested list", block)
    if head == "=" and equality and not block.flat:
        raise scope.unsupported("numeric conditions (=) are not supported; rewrite this without numbers", block)
    arguments = tuple(scope.words(block))
    read = Atom(head, tuple(scope.renaming.get(argument, str(argument)) for argument in arguments))
    expected: tuple[Parameter, ...] | None = _EQUALITY
    if head != "=" or not equality:
        if scope.predicates is None:
            return read
        expected = scope.predicates.get(head)
    if expected is None:
        raise scope.refusal(
            f"predicate with name '{shown(head)}' is undefined; declare it in (:predicates ...) or correct it", block
        )
    if len(expected) != len(arguments):
        raise scope.refusal(
            f"'{shown(head)}' has arity {len(expected)}, found {len(arguments)} objects; give as many as it has", block
        )
    for argument, (_, types) in zip(arguments, expected, strict=True):
        if argument not in scope.names:
            _require_no_comma(argument, scope)
            what = "variable" if argument.startswith("?") else "object"
            message = f"{what} with name '{shown(argument)}' is undefined; declare it or correct it"
            raise scope.refusal(message, argument)
        if types != (OBJECT,) and argument in scope.types and scope.types[argument].isdisjoint(types):
            kinds = " or ".join(map(shown, types))
            raise scope.refusal(
                f"'{shown(argument)}' is no {kinds}, as '{shown(head)}' requires; correct the object or its type",
                argument,
            )
    return read


def condition(block: Block, scope: Scope) -> Condition:
    """Parse a condition. Raises PddlError, and UnsupportedPddl for numbers and preferences."""
    return join("and", _parts("and", block, True, scope, 0))


def _parts(kind: str, block: Word | Block, positive: bool, scope: Scope, depth: int) -> list[Condition]:
    """Parse the parts of a conjunction or disjunction (`kind`), or of its negation, at a nesting `depth`."""
    too_deep = f"connectives nested more than {_MAX_DEPTH} deep are not supported; simplify this"
    scope.require(depth <= _MAX_DEPTH, too_deep, block)
    parts: list[Condition] = []
    waiting = [(block, positive)]  # iterative, because a text may be nested deeper than Python's call stack
    while waiting:
        item, sign = waiting.pop()
        part = scope.block(item)
        head = part.head or ("and" if not part and sign else "")
        if head == "not":
            if len(part) != 2 or not isinstance(part[1], Block):
                raise scope.refusal("expected '(not (predicate ...))'", part)
            waiting.append((part[1], not sign))
        elif head in ("and", "or", "imply"):
            children = [(child, sign) for child in part[1:]]
            if head == "imply":
                scope.require(len(part) == 3, "expected '(imply (predicate ...) (predicate ...))'", part)
                head, children = "or", [(part[1], not sign), (part[2], sign)]
            head = head if sign else DUAL[head]
            if head == kind:
                waiting += reversed(children)
            else:
                inner = (_parts(head, child, child_sign, scope, depth + 1) for child, child_sign in children)
                parts.append(join(head, chain.from_iterable(inner)))
        elif head in ("forall", "exists"):
            inside, variables, body = _quantified(part, scope)
            below = join("and", _parts("and", body, sign, inside, depth + 1))
            parts.append(Formula(head if sign else DUAL[head], (below,), variables) if variables else below)
        elif head in _UNSUPPORTED:
            raise scope.unsupported(_UNSUPPORTED[head], part)
        elif head == "when":
            raise scope.refusal("'(when ...)' in a condition; expected it in an effect only", part)
        else:
            parts.append(Literal(atom(part, scope, equality=True), sign))
    return parts


def _quantified(part: Block, scope: Scope) -> tuple[Scope, tuple[Parameter, ...], Block]:
    """Return the scope, variables and body of a quantifier."""
    if len(part) != 3 or not isinstance(part[1], Block) or not isinstance(part[2], Block):
        raise scope.refusal(f"expected '({part.head} (?x - type ...) (...))'", part)
    listed = parameters(part[1], 0, scope)
    if len({name for name, _ in listed}) < len(listed):
        raise scope.unsupported("a variable occurs twice in a quantifier; rename one", part)
    renaming, bound = dict(scope.renaming), []
    for name, types in listed:
        candidates = chain([name], (f"{name}-{number}" for number in count(2)))
        renaming[name] = unique = next(other for other in candidates if other not in scope.taken)
        scope.taken.add(unique)
        bound.append(Parameter(unique, types))
    return replace(scope, names={*scope.names, *renaming}, renaming=renaming), tuple(bound), part[2]


def effects(block: Block, scope: Scope) -> tuple[tuple[ConditionalEffect, ...], str]:
    """Parse the effects of an action, grouped by condition, and its cost. Raises as `condition`."""
    grouped: dict[tuple[tuple[Parameter, ...], Condition], list[Literal]] = {}
    cost = ""
    waiting: list[tuple[Word | Block, tuple[Parameter, ...], Condition, Scope]] = [(block, (), TRUE, scope)]
    while waiting:
        item, variables, under, inside = waiting.pop()
        part = scope.block(item)
        if part.head == "and" or not part:
            waiting += [(child, variables, under, inside) for child in reversed(part[1:])]
        elif part.head in ("when", "forall") and under != TRUE:
            raise scope.unsupported(
                f"conditional effects with '({part.head} ...)' in them are not supported; write (when (and ...) ...), "
                "within (forall ...)",
                part,
            )
        elif part.head == "when":
            if len(part) != 3 or not isinstance(part[1], Block):
                raise scope.refusal("expected '(when (condition ...) (effect ...))'", part)
            waiting.append((part[2], variables, condition(part[1], inside), inside))
        elif part.head == "forall":
            inner, more, body = _quantified(part, inside)
            waiting.append((body, variables + more, under, inner))
        elif part.head == "increase":
            if len(part) != 3 or not isinstance(part[1], Block):
                raise scope.refusal("expected '(increase (total-cost) ...)'", part)
            if part[1] == ["total-cost"]:  # other numbers are ignored, because no condition can depend on them
                if cost or under != TRUE or variables:
                    raise scope.unsupported(
                        "a second cost of an action, and one under '(when ...)' or '(forall ...)', are not supported; "
                        "write one (increase (total-cost) ...) an action",
                        part,
                    )
                cost = _cost(part[2], inside)
        else:
            grouped.setdefault((variables, under), []).append(_effect(part, inside))
    return tuple(ConditionalEffect(*key, tuple(literals)) for key, literals in grouped.items()), cost


def _cost(item: Word | Block, scope: Scope) -> str:
    """Parse an action cost: a number, or a function call, as text."""
    if isinstance(item, Word):
        number_of(item, scope.name, item.line)
        return str(item)
    if not item.flat:
        raise scope.unsupported(
            f"the cost '({shown(item.head)} ...)' is not supported; expected a number or '(function object ...)'", item
        )
    return function_call(item, scope)


def function_call(block: Block, scope: Scope) -> str:
    """Parse a numeric function with its arguments, as text. Raises PddlError for undefined names and a wrong arity."""
    if scope.functions is not None:
        arity = scope.functions.get(block.head)
        undefined = f"the function '{shown(block.head)}' is undefined; declare it in (:functions ...) or correct it"
        scope.require(arity is not None, undefined, block)
        wrong = f"'{shown(block.head)}' has arity {arity}, found {len(block) - 1} objects; give as many as it has"
        scope.require(arity == len(block) - 1, wrong, block)
        for word in scope.words(block):
            scope.require(word in scope.names, f"'{shown(word)}' is undefined; declare it or correct it", word)
    return str(block)


def _effect(part: Block, scope: Scope) -> Literal:
    positive = part.head != "not"
    inner = part if positive else part[1] if len(part) == 2 else None
    if not isinstance(inner, Block) or (not positive and inner.head in ("not", "and", "or", "imply", "when")):
        got = f", found '(not ({shown(inner.head)} ...'" if isinstance(inner, Block) else ""
        raise scope.refusal(f"expected '(not (predicate ...))' in an effect{got}", part)
    if inner.head in _UNSUPPORTED | _CHOICES:
        raise scope.unsupported((_UNSUPPORTED | _CHOICES)[inner.head], inner)
    return Literal(atom(inner, scope), positive)
