"""The applicable instances of action schemas, found by a join over the true atoms, compiled.

Parameters are bound one after the other: each from the shortest list of true atoms that a literal of the precondition
leaves it, whatever else of the literal is bound, or from all objects of its types where these are fewer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, grow, inlined
from sgp.planning.atom_table import FULL, HEAD, NEXT, SIZE, Atoms, find_atom, list_of_several, number_of
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Words
from sgp.planning.novelty_forms import Forms, is_unseen
from sgp.planning.operators import CSR, has, is_in
from sgp.planning.symmetry import is_representative

EQUATION = -1  # the predicate of "="
UNLIMITED = 2**62
_NOTHING = -1
_CONSTANT = -2  # stands for object 0, -3 for object 1, and so on
# Columns of a source and of a support: the literal, an index of what is bound of it, its list or the first one, and the
# parameter by which it is another one, -1 for none (a list of -1 is to be looked up).
LITERAL, INDEX, FIRST, TERM = range(4)
# Further ones of a source: which index of the predicate it is; where the parameter stands; 1 where the literal is
# complete with it, so that its atoms give each object once.
COLUMN, PLACE, EXACT = range(4, 7)


class Literals(NamedTuple):
    """Literals over the parameters of a schema and constants."""

    predicates: Ints  # [l]
    positive: NDArray[np.bool_]  # [l]
    terms: Ints  # [l, w], parameters, or objects counted down from -2; -1 behind the last one


class Rows(NamedTuple):
    """Lists of rows of numbers: those of list i are `rows[indptr[i] : indptr[i + 1]]`."""

    indptr: Ints
    rows: Ints


class Schemas(NamedTuple):
    """Action schemas; those of one have a step for each parameter, in the order in which they are bound."""

    steps: Ints  # [s + 1], where those of each schema begin
    parameters: Ints  # [t], which one a step binds
    remaining_slots: Ints  # [t], how many parameters of its types come before it and are bound behind it
    fits: NDArray[np.bool_]  # [t, n], which objects are of its types
    values: CSR  # [t], the same as lists
    sources: Rows  # [t], the positive literals in which it stands, by what is bound before (columns LITERAL to EXACT)
    supports: Rows  # [t], those of them that are not complete with it, by what is bound with it
    checks: CSR  # [t], literals that are complete with it
    first_checks: CSR  # [s], literals without parameters
    needs: CSR  # [s], positive fluent literals
    forbids: CSR  # [s], negative fluent literals
    adds: CSR  # [s], literals
    deletes: CSR  # [s]
    added: NDArray[np.bool_]  # [t], whether all that is added is known from here on, and was not before
    literals: Literals
    widest: Ints  # [1], one more than the most parameters


def constant_term(number: int) -> int:
    """What stands for an object in a literal's terms."""
    return _CONSTANT - number


@inlined
def write_atom(terms: Ints, literal: int, bound: Ints, row: Ints) -> None:
    """Writes the arguments [w] that a literal has where parameters are bound to objects."""
    for place in range(len(row)):
        term = terms[literal, place]
        row[place] = bound[term] if term >= 0 else (_NOTHING if term == _NOTHING else _CONSTANT - term)


@compiled
def _holds(atoms: Atoms, literals: Literals, literal: int, bound: Ints, row: Ints) -> bool:
    """Whether a literal holds."""
    write_atom(literals.terms, literal, bound, row)
    predicate = literals.predicates[literal]
    if predicate == EQUATION:
        true = row[0] == row[1]
    else:
        atom = find_atom(atoms, predicate, row)
        true = atom >= 0 and has(atoms.true, atom)
    return bool(true == literals.positive[literal])


@compiled
def _all_hold(atoms: Atoms, literals: Literals, checks: CSR, which: int, bound: Ints, row: Ints) -> bool:
    """Whether all literals of a list hold."""
    for place in range(checks.indptr[which], checks.indptr[which + 1]):
        if not _holds(atoms, literals, checks.indices[place], bound, row):
            return False
    return True


@inlined
def _adds_unseen(atoms: Atoms, forms: Forms, schemas: Schemas, schema: int, bound: Ints, row: Ints) -> int:
    """Whether an instance adds an atom with a form that was not seen, 0 or 1; FULL where an atom has no room."""
    adds, literals, unseen = schemas.adds, schemas.literals, 0
    for literal in adds.indices[adds.indptr[schema] : adds.indptr[schema + 1]]:
        write_atom(literals.terms, literal, bound, row)
        atom = number_of(atoms, literals.predicates[literal], row)
        if atom == FULL:
            unseen = FULL
            break
        if is_unseen(forms, atoms.predicates, atoms.arguments, atom):
            unseen = 1
            break
    return unseen


@inlined
def _list_of(
    slots: Ints,
    keys: Words,
    places: NDArray[np.bool_],
    terms: Ints,
    lookups: Ints,
    place: int,
    bound: Ints,
    row: Ints,
) -> int:
    """The list of true atoms that a source or support looks in, by what is bound; -1 where there is none."""
    which, term = lookups[place, FIRST], lookups[place, TERM]
    if term >= 0:
        which += bound[term]
    elif which < 0:  # parameters that are not bound stand in places that are not given
        write_atom(terms, lookups[place, LITERAL], bound, row)
        which = list_of_several(slots, keys, places, lookups[place, INDEX], row)
    return int(which)


@inlined
def _breaks_canonical_order(
    ranks: Ints, signatures: Words, bound: Ints, parameters: Ints, remaining_slots: int
) -> bool:
    """Whether objects of the class of the last one bound that come before it do not all fit into earlier parameters.

    `parameters` are bound; such an object has one of those that come before the last one, or one of those that do and
    are still to be bound.
    """
    last = parameters[-1]
    number = bound[last]
    missing = ranks[number] - remaining_slots
    if missing > 0:
        for place in range(len(parameters) - 1):
            other = bound[parameters[place]]
            if parameters[place] < last and signatures[other] == signatures[number]:
                missing -= 1
                for before in range(place):  # an object that is used twice counts once
                    if parameters[before] < last and bound[parameters[before]] == other:
                        missing += 1
                        break
    return bool(missing > 0)


@compiled
def instances(
    atoms: Atoms,
    schemas: Schemas,
    ranks: Ints,
    forms: Forms,
    only_new: bool,
    rows: Ints,
    most: int,
    most_bindings: int,
    stop: StopFlag,
) -> tuple[int, Ints]:
    """How many instances are applicable, and they [at least k, 1 + p] in order, each a schema and its arguments.

    Of those that differ in interchangeable objects alone one, where `ranks` [n] has the places of objects in their
    classes. With `only_new` those that add an atom with a form that was not seen. Gives up with more than `most`, or
    more bindings of the first so many parameters of a schema than `most_bindings`: then the number is above `most`.
    FULL instead of the number where an atom has no room. `rows` is room for instances, which may be replaced.

    Leaves the rest as it comes once `stop` [1] is true.
    """
    count = 0
    literals, signatures, fits = schemas.literals, atoms.signatures, schemas.fits
    lists, links, arguments, terms = atoms.lists, atoms.links, atoms.arguments, literals.terms
    slots, keys, places = atoms.list_slots, atoms.list_keys, atoms.indexes.places
    source_ends, sources = schemas.sources.indptr, schemas.sources.rows
    support_ends, supports = schemas.supports.indptr, schemas.supports.rows
    value_ends, values = schemas.values.indptr, schemas.values.indices
    check_ends, checks = schemas.checks.indptr, schemas.checks.indices
    bound, row = np.zeros(schemas.widest[0], np.int32), np.empty(terms.shape[1], np.int32)
    # Of each step the source, -1 for none; which atom or object is next; and its own number, by which it knows the
    # objects that it was given.
    source, following, numbers = np.empty((3, schemas.widest[0]), np.int32)
    given, number = np.zeros((schemas.widest[0], len(ranks)), np.int32), 0
    bindings = np.zeros(schemas.widest[0] + 1, np.int64)
    for schema in range(len(schemas.steps) - 1):
        begin, steps = schemas.steps[schema], schemas.steps[schema + 1] - schemas.steps[schema]
        parameters, depth, opened = schemas.parameters[begin : begin + steps], 0, True
        bindings[:] = 0
        if not _all_hold(atoms, literals, schemas.first_checks, schema, bound, row):
            continue
        while depth >= 0:
            if stop[0]:
                return count, rows
            if depth == steps:
                if is_representative(ranks, signatures, bound[:steps]):
                    if count == len(rows):
                        rows = grow(rows)
                    rows[count, 0], rows[count, 1 : steps + 1], rows[count, steps + 1 :] = schema, bound[:steps], 0
                    count += 1
                    if count > most:
                        return count, rows
                depth -= 1
                opened = False
                continue
            step, parameter = begin + depth, parameters[depth]
            if opened:
                number += 1
                source[depth], following[depth], numbers[depth] = _NOTHING, value_ends[step], number
                fewest = value_ends[step + 1] - value_ends[step]
                for place in range(source_ends[step], source_ends[step + 1]):
                    which = _list_of(slots, keys, places, terms, sources, place, bound, row)
                    size = lists[which, SIZE] if which >= 0 else np.int32(0)
                    if size <= fewest:
                        fewest, source[depth] = size, place
                        following[depth] = lists[which, HEAD] if which >= 0 else _NOTHING
                opened = False
            given_by, exact, here = _NOTHING, True, source[depth]
            if here >= 0:
                given_by, exact = sources[here, LITERAL], sources[here, EXACT] == 1
                atom = following[depth]
                if atom >= 0:
                    following[depth] = links[atom, sources[here, COLUMN], NEXT]
                    value = arguments[atom, sources[here, PLACE]]
            else:
                atom = following[depth] if following[depth] < value_ends[step + 1] else -1
                if atom >= 0:
                    following[depth] += 1
                    value = values[atom]
            if atom < 0:
                depth -= 1
                continue
            if not fits[step, value]:
                continue
            if not exact:
                if given[depth, value] == numbers[depth]:
                    continue
                given[depth, value] = numbers[depth]
            bound[parameter] = value
            if _breaks_canonical_order(
                ranks, signatures, bound, parameters[: depth + 1], schemas.remaining_slots[step]
            ):
                continue
            holds = True
            for check in checks[check_ends[step] : check_ends[step + 1]]:
                holds = holds and ((exact and check == given_by) or _holds(atoms, literals, check, bound, row))
            for place in range(support_ends[step], support_ends[step + 1]):
                if holds and supports[place, LITERAL] != given_by:
                    which = _list_of(slots, keys, places, terms, supports, place, bound, row)
                    holds = which >= 0 and lists[which, SIZE] > 0
            if holds and only_new and schemas.added[step]:
                unseen = _adds_unseen(atoms, forms, schemas, schema, bound, row)
                if unseen == FULL:
                    return FULL, rows
                holds = unseen == 1
            if holds:
                depth += 1
                opened = True
                bindings[depth] += 1
                if bindings[depth] > most_bindings:
                    return most + 1, rows
    rows[:count] = rows[_order(rows[:count], len(ranks))]
    return count, rows


@compiled
def _order(rows: Ints, objects: int) -> NDArray[np.int64]:
    """The order of rows [k, p] of numbers, all but the first column below `objects`."""
    order = np.arange(len(rows))
    if len(rows) < 2:
        return order
    key, size = np.zeros(len(rows), np.int64), 1
    for column in range(rows.shape[1] - 1, -1, -1):
        if size > 2**62 // (objects + 1) or column == 0:  # sorted by what stands behind; the sort is stable
            order = order[np.argsort(key[order], kind="mergesort")]
            key[:], size = 0, 1
        for place in range(len(rows)):
            key[place] += size * rows[place, column]
        size *= objects + 1
    return order[np.argsort(key[order], kind="mergesort")]


@compiled
def literal_atoms(atoms: Atoms, schemas: Schemas, lists: CSR, rows: Ints, new: bool, without: CSR) -> tuple[int, CSR]:
    """The numbers of the atoms that instances [m, 1 + p] give literals, list by list of their schemas.

    -1 for an atom that was not met, or, where `without` has lists, that stands there. With `new`, atoms that were not
    met get numbers; then the first of the results is FULL where one has no room, else 0.
    """
    literals, indptr = schemas.literals, np.zeros(len(rows) + 1, np.int32)
    for place in range(len(rows)):
        schema = rows[place, 0]
        indptr[place + 1] = indptr[place] + lists.indptr[schema + 1] - lists.indptr[schema]
    indices, row = np.empty(indptr[-1], np.int32), np.empty(literals.terms.shape[1], np.int32)
    for place in range(len(rows)):
        begin, first = indptr[place], lists.indptr[rows[place, 0]]
        for which in range(indptr[place + 1] - begin):
            literal = lists.indices[first + which]
            write_atom(literals.terms, literal, rows[place, 1:], row)
            if new:
                atom = number_of(atoms, literals.predicates[literal], row)
                if atom == FULL:
                    return FULL, CSR(indptr, indices)
            else:
                atom = find_atom(atoms, literals.predicates[literal], row)
                excluded = (
                    without.indices[without.indptr[place] : without.indptr[place + 1]]
                    if len(without.indptr) > 1
                    else without.indices[:0]
                )
                if is_in(excluded, atom):
                    atom = -1
            indices[begin + which] = atom
    return 0, CSR(indptr, indices)
