"""A problem alive: states, successors and goal test over pymimir."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as OneOf

from pymimir.advanced import formalism, search

from sgp.errors import DomainMismatch, PlanError
from sgp.planning.clock import look, looking, now, room
from sgp.planning.costs import Costs
from sgp.planning.ground_model import INSTANCE_BYTES, MODEL_BYTES, MODEL_SHARE, MOST_INSTANCES, GroundModel
from sgp.planning.instances import TooLarge
from sgp.planning.lifted_model import LiftedModel
from sgp.planning.native import parsed
from sgp.planning.pddl import (
    Action,
    Atom,
    DomainText,
    Literal,
    Parameter,
    Problem,
    ProblemText,
    format_problem,
)

State: TypeAlias = search.State
"""One state of one task. Equal and hashable within its task; it cannot leave the process."""

Mode = OneOf["grounded", "lifted"]

MOST_LISTED = 10_000  # applicable actions at first, with which pymimir lists them all
_MANY_ATOMS = 10_000  # of an initial state, which pymimir would read in a second


class Successor(NamedTuple):
    """A state that can be reached and how.

    `actions` lead from the parent's node state to `state`: one for an ordinary step, several for a lookahead jump.
    `parent` indexes the list of candidates that this one stands in and gives the lookahead tree; None where the
    state is reached from the expanded node itself.
    """

    actions: tuple[Action, ...]
    state: State
    parent: int | None = None


class GroundAction(NamedTuple):
    """An instantiated action: its place in the order of the PDDL, its name, and the fluent atoms that it changes.

    An atom that an action adds and deletes is added.
    """

    place: int
    actions: tuple[Action]
    adds: tuple[int, ...]
    deletes: tuple[int, ...]
    native: formalism.GroundAction


class Task:
    """One problem of one domain: objects, initial state, goal, successors and atoms of states.

    All actions are instantiated when one is first asked for, with `mode` "grounded" or where that takes a part of the
    process's memory alone (`ground_model`); else, and with "lifted", only those applicable in a state. Candidates are
    the same in either mode. States are never freed before their task is: use a task for one batch of rollouts. Raises
    PddlError for text that cannot be used.
    """

    def __init__(self, problem: Problem, mode: Mode | None = None):
        started = now()
        self.problem = problem
        self.domain_text: DomainText
        self.text: ProblemText
        self.domain_text, self.text = problem.read()
        self.costs = Costs(self.domain_text, self.text) if self.text.minimised else None
        """What actions cost; None where there is no metric, so that each counts 1."""
        if self.domain_text.costs and not (self.costs and self.costs.unit):
            done = (
                "not learned: planners count every action 1, experts minimise the cost, and plans are compared by it"
                if self.costs
                else "ignored, since no '(:metric minimize (total-cost))' asks for them; every action counts 1"
            )
            warnings.warn(f"domain {self.domain_text.name}: action costs are {done}", stacklevel=2)
        self._mode = mode
        self._fluents: dict[int, Atom] = {}
        lean = mode != "lifted" and len(self.text.init) > _MANY_ATOMS
        self._open(lean)
        if lean and self.model is None:
            self._fluents.clear()  # what knows the first problem of pymimir's is gone with it
            for name in ("_native_names", "lifted"):
                vars(self).pop(name, None)
            self._open(lean=False)
        self._action_order = {name: place for place, name in enumerate(self.domain_text.schemas)}
        self._object_order = {parameter.name: place for place, parameter in enumerate(self.objects)}
        self._ground_actions: dict[int, GroundAction] = {}  # by pymimir's index
        self._numbered: dict[int, GroundAction] = {}  # by the model's number
        self.seconds = now() - started
        """How long reading took."""

    def _open(self, lean: bool) -> None:
        """Hands the problem to pymimir; `lean` without its initial atoms, which it needs to instantiate actions alone.

        It reads an atom in a tenth of a millisecond, and cannot be interrupted.
        """
        look()
        self._native = parsed(self.problem, self.domain_text, replace(self.text, init=()) if lean else self.text)
        look()
        instantiating = search.LiftedKPKCOptions(search.SymmetryPruning.OFF)
        lifted = search.LiftedOptions(search.LiftedExhaustiveOptions() if lean else instantiating)
        context = search.SearchContext.create(self._native, search.SearchContextOptions(lifted))
        self._context = context  # owns the two below
        self._generator = context.get_applicable_action_generator()
        self._repository = context.get_state_repository()
        self._goal = search.ProblemGoalStrategy.create(self._native)
        self.init: State = (
            self.state_of(self._indices([each for each in self.text.init if each.predicate in self.changing]))
            if lean
            else self._repository.get_or_create_initial_state()[0]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, which reads the problem again."""
        return Task, (self.problem, self._mode)

    @cached_property
    def changing(self) -> frozenset[str]:
        """The predicates that actions change."""
        return self.domain_text.fluent_predicates

    @cached_property
    def fluent_goal(self) -> list[tuple[Literal, int]]:
        """The goal's literals that actions change, with the indices of their atoms."""
        literals = [each for each in self.goal if each.atom.predicate in self.changing]
        return list(zip(literals, self._indices([each.atom for each in literals]), strict=True))

    @cached_property
    def missing_static(self) -> list[Literal]:
        """The goal's literals that no action changes, '=' included, and that do not hold."""
        asked = [each for each in self.goal if each.atom.predicate not in self.changing]
        true = set(self.static_atoms) if asked else set()
        return [
            each
            for each in asked
            if (_is_equation(each.atom) if each.atom.predicate == "=" else each.atom in true) != each.positive
        ]

    @property
    def static_goal_holds(self) -> bool:
        """Whether all of the goal holds that no action changes, '=' included."""
        return not self.missing_static

    def __repr__(self) -> str:
        return f"Task({self.name}, {self.size} objects)"

    @cached_property
    def model(self) -> GroundModel | None:
        """All actions and atoms that can ever matter, as arrays; None where actions are instantiated as needed."""
        if self._mode == "lifted":
            return None
        for bounds in self._bounds():
            try:
                return GroundModel(self.domain_text, self.text, self._indices, self.static_goal_holds, *bounds)
            except TooLarge:
                continue
        return None

    def _bounds(self) -> Iterator[tuple[int | None, int | None]]:
        """How many actions of a schema, and of all, may be instantiated: what is tried in turn.

        Where very many are applicable at first, those that differ in interchangeable objects stay out of all searches.
        """
        if self._mode == "grounded":
            yield None, None
            return
        # Where many atoms are given, pymimir would read them for longer than all instances take.
        yield max(MOST_INSTANCES, len(self.text.init)), None
        if not self.has_many_actions:
            yield None, int(min(MODEL_BYTES, MODEL_SHARE * room()) / INSTANCE_BYTES)

    @property
    def mode(self) -> Mode:
        """Whether all actions are instantiated before a search."""
        return "lifted" if self.model is None else "grounded"

    def _indices(self, atoms: Sequence[Atom]) -> list[int]:
        """The indices of fluent atoms."""
        predicates = {each.get_name(): each for each in self._native.get_domain().get_fluent_predicates()}
        (_, things), make = self._native_names, self._native.get_or_create_ground_atom
        found = [make(predicates[name], [things[each] for each in names]).get_index() for name, names in looking(atoms)]
        self._fluents.update(zip(found, atoms, strict=True))
        return found

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.problem.name

    @cached_property
    def objects(self) -> tuple[Parameter, ...]:
        """All objects with their types in the order of the PDDL, the domain's constants first."""
        return self.domain_text.constants + self.text.objects

    @property
    def size(self) -> int:
        """Number of objects, constants included."""
        return len(self.objects)

    @cached_property
    def static_atoms(self) -> tuple[Atom, ...]:
        """The atoms that hold in every state, in the order of the PDDL."""
        fluents = self.domain_text.fluent_predicates
        return tuple(atom for atom in self.text.init if atom.predicate not in fluents)

    @property
    def goal(self) -> tuple[Literal, ...]:
        """The goal's literals."""
        return self.text.goal

    @cached_property
    def goal_atoms(self) -> tuple[Atom, ...]:
        """The goal's positive atoms."""
        return tuple(literal.atom for literal in self.goal if literal.positive)

    def require_domain(self, text: DomainText) -> None:
        """Raises DomainMismatch where the task is of another domain than the one that a model was made for."""
        if self.domain_text.signature != text.signature:
            raise DomainMismatch(
                f"{self.name} is of another domain than the model: its domain '{self.domain_text.name}' "
                f"{text.difference(self.domain_text)}; use a model trained on this domain"
            )

    def restarted(self, state: State) -> Problem:
        """The same problem from another initial state."""
        text = replace(self.text, init=self.atoms(state))
        return replace(self.problem, problem_pddl=format_problem(text))

    def successors(self, state: State, representatives: bool = False) -> list[Successor]:
        """The states one action away, in the order of the PDDL's actions and objects."""
        apply, actions = self._repository.get_or_create_successor_state, self.applicable(state, representatives)
        return [Successor(action.actions, apply(state, action.native, 0.0)[0]) for action in looking(actions)]

    def applicable(self, state: State, representatives: bool = False) -> list[GroundAction]:
        """The actions applicable in `state`, in the order of the PDDL's actions and objects.

        Where they are found by joins, `representatives` has one of those that differ in interchangeable objects alone;
        where not all are instantiated, that is so without it, too, if pymimir would list too many.
        """
        if self.model is not None and not self.joins(representatives):
            known = self._numbered
            return [known.get(each) or self.numbered(each) for each in self.model.applicable(self.fluents(state))]
        met = self._ground_actions
        alike = representatives or self.has_many_actions
        found = (
            [self.ground(action) for action in looking(self.lifted.applicable(self.fluents(state), alike))]
            if alike
            else [
                met.get(native.get_index()) or self._learn(native)
                for native in looking(self._generator.generate_applicable_actions(state))
            ]
        )
        found.sort(key=_place)
        return found

    def numbered(self, number: int) -> GroundAction:
        """The action with this number in `model`. The task must have one."""
        known = self._numbered.get(number)
        if known is None:
            assert self.model is not None
            known = self._numbered[number] = self.ground(self.model.action(number))
        return known

    def after(self, state: State, action: GroundAction) -> State:
        """The state after an action of `applicable`."""
        successor: State = self._repository.get_or_create_successor_state(state, action.native, 0.0)[0]
        return successor

    def apply(self, state: State, action: Action) -> State:
        """The state after `action`. Raises PlanError where it is not applicable."""
        return self.after(state, self.own(state, action))

    def own(self, state: State, action: Action) -> GroundAction:
        """The applicable action that is `action`, or its case in this state where the file's actions were compiled.

        Raises PlanError where there is none.
        """
        if self.model is None and self._is_instance(action):
            known = self.ground(action)  # there may be millions, or another one that stands for it
            if search.is_applicable(known.native, state):
                return known
        applicable = self.applicable(state)
        for known in applicable:
            if known.actions[0] == action:
                return known
        for known in applicable:
            if self.original(known.actions[0]) == action:
                return known
        raise PlanError(f"action {action} is not applicable in {self.name}; expected one of its applicable actions")

    def original(self, action: Action) -> Action:
        """The action of the domain's file that an action of this task is a case of; itself where none was compiled."""
        return self.domain_text.original(action)

    def is_goal(self, state: State) -> bool:
        """Whether the goal holds in `state`."""
        return bool(self.static_goal_holds and self._goal.test_dynamic_goal(state))

    def fluents(self, state: State) -> list[int]:
        """Indices of the non-static atoms true in `state`, ascending; `fluent` names them."""
        return list(state.get_fluent_atoms())

    def fluent(self, index: int) -> Atom:
        """The non-static atom with this index."""
        atom = self._fluents.get(index)
        if atom is None:
            (native,) = self._native.get_repositories().get_fluent_ground_atoms_from_indices([index])
            atom = self._fluents[index] = _named(native)
        return atom

    def state_of(self, fluents: Iterable[int]) -> State:
        """The state in which just these fluents are true."""
        known = self._native.get_repositories().get_fluent_ground_atoms_from_indices(list(fluents))
        state: State = self._repository.get_or_create_state(known, [])[0]
        return state

    def state_with(self, atoms: Sequence[Atom]) -> State:
        """The state in which just these fluent atoms are true."""
        return self.state_of(self._indices(atoms))

    def ground(self, action: Action) -> GroundAction:
        """An action of this task as `applicable` gives it, wherever it is applicable."""
        schemas, things = self._native_names
        return self._learned(self._native.ground(schemas[action.name], [things[name] for name in action.objects]))

    def _is_instance(self, action: Action) -> bool:
        """Whether there is such a schema of so many parameters, and such objects."""
        schema, (_, things) = self.domain_text.schemas.get(action.name), self._native_names
        return (
            schema is not None
            and len(schema.parameters) == len(action.objects)
            and things.keys() >= set(action.objects)
        )

    def joins(self, representatives: bool) -> bool:
        """Whether candidates are found by joins: not all actions are instantiated, or far more than stand for all.

        The candidates are the same.
        """
        return (representatives and self.has_many_actions) or self.model is None

    def is_hopeless(self, state: State) -> bool:
        """Whether no plan leads on from a state even if nothing were ever deleted: then it is a dead end.

        Where not all actions are instantiated, or more than MOST_INSTANCES, none is told: it would take most of a
        decision.
        """
        if self.joins(representatives=True) or self.model is None or len(self.model) > MOST_INSTANCES:
            return False
        return self.model.is_hopeless(self.fluents(state))

    @cached_property
    def has_many_actions(self) -> bool:
        """Whether so many are applicable at first that only those are listed that stand for all others.

        Others differ from one that is listed in interchangeable objects alone.
        """
        return self.lifted.applicable_at_first(self.fluents(self.init), MOST_LISTED) > MOST_LISTED

    @cached_property
    def lifted(self) -> LiftedModel:
        """What finds the actions of a state where they are not all instantiated."""
        return LiftedModel(self.domain_text, self.text, self._indices, self.fluent, self.static_goal_holds)

    @cached_property
    def _native_names(self) -> tuple[dict[str, formalism.Action], dict[str, formalism.Object]]:
        schemas = {each.get_name(): each for each in self._native.get_domain().get_actions()}
        return schemas, {each.get_name(): each for each in self._native.get_problem_and_domain_objects()}

    def _learned(self, native: formalism.GroundAction) -> GroundAction:
        return self._ground_actions.get(native.get_index()) or self._learn(native)

    def atoms(self, state: State) -> tuple[Atom, ...]:
        """All atoms true in `state`, static ones first: the one view that every encoder reads."""
        return self.static_atoms + tuple(map(self.fluent, self.fluents(state)))

    def state_count(self) -> int:
        """Number of different states generated so far, by which memory grows."""
        return int(self._repository.get_state_count())

    def _learn(self, native: formalism.GroundAction) -> GroundAction:
        name = native.get_action().get_name()
        arguments = tuple(thing.get_name() for thing in native.get_objects())
        place = self._action_order[name]
        for argument in arguments:
            place = place * (self.size + 1) + self._object_order[argument] + 1
        # Schemas of different arity give numbers of different length: pad so that the schema decides first.
        place *= (self.size + 1) ** (self._longest - len(arguments))
        # The supported PDDL has no conditions on effects: there is one, and it always takes place.
        effects = [effect.get_conjunctive_effect() for effect in native.get_conditional_effects()]
        adds = tuple(index for effect in effects for index in effect.get_positive_effects())
        deletes = tuple(index for effect in effects for index in effect.get_negative_effects() if index not in adds)
        action = GroundAction(place, (Action(name, arguments),), adds, deletes, native)
        self._ground_actions[native.get_index()] = action
        return action

    @cached_property
    def _longest(self) -> int:
        return max(len(schema.parameters) for schema in self.domain_text.schemas.values())


def _is_equation(atom: Atom) -> bool:
    """Whether an atom of '=' holds."""
    one, other = atom.objects
    return one == other


def check(problem: Problem) -> int:
    """The number of objects of a problem that can be used; nothing is grounded. Raises PddlError for another one."""
    domain, text = checked(problem)
    return len(domain.constants) + len(text.objects)


def checked(problem: Problem) -> tuple[DomainText, ProblemText]:
    """What a problem that can be used declares; nothing is grounded. Raises PddlError for another one."""
    domain, text = problem.read()
    parsed(problem, domain, text)
    return domain, text


def _named(native: formalism.FluentGroundAtom) -> Atom:
    return Atom(native.get_predicate().get_name(), tuple([thing.get_name() for thing in native.get_objects()]))


def _place(action: GroundAction) -> int:
    return action.place


def replay(task: Task, actions: Sequence[Action]) -> list[State]:
    """The states along a plan, the initial one first (one more than actions).

    Raises PlanError naming the first action that is not applicable and its step.
    """
    states = [task.init]
    for step, action in enumerate(actions, start=1):
        try:
            states.append(task.apply(states[-1], action))
        except PlanError as error:
            raise PlanError(f"step {step} of {len(actions)}: {error}") from error
    return states


def missing_goal_atoms(task: Task, state: State) -> list[Literal]:
    """The goal literals that do not hold in `state`."""
    true = set(task.fluents(state))
    missing = [literal for literal, index in task.fluent_goal if (index in true) != literal.positive]
    return sorted([*missing, *task.missing_static], key=task.goal.index) if task.missing_static else missing
