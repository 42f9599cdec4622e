"""Repetitions of an action with other objects of the same classes, applied without a search of other actions.

A search that loads the first of many interchangeable packages finds next that it can load the second one, and so on.
Once an action was repeated a few times, it is repeated with all further objects at once, so that a large class adds as
many candidates as a small one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sgp.compilation import compiled, inlined
from sgp.planning.atom_table import FULL, find_atom
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Ints2D, Mask, Words, grow
from sgp.planning.joins import Literals, number_atoms, write_atom
from sgp.planning.novelty_forms import Forms, learn_forms
from sgp.planning.operators import applicable, has, is_in, symmetric_difference
from sgp.planning.symmetry import Classes


@compiled
def is_repetition(classes: Classes, before: Ints, row: Ints) -> bool:
    """Whether an action, a schema and its arguments, padded with -1, repeats the one before with other objects.

    Each other object replaces one of its class in the root state, of which the action has no further object.
    """
    if before[0] != row[0]:
        return False
    others = 0
    for place in range(1, len(row)):
        number = row[place]
        if number != before[place]:
            others += 1
            if not (classes.symmetric[number] and classes.signatures[number] == classes.signatures[before[place]]):
                return False
            for further in range(1, len(row)):
                same = further != place and row[further] >= 0
                if same and classes.signatures[row[further]] == classes.signatures[number]:
                    return False
    return others > 0


@compiled
def repeat_further(
    ground: Any,
    lifted: Any,
    forms: Forms,
    classes: Classes,
    signatures: Words,
    before: Ints,
    found: Ints2D,
    last: int,
    state: Words,
    change: Ints,
    changes: int,
    wanted: Mask,
    unwanted: Mask,
    open_goals: int,
    stop: StopFlag,
) -> tuple[int, int, int, int]:
    """Repeat the action of row `last` as often as possible, each time with the next objects of its classes.

    `before` is the action that it repeats. Objects are taken that have the signature of the root state. Each repetition
    must be applicable and add an unseen form; a state without `open_goals`, unsatisfied literals of the atoms `wanted`
    and `unwanted` [a], is the last one. The state, its first `changes` differences from the root state in `change`, and
    the rows after `last`, of which there must be one for each object, are changed in place. Returns 0, or FULL if the
    atom table is full; and the numbers of repetitions, of differences and of open goals.
    """
    # Arrays in variables: each access to one of a tuple would count references.
    following, at_root = classes.following, classes.signatures
    numbers, seen, search = forms.numbers, forms.seen, forms.search[0]
    if ground is not None:
        operators, rows, predicates, arguments = ground.operators, ground.rows, ground.predicates, ground.arguments
        add_ends, add_indices = operators.adds.indptr, operators.adds.indices
        delete_ends, delete_indices = operators.deletes.indptr, operators.deletes.indices
        row = rows[found[last, 0]].copy()
    if lifted is not None:
        atoms, schemas, literals = lifted.atoms, lifted.schemas, lifted.schemas.literals
        predicates, arguments, row = atoms.predicates, atoms.arguments, found[last].copy()
        slots, keys, literal_predicates, terms = atoms.slots, atoms.keys, literals.predicates, literals.terms
        need_ends, need_indices = schemas.needs.indptr, schemas.needs.indices
        forbid_ends, forbid_indices = schemas.forbids.indptr, schemas.forbids.indices
        add_ends, add_indices = schemas.adds.indptr, schemas.adds.indices
        delete_ends, delete_indices = schemas.deletes.indptr, schemas.deletes.indices
        schema, bound, buffer = row[0], row[1:], np.empty(arguments.shape[1], np.int32)
        needed = np.empty(need_ends[schema + 1] - need_ends[schema], np.int32)
        forbidden = np.empty(forbid_ends[schema + 1] - forbid_ends[schema], np.int32)
        adds = np.empty(add_ends[schema + 1] - add_ends[schema], np.int32)
        deletes = np.empty(delete_ends[schema + 1] - delete_ends[schema], np.int32)
        in_needs = _places_among(
            literals,
            delete_indices[delete_ends[schema] : delete_ends[schema + 1]],
            need_indices[need_ends[schema] : need_ends[schema + 1]],
        )
    other = row != before
    toggles, toggled = np.empty(256, np.int32), 0  # atoms whose truth values changed
    times, status, holds = 0, 0, True
    while open_goals > 0 and not stop[0]:
        for place in range(1, len(row)):
            if other[place] and holds:
                number = following[row[place]]
                while number >= 0 and signatures[number] != at_root[number]:
                    number = following[number]
                row[place] = number
                holds = number >= 0
        if ground is not None:
            action = _place_of(rows, row) if holds else -1
            holds = action >= 0 and applicable(state, operators, action)
            if holds:
                adds = add_indices[add_ends[action] : add_ends[action + 1]]
                deletes = delete_indices[delete_ends[action] : delete_ends[action + 1]]
        if lifted is not None and holds:
            every = times == 0
            _write_others(
                slots, keys, literal_predicates, terms, need_ends, need_indices, schema, bound, other, every, needed,
                buffer,
            )  # fmt: skip
            for atom in needed:
                holds = holds and atom >= 0 and has(state, atom)
            _write_others(
                slots, keys, literal_predicates, terms, forbid_ends, forbid_indices, schema, bound, other, True,
                forbidden, buffer,
            )  # fmt: skip
            for atom in forbidden:
                holds = holds and (atom < 0 or not has(state, atom))
            _write_others(
                slots, keys, literal_predicates, terms, add_ends, add_indices, schema, bound, other, every, adds,
                buffer,
            )  # fmt: skip
            if (
                holds
                and is_in(adds, -1)
                and not number_atoms(atoms, literals, schemas.adds, schema, bound, adds, buffer)
            ):
                holds, status = False, FULL
            for place in range(len(deletes)):
                if in_needs[place] >= 0:
                    deletes[place] = needed[in_needs[place]]
                else:
                    write_atom(terms, delete_indices[delete_ends[schema] + place], bound, buffer)
                    predicate = literal_predicates[delete_indices[delete_ends[schema] + place]]
                    deletes[place] = find_atom(slots, keys, predicate, buffer)
        new = False
        if holds:
            for atom in adds:
                if numbers[atom, 0] < 0:
                    learn_forms(forms, predicates[atom], arguments[atom], atom)
                for column in range(numbers.shape[1]):
                    form = numbers[atom, column]
                    if form >= 0 and seen[form] != search:
                        new, seen[form] = True, search
        if not new:
            break
        while toggled + len(adds) + len(deletes) > len(toggles):
            toggles = grow(toggles)
        for fluent in adds:
            if not has(state, fluent):
                toggles[toggled] = fluent
                toggled += 1
                state[fluent >> 6] ^= np.uint64(1) << np.uint64(fluent & 63)
                open_goals += int(unwanted[fluent]) - int(wanted[fluent])
        for fluent in deletes:
            if fluent >= 0 and has(state, fluent) and not is_in(adds, fluent):
                toggles[toggled] = fluent
                toggled += 1
                state[fluent >> 6] ^= np.uint64(1) << np.uint64(fluent & 63)
                open_goals += int(wanted[fluent]) - int(unwanted[fluent])
        times += 1
        if ground is not None:
            found[last + times, 0] = action
        if lifted is not None:
            found[last + times] = row
    return status, times, _toggle_all(change, changes, toggles[:toggled]), open_goals


@compiled
def _places_among(literals: Literals, some: Ints, others: Ints) -> Ints:
    """Return the place of each literal among others up to the sign; -1 for none."""
    places = np.full(len(some), -1, np.int32)
    for which in range(len(some)):
        for place in range(len(others)):
            equal = literals.predicates[some[which]] == literals.predicates[others[place]]
            for column in range(literals.terms.shape[1]):
                equal = equal and literals.terms[some[which], column] == literals.terms[others[place], column]
            if equal:
                places[which] = place
    return places


@inlined
def _write_others(
    slots: Ints,
    keys: Words,
    predicates: Ints,
    terms: Ints2D,
    ends: Ints,
    indices: Ints,
    schema: int,
    bound: Ints,
    other: Mask,
    every: bool,
    numbers: Ints,
    row: Ints,
) -> None:
    """Write the atom numbers of a schema's literals, -1 for none, if `every` or if a parameter has another object.

    `other` [1 + p] tells which columns of an action's row change; the first one is the schema.
    """
    for place in range(ends[schema], ends[schema + 1]):
        literal, changes = indices[place], every
        for column in range(terms.shape[1]):
            changes = changes or (terms[literal, column] >= 0 and other[1 + terms[literal, column]])
        if changes:
            write_atom(terms, literal, bound, row)
            numbers[place - ends[schema]] = find_atom(slots, keys, predicates[literal], row)


@compiled
def _toggle_all(change: Ints, count: int, toggles: Ints) -> int:
    """Toggle membership of numbers in an ascending array of `count` numbers, in place; return the new length.

    `toggles` is sorted; of a number that it has several times, every second one undoes the one before.
    """
    toggles.sort()
    once = 0
    for number in toggles:
        if once > 0 and toggles[once - 1] == number:
            once -= 1
        else:
            toggles[once] = number
            once += 1
    merged = symmetric_difference(change[:count], toggles[:once])
    change[: len(merged)] = merged
    return len(merged)


@compiled
def _place_of(rows: Ints2D, row: Ints) -> int:
    """Return the place of a row [w] among ascending rows [m, w]; -1 for none."""
    begin, end = 0, len(rows)
    while begin < end:
        middle = (begin + end) // 2
        order = 0
        for place in range(len(row)):
            if order == 0:
                order = rows[middle, place] - row[place]
        if order == 0:
            return middle
        if order < 0:
            begin = middle + 1
        else:
            end = middle
    return -1
