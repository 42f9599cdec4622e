"""Candidates that are found by the hundred and looked at by the dozen: arrays, of which states are made when asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sgp.planning.hash_table import Ints, Words
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.operators import state_identity
from sgp.planning.pddl import Action
from sgp.planning.problem_index import Instances
from sgp.planning.task import State, Successor, Task
from sgp.planning.width_search import SearchLimits, SearchResult

_ONE_STEP = SearchLimits(one_step=True, layer=0, min_novel=0, most=2**31 - 1)


class Candidates(Sequence[Successor]):
    """What a compiled search found from a state; successors are made when they are asked for.

    `fluents` are true in `state`, as the task numbers them; candidate i differs from it in
    `changed[indptr[i] : indptr[i + 1]]`.
    """

    def __init__(
        self,
        task: Task,
        instances: Instances,
        state: State,
        fluents: Ints,
        result: SearchResult,
        begin: int = 0,
        end: int | None = None,
    ):
        self._task, self._instances, self._state, self._result = task, instances, state, result
        self._all = range(len(result.parents))[begin:end]  # which of the search's candidates these are
        indptr = result.indptr[begin : self._all.stop + 1]
        self.fluents, self.indptr, self.changed = fluents, indptr - indptr[0], result.changed[indptr[0] : indptr[-1]]
        self.lengths, self.goals = result.lengths[begin:end], result.goals[begin:end]
        self.parents = result.parents[begin:end]
        self.identities: list[Hashable] = rows_as_bytes(result.identities[begin:end])
        self._made: dict[int, Successor] = {}

    @property
    def schemas(self) -> list[str]:
        """The schema of the last action to each."""
        last = self._result.actions[self._all.start : self._all.stop]
        return list(map(self._instances.schema, last.tolist()))

    def part(self, begin: int, end: int) -> Candidates:
        """Those from one place to another; in it, too, `parent` is a place among all that were found."""
        begin, end = self._all.start + begin, min(self._all.start + end, self._all.stop)
        return Candidates(self._task, self._instances, self._state, self.fluents, self._result, begin, end)

    def __len__(self) -> int:
        return len(self.identities)

    @overload
    def __getitem__(self, index: int) -> Successor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Successor]: ...

    def __getitem__(self, index: int | slice) -> Successor | Sequence[Successor]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place, result = self._all[index], self._result
        known = self._made.get(place)
        if known is None:
            parent, path = int(result.parents[place]), self._path(place)
            if parent < 0:
                known = Successor(path, self._task.after(self._state, self._task.ground(path[0])))
            else:
                changed = result.changed[result.indptr[place] : result.indptr[place + 1]]
                fluents = {*self.fluents.tolist()}.symmetric_difference(changed.tolist())
                known = Successor(path, self._task.state_of(sorted(fluents)), parent)
            self._made[place] = known
        return known

    def _path(self, place: int) -> tuple[Action, ...]:
        actions = []
        while place >= 0:
            actions.append(self._instances.action(int(self._result.actions[place])))
            place = int(self._result.parents[place])
        return tuple(reversed(actions))


def search(
    task: Task, state: State, abstraction: Abstraction, limits: SearchLimits, representatives: bool
) -> Candidates:
    """What a search of width 1 finds from a state.

    With `representatives`, or where very many actions are applicable, of those that differ in interchangeable objects
    alone one is applied in every state of the search.
    """
    fluents, model = np.array(task.fluents(state), np.int32), task.model
    if model is None or task.joins(representatives):
        few = representatives or task.has_many_actions
        instances, result = task.lifted.search(fluents, abstraction, limits, few)
    else:
        instances, result = model.search(fluents, abstraction, limits, representatives)
    return Candidates(task, instances, state, fluents, result)


def successors(task: Task, state: State, representatives: bool = False) -> Candidates:
    """The states one action away, in the order of the PDDL's actions and objects.

    There is one for each applicable action: not all differ, nor from the state itself. With `representatives`, or where
    there are too many, one of those whose actions differ in interchangeable objects alone.
    """
    return search(task, state, "none", _ONE_STEP, representatives)


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
    return np.array([len(candidate.actions) for candidate in choice])


def schemas(choice: Sequence[Successor]) -> list[str]:
    """The schema of the last action to each candidate [n]."""
    if isinstance(choice, Candidates):
        return choice.schemas
    return [candidate.actions[-1].name for candidate in choice]


def parents(choice: Sequence[Successor]) -> NDArray[np.integer]:
    """Among which candidate's successors each was found [n], -1 for those of the state itself."""
    if isinstance(choice, Candidates):
        return choice.parents
    return np.array([-1 if candidate.parent is None else candidate.parent for candidate in choice], np.int64)


def goals(task: Task, choice: Sequence[Successor]) -> NDArray[np.bool_]:
    """Which candidates satisfy the goal [n]."""
    if isinstance(choice, Candidates):
        return choice.goals
    return np.array([task.is_goal(candidate.state) for candidate in choice], np.bool_)


def identities(choice: Sequence[Successor]) -> Sequence[Hashable]:
    """What tells the candidates' states apart: one of the `state_keys` of each."""
    if isinstance(choice, Candidates):
        return choice.identities
    return [candidate.state for candidate in choice]


def state_keys(task: Task, state: State) -> tuple[Hashable, Hashable]:
    """The keys of a state among candidates: itself, and the identity of its fluents."""
    return state, state_identity(np.array(task.fluents(state), np.int32)).tobytes()


def rows_as_bytes(rows: Words) -> list[Hashable]:
    """Each row [n, w] as bytes."""
    width, text = rows.itemsize * rows.shape[1], rows.tobytes()
    return [text[start : start + width] for start in range(0, len(text), width)]
