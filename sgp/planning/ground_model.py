"""Ground actions of a problem as arrays, for kernels that search without state objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from sgp.planning.atom_table import FULL, Atoms, make_true, numbers_of
from sgp.planning.clock import check_limits, stop_flag
from sgp.planning.hash_table import Ints, Mask
from sgp.planning.joins import Schemas, instances, literal_atoms
from sgp.planning.novelty_forms import Abstraction, Forms, learn_all_forms
from sgp.planning.operators import CSR, Goal, Operators, relaxed_reachable
from sgp.planning.pddl import Atom
from sgp.planning.problem_index import Instances, ProblemIndex
from sgp.planning.schema_arrays import schemas_of
from sgp.planning.symmetry import NO_SYMMETRY, Symmetry
from sgp.planning.width_search import Ground, SearchLimits, SearchResult, search_ground

MOST_INSTANCES = 100_000  # per schema; a Blocksworld task of this size takes 56 MB, and 64 tasks are solved together
INSTANCE_BYTES = 1000  # per instance, at most, during instantiation
MODEL_BYTES = 3 * 10**9  # for one task with more than MOST_INSTANCES
MODEL_SHARE = 0.25  # of the memory that the process may still use, so that other tasks fit, too

_UNLIMITED = 2**40
_NO_LISTS = CSR(np.zeros(0, np.int32), np.zeros(0, np.int32))


class TooLarge(Exception):
    """A problem has more ground actions than the limit allows."""


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
        schemas, atoms, rows = _instances(
            index, _UNLIMITED if most is None else most, _UNLIMITED if in_all is None else in_all
        )
        fluent = index.domain.fluent_predicates
        initial = numbers_of(atoms, *index.rows([atom for atom in index.problem.init if atom.predicate in fluent]))
        atoms, adds = _added(atoms, schemas, rows)
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
        self._forms: dict[Abstraction, Forms] = {}

    def search(
        self, fluents: Ints, abstraction: Abstraction, limits: SearchLimits, representatives: bool
    ) -> tuple[Instances, SearchResult]:
        """Run a width-1 search from the state of these fluents; also return the actions of the result.

        Raises LimitReached at the time limit.
        """
        forms = self.forms(abstraction)
        ground = self.arrays(representatives)
        result = search_ground(ground, forms, fluents, limits, representatives, stop_flag())
        check_limits()
        return self, result

    def arrays(self, symmetric: bool) -> Ground:
        """Return the arrays of compiled searches; symmetry is computed only on request because it is slow."""
        return self._plain if not symmetric else self._symmetric

    @cached_property
    def _plain(self) -> Ground:
        most_adds = int(np.diff(self.operators.adds.indptr).max(initial=0))
        return Ground(self.operators, self.rows, self.predicates, self.arguments, NO_SYMMETRY, self.goal, most_adds)

    @cached_property
    def _symmetric(self) -> Ground:
        return self._plain._replace(symmetry=Symmetry.of(self._index, self.predicates, self.arguments))

    def forms(self, abstraction: Abstraction) -> Forms:
        """Return the novelty forms of all fluents, cached."""
        if abstraction not in self._forms:
            whole = np.full(self.atoms, abstraction == "none")
            if abstraction in ("types", "base"):
                whole[np.concatenate([self.goal.wanted, self.goal.unwanted])] = True
            forms = Forms.of(whole, self._index.types_for(abstraction), self._index.arity)
            learn_all_forms(forms, self.predicates, self.arguments)
            self._forms[abstraction] = forms
        return self._forms[abstraction]

    @cached_property
    def _users(self) -> CSR:
        """The actions that need each fluent."""
        return self.operators.needs.transposed(self.atoms)

    def is_relaxed_dead_end(self, fluents: Sequence[int]) -> bool:
        """Whether the state is a dead end under delete relaxation (h_max infinite). Bonet and Geffner 2001."""
        if not self.goal.possible:
            return True
        operators, every = self.operators, np.ones(len(self), np.bool_)
        _, true = relaxed_reachable(operators.needs, self._users, operators.adds, np.array(fluents, np.int32), every)
        check_limits()
        return not true[self.goal.wanted].all()


def _instances(index: ProblemIndex, most: int, in_all: int) -> tuple[Schemas, Atoms, Ints]:
    """Return schemas, static atoms and the instances [m, 1 + p] with true static preconditions.

    Raises TooLarge for more than `most` instances of a schema, or more than `in_all`.
    """
    schemas, indexes = schemas_of(index, only_static=True)
    fluent, count = index.domain.fluent_predicates, len(index.names)
    static = [atom for atom in index.problem.init if atom.predicate not in fluent]
    room = 1 << max(8, (2 * len(index.problem.init)).bit_length())  # twice the number of initial atoms
    atoms = Atoms.empty(indexes, room, np.zeros(count, np.bool_), np.zeros(count, np.uint64))
    make_true(atoms, np.unique(numbers_of(atoms, *index.rows(static))))
    rows = np.empty((256, schemas.widest[0]), np.int32)
    forms = Forms.of(np.ones(0, np.bool_), np.zeros(0, np.int32), 1)
    met, rows = instances(atoms, schemas, np.zeros(count, np.int32), forms, False, rows, in_all, most, stop_flag())
    check_limits()
    if met > in_all:
        raise TooLarge
    return schemas, atoms, rows[:met]


def _added(atoms: Atoms, schemas: Schemas, rows: Ints) -> tuple[Atoms, CSR]:
    """Add the add-effect atoms of all instances to the table; also return them by instance."""
    status, adds = literal_atoms(atoms, schemas, schemas.adds, rows, True, _NO_LISTS)
    while status == FULL:
        atoms = atoms.doubled()
        check_limits()
        status, adds = literal_atoms(atoms, schemas, schemas.adds, rows, True, _NO_LISTS)
    return atoms, adds


def _usable(lists: CSR, index_of: Ints, usable: Mask) -> CSR:
    """Select the lists of usable actions and convert them to atom indices, without unreachable atoms."""
    indices = CSR(lists.indptr, index_of[lists.indices])
    return indices.where(indices.indices >= 0).rows(usable)
