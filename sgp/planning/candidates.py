"""Candidates that are found by the hundred and looked at by the dozen: arrays, of which states are made when asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import look, stop
from sgp.planning.found import Found
from sgp.planning.ground_model import GroundModel
from sgp.planning.lifted_model import Instances
from sgp.planning.operators import Ints, state_identity
from sgp.planning.pddl import Action
from sgp.planning.successor_states import successor_states
from sgp.planning.symmetry import NO_SYMMETRY, symmetry_of
from sgp.planning.task import State, Successor, Task


class Candidates(Sequence[Successor]):
    """What a compiled search found from a state; successors are made when they are asked for.

    `fluents` are true in `state`, as the task numbers them; candidate i differs from it in
    `changed[first[i] : first[i + 1]]`.
    """

    def __init__(
        self,
        task: Task,
        model: GroundModel | Instances,
        state: State,
        fluents: Ints,
        found: Found,
        begin: int = 0,
        end: int | None = None,
    ):
        self._task, self._model, self._state, self._found = task, model, state, found
        self._all = range(len(found.parents))[begin:end]  # which of those found are in here
        first = found.first[begin : self._all.stop + 1]
        self.fluents, self.first, self.changed = fluents, first - first[0], found.changed[first[0] : first[-1]]
        self.lengths, self.goals = found.lengths[begin:end], found.goals[begin:end]
        self.parents = found.parents[begin:end]
        self.identities: list[Hashable] = rows_as_bytes(found.identities[begin:end])
        self._made: dict[int, Successor] = {}

    @property
    def schemas(self) -> list[str]:
        """The schema of the last action to each."""
        last = self._found.actions[self._all.start : self._all.stop]
        return list(map(self._model.schema, last.tolist()))

    def part(self, begin: int, end: int) -> Candidates:
        """Those from one place to another; in it, too, `parent` is a place among all that were found."""
        start = self._all.start
        return Candidates(
            self._task,
            self._model,
            self._state,
            self.fluents,
            self._found,
            start + begin,
            min(start + end, self._all.stop),
        )

    def __len__(self) -> int:
        return len(self.identities)

    @overload
    def __getitem__(self, index: int) -> Successor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Successor]: ...

    def __getitem__(self, index: int | slice) -> Successor | Sequence[Successor]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = self._all[index]
        known = self._made.get(place)
        if known is None:
            parent = int(self._found.parents[place])
            if parent < 0:
                action = self._task.ground(self._model.action(int(self._found.actions[place])))
                known = Successor(action.actions, self._task.after(self._state, action))
            else:
                changed = self._found.changed[self._found.first[place] : self._found.first[place + 1]]
                state = self._task.state_of(sorted({*self.fluents.tolist()}.symmetric_difference(changed.tolist())))
                known = Successor(self._path(place), state, parent)
            self._made[place] = known
        return known

    def _path(self, place: int) -> tuple[Action, ...]:
        actions = []
        while place >= 0:
            actions.append(self._model.action(int(self._found.actions[place])))
            place = int(self._found.parents[place])
        return tuple(reversed(actions))


def successors(task: Task, state: State, representatives: bool = False) -> Candidates:
    """The states one action away, in the order of the PDDL's actions and objects.

    With `representatives`, or where there are too many, one of those whose actions differ in interchangeable objects
    alone.
    """
    fluents, model = np.array(task.fluents(state), np.int32), task.model
    if model is None or task.joins(representatives):
        instances, found = task.lifted.successors(fluents, representatives or task.has_many_actions)
        return Candidates(task, instances, state, fluents, found)
    symmetry = symmetry_of(task, model)[1] if representatives else NO_SYMMETRY
    found = successor_states(model.operators, model.goal, model.atoms, fluents, symmetry, stop())
    look()
    return Candidates(task, model, state, fluents, found)


def parts(choice: Sequence[Successor], most: int) -> Iterator[Sequence[Successor]]:
    """The candidates in order, so many at a time."""
    if len(choice) <= most:
        yield choice
        return
    for begin in range(0, len(choice), most):
        yield choice.part(begin, begin + most) if isinstance(choice, Candidates) else choice[begin : begin + most]


def lengths(choice: Sequence[Successor]) -> NDArray[np.integer]:
    """How many actions lead to each candidate [n]."""
    if isinstance(choice, Candidates):
        return choice.lengths
    return np.array([len(each.actions) for each in choice])


def schemas(choice: Sequence[Successor]) -> list[str]:
    """The schema of the last action to each candidate [n]."""
    if isinstance(choice, Candidates):
        return choice.schemas
    return [each.actions[-1].name for each in choice]


def parents(choice: Sequence[Successor]) -> NDArray[np.integer]:
    """Among which candidate's successors each was found [n], -1 for those of the state itself."""
    if isinstance(choice, Candidates):
        return choice.parents
    return np.array([-1 if each.parent is None else each.parent for each in choice], np.int64)


def goals(task: Task, choice: Sequence[Successor]) -> NDArray[np.bool_]:
    """Which candidates satisfy the goal [n]."""
    if isinstance(choice, Candidates):
        return choice.goals
    return np.array([task.is_goal(each.state) for each in choice], np.bool_)


def identities(choice: Sequence[Successor]) -> Sequence[Hashable]:
    """What tells the candidates' states apart: one of the `names` that the state has."""
    if isinstance(choice, Candidates):
        return choice.identities
    return [each.state for each in choice]


def names(task: Task, state: State) -> tuple[Hashable, Hashable]:
    """What a state can be called among candidates: itself, and the identity of its fluents."""
    return state, state_identity(np.array(task.fluents(state), np.int32)).tobytes()


def rows_as_bytes(rows: NDArray[np.uint64]) -> list[Hashable]:
    """Each row [n, w] as bytes."""
    width, text = rows.itemsize * rows.shape[1], rows.tobytes()
    return [text[start : start + width] for start in range(0, len(text), width)]
