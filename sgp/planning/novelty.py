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
def novel_states(
    needs: Lists,
    forbids: Lists,
    adds: Lists,
    deletes: Lists,
    forms: Lists,
    form_count: int,
    goal: Ints,
    always_near: bool,
    atoms: int,
    state: Ints,
    layer: int,
    most: int,
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """The candidates of a state in the order in which they are generated: parent, action, and whether it is novel.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`. Parents are places in the
    list of candidates, -1 for the state itself. All actions of the state are candidates, then the novel ones, and
    those that might reach the goal (from a state that lacks at most as many goal atoms as an action adds, or from any
    with `always_near`); whoever asks must look at the latter, and at candidates that are the same state. `layer` > 0
    keeps so many novel states at each depth, those with more goal atoms first. Stops after `most` candidates.
    """
    count = len(needs.first) - 1
    words = (atoms + 63) // 64
    table = np.zeros((256, max(words, 1)), np.uint64)  # the states that are expanded
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
    useful = np.arange(count).astype(np.int32)  # actions that still add something novel
    useful_count = count
    parents, actions = np.empty(256, np.int32), np.empty(256, np.int32)
    novel = np.empty(256, np.int32)
    found = 0
    root = True
    while depth_first < expanded:
        layer_end = expanded
        for node in range(depth_first, layer_end):
            missing = 0
            for atom in goal:
                if not _has(table[node], atom):
                    missing += 1
            everything = root or always_near or missing <= largest
            total = count if everything else useful_count
            kept = 0
            for which in range(total):
                action = which if everything else useful[which]
                new = False
                for place in range(adds.first[action], adds.first[action + 1]):
                    atom = adds.values[place]
                    for form in range(forms.first[atom], forms.first[atom + 1]):
                        if not seen[forms.values[form]]:
                            new = True
                if not everything:
                    if not new:
                        continue
                    useful[kept] = action
                    kept += 1
                applicable = True
                for place in range(needs.first[action], needs.first[action + 1]):
                    if not _has(table[node], needs.values[place]):
                        applicable = False
                        break
                if applicable:
                    for place in range(forbids.first[action], forbids.first[action + 1]):
                        if _has(table[node], forbids.values[place]):
                            applicable = False
                            break
                if not applicable:
                    continue
                if found == len(parents):
                    parents, actions, novel = _longer(parents), _longer(actions), _longer(novel)
                parents[found], actions[found], novel[found] = owner[node], action, new
                found += 1
                if new:
                    for place in range(adds.first[action], adds.first[action + 1]):
                        atom = adds.values[place]
                        for form in range(forms.first[atom], forms.first[atom + 1]):
                            seen[forms.values[form]] = True
                    if expanded == len(table):
                        table, owner = _grown(table), _longer(owner)
                    table[expanded] = table[node]
                    for place in range(deletes.first[action], deletes.first[action + 1]):
                        atom = deletes.values[place]
                        table[expanded, atom >> 6] &= ~(np.uint64(1) << np.uint64(atom & 63))
                    for place in range(adds.first[action], adds.first[action + 1]):
                        atom = adds.values[place]
                        table[expanded, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
                    owner[expanded] = found - 1
                    expanded += 1
                if found >= most:
                    return parents[:found], actions[:found], novel[:found] != 0
            if not everything:
                useful_count = kept
        root = False
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
    return parents[:found], actions[:found], novel[:found] != 0
