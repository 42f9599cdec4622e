"""unified-planning's compilers, which remove quantifiers, conditional effects and disjunctions from one action.

They are handed names of our own making and no types, because the library wants every name once and a tree of types.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sgp.installed import missing
from sgp.planning.declarations import Atom, Condition, Formula, Literal, Parameter


@dataclass(frozen=True)
class World:
    """The objects of one problem, each with all its types; its atoms; and the predicates that some action changes."""

    objects: tuple[tuple[str, frozenset[str]], ...]
    atoms: frozenset[Atom]
    fluents: frozenset[str]

    def of(self, types: Iterable[str]) -> list[str]:
        """The objects of one of these types."""
        wanted = set(types)
        return [name for name, kinds in self.objects if not kinds.isdisjoint(wanted)]


class Marked(NamedTuple):
    """A condition, for all objects in the place of its variables; `mark` stands for the effects that it has."""

    mark: str
    variables: tuple[Parameter, ...]
    condition: Condition


class Case(NamedTuple):
    """The literals that hold in one case of an action, and the marks that are set in it, with their objects."""

    literals: tuple[Literal, ...]
    marks: frozenset[tuple[str, tuple[str, ...]]]


def _library(module: str) -> Any:
    """A module of unified-planning. Raises MissingLibrary where it is not installed."""
    try:
        return importlib.import_module(f"unified_planning.{module}")
    except ModuleNotFoundError as error:
        raise missing("PDDL with or, imply, when, forall or exists", error) or error from error


class Compilation:
    """One action, or one goal, as the library holds it, with what it is in our words."""

    def __init__(self, parameters: Sequence[Parameter], world: World | None):
        model, environment = _library("model"), _library("environment").Environment()
        environment.credits_stream = None
        self._model, self._environment, self._world = model, environment, world
        self._make = environment.expression_manager
        self._problem = model.Problem("p", environment)
        self._thing = environment.type_manager.UserType("thing")
        self._fluents: dict[tuple[str, int], Any] = {}
        self._predicates: dict[str, str] = {}  # by their names there
        self._names: dict[str, str] = {}  # of parameters and objects, by their names there
        self._bound: dict[str, Any] = {}  # expressions by our names
        self._kinds: dict[frozenset[str], Any] = {}  # the library's types by ours
        signature = OrderedDict((f"p{place}", self._thing) for place, _ in enumerate(parameters))
        self._action = model.InstantaneousAction("a", signature, environment)
        for parameter, (name, _) in zip(self._action.parameters, parameters, strict=True):
            self._names[parameter.name] = name
            self._bound[name] = self._make.ParameterExp(parameter)
        for name, kinds in world.objects if world else ():
            self._object(name, self._kind(kinds))

    def _kind(self, kinds: frozenset[str]) -> Any:
        if kinds not in self._kinds:
            self._kinds[kinds] = self._environment.type_manager.UserType(f"k{len(self._kinds)}", self._thing)
        return self._kinds[kinds]

    def _object(self, name: str, kind: Any) -> Any:
        found = self._model.Object(f"o{len(self._bound)}", kind, self._environment)
        self._problem.add_object(found)
        self._names[found.name] = name
        self._bound[name] = self._make.ObjectExp(found)
        return self._bound[name]

    def _fluent(self, predicate: str, arity: int) -> Any:
        if (predicate, arity) not in self._fluents:
            signature = OrderedDict((f"x{place}", self._thing) for place in range(arity))
            kind, name = self._environment.type_manager.BoolType(), f"f{len(self._fluents)}"
            found = self._model.Fluent(name, kind, signature, self._environment)
            self._problem.add_fluent(found, default_initial_value=False)
            self._predicates[name] = predicate
            self._fluents[predicate, arity] = found
        return self._fluents[predicate, arity]

    def _atom(self, predicate: str, names: Sequence[str]) -> Any:
        terms = [self._bound[name] if name in self._bound else self._object(name, self._thing) for name in names]
        if predicate == "=":
            return self._make.Equals(*terms)
        return self._make.FluentExp(self._fluent(predicate, len(names)), terms)

    def expression(self, condition: Condition) -> Any:
        """A condition as the library's expression."""
        if isinstance(condition, Literal):
            atom = self._atom(*condition.atom)
            return atom if condition.positive else self._make.Not(atom)
        if condition.variables:
            return self._quantified(condition, condition.variables)
        parts = [self.expression(part) for part in condition.parts]
        return self._make.And(parts) if condition.kind == "and" else self._make.Or(parts)

    def _quantified(self, condition: Formula, variables: Sequence[Parameter]) -> Any:
        """A quantifier, over one variable and one kind of objects after another."""
        if not variables:
            return self.expression(condition.parts[0])
        bind, join = (
            (self._make.Forall, self._make.And) if condition.kind == "forall" else (self._make.Exists, self._make.Or)
        )
        parts = []
        for variable in self._variables(variables[0]):
            self._bound[variables[0].name] = self._make.VariableExp(variable)
            parts.append(bind(self._quantified(condition, variables[1:]), variable))
        return join(parts)

    def _variables(self, found: Parameter) -> list[Any]:
        """A variable for each kind of objects that are of its types."""
        kinds = [kind for names, kind in self._kinds.items() if not names.isdisjoint(found.types)]
        return [self._model.Variable(f"v{len(self._bound)}", kind, self._environment) for kind in kinds]

    def cases(self, precondition: Condition, effects: Iterable[Marked], most: int) -> tuple[int, list[Case]]:
        """A bound on the number of the action's cases, and the cases themselves where it is no more than `most`."""
        self._action.add_precondition(self.expression(precondition))
        self._action.add_effect(self._atom("no mark", ()), True)  # else a case without effects would not be made
        for each in effects:
            self._add(each, each.variables, [])
        self._problem.add_action(self._action)
        if self._world is not None:
            self._problem = self._compiled("QuantifiersRemover", "QUANTIFIERS_REMOVING")
            self._know()
        (action,) = self._problem.actions
        number = self.count(self._make.And(action.preconditions))
        for effect in action.conditional_effects:
            number *= self.count(effect.condition) + self.count(effect.condition, False)
            if number > most:
                break  # else numbers of thousands of digits
        if number > most or number == 0:
            return number, []
        self._problem = self._compiled("ConditionalEffectsRemover", "CONDITIONAL_EFFECTS_REMOVING")
        self._problem = self._compiled("DisjunctiveConditionsRemover", "DISJUNCTIVE_CONDITIONS_REMOVING")
        return number, [self._case(each) for each in self._problem.actions]

    def _add(self, effect: Marked, variables: Sequence[Parameter], chosen: list[Any]) -> None:
        """Adds an effect, for one kind of objects in the place of each of its variables after another."""
        if variables:
            for variable in self._variables(variables[0]):
                self._bound[variables[0].name] = self._make.VariableExp(variable)
                self._add(effect, variables[1:], [*chosen, variable])
            return
        mark = self._atom(effect.mark, [each.name for each in effect.variables])
        self._action.add_effect(mark, True, self.expression(effect.condition), forall=chosen)

    def _compiled(self, name: str, kind: str) -> Any:
        """The problem, compiled by one of the library's compilers."""
        compiler = getattr(_library("engines.compilers"), name)()
        return compiler.compile(self._problem, getattr(_library("engines").CompilationKind, kind)).problem

    def _know(self) -> None:
        """Puts what is known of atoms that no action changes into the action's conditions."""
        (action,) = self._problem.actions
        needs, does = list(action.preconditions), list(action.effects)
        action.clear_preconditions()
        action.clear_effects()
        for each in needs:
            action.add_precondition(self._known(each))
        for effect in does:
            condition = self._known(effect.condition)
            if not condition.is_false():
                action.add_effect(effect.fluent, effect.value, condition)

    def _known(self, expression: Any) -> Any:
        """An expression with the values of the ground atoms in it that no action changes."""
        assert self._world is not None
        values = {}
        for found in self._environment.free_vars_extractor.get(expression):
            name, terms = self._predicates[found.fluent().name], found.args
            if name not in self._world.fluents and all(each.is_object_exp() for each in terms):
                values[found] = self._make.Bool(Atom(name, self._terms(terms)) in self._world.atoms)
        return expression.substitute(values).simplify()

    def _terms(self, terms: Iterable[Any]) -> tuple[str, ...]:
        return tuple(self._names[(each.object() if each.is_object_exp() else each.parameter()).name] for each in terms)

    def count(self, expression: Any, positive: bool = True) -> int:
        """A bound on the number of conjunctions of which an expression is the disjunction, or its negation."""
        if expression.is_not():
            return self.count(expression.arg(0), not positive)
        if expression.is_bool_constant():
            return int(expression.bool_constant_value() == positive)
        if not (expression.is_and() or expression.is_or()):
            return 1
        found = [self.count(each, positive) for each in expression.args]
        if expression.is_or() == positive:
            return sum(found)
        number = 1
        for each in found:
            number = min(number * each, 10**100)
        return number

    def _case(self, action: Any) -> Case:
        marks = [(effect.fluent.fluent().name, self._terms(effect.fluent.args)) for effect in action.effects]
        return Case(
            tuple(map(self._literal, action.preconditions)),
            frozenset((self._predicates[name], terms) for name, terms in marks),
        )

    def _literal(self, expression: Any) -> Literal:
        positive = not expression.is_not()
        atom = expression if positive else expression.arg(0)
        name = "=" if atom.is_equals() else self._predicates[atom.fluent().name]
        return Literal(Atom(name, self._terms(atom.args)), positive)

    def conjunctions(self, goal: Condition, most: int) -> tuple[int, list[tuple[Literal, ...]]]:
        """As `cases`, of a goal: the conjunctions of which it asks for one."""
        self._problem.add_goal(self.expression(goal))
        self._problem = self._compiled("QuantifiersRemover", "QUANTIFIERS_REMOVING")
        wanted = self._known(self._make.And(self._problem.goals))
        number = self.count(wanted)
        if number > most:
            return number, []
        split = _library("model.walkers").Dnf(self._environment).get_dnf_expression(wanted)
        found = []
        for each in (part.simplify() for part in (split.args if split.is_or() else [split])):
            if not each.is_false():
                parts = each.args if each.is_and() else [] if each.is_true() else [each]
                found.append(tuple(map(self._literal, parts)))
        return number, found
