"""The search of width 1 without instantiating all actions, compiled: joins find the actions of each state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgp.compilation import compiled, inlined, longer
from sgp.planning.atom_table import FULL, Atoms, make_true, number_of, rank_all, slot_of_atom, turn_all
from sgp.planning.clock import Flag
from sgp.planning.found import Found, no_records, record, slot_of, with_room, without_room
from sgp.planning.joins import Forms, Schemas, instances, is_unseen, see, taller_rows, write_atom
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
from sgp.planning.operators import Goal, Ints, Words, has, is_in, lacking, words_of

TOO_MANY = -2  # a state has more applicable instances than are wanted


class Lifted(NamedTuple):
    """A problem whose actions are not all instantiated."""

    atoms: Atoms
    schemas: Schemas
    goal: Goal
    static: Ints  # the atoms that are always true


class Effects(NamedTuple):
    """Room for what one instance adds, and for what it deletes and does not add."""

    adds: Ints
    deletes: Ints


@compiled
def enter(lifted: Lifted, state: Ints) -> None:
    """Makes just these fluents true, and what is always true."""
    make_true(lifted.atoms, words_of(np.concatenate((state, lifted.static)), 64 * len(lifted.atoms.true)))


@compiled
def applicable_instances(lifted: Lifted, forms: Forms, state: Ints, alike: bool, most: int, stop: Flag) -> Ints:
    """The applicable instances [k, 1 + p] of a state; more than `most` where there are more.

    With `alike` one of those that differ in interchangeable objects alone.
    """
    enter(lifted, state)
    ranks, rows = np.zeros(len(lifted.atoms.told_by), np.int32), np.empty((256, lifted.schemas.widest[0]), np.int32)
    if alike:
        rank_all(lifted.atoms, ranks)
    count, rows = instances(lifted.atoms, lifted.schemas, ranks, forms, False, rows, most, stop)
    return rows[:count]


@compiled
def states_after(lifted: Lifted, state: Ints, rows: Ints, stop: Flag) -> tuple[int, Found]:
    """The states after applicable instances [k, 1 + p] of a state, without their identities.

    0 with them, or FULL and nothing of use. Leaves the rest as it comes once `stop` [1] is true.
    """
    atoms, schemas, goal = lifted.atoms, lifted.schemas, lifted.goal
    enter(lifted, state)
    effects, row = _no_effects(schemas), np.empty(atoms.arguments.shape[1], np.int32)
    most, count = len(effects.adds) + len(effects.deletes), len(rows)
    change, same = np.empty(most, np.int32), np.empty(0, np.int32)
    first, changed, goals = np.zeros(count + 1, np.int64), np.empty(count * most, np.int32), np.zeros(count, np.bool_)
    lacked = lacking(atoms.true, goal)
    for place in range(count):
        if stop[0]:
            break
        added, deleted = write_effects(atoms, schemas, rows[place], effects, row)
        if added == FULL:
            return FULL, no_records(0)
        changes = _changed_after(effects.adds[:added], effects.deletes[:deleted], atoms.true, same, change)
        begin = first[place]
        changed[begin : begin + changes] = change[:changes]
        first[place + 1] = begin + changes
        if lacked <= changes or len(goal.unwanted) > 0:  # else it cannot be a goal
            goals[place] = reaches(atoms.true, same, change[:changes], goal)
    parents, lengths = np.full(count, -1, np.int32), np.ones(count, np.int32)
    numbers, identities = np.arange(count).astype(np.int32), np.empty((count, 2), np.uint64)
    return 0, Found(parents, numbers, lengths, goals, identities, first, changed[: first[count]])


@compiled
def novel_lifted(
    lifted: Lifted, forms: Forms, state: Ints, search: Search, alike: bool, most: int, stop: Flag
) -> tuple[int, Found, Ints]:
    """What `novel_states` finds, and the instance [1 + p] of each candidate; 0, or FULL or TOO_MANY and nothing of use.

    With `alike`, of actions that differ in interchangeable objects alone one is applied. No state may have more than
    `most` instances.
    """
    atoms, schemas, goal = lifted.atoms, lifted.schemas, lifted.goal
    enter(lifted, state)
    present, room = atoms.true, len(atoms.predicates)
    origin = origin_of(goal, room, state)
    nodes = first_node(goal, origin.state)
    layer, layer_end, expanded = 0, 1, 1  # where the present layer begins and ends among the expanded states
    forms.search[0] += 1
    for atom in state:
        see(forms, atoms, atom)
    effects, row = _no_effects(schemas), np.empty(atoms.arguments.shape[1], np.int32)
    largest, lacked = len(effects.adds), nodes.lacking[0]
    records, slots = no_records(256), np.full(1024, -1, np.int32)
    rows = np.empty((256, schemas.widest[0]), np.int32)
    actions = np.empty((256, schemas.widest[0]), np.int32)
    ranks = np.zeros(len(atoms.told_by), np.int32)
    change, one = np.empty(room, np.int32), np.empty(2, np.uint64)
    found, novelties, progress = 0, 0, False
    while layer < layer_end and not (0 < search.enough <= novelties and progress):
        for node in range(layer, layer_end):
            parent = nodes.candidate[node]
            near = len(goal.unwanted) > 0 or nodes.lacking[node] <= largest  # one action might reach the goal
            differs = changed_in(records, parent)
            turn_all(atoms, differs)
            if alike:
                rank_all(atoms, ranks)
            total, rows = instances(atoms, schemas, ranks, forms, not (near or node == 0), rows, most, stop)
            if total < 0 or total > most:
                return FULL if total < 0 else TOO_MANY, without_room(records, found), actions[:found]
            for which in range(total):
                if stop[0]:
                    return 0, without_room(records, found), actions[:found]
                added, deleted = write_effects(atoms, schemas, rows[which], effects, row)
                if added == FULL:
                    return FULL, without_room(records, found), actions[:found]
                adds, deletes = effects.adds[:added], effects.deletes[:deleted]
                new = _is_new(forms, atoms, adds)
                if not (new or near or node == 0):
                    continue
                changes = _changed_after(adds, deletes, present, differs, change)
                is_goal = near and reaches(present, differs, change[:changes], goal)
                if changes == 0 or not (new or node == 0 or is_goal):
                    continue
                identify(origin.identity, change, changes, one)
                if found == len(records.parents) or records.first[found] + changes > len(records.changed):
                    records, slots = with_room(records, slots, found, changes)
                    differs = changed_in(records, parent)
                slot = slot_of(slots, records.identities, one)
                if slots[slot] >= 0:
                    continue
                if found == len(actions):
                    actions = taller_rows(actions)
                slots[slot], actions[found] = found, rows[which]
                record(records, found, parent, found, is_goal, one, change, changes)
                found += 1
                if new:
                    for atom in adds:
                        see(forms, atoms, atom)
                    if expanded == len(nodes.candidate):
                        nodes = Nodes(longer(nodes.candidate), longer(nodes.lacking), longer(nodes.unsatisfied))
                    expand(nodes, expanded, found - 1, origin, change[:changes])
                    expanded += 1
                if found >= search.most:
                    return 0, without_room(records, found), actions[:found]
            turn_all(atoms, differs)
        novelties += expanded - layer_end
        if search.enough > 0 and expanded > layer_end:
            progress = progress or nodes.lacking[layer_end:expanded].min() < lacked
        layer, layer_end = layer_end, layer_end_of(nodes, layer_end, expanded, search.layer)
        expanded = layer_end
    return 0, without_room(records, found), actions[:found]


@compiled
def _no_effects(schemas: Schemas) -> Effects:
    """Room for the effects of any instance."""
    adds = deletes = 0
    for schema in range(len(schemas.steps) - 1):
        adds = max(adds, schemas.adds.first[schema + 1] - schemas.adds.first[schema])
        deletes = max(deletes, schemas.deletes.first[schema + 1] - schemas.deletes.first[schema])
    return Effects(np.empty(adds, np.int32), np.empty(deletes, np.int32))


@inlined
def write_effects(atoms: Atoms, schemas: Schemas, instance: Ints, effects: Effects, row: Ints) -> tuple[int, int]:
    """Writes what an instance adds and deletes, as far as it was met; how much. FULL where an atom has no room."""
    schema, bound, literals = instance[0], instance[1:], schemas.literals
    added = deleted = 0
    for place in range(schemas.adds.first[schema], schemas.adds.first[schema + 1]):
        literal = schemas.adds.values[place]
        write_atom(literals.terms, literal, bound, row)
        atom = number_of(atoms, literals.predicates[literal], row)
        if atom == FULL:
            added = FULL
            break
        if not is_in(effects.adds[:added], atom):
            effects.adds[added] = atom
            added += 1
    for place in range(schemas.deletes.first[schema], schemas.deletes.first[schema + 1]):
        literal = schemas.deletes.values[place]
        write_atom(literals.terms, literal, bound, row)
        atom = atoms.slots[
            slot_of_atom(atoms.slots, atoms.predicates, atoms.arguments, literals.predicates[literal], row)
        ]
        if atom >= 0 and not is_in(effects.adds[:added], atom) and not is_in(effects.deletes[:deleted], atom):
            effects.deletes[deleted] = atom
            deleted += 1
    return added, deleted


@inlined
def _is_new(forms: Forms, atoms: Atoms, adds: Ints) -> bool:
    """Whether one of some atoms has a form that was not seen."""
    new = False
    for atom in adds:
        new = new or is_unseen(forms, atoms, atom)
    return new


@compiled
def _changed_after(adds: Ints, deletes: Ints, present: Words, differs: Ints, change: Ints) -> int:
    """Writes the fluents in which the state after an instance differs into `change`, ascending; how many."""
    count = len(differs)
    change[:count] = differs
    for atom in adds:
        if not has(present, atom):
            count = exchanged(change, count, atom)
    for atom in deletes:
        if has(present, atom):
            count = exchanged(change, count, atom)
    return count
