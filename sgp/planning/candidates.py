"""Array-backed candidates, whose successor objects are built on request."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import overload

import numpy as np

from sgp.planning.hash_table import Ints, Words
from sgp.planning.novelty_forms import Abstraction
from sgp.planning.operators import state_identities, state_identity
from sgp.planning.pddl import Action
from sgp.planning.problem_index import Instances
from sgp.planning.task import State, Successor, Task
from sgp.planning.width_search import SearchLimits, SearchResult

_ONE_STEP = SearchLimits(one_step=True, layer=0, min_novel=0, most=2**31 - 1)


class Candidates(Sequence[Successor]):
    """States found by a compiled search from one state.

    `fluents` are the indices of the true fluents of `state`. Candidate i differs from `state` in `changed[indptr[i] :
    indptr[i + 1]]`. `lengths` [n] are path lengths in actions. `goals` [n] marks goal states. `parents` [n] index the
    full search result, -1 for `state`. `identities` [n] distinguish states; each is one of the `state_keys`.
    """

    def __init__(
        self,
        task: Task,
        state: State,
        fluents: Ints,
        result: SearchResult,
        instances: Instances | None,
        places: range | None = None,
    ):
        self._task, self._state, self._result, self._instances = task, state, result, instances
        self._places = range(len(result.parents)) if places is None else places  # indices into the search result
        chosen, ends = slice(self._places.start, self._places.stop), self._places.stop + 1
        indptr = result.indptr[self._places.start : ends]
        self.fluents, self.indptr, self.changed = fluents, indptr - indptr[0], result.changed[indptr[0] : indptr[-1]]
        self.lengths, self.goals, self.parents = result.lengths[chosen], result.goals[chosen], result.parents[chosen]
        self.identities: list[Hashable] = rows_as_bytes(result.identities[chosen])
        self._made: dict[int, Successor] = {}

    @classmethod
    def of(cls, task: Task, state: State, successors: Sequence[Successor]) -> Candidates:
        """Wrap existing successors; return candidates unchanged."""
        if isinstance(successors, Candidates):
            return successors
        fluents = task.fluents(state)
        changes = [sorted(set(fluents).symmetric_difference(task.fluents(each.state))) for each in successors]
        indptr, before = np.cumsum([0, *map(len, changes)]), np.array(fluents, np.int32)
        changed = np.array([fluent for change in changes for fluent in change], np.int32)
        result = SearchResult(
            parents=np.array([-1 if each.parent is None else each.parent for each in successors], np.int32),
            actions=np.zeros(len(successors), np.int32),
            lengths=np.array([len(each.actions) for each in successors], np.int32),
            goals=np.array([task.is_goal(each.state) for each in successors], np.bool_),
            identities=state_identities(before, indptr, changed),
            indptr=indptr,
            changed=changed,
        )
        made = cls(task, state, before, result, None)
        made._made = dict(enumerate(successors))
        return made

    @property
    def schemas(self) -> list[str]:
        """The schema of the last action to each candidate [n]."""
        if self._instances is None:
            return [successor.actions[-1].name for successor in self]
        return [self._instances.schema(int(self._result.actions[place])) for place in self._places]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Successor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Successor]: ...

    def __getitem__(self, index: int | slice) -> Successor | Sequence[Successor]:
        """Return one successor, or a slice of the candidates; `parents` still index the full search result."""
        if isinstance(index, slice):
            if index.step not in (None, 1):
                return [self[place] for place in range(*index.indices(len(self)))]
            part = Candidates(self._task, self._state, self.fluents, self._result, self._instances, self._places[index])
            part._made = self._made
            return part
        place = self._places[index]
        known = self._made.get(place)
        if known is None:
            known = self._made[place] = self._successor(place)
        return known

    def _successor(self, place: int) -> Successor:
        result, path = self._result, self._path(place)
        parent = int(result.parents[place])
        if parent < 0:
            return Successor(path, self._task.after(self._state, path[0]))
        changed = result.changed[result.indptr[place] : result.indptr[place + 1]]
        fluents = {*self.fluents.tolist()}.symmetric_difference(changed.tolist())
        return Successor(path, self._task.state_of(sorted(fluents)), parent)

    def _path(self, place: int) -> tuple[Action, ...]:
        actions, instances = [], self._instances
        assert instances is not None, "successors that were given are made"
        while place >= 0:
            actions.append(instances.action(int(self._result.actions[place])))
            place = int(self._result.parents[place])
        return tuple(reversed(actions))


def search(
    task: Task, state: State, abstraction: Abstraction, limits: SearchLimits, representatives: bool
) -> Candidates:
    """Run a width-1 search from a state.

    With `representatives`, or with very many applicable actions, each state of the search applies one of the actions
    that differ only in interchangeable objects.
    """
    fluents, model = np.array(task.fluents(state), np.int32), task.model
    if model is None or task.joins(representatives):
        few = representatives or task.has_many_actions
        instances, result = task.lifted.search(fluents, abstraction, limits, few)
    else:
        instances, result = model.search(fluents, abstraction, limits, representatives)
    return Candidates(task, state, fluents, result, instances)


def successors(task: Task, state: State, representatives: bool = False) -> Candidates:
    """Return the states one action away, in the order of the PDDL's actions and objects.

    There is one candidate per applicable action; candidates may be equal to each other or to `state`. With
    `representatives`, or with too many applicable actions, there is one per class of actions that differ only in
    interchangeable objects.
    """
    return search(task, state, "none", _ONE_STEP, representatives)


def parts(choice: Sequence[Successor], most: int) -> Iterator[Sequence[Successor]]:
    """Yield the candidates in order, in slices of at most `most`."""
    for begin in range(0, max(len(choice), 1), most):
        yield choice if len(choice) <= most else choice[begin : begin + most]


def state_keys(task: Task, state: State) -> tuple[Hashable, Hashable]:
    """Return the two keys of a state among candidates: the state itself, and the identity of its fluents."""
    return state, state_identity(np.array(task.fluents(state), np.int32)).tobytes()


def rows_as_bytes(rows: Words) -> list[Hashable]:
    """Convert each row [n, w] to bytes."""
    width, text = rows.itemsize * rows.shape[1], rows.tobytes()
    return [text[start : start + width] for start in range(0, len(text), width)]
