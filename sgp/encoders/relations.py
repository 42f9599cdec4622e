"""States as relations over numbered objects, in arrays: the input of a relational graph neural network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.atom_numbers import AtomNumbers
from sgp.planning.pddl import OBJECT, DomainText
from sgp.planning.task import State, Successor, Task, TaskCache

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
        start, ends = 0, np.cumsum(self.weights)
        while start < len(self):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + weight, "right")), start + 1)
            yield self.select(np.arange(start, stop))
            start = stop

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

    A goal atom is in the relation of the state's true or false goal atoms, as in pymimir-rgnn, in addition to the
    state's own relation. An atom without objects is a tuple of every object, so that the network sees it. An object is
    in the relations of its type and of all supertypes except the root. Static atoms are included.
    """

    def __init__(self, domain: DomainText):
        self.domain = domain
        found = {}
        for name, arity in domain.predicates.items():
            for relation in (name, _goal_relation(name, True), _goal_relation(name, False)):
                found[relation] = max(arity, 1)
        types = set().union(*map(domain.supertypes, domain.types)) - {OBJECT}  # some types are declared only as parents
        found |= {_type_relation(name): 1 for name in types}
        self.relations: Mapping[str, int] = dict(sorted(found.items()))  # arities; a network depends on the order
        self._numberings: TaskCache[Numbering] = TaskCache()

    def refuses(self, task: Task) -> str | None:
        """Return why the problem cannot be encoded, or None. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain)
        if not task.objects:
            return "the problem has no objects, which a relational network computes with"
        negated = [str(literal.atom) for literal in task.goal if not literal.positive]
        if negated:
            return (
                f"the goal wants {negated[0]} to be false, but relations have only the positive atoms of a goal; "
                "replace it by a predicate that is true instead"
            )
        return None

    def encode(self, task: Task, states: Sequence[State]) -> RelationalStates:
        """Return the relations of states of one task, for which `refuses` returns None."""
        return self.numbering(task).encode(states)

    def numbering(self, task: Task) -> Numbering:
        """Return the numbers of one task's objects and atoms, cached while the task lives."""
        numbering = self._numberings.get(task)
        if numbering is None:
            numbering = self._numberings[task] = Numbering(task, self.relations)
        return numbering


class AtomChanges(NamedTuple):
    """The atoms in which candidates differ from their state; change i belongs to candidate `owners[i]`.

    `arguments` [m, longest arity] are padded. `added` is true for atoms of the candidate that the state lacks, `wanted`
    for goal atoms.
    """

    owners: NDArray[np.int64]
    predicates: NDArray[np.int64]
    arguments: Arguments
    added: NDArray[np.bool_]
    wanted: NDArray[np.bool_]


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
            for kind in set().union(*map(text.supertypes, item.types)) - {OBJECT}:
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

    def atom_changes(self, state: State, choice: Sequence[Successor]) -> AtomChanges:
        """Return the fluent atoms in which a state's candidates differ from it."""
        _, atoms, _, first, changed = self.changes([state], [choice])
        predicates, arguments = self._layout()
        true, wanted = (np.zeros(len(self.atoms), bool) for _ in range(2))
        true[atoms], wanted[self._goal] = True, True
        owners: NDArray[np.int64] = np.repeat(np.arange(len(choice)), np.diff(first))
        return AtomChanges(owners, predicates[changed], arguments[changed], ~true[changed], wanted[changed])

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
