"""Width-1 search over a ground model, compiled: which states are novel, found without making states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled
from sgp.planning.ground_model import Lists

Ints = NDArray[np.int32]
Words = NDArray[np.uint64]


@compiled
def _has(words: Words, atom: int) -> bool:
    return bool((words[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1) != np.uint64(0))


@compiled
def _grown(table: Words) -> Words:
    larger = np.zeros((2 * len(table), table.shape[1]), np.uint64)
    larger[: len(table)] = table
    return larger


@compiled
def _longer(values: Ints) -> Ints:
    larger = np.empty(2 * len(values), np.int32)
    larger[: len(values)] = values
    return larger


@compiled
def _applicable(node: Words, needs: Lists, forbids: Lists, action: int) -> bool:
    for place in range(needs.first[action], needs.first[action + 1]):
        if not _has(node, needs.values[place]):
            return False
    for place in range(forbids.first[action], forbids.first[action + 1]):
        if _has(node, forbids.values[place]):
            return False
    return True


@compiled
def _apply(node: Words, adds: Lists, deletes: Lists, action: int) -> None:
    for place in range(deletes.first[action], deletes.first[action + 1]):
        atom = deletes.values[place]
        node[atom >> 6] &= ~(np.uint64(1) << np.uint64(atom & 63))
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        node[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)


@compiled
def novel_states(
    needs: Lists,
    forbids: Lists,
    adds: Lists,
    deletes: Lists,
    watchers: Lists,
    forms: Lists,
    form_count: int,
    goal: Ints,
    always_near: bool,
    atoms: int,
    state: Ints,
    layer: int,
    most: int,
) -> tuple[Ints, Ints, NDArray[np.bool_], Ints, Ints]:
    """The candidates of a state in the order in which they are generated: parent, action, whether it is novel, change.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`; `watchers[a]` are actions
    that need it, the last list those that need none, each action once. Parents are places in the list of candidates,
    -1 for the state itself. All actions of the state are candidates, then the novel ones, and those that might reach
    the goal (from a state that lacks at most as many goal atoms as an action adds, or from any with `always_near`);
    whoever asks must look at the latter, and at candidates that are the same state. `layer` > 0 keeps so many novel
    states at each depth, those with more goal atoms first. Stops after `most` candidates. The fluents in which
    candidate i differs from the state are `changed[first[i] : first[i + 1]]`, the last two results.
    """
    count = len(needs.first) - 1
    words = max((atoms + 63) // 64, 1)
    table = np.zeros((256, words), np.uint64)  # the states that are expanded
    owner = np.empty(256, np.int32)  # and which candidates they are
    depth_first = 0  # where the present layer begins among them
    seen = np.zeros(form_count, np.bool_)
    for atom in state:
        table[0, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
        for place in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[place]] = True
    owner[0] = -1
    expanded = 1
    largest = 0  # most atoms that an action adds
    for action in range(count):
        largest = max(largest, adds.first[action + 1] - adds.first[action])
    parents, actions = np.empty(256, np.int32), np.empty(256, np.int32)
    novel, first = np.empty(256, np.int32), np.zeros(257, np.int32)
    changed = np.empty(1024, np.int32)
    watching = np.empty(count, np.int32)  # actions whose watched atom is true in the node
    after = np.empty(words, np.uint64)
    found = 0
    while depth_first < expanded:
        layer_end = expanded
        for node in range(depth_first, layer_end):
            missing = 0
            for atom in goal:
                if not _has(table[node], atom):
                    missing += 1
            everything = owner[node] < 0 or always_near or missing <= largest
            total = 0
            for word in range(words + 1):
                if word == words:
                    for place in range(watchers.first[atoms], watchers.first[atoms + 1]):
                        watching[total] = watchers.values[place]
                        total += 1
                    break
                bits = table[node, word]
                atom = 64 * word
                while bits != np.uint64(0):
                    if bits & np.uint64(1) != np.uint64(0):
                        for place in range(watchers.first[atom], watchers.first[atom + 1]):
                            watching[total] = watchers.values[place]
                            total += 1
                    bits >>= np.uint64(1)
                    atom += 1
            watching[:total].sort()
            for which in range(total):
                action = watching[which]
                new = False
                for place in range(adds.first[action], adds.first[action + 1]):
                    atom = adds.values[place]
                    for form in range(forms.first[atom], forms.first[atom + 1]):
                        if not seen[forms.values[form]]:
                            new = True
                if not (new or everything) or not _applicable(table[node], needs, forbids, action):
                    continue
                if found == len(parents):
                    parents, actions, novel = _longer(parents), _longer(actions), _longer(novel)
                    longer = np.empty(len(parents) + 1, np.int32)
                    longer[: found + 1] = first[: found + 1]
                    first = longer
                after[:] = table[node]
                _apply(after, adds, deletes, action)
                end = first[found]
                for word in range(words):
                    bits = after[word] ^ table[0, word]
                    atom = 64 * word
                    while bits != np.uint64(0):
                        if bits & np.uint64(1) != np.uint64(0):
                            if end == len(changed):
                                changed = _longer(changed)
                            changed[end] = atom
                            end += 1
                        bits >>= np.uint64(1)
                        atom += 1
                parents[found], actions[found], novel[found], first[found + 1] = owner[node], action, new, end
                found += 1
                if new:
                    for place in range(adds.first[action], adds.first[action + 1]):
                        atom = adds.values[place]
                        for form in range(forms.first[atom], forms.first[atom + 1]):
                            seen[forms.values[form]] = True
                    if expanded == len(table):
                        table, owner = _grown(table), _longer(owner)
                    table[expanded] = after
                    owner[expanded] = found - 1
                    expanded += 1
                if found >= most:
                    return parents[:found], actions[:found], novel[:found] != 0, first[: found + 1], changed
        depth_first = layer_end
        width = expanded - layer_end
        if layer > 0 and width > layer:
            lacking = np.zeros(width, np.int64)
            for node in range(layer_end, expanded):
                for atom in goal:
                    if not _has(table[node], atom):
                        lacking[node - layer_end] += 1
            order = np.argsort(lacking, kind="mergesort")[:layer]
            chosen, chosen_owner = table[layer_end:expanded][order].copy(), owner[layer_end:expanded][order].copy()
            table[layer_end : layer_end + layer] = chosen
            owner[layer_end : layer_end + layer] = chosen_owner
            expanded = layer_end + layer
    return parents[:found], actions[:found], novel[:found] != 0, first[: found + 1], changed
