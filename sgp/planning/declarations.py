"""What domains and problems declare: types, predicates, action schemas, atoms and actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

OBJECT = "object"  # the root of PDDL's type hierarchy, and the type of everything in an untyped domain


class Atom(NamedTuple):
    """A ground atom, `(predicate object ...)`, names in lower case."""

    predicate: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.objects))})"


class Action(NamedTuple):
    """A ground action, `(name object ...)`, names in lower case."""

    name: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.objects))})"


class Parameter(NamedTuple):
    """A name with its type; `types` has several entries for `(either ...)`."""

    name: str
    types: tuple[str, ...]


class Literal(NamedTuple):
    """An atom or its negation; in schemas the objects may be variables."""

    atom: Atom
    positive: bool

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f"(not {self.atom})"


class Formula(NamedTuple):
    """What holds of its parts: of all ("and", "forall") or of one ("or", "exists"); negation stands at atoms alone.

    A quantifier has one part and the variables that it binds, whose names stand nowhere else in an action or goal.
    """

    kind: str
    parts: tuple[Condition, ...]
    variables: tuple[Parameter, ...] = ()


Condition: TypeAlias = Literal | Formula


class ConditionalEffect(NamedTuple):
    """The literals that become true for all objects, in the place of `variables`, of which the condition holds."""

    variables: tuple[Parameter, ...]
    condition: Condition
    literals: tuple[Literal, ...]


class AdlAction(NamedTuple):
    """An action as a domain file declares it, with any condition and with effects under conditions."""

    name: str
    parameters: tuple[Parameter, ...]
    precondition: Condition
    effects: tuple[ConditionalEffect, ...]
    cost: str = ""


@dataclass(frozen=True)
class Schema:
    """An action schema: parameters, precondition literals and the literals of its effect.

    `cost` is what PDDL adds to the total cost, a number or a function's value such as "(length ?a ?b)"; "" where it is
    nothing. A schema that stands for one case of an action of the file has this as its `original`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]
    cost: str = field(default="", compare=False)
    original: Action | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DomainText:
    """What a domain file declares: requirements, types (name to parents), constants, predicates, action schemas.

    `predicates` has the arities and `arguments` the types; `remarks` are sentences on what was read though the letter
    of PDDL forbids it, and on what was compiled; `costs` says whether actions have costs (which are not used),
    `functions` has the arities of those that they use. Where the schemas are cases of actions for the objects of one
    problem alone, `alone` has the arities of the actions.
    """

    name: str
    requirements: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]
    constants: tuple[Parameter, ...]
    predicates: Mapping[str, int]
    schemas: Mapping[str, Schema]
    arguments: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict, compare=False)
    costs: bool = field(default=False, compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)
    functions: Mapping[str, int] = field(default_factory=dict, compare=False)
    alone: Mapping[str, int] = field(default_factory=dict, compare=False)

    def original(self, action: Action) -> Action:
        """The action of the file that an action of a schema is a case of."""
        schema = self.schemas[action.name]
        if schema.original is None:
            return action
        names = {each.name: thing for each, thing in zip(schema.parameters, action.objects, strict=True)}
        return Action(schema.original.name, tuple(names.get(each, each) for each in schema.original.objects))

    @property
    def compiled(self) -> bool:
        """Whether some actions of the file were compiled to schemas for their cases."""
        return any(schema.original is not None for schema in self.schemas.values())

    @cached_property
    def fluent_predicates(self) -> frozenset[str]:
        """Predicates that some action changes; the others are static."""
        return frozenset(literal.atom.predicate for schema in self.schemas.values() for literal in schema.effect)

    @cached_property
    def signature(self) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """Predicates and actions with their arities, sorted: what a model of the domain depends on.

        Schemas are no actions of the domain where another problem has others.
        """
        actions = self.alone or {name: len(schema.parameters) for name, schema in self.schemas.items()}
        return tuple(sorted(self.predicates.items())), tuple(sorted(actions.items()))

    def difference(self, other: DomainText) -> str:
        """What `other` lacks and adds in predicates and actions, in words; "" where the signatures agree."""
        words = []
        for kind, ours, theirs in zip(("predicate", "action"), self.signature, other.signature, strict=True):
            for verb, names in (("lacks", set(ours) - set(theirs)), ("adds", set(theirs) - set(ours))):
                if names:
                    listed = ", ".join(f"{name}/{arity}" for name, arity in sorted(names))
                    words.append(f"{verb} the {kind}{'s' if len(names) > 1 else ''} {listed}")
        return " and ".join(words)

    def supertypes(self, name: str) -> frozenset[str]:
        """The type and everything above it, the root included."""
        found, frontier = {OBJECT}, [name]
        while frontier:
            current = frontier.pop()
            if current not in found:
                found.add(current)
                frontier.extend(self.types.get(current, ()))
        return frozenset(found | {name})


@dataclass(frozen=True)
class ProblemText:
    """What a problem file declares: objects, initial atoms and the goal's literals; `remarks` as in a domain's.

    `goals` is how many conjunctions a disjunctive goal asks for one of. `values` are the initial values of functions,
    as text, where actions have costs, and `minimised` says whether a plan's is to be low.
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
    """A domain and a problem as their files declare them: `domain` has no schemas, `problem` no goal."""

    domain: DomainText
    actions: Mapping[str, AdlAction]
    problem: ProblemText
    goal: Condition

    @property
    def objects(self) -> tuple[Parameter, ...]:
        """The domain's constants and the problem's objects."""
        return self.domain.constants + self.problem.objects
