"""Compiled width-1 search for novel states without state objects; layer 1 is the set of successors.

It searches tasks whose actions are all instantiated, and lifted tasks whose applicable actions are computed state by
state, by joins. States are stored as differences from the root state, so that their cost does not grow with the
problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.planning.atom_table import FULL, Atoms, make_true, turn_lists, turn_truth
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import EMPTY, Ints, Ints2D, Mask, Words, Words2D, find_row, grow, insert_keys
from sgp.planning.joins import UNLIMITED, Change, Given, Schemas, instances, number_atoms, write_atoms
from sgp.planning.novelty_forms import Forms, is_unseen, mark_seen
from sgp.planning.operators import (
    Goal,
    Operators,
    applicable,
    half_identity,
    has,
    is_goal,
    missing_atoms,
    symmetric_difference,
    toggle,
    unsatisfied,
    words_of,
    write_applicable,
    write_change,
)
from sgp.planning.repetitions import is_repetition, repeat_further
from sgp.planning.symmetry import (
    Classes,
    Symmetry,
    classes_of,
    first_members,
    is_representative,
    rank_back,
    rank_moved,
    signatures_in,
    turn_signatures,
    write_moved,
)

TOO_MANY = -2  # a state has more applicable instances than the limit


class Ground(NamedTuple):
    """A problem with m ground actions over a atoms."""

    operators: Operators
    rows: Ints2D  # [m, 1 + p], schema and arguments, padded with -1
    predicates: Ints  # [a]
    arguments: Ints2D  # [a, w]
    symmetry: Symmetry
    goal: Goal
    most_adds: int  # of one action


class Lifted(NamedTuple):
    """A problem whose actions are instantiated state by state."""

    atoms: Atoms
    schemas: Schemas
    goal: Goal
    static: Words  # bit set of static atoms
    given: Given


class SearchLimits(NamedTuple):
    """Limits of a search: 0 is no limit, except for `max_candidates`.

    With `min_novel`, the search ends at the end of a layer once all layers together have so many novel states and one
    of them satisfies more positive goal atoms than the root state. With representatives, after `repetitions` of an
    action with other objects of the same classes, all further ones are one candidate; see
    `repetitions.repeat_further`.
    """

    one_step: bool  # only one-step successors, one candidate per applicable action
    layer: int  # novel states expanded at each depth, those with more satisfied goals first
    min_novel: int
    max_candidates: int
    repetitions: int


ONE_STEP = SearchLimits(True, 0, 0, 2**31 - 1, 0)

PARENT, ACTION, LENGTH, GOAL = range(4)  # columns of `SearchResult.steps`
CANDIDATE, MISSING, UNSATISFIED, TIMES = range(4)  # columns of the expanded states


class SearchResult(NamedTuple):
    """The n candidates of a state in generation order.

    `steps` has the parent's index in this list (-1 for the root state), the place of the last action in `actions`, the
    number of actions from the root state, and 1 for a goal state. All actions from the parent on end at that place; the
    difference of the lengths is their number. `identities` are exclusive ors with the identity of the root state, equal
    for equal states; two states collide with probability 2^-128.
    """

    steps: Ints2D  # [n, 4]
    identities: Words2D  # [n, 2]
    indptr: NDArray[np.int64]  # [n + 1]
    changed: Ints  # candidate i differs from the root state in the fluents changed[indptr[i] : indptr[i + 1]]
    actions: Ints  # ground actions, or rows of the instances of a lifted problem


class _Watched(NamedTuple):
    """Actions indexed by one watched precondition each, with all preconditions copied into one array."""

    actions: Ints
    indptr: Ints
    literals: Ints  # 2a requires fluent a to be false, 2a + 1 true


@kernel
def search_ground(
    ground: Ground, forms: Forms, state: Ints, limits: SearchLimits, representatives: bool, stop: StopFlag
) -> SearchResult:
    """Return the candidates of a state in a problem with ground actions; see `search_states`."""
    _, result, found = search_states(ground, None, forms, state, limits, representatives, 0, stop)
    return _with_actions(result, found[:, 0].copy())


@kernel
def search_lifted(
    lifted: Lifted,
    forms: Forms,
    state: Ints,
    limits: SearchLimits,
    representatives: bool,
    max_instances: int,
    stop: StopFlag,
) -> tuple[int, SearchResult, Ints]:
    """Return the candidates of a state in a lifted problem; see `search_states`."""
    status, result, found = search_states(None, lifted, forms, state, limits, representatives, max_instances, stop)
    return status, _with_actions(result, np.arange(len(found)).astype(np.int32)), found


@compiled
def search_states(
    ground: Any,
    lifted: Any,
    forms: Forms,
    state: Ints,
    limits: SearchLimits,
    representatives: bool,
    max_instances: int,
    stop: StopFlag,
) -> tuple[int, SearchResult, Ints]:
    """Return all successors of a state, all novel states, and goal states, without the state itself.

    Each is returned once, but with `limits.one_step` once for each action that leads to it.

    Exactly one of `ground` (a Ground) and `lifted` (a Lifted) is not None: numba omits the code of the other.
    `state` lists the true fluents. A state is novel if one of its atoms' forms was true in no state generated before
    it. Novel states are expanded. With `representatives`, one of the actions that differ only in interchangeable
    objects is applied.

    The last result is the applied actions: instances [k, 1 + p] of a lifted problem, numbers [k, 1] of ground ones. The
    first result is 0 on success; otherwise the other results are invalid: FULL if the atom table is full, TOO_MANY if a
    state has more than `max_instances` instances. If `stop[0]` becomes true, the candidates found so far are returned.
    """
    if ground is not None:
        operators, symmetry, goal = ground.operators, ground.symmetry, ground.goal
        predicates, arguments, ground_rows = ground.predicates, ground.arguments, ground.rows
        added_ends, added_atoms = operators.adds.indptr, operators.adds.indices
        deleted_ends, deleted_atoms = operators.deletes.indptr, operators.deletes.indices
        present = words_of(state, len(predicates))  # the node's fluents
        most_adds, width = ground.most_adds, 1
        actions = np.empty(len(ground.rows) + 1, np.int32)  # to be applied in the node
        signatures, symmetric, objects_of = signatures_in(symmetry, state), symmetry.symmetric, symmetry.arguments
        representatives = representatives and len(signatures) > 0
        most_parameters = ground_rows.shape[1] - 1
    if lifted is not None:
        make_true(lifted.atoms, state, lifted.static)
        atoms, schemas, goal = lifted.atoms, lifted.schemas, lifted.goal
        predicates, arguments, present = atoms.predicates, atoms.arguments, atoms.true
        atom_slots, atom_keys = atoms.slots, atoms.keys
        literal_predicates, terms = schemas.literals.predicates, schemas.literals.terms
        add_ends, add_indices = schemas.adds.indptr, schemas.adds.indices
        delete_ends, delete_indices = schemas.deletes.indptr, schemas.deletes.indices
        width, most_adds, most_deletes = schemas.widest
        added_room, deleted_room = np.empty(most_adds, np.int32), np.empty(most_deletes, np.int32)
        rows, row = np.empty((256, width), np.int32), np.empty(arguments.shape[1], np.int32)
        signatures, symmetric, objects_of = atoms.signatures, atoms.symmetric, arguments
        most_parameters = width - 1
        objects, is_object = np.empty(len(signatures), np.int32), np.zeros(len(signatures), np.bool_)
        places = np.empty(len(signatures), np.int32)
    classes = classes_of(symmetric[: len(symmetric) if representatives else 0], signatures, most_parameters)
    ranks = classes.ranks.copy() if representatives else np.zeros(len(signatures), np.int32)
    moved, members = np.empty(len(ranks), np.int32), np.empty(most_parameters + len(ranks), np.int32)
    # The root state: bit set, identity, masks of the goal.
    root_bits, atom_count = present.copy(), len(predicates)
    positive_goal, negative_goal = np.zeros(atom_count, np.bool_), np.zeros(atom_count, np.bool_)
    positive_goal[goal.wanted], negative_goal[goal.unwanted] = True, True
    # The expanded states: candidate, positive goal atoms that are false, unsatisfied goals, repetitions of the action.
    nodes = np.empty((256, 4), np.int32)
    nodes[0, CANDIDATE], nodes[0, MISSING] = -1, missing_atoms(present, goal)
    nodes[0, UNSATISFIED], nodes[0, TIMES] = unsatisfied(present, goal), 0
    layer_begin, layer_end, expanded = 0, 1, 1  # bounds of the current layer within the expanded states
    forms.search[0] += 1
    if not limits.one_step:
        mark_seen(forms, predicates, arguments, state)
        if ground is not None:
            watched = _watched(ground, state, forms)
    result = SearchResult(
        np.empty((256, 4), np.int32),
        np.empty((256, 2), np.uint64),
        np.zeros(257, np.int64),
        np.empty(1024, np.int32),
        np.empty(0, np.int32),
    )
    slots = np.full(1024, EMPTY, np.int32)
    found = np.empty((256 + len(signatures), width), np.int32)  # the applied actions
    successor_diff, successor_identity = np.empty(atom_count, np.int32), np.empty(2, np.uint64)
    count, applied, novelties, progress = 0, 0, 0, False
    while layer_begin < layer_end and not (0 < limits.min_novel <= novelties and progress):
        for node in range(layer_begin, layer_end):
            parent = nodes[node, CANDIDATE]
            may_reach_goal = len(goal.unwanted) > 0 or nodes[node, MISSING] <= most_adds
            node_diff = _changed_in(result, parent)
            only_new, many = not (may_reach_goal or node == 0), 0
            before = _changed_in(result, result.steps[parent, PARENT]) if only_new else node_diff[:0]
            if ground is not None:
                toggle(present, node_diff)
                if representatives:
                    turn_signatures(symmetry, present, node_diff, signatures)
            if lifted is not None:
                turn_truth(atoms, node_diff)
            if representatives:
                many = write_moved(classes, objects_of, node_diff, moved, 0)
                if lifted is not None:
                    many = write_moved(classes, objects_of, before, moved, many)
                moved[:many].sort()
                rank_moved(classes, moved[:many], signatures, ranks, members)
            if ground is not None:
                if only_new:
                    total = _write_new(present, ground, watched, node_diff, forms, actions)
                else:
                    total = write_applicable(present, operators, state, node_diff, actions)
            if lifted is not None:
                changed, some, total, listed = symmetric_difference(before, node_diff), 0, 0, node_diff
                if representatives and only_new:
                    some = _write_affected(
                        atoms, changed, classes, moved[:many], ranks, members, objects, is_object, places
                    )
                    changed = _of_representatives(changed, objects_of, ranks, classes.most)
                    listed = _of_representatives(node_diff, objects_of, ranks, classes.most)
                if not only_new or len(changed) > 0 or some > 0:
                    turn_lists(atoms, listed)  # other atoms are in no precondition of a representative
                    change = Change(only_new, changed, objects[:some], is_object)
                    total, rows = instances(
                        atoms,
                        schemas,
                        ranks,
                        forms,
                        only_new,
                        change,
                        lifted.given,
                        rows,
                        max_instances,
                        UNLIMITED,
                        stop,
                    )
                    turn_lists(atoms, listed)
                is_object[objects[:some]] = False
                if total < 0 or total > max_instances:
                    return FULL if total < 0 else TOO_MANY, _trimmed(result, count), found[:applied]
            for index in range(total):
                if stop[0]:
                    return 0, _trimmed(result, count), found[:applied]
                if ground is not None:
                    action = actions[index]
                    adds = added_atoms[added_ends[action] : added_ends[action + 1]]
                if lifted is not None:
                    instance = rows[index]
                    added = write_atoms(
                        atom_slots, atom_keys, literal_predicates, terms, add_ends, add_indices,
                        instance[0], instance[1:], added_room, row,
                    )  # fmt: skip
                    missing_number = False
                    for place in range(added):
                        missing_number = missing_number or added_room[place] < 0
                    if missing_number and not number_atoms(
                        atoms, schemas.literals, schemas.adds, instance[0], instance[1:], added_room, row
                    ):
                        return FULL, _trimmed(result, count), found[:applied]
                    adds = added_room[:added]
                new = not limits.one_step and _is_new(forms, predicates, arguments, adds)
                if not (new or may_reach_goal or node == 0):
                    continue
                if ground is not None:
                    if representatives and not is_representative(ranks, signatures, ground_rows[action, 1:]):
                        continue
                    deletes = deleted_atoms[deleted_ends[action] : deleted_ends[action + 1]]
                if lifted is not None:
                    deleted = write_atoms(
                        atom_slots, atom_keys, literal_predicates, terms, delete_ends, delete_indices,
                        instance[0], instance[1:], deleted_room, row,
                    )  # fmt: skip
                    deletes = deleted_room[:deleted]
                changes = write_change(adds, deletes, present, node_diff, successor_diff)
                goal_reached = may_reach_goal and _reaches(present, node_diff, successor_diff[:changes], goal)
                if not limits.one_step and (changes == 0 or not (new or node == 0 or goal_reached)):
                    continue
                times = 1
                while len(found) < applied + times:
                    found = grow(found)
                if ground is not None:
                    found[applied, 0], argument_count = action, most_parameters
                if lifted is not None:
                    found[applied] = instance
                    argument_count = schemas.steps[instance[0] + 1] - schemas.steps[instance[0]]
                repeated = 0  # how often the parent's action is repeated before this one
                if representatives and limits.repetitions > 0 and new and parent >= 0:
                    last = result.steps[parent, ACTION]
                    if ground is not None:
                        one, other = ground_rows[found[last, 0]], ground_rows[action]
                    if lifted is not None:
                        one, other = found[last], found[applied]
                    if is_repetition(classes, one[: 1 + argument_count], other[: 1 + argument_count]):
                        repeated = nodes[node, TIMES]
                if repeated >= limits.repetitions and repeated > 0 and not goal_reached:
                    while len(found) < applied + times + len(signatures):
                        found = grow(found)
                    mark_seen(forms, predicates, arguments, adds)
                    toggle(present, node_diff)
                    toggle(present, successor_diff[:changes])
                    missing, violated = _goal_changes(root_bits, successor_diff[:changes], positive_goal, negative_goal)
                    still_open = nodes[0, UNSATISFIED] + missing + violated + (0 if goal.possible else 1)
                    status, further, changes, still_open = repeat_further(
                        ground, lifted, forms, classes, signatures, one, found, applied, present,
                        successor_diff, changes, positive_goal, negative_goal, still_open, stop,
                    )  # fmt: skip
                    goal_reached = still_open == 0
                    toggle(present, successor_diff[:changes])
                    toggle(present, node_diff)
                    if status == FULL:
                        return FULL, _trimmed(result, count), found[:applied]
                    times += further
                    novelties += further
                successor_identity[:] = 0
                for place in range(changes):
                    successor_identity[0] ^= half_identity(successor_diff[place], 0)
                    successor_identity[1] ^= half_identity(successor_diff[place], 1)
                if count == len(result.steps) or result.indptr[count] + changes > len(result.changed):
                    result, slots = _with_room(result, slots, count, changes)
                    node_diff = _changed_in(result, parent)
                if not limits.one_step:
                    slot = find_row(slots, result.identities, successor_identity, successor_identity[0])
                    if slots[slot] >= 0:
                        continue
                    slots[slot] = count
                applied += times
                begin, step = result.indptr[count], result.steps[count]
                step[PARENT], step[ACTION], step[GOAL] = parent, applied - 1, goal_reached
                step[LENGTH] = times if parent < 0 else result.steps[parent, LENGTH] + times
                result.identities[count] = successor_identity
                result.indptr[count + 1] = begin + changes
                result.changed[begin : begin + changes] = successor_diff[:changes]
                count += 1
                if new:
                    mark_seen(forms, predicates, arguments, adds)
                    if expanded == len(nodes):
                        nodes = grow(nodes)
                    missing, violated = _goal_changes(root_bits, successor_diff[:changes], positive_goal, negative_goal)
                    nodes[expanded, CANDIDATE], nodes[expanded, MISSING] = count - 1, nodes[0, MISSING] + missing
                    nodes[expanded, UNSATISFIED] = nodes[0, UNSATISFIED] + missing + violated
                    nodes[expanded, TIMES] = repeated + times
                    expanded += 1
                if count >= limits.max_candidates:
                    return 0, _trimmed(result, count), found[:applied]
            if limits.one_step:
                return 0, _trimmed(result, count), found[:applied]
            rank_back(classes, moved[:many], signatures, ranks, members)
            if ground is not None:
                toggle(present, node_diff)
                if representatives:
                    turn_signatures(symmetry, present, node_diff, signatures)
            if lifted is not None:
                turn_truth(atoms, node_diff)
        if ground is not None:
            watched = _watched(ground, state, forms)
        novelties += expanded - layer_end
        if limits.min_novel > 0 and expanded > layer_end:
            progress = progress or nodes[layer_end:expanded, MISSING].min() < nodes[0, MISSING]
        layer_begin, layer_end = layer_end, _layer_end(nodes, layer_end, expanded, limits.layer)
        expanded = layer_end
    return 0, _trimmed(result, count), found[:applied]


@compiled
def _goal_changes(before: Words, changed: Ints, wanted: Mask, unwanted: Mask) -> tuple[int, int]:
    """Return by how many more atoms the goal is missing and violated after changes of a state."""
    missing = violated = 0
    for fluent in changed:
        held = has(before, fluent)
        if wanted[fluent]:
            missing += 1 if held else -1
        if unwanted[fluent]:
            violated += -1 if held else 1
    return missing, violated


@inlined
def _is_new(forms: Forms, predicates: Ints, arguments: Ints, adds: Ints) -> bool:
    """Whether one of these atoms has an unseen form."""
    new = False
    for atom in adds:
        new = new or is_unseen(forms, predicates, arguments, atom)
    return new


@compiled
def _watched(ground: Ground, state: Ints, forms: Forms) -> _Watched:
    """Return the actions with unseen add-effect forms whose watched precondition is true, or that have none."""
    operators, count, size = ground.operators, 0, 0
    watchers, adds, needs, forbids = operators.watchers, operators.adds, operators.needs, operators.forbids
    actions, indptr, literals = np.empty(256, np.int32), np.zeros(257, np.int32), np.empty(1024, np.int32)
    for which in range(len(state) + 1):
        fluent = state[which] if which < len(state) else len(watchers.indptr) - 2
        for action in watchers.indices[watchers.indptr[fluent] : watchers.indptr[fluent + 1]]:
            added = adds.indices[adds.indptr[action] : adds.indptr[action + 1]]
            if not _is_new(forms, ground.predicates, ground.arguments, added):
                continue
            needed = needs.indices[needs.indptr[action] : needs.indptr[action + 1]]
            forbidden = forbids.indices[forbids.indptr[action] : forbids.indptr[action + 1]]
            while size + len(needed) + len(forbidden) > len(literals):
                literals = grow(literals)
            if count + 1 == len(actions):
                actions, indptr = grow(actions), grow(indptr)
            for atom in needed:
                literals[size] = 2 * atom + 1
                size += 1
            for atom in forbidden:
                literals[size] = 2 * atom
                size += 1
            actions[count], indptr[count + 1] = action, size
            count += 1
    return _Watched(actions[:count], indptr[: count + 1], literals)


@compiled
def _write_new(state: Words, ground: Ground, watched: _Watched, changed: Ints, forms: Forms, written: Ints) -> int:
    """Write the applicable actions that add an unseen form into `written`, in order, and return their number.

    Their watched precondition is true in the root state, or differs from it and is true now.
    """
    total, operators = 0, ground.operators
    actions, indptr, literals = watched.actions, watched.indptr, watched.literals
    watchers, needs, forbids = operators.watchers, operators.needs, operators.forbids
    adds_indptr, adds_indices, numbers, seen = operators.adds.indptr, operators.adds.indices, forms.numbers, forms.seen
    needs_indptr, needs_indices, forbids_indptr = needs.indptr, needs.indices, forbids.indptr
    search, width = forms.search[0], forms.numbers.shape[1]
    for which in range(len(actions)):
        holds = True
        for place in range(indptr[which], indptr[which + 1]):
            fluent = literals[place] >> 1
            true = (state[fluent >> 6] >> np.uint64(fluent & 63)) & np.uint64(1) != np.uint64(0)
            holds = holds and true == (literals[place] & 1 == 1)
        if holds:
            new = False
            for place in range(adds_indptr[actions[which]], adds_indptr[actions[which] + 1]):
                for column in range(width):
                    form = numbers[adds_indices[place], column]
                    new = new or (form >= 0 and seen[form] != search)
            written[total] = actions[which]
            total += new
    for atom in changed:
        if not has(state, atom):
            continue
        # Inlined: a call per action would pay for counting references to a dozen arrays, ten times the rest.
        for action in watchers.indices[watchers.indptr[atom] : watchers.indptr[atom + 1]]:
            holds = True
            for place in range(needs_indptr[action], needs_indptr[action + 1]):
                needed = needs_indices[place]
                holds = holds and (state[needed >> 6] >> np.uint64(needed & 63)) & np.uint64(1) != np.uint64(0)
            new = False
            if holds:
                for place in range(adds_indptr[action], adds_indptr[action + 1]):
                    for column in range(width):
                        form = numbers[adds_indices[place], column]
                        new = new or (form >= 0 and seen[form] != search)
            if new and (forbids_indptr[action] == forbids_indptr[action + 1] or applicable(state, operators, action)):
                written[total] = action
                total += 1
    written[:total].sort()
    return total


@compiled
def _write_affected(
    atoms: Atoms,
    changed: Ints,
    classes: Classes,
    moved: Ints,
    ranks: Ints,
    members: Ints,
    objects: Ints,
    is_object: Mask,
    places: Ints,
) -> int:
    """Write objects of which each new representative has one, and return their number.

    New representatives are applicable in this node and its parent, but represent others only in this node. The two
    differ in the `changed` atoms. Of an object whose signature these change, an action can become a representative if
    the object was or is interchangeable with another, and if its rank is low enough; see `Classes.most`. The same holds
    for the first objects of the class that it left. `places` is a buffer for a number per object.
    """
    signatures, touched, count = atoms.signatures, np.empty(changed.size * atoms.arguments.shape[1], np.int32), 0
    earlier = np.empty(len(touched), np.uint64)  # signatures in the parent
    for atom in changed:
        true = has(atoms.true, atom)
        for place in range(atoms.arguments.shape[1]):
            number = atoms.arguments[atom, place]
            if number >= 0 and atoms.symmetric[number]:
                if not is_object[number]:
                    is_object[number], places[number] = True, count
                    touched[count], earlier[count] = number, signatures[number]
                    count += 1
                mark = atoms.marks[atom, place]
                earlier[places[number]] += np.uint64(0) - mark if true else mark
    is_object[touched[:count]] = False
    total = 0
    for which in range(count):
        before, now = earlier[which], signatures[touched[which]]
        if before == now:
            continue
        alike, other = False, which - 1  # another object that left and joined the same classes, mostly the one before
        while other >= 0 and not alike:
            alike = earlier[other] == before and signatures[touched[other]] == now
            other -= 1
        alone, left = False, 0
        if not alike:
            left = first_members(classes, moved, signatures, before, members[: classes.most])
            alone = left == 0 and first_members(classes, moved, signatures, now, members[:2]) == 1
            for other in range(count):
                alone = alone and (other == which or earlier[other] != before)
        if not alone and ranks[touched[which]] < classes.most and not is_object[touched[which]]:
            is_object[touched[which]] = True
            objects[total] = touched[which]
            total += 1
        for number in members[:left]:
            if not is_object[number]:
                is_object[number] = True
                objects[total] = number
                total += 1
    return total


@compiled
def _of_representatives(atoms: Ints, arguments: Ints2D, ranks: Ints, most: int) -> Ints:
    """Return the atoms whose arguments can all be in one representative; see `Classes.most`."""
    chosen, count = np.empty(len(atoms), np.int32), 0
    for atom in atoms:
        few = True
        for number in arguments[atom]:
            few = few and (number < 0 or ranks[number] < most)
        if few:
            chosen[count] = atom
            count += 1
    return chosen[:count]


@compiled
def _reaches(present: Words, differs: Ints, change: Ints, goal: Goal) -> bool:
    """Whether the state that differs in `change` is a goal; the current state differs in `differs`."""
    toggle(present, differs)
    toggle(present, change)
    reached = is_goal(present, goal)
    toggle(present, change)
    toggle(present, differs)
    return reached


@compiled
def _layer_end(nodes: Ints, begin: int, end: int, max_states: int) -> int:
    """Return the end of a layer limited to its `max_states` states with the most satisfied goals; 0 is no limit."""
    if not 0 < max_states < end - begin:
        return end
    order = np.argsort(nodes[begin:end, UNSATISFIED].copy(), kind="mergesort")[
        :max_states
    ]  # stable: earlier states first
    nodes[begin : begin + max_states] = nodes[begin + order]
    return begin + max_states


@compiled
def _with_room(result: SearchResult, slots: Ints, count: int, changes: int) -> tuple[SearchResult, Ints]:
    """Enlarge the arrays of results and the hash table for one more candidate of `changes` differences."""
    steps, identities, indptr, changed, actions = result
    while indptr[count] + changes > len(changed):
        changed = grow(changed)
    if count == len(steps):
        steps, identities, indptr = grow(steps), grow(identities), grow(indptr)
        slots = np.full(2 * len(slots), EMPTY, np.int32)
        insert_keys(slots, np.ascontiguousarray(identities[:, 0]), 0, count)  # lookups compare both halves
    return SearchResult(steps, identities, indptr, changed, actions), slots


@compiled
def _changed_in(result: SearchResult, candidate: int) -> Ints:
    """Return the fluents in which a candidate differs from the root state; none for index -1."""
    if candidate < 0:
        return result.changed[:0]
    return result.changed[result.indptr[candidate] : result.indptr[candidate + 1]]


@compiled
def _trimmed(result: SearchResult, count: int) -> SearchResult:
    """Truncate a result to its first candidates."""
    indptr = result.indptr[: count + 1]
    changed = result.changed[: indptr[-1]]
    return SearchResult(result.steps[:count], result.identities[:count], indptr, changed, result.actions)


@compiled
def _with_actions(result: SearchResult, actions: Ints) -> SearchResult:
    """Return a result with its actions."""
    return SearchResult(result.steps, result.identities, result.indptr, result.changed, actions)
