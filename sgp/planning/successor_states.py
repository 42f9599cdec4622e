"""The states one action away over a ground model, compiled, without making them."""

from __future__ import annotations

import numpy as np

from sgp.compilation import compiled
from sgp.planning.clock import Flag
from sgp.planning.found import Found
from sgp.planning.operators import (
    Goal,
    Ints,
    Operators,
    applicable_actions,
    apply,
    half_identity,
    has,
    is_in,
    lacking,
    reached,
    state_identity,
    words_of,
)
from sgp.planning.symmetry import Symmetry, representatives


@compiled
def successor_states(
    operators: Operators, goal: Goal, atoms: int, state: Ints, symmetry: Symmetry, stop: Flag
) -> Found:
    """The states one action away, one for each applicable action: not all need differ, nor from the state itself.

    Of actions that differ in objects alone that `symmetry` says are interchangeable, one is applied.

    Leaves the rest as it comes once `stop` [1] is true.
    """
    words, here = words_of(state, atoms), state_identity(state)
    actions = representatives(symmetry, words, applicable_actions(operators, atoms, state))
    count, room = len(actions), 0
    for action in actions:
        room += operators.adds.first[action + 1] - operators.adds.first[action]
        room += operators.deletes.first[action + 1] - operators.deletes.first[action]
    goals, identities = np.zeros(count, np.bool_), np.empty((count, 2), np.uint64)
    first, changed = np.zeros(count + 1, np.int64), np.empty(room, np.int32)
    after, lacked = np.empty_like(words), lacking(words, goal)
    for number in range(count):
        if stop[0]:
            break
        action, end = actions[number], first[number]
        identities[number] = here
        for effect, value in ((operators.adds, False), (operators.deletes, True)):
            for place in range(effect.first[action], effect.first[action + 1]):
                atom = effect.values[place]
                if has(words, atom) == value and not is_in(changed[first[number] : end], atom):
                    changed[end] = atom
                    end += 1
                    identities[number, 0] ^= half_identity(atom, 0)
                    identities[number, 1] ^= half_identity(atom, 1)
        first[number + 1] = end
        if lacked <= end - first[number] or len(goal.unwanted) > 0:  # else it cannot be a goal
            after[:] = words
            apply(after, operators, action)
            goals[number] = reached(after, goal)
    parents, lengths = np.full(count, -1, np.int32), np.ones(count, np.int32)
    return Found(parents, actions, lengths, goals, identities, first, changed[: first[count]])
