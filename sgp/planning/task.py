"""Executable form of a problem: states over pymimir, goal test, and candidates found by compiled searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload
from typing import Literal as OneOf
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pymimir.advanced import formalism, search

from sgp.errors import DomainMismatch, PlanError
from sgp.planning.clock import available_memory, check_limits, clock_seconds, with_limit_checks
from sgp.planning.costs import Costs
from sgp.planning.declarations import Action, Atom, DomainText, Literal, ProblemText, is_true
from sgp.planning.hash_table import Ints, Mask, Words
from sgp.planning.instantiation import INSTANCE_BYTES, MOST_INSTANCES, GroundModel, LiftedModel, TooLarge
from sgp.planning.native import native_problem
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.operators import state_identities, state_identity
from sgp.planning.pddl import Problem, format_problem, require_problem
from sgp.planning.problem_index import Instances, ProblemIndex
from sgp.planning.symmetry import symmetric_objects
from sgp.planning.width_search import ACTION, ONE_STEP, PARENT, SearchLimits, SearchResult

State: TypeAlias = search.State
"""One state of one task. Equal and hashable within its task; it cannot leave the process."""

Mode = OneOf["grounded", "lifted"]
Value = TypeVar("Value")

_MOST_CACHED = 8  # arrays of states
MODEL_BYTES = 3 * 10**9  # for one task with more than MOST_INSTANCES
MODEL_SHARE = 0.25  # of the memory that the process may still use, so that other tasks fit, too
FEW_FLUENTS = 256  # true fluents up to which lists and sets take less time than arrays
MOST_LISTED = 10_000  # initially applicable actions up to which pymimir lists all


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

    All actions are instantiated on first use with `mode` "grounded", or if they are few (`instantiation`), or for a
    lookahead if they fit into a share of the process's memory. Otherwise, and with "lifted", only the actions
    applicable in a state are instantiated.
    Candidates are the same in both modes. States live as long as their task: use a task for one batch of rollouts.

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
        self._fluents: dict[int, Atom] = {}
        self._arrays: dict[State, Ints] = {}  # a cache
        self._ground_actions: dict[Action, formalism.GroundAction] = {}
        # pymimir takes a tenth of a millisecond to read an atom, so it gets only the atoms of state and goal.
        check_limits()
        self._native = native_problem(self.problem, self.domain_text, self.text)
        check_limits()
        lifted = search.SearchContextOptions(search.LiftedOptions(search.LiftedExhaustiveOptions()))
        self._context = search.SearchContext.create(self._native, lifted)  # owns the repository
        self._repository = self._context.get_state_repository()
        self.init: State = self.state_with([atom for atom in self.text.init if atom.predicate in self.changing])
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
        return symmetric_objects(self._index)

    @cached_property
    def _small_model(self) -> GroundModel | None:
        """The model of a task of at most MOST_INSTANCES instances of a schema, or of mode "grounded"; else None."""
        if self._mode == "lifted":
            return None
        with suppress(TooLarge):
            most = None if self._mode == "grounded" else MOST_INSTANCES
            return GroundModel(self._index, self._indices, not self.missing_static, most)
        return None

    @cached_property
    def model(self) -> GroundModel | None:
        """All reachable actions and atoms as arrays; None if actions are instantiated on demand."""
        if self._mode == "lifted" or self._small_model is not None:
            return self._small_model
        # With very many initially applicable actions, only one per class of interchangeable objects is listed.
        if not self.has_many_actions:
            in_all = int(min(MODEL_BYTES, MODEL_SHARE * available_memory()) / INSTANCE_BYTES)
            with suppress(TooLarge):
                return GroundModel(self._index, self._indices, not self.missing_static, None, in_all)
        return None

    @property
    def mode(self) -> Mode:
        """Whether all actions are instantiated before a search."""
        return "lifted" if self.model is None else "grounded"

    def _indices(self, atoms: Sequence[Atom]) -> list[int]:
        """Return the indices of fluent atoms."""
        predicates = {native.get_name(): native for native in self._native.get_domain().get_fluent_predicates()}
        (_, objects), make = self._native_names, self._native.get_or_create_ground_atom
        indices = [
            make(predicates[predicate], [objects[name] for name in names]).get_index()
            for predicate, names in with_limit_checks(atoms)
        ]
        self._fluents.update(zip(indices, atoms, strict=True))
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
        # One step does not pay for the instantiation of a large task's actions.
        model = self._small_model if limits.one_step else self.model
        if model is None or self.joins(representatives):
            few = representatives or self.has_many_actions
            instances, result = self.lifted.search(fluents, abstraction, limits, few)
        else:
            instances, result = model.search(fluents, abstraction, limits, representatives)
        return Candidates(self, state, fluents, result, instances)

    def after(self, state: State, action: Action) -> State:
        """Return the state after an applicable action."""
        native = self._ground_actions.get(action)
        if native is None:
            schemas, objects = self._native_names
            native = self._native.ground(schemas[action.name], [objects[name] for name in action.objects])
            self._ground_actions[action] = native
        successor: State = self._repository.get_or_create_successor_state(state, native, 0.0)[0]
        return successor

    def apply(self, state: State, action: Action) -> State:
        """Return the state after `action`. Raises PlanError if it is not applicable."""
        return self.after(state, self.own(state, action))

    def own(self, state: State, action: Action) -> Action:
        """Return the applicable action that equals `action`, or its compiled case in this state. Raises PlanError."""
        if self._is_applicable(state, action):
            return action
        for applicable in self.applicable(state):
            if self.original(applicable) == action:
                return applicable
        raise PlanError(f"action {action} is not applicable in {self.name}; expected one of its applicable actions")

    def _is_applicable(self, state: State, action: Action) -> bool:
        """Whether an action instantiates a schema and is applicable, without a search of other instances."""
        schema, numbers = self.domain_text.schemas.get(action.name), self._index.numbers
        if schema is None or len(schema.parameters) != len(action.objects) or not numbers.keys() >= set(action.objects):
            return False
        typed = list(zip(action.objects, schema.parameters, strict=True))
        if not all(self._index.of_types(types)[numbers[name]] for name, (_, types) in typed):
            return False
        true = self._static | set(map(self.fluent, self.fluents(state)))
        objects = {parameter.name: name for name, parameter in typed}
        precondition = (literal.renamed(objects) for literal in schema.precondition)
        return all(is_true(atom, true) == positive for atom, positive in precondition)

    @cached_property
    def _static(self) -> frozenset[Atom]:
        return frozenset(self.static_atoms)

    def original(self, action: Action) -> Action:
        """Return the declared action of an action of this task; the action itself if none was compiled."""
        return self.domain_text.original(action)

    def is_goal(self, state: State) -> bool:
        """Whether the goal is satisfied in `state`."""
        if self.missing_static:
            return False
        true = set(state.get_fluent_atoms())
        return all((index in true) == literal.positive for literal, index in self.fluent_goal)

    def fluents(self, state: State) -> list[int]:
        """Return the indices of the fluent atoms true in `state`, ascending; `fluent` maps them to atoms."""
        return list(state.get_fluent_atoms())

    def fluent_array(self, state: State) -> Ints:
        """Return `fluents` as an array; that of a recent state is cached, because pymimir lists atoms one by one."""
        array = self._arrays.get(state)
        return np.array(self.fluents(state), np.int32) if array is None else array

    def cache_fluents(self, state: State, fluents: Ints) -> None:
        """Cache the array of a state that is likely to be the next one."""
        if len(self._arrays) == _MOST_CACHED:
            del self._arrays[next(iter(self._arrays))]
        self._arrays[state] = fluents

    def fluent(self, index: int) -> Atom:
        """Return the fluent atom with this index."""
        atom = self._fluents.get(index)
        if atom is None:
            (native,) = self._native.get_repositories().get_fluent_ground_atoms_from_indices([index])
            objects = tuple([argument.get_name() for argument in native.get_objects()])
            atom = self._fluents[index] = Atom(native.get_predicate().get_name(), objects)
        return atom

    def state_of(self, fluents: Iterable[int]) -> State:
        """Return the state in which exactly these fluents are true."""
        known = self._native.get_repositories().get_fluent_ground_atoms_from_indices(list(fluents))
        state: State = self._repository.get_or_create_state(known, [])[0]
        return state

    def state_with(self, atoms: Sequence[Atom]) -> State:
        """Return the state in which exactly these fluent atoms are true."""
        return self.state_of(self._indices(atoms))

    def joins(self, representatives: bool) -> bool:
        """Whether joins find the candidates: without full instantiation, or if representatives are far fewer."""
        return self.model is None or (representatives and len(self.model) > MOST_LISTED and self.has_many_actions)

    def is_relaxed_dead_end(self, state: State) -> bool:
        """Whether a state is a dead end under delete relaxation (h_max infinite); False for large or lifted tasks."""
        model = self._small_model
        if model is None or len(model) > MOST_INSTANCES:
            return False
        return model.is_relaxed_dead_end(self.fluents(state))

    @cached_property
    def has_many_actions(self) -> bool:
        """Whether too many actions are initially applicable to list more than representatives."""
        return self.lifted.has_more_successors(np.array(self.fluents(self.init), np.int32), MOST_LISTED)

    @cached_property
    def lifted(self) -> LiftedModel:
        """The instantiation of actions state by state."""
        return LiftedModel(self._index, self._indices, self.fluent, not self.missing_static)

    @cached_property
    def _native_names(self) -> tuple[dict[str, formalism.Action], dict[str, formalism.Object]]:
        schemas = {native.get_name(): native for native in self._native.get_domain().get_actions()}
        return schemas, {native.get_name(): native for native in self._native.get_problem_and_domain_objects()}

    def atoms(self, state: State) -> tuple[Atom, ...]:
        """Return all atoms true in `state`, static ones first; every encoder reads this view."""
        return self.static_atoms + tuple(map(self.fluent, self.fluents(state)))


class Candidates(Sequence[Successor]):
    """States found by a compiled search from one state.

    `fluents` are the indices of the true fluents of `state`. Candidate i differs from `state` in `changed[indptr[i] :
    indptr[i + 1]]`. `lengths` [n] are path lengths in actions. `goals` [n] marks goal states. `parents` [n] index the
    full search result, -1 for `state`. `identities` [n] distinguish states; each is one of the `state_keys`.
    """

    def __init__(
        self,
        task: Task,
        state: State,
        fluents: Ints,
        result: SearchResult,
        instances: Instances | None,
        places: range | None = None,
    ):
        self._task, self._state, self._result, self._instances = task, state, result, instances
        self._places = range(len(result.steps)) if places is None else places  # indices into the search result
        chosen, ends = slice(self._places.start, self._places.stop), self._places.stop + 1
        indptr = result.indptr[self._places.start : ends]
        self.fluents, self.indptr, self.changed = fluents, indptr - indptr[0], result.changed[indptr[0] : indptr[-1]]
        self.parents, _, self.lengths, goals = np.ascontiguousarray(result.steps[chosen].T)
        self.goals = goals.astype(np.bool_)
        self.identities: list[Hashable] = rows_as_bytes(result.identities[chosen])
        self._made: dict[int, Successor] = {}

    @classmethod
    def of(cls, task: Task, state: State, successors: Sequence[Successor]) -> Candidates:
        """Wrap existing successors; return candidates unchanged."""
        if isinstance(successors, Candidates):
            return successors
        before = np.array(task.fluents(state), np.int32)
        changes = [np.setxor1d(before, task.fluents(successor.state)) for successor in successors]
        indptr = np.cumsum([0, *map(len, changes)])
        changed = np.concatenate([before[:0], *changes]).astype(np.int32)
        steps = [
            (-1 if parent is None else parent, -1, len(actions), task.is_goal(after))
            for actions, after, parent in successors
        ]
        identities = state_identities(before, indptr, changed)
        result = SearchResult(np.array(steps, np.int32).reshape(-1, 4), identities, indptr, changed)
        made = cls(task, state, before, result, None)
        made._made = dict(enumerate(successors))
        return made

    @property
    def actions(self) -> list[Action]:
        """The last action to each candidate [n]."""
        if self._instances is None:
            return [successor.actions[-1] for successor in self]
        return [
            self._instances.action(int(self._result.steps[place, ACTION])) for place in with_limit_checks(self._places)
        ]

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
            part = Candidates(self._task, self._state, self.fluents, self._result, self._instances, self._places[index])
            part._made = self._made
            return part
        place = self._places[index]
        if place not in self._made:
            self._made[place] = self._successor(place)
        return self._made[place]

    def _successor(self, place: int) -> Successor:
        result, path = self._result, self._path(place)
        parent = int(result.steps[place, PARENT])
        changed = result.changed[result.indptr[place] : result.indptr[place + 1]]
        if len(self.fluents) > FEW_FLUENTS:
            fluents = _toggled(self.fluents, np.sort(changed))
            state = self._task.after(self._state, path[0]) if parent < 0 else self._task.state_of(fluents.tolist())
            self._task.cache_fluents(state, fluents)
            return Successor(path, state, None if parent < 0 else parent)
        if parent < 0:
            return Successor(path, self._task.after(self._state, path[0]))
        true = {*self.fluents.tolist()}.symmetric_difference(changed.tolist())
        return Successor(path, self._task.state_of(sorted(true)), parent)

    def _path(self, place: int) -> tuple[Action, ...]:
        actions, instances = [], self._instances
        assert instances is not None, "successors that were given are made"
        while place >= 0:
            actions.append(instances.action(int(self._result.steps[place, ACTION])))
            place = int(self._result.steps[place, PARENT])
        return tuple(reversed(actions))


def _toggled(fluents: Ints, changed: Ints) -> Ints:
    """Return the symmetric difference of two ascending arrays, the second of which is short."""
    places = np.searchsorted(fluents, changed)
    true = fluents[np.minimum(places, len(fluents) - 1)] == changed
    rest = np.delete(fluents, places[true])
    return np.insert(rest, np.searchsorted(rest, changed[~true]), changed[~true])


def parts(choice: Sequence[Successor], most: int) -> Iterator[Sequence[Successor]]:
    """Yield the candidates in order, in slices of at most `most`."""
    for begin in range(0, max(len(choice), 1), most):
        yield choice if len(choice) <= most else choice[begin : begin + most]


def state_keys(task: Task, state: State) -> tuple[Hashable, Hashable]:
    """Return the two keys of a state among candidates: the state itself, and the identity of its fluents."""
    return state, state_identity(np.array(task.fluents(state), np.int32)).tobytes()


def rows_as_bytes(rows: Words) -> list[Hashable]:
    """Convert each row [n, w] to bytes."""
    width, text = rows.itemsize * rows.shape[1], rows.tobytes()
    return [text[start : start + width] for start in range(0, len(text), width)]


def checked(problem: Problem) -> tuple[DomainText, ProblemText]:
    """Return the declarations of a problem, without grounding. Raises PddlError for an unusable problem."""
    domain, text = problem.read()
    native_problem(problem, domain, text)
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
