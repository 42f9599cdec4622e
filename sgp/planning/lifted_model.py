"""Lifted form of a problem: applicable actions and novel states without full instantiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakMethod

import numpy as np

from sgp.planning.atom_table import FULL, Atoms, numbers_of
from sgp.planning.clock import OutOfMemory, check_limits, stop_flag
from sgp.planning.hash_table import Ints
from sgp.planning.novelty_forms import Abstraction, Forms
from sgp.planning.operators import Goal, state_identities
from sgp.planning.pddl import Atom
from sgp.planning.problem_index import Instances, ProblemIndex
from sgp.planning.schema_arrays import schemas_of
from sgp.planning.symmetry import signatures_of, symmetric_objects
from sgp.planning.width_search import ONE_STEP, TOO_MANY, Lifted, SearchLimits, SearchResult, search_lifted

MOST_CANDIDATES = 100_000  # applicable actions of a state, one per class that differs only in interchangeable objects
MOST_LISTED = 1_000_000  # applicable actions of a state, each counted
_ROOM = 1 << 12  # initial capacity for atoms, a power of 2 from 64
_OUTLIVED = "states outlived their task"
_NOTHING = np.empty(0, np.int32)


class LiftedModel:
    """Instantiation of a problem's actions, state by state.

    States are the indices of their true fluents. `index_of` maps atoms to indices, `atom_of` indices to atoms; both are
    methods of a task.
    """

    def __init__(
        self,
        index: ProblemIndex,
        index_of: Callable[[Sequence[Atom]], Sequence[int]],
        atom_of: Callable[[int], Atom],
        static_goal_holds: bool,
    ):
        self._index = index
        # Strong references would keep the task alive.
        self._indices, self._atom = WeakMethod(index_of), WeakMethod(atom_of)
        self._forms: dict[Abstraction, Forms] = {}
        self._number_of = np.full(1, FULL, np.int32)  # atom number by fluent index
        self._index_of = np.full(_ROOM, FULL, np.int32)  # fluent index by atom number
        schemas, indexes = schemas_of(index)
        symmetric, kinds = symmetric_objects(index)
        atoms = Atoms.empty(indexes, _ROOM, symmetric, signatures_of(kinds))
        self._lifted = Lifted(atoms, schemas, Goal(_NOTHING, _NOTHING, static_goal_holds), _NOTHING)
        wanted, unwanted = (np.unique(self._numbered(index.goal(sign))) for sign in (True, False))
        self._goal_atoms = int(self._lifted.atoms.counts[0])  # goal atoms have the first numbers
        fluent = index.domain.fluent_predicates
        static = self._numbered([atom for atom in index.problem.init if atom.predicate not in fluent])
        goal = Goal(wanted, unwanted, static_goal_holds)
        self._lifted = self._lifted._replace(goal=goal, static=np.unique(static))

    def search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool
    ) -> tuple[Instances, SearchResult]:
        """Run a width-1 search from the state of these fluents; also return the actions of the result.

        With `representatives`, each state applies one of the actions that differ only in interchangeable objects.
        Raises OutOfMemory if a state has more than MOST_CANDIDATES applicable actions (more than MOST_LISTED for all
        one-step successors); LimitReached at the time limit.
        """
        most = MOST_LISTED if limits.one_step and not representatives else MOST_CANDIDATES
        status, found, rows = self._search(fluents, abstraction, limits, representatives, most)
        if status == TOO_MANY:
            raise OutOfMemory(f"more than {most:,} instances of actions are applicable in one state")
        changed = self._indices_of(found.changed)
        identities = state_identities(fluents, found.indptr, changed)
        return Instances(self._index, rows), found._replace(changed=changed, identities=identities)

    def has_more_successors(self, fluents: Ints, most: int) -> bool:
        """Whether more than `most` actions are applicable in the state of these fluents."""
        return self._search(fluents, "none", ONE_STEP, False, most)[0] == TOO_MANY

    def _search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool, most: int
    ) -> tuple[int, SearchResult, Ints]:
        """Run a search with capacity for all of its atoms; the status is TOO_MANY or 0."""
        while True:
            state, forms = self._numbers_of(fluents), self._forms_of(abstraction)
            found = search_lifted(self._lifted, forms, state, limits, representatives, most, stop_flag())
            check_limits()
            if found[0] != FULL:
                return found
            self._grow()

    def _forms_of(self, abstraction: Abstraction) -> Forms:
        """Return the novelty forms of the atom table, cached for its current capacity."""
        if abstraction not in self._forms:
            whole = np.full(len(self._lifted.atoms.predicates), abstraction == "none")
            if abstraction in ("types", "base"):
                whole[: self._goal_atoms] = True
            self._forms[abstraction] = Forms.of(whole, self._index.types_for(abstraction), self._index.arity)
        return self._forms[abstraction]

    def _grow(self) -> None:
        """Double the capacity for atoms."""
        self._lifted = self._lifted._replace(atoms=self._lifted.atoms.doubled())
        self._index_of = np.concatenate([self._index_of, np.full(len(self._index_of), FULL, np.int32)])
        self._forms.clear()

    def _numbered(self, atoms: Sequence[Atom]) -> Ints:
        """Return the numbers of atoms, in order."""
        predicates, rows = self._index.rows(atoms)
        while True:
            numbers = numbers_of(self._lifted.atoms, predicates, rows)
            if FULL not in numbers:
                return numbers
            self._grow()

    def _numbers_of(self, fluents: Ints) -> Ints:
        """Return the atom numbers of fluent indices."""
        if fluents.max(initial=0) >= len(self._number_of):
            grown = np.full(2 * int(fluents.max()) + 64, FULL, np.int32)
            grown[: len(self._number_of)] = self._number_of
            self._number_of = grown
        unmet = fluents[self._number_of[fluents] < 0]
        if len(unmet):
            atom = self._atom()
            assert atom is not None, _OUTLIVED
            numbers = self._numbered([atom(index) for index in unmet.tolist()])
            self._number_of[unmet], self._index_of[numbers] = numbers, unmet
        return np.asarray(self._number_of[fluents])

    def _indices_of(self, numbers: Ints) -> Ints:
        """Return the fluent indices of atom numbers."""
        unmet = np.unique(numbers[self._index_of[numbers] < 0])
        if len(unmet):
            table, indices = self._lifted.atoms, self._indices()
            assert indices is not None, _OUTLIVED
            self._index_of[unmet] = indices(self._index.atoms(table.predicates[unmet], table.arguments[unmet]))
        return np.asarray(self._index_of[numbers])
