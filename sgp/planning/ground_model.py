"""All actions of a grounded task as arrays, for kernels that search without making states."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence

import numpy as np

from sgp.planning.operators import Operators
from sgp.planning.pddl import Action, Atom, Literal, Schema
from sgp.planning.task import GroundAction, Task

_Numbers = dict[str, dict[tuple[str, ...], int]]
"""The index of each fluent, by predicate and arguments."""


class GroundModel:
    """The instantiated actions that can ever be applicable, in the order of the PDDL's actions and objects.

    Atoms are numbered as the task numbers its fluents. `operators` has each action's precondition and effect; an
    atom that an action adds and deletes is added. The task must be grounded: only then are all atoms known that can
    ever be true.
    """

    def __init__(self, task: Task):
        self.fluents = task.known_fluents()
        numbers: _Numbers = {}
        for (predicate, names), index in self.fluents.items():
            numbers.setdefault(predicate, {})[names] = index
        self.actions: list[Action] = []
        needs, forbids, adds, deletes = [], [], [], []
        for schema in task.domain_text.schemas.values():
            precondition, effect = (_Binding(schema, each, numbers) for each in (schema.precondition, schema.effect))
            for arguments in _Instances(task, schema, self.fluents):
                self.actions.append(Action(schema.name, arguments))
                needed, forbidden = precondition.bind(arguments)
                added, deleted = effect.bind(arguments)
                needs.append(needed)
                forbids.append(forbidden)
                adds.append(added)
                deletes.append([index for index in deleted if index not in added])
        self.operators = Operators.of(needs, forbids, adds, deletes, self.atoms)
        self.goal = np.array([self.fluents[atom] for atom in task.goal_atoms if atom in self.fluents], np.int32)
        self._ground: list[GroundAction | None] = [None] * len(self.actions)

    @property
    def atoms(self) -> int:
        """Number of fluent atoms: their indices are below it."""
        return max(self.fluents.values(), default=-1) + 1

    def ground(self, task: Task, number: int) -> GroundAction:
        """An action as the task applies it."""
        known = self._ground[number]
        if known is None:
            known = self._ground[number] = task.ground(self.actions[number])
        return known


_MODELS: weakref.WeakKeyDictionary[Task, GroundModel] = weakref.WeakKeyDictionary()


def ground_model(task: Task) -> GroundModel:
    """A task's ground model; a memo that dies with the task."""
    if task not in _MODELS:
        _MODELS[task] = GroundModel(task)
    return _MODELS[task]


class _Binding:
    """A schema's literals, ready to become the numbers of fluents for given arguments; what is no fluent is left out.

    Bound names are looked up by place: this runs for every literal of every action.
    """

    def __init__(self, schema: Schema, literals: Sequence[Literal], numbers: _Numbers):
        names = [parameter.name for parameter in schema.parameters]
        names += sorted({name for atom, _ in literals for name in atom.objects}.difference(names))
        self._constants = tuple(names[len(schema.parameters) :])
        self._literals = [
            (numbers.get(atom.predicate, {}), [names.index(name) for name in atom.objects], positive)
            for atom, positive in literals
        ]

    def bind(self, arguments: tuple[str, ...]) -> tuple[list[int], list[int]]:
        """The fluents of the positive and of the negative literals."""
        known = arguments + self._constants
        found: tuple[list[int], list[int]] = [], []
        for fluents, places, positive in self._literals:
            index = fluents.get(tuple([known[place] for place in places]))
            if index is not None:
                found[not positive].append(index)
        return found


class _Instances:
    """The arguments of a schema for which its static precondition holds and its fluent one is possible."""

    def __init__(self, task: Task, schema: Schema, fluents: dict[Atom, int]):
        self._names = [parameter.name for parameter in schema.parameters]
        self._fluents, self._task = fluents, task
        fluent_predicates = task.domain_text.fluent_predicates
        self._static = set(task.static_atoms)
        order = {thing.name: place for place, thing in enumerate(task.objects)}
        kinds = {thing.name: set().union(*map(task.domain_text.supertypes, thing.types)) for thing in task.objects}
        fitting = {
            parameter.name: [name for name, above in kinds.items() if above.intersection(parameter.types)]
            for parameter in schema.parameters
        }
        # Each literal is looked at as soon as its last variable is bound. A positive one that a single variable
        # completes gives that variable's values: from static atoms, or from the fluents that can ever be true.
        self._checks: list[list[tuple[Literal, bool]]] = [[] for _ in self._names]
        self._joins: list[list[tuple[Literal, dict[tuple[str, ...], list[str]]]]] = [[] for _ in self._names]
        self._ground: list[Literal] = []
        for literal in schema.precondition:
            atom, positive = literal
            places = [self._names.index(name) for name in atom.objects if name in self._names]
            if not places:
                self._ground.append(literal)
                continue
            last = max(places)
            static = atom.predicate not in fluent_predicates
            if positive and atom.predicate != "=" and places.count(last) == 1:
                source = task.static_atoms if static else tuple(fluents)
                position = list(atom.objects).index(self._names[last])
                table: dict[tuple[str, ...], list[str]] = {}
                for known in source:
                    if known.predicate == atom.predicate:
                        others = known.objects[:position] + known.objects[position + 1 :]
                        table.setdefault(others, []).append(known.objects[position])
                for values in table.values():
                    values.sort(key=order.__getitem__)
                self._joins[last].append((literal, table))
            elif static or positive:
                self._checks[last].append((literal, static))
        self._fitting = [fitting[name] for name in self._names]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        if all(self._holds(*literal, {}) for literal in self._ground):
            yield from self._extend(0, {})

    def _extend(self, depth: int, bound: dict[str, str]) -> Iterator[tuple[str, ...]]:
        if depth == len(self._names):
            yield tuple(bound[name] for name in self._names)
            return
        values = self._fitting[depth]
        for (atom, _), table in self._joins[depth]:
            others = tuple(bound.get(name, name) for name in atom.objects if name != self._names[depth])
            joined = table.get(others, [])
            if len(joined) < len(values):
                kept = set(values)
                values = [value for value in joined if value in kept]
            else:
                kept = set(joined)
                values = [value for value in values if value in kept]
        for value in values:
            bound[self._names[depth]] = value
            if all(self._holds(*literal, bound) for literal, _ in self._checks[depth]):
                yield from self._extend(depth + 1, bound)
        bound.pop(self._names[depth], None)

    def _holds(self, atom: Atom, positive: bool, bound: dict[str, str]) -> bool:
        """Whether a literal holds (static) or can hold (fluent) under a binding."""
        names = tuple(bound.get(name, name) for name in atom.objects)
        if atom.predicate == "=":
            return (names[0] == names[1]) is positive
        ground = Atom(atom.predicate, names)
        if atom.predicate in self._task.domain_text.fluent_predicates:
            return not positive or ground in self._fluents
        return (ground in self._static) is positive
