"""Interchangeable objects of a grounded task: which they are in a state, and which actions stand for all others.

Two objects are interchangeable in a state if nothing tells them apart: types, static atoms, goal and true atoms stay
what they are when the two change places. Actions that differ in such objects alone lead to states that differ in names
alone, so one of them is enough: the one that takes the members of each class in their order, the first one first. What
remains reaches a state for every one that could be reached, as far from the goal. `sgp.planning.representatives` does
the same without instantiating the actions.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix
from sgp.errors import ConfigurationError
from sgp.planning.clock import looking
from sgp.planning.ground_model import GroundModel
from sgp.planning.operators import Ints, Lists, Words, half_identity, has, words_of
from sgp.planning.pddl import Action
from sgp.planning.representatives import signatures
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
        names, always = _never_told_apart(task)
        _KNOWN[task] = names, _symmetry(task, model, names, always)
    return _KNOWN[task]


def _never_told_apart(task: Task) -> tuple[list[str], list[int]]:
    """The objects that another one is like but for fluent atoms; the number of each one's kind."""
    constants = {each.name for each in task.domain_text.constants}
    names = [each.name for each in task.objects]
    always = signatures(
        names, [*((atom, "") for atom in task.static_atoms), *((atom, sign) for atom, sign in task.goal)]
    )
    kinds: dict[object, list[str]] = {}
    for each in task.objects:
        if each.name not in constants:
            kinds.setdefault((each.types, always[each.name]), []).append(each.name)
    number = {name: kind for kind, alike in enumerate(kinds.values()) if len(alike) > 1 for name in alike}
    found = [name for name in names if name in number]
    return found, [number[name] for name in found]


def _symmetry(task: Task, model: GroundModel, names: Sequence[str], always: Sequence[int]) -> Symmetry:
    if not names:
        return NO_SYMMETRY
    place_of = {name: place for place, name in enumerate(names)}
    shapes: dict[object, int] = {}
    marks: list[list[tuple[int, int]]] = [[] for _ in range(model.atoms)]
    together: set[tuple[int, ...]] = set()  # kinds of which two objects stand in one atom
    for (predicate, arguments), index in looking(model.fluents.items()):
        for name in dict.fromkeys(arguments):
            if name in place_of:
                shape = (predicate, *(None if each == name else each for each in arguments))
                marks[index].append((place_of[name], shapes.setdefault(shape, len(shapes))))
        together.update(permutations([always[place] for place, _ in marks[index]], 2))
    first = np.zeros(model.atoms + 1, np.int32)
    np.cumsum([len(each) for each in marks], out=first[1:])
    flat = [pair for each in marks for pair in each]
    return Symmetry(
        _mixed(always, len(shapes)),
        _merged(always, together),
        first,
        np.array([place for place, _ in flat], np.int32),
        _mixed([shape for _, shape in flat], 0),
        Lists.of([_different(place_of, each) for each in looking(model.arguments())]),
    )


def _merged(always: Sequence[int], together: Set[tuple[int, ...]]) -> NDArray[np.bool_]:
    """Which objects [m] are merged: the largest kinds first, and no two that stand in one atom."""
    chosen: list[int] = []
    for kind, _ in Counter(always).most_common():
        if not any((kind, other) in together for other in [*chosen, kind]):
            chosen.append(kind)
    return np.isin(np.array(always), chosen)


def _different(place_of: dict[str, int], names: Iterable[str]) -> list[int]:
    return [place_of[name] for name in dict.fromkeys(names) if name in place_of]


def _mixed(numbers: Sequence[int], begin: int) -> Words:
    """A number of 64 bits for each; sums of others than these are theirs with a probability of 2^-64."""
    return np.array([mix(np.uint64((begin + each + 1) * 0x9E3779B97F4A7C15 % 2**64)) for each in numbers], np.uint64)


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
def stands_for_all(symmetry: Symmetry, ranks: Ranks, action: int) -> bool:
    """Whether an action takes the members of each class in their order, the first one first."""
    kinds, places = ranks
    arguments = symmetry.arguments
    for here in range(arguments.first[action], arguments.first[action + 1]):
        one, used = arguments.values[here], 0
        for before in range(arguments.first[action], here):
            if kinds[arguments.values[before]] == kinds[one]:
                used += 1
        if places[one] != used:
            return False
    return True


@compiled
def representatives(symmetry: Symmetry, state: Words, actions: Ints) -> Ints:
    """Those of a state's applicable actions that stand for all."""
    if len(symmetry.always) == 0:
        return actions
    ranks = ranked(signatures_in(symmetry, state))
    kept = np.empty_like(actions)
    count = 0
    for action in actions:
        if stands_for_all(symmetry, ranks, action):
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
