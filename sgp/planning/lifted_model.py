"""A problem whose actions are not all instantiated, as arrays: what finds its applicable actions and novel states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal
from weakref import WeakMethod

import numpy as np

from sgp.planning.atom_table import FULL, no_atoms, numbers_of, with_twice_the_room
from sgp.planning.clock import OutOfMemory, look, stop
from sgp.planning.found import Found, identified
from sgp.planning.instances import StaticFacts
from sgp.planning.joins import Forms, no_forms
from sgp.planning.lifted_novelty import TOO_MANY, Lifted, applicable_instances, novel_lifted, states_after
from sgp.planning.lifted_schemas import schemas_of
from sgp.planning.novelty_nodes import Search
from sgp.planning.operators import Goal, Ints
from sgp.planning.pddl import Action, Atom, DomainText, ProblemText
from sgp.planning.symmetry_marks import kinds_of, mark_of_kind

MOST_CANDIDATES = 100_000  # applicable actions of a state, one for all that differ in interchangeable objects alone
MOST_LISTED = 1_000_000  # the same, each
_ROOM = 1 << 12  # atoms at first, a power of 2 from 64
_OUTLIVED = "states outlived their task"

Whole = Literal["all", "goal", "none"]
"""Which atoms stand for themselves in a search for novel states."""


class LiftedModel:
    """What instantiates the actions of one problem, state by state.

    States are the indices of their true fluents: `index` gives them for atoms, `atom` the atoms for them. Both are
    methods of a task.
    """

    def __init__(
        self,
        domain: DomainText,
        problem: ProblemText,
        index: Callable[[Sequence[Atom]], Sequence[int]],
        atom: Callable[[int], Atom],
        static_goal_holds: bool,
    ):
        facts = self._facts = StaticFacts(domain, problem)
        self._index, self._atom = WeakMethod(index), WeakMethod(atom)  # strong ones would keep their task alive
        self._names = [each.name for each in facts.objects]
        self._schemas = list(domain.schemas.values())
        self._schema_names = [each.name for each in self._schemas]
        self._predicates = {name: number for number, name in enumerate(domain.predicates)}
        self._predicate_names = list(domain.predicates)
        kinds = kinds_of(domain, problem)
        self._forms: dict[tuple[Whole, bytes], Forms] = {}
        self._of_index = np.full(1, FULL, np.int32)  # the number of the atom with an index
        self._index_of = np.full(_ROOM, FULL, np.int32)  # the index of the atom with a number
        width = max([2, *domain.predicates.values()])  # of a literal's row; "=" has two terms
        schemas, indexes = schemas_of(domain, problem, facts, self._predicates, width)
        self._lifted = Lifted(
            no_atoms(
                indexes,
                _ROOM,
                np.array([name in kinds for name in self._names], np.bool_),
                np.array([mark_of_kind(kinds.get(name, -1)) for name in self._names], np.uint64),
            ),
            schemas,
            Goal(np.empty(0, np.int32), np.empty(0, np.int32), static_goal_holds),
            np.empty(0, np.int32),
        )
        fluent = domain.fluent_predicates
        wanted, unwanted = (
            self._numbered([atom for atom, sign in problem.goal if atom.predicate in fluent and sign is wished])
            for wished in (True, False)
        )
        self._goal_atoms = int(self._lifted.atoms.met[0])  # they have the first numbers
        static = self._numbered([atom for atom in problem.init if atom.predicate not in fluent])
        goal = Goal(np.unique(wanted), np.unique(unwanted), static_goal_holds)
        self._lifted = self._lifted._replace(goal=goal, static=np.unique(static))

    def applicable(self, fluents: Sequence[int], alike: bool) -> list[Action]:
        """The actions applicable where just these fluents are true, in the order of the PDDL's actions and objects.

        With `alike` one of those that differ in interchangeable objects alone. Raises OutOfMemory for more than
        MOST_CANDIDATES, LimitReached where time is up before.
        """
        found = self._applicable(fluents, alike, MOST_CANDIDATES)
        if len(found) > MOST_CANDIDATES:
            raise _too_many()
        return [self._action(row) for row in found.tolist()]

    def successors(self, fluents: Ints, alike: bool) -> tuple[Instances, Found]:
        """The states one action away, in the order of the PDDL's actions and objects, and what leads there.

        With `alike`, and raising, as above; without it only for more than MOST_LISTED.
        """
        most = MOST_CANDIDATES if alike else MOST_LISTED
        rows = self._applicable(fluents, alike, most)
        if len(rows) > most:
            raise _too_many(most)
        while True:
            state = self._numbers_of(fluents)
            status, found = states_after(self._lifted, state, rows, stop())
            look()
            if status != FULL:
                return Instances(self._action, self._schema_names, rows), self._told(fluents, found)
            self._grow()

    def applicable_at_first(self, fluents: Sequence[int], most: int) -> int:
        """How many actions are applicable where just these fluents are true; `most` and one for more."""
        return len(self._applicable(fluents, False, most))

    def novel(self, fluents: Ints, types: Ints, whole: Whole, search: Search, alike: bool) -> tuple[Instances, Found]:
        """What a search of width 1 finds from a state: the instances and the candidates that they lead to.

        For an atom that is not `whole` stand forms in which all arguments but one are replaced by their `types` [n].
        With `alike` as above. Raises OutOfMemory for a state with more than MOST_CANDIDATES actions, LimitReached where
        time is up before.
        """
        while True:
            state = self._numbers_of(fluents)
            forms = self._forms_of(types, whole)
            status, found, rows = novel_lifted(self._lifted, forms, state, search, alike, MOST_CANDIDATES, stop())
            look()
            if status == TOO_MANY:
                raise _too_many()
            if status != FULL:
                return Instances(self._action, self._schema_names, rows), self._told(fluents, found)
            self._grow()

    def _told(self, fluents: Ints, found: Found) -> Found:
        """What was found, by the indices of atoms instead of their numbers."""
        changed = self._indices_of(found.changed)
        return found._replace(changed=changed, identities=identified(fluents, found.first, changed))

    def _applicable(self, fluents: Ints | Sequence[int], alike: bool, most: int) -> Ints:
        """The applicable instances; `most` and one where there are more."""
        state, forms = self._numbers_of(np.array(fluents, np.int32)), self._forms_of(np.empty(0, np.int32), "all")
        found = applicable_instances(self._lifted, forms, state, alike, most, stop())
        look()
        return found

    def _action(self, row: Sequence[int]) -> Action:
        schema = self._schemas[row[0]]
        return Action(schema.name, tuple([self._names[thing] for thing in row[1 : 1 + len(schema.parameters)]]))

    def _forms_of(self, types: Ints, whole: Whole) -> Forms:
        """What stands for atoms; a memo of the present room for them."""
        key = whole, types.tobytes()
        if key not in self._forms:
            below = {"all": np.iinfo(np.int32).max, "goal": self._goal_atoms, "none": 0}[whole]
            self._forms[key] = no_forms(self._lifted.atoms, types, below)
        return self._forms[key]

    def _grow(self) -> None:
        """Makes room for twice as many atoms."""
        self._lifted = self._lifted._replace(atoms=with_twice_the_room(self._lifted.atoms))
        self._index_of = np.concatenate([self._index_of, np.full(len(self._index_of), FULL, np.int32)])
        self._forms.clear()

    def _numbered(self, atoms: Sequence[Atom]) -> Ints:
        """The numbers of atoms, in their order."""
        found = np.empty(len(atoms), np.int32)
        names = np.array([self._predicates[atom.predicate] for atom in atoms], np.int32)
        rows = np.full((len(atoms), self._lifted.atoms.arguments.shape[1]), -1, np.int32)
        for row, atom in zip(rows, atoms, strict=True):
            row[: len(atom.objects)] = [self._facts.number(name) for name in atom.objects]
        while True:
            found = numbers_of(self._lifted.atoms, names, rows)
            if FULL not in found:
                return found
            self._grow()

    def _numbers_of(self, fluents: Ints) -> Ints:
        """The numbers of the atoms with some indices."""
        if fluents.max(initial=0) >= len(self._of_index):
            grown = np.full(2 * int(fluents.max()) + 64, FULL, np.int32)
            grown[: len(self._of_index)] = self._of_index
            self._of_index = grown
        unmet = fluents[self._of_index[fluents] < 0]
        if len(unmet):
            atom = self._atom()
            assert atom is not None, _OUTLIVED
            numbers = self._numbered([atom(index) for index in unmet.tolist()])
            self._of_index[unmet], self._index_of[numbers] = numbers, unmet
        return np.asarray(self._of_index[fluents])

    def _indices_of(self, numbers: Ints) -> Ints:
        """The indices of the atoms with some numbers."""
        unmet = np.unique(numbers[self._index_of[numbers] < 0])
        if len(unmet):
            table = self._lifted.atoms
            names = table.predicates[unmet].tolist(), table.arguments[unmet].tolist()
            index = self._index()
            assert index is not None, _OUTLIVED
            self._index_of[unmet] = index([self._named(*each) for each in zip(*names, strict=True)])
        return np.asarray(self._index_of[numbers])

    def _named(self, predicate: int, row: Sequence[int]) -> Atom:
        name = self._predicate_names[predicate]
        return Atom(name, tuple([self._names[thing] for thing in row if thing >= 0]))


class Instances:
    """The actions of candidates, made when they are asked for."""

    def __init__(self, action: Callable[[Sequence[int]], Action], names: Sequence[str], rows: Ints):
        self._action, self._names, self._rows = action, names, rows

    def action(self, number: int) -> Action:
        """The action that led to a candidate from its parent."""
        return self._action(self._rows[number].tolist())

    def schema(self, number: int) -> str:
        """The name of that action."""
        return self._names[int(self._rows[number, 0])]


def _too_many(most: int = MOST_CANDIDATES) -> OutOfMemory:
    return OutOfMemory(f"more than {most:,} instances of actions are applicable in one state")
