"""Novelty forms of atoms: the atoms or their abstractions, by which a search counts states as novel."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.planning.hash_table import EMPTY, Ints, Ints2D, Words, empty_slots, find_key, hash_step

Abstraction = Literal["none", "types", "base", "goals"]

_WHOLE, _ABSTRACT = np.uint64(1), np.uint64(2)  # hash seeds of forms


class Forms(NamedTuple):
    """The numbered novelty forms of each atom, and the last search in which each form was seen.

    An atom that is `whole` or has no arguments is its own form. Another atom has a form for each argument, in which the
    other arguments are replaced by their types. Two forms share a number with probability 2^-64.
    """

    numbers: Ints2D  # [c, w], padded with -1; -1 first for an atom without computed forms
    keys: Words  # [c w], hashes of the forms
    slots: Ints  # hash table over `keys`
    total: Ints  # number of forms [1]
    seen: Ints  # [c w]
    search: Ints  # [1], number of the current search
    types: Ints  # [n], types of objects
    whole: NDArray[np.bool_]  # [c]

    @classmethod
    def of(cls, whole: NDArray[np.bool_], types: Ints, arity: int) -> Forms:
        """An empty table for atoms [c] of at most `arity` arguments."""
        width = 1 if whole.all() else arity
        room = len(whole) * width
        return cls(
            np.full((len(whole), width), EMPTY, np.int32),
            np.empty(room, np.uint64),
            empty_slots(room),
            np.zeros(1, np.int32),
            np.zeros(room, np.int32),
            np.zeros(1, np.int32),
            types,
            whole,
        )


@compiled
def learn_forms(forms: Forms, predicate: int, row: Ints, atom: int) -> None:
    """Compute the forms of an atom with arguments [w], padded with -1."""
    arity = 0
    while arity < len(row) and row[arity] >= 0:
        arity += 1
    whole = forms.whole[atom] or arity == 0
    for argument in range(1 if whole else arity):
        if whole:
            key = hash_step(_WHOLE, atom)
        else:
            key = hash_step(hash_step(_ABSTRACT, predicate), argument)
            for place in range(arity):
                key = hash_step(key, row[place] if place == argument else forms.types[row[place]])
        slot = find_key(forms.slots, forms.keys, key)
        if forms.slots[slot] < 0:
            forms.slots[slot] = forms.total[0]
            forms.keys[forms.total[0]] = key
            forms.total[0] += 1
        forms.numbers[atom, argument] = forms.slots[slot]


@kernel
def learn_all_forms(forms: Forms, predicates: Ints, arguments: Ints2D) -> None:
    """Compute the forms of all atoms [a] that have a predicate."""
    for atom in range(len(predicates)):
        if predicates[atom] >= 0:
            learn_forms(forms, predicates[atom], arguments[atom], atom)


@inlined
def is_unseen(forms: Forms, predicates: Ints, arguments: Ints, atom: int) -> bool:
    """Whether the current search has not seen one of the atom's forms."""
    if forms.numbers[atom, 0] < 0:
        learn_forms(forms, predicates[atom], arguments[atom], atom)
    unseen = False
    for place in range(forms.numbers.shape[1]):
        form = forms.numbers[atom, place]
        unseen = unseen or (form >= 0 and forms.seen[form] != forms.search[0])
    return unseen


@inlined
def mark_seen(forms: Forms, predicates: Ints, arguments: Ints, atoms: Ints) -> None:
    """Mark the forms of these atoms as seen."""
    for atom in atoms:
        if forms.numbers[atom, 0] < 0:
            learn_forms(forms, predicates[atom], arguments[atom], atom)
        for place in range(forms.numbers.shape[1]):
            form = forms.numbers[atom, place]
            if form >= 0:
                forms.seen[form] = forms.search[0]
