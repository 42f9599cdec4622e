"""Declarations of domains and problems: types, predicates, actions, atoms, conditions in negation normal form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

OBJECT = "object"  # root of PDDL's type hierarchy, and the only type of an untyped domain


class Atom(NamedTuple):
    """A ground atom `(predicate object ...)`, names in lower case."""

    predicate: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.objects))})"


class Action(NamedTuple):
    """A ground action `(name object ...)`, names in lower case."""

    name: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.objects))})"


def is_true(atom: Atom, true: Collection[Atom]) -> bool:
    """Whether an atom is among the true ones; '=' compares names."""
    return atom.objects[0] == atom.objects[1] if atom.predicate == "=" else atom in true


class Parameter(NamedTuple):
    """A name with its types, several for `(either ...)`."""

    name: str
    types: tuple[str, ...]


class Literal(NamedTuple):
    """An atom or its negation; objects may be variables in schemas."""

    atom: Atom
    positive: bool

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f"(not {self.atom})"

    def renamed(self, names: Mapping[str, str]) -> Literal:
        """Rename objects and variables."""
        (predicate, objects), positive = self
        return Literal(Atom(predicate, tuple(names.get(name, name) for name in objects)), positive)


class Formula(NamedTuple):
    """A conjunction ("and", "forall") or disjunction ("or", "exists") in negation normal form.

    A quantifier has one part and binds `variables`, whose names occur nowhere else in an action or goal.
    """

    kind: str
    parts: tuple[Condition, ...]
    variables: tuple[Parameter, ...] = ()


Condition: TypeAlias = Literal | Formula
TRUE, FALSE = Formula("and", ()), Formula("or", ())
DUAL = {"and": "or", "or": "and", "forall": "exists", "exists": "forall"}


def join(kind: str, parts: Iterable[Condition]) -> Condition:
    """Build a flat conjunction ("and") or disjunction ("or") with constants folded."""
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, Formula) and part.kind == kind:
            flat += part.parts
        elif isinstance(part, Formula) and part.kind == DUAL[kind] and not part.parts:
            return part
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Formula(kind, tuple(flat))


def negate(condition: Condition) -> Condition:
    """Negate a condition without quantifiers."""
    if isinstance(condition, Literal):
        return Literal(condition.atom, not condition.positive)
    return join(DUAL[condition.kind], map(negate, condition.parts))


def conjunction(condition: Condition) -> tuple[Literal, ...] | None:
    """Return the literals of a conjunction of literals; None for other conditions."""
    if isinstance(condition, Literal):
        return (condition,)
    literals = tuple(part for part in condition.parts if isinstance(part, Literal))
    return literals if condition.kind == "and" and len(literals) == len(condition.parts) else None


def parts_of(condition: Condition) -> Iterator[Condition]:
    """Yield a condition and all conditions in it."""
    yield condition
    for part in condition.parts if isinstance(condition, Formula) else ():
        yield from parts_of(part)


class ConditionalEffect(NamedTuple):
    """Literals that become true for all values of `variables` that satisfy the condition."""

    variables: tuple[Parameter, ...]
    condition: Condition
    literals: tuple[Literal, ...]


class AdlAction(NamedTuple):
    """An action as declared in a domain file: any condition, conditional effects, cost as in `Schema`."""

    name: str
    parameters: tuple[Parameter, ...]
    precondition: Condition
    effects: tuple[ConditionalEffect, ...]
    cost: str = ""


@dataclass(frozen=True)
class Schema:
    """A STRIPS action schema.

    `cost` is a number, a function call such as "(length ?a ?b)", or "" for none. `original` is the declared action if
    the schema is one of several compiled cases.
    """

    name: str
    parameters: tuple[Parameter, ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]
    cost: str = field(default="", compare=False)
    original: Action | None = field(default=None, compare=False)

    @property
    def action(self) -> AdlAction:
        """The schema as a declared action."""
        effects = (ConditionalEffect((), TRUE, self.effect),)
        return AdlAction(self.name, self.parameters, Formula("and", self.precondition), effects, self.cost)


@dataclass(frozen=True)
class DomainText:
    """The declarations of a domain file.

    `types` maps types to their parents, `predicates` to arities, `arguments` to argument types, and `functions` to
    arities of numeric functions. `remarks` are sentences about unusual text and about compilation. `costs` is true if
    actions have costs. `problem_specific` has the arities of the declared actions if the schemas are compiled for the
    objects of one problem.
    """

    name: str
    types: Mapping[str, tuple[str, ...]]
    constants: tuple[Parameter, ...]
    predicates: Mapping[str, int]
    schemas: Mapping[str, Schema]
    arguments: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict, compare=False)
    costs: bool = field(default=False, compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)
    functions: Mapping[str, int] = field(default_factory=dict, compare=False)
    problem_specific: Mapping[str, int] = field(default_factory=dict, compare=False)

    def original(self, action: Action) -> Action:
        """Return the declared action of a schema's ground action."""
        schema = self.schemas[action.name]
        if schema.original is None:
            return action
        names = {parameter.name: value for parameter, value in zip(schema.parameters, action.objects, strict=True)}
        return Action(schema.original.name, tuple(names.get(name, name) for name in schema.original.objects))

    @cached_property
    def fluent_predicates(self) -> frozenset[str]:
        """Predicates that some action changes; all others are static."""
        return frozenset(literal.atom.predicate for schema in self.schemas.values() for literal in schema.effect)

    @cached_property
    def signature(self) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """Predicates and actions with arities, sorted: the interface that a trained model depends on."""
        actions = self.problem_specific or {name: len(schema.parameters) for name, schema in self.schemas.items()}
        return tuple(sorted(self.predicates.items())), tuple(sorted(actions.items()))

    def difference(self, other: DomainText) -> str:
        """Describe the predicates and actions that `other` lacks and adds; "" for equal signatures."""
        words = []
        for kind, ours, theirs in zip(("predicate", "action"), self.signature, other.signature, strict=True):
            for verb, names in (("lacks", set(ours) - set(theirs)), ("adds", set(theirs) - set(ours))):
                if names:
                    listed = ", ".join(f"{name}/{arity}" for name, arity in sorted(names))
                    words.append(f"{verb} the {kind}{'s' if len(names) > 1 else ''} {listed}")
        return " and ".join(words)

    def supertypes(self, name: str) -> frozenset[str]:
        """Return the type and all its ancestors, the root included."""
        above, frontier = {OBJECT}, [name]
        while frontier:
            current = frontier.pop()
            if current not in above:
                above.add(current)
                frontier.extend(self.types.get(current, ()))
        return frozenset(above | {name})

    def types_of(self, objects: Iterable[Parameter]) -> dict[str, frozenset[str]]:
        """Return all types of each object, ancestors included."""
        above = {types: frozenset[str]().union(*map(self.supertypes, types)) for _, types in objects}
        return {name: above[types] for name, types in objects}


@dataclass(frozen=True)
class ProblemText:
    """The declarations of a problem file.

    `goal` is one of the `goals` disjuncts of the goal. `values` are the initial values of functions, as text.
    `minimised` is true if the metric minimises the total cost.
    """

    name: str
    domain: str
    objects: tuple[Parameter, ...]
    init: tuple[Atom, ...]
    goal: tuple[Literal, ...]
    remarks: tuple[str, ...] = field(default=(), compare=False)
    goals: int = field(default=1, compare=False)
    values: tuple[str, ...] = field(default=(), compare=False)
    minimised: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class AsWritten:
    """A domain and a problem before compilation; `domain` has no schemas, `problem` no goal."""

    domain: DomainText
    actions: Mapping[str, AdlAction]
    problem: ProblemText
    goal: Condition

    @property
    def objects(self) -> tuple[Parameter, ...]:
        """The domain's constants and the problem's objects."""
        return self.domain.constants + self.problem.objects
