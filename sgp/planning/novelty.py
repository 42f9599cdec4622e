"""Width-1 search over a ground model, compiled: which states are novel, found without making states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.planning.operators import Ints, Lists, Operators, applicable, apply, has, possible, taller


@compiled
def novel_states(
    operators: Operators,
    forms: Lists,
    form_count: int,
    goal: Ints,
    always_near: bool,
    atoms: int,
    state: Ints,
    layer: int,
    enough: int,
    most: int,
) -> tuple[Ints, Ints, NDArray[np.bool_], Ints, Ints]:
    """The candidates of a state in the order in which they are generated: parent, action, whether it is novel, change.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`. Parents are places in the
    list of candidates, -1 for the state itself. All actions of the state are candidates, then the novel ones, and
    those that might reach the goal (from a state that lacks at most as many goal atoms as an action adds, or from any
    with `always_near`); whoever asks must look at the latter, and at candidates that are the same state. `layer` > 0
    keeps so many novel states at each depth, those with more goal atoms first; `enough` > 0 ends the search after a
    depth when so many were novel and one of them has more goal atoms than the state. Stops after `most` candidates.
    The fluents in which candidate i differs from the state are `changed[first[i] : first[i + 1]]`, given last.
    """
    adds = operators.adds
    count = len(adds.first) - 1
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
    watching = np.empty(count, np.int32)  # actions that might be applicable in the node
    after = np.empty(words, np.uint64)
    found = 0
    novelties, lacked, progress = 0, 0, False
    for atom in goal:
        if not has(table[0], atom):
            lacked += 1
    while depth_first < expanded and not (0 < enough <= novelties and progress):
        layer_end = expanded
        for node in range(depth_first, layer_end):
            missing = 0
            for atom in goal:
                if not has(table[node], atom):
                    missing += 1
            everything = owner[node] < 0 or always_near or missing <= largest
            total = possible(table[node], operators, watching)
            for which in range(total):
                action = watching[which]
                new = False
                for place in range(adds.first[action], adds.first[action + 1]):
                    atom = adds.values[place]
                    for form in range(forms.first[atom], forms.first[atom + 1]):
                        if not seen[forms.values[form]]:
                            new = True
                if not (new or everything) or not applicable(table[node], operators, action):
                    continue
                if found == len(parents):
                    parents, actions, novel = longer(parents), longer(actions), longer(novel)
                    first = longer(first)
                after[:] = table[node]
                apply(after, operators, action)
                end = first[found]
                for word in range(words):
                    bits = after[word] ^ table[0, word]
                    atom = 64 * word
                    while bits != np.uint64(0):
                        if bits & np.uint64(1) != np.uint64(0):
                            if end == len(changed):
                                changed = longer(changed)
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
                        table, owner = taller(table), longer(owner)
                    table[expanded] = after
                    owner[expanded] = found - 1
                    expanded += 1
                    novelties += 1
                    if enough > 0 and not progress:
                        lacks = 0
                        for atom in goal:
                            if not has(after, atom):
                                lacks += 1
                        progress = lacks < lacked
                if found >= most:
                    return parents[:found], actions[:found], novel[:found] != 0, first[: found + 1], changed
        depth_first = layer_end
        width = expanded - layer_end
        if layer > 0 and width > layer:
            lacking = np.zeros(width, np.int64)
            for node in range(layer_end, expanded):
                for atom in goal:
                    if not has(table[node], atom):
                        lacking[node - layer_end] += 1
            order = np.argsort(lacking, kind="mergesort")[:layer]
            chosen, chosen_owner = table[layer_end:expanded][order].copy(), owner[layer_end:expanded][order].copy()
            table[layer_end : layer_end + layer] = chosen
            owner[layer_end : layer_end + layer] = chosen_owner
            expanded = layer_end + layer
    return parents[:found], actions[:found], novel[:found] != 0, first[: found + 1], changed
