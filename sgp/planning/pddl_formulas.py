"""Names, typed lists and atoms of PDDL: what formulas and sections of domains and problems are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count

from sgp.errors import UnsupportedPddl
from sgp.planning.declarations import OBJECT, Atom, Parameter
from sgp.planning.pddl_syntax import Block, Source, Word, shown, words_of

REFUSED = {
    "preference": "preferences (preference)",
    "oneof": "nondeterministic effects (oneof)",
    "probabilistic": "nondeterministic effects (probabilistic)",
    **{head: f"numeric conditions ({head})" for head in ("<", "<=", ">", ">=")},
    **{head: f"numeric effects ({head})" for head in ("decrease", "assign", "scale-up", "scale-down")},
}
COST = "increase"
_NUMBER = "number"  # the type of numeric functions
_MEANT = frozenset(REFUSED) | {"and", "or", "not", "imply", "forall", "exists", "when", "either", COST, OBJECT, _NUMBER}


@dataclass
class Scope:
    """What a formula may speak of: predicates with their arguments, and objects or variables with their types.

    `kinds` has all types of each object, none of variables: their objects can be of a type below theirs. `uses` takes
    down which requirement a text needs, and where it first does. `types` are the declared ones, None where they are not
    known. A variable of a quantifier is `called` by a name that is not among those `taken` by others.
    """

    predicates: Mapping[str, tuple[Parameter, ...]] | None
    names: Mapping[str, object] = field(default_factory=dict)
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    uses: dict[str, Word | Block] = field(default_factory=dict)
    types: Mapping[str, tuple[str, ...]] | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def of_action(self, parameters: Mapping[str, Parameter]) -> Scope:
        """The scope within an action with these parameters."""
        return replace(self, names={**self.names, **parameters}, taken=set(parameters))

    def binding(self, variables: Iterable[Parameter]) -> tuple[Scope, tuple[Parameter, ...]]:
        """The scope within a quantifier, and its variables by names of their own."""
        called = dict(self.called)
        bound = []
        for name, kinds in variables:
            own = next(each for each in chain([str(name)], (f"{name}-{n}" for n in count(2))) if each not in self.taken)
            self.taken.add(own)
            called[str(name)] = own
            bound.append(Parameter(own, kinds))
        return replace(self, names={**self.names, **dict.fromkeys(called)}, called=called), tuple(bound)


def name_of(item: Word | Block, source: Source, what: str) -> str:
    """The name that stands in a place. Raises PddlError for what is none.

    Names may be any text here, as records of rollouts are shown whatever they hold.
    """
    if isinstance(item, Block):
        raise source.refusal(f"expected the name of {what}, found a list '({shown(item.head)} ...'", item)
    if item.startswith("-"):
        meant = f"write '- {shown(item[1:])}' where a type is meant" if item != "-" else f"expected the name of {what}"
        raise source.refusal(f"'{shown(item)}' is no name; {meant}", item)
    require_no_comma(item, source)
    if what == "a variable" and not item.startswith("?"):
        raise source.refusal(f"expected a variable '?x', found '{shown(item)}'; write '?{shown(item)}'", item)
    if item.startswith("?") and what != "a variable":
        raise source.refusal(f"expected the name of {what}, found the variable '{shown(item)}'; remove the '?'", item)
    return str(item)


def require_no_comma(item: Word, source: Source) -> None:
    """Raises PddlError for a word with a comma in it, which separates nothing in PDDL."""
    if "," in item:
        apart = " ".join(filter(None, item.split(",")))
        remedy = f"separate names by spaces: '{shown(apart)}'" if apart else "remove it"
        raise source.refusal(f"a comma in '{shown(item)}' is no part of PDDL; {remedy}", item)


def free_name(item: Word | Block, source: Source, what: str) -> str:
    """The name of a predicate or type. Raises UnsupportedPddl for one that means something in formulas."""
    name = name_of(item, source, what)
    if name in _MEANT:
        raise source.refusal(
            f"'{name}' is not supported as the name of {what}, because it means something in PDDL; rename it",
            item,
            UnsupportedPddl,
        )
    return name


def typed_list(block: Block, start: int, source: Source, what: str, uses: dict[str, Word | Block]) -> list[Parameter]:
    """`a b - t c` as parameters; names without a type are objects. The list's names keep their places as `Word`s."""
    found: list[Parameter] = []
    pending: list[Word] = []
    items = iter(block[start:])
    for item in items:
        if item != "-":
            glued = what == "a variable" and bool(pending) and pending[-1].endswith("-")
            if glued and isinstance(item, Word) and not item.startswith("?"):
                meant = f"'{shown(pending[-1][:-1])} - {shown(item)}'"
                raise source.refusal(
                    f"'{shown(pending[-1])}' ends in '-'; write {meant} where a type is meant", pending[-1]
                )
            name_of(item, source, what)
            assert isinstance(item, Word)
            pending.append(item)
            continue
        assert isinstance(item, Word)
        uses.setdefault(":typing", item)
        kind = next(items, None)
        if kind is None:
            raise source.refusal("'-' is followed by no type", item)
        if isinstance(kind, Block) and (kind.head != "either" or len(kind) < 2):
            raise source.refusal("expected a type or '(either type ...)' after '-'", kind)
        kinds = tuple(words_of(kind, 1, source)) if isinstance(kind, Block) else (kind,)
        for each in kinds:
            name_of(each, source, "a type")
        found += [Parameter(name, kinds) for name in pending]
        pending = []
    return [*found, *(Parameter(name, (OBJECT,)) for name in pending)]


def plain(found: Parameter, types: Mapping[str, tuple[str, ...]] | None, source: Source) -> Parameter:
    """A parameter without places, whose types are declared."""
    for kind in found.types:
        if types is not None and kind not in types and kind != OBJECT and isinstance(kind, Word):
            raise source.refusal(f"type '{shown(kind)}' is undefined; declare it in (:types ...) or correct it", kind)
    return Parameter(str(found.name), tuple(map(str, found.types)))


def atom(block: Block, source: Source, scope: Scope, equality: bool = False) -> Atom:
    """An atom whose predicate and objects are declared, in the right number and, where it is ground, of their types."""
    if not block.head:
        raise source.refusal("expected '(predicate name ...)', found an empty or nested list", block)
    head = str(block.head)
    if head == "=" and equality and any(isinstance(each, Block) for each in block):
        raise source.refusal(
            "numeric conditions (=) are not supported; rewrite this without numbers", block, UnsupportedPddl
        )
    arguments = tuple(words_of(block, 1, source))
    if head == "=" and equality:
        scope.uses.setdefault(":equality", block)
        expected: tuple[Parameter, ...] | None = (Parameter("?x", (OBJECT,)), Parameter("?y", (OBJECT,)))
    elif scope.predicates is None:
        return Atom(head, tuple(scope.called.get(each, str(each)) for each in arguments))
    else:
        expected = scope.predicates.get(head)
    if expected is None:
        raise source.refusal(
            f"predicate with name '{shown(head)}' is undefined; declare it in (:predicates ...) or correct it", block
        )
    if len(expected) != len(arguments):
        raise source.refusal(
            f"'{shown(head)}' has arity {len(expected)}, found {len(arguments)} objects; give as many as it has", block
        )
    for argument, (_, kinds) in zip(arguments, expected, strict=True):
        if argument not in scope.names:
            require_no_comma(argument, source)
            what = "variable" if argument.startswith("?") else "object"
            raise source.refusal(
                f"{what} with name '{shown(argument)}' is undefined; declare it or correct it", argument
            )
        if kinds != (OBJECT,) and argument in scope.kinds and scope.kinds[argument].isdisjoint(kinds):
            raise source.refusal(
                f"'{shown(argument)}' is no {' or '.join(map(shown, kinds))}, which '{shown(head)}' speaks of; "
                "correct the object or its type",
                argument,
            )
    return Atom(head, tuple(scope.called.get(each, str(each)) for each in arguments))
