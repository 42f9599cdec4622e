"""Interchangeable objects of a grounded task: which they are in a state, and which actions stand for all others.

Two objects are interchangeable in a state if nothing tells them apart: types, static atoms, goal and true atoms stay
what they are when the two change places. Actions that differ in such objects alone lead to states that differ in names
alone, so one of them is enough: the one that takes the members of each class in their order, the first one first. What
remains reaches a state for every one that could be reached, as far from the goal. `sgp.planning.joins` does the
same without instantiating the actions.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix
from sgp.errors import ConfigurationError
from sgp.planning.ground_model import GroundModel
from sgp.planning.operators import Ints, Lists, Words, half_identity, has, is_in, words_of
from sgp.planning.pddl import Action
from sgp.planning.symmetry_marks import kinds_of, mark_of, mark_of_kind
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory

Ranks = tuple[Ints, Ints]
"""Of each of m objects its class, and its place in the class [m] each."""


class Symmetry(NamedTuple):
    """The m objects of a task that static atoms, types and goal do not tell from all others, numbered in their order.

    `always` [m] is equal where these do not tell two apart. States are one where they differ in the names of `merged`
    [m] objects alone, no two of which stand in one atom; others that are alike keep their names. Fluent a gives
    `marks[place]` to the signature of object `objects[place]` for each place of `first[a] : first[a + 1]`. `arguments`
    are the different ones of each action, in the order of its parameters.
    """

    always: Words
    merged: NDArray[np.bool_]
    first: Ints
    objects: Ints
    marks: Words
    arguments: Lists


_NONE = np.zeros(0, np.int32)
_NO_WORDS = np.zeros(0, np.uint64)
NO_SYMMETRY = Symmetry(_NO_WORDS, np.zeros(0, np.bool_), _NONE, _NONE, _NO_WORDS, Lists(_NONE, _NONE))
"""No objects: every action stands for itself alone."""

_KNOWN: weakref.WeakKeyDictionary[Task, tuple[list[str], Symmetry]] = weakref.WeakKeyDictionary()


def symmetry_of(task: Task, model: GroundModel) -> tuple[list[str], Symmetry]:
    """The names of the m objects of a task, and what the kernels know of them; a memo that dies with the task."""
    if task not in _KNOWN:
        alike = kinds_of(task.domain_text, task.text)
        names, always = list(alike), list(alike.values())
        _KNOWN[task] = names, _symmetry(task, model, names, always)
    return _KNOWN[task]


def _symmetry(task: Task, model: GroundModel, names: Sequence[str], always: Sequence[int]) -> Symmetry:
    if not names:
        return NO_SYMMETRY
    place_of = {name: place for place, name in enumerate(names)}
    places = np.array([place_of.get(each.name, -1) for each in task.objects], np.int32)
    first, objects, marks = _marks(model.predicates, model.fluent_arguments, places)
    kinds = np.array(always, np.int32)
    return Symmetry(
        np.array([mark_of_kind(kind) for kind in always], np.uint64),
        _merged(always, _together(first, objects, kinds)),
        first,
        objects,
        marks,
        _members(model.action_arguments, places),
    )


@compiled
def _marks(predicates: Ints, arguments: Lists, places: Ints) -> tuple[Ints, Ints, Words]:
    """What each fluent says of the objects with a place: where its part begins, the objects, and a mark for each."""
    first, count = np.zeros(len(arguments.first), np.int32), 0
    objects, marks = np.empty(len(arguments.values), np.int32), np.empty(len(arguments.values), np.uint64)
    for fluent in range(len(first) - 1):
        own = arguments.values[arguments.first[fluent] : arguments.first[fluent + 1]]
        for position in range(len(own)):
            if places[own[position]] >= 0 and not is_in(own[:position], own[position]):
                objects[count], marks[count] = places[own[position]], mark_of(predicates[fluent], own, position)
                count += 1
        first[fluent + 1] = count
    return first, objects[:count].copy(), marks[:count].copy()


@compiled
def _together(first: Ints, objects: Ints, kinds: Ints) -> NDArray[np.bool_]:
    """Of which kinds [k, k] two objects stand in one fluent."""
    count = max(kinds) + 1
    found = np.zeros((count, count), np.bool_)
    for fluent in range(len(first) - 1):
        for one in range(first[fluent], first[fluent + 1]):
            for other in range(first[fluent], one):
                found[kinds[objects[one]], kinds[objects[other]]] = True
                found[kinds[objects[other]], kinds[objects[one]]] = True
    return found


def _merged(always: Sequence[int], together: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which objects [m] are merged: the largest kinds first, and no two that stand in one atom."""
    chosen: list[int] = []
    for kind, _ in Counter(always).most_common():
        if not together[kind, [*chosen, kind]].any():
            chosen.append(kind)
    return np.isin(np.array(always), chosen)


@compiled
def _members(arguments: Lists, places: Ints) -> Lists:
    """The places of the different arguments that have one, list by list."""
    first, values, count = np.zeros_like(arguments.first), np.empty_like(arguments.values), 0
    for which in range(len(first) - 1):
        own = arguments.values[arguments.first[which] : arguments.first[which + 1]]
        for position in range(len(own)):
            if places[own[position]] >= 0 and not is_in(own[:position], own[position]):
                values[count] = places[own[position]]
                count += 1
        first[which + 1] = count
    return Lists(first, values[:count].copy())


@compiled
def signatures_in(symmetry: Symmetry, state: Words) -> Words:
    """What each of the m objects is told from others by in a state [m]."""
    found = symmetry.always.copy()
    if len(found) == 0:
        return found
    for word in range(len(state)):
        bits = state[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                for place in range(symmetry.first[atom], symmetry.first[atom + 1]):
                    found[symmetry.objects[place]] += symmetry.marks[place]
            bits >>= np.uint64(1)
            atom += 1
    return found


@compiled
def signatures_after(symmetry: Symmetry, before: Words, state: Words, changed: Ints) -> Words:
    """The same for a state that differs in some fluents from the one with the signatures `before`."""
    found = before.copy()
    if len(found) == 0:
        return found
    for atom in changed:
        true = has(state, atom)
        for place in range(symmetry.first[atom], symmetry.first[atom + 1]):
            if true:
                found[symmetry.objects[place]] += symmetry.marks[place]
            else:
                found[symmetry.objects[place]] -= symmetry.marks[place]
    return found


@compiled
def ranked(found: Words) -> Ranks:
    """The classes of objects with equal signatures."""
    kinds, ranks = np.empty(len(found), np.int32), np.empty(len(found), np.int32)
    order = np.argsort(found, kind="mergesort")  # stable: equal ones stay in their order
    kind, rank = -1, 0
    for place in range(len(order)):
        if place == 0 or found[order[place]] != found[order[place - 1]]:
            kind, rank = kind + 1, 0
        kinds[order[place]], ranks[order[place]] = kind, rank
        rank += 1
    return kinds, ranks


@compiled
def stands_for_all(symmetry: Symmetry, told_by: Words, action: int) -> bool:
    """Whether an action takes the members of each class, equal in `told_by` [m], in their order, the first one first.

    The members before an argument are counted anew each time: few actions are asked about, most of them not far.
    """
    arguments = symmetry.arguments
    for here in range(arguments.first[action], arguments.first[action + 1]):
        one, used = arguments.values[here], 0
        for before in range(arguments.first[action], here):
            used += told_by[arguments.values[before]] == told_by[one]
        for other in range(one):
            used -= told_by[other] == told_by[one]
            if used < 0:
                return False
        if used > 0:
            return False
    return True


@compiled
def representatives(symmetry: Symmetry, state: Words, actions: Ints) -> Ints:
    """Those of a state's applicable actions that stand for all."""
    if len(symmetry.always) == 0:
        return actions
    told_by = signatures_in(symmetry, state)
    kept = np.empty_like(actions)
    count = 0
    for action in actions:
        if stands_for_all(symmetry, told_by, action):
            kept[count] = action
            count += 1
    return kept[:count]


@compiled
def identity(symmetry: Symmetry, state: Words) -> Words:
    """The identity [2] of a state: equal where two differ in names of merged objects alone.

    Others have the same one with a probability of 2^-64.
    """
    found = np.zeros(2, np.uint64)
    for word in range(len(state)):
        bits = state[word]
        atom = 64 * word
        while bits != np.uint64(0):
            if bits & np.uint64(1) != np.uint64(0):
                merged = 0
                for place in range(symmetry.first[atom], symmetry.first[atom + 1]):
                    merged += symmetry.merged[symmetry.objects[place]]
                if merged == 0:
                    found[0] ^= half_identity(atom, 0)
                    found[1] ^= half_identity(atom, 1)
            bits >>= np.uint64(1)
            atom += 1
    told_by = signatures_in(symmetry, state)
    for place in range(len(told_by)):
        if symmetry.merged[place]:
            one = mix(told_by[place])
            found[0] += one
            found[1] += mix(one + np.uint64(1))
    return found


@compiled
def identities(symmetry: Symmetry, states: Words) -> Words:
    """The identities [n, 2] of states [n, w]."""
    found = np.empty((len(states), 2), np.uint64)
    for place in range(len(states)):
        found[place] = identity(symmetry, states[place])
    return found


def represented(trajectory: Trajectory) -> Trajectory:
    """The same plan up to names of interchangeable objects, each action one that stands for all.

    Raises ConfigurationError where its task's actions are not all instantiated.
    """
    task = trajectory.task
    if task.model is None:
        raise ConfigurationError(
            f"{task.name} has too many actions to rename its plan by interchangeable objects; leave it out, or train "
            "without representatives"
        )
    names, symmetry = symmetry_of(task, task.model)
    if not names:
        return trajectory
    place_of = {name: place for place, name in enumerate(names)}
    called = {name: name for name in names}  # what the plan's objects are called by now
    state, states, actions = task.init, [task.init], list[Action]()
    for action in trajectory.actions:
        now = [called.get(name, name) for name in action.objects]
        swapped = _to_representative(
            task, task.model, state, symmetry, [place_of[each] for each in dict.fromkeys(now) if each in place_of]
        )
        renamed = {names[old]: names[new] for old, new in enumerate(swapped)}
        called = {name: renamed[each] for name, each in called.items()}
        actions.append(Action(action.name, tuple([called.get(name, name) for name in action.objects])))
        state = task.apply(state, actions[-1])
        states.append(state)
    return Trajectory(task, tuple(actions), tuple(states))


def _to_representative(
    task: Task, model: GroundModel, state: State, symmetry: Symmetry, used: Sequence[int]
) -> list[int]:
    """Which object takes the place of each [m], so that an action that uses these becomes one that stands for all."""
    words = words_of(np.array(task.fluents(state), np.int32), model.atoms)
    kinds, ranks = ranked(signatures_in(symmetry, words))
    members: dict[tuple[int, int], int] = {
        (kind, rank): place for place, (kind, rank) in enumerate(zip(kinds.tolist(), ranks.tolist(), strict=True))
    }
    taken: dict[int, int] = {}
    becomes = list(range(len(kinds)))
    for one in used:
        kind = int(kinds[one])
        taken[kind] = taken.get(kind, -1) + 1
        wanted = members[kind, taken[kind]]
        holder = becomes.index(wanted)
        becomes[one], becomes[holder] = becomes[holder], becomes[one]
    return becomes
