"""Recognition of dead ends by delete relaxation and by pairs of atoms."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sgp.planning.atom_pairs import PairRules, add_derived_pairs, has_pair_of
from sgp.planning.clock import check_limits, stop_flag
from sgp.planning.hash_table import Ints, Words2D
from sgp.planning.operators import (
    CSR,
    Goal,
    Operators,
    deletes_are_restorable,
    grouped,
    relaxed_reachable,
    words_of,
)

MOST_ATOMS = 2**15  # for pairs of atoms; a table takes 128 MB
MOST_PAIRS = 2**31  # of an atom and an action; pairs of atoms then take some seconds


class DeadEnds:
    """Dead ends among the states that are reachable from the state of the `initial` fluents.

    States are recognised from which the goal is unreachable under delete relaxation (h_max is infinite; Bonet and
    Geffner 2001), and those with two atoms that are never true together on a path to the goal (h² in progression and
    regression; Alcázar and Torralba 2015), if there are not too many pairs. Other dead ends are not recognised.
    """

    def __init__(self, operators: Operators, goal: Goal, initial: Ints):
        self._operators, self._goal, self._initial = operators, goal, initial

    def include(self, fluents: Ints) -> bool:
        """Whether the reachable state of these fluents is recognised as a dead end."""
        if self._pairs is not None and has_pair_of(self._pairs, fluents):
            return True
        return not self._never_relaxed and self._is_relaxed(fluents)

    def _is_relaxed(self, fluents: Ints) -> bool:
        if not self._goal.possible:
            return True
        needs, adds = self._operators.needs, self._operators.adds
        every = np.ones(len(needs.indptr) - 1, np.bool_)
        _, true = relaxed_reachable(needs, self._users, adds, fluents, every)
        check_limits()
        return not true[self._goal.wanted].all()

    @cached_property
    def _users(self) -> CSR:
        return self._operators.needs.transposed(self._atoms)

    @cached_property
    def _never_relaxed(self) -> bool:
        """Whether delete relaxation recognises no reachable state, because what is deleted can be restored."""
        needs, adds, deletes = self._operators.needs, self._operators.adds, self._operators.deletes
        return not self._is_relaxed(self._initial) and deletes_are_restorable(needs, self._users, adds, deletes)

    @property
    def _atoms(self) -> int:
        return len(self._operators.watchers.indptr) - 2

    @cached_property
    def _pairs(self) -> Words2D | None:
        """The pairs of atoms that make a reachable state a dead end.

        None if there are none, if they would take too long, or where they are unlikely because whatever is deleted can
        be restored.
        """
        actions = len(self._operators.needs.indptr) - 1
        if self._atoms > MOST_ATOMS or self._atoms * actions > MOST_PAIRS or self._never_relaxed:
            return None
        pairs = self.dead_pairs()
        return pairs if pairs.any() else None

    def dead_pairs(self) -> Words2D:
        """Return the pairs of atoms of reachable states from which the goal is unreachable."""
        needs, forbids, adds, deletes, _ = self._operators
        true = words_of(self._initial, self._atoms)
        reachable = np.zeros((self._atoms, len(true)), np.uint64)
        reachable[self._initial] = true
        progression = PairRules(needs, _joined(forbids, deletes), adds)
        applicable = add_derived_pairs(reachable, progression, needs, reachable[:0], stop_flag())
        check_limits()
        needs, forbids, adds, deletes = (lists.rows(applicable) for lists in (needs, forbids, adds, deletes))
        regression = PairRules(_joined(adds, _without(needs, deletes)), forbids, _without(deletes, forbids))
        solvable = self._goal_pairs(reachable)
        add_derived_pairs(solvable, regression, needs, reachable, stop_flag())
        check_limits()
        return reachable & ~solvable

    def _goal_pairs(self, reachable: Words2D) -> Words2D:
        """Return the pairs of atoms that goal states may have."""
        true = np.flatnonzero(reachable.any(axis=1)).astype(np.int32)
        row = words_of(true, self._atoms)
        for atom in self._goal.wanted:
            row &= reachable[atom]
        row &= ~words_of(self._goal.unwanted, self._atoms)
        possible = np.unpackbits(row.view(np.uint8), bitorder="little")[: self._atoms].astype(np.bool_)
        return np.where(possible[:, None], reachable & row, np.uint64(0))


def _joined(one: CSR, other: CSR) -> CSR:
    """Return the lists with those of another appended."""
    owners = np.concatenate([one.owners, other.owners])
    return grouped(owners, np.concatenate([one.indices, other.indices]), len(one.indptr) - 1)


def _without(lists: CSR, excluded: CSR) -> CSR:
    """Return the lists without the numbers that are in another's."""
    most = int(max(lists.indices.max(initial=0), excluded.indices.max(initial=0))) + 1
    keys, without = (each.owners * most + each.indices for each in (lists, excluded))
    return lists.where(~np.isin(keys, without))
