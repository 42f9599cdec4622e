"""All actions of a problem that can ever be applicable, as arrays, for kernels that search without making states."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled
from sgp.planning.clock import look, looking
from sgp.planning.instances import Places, StaticFacts
from sgp.planning.operators import Goal, Ints, Lists, Operators, applicable_actions, grouped
from sgp.planning.pddl import Action, Atom, DomainText, Literal, ProblemText, Schema

MOST_INSTANCES = 100_000  # of one schema: with so many a Blocksworld task takes 56 MB, and 64 are solved together
INSTANCE_BYTES = 1000  # that an instance takes at most while all are found
MODEL_BYTES = 3 * 10**9  # that one task may take for more than MOST_INSTANCES
MODEL_SHARE = 0.25  # of what the process may still take, so that others find some, too

_Mask = NDArray[np.bool_]


class GroundModel:
    """The instantiated actions that can ever be applicable, in the order of the PDDL's actions and objects.

    These are the instances whose static precondition holds and whose positive fluent precondition can be reached where
    nothing is ever deleted (delete relaxation). `fluents` has all atoms that are true at first or can be reached so,
    with the indices that `number` gives them; by index, `predicates` has the number of an atom's predicate and
    `fluent_arguments` those of its objects. `operators` has each action's precondition and effect; an atom that an
    action adds and deletes is added. Raises TooLarge where the static facts allow more than `most` of a schema, or more
    than `in_all`.
    """

    def __init__(
        self,
        domain: DomainText,
        problem: ProblemText,
        number: Callable[[Sequence[Atom]], Sequence[int]],
        static_goal_holds: bool,
        most: int | None = MOST_INSTANCES,
        in_all: int | None = None,
    ):
        facts = StaticFacts(domain, problem)
        self._names = [thing.name for thing in facts.objects]
        instances = _instances(facts, list(domain.schemas.values()), most, in_all)
        fluents = _Fluents(facts, domain, problem, instances)
        look()
        parts = [fluents.parts(schema, rows) for schema, rows in instances.items()]
        look()
        needs, _, adds, _ = (_lists(kind) for kind in zip(*parts, strict=True))
        possible = np.concatenate([(needed >= 0).all(axis=1) for needed, *_ in parts])
        owners = np.repeat(np.arange(len(possible)), np.diff(needs.first))
        users = grouped(needs.values.astype(np.int64), owners, len(fluents))
        usable, true = _reached(needs, users, adds, fluents.initial, possible)
        atoms = fluents.atoms(true)
        indices = np.array(number(atoms), np.int64)
        self.fluents = dict(zip(atoms, indices.tolist(), strict=True))
        self.atoms = int(indices.max(initial=-1)) + 1  # the indices of all fluents are below it
        self.predicates, self.fluent_arguments = _placed(fluents.arguments(true), indices, self.atoms)
        index_of = np.full(len(fluents) + 1, -1)  # the last one for -1, which stands for nothing
        index_of[:-1][true] = indices
        ends = np.cumsum([len(rows) for rows in instances.values()])
        masks = np.split(usable, ends[:-1])
        self._schemas = [  # each action's name, and the arguments of its instances [m, p]
            (schema.name, rows[mask].astype(np.int32))
            for (schema, rows), mask in zip(instances.items(), masks, strict=True)
        ]
        self._ends = list(accumulate(len(rows) for _, rows in self._schemas))
        self._actions: dict[int, Action] = {}
        kept = [[index_of[part[mask]] for part in each] for each, mask in zip(parts, masks, strict=True)]
        needed, forbidden, added, deleted = (_lists(kind) for kind in zip(*kept, strict=True))
        self.operators = Operators.of(needed, forbidden, added, deleted, self.atoms)
        self.goal = self._goal(domain, problem, static_goal_holds)

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

    def schema(self, number: int) -> str:
        """An action's name."""
        return self._schemas[bisect_right(self._ends, number)][0]

    @property
    def action_arguments(self) -> Lists:
        """The numbers of each action's arguments among the objects."""
        return _lists([rows for _, rows in self._schemas])

    def applicable(self, fluents: Sequence[int]) -> list[int]:
        """The actions applicable where just these fluents are true, in their order."""
        found: list[int] = applicable_actions(self.operators, self.atoms, np.array(fluents, np.int32)).tolist()
        return found

    @cached_property
    def _users(self) -> Lists:
        """Of each fluent the actions that need it."""
        needs = self.operators.needs
        owners = np.repeat(np.arange(len(self)), np.diff(needs.first))
        return grouped(needs.values.astype(np.int64), owners, self.atoms)

    def is_hopeless(self, fluents: Sequence[int]) -> bool:
        """Whether the goal cannot be reached from where just these fluents are true, even if nothing were ever deleted.

        It is a dead end then; many dead ends are not told (delete relaxation: Bonet and Geffner 2001).
        """
        if not self.goal.possible:
            return True
        operators, every = self.operators, np.ones(len(self), np.bool_)
        _, true = _reached(operators.needs, self._users, operators.adds, np.array(fluents, np.int64), every)
        look()
        return not true[self.goal.wanted].all()

    def _goal(self, domain: DomainText, problem: ProblemText, static_goal_holds: bool) -> Goal:
        fluent = {each for each in problem.goal if each.atom.predicate in domain.fluent_predicates}
        wanted, unwanted = ({each.atom for each in fluent if each.positive is kind} for kind in (True, False))
        known = self.fluents
        return Goal(
            np.array(sorted(known[atom] for atom in wanted if atom in known), np.int32),
            np.array(sorted(known[atom] for atom in unwanted if atom in known), np.int32),
            static_goal_holds and wanted <= known.keys(),
        )


def _instances(
    facts: StaticFacts, schemas: Sequence[Schema], most: int | None, in_all: int | None
) -> dict[Schema, Places]:
    """The instances of each schema. Raises TooLarge for more than `most` of one, or more than `in_all`."""
    found: dict[Schema, Places] = {}
    for schema in schemas:
        left = None if in_all is None else in_all - sum(map(len, found.values()))
        found[schema] = facts.instances(schema, min((each for each in (most, left) if each is not None), default=None))
    return found


class _Fluents:
    """The fluent atoms that are true at first or that an instance adds, each with a place, by predicate and object."""

    def __init__(
        self, facts: StaticFacts, domain: DomainText, problem: ProblemText, instances: Mapping[Schema, Places]
    ):
        self._facts = facts
        initial: dict[str, list[Atom]] = {name: [] for name in domain.predicates if name in domain.fluent_predicates}
        for atom in looking(problem.init):
            if atom.predicate in initial:
                initial[atom.predicate].append(atom)
        known = {
            name: [facts.places(atoms).reshape(len(atoms), domain.predicates[name])] for name, atoms in initial.items()
        }
        for schema, rows in instances.items():
            for atom, positive in schema.effect:
                if positive:
                    columns = facts.columns(schema, atom.objects, rows)
                    known[atom.predicate].append(np.array(columns, np.int64).reshape(len(columns), len(rows)).T)
        self._relations = {name: facts.relation(parts) for name, parts in known.items()}
        *begins, self._count = accumulate(map(len, self._relations.values()), initial=0)
        self._begins = dict(zip(self._relations, begins, strict=True))
        places = [self._begins[name] + self._found(name, part) for name, (part, *_) in known.items()]
        self.initial: Places = np.concatenate([np.empty(0, np.int64), *places])

    def __len__(self) -> int:
        return self._count

    def atoms(self, chosen: _Mask) -> list[Atom]:
        """The atoms at the chosen places."""
        objects = [thing.name for thing in self._facts.objects]
        return [
            Atom(name, tuple([objects[each] for each in row]))
            for name, rows in zip(self._relations, self.arguments(chosen), strict=True)
            for row in rows.tolist()
        ]

    def arguments(self, chosen: _Mask) -> list[Places]:
        """The arguments [k, arity] of the atoms at the chosen places, predicate by predicate."""
        return [
            relation.arguments[chosen[begin : begin + len(relation)]]
            for begin, relation in zip(self._begins.values(), self._relations.values(), strict=True)
        ]

    def parts(self, schema: Schema, rows: Places) -> tuple[Places, Places, Places, Places]:
        """What instances need, forbid, add and delete: places [m, l] of atoms.

        -1 stands for nothing; among the needs, for an atom that is never true.
        """
        needed, forbidden = self._places(schema, schema.precondition, rows)
        added, deleted = self._places(schema, schema.effect, rows)
        deleted[(deleted[:, :, None] == added[:, None, :]).any(axis=2)] = -1
        return needed, forbidden, added, deleted

    def _places(self, schema: Schema, literals: Iterable[Literal], rows: Places) -> tuple[Places, Places]:
        """The places of the positive and of the negative fluent literals [m, l]; -1 for an atom that is never true."""
        found: tuple[list[Places], list[Places]] = [], []
        for atom, positive in literals:
            if atom.predicate in self._relations:
                columns = self._facts.columns(schema, atom.objects, rows)
                places = self._relations[atom.predicate].find(columns, len(rows))
                found[not positive].append(np.where(places < 0, -1, places + self._begins[atom.predicate]))
        positives, negatives = (np.array(part, np.int64).reshape(len(part), len(rows)).T.copy() for part in found)
        return positives, negatives

    def _found(self, name: str, arguments: Places) -> Places:
        return self._relations[name].find(list(arguments.T), len(arguments))


def _lists(parts: Sequence[NDArray[np.integer]]) -> Lists:
    """The rows of all parts [m, l] as lists; -1 stands for nothing."""
    counts = np.concatenate([np.zeros(1, np.int64), *((part >= 0).sum(axis=1) for part in parts)])
    values = np.concatenate([part[part >= 0] for part in parts])
    return Lists(np.cumsum(counts).astype(np.int32), values.astype(np.int32))


def _placed(parts: Sequence[Places], indices: Places, atoms: int) -> tuple[Ints, Lists]:
    """Of each index below `atoms` the number of its predicate, -1 where it has no atom, and its arguments.

    `parts` has the arguments [k, arity] of each predicate's atoms, `indices` those of all atoms in this order.
    """
    counts = [len(rows) for rows in parts]
    predicates, arities = np.full(atoms, -1, np.int32), np.zeros(atoms + 1, np.int64)
    predicates[indices] = np.repeat(np.arange(len(parts)), counts)
    arities[indices + 1] = np.repeat([rows.shape[1] for rows in parts], counts)
    first = np.cumsum(arities)
    values = np.empty(first[-1], np.int32)
    for rows, own in zip(parts, np.split(indices, np.cumsum(counts)[:-1]), strict=True):
        values[first[own][:, None] + np.arange(rows.shape[1])] = rows
    return predicates, Lists(first.astype(np.int32), values)


@compiled
def _reached(needs: Lists, users: Lists, adds: Lists, initial: Places, possible: _Mask) -> tuple[_Mask, _Mask]:
    """Which of the possible actions become applicable, and which atoms true, where nothing is ever deleted.

    `users` has for each atom the actions that need it.
    """
    atoms = len(users.first) - 1
    lacking = needs.first[1:] - needs.first[:-1]
    usable, true = np.zeros(len(possible), np.bool_), np.zeros(atoms, np.bool_)
    waiting, count = np.empty(atoms, np.int32), 0
    for atom in initial:
        if not true[atom]:
            true[atom] = True
            waiting[count] = atom
            count += 1
    ready, total = np.empty(len(possible), np.int32), 0
    for action in range(len(possible)):
        if possible[action] and lacking[action] == 0:
            ready[total] = action
            total += 1
    done = 0
    while total or done < count:
        while total:
            total -= 1
            action = ready[total]
            usable[action] = True
            for place in range(adds.first[action], adds.first[action + 1]):
                atom = adds.values[place]
                if not true[atom]:
                    true[atom] = True
                    waiting[count] = atom
                    count += 1
        if done < count:
            atom = waiting[done]
            done += 1
            for place in range(users.first[atom], users.first[atom + 1]):
                action = users.values[place]
                lacking[action] -= 1
                if possible[action] and lacking[action] == 0:
                    ready[total] = action
                    total += 1
    return usable, true
