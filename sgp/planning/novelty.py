"""The search of width 1 over a ground model, compiled: novel states, without making them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, longer
from sgp.planning.clock import Flag
from sgp.planning.found import Found, no_records, record, slot_of, with_room, without_room
from sgp.planning.novelty_nodes import (
    Nodes,
    Search,
    changed_in,
    exchanged,
    expand,
    first_node,
    identify,
    layer_end_of,
    origin_of,
    reaches,
)
from sgp.planning.operators import (
    Goal,
    Ints,
    Lists,
    Operators,
    Words,
    applicable,
    applicable_near,
    has,
    is_in,
    toggle,
)
from sgp.planning.symmetry import Symmetry, signatures_after, signatures_in, stands_for_all


class Watched(NamedTuple):
    """Actions that are watched at fluents which are true in the state, with copies of their preconditions in a row."""

    actions: Ints
    first: Ints
    literals: Ints  # 2a + 1 needs fluent a, 2a forbids it


@compiled
def novel_states(
    operators: Operators,
    forms: Lists,
    form_count: int,
    goal: Goal,
    atoms: int,
    state: Ints,
    search: Search,
    symmetry: Symmetry,
    stop: Flag,
) -> Found:
    """All successors of a state, all novel states, and goal states; none twice, nor the state itself.

    Of actions that differ in objects alone that `symmetry` says are interchangeable, one is applied.

    `state` lists the fluents that are true. Atom a stands for the novelty forms `forms[a]`: a state is novel if one of
    its forms was true in no state generated before it. Novel states are expanded. Ends early once `stop` [1] is true.

    States are what they differ from the first one in, so that none costs more in a larger problem.
    """
    actions = np.empty(len(operators.adds.first), np.int32)  # to be applied in the node
    origin = origin_of(goal, atoms, state)
    present = origin.state.copy()  # the node's fluents
    nodes = first_node(goal, origin.state)
    layer, layer_end, expanded = 0, 1, 1  # where the present layer begins and ends among the expanded states
    seen = _forms_of(state, forms, form_count)
    largest, lacked = _most_added(operators.adds), nodes.lacking[0]
    records, slots = no_records(256), np.full(1024, -1, np.int32)
    change, one = np.empty(atoms, np.int32), np.empty(2, np.uint64)
    found, novelties, progress = 0, 0, False
    alike, here = len(symmetry.always) > 0, signatures_in(symmetry, origin.state)
    told_by, watched = here, _watched(operators, state, forms, seen)
    while layer < layer_end and not (0 < search.enough <= novelties and progress):
        for node in range(layer, layer_end):
            parent = nodes.candidate[node]
            near = len(goal.unwanted) > 0 or nodes.lacking[node] <= largest  # one action might reach the goal
            differs = changed_in(records, parent)
            toggle(present, differs)
            if node == 0 or near:
                total = applicable_near(present, operators, state, differs, actions)
            else:
                total = _news(present, operators, watched, differs, forms, seen, actions)
            if alike and parent >= 0 and total > 0:
                told_by = signatures_after(symmetry, here, present, differs)
            for action in actions[:total]:
                if stop[0]:
                    return without_room(records, found)
                new = _adds_unseen(operators.adds, action, forms, seen)
                if not (new or near or node == 0) or (alike and not stands_for_all(symmetry, told_by, action)):
                    continue
                changes = _changed_after(operators, present, action, differs, change)
                is_goal = near and reaches(present, differs, change[:changes], goal)
                if changes == 0 or not (new or node == 0 or is_goal):
                    continue
                identify(origin.identity, change, changes, one)
                if found == len(records.parents) or records.first[found] + changes > len(records.changed):
                    records, slots = with_room(records, slots, found, changes)
                slot = slot_of(slots, records.identities, one)
                if slots[slot] >= 0:
                    continue
                slots[slot] = found
                record(records, found, parent, action, is_goal, one, change, changes)
                found += 1
                if new:
                    _see(operators.adds, action, forms, seen)
                    if expanded == len(nodes.candidate):
                        nodes = Nodes(longer(nodes.candidate), longer(nodes.lacking), longer(nodes.unsatisfied))
                    expand(nodes, expanded, found - 1, origin, change[:changes])
                    expanded += 1
                if found >= search.most:
                    return without_room(records, found)
            toggle(present, differs)
        watched = _watched(operators, state, forms, seen)
        novelties += expanded - layer_end
        if search.enough > 0 and expanded > layer_end:
            progress = progress or nodes.lacking[layer_end:expanded].min() < lacked
        layer, layer_end = layer_end, layer_end_of(nodes, layer_end, expanded, search.layer)
        expanded = layer_end
    return without_room(records, found)


@compiled
def _forms_of(state: Ints, forms: Lists, count: int) -> NDArray[np.bool_]:
    """Which novelty forms [count] the true fluents of a state stand for."""
    seen = np.zeros(count, np.bool_)
    for atom in state:
        for place in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[place]] = True
    return seen


@compiled
def _most_added(adds: Lists) -> int:
    """The most atoms that an action adds."""
    most = 0
    for action in range(len(adds.first) - 1):
        most = max(most, adds.first[action + 1] - adds.first[action])
    return most


@compiled
def _adds_unseen(adds: Lists, action: int, forms: Lists, seen: NDArray[np.bool_]) -> bool:
    """Whether an action adds an atom with a novelty form that was not seen."""
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        for form in range(forms.first[atom], forms.first[atom + 1]):
            if not seen[forms.values[form]]:
                return True
    return False


@compiled
def _watched(operators: Operators, state: Ints, forms: Lists, seen: NDArray[np.bool_]) -> Watched:
    """The actions watched at the fluents of a state, or at none, that add an atom with a form that was not seen."""
    watchers, count, size = operators.watchers, 0, 0
    actions, first = np.empty(256, np.int32), np.zeros(257, np.int32)
    literals = np.empty(1024, np.int32)
    for which in range(len(state) + 1):
        fluent = state[which] if which < len(state) else len(watchers.first) - 2
        for place in range(watchers.first[fluent], watchers.first[fluent + 1]):
            action = watchers.values[place]
            if not _adds_unseen(operators.adds, action, forms, seen):
                continue
            needs = operators.needs.values[operators.needs.first[action] : operators.needs.first[action + 1]]
            forbids = operators.forbids.values[operators.forbids.first[action] : operators.forbids.first[action + 1]]
            while size + len(needs) + len(forbids) > len(literals):
                literals = longer(literals)
            if count + 1 == len(actions):
                actions, first = longer(actions), longer(first)
            for needed in needs:
                literals[size] = 2 * needed + 1
                size += 1
            for forbidden in forbids:
                literals[size] = 2 * forbidden
                size += 1
            actions[count], first[count + 1] = action, size
            count += 1
    return Watched(actions[:count], first[: count + 1], literals)


@compiled
def _news(
    state: Words,
    operators: Operators,
    watched: Watched,
    changed: Ints,
    forms: Lists,
    seen: NDArray[np.bool_],
    found: Ints,
) -> int:
    """Writes the applicable actions that add an atom with a form that was not seen into `found`, in order; how many.

    Those are watched at a fluent that was true in the state that is searched from, or at one of those changed since.
    """
    total = 0
    actions, first, literals = watched.actions, watched.first, watched.literals
    for which in range(len(actions)):
        holds = True
        for place in range(first[which], first[which + 1]):
            fluent = literals[place] >> 1
            true = (state[fluent >> 6] >> np.uint64(fluent & 63)) & np.uint64(1) != np.uint64(0)
            holds = holds and true == (literals[place] & 1 == 1)
        if holds:
            found[total] = actions[which]
            total += _adds_unseen(operators.adds, actions[which], forms, seen)
    watchers, adds, needs, forbids = operators.watchers, operators.adds, operators.needs, operators.forbids
    adds_first, adds_values, forms_first, forms_values = adds.first, adds.values, forms.first, forms.values
    needs_first, needs_values, forbids_first = needs.first, needs.values, forbids.first
    for atom in changed:
        if not has(state, atom):
            continue
        # Written out: a call for each action would count references to a dozen arrays, ten times as long as the rest.
        for action in watchers.values[watchers.first[atom] : watchers.first[atom + 1]]:
            lasts = True
            for place in range(needs_first[action], needs_first[action + 1]):
                needed = needs_values[place]
                lasts = lasts and (state[needed >> 6] >> np.uint64(needed & 63)) & np.uint64(1) != np.uint64(0)
            new = False
            if lasts:
                for place in range(adds_first[action], adds_first[action + 1]):
                    added = adds_values[place]
                    for form in range(forms_first[added], forms_first[added + 1]):
                        new = new or not seen[forms_values[form]]
            if new and (forbids_first[action] == forbids_first[action + 1] or applicable(state, operators, action)):
                found[total] = action
                total += 1
    found[:total].sort()
    return total


@compiled
def _see(adds: Lists, action: int, forms: Lists, seen: NDArray[np.bool_]) -> None:
    """Notes the novelty forms of what an action adds."""
    for place in range(adds.first[action], adds.first[action + 1]):
        atom = adds.values[place]
        for form in range(forms.first[atom], forms.first[atom + 1]):
            seen[forms.values[form]] = True


@compiled
def _changed_after(operators: Operators, present: Words, action: int, differs: Ints, change: Ints) -> int:
    """Writes the fluents in which the state after an action differs into `change`, ascending; how many.

    The present state, before the action, differs in `differs`.
    """
    count = len(differs)
    change[:count] = differs
    for effect, value in ((operators.adds, True), (operators.deletes, False)):
        for place in range(effect.first[action], effect.first[action + 1]):
            fluent = effect.values[place]
            if has(present, fluent) != value and not is_in(effect.values[effect.first[action] : place], fluent):
                count = exchanged(change, count, fluent)
    return count
