"""Executable form of a problem: states, goal test, and candidates found by compiled searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload
from typing import Literal as OneOf
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sgp.errors import DomainMismatch, PlanError
from sgp.planning.clock import check_limits, clock_seconds, with_limit_checks
from sgp.planning.costs import Costs
from sgp.planning.dead_ends import DeadEnds
from sgp.planning.declarations import Action, Atom, DomainText, Literal, ProblemText, is_true
from sgp.planning.hash_table import Ints, Mask, Words
from sgp.planning.instantiation import MOST_INSTANCES, GroundModel, LiftedModel, TooLarge
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.operators import identity_changes, symmetric_difference
from sgp.planning.pddl import Problem, format_problem, require_plain_names, require_problem
from sgp.planning.problem_index import Instances, ProblemIndex
from sgp.planning.states import FEW_FLUENTS, State, States
from sgp.planning.width_search import ACTION, LENGTH, ONE_STEP, PARENT, SearchLimits, SearchResult

Mode = OneOf["grounded", "lifted"]
Value = TypeVar("Value")

MOST_SEARCHED = 10_000  # instances up to which searches use all
MOST_LISTED = 10_000  # initially applicable actions up to which all are listed


class Successor(NamedTuple):
    """A reachable state and the path to it.

    `actions` lead from the expanded node's state to `state`: one action, or several for a lookahead jump. `parent` is
    the index of the predecessor in the same list of candidates; None if the predecessor is the expanded node.
    """

    actions: tuple[Action, ...]
    state: State
    parent: int | None = None


class Task:
    """One problem of one domain: objects, initial state, goal, successors and atoms of states.

    Searches instantiate all actions first with `mode` "grounded", or if they are few. Otherwise, and with "lifted",
    only the actions applicable in a state are instantiated. Candidates are the same in both modes.

    `objects` are in the order of the PDDL, the domain's constants first; `size` is their number. `changing` has the
    predicates that actions change, `static_atoms` the atoms that are true in every state, in the order of the PDDL.
    `goal_atoms` are the atoms of the positive literals of the `goal`; `missing_static` are its static literals, '='
    included, that are false. `costs` is None where there is no metric, so that each action counts 1.
    """

    def __init__(self, problem: Problem, mode: Mode | None = None):
        started = clock_seconds()
        require_problem(problem)
        self.problem, self.name = problem, problem.name
        self.domain_text, self.text = problem.read()
        self.changing, self.goal = self.domain_text.fluent_predicates, self.text.goal
        self.objects = self.domain_text.constants + self.text.objects
        self.size = len(self.objects)
        self.static_atoms = tuple(atom for atom in self.text.init if atom.predicate not in self.changing)
        self.goal_atoms = tuple(atom for atom, positive in self.goal if positive)
        static = [literal for literal in self.goal if literal.atom.predicate not in self.changing]
        self.missing_static = [each for each in static if is_true(each.atom, self._static) != each.positive]
        self.costs = Costs(self.domain_text, self.text) if self.text.minimised else None
        if self.domain_text.costs and not (self.costs and self.costs.unit):
            done = (
                "not learned: planners count every action 1, experts minimise the cost, and plans are compared by it"
                if self.costs
                else "ignored, since no '(:metric minimize (total-cost))' requests them; every action costs 1"
            )
            warnings.warn(f"domain {self.domain_text.name}: action costs are {done}", stacklevel=2)
        self._mode = mode
        self._states, self._atoms, self._index_of = States(), list[Atom](), dict[Atom, int]()
        self._effects: dict[Action, tuple[set[int], set[int]]] = {}  # added and deleted fluents
        self._atoms_of: dict[Action, frozenset[Atom]] = {}
        check_limits()
        require_plain_names(self.problem, self.domain_text, self.text)
        # What is learned depends on the order of atoms, so it remains the same: preconditions without objects, the
        # initial state, the goal, and others on first use.
        needed = (literal.atom for schema in self.domain_text.schemas.values() for literal in schema.precondition)
        self._indices(atom for atom in needed if atom.predicate in self.changing and not atom.objects)
        self.init = self.state_with([atom for atom in self.text.init if atom.predicate in self.changing])
        """The initial state."""
        goal = [literal for literal in self.goal if literal.atom.predicate in self.changing]
        self.fluent_goal = list(zip(goal, self._indices([literal.atom for literal in goal]), strict=True))
        """The goal's literals that actions change, with the indices of their atoms."""
        self.seconds = clock_seconds() - started
        """How long reading took."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the problem, which the other process reads again."""
        return Task, (self.problem, self._mode)

    @cached_property
    def goal_arrays(self) -> tuple[NDArray[np.int64], Mask]:
        """The indices and signs of `fluent_goal`."""
        indices = np.array([index for _, index in self.fluent_goal], np.int64)
        return indices, np.array([literal.positive for literal, _ in self.fluent_goal], np.bool_)

    def __repr__(self) -> str:
        return f"Task({self.name}, {self.size} objects)"

    @cached_property
    def _index(self) -> ProblemIndex:
        return ProblemIndex(self.domain_text, self.text)

    @cached_property
    def symmetric_objects(self) -> tuple[Mask, Ints]:
        """The objects [n] that only fluents distinguish from another, and their kinds."""
        return self._index.symmetric_objects

    @cached_property
    def model(self) -> GroundModel | None:
        """All reachable actions and atoms as arrays; None if these are too many, or in mode "lifted"."""
        if self._mode == "lifted" or self._searched_model is not None:
            return self._searched_model
        return self._instantiated(None)

    @cached_property
    def _searched_model(self) -> GroundModel | None:
        """The model for searches; None if joins find the candidates, which takes less time for many actions."""
        return None if self._mode == "lifted" else self._instantiated(MOST_SEARCHED)

    def _instantiated(self, most: int | None) -> GroundModel | None:
        """Return the model; None if it has more than `most` actions, or too many of a schema, except if "grounded"."""
        limits = (None, None) if self._mode == "grounded" else (MOST_INSTANCES, most)
        with suppress(TooLarge):
            return GroundModel(self._index, self._indices, not self.missing_static, *limits)
        return None

    @property
    def mode(self) -> Mode:
        """Whether all actions are instantiated before a search."""
        return "lifted" if self._searched_model is None else "grounded"

    def _indices(self, atoms: Iterable[Atom]) -> list[int]:
        """Return the indices of fluent atoms, assigned on first use."""
        indices = list[int]()
        for atom in with_limit_checks(atoms):
            index = self._index_of.setdefault(atom, len(self._atoms))
            if index == len(self._atoms):
                self._atoms.append(atom)
            indices.append(index)
        return indices

    def require_domain(self, text: DomainText) -> None:
        """Raise DomainMismatch if the task's domain differs from the domain of a model."""
        if self.domain_text.signature != text.signature:
            raise DomainMismatch(
                f"{self.name} is of another domain than the model: its domain '{self.domain_text.name}' "
                f"{text.difference(self.domain_text)}; use a model trained on this domain"
            )

    def restarted(self, state: State) -> Problem:
        """Return the same problem with another initial state."""
        return replace(self.problem.in_model, problem_pddl=format_problem(replace(self.text, init=self.atoms(state))))

    def successors(self, state: State, representatives: bool = False) -> Candidates:
        """Return the states one action away, in the order of the PDDL's actions and objects.

        There is one candidate per applicable action; candidates may be equal to each other or to `state`. With
        `representatives`, or with too many applicable actions, there is one per class of actions that differ only in
        interchangeable objects.
        """
        return self.search(state, "none", ONE_STEP, representatives)

    def applicable(self, state: State) -> list[Action]:
        """Return the actions of `successors`."""
        return self.successors(state).actions

    def search(self, state: State, abstraction: Abstraction, limits: SearchLimits, representatives: bool) -> Candidates:
        """Run a width-1 search from a state.

        With `representatives`, or with too many applicable actions, each state of the search applies one of the actions
        that differ only in interchangeable objects.
        """
        fluents = self.fluent_array(state)
        if self._searched_model is None:
            few = representatives or self.has_many_actions
            instances, result = self.lifted.search(fluents, abstraction, limits, few)
        else:
            instances, result = self._searched_model.search(fluents, abstraction, limits, representatives)
        return Candidates(self, state, result, instances)

    def after(self, state: State, action: Action) -> State:
        """Return the state after an applicable action."""
        if action not in self._effects:
            added, deleted = (set(self._indices(atoms)) for atoms in self._effect(action))
            self._effects[action] = added, deleted
        added, deleted = self._effects[action]
        true = set(self.fluents(state))
        changed = np.array(sorted((added - true) | (deleted & true)), np.int32)
        return self._states.after(state, changed)

    def after_all(self, state: State, actions: Iterable[Action]) -> State:
        """Return the state after actions in turn, each in time that does not grow with the state.

        Raises PlanError if one is not applicable.
        """
        before = self._true_atoms(state)
        true = before.copy()
        for action in with_limit_checks(actions):
            if not self._is_applicable(true, action):
                raise PlanError(f"action {action} is not applicable in {self.name} after those before it")
            added, deleted = self._effect(action)
            true.difference_update(deleted)
            true.update(added)
        return self.changed(state, np.array(self._indices(sorted(before ^ true)), np.int32))

    def _effect(self, action: Action) -> tuple[list[Atom], list[Atom]]:
        """Return the atoms that an action adds, and those that it deletes and does not add."""
        schema = self.domain_text.schemas[action.name]
        objects = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        effects = [literal.renamed(objects) for literal in schema.effect]
        added = [atom for atom, positive in effects if positive]
        return added, [atom for atom, positive in effects if not positive and atom not in added]

    def apply(self, state: State, action: Action) -> State:
        """Return the state after `action`. Raises PlanError if it is not applicable."""
        return self.after(state, self.own(state, action))

    def own(self, state: State, action: Action) -> Action:
        """Return the applicable action that equals `action`, or its compiled case in this state. Raises PlanError."""
        if self._is_applicable(self._true_atoms(state), action):
            return action
        for applicable in self.applicable(state):
            if self.original(applicable) == action:
                return applicable
        raise PlanError(f"action {action} is not applicable in {self.name}; expected one of its applicable actions")

    def _is_applicable(self, true: Collection[Atom], action: Action) -> bool:
        """Whether an action instantiates a schema and its precondition holds if these atoms are true."""
        schema, numbers = self.domain_text.schemas.get(action.name), self._index.numbers
        if schema is None or len(schema.parameters) != len(action.objects) or not numbers.keys() >= set(action.objects):
            return False
        typed = list(zip(action.objects, schema.parameters, strict=True))
        if not all(self._index.of_types(types)[numbers[name]] for name, (_, types) in typed):
            return False
        objects = {parameter.name: name for name, parameter in typed}
        precondition = (literal.renamed(objects) for literal in schema.precondition)
        return all(is_true(atom, true) == positive for atom, positive in precondition)

    def _true_atoms(self, state: State) -> set[Atom]:
        return {*self._static, *map(self.fluent, self.fluents(state))}

    @cached_property
    def _static(self) -> frozenset[Atom]:
        return frozenset(self.static_atoms)

    def atoms_of(self, action: Action) -> frozenset[Atom]:
        """Return the atoms in the preconditions and effects of an action."""
        if action not in self._atoms_of:
            schema = self.domain_text.schemas[action.name]
            objects = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
            literals = (*schema.precondition, *schema.effect)
            self._atoms_of[action] = frozenset(literal.renamed(objects).atom for literal in literals)
        return self._atoms_of[action]

    def original(self, action: Action) -> Action:
        """Return the declared action of an action of this task; the action itself if none was compiled."""
        return self.domain_text.original(action)

    def is_goal(self, state: State) -> bool:
        """Whether the goal is satisfied in `state`."""
        return count_open_goals(self, state) == 0

    def fluents(self, state: State) -> list[int]:
        """Return the indices of the fluent atoms true in `state`, ascending; `fluent` maps them to atoms."""
        indices: list[int] = self.fluent_array(state).tolist()
        return indices

    def fluent_array(self, state: State) -> Ints:
        """Return `fluents` as an array, which must not be changed."""
        return self._states.fluents(state)

    def fluent(self, index: int) -> Atom:
        """Return the fluent atom with this index."""
        return self._atoms[index]

    def state_of(self, fluents: Iterable[int]) -> State:
        """Return the state in which exactly these fluents are true."""
        return self._states.of(np.unique(np.fromiter(fluents, np.int32)))

    def changed(self, state: State, fluents: Ints) -> State:
        """Return the state that differs from another in these distinct fluents."""
        return self._states.after(state, np.sort(fluents))

    def state_with(self, atoms: Sequence[Atom]) -> State:
        """Return the state in which exactly these fluent atoms are true."""
        return self.state_of(self._indices(atoms))

    def is_dead_end(self, state: State) -> bool:
        """Whether a reachable state is recognised as a dead end, see `DeadEnds`; False for large or lifted tasks."""
        return self._dead_ends is not None and self._dead_ends.include(self.fluent_array(state))

    @cached_property
    def _dead_ends(self) -> DeadEnds | None:
        model = self.model
        if model is None or len(model) > MOST_INSTANCES:
            return None
        return DeadEnds(model.operators, model.goal, self.fluent_array(self.init))

    @cached_property
    def has_many_actions(self) -> bool:
        """Whether too many actions are initially applicable to list more than representatives."""
        return self.lifted.has_more_successors(self.fluent_array(self.init), MOST_LISTED)

    @cached_property
    def lifted(self) -> LiftedModel:
        """The instantiation of actions state by state."""
        return LiftedModel(self._index, self._indices, self.fluent, not self.missing_static)

    def atoms(self, state: State) -> tuple[Atom, ...]:
        """Return all atoms true in `state`, static ones first; every encoder reads this view."""
        return self.static_atoms + tuple(map(self.fluent, self.fluents(state)))


class Candidates(Sequence[Successor]):
    """States found by a compiled search from one state.

    Candidate i differs from `state` in `changed[indptr[i] : indptr[i + 1]]`. `lengths` [n] are path lengths in actions.
    `goals` [n] marks goal states. `parents` [n] index the full search result, -1 for `state`. `keys` [n] are those of
    the states.
    """

    def __init__(
        self,
        task: Task,
        state: State,
        result: SearchResult,
        instances: Instances | None,
        places: range | None = None,
    ):
        self._task, self._state, self._result, self._instances = task, state, result, instances
        self._places = range(len(result.steps)) if places is None else places  # indices into the search result
        chosen, ends = slice(self._places.start, self._places.stop), self._places.stop + 1
        indptr = result.indptr[self._places.start : ends]
        self.indptr, self.changed = indptr - indptr[0], result.changed[indptr[0] : indptr[-1]]
        self.parents, _, self.lengths, goals = np.ascontiguousarray(result.steps[chosen].T)
        self.goals = goals.astype(np.bool_)
        self.keys = rows_as_bytes(result.identities[chosen] ^ state.identity)
        self._made: dict[int, Successor] = {}

    @classmethod
    def of(cls, task: Task, state: State, successors: Sequence[Successor]) -> Candidates:
        """Wrap existing successors; return candidates unchanged."""
        if isinstance(successors, Candidates):
            return successors
        before = task.fluent_array(state)
        changes = [symmetric_difference(before, task.fluent_array(successor.state)) for successor in successors]
        indptr = np.cumsum([0, *map(len, changes)])
        changed = np.concatenate([before[:0], *changes]).astype(np.int32)
        steps = [
            (-1 if parent is None else parent, -1, len(actions), task.is_goal(after))
            for actions, after, parent in successors
        ]
        identities = identity_changes(indptr, changed)
        no_actions = np.empty(0, np.int32)
        result = SearchResult(np.array(steps, np.int32).reshape(-1, 4), identities, indptr, changed, no_actions)
        made = cls(task, state, result, None)
        made._made = dict(enumerate(successors))
        return made

    @property
    def fluents(self) -> Ints:
        """The indices of the state's true fluents; not kept here, because a rollout keeps many candidates."""
        return self._task.fluent_array(self._state)

    @property
    def actions(self) -> list[Action]:
        """The last action to each candidate [n]."""
        if self._instances is None:
            return [successor.actions[-1] for successor in self]
        last = self._result.actions[self._result.steps[:, ACTION]]
        return [self._instances.action(int(last[place])) for place in with_limit_checks(self._places)]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Successor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Successor]: ...

    def __getitem__(self, index: int | slice) -> Successor | Sequence[Successor]:
        """Return one successor, or a slice of the candidates; `parents` still index the full search result."""
        if isinstance(index, slice):
            if index.step not in (None, 1):
                return [self[place] for place in range(*index.indices(len(self)))]
            part = Candidates(self._task, self._state, self._result, self._instances, self._places[index])
            part._made = self._made
            return part
        place = self._places[index]
        if place not in self._made:
            self._made[place] = self._successor(place)
        return self._made[place]

    def change(self, index: int) -> Ints:
        """Return the fluents in which a candidate's state differs from the expanded node's."""
        return self.changed[self.indptr[index] : self.indptr[index + 1]]

    def _successor(self, place: int) -> Successor:
        result, path = self._result, self._path(place)
        parent = int(result.steps[place, PARENT])
        changed = result.changed[result.indptr[place] : result.indptr[place + 1]]
        state = self._task.changed(self._state, changed)
        return Successor(path, state, None if parent < 0 else parent)

    def _path(self, place: int) -> tuple[Action, ...]:
        actions, instances, result = [], self._instances, self._result
        assert instances is not None, "successors that were given are made"
        while place >= 0:
            parent, last, length, _ = result.steps[place].tolist()
            here = length - (int(result.steps[parent, LENGTH]) if parent >= 0 else 0)
            numbers = result.actions[last + 1 - here : last + 1].tolist()
            actions += [instances.action(number) for number in reversed(numbers)]
            place = parent
        return tuple(reversed(actions))


def parts(choice: Sequence[Successor], most: int) -> Iterator[Sequence[Successor]]:
    """Yield the candidates in order, in slices of at most `most`."""
    for begin in range(0, max(len(choice), 1), most):
        yield choice if len(choice) <= most else choice[begin : begin + most]


def rows_as_bytes(rows: Words) -> list[Hashable]:
    """Convert each row [n, w] to bytes."""
    width, text = rows.itemsize * rows.shape[1], rows.tobytes()
    return [text[start : start + width] for start in range(0, len(text), width)]


def checked(problem: Problem) -> tuple[DomainText, ProblemText]:
    """Return the declarations of a problem, without grounding. Raises PddlError for an unusable problem."""
    domain, text = problem.read()
    require_plain_names(problem, domain, text)
    return domain, text


def replay(task: Task, actions: Sequence[Action]) -> list[State]:
    """Return the states along a plan, the initial one first. Raises PlanError with the first inapplicable step."""
    states = [task.init]
    for step, action in enumerate(actions, start=1):
        try:
            states.append(task.apply(states[-1], action))
        except PlanError as error:
            raise PlanError(f"step {step} of {len(actions)}: {error}") from error
    return states


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a plan: `states[t]` is reached after `actions[:t]`; the last one is a goal state."""

    task: Task
    actions: tuple[Action, ...]
    states: tuple[State, ...]

    @classmethod
    def of(cls, task: Task, actions: tuple[Action, ...]) -> Trajectory:
        """Replay a plan, with compiled cases in place of declared actions. Raises PlanError if it does not solve."""
        states = replay(task, actions)
        if not task.is_goal(states[-1]):
            raise PlanError(f"the plan of {len(actions)} actions for {task.name} ends short of the goal")
        cases = (task.own(state, action) for state, action in zip(states, actions, strict=False))
        return cls(task, tuple(cases), tuple(states))

    def __len__(self) -> int:
        """Return the number of actions."""
        return len(self.actions)


class TaskCache(WeakKeyDictionary[Task, Value]):
    """Values computed for tasks, each dropped with its task. It leaves the process empty."""

    def of(self, task: Task, compute: Callable[[], Value]) -> Value:
        """Return the value of a task, computed on first use."""
        value = self.get(task)
        if value is None:
            value = self[task] = compute()
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def count_open_goals(task: Task, state: State) -> int:
    """Return the number of goal literals that are not satisfied in `state`."""
    if len(task.fluent_goal) <= FEW_FLUENTS:
        return len(missing_goal_atoms(task, state))
    fluents, (indices, positive) = task.fluent_array(state), task.goal_arrays
    true = np.zeros(1 + max(fluents.max(initial=0), indices.max()), np.bool_)
    true[fluents] = True
    return int((true[indices] != positive).sum()) + len(task.missing_static)


def missing_goal_atoms(task: Task, state: State) -> list[Literal]:
    """Return the goal literals that are not satisfied in `state`."""
    true = set(task.fluents(state))
    missing = [literal for literal, index in task.fluent_goal if (index in true) != literal.positive]
    return sorted([*missing, *task.missing_static], key=task.goal.index) if task.missing_static else missing
