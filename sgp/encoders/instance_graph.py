"""The instance learning graph of a task (Chen, Trevizan and Thiebaux 2024), as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.fluent_numbers import Changes, FluentNumbers
from sgp.encoders.kernels.wl_histogram import ABSENT, GraphLayout
from sgp.encoders.kernels.wl_recolouring import Colouring, start_colouring
from sgp.encoders.wl_vocabulary import OBJECT_COLOUR, Vocabulary, predicate_colour
from sgp.planning.clock import looking
from sgp.planning.pddl import Atom
from sgp.planning.task import State, Successor, Task


class InstanceGraph:
    """Numbers a task's objects and atoms, known from the start or as they are met, and lays them out for kernels."""

    def __init__(self, task: Task, vocabulary: Vocabulary):
        self._fluents = FluentNumbers(task)
        self._vocabulary = vocabulary
        names = sorted(task.domain_text.predicates.items(), key=lambda item: f"{item[0]}/{item[1]}")
        self._predicates = {name: place for place, (name, _) in enumerate(names)}
        self.max_arity = max(task.domain_text.predicates.values(), default=0)
        self._object_colour = [vocabulary.initial(OBJECT_COLOUR)] * task.size
        self._objects = {thing.name: place for place, thing in enumerate(task.objects)}
        self._goal_sign = {literal.atom: literal.positive for literal in task.goal}
        self._numbers: dict[Atom, int] = {}
        self._first, self._arguments = [0], list[int]()
        self._true, self._false = list[int](), list[int]()
        self._static = [self._number(atom) for atom in looking(task.static_atoms)]
        self._goal = [self._number(atom) for atom in self._goal_sign]
        self.goal_atoms = np.array([self._number(atom) for atom in task.goal_atoms], np.int32)
        if task.model is not None:
            for atom in looking(task.model.fluents):  # all at once: an atom met later makes layout and colouring anew
                self._number(atom)
        self._layout: GraphLayout | None = None
        self._colouring: Colouring | None = None

    @property
    def layout(self) -> GraphLayout:
        """The arrays of all atoms met so far."""
        if self._layout is None:
            self._layout = GraphLayout(
                *(
                    np.array(values, np.int32)
                    for values in (
                        self._object_colour,
                        self._static,
                        self._goal,
                        self._first,
                        self._arguments,
                        self._true,
                        self._false,
                    )
                )
            )
        return self._layout

    def fluent_atoms(self, states: Sequence[State]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each state's atoms begin [b + 1], and the numbers of the fluent atoms true in the states."""
        return self._fluents.of(states, self._number)

    def changes(self, states: Sequence[State], choices: Sequence[Sequence[Successor]]) -> Changes:
        """What is true in the states, and what changes from each to its candidates."""
        return self._fluents.changes(states, choices, self._number)

    def colouring(self, with_static: bool) -> Colouring:
        """The colouring that kernels move from state to state; a memo, not a state: any will do."""
        if self._colouring is None:
            words = self._vocabulary
            self._colouring = start_colouring(
                self.layout,
                words.table,
                words.iterations,
                words.multiset,
                self.max_arity,
                with_static,
                words.dimension,
            )
        return self._colouring

    def count_nodes(self, first: NDArray[np.int64], atoms: NDArray[np.int32], with_static: bool) -> NDArray[np.int64]:
        """Nodes [b] of the states' graphs: objects, true atoms, and goal atoms that are not true."""
        static = self._static if with_static else []
        true = np.diff(first) + len(static)
        reached = np.zeros(len(first), np.int64)
        np.cumsum([np.isin(atoms[a:b], self._goal).sum() for a, b in pairwise(first)], out=reached[1:])
        open_goals = len(self._goal) - np.diff(reached) - len(set(self._goal) & set(static))
        return np.asarray(len(self._object_colour) + true + open_goals)

    def _number(self, atom: Atom) -> int:
        number = self._numbers.get(atom)
        if number is None:
            number = self._numbers[atom] = len(self._numbers)
            place, sign = self._predicates[atom.predicate], self._goal_sign.get(atom)
            true, false = (self._vocabulary.initial(predicate_colour(place, sign, holds)) for holds in (True, False))
            self._true.append(true)
            self._false.append(ABSENT if sign is None else false)
            if sign is not False:  # wlplan gives negated goals no edges
                self._arguments += [self._objects[name] for name in atom.objects]
            self._first.append(len(self._arguments))
            self._layout = self._colouring = None
        return number
