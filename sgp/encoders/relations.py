"""A task's objects and atoms as numbers, and states as relations over them: arrays for kernels and networks."""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.planning.pddl import OBJECT, Atom, DomainText
from sgp.planning.states import State
from sgp.planning.task import Candidates, Successor, Task, TaskCache

_UNKNOWN = -1


class Changes(NamedTuple):
    """The true fluent atoms of s states, and the atoms in which each of their b candidates differs from its state.

    State i has `atoms[first_atom[i] : first_atom[i + 1]]` and the candidates from `first_candidate[i]` on; candidate j
    differs in `changed[first_change[j] : first_change[j + 1]]`.
    """

    first_atom: NDArray[np.int64]  # [s + 1]
    atoms: NDArray[np.int32]
    first_candidate: NDArray[np.int64]  # [s + 1]
    first_change: NDArray[np.int64]  # [b + 1]
    changed: NDArray[np.int32]


class AtomNumbers:
    """A task's objects and atoms as numbers; atoms are numbered, and described, when first needed."""

    def __init__(self, task: Task):
        self._task_reference = weakref.ref(task)  # a strong reference would keep the task alive in the encoder's cache
        self.objects = {item.name: place for place, item in enumerate(task.objects)}
        self.atoms: dict[Atom, int] = {}
        # Typed arrays, because these grow over a rollout and are copied often.
        self.first_argument, self.arguments = array("i", [0]), array("i")
        self._fluents = np.full(1, _UNKNOWN, np.int32)  # numbers by the task's indices of fluent atoms

    def number(self, atom: Atom) -> int:
        """Return the number of an atom."""
        number = self.atoms.get(atom)
        if number is None:
            number = self.atoms[atom] = len(self.atoms)
            self.arguments.extend([self.objects[name] for name in self.describe(atom)])
            self.first_argument.append(len(self.arguments))
        return number

    def describe(self, atom: Atom) -> Sequence[str]:
        """Return the names of a new atom's arguments."""
        return atom.objects

    def of(self, states: Sequence[State]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the start of each state's atoms [b + 1] and the numbers of the states' true fluent atoms."""
        fluents = list(map(self._task.fluent_array, states))
        first = np.cumsum([0, *map(len, fluents)])
        return first, self._numbers(np.concatenate([np.empty(0, np.int32), *fluents]))

    def changes(self, states: Sequence[State], choices: Sequence[Sequence[Successor]]) -> Changes:
        """Return the true atoms of states and the changes to their candidates."""
        pairs = zip(states, choices, strict=True)
        parts = [Candidates.of(self._task, state, choice) for state, choice in pairs]
        if len(parts) == 1:  # of a decision: nothing to join
            atoms, changed = self._numbers(parts[0].fluents), self._numbers(parts[0].changed)
            first_change = parts[0].indptr.astype(np.int64, copy=False)
            return Changes(np.array([0, len(atoms)]), atoms, np.array([0, len(parts[0])]), first_change, changed)
        nothing = np.empty(0, np.int32)
        before = np.cumsum([0, *(len(part.changed) for part in parts)])  # changes of earlier states' candidates
        return Changes(
            np.cumsum([0, *(len(part.fluents) for part in parts)]),
            self._numbers(np.concatenate([nothing, *(part.fluents for part in parts)])),
            np.cumsum([0, *map(len, parts)]),
            np.concatenate([[0], *(part.indptr[1:] + more for part, more in zip(parts, before, strict=False))]),
            self._numbers(np.concatenate([nothing, *(part.changed for part in parts)])),
        )

    def _numbers(self, fluents: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of fluent atoms by the task's indices."""
        try:
            numbers = self._fluents[fluents]
        except IndexError:
            numbers = np.full(1, _UNKNOWN, np.int32)
        if len(fluents) and numbers.min() == _UNKNOWN:
            new = np.unique(fluents)
            if new[-1] >= len(self._fluents):
                grown = np.full(2 * int(new[-1]) + 64, _UNKNOWN, np.int32)
                grown[: len(self._fluents)] = self._fluents
                self._fluents = grown
            for index in new[self._fluents[new] == _UNKNOWN].tolist():
                self._fluents[index] = self.number(self._task.fluent(index))
            numbers = self._fluents[fluents]
        return np.asarray(numbers)

    @property
    def _task(self) -> Task:
        task = self._task_reference()
        assert task is not None, "states outlived their task"
        return task


Arguments = NDArray[np.int32]  # int32 halves the memory of the training states


@dataclass(frozen=True, eq=False)
class Relation:
    """The tuples of one relation in n states: state i has `arguments[first[i] : first[i + 1]]`."""

    first: NDArray[np.int64]  # [n + 1]
    arguments: Arguments  # [m, arity], objects by their index in their own state


@dataclass(frozen=True, eq=False)
class RelationalStates:
    """States of tasks of one domain: each state's number of objects, `objects` [n], and all relations' tuples."""

    objects: NDArray[np.int64]
    relations: Mapping[str, Relation]

    def __len__(self) -> int:
        """Number of states, n."""
        return len(self.objects)

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Number of arguments of all tuples of each state [n], a measure of its time and memory."""
        total = np.zeros(len(self), np.int64)
        for relation in self.relations.values():
            total += np.diff(relation.first) * relation.arguments.shape[1]
        return total

    def select(self, places: NDArray[np.int64]) -> RelationalStates:
        """Return the states with the indices `places`, in this order."""
        return RelationalStates(
            self.objects[places], {name: _select(relation, places) for name, relation in self.relations.items()}
        )

    def parts(self, weight: int) -> Iterator[RelationalStates]:
        """Yield consecutive parts of at most `weight` arguments; a state with more arguments is a part of its own."""
        yield from map(self.select, self.places(weight))

    def places(self, weight: int) -> list[NDArray[np.int64]]:
        """Return the indices of the states in each of these parts."""
        cuts, total = list[int](), 0
        for place, more in enumerate(self.weights.tolist()):
            total += more
            if total > weight and place:
                cuts.append(place)
                total = more
        return np.split(np.arange(len(self)), cuts) if len(self) else []

    def joined_arguments(self) -> dict[str, NDArray[np.int64]]:
        """Return each relation's tuples [m, arity], with the objects of all states numbered consecutively."""
        before = np.cumsum(self.objects) - self.objects
        found = {}
        for name, relation in self.relations.items():
            shift: NDArray[np.int64] = np.repeat(before, np.diff(relation.first))
            found[name] = shift[:, None] + relation.arguments
        return found


def concatenate(parts: Sequence[RelationalStates]) -> RelationalStates:
    """Concatenate at least one collection of states."""
    relations = {}
    for name in parts[0].relations:
        each = [part.relations[name] for part in parts]
        counts = np.concatenate([np.diff(relation.first) for relation in each])
        relations[name] = Relation(_firsts(counts), np.concatenate([relation.arguments for relation in each]))
    return RelationalStates(np.concatenate([part.objects for part in parts]), relations)


class RelationalEncoder:
    """Encoder of states as relations: three for each predicate (state, true goals, false goals) and one for each type.

    A goal atom is in a goal relation (as in pymimir-rgnn) and in the state's own. An atom without objects is a tuple of
    every object. An object is in the relations of its type and all supertypes except the root.
    """

    def __init__(self, domain: DomainText):
        self.domain = domain
        found = {}
        for name, arity in domain.predicates.items():
            for relation in (name, _goal_relation(name, True), _goal_relation(name, False)):
                found[relation] = max(arity, 1)
        found |= {_type_relation(name): 1 for name in supertypes(domain, domain.types)}
        self.relations: Mapping[str, int] = dict(sorted(found.items()))  # arities; a network depends on the order
        self._numberings: TaskCache[Numbering] = TaskCache()

    def refuses(self, task: Task) -> str | None:
        """Return why the problem cannot be encoded, or None. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain)
        if not task.objects:
            return "the problem has no objects, which a relational network computes with"
        return refusal_of_goal(task, "relations")

    def encode(self, task: Task, states: Sequence[State]) -> RelationalStates:
        """Return the relations of states of one task, for which `refuses` returns None."""
        return self.numbering(task).encode(states)

    def numbering(self, task: Task) -> Numbering:
        """Return the numbers of one task's objects and atoms, cached while the task lives."""
        return self._numberings.of(task, lambda: Numbering(task, self.relations))


class Numbering(AtomNumbers):
    """One task's objects and atoms as numbers, and its states as relations."""

    def __init__(self, task: Task, relations: Mapping[str, int]):
        super().__init__(task)
        text = task.domain_text
        self._relations = relations
        self.predicates = {name: place for place, name in enumerate(text.predicates)}  # indices in the domain
        self._arities = list(text.predicates.values())
        # An equation between objects is not an atom of a state: its truth never changes.
        wanted = [atom for atom in dict.fromkeys(task.goal_atoms) if atom.predicate in text.predicates]
        self._goal = np.array([self.number(atom) for atom in wanted], np.int64)
        self._static = np.array([self.number(atom) for atom in task.static_atoms], np.int64)
        self._kinds: dict[str, list[int]] = {}
        for place, item in enumerate(task.objects):
            for kind in supertypes(text, item.types):
                self._kinds.setdefault(_type_relation(kind), []).append(place)
        self._tables: tuple[NDArray[np.int64], Arguments] | None = None

    def encode(self, states: Sequence[State]) -> RelationalStates:
        """Return the states' relations."""
        first, fluents = self.of(states)
        every = np.arange(len(states))
        owners = np.concatenate([np.repeat(every, np.diff(first)), np.repeat(every, len(self._static))])
        atoms = np.concatenate([fluents, np.tile(self._static, len(states))])
        true = np.zeros((len(states), len(self.atoms)), bool)
        true[owners, atoms] = True
        reached = true[:, self._goal]  # [n, goal atoms]
        found = self._by_predicate(owners, atoms, len(states), str)
        for holds in (True, False):
            owners, places = np.nonzero(reached == holds)
            found |= self._by_predicate(owners, self._goal[places], len(states), partial(_goal_relation, holds=holds))
        for name in self._relations.keys() - found.keys():
            items = np.array(self._kinds.get(name, []), np.int32)
            found[name] = Relation(np.arange(len(states) + 1) * len(items), np.tile(items, len(states))[:, None])
        return RelationalStates(
            np.full(len(states), len(self.objects)), {name: found[name] for name in self._relations}
        )

    def atom_changes(
        self, state: State, choice: Sequence[Successor]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Arguments, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the fluent atoms [m] in which candidates differ from their state.

        For each atom: the candidate, the predicate, the arguments, whether it is added, and whether it is a goal atom.
        """
        _, atoms, _, first, changed = self.changes([state], [choice])
        predicates, arguments = self._layout()
        true, wanted = (np.zeros(len(self.atoms), bool) for _ in range(2))
        true[atoms], wanted[self._goal] = True, True
        owners: NDArray[np.int64] = np.repeat(np.arange(len(choice)), np.diff(first))
        return owners, predicates[changed], arguments[changed], ~true[changed], wanted[changed]

    def _by_predicate(
        self, owners: NDArray[np.int64], atoms: NDArray[np.int64], count: int, name: Callable[[str], str]
    ) -> dict[str, Relation]:
        """Return the relation of each predicate; within a predicate, the owners of atoms must ascend."""
        predicates, arguments = self._layout()
        found = {}
        for predicate, place in self.predicates.items():
            chosen = predicates[atoms] == place
            counts = np.bincount(owners[chosen], minlength=count)
            arity = self._arities[place]
            rows = arguments[atoms[chosen], :arity]
            if arity == 0:
                rows = np.tile(np.arange(len(self.objects), dtype=np.int32), len(rows))[:, None]
                counts = counts * len(self.objects)
            found[name(predicate)] = Relation(_firsts(counts), rows)
        return found

    def _layout(self) -> tuple[NDArray[np.int64], Arguments]:
        """Return each atom's predicate [a] and objects [a, longest arity]."""
        if self._tables is None or len(self._tables[0]) < len(self.atoms):
            arguments = np.zeros((len(self.atoms), max(self._arities, default=0)), np.int32)
            for number, atom in enumerate(self.atoms):
                arguments[number, : len(atom.objects)] = [self.objects[name] for name in atom.objects]
            predicates = np.array([self.predicates[atom.predicate] for atom in self.atoms], np.int64)
            self._tables = predicates, arguments
        return self._tables


def refusal_of_goal(task: Task, what: str) -> str | None:
    """Return why a goal with negated literals cannot be represented by relations or tokens, or None."""
    negated = next((literal.atom for literal in task.goal if not literal.positive), None)
    if negated is None:
        return None
    return (
        f"the goal wants {negated} to be false, but {what} have only the positive atoms of a goal; replace it by a "
        "predicate that is true instead"
    )


def refusal_of_schemas(domain: DomainText, task: Task) -> str | None:
    """Return why a task whose actions are not those of the domain cannot be represented, or None."""
    names = ", ".join(sorted(set(task.domain_text.schemas) ^ set(domain.schemas)))
    return f"actions {names} are cases of one with quantifiers, which other problems have otherwise" if names else None


def supertypes(domain: DomainText, types: Iterable[str]) -> set[str]:
    """Return types with all their supertypes but the root; some types are declared only as parents."""
    return set().union(*map(domain.supertypes, types)) - {OBJECT}


def _goal_relation(predicate: str, holds: bool) -> str:
    return f"{predicate}:goal-{str(holds).lower()}"


def _type_relation(name: str) -> str:
    return f"{name}:type"


def _firsts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each run of the given lengths, and the end of the last [n + 1]."""
    return np.concatenate([[0], np.cumsum(counts)])


def _select(relation: Relation, places: NDArray[np.int64]) -> Relation:
    counts = np.diff(relation.first)[places]
    first = _firsts(counts)
    rows = np.repeat(relation.first[places] - first[:-1], counts) + np.arange(first[-1])
    return Relation(first, relation.arguments[rows])
