"""What stands for the atoms of a task in a search for novel states: themselves, or their abstractions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix
from sgp.planning.operators import Ints, Lists, Words

_WHOLE, _ABSTRACT = np.uint64(1), np.uint64(2)  # where their hashes begin


def novelty_forms(predicates: Ints, arguments: Lists, types: Ints, whole: NDArray[np.bool_]) -> tuple[Lists, int]:
    """The numbers of each atom's forms, and how many there are.

    An atom that is `whole` [a], or has no arguments, has itself; another one a form for each of its arguments, in which
    the others are replaced by their types [n]. Two forms share a number with a probability of 2^-64.
    """
    first, hashes = _hashes(predicates, arguments, types, whole)
    different, numbers = np.unique(hashes, return_inverse=True)
    return Lists(first, numbers.astype(np.int32)), len(different)


@compiled
def _hashes(predicates: Ints, arguments: Lists, types: Ints, whole: NDArray[np.bool_]) -> tuple[Ints, Words]:
    """Where the forms of each atom begin, and their hashes."""
    first, count = np.zeros(len(predicates) + 1, np.int32), 0
    found = np.empty(len(predicates) + len(arguments.values), np.uint64)
    for atom in range(len(predicates)):
        own = arguments.values[arguments.first[atom] : arguments.first[atom + 1]]
        if whole[atom] or len(own) == 0:
            found[count] = whole_form(atom)
            count += 1
        else:
            for kept in range(len(own)):
                found[count] = abstract_form(predicates[atom], own, types, kept)
                count += 1
        first[atom + 1] = count
    return first, found[:count].copy()


@compiled
def whole_form(atom: int) -> np.uint64:
    """The hash of an atom that stands for itself."""
    return _and_then(_WHOLE, atom)


@compiled
def abstract_form(predicate: int, arguments: Ints, types: Ints, kept: int) -> np.uint64:
    """The hash of an atom in which one argument is kept and the others are replaced by their types [n]."""
    form = _and_then(_and_then(_ABSTRACT, predicate), kept)
    for position in range(len(arguments)):
        form = _and_then(form, arguments[position] if position == kept else types[arguments[position]])
    return form


@compiled
def _and_then(before: np.uint64, number: int) -> np.uint64:
    """The hash of a sequence that a number is added to."""
    return mix(before + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15))
