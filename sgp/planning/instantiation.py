"""Ground actions of a problem for compiled searches: all at once, or those of one state after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from sgp.planning.atom_table import FULL, Atoms, make_true, numbers_of
from sgp.planning.clock import OutOfMemory, check_limits, stop_flag
from sgp.planning.hash_table import Ints, Mask, Words
from sgp.planning.joins import Change, Given, Schemas, instances, literal_atoms
from sgp.planning.novelty_forms import Abstraction, Forms, learn_all_forms
from sgp.planning.operators import CSR, Goal, Operators, identity_changes, relaxed_reachable, state_identity, words_of
from sgp.planning.pddl import Atom
from sgp.planning.problem_index import Instances, ProblemIndex
from sgp.planning.schema_arrays import schemas_of
from sgp.planning.symmetry import NO_SYMMETRY, Symmetry, merged_of, signatures_in, signatures_of
from sgp.planning.width_search import (
    ONE_STEP,
    TOO_MANY,
    Ground,
    Lifted,
    SearchLimits,
    SearchResult,
    search_ground,
    search_lifted,
)

MOST_INSTANCES = 100_000  # per schema; a Blocksworld task of this size takes 56 MB, and 64 tasks are solved together
MOST_CANDIDATES = 100_000  # applicable actions of a state, one per class that differs only in interchangeable objects
MOST_LISTED = 1_000_000  # applicable actions of a state, each counted

_ROOM = 1 << 12  # initial capacity for atoms of a lifted model, a power of 2 from 64
_OUTLIVED = "states outlived their task"
_NOTHING = np.empty(0, np.int32)
_UNLIMITED = 2**40
_NO_LISTS = CSR(_NOTHING, _NOTHING)


class TooLarge(Exception):
    """A problem has more ground actions than the limit allows."""


def _forms(index: ProblemIndex, abstraction: Abstraction, count: int, goal: NDArray[np.integer]) -> Forms:
    """Return the novelty forms of `count` atoms, among them the `goal`, which most abstractions leave whole."""
    whole = np.full(count, abstraction == "none")
    if abstraction in ("types", "base"):
        whole[goal] = True
    numbers: dict[tuple[str, ...], int] = {}  # of the types that replace objects
    types = (() if abstraction == "base" else tuple(sorted(parameter.types)) for parameter in index.objects)
    types_of = np.array([numbers.setdefault(kinds, len(numbers)) for kinds in types], np.int32)
    return Forms.of(whole, types_of, index.arity)


class GroundModel(Instances):
    """Ground actions reachable under delete relaxation, in the order of the PDDL's actions and objects.

    Their static preconditions are true, and their positive fluent preconditions are reachable if nothing is ever
    deleted. `fluents` are the initial and reachable fluent atoms, with the indices that `number` assigns. By index,
    `predicates` has predicate numbers and `arguments` object numbers. Raises TooLarge if the static facts allow more
    than `most` instances of a schema, or more than `in_all`.
    """

    def __init__(
        self,
        index: ProblemIndex,
        number: Callable[[Sequence[Atom]], Sequence[int]],
        static_goal_holds: bool,
        most: int | None = MOST_INSTANCES,
        in_all: int | None = None,
    ):
        schemas, atoms, rows = _instances(index, *(_UNLIMITED if limit is None else limit for limit in (most, in_all)))
        fluent = index.domain.fluent_predicates
        initial = numbers_of(atoms, *index.rows([atom for atom in index.problem.init if atom.predicate in fluent]))
        while (added := literal_atoms(atoms, schemas, schemas.adds, rows, True, _NO_LISTS))[0] == FULL:
            atoms = atoms.doubled()
            check_limits()
        adds = added[1]
        check_limits()
        needs, forbids, deletes = (
            literal_atoms(atoms, schemas, lists, rows, False, without)[1]
            for lists, without in ((schemas.needs, _NO_LISTS), (schemas.forbids, _NO_LISTS), (schemas.deletes, adds))
        )
        check_limits()
        possible = np.ones(len(rows), np.bool_)
        possible[needs.owners[needs.indices < 0]] = False
        known = needs.where(needs.indices >= 0)
        count = int(atoms.counts[0])
        usable, true = relaxed_reachable(known, known.transposed(count), adds, initial, possible)
        order = np.flatnonzero(true)
        order = order[np.lexsort((*atoms.arguments[order].T[::-1], atoms.predicates[order]))]
        names = index.atoms(atoms.predicates[order], atoms.arguments[order])
        indices = np.array(number(names), np.int64)
        self.fluents = dict(zip(names, indices.tolist(), strict=True))
        self.atoms = int(indices.max(initial=-1)) + 1
        """The indices of all fluents are below it."""
        self.predicates = np.full(self.atoms, -1, np.int32)
        self.arguments = np.full((self.atoms, index.arity), -1, np.int32)
        self.predicates[indices], self.arguments[indices] = atoms.predicates[order], atoms.arguments[order]
        index_of = np.full(count + 1, -1, np.int32)  # the last entry is for index -1, which marks a missing atom
        index_of[order] = indices
        effects = [_usable(lists, index_of, usable) for lists in (needs, forbids, adds, deletes)]
        self.operators = Operators.of(effects[0], effects[1], effects[2], effects[3], self.atoms)
        rows = rows[usable]
        for which, schema in enumerate(index.schemas):
            rows[rows[:, 0] == which, 1 + len(schema.parameters) :] = -1
        super().__init__(index, rows)
        wanted, unwanted = ({self.fluents.get(atom, -1) for atom in index.goal(sign)} for sign in (True, False))
        self.goal = Goal(
            np.array(sorted(wanted - {-1}), np.int32),
            np.array(sorted(unwanted - {-1}), np.int32),
            static_goal_holds and -1 not in wanted,
        )
        most_adds = int(np.diff(self.operators.adds.indptr).max(initial=0))
        self._ground = Ground(
            self.operators, self.rows, self.predicates, self.arguments, NO_SYMMETRY, self.goal, most_adds
        )
        self._forms: dict[Abstraction, Forms] = {}

    def search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool
    ) -> tuple[Instances, SearchResult]:
        """Run a width-1 search from the state of these fluents; also return the actions of the result."""
        forms, ground = self.forms(abstraction), self.arrays(representatives)
        result = search_ground(ground, forms, fluents, limits, representatives, stop_flag())
        check_limits()
        return self, result

    def arrays(self, symmetric: bool) -> Ground:
        """Return the arrays of compiled searches; symmetry is computed only on request because it is slow."""
        return self._symmetric if symmetric else self._ground

    @cached_property
    def _symmetric(self) -> Ground:
        return self._ground._replace(symmetry=Symmetry.of(self._index, self.predicates, self.arguments))

    def forms(self, abstraction: Abstraction) -> Forms:
        """Return the novelty forms of all fluents, cached."""
        if abstraction not in self._forms:
            goal = np.concatenate([self.goal.wanted, self.goal.unwanted])
            self._forms[abstraction] = _forms(self._index, abstraction, self.atoms, goal)
            learn_all_forms(self._forms[abstraction], self.predicates, self.arguments)
        return self._forms[abstraction]


def _instances(index: ProblemIndex, most: int, in_all: int) -> tuple[Schemas, Atoms, Ints]:
    """Return schemas, static atoms and the instances [m, 1 + p] with true static preconditions. Raises TooLarge."""
    schemas, indexes = schemas_of(index, only_static=True)
    count = len(index.names)
    capacity = 1 << max(8, (2 * len(index.problem.init)).bit_length())  # twice the number of initial atoms
    atoms = Atoms.empty(indexes, capacity, np.zeros(count, np.bool_), np.zeros(count, np.uint64))
    make_true(atoms, np.unique(numbers_of(atoms, *index.static_rows)), np.zeros_like(atoms.true))
    rows = np.empty((256, schemas.widest[0]), np.int32)
    forms = Forms.of(np.ones(0, np.bool_), np.zeros(0, np.int32), 1)
    ranks, given = np.zeros(count, np.int32), Given.none(schemas, count)  # no symmetry
    every = Change(False, _NOTHING, _NOTHING, np.zeros(count, np.bool_))
    met, rows = instances(atoms, schemas, ranks, forms, False, every, given, rows, in_all, most, stop_flag())
    check_limits()
    if met > in_all:
        raise TooLarge
    return schemas, atoms, rows[:met]


def _usable(lists: CSR, index_of: Ints, usable: Mask) -> CSR:
    """Select the lists of usable actions and convert them to atom indices, without unreachable atoms."""
    indices = CSR(lists.indptr, index_of[lists.indices])
    return indices.where(indices.indices >= 0).rows(usable)


class MergedObjects(NamedTuple):
    """The k objects of a state whose names do not matter, of which no atom has two.

    Objects of equal `signatures` [k] are interchangeable. `others` is equal for states in which the atoms without such
    objects are equal.
    """

    others: bytes
    numbers: NDArray[np.int64]  # [k], ascending
    signatures: Words  # [k]

    def signature(self, number: int) -> int:
        """Return the signature of an object."""
        return int(self.signatures[np.searchsorted(self.numbers, number)])

    def members(self, signature: int) -> list[int]:
        """Return the objects of a signature, ascending."""
        members: list[int] = self.numbers[self.signatures == np.uint64(signature)].tolist()
        return members


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
        symmetric, self._kinds = index.symmetric_objects
        atoms = Atoms.empty(indexes, _ROOM, symmetric, signatures_of(self._kinds))
        no_goal, given = Goal(_NOTHING, _NOTHING, static_goal_holds), Given.none(schemas, len(index.names))
        self._lifted = Lifted(atoms, schemas, no_goal, np.zeros_like(atoms.true), given)
        wanted, unwanted = (np.unique(self._numbered(*index.rows(index.goal(sign)))) for sign in (True, False))
        self._goal_atoms = int(self._lifted.atoms.counts[0])  # goal atoms have the first numbers
        static = self._numbered(*index.static_rows)
        goal = Goal(wanted, unwanted, static_goal_holds)
        bits = words_of(np.unique(static), len(self._lifted.atoms.predicates))
        self._lifted = self._lifted._replace(goal=goal, static=bits)

    def search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool
    ) -> tuple[Instances, SearchResult]:
        """Run a width-1 search from the state of these fluents; also return the actions of the result.

        With `representatives`, each state applies one of the actions that differ only in interchangeable objects.
        Raises OutOfMemory if a state has more than MOST_CANDIDATES applicable actions (more than MOST_LISTED for all
        one-step successors).
        """
        most = MOST_LISTED if limits.one_step and not representatives else MOST_CANDIDATES
        status, result, rows = self._search(fluents, abstraction, limits, representatives, most)
        if status == TOO_MANY:
            raise OutOfMemory(f"more than {most:,} instances of actions are applicable in one state")
        changed = self._indices_of(result.changed)
        identities = identity_changes(result.indptr, changed)
        return Instances(self._index, rows), result._replace(changed=changed, identities=identities)

    def merged_objects(self, fluents: Ints) -> MergedObjects:
        """Return the merged objects in the state of these fluents."""
        numbers, atoms = self._numbers_of(fluents), self._lifted.atoms
        known = int(atoms.counts[0])
        symmetry = Symmetry(
            atoms.symmetric, signatures_of(self._kinds), merged_of(self._kinds, atoms.arguments[:known]),
            atoms.arguments, atoms.marks,
        )  # fmt: skip
        of_merged = np.append(symmetry.merged, False)[atoms.arguments[numbers]].any(axis=1)  # rows are padded with -1
        merged = np.flatnonzero(symmetry.merged)
        others = state_identity(fluents[~of_merged]).tobytes() + merged.tobytes()
        return MergedObjects(others, merged, signatures_in(symmetry, numbers)[merged])

    def has_more_successors(self, fluents: Ints, most: int) -> bool:
        """Whether more than `most` actions are applicable in the state of these fluents."""
        return self._search(fluents, "none", ONE_STEP, False, most)[0] == TOO_MANY

    def _search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool, most: int
    ) -> tuple[int, SearchResult, Ints]:
        """Run a search with capacity for all of its atoms; the status is TOO_MANY or 0."""
        while True:
            state, forms = self._numbers_of(fluents), self._forms_of(abstraction)
            outcome = search_lifted(self._lifted, forms, state, limits, representatives, most, stop_flag())
            check_limits()
            if outcome[0] != FULL:
                return outcome
            self._grow()

    def _forms_of(self, abstraction: Abstraction) -> Forms:
        """Return the novelty forms of the atom table, cached for its current capacity."""
        if abstraction not in self._forms:
            goal, count = np.arange(self._goal_atoms), len(self._lifted.atoms.predicates)
            self._forms[abstraction] = _forms(self._index, abstraction, count, goal)
        return self._forms[abstraction]

    def _grow(self) -> None:
        """Double the capacity for atoms."""
        atoms, static = self._lifted.atoms.doubled(), self._lifted.static
        self._lifted = self._lifted._replace(atoms=atoms, static=np.concatenate([static, np.zeros_like(static)]))
        self._index_of = np.concatenate([self._index_of, np.full(len(self._index_of), FULL, np.int32)])
        self._forms.clear()

    def _numbered(self, predicates: Ints, rows: Ints) -> Ints:
        """Return the numbers of atoms with these predicates [k] and arguments [k, w]."""
        while True:
            numbers = numbers_of(self._lifted.atoms, predicates, rows)
            if FULL not in numbers:
                return numbers
            self._grow()

    def _numbers_of(self, fluents: Ints) -> Ints:
        """Return the atom numbers of fluent indices."""
        if fluents.max(initial=0) >= len(self._number_of):
            added = 2 * int(fluents.max()) + 64 - len(self._number_of)
            self._number_of = np.concatenate([self._number_of, np.full(added, FULL, np.int32)])
        unmet = fluents[self._number_of[fluents] < 0]
        if len(unmet):
            atom = self._atom()
            assert atom is not None, _OUTLIVED
            predicates, rows = self._index.rows([atom(index) for index in unmet.tolist()])
            # Atoms of interchangeable objects are side by side: a search that moves many of them misses the cache less.
            kinds = np.append(self._kinds, -1)[rows]  # rows are padded with -1
            alike = np.where(kinds >= 0, -2 - kinds, rows)
            order = np.lexsort((*rows.T[::-1], *alike.T[::-1], predicates))
            numbers, unmet = self._numbered(predicates[order], rows[order]), unmet[order]
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
