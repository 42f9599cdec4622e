"""Conditions and effects of PDDL with all connectives and quantifiers, read as negation normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sgp.errors import UnsupportedPddl
from sgp.planning.costs import number_of
from sgp.planning.declarations import Condition, ConditionalEffect, Formula, Literal, Parameter
from sgp.planning.pddl_formulas import COST, REFUSED, Scope, atom, plain, typed_list
from sgp.planning.pddl_syntax import Block, Source, Word, shown

TRUE = Formula("and", ())
FALSE = Formula("or", ())
_DUAL = {"and": "or", "or": "and", "forall": "exists", "exists": "forall"}
_REQUIREMENT = {
    "or": ":disjunctive-preconditions",
    "forall": ":universal-preconditions",
    "exists": ":existential-preconditions",
    "when": ":conditional-effects",
}
_DEEPEST = 50  # connectives within each other, where "and" within "and" counts once


def joined(kind: str, parts: Iterable[Condition]) -> Condition:
    """A conjunction or disjunction; those within it of its own kind, of none or of one part are resolved."""
    found: list[Condition] = []
    for part in parts:
        if isinstance(part, Formula) and part.kind == kind:
            found += part.parts
        elif isinstance(part, Formula) and part.kind == _DUAL[kind] and not part.parts:
            return part
        else:
            found.append(part)
    return found[0] if len(found) == 1 else Formula(kind, tuple(found))


def mapped(found: Condition, change: Callable[[Literal], Literal]) -> Condition:
    """A condition with each of its literals changed."""
    if isinstance(found, Literal):
        return change(found)
    return found._replace(parts=tuple(mapped(part, change) for part in found.parts))


def negated(found: Condition) -> Condition:
    """The negation of a condition without quantifiers."""
    if isinstance(found, Literal):
        return Literal(found.atom, not found.positive)
    return joined(_DUAL[found.kind], map(negated, found.parts))


def conjunction(found: Condition) -> tuple[Literal, ...] | None:
    """The literals of a conjunction of literals; None for another condition."""
    if isinstance(found, Literal):
        return (found,)
    if found.kind != "and":
        return None
    literals = tuple(part for part in found.parts if isinstance(part, Literal))
    return literals if len(literals) == len(found.parts) else None


def condition(block: Block, source: Source, scope: Scope) -> Condition:
    """The condition that a list stands for.

    Raises UnsupportedPddl for numbers and preferences, PddlError for what is no condition or speaks of names that
    `scope` does not know.
    """
    return joined("and", _parts("and", block, True, source, scope, 0))


def _parts(kind: str, block: Word | Block, positive: bool, source: Source, scope: Scope, depth: int) -> list[Condition]:
    """The parts of a conjunction or disjunction that consists of a list, or of its negation, and what is within."""
    found: list[Condition] = []
    waiting: list[tuple[Word | Block, bool]] = [(block, positive)]  # a text may be nested deeper than Python calls
    while waiting:
        part, sign = waiting.pop()
        if not isinstance(part, Block):
            raise source.refusal(f"expected a list '(predicate ...)', found '{shown(part)}'", part)
        head = part.head
        if head == "not":
            if len(part) != 2 or not isinstance(part[1], Block):
                raise source.refusal("expected '(not (predicate ...))'", part)
            waiting.append((part[1], not sign))
        elif head in ("and", "or", "imply") or (not part and sign):
            acts, children = _connected(part, sign, source)
            if acts == "or" and len(children) > 1:
                scope.uses.setdefault(_REQUIREMENT[acts], part)
            if acts == kind:
                waiting += reversed(children)
            else:
                inner = [_parts(acts, each, own, source, scope, _deeper(depth, part, source)) for each, own in children]
                found.append(joined(acts, (each for parts in inner for each in parts)))
        elif head in ("forall", "exists"):
            found.append(_quantified(part, sign, source, scope, _deeper(depth, part, source)))
        else:
            found.append(_literal(part, sign, source, scope))
    return found


def _connected(part: Block, sign: bool, source: Source) -> tuple[str, list[tuple[Word | Block, bool]]]:
    """As what a connective acts, with the lists below it and whether they are taken as they are."""
    if part.head == "imply":
        if len(part) != 3:
            raise source.refusal("expected '(imply (predicate ...) (predicate ...))'", part)
        return "or" if sign else "and", [(part[1], not sign), (part[2], sign)]
    head = part.head or "and"
    return head if sign else _DUAL[head], [(each, sign) for each in part[1:]]


def _deeper(depth: int, part: Block, source: Source) -> int:
    if depth == _DEEPEST:
        raise source.refusal(f"connectives nested more than {_DEEPEST} deep are not supported; simplify this", part)
    return depth + 1


def _quantified(part: Block, sign: bool, source: Source, scope: Scope, depth: int) -> Condition:
    kind = part.head if sign else _DUAL[part.head]
    scope.uses.setdefault(_REQUIREMENT[part.head], part)
    inner, variables, body = _bound(part, source, scope)
    below = joined("and", _parts("and", body, sign, source, inner, depth))
    return Formula(kind, (below,), variables) if variables else below


def _bound(part: Block, source: Source, scope: Scope) -> tuple[Scope, tuple[Parameter, ...], Block]:
    """The scope within a quantifier, its variables, and what it is said of."""
    if len(part) != 3 or not isinstance(part[1], Block) or not isinstance(part[2], Block):
        raise source.refusal(f"expected '({part.head} (?x - type ...) (...))'", part)
    listed = typed_list(part[1], 0, source, "a variable", scope.uses)
    if len({each.name for each in listed}) < len(listed):
        raise source.refusal("a variable stands twice in a quantifier; rename one", part, UnsupportedPddl)
    inner, variables = scope.binding(plain(each, scope.types, source) for each in listed)
    return inner, variables, part[2]


def _literal(part: Block, sign: bool, source: Source, scope: Scope) -> Literal:
    if part.head in REFUSED:
        raise source.refusal(
            f"{REFUSED[part.head]} are not supported; rewrite this with predicates alone", part, UnsupportedPddl
        )
    if part.head == "when":
        raise source.refusal("'(when ...)' stands in a condition; it belongs in an effect", part)
    if not sign and part.head != "=":
        scope.uses.setdefault(":negative-preconditions", part)
    return Literal(atom(part, source, scope, equality=True), sign)


def effects(block: Block, source: Source, scope: Scope) -> tuple[tuple[ConditionalEffect, ...], str]:
    """The effects of an action, those under one condition together, and what it costs.

    Raises as `condition`.
    """
    found: dict[tuple[tuple[Parameter, ...], Condition], list[Literal]] = {}
    cost = ""
    waiting: list[tuple[Word | Block, tuple[Parameter, ...], Condition, Scope]] = [(block, (), TRUE, scope)]
    while waiting:
        part, variables, under, inside = waiting.pop()
        if not isinstance(part, Block):
            raise source.refusal(f"expected a list '(predicate ...)', found '{shown(part)}'", part)
        if part.head == "and" or not part:
            waiting += [(each, variables, under, inside) for each in reversed(part[1:])]
        elif part.head in ("when", "forall") and under != TRUE:
            raise source.refusal(
                f"conditional effects with '({part.head} ...)' in them are not supported; write (when (and ...) ...), "
                "within (forall ...)",
                part,
                UnsupportedPddl,
            )
        elif part.head == "when":
            scope.uses.setdefault(_REQUIREMENT["when"], part)
            if len(part) != 3 or not isinstance(part[1], Block):
                raise source.refusal("expected '(when (condition ...) (effect ...))'", part)
            waiting.append((part[2], variables, condition(part[1], source, inside), inside))
        elif part.head == "forall":
            scope.uses.setdefault(_REQUIREMENT["when"], part)
            inner, more, body = _bound(part, source, inside)
            waiting.append((body, variables + more, under, inner))
        elif part.head == COST:
            scope.uses.setdefault(":action-costs", part)
            if len(part) != 3 or not isinstance(part[1], Block):
                raise source.refusal("expected '(increase (total-cost) ...)'", part)
            if part[1] == ["total-cost"]:  # no condition can ask for other numbers
                if cost or under != TRUE or variables:
                    raise source.refusal(
                        "a second cost of an action, and one under '(when ...)' or '(forall ...)', are not supported; "
                        "write one (increase (total-cost) ...) an action",
                        part,
                        UnsupportedPddl,
                    )
                cost = _cost(part[2], source, inside)
        else:
            found.setdefault((variables, under), []).append(_effect(part, source, inside))
    return tuple(ConditionalEffect(*key, tuple(literals)) for key, literals in found.items()), cost


def _cost(item: Word | Block, source: Source, scope: Scope) -> str:
    """What an action costs, as text: a number, or a function's value."""
    if isinstance(item, Word):
        number_of(item, source.name, item.line)
    elif not flat_text(item) or not item:
        raise source.refusal(
            f"the cost '({shown(item.head)} ...)' is not supported; expected a number or '(function object ...)'",
            item,
            UnsupportedPddl,
        )
    for word in item[1:] if isinstance(item, Block) else ():
        if word not in scope.names:
            assert isinstance(word, Word)
            raise source.refusal(f"'{shown(word)}' in a cost is undefined; declare it or correct it", word)
    return flat_text(item)


def _effect(part: Block, source: Source, scope: Scope) -> Literal:
    positive = part.head != "not"
    inner = part if positive else part[1] if len(part) == 2 else None
    if not isinstance(inner, Block) or (not positive and inner.head in ("not", "and", "or", "imply", "when")):
        found = f", found '(not ({shown(inner.head)} ...'" if isinstance(inner, Block) else ""
        raise source.refusal(f"expected '(not (predicate ...))' in an effect{found}", part)
    if inner.head in REFUSED or inner.head in ("or", "imply", "exists"):
        feature = REFUSED.get(inner.head) or f"effects that leave a choice ({inner.head})"
        raise source.refusal(f"{feature} are not supported; rewrite this with predicates alone", inner, UnsupportedPddl)
    return Literal(atom(inner, source, scope), positive)


def flat_text(item: Word | Block) -> str:
    """A word or a list of words as text; "" for a list of lists, which no action cost is."""
    if isinstance(item, Word):
        return str(item)
    return f"({' '.join(map(str, item))})" if all(isinstance(each, Word) for each in item) else ""
