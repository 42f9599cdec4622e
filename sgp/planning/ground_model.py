"""All actions of a grounded task as arrays, for kernels that search without making states."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sgp.planning.operators import Goal, Ints, Lists, Operators
from sgp.planning.pddl import Action, Atom, Literal, Schema
from sgp.planning.task import Task

_AT_A_TIME = 10_000  # bindings that are extended together

_Places = NDArray[np.int64]
_Mask = NDArray[np.bool_]


class GroundModel:
    """The instantiated actions that can ever be applicable, in the order of the PDDL's actions and objects.

    Atoms are numbered as the task numbers its fluents. `operators` has each action's precondition and effect; an
    atom that an action adds and deletes is added. The task must be grounded: only then are all atoms known that can
    ever be true.
    """

    def __init__(self, task: Task):
        self.fluents = task.known_fluents()
        self.atoms = max(self.fluents.values(), default=-1) + 1  # the indices of all fluents are below it
        facts = _Facts(task, self.fluents)
        self._names = [thing.name for thing in task.objects]
        self._schemas: list[tuple[str, Ints]] = []  # each action's name, and the arguments of its instances [m, p]
        parts: list[tuple[_Places, ...]] = []  # of each schema what its instances need, forbid, add and delete
        for schema in task.domain_text.schemas.values():
            rows = facts.instances(schema)
            self._schemas.append((schema.name, rows.astype(np.int32)))
            needed, forbidden = facts.fluents(schema, schema.precondition, rows)
            added, deleted = facts.fluents(schema, schema.effect, rows)
            deleted[(deleted[:, :, None] == added[:, None, :]).any(axis=2)] = -1
            parts.append((needed, forbidden, added, deleted))
        self._ends = list(accumulate(len(rows) for _, rows in self._schemas))
        self._actions: dict[int, Action] = {}
        needs, forbids, adds, deletes = map(_lists, zip(*parts, strict=True))
        self.operators = Operators.of(needs, forbids, adds, deletes, self.atoms)
        self.goal = self._goal(task)

    def __len__(self) -> int:
        """The number of actions."""
        return self._ends[-1]

    def action(self, number: int) -> Action:
        """An action's name and arguments."""
        known = self._actions.get(number)
        if known is None:
            which = bisect_right(self._ends, number)
            name, rows = self._schemas[which]
            arguments = rows[number - self._ends[which]].tolist()  # counted from the end
            known = self._actions[number] = Action(name, tuple([self._names[argument] for argument in arguments]))
        return known

    def _goal(self, task: Task) -> Goal:
        fluent = {each for each in task.goal if each.atom.predicate in task.domain_text.fluent_predicates}
        wanted, unwanted = ({each.atom for each in fluent if each.positive is kind} for kind in (True, False))
        known = self.fluents
        return Goal(
            np.array(sorted(known[atom] for atom in wanted if atom in known), np.int32),
            np.array(sorted(known[atom] for atom in unwanted if atom in known), np.int32),
            task.static_goal_holds and wanted <= known.keys(),
        )


_MODELS: weakref.WeakKeyDictionary[Task, GroundModel] = weakref.WeakKeyDictionary()


def ground_model(task: Task) -> GroundModel:
    """A task's ground model; a memo that dies with the task."""
    if task not in _MODELS:
        _MODELS[task] = GroundModel(task)
    return _MODELS[task]


def _lists(parts: Sequence[NDArray[np.int64]]) -> Lists:
    """The rows of all parts [m, l] as lists; -1 stands for nothing."""
    counts = np.concatenate([np.zeros(1, np.int64), *((part >= 0).sum(axis=1) for part in parts)])
    values = np.concatenate([part[part >= 0] for part in parts])
    return Lists(np.cumsum(counts).astype(np.int32), values.astype(np.int32))


class _Relation:
    """Atoms of one predicate, their arguments as the numbers of objects [k, arity], and a number for each.

    Looked up argument by argument, as in a trie: what is known of the first ones is a number below k.
    """

    def __init__(self, arguments: _Places, numbers: _Places, size: int):
        self.arguments, self._size = arguments, size
        self._levels: list[_Places] = []
        code = np.zeros(len(arguments), np.int64)
        for column in arguments.T:
            known, code = np.unique(code * size + column, return_inverse=True)
            self._levels.append(known)
        self._numbers = np.full(max(len(arguments), 1), -1)
        self._numbers[code] = numbers

    def find(self, columns: Sequence[_Places], count: int) -> _Places:
        """The numbers [count] of the atoms with these arguments, columns [count] each; -1 where there is none."""
        if not len(self.arguments):
            return np.full(count, -1)
        code, found = np.zeros(count, np.int64), np.ones(count, np.bool_)
        for known, column in zip(self._levels, columns, strict=True):
            code = code * self._size + column
            place = np.minimum(np.searchsorted(known, code), len(known) - 1)
            found &= known[place] == code
            code = place
        return np.where(found, self._numbers[code], -1)

    def extensions(self, position: int, columns: Sequence[_Places], count: int) -> tuple[_Places, _Places]:
        """For each of `count` rows the objects that can stand at a position, given columns for the other ones.

        Which row each extension belongs to, and the object.
        """
        others = np.delete(self.arguments, position, axis=1)
        groups = _Relation(others, np.arange(len(others)), self._size)  # one atom of each group stands for it
        own = groups.find(list(others.T), len(others))
        order = np.argsort(own, kind="stable")
        of_row = groups.find(columns, count)
        begin = np.searchsorted(own[order], of_row, side="left")
        counts = np.where(of_row < 0, 0, np.searchsorted(own[order], of_row, side="right") - begin)
        row = np.repeat(np.arange(count), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, self.arguments[order[np.repeat(begin, counts) + within], position]


class _Facts:
    """What is true in every state of a task, and what can ever be true, by predicate."""

    def __init__(self, task: Task, fluents: dict[Atom, int]):
        self._size = task.size
        self._objects = {thing.name: place for place, thing in enumerate(task.objects)}
        text = task.domain_text
        self._kinds = [set().union(*map(text.supertypes, thing.types)) for thing in task.objects]
        self._fluent_predicates = text.fluent_predicates
        atoms: dict[str, list[tuple[Atom, int]]] = {}
        for atom, number in [*fluents.items(), *((atom, 0) for atom in task.static_atoms)]:
            atoms.setdefault(atom.predicate, []).append((atom, number))
        self._relations = {
            predicate: _Relation(
                np.array([[self._objects[name] for name in atom.objects] for atom, _ in known], np.int64),
                np.array([number for _, number in known]),
                task.size,
            )
            for predicate, known in atoms.items()
        }

    def instances(self, schema: Schema) -> _Places:
        """The arguments [m, p] for which the static precondition holds and the fluent one is possible, in order."""
        names = [parameter.name for parameter in schema.parameters]
        checks: dict[int, list[Literal]] = {}  # each literal is looked at as soon as its last variable is bound
        for literal in schema.precondition:
            bound = [names.index(name) for name in literal.atom.objects if name in names]
            checks.setdefault(max(bound, default=-1), []).append(literal)
        start = self._kept(schema, np.zeros((1, 0), np.int64), checks.get(-1, []))
        rows = np.concatenate([start[:0].reshape(0, len(names)), *self._completed(schema, start, checks)])
        return rows[np.lexsort(rows.T[::-1])] if names else rows

    def _completed(self, schema: Schema, rows: _Places, checks: Mapping[int, list[Literal]]) -> Iterator[_Places]:
        """The rows with all further parameters, some at a time: they may grow before they are sorted out."""
        depth = rows.shape[1]
        if depth == len(schema.parameters):
            yield rows
            return
        for first in range(0, len(rows), _AT_A_TIME):
            literals = checks.get(depth, [])
            longer = self._extended(schema, rows[first : first + _AT_A_TIME], literals)
            yield from self._completed(schema, self._kept(schema, longer, literals), checks)

    def _kept(self, schema: Schema, rows: _Places, literals: Sequence[Literal]) -> _Places:
        """The rows for which the literals hold or can hold."""
        for literal in literals:
            rows = rows[self._holds(schema, literal, rows)]
        return rows

    def fluents(self, schema: Schema, literals: Sequence[Literal], rows: _Places) -> tuple[_Places, _Places]:
        """The fluents of the positive and of the negative literals [m, l] of instances; -1 for one that is never true.

        Static literals have none.
        """
        found: tuple[list[_Places], list[_Places]] = [], []
        for atom, positive in literals:
            if atom.predicate in self._fluent_predicates:
                numbers = self._relation(atom).find(self._columns(schema, atom.objects, rows), len(rows))
                found[not positive].append(numbers)
        positives, negatives = (np.array(part, np.int64).reshape(len(part), len(rows)).T.copy() for part in found)
        return positives, negatives

    def _extended(self, schema: Schema, rows: _Places, literals: Sequence[Literal]) -> _Places:
        """The rows with every value of the next parameter that fits its type.

        The values come from a positive literal that the parameter completes where there is one.
        """
        parameter = schema.parameters[rows.shape[1]]
        fits: _Mask = np.array([not kinds.isdisjoint(parameter.types) for kinds in self._kinds], np.bool_)
        joining = [
            atom
            for atom, positive in literals
            if positive and atom.predicate != "=" and atom.objects.count(parameter.name) == 1
        ]
        if joining:
            atom = max(joining, key=lambda each: len(each.objects))  # the more of it is bound, the fewer values
            position = atom.objects.index(parameter.name)
            others = atom.objects[:position] + atom.objects[position + 1 :]
            row, value = self._relation(atom).extensions(position, self._columns(schema, others, rows), len(rows))
            kept = fits[value]
            row, value = row[kept], value[kept]
        else:
            values = np.flatnonzero(fits)
            row, value = np.repeat(np.arange(len(rows)), len(values)), np.tile(values, len(rows))
        return np.column_stack([rows[row], value])

    def _holds(self, schema: Schema, literal: Literal, rows: _Places) -> _Mask:
        """Of each row whether a literal holds (static) or can hold (fluent)."""
        atom, positive = literal
        columns = self._columns(schema, atom.objects, rows)
        if atom.predicate == "=":
            return np.asarray((columns[0] == columns[1]) == positive)
        if atom.predicate in self._fluent_predicates and not positive:
            return np.ones(len(rows), np.bool_)
        return np.asarray((self._relation(atom).find(columns, len(rows)) >= 0) == positive)

    def _columns(self, schema: Schema, names: Sequence[str], rows: _Places) -> list[_Places]:
        """The arguments [m] that rows of parameters give to the names of parameters and constants."""
        places = {parameter.name: place for place, parameter in enumerate(schema.parameters)}
        return [rows[:, places[name]] if name in places else np.full(len(rows), self._objects[name]) for name in names]

    def _relation(self, atom: Atom) -> _Relation:
        known = self._relations.get(atom.predicate)
        if known is None:  # never true
            known = _Relation(np.empty((0, len(atom.objects)), np.int64), np.empty(0, np.int64), self._size)
            self._relations[atom.predicate] = known
        return known
