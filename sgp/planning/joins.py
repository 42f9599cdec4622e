"""Compiled joins over true atoms that find the applicable instances of action schemas.

Parameters are bound one after the other. Each takes its candidates from the shortest list of true atoms that a
precondition literal allows under the current binding, or from all objects of its types if these are fewer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.planning.atom_table import FULL, HEAD, NEXT, SIZE, Atoms, find_atom, list_of_several, number_of
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Ints2D, Mask, Mask2D, Words, grow
from sgp.planning.novelty_forms import Forms, is_unseen
from sgp.planning.operators import CSR, has, is_in
from sgp.planning.symmetry import is_representative

EQUATION = -1  # the predicate of "="
UNLIMITED = 2**62
_NOTHING = -1
_CONSTANT = -2  # stands for object 0; -3 for object 1, and so on
# Columns of a source and of a support: literal, index for its bound terms, list (or first list), and the parameter that
# selects the list, -1 for none. A list of -1 is found by a lookup.
LITERAL, INDEX, FIRST, TERM = range(4)
# Additional columns of a source: number of the index within its predicate; argument position of the parameter; 1 if the
# parameter completes the literal, so that its atoms give each object once.
COLUMN, PLACE, EXACT = range(4, 7)


class Literals(NamedTuple):
    """Literals over the parameters of a schema and constants."""

    predicates: Ints  # [l]
    positive: NDArray[np.bool_]  # [l]
    terms: Ints2D  # [l, w], parameters; objects counted down from -2; padded with -1


class Given(NamedTuple):
    """Objects already given to a step of the current binding, kept from call to call."""

    numbers: Ints2D  # [p, n], by depth and object: the binding that gave it last
    last: Ints  # [1], the last binding's number

    @staticmethod
    def none(schemas: Schemas, objects: int) -> Given:
        """Build the initial table."""
        return Given(np.zeros((schemas.widest[0], objects), np.int32), np.zeros(1, np.int32))


class Change(NamedTuple):
    """What a restricted search looks for: instances that a change may have made applicable, or representatives.

    These have one of `atoms`, whose truth values have just changed, in the precondition, or one of `objects` as an
    argument.
    """

    restricted: bool  # otherwise all instances
    atoms: Ints
    objects: Ints
    is_object: Mask  # [n], `objects` as a mask


class Rows(NamedTuple):
    """Lists of rows of numbers; list i is `rows[indptr[i] : indptr[i + 1]]`."""

    indptr: Ints
    rows: Ints2D


class Schemas(NamedTuple):
    """Action schemas in o binding orders, each with one step per parameter.

    The first s orders are those of the s schemas. Further orders begin with each parameter of each schema, and with the
    parameters of each fluent precondition literal, those of `needs` before those of `forbids`.
    """

    schema_of: Ints  # [o]
    first_literals: Ints  # [o], the literal whose parameters the order begins with, -1 for none
    steps: Ints  # [o + 1], start of each order's steps
    parameters: Ints  # [t], parameter that the step binds
    remaining_slots: Ints  # [t], number of earlier parameters of its types that are bound later
    kinds: Ints  # [t], row of `fits`
    fits: Mask2D  # [k, n], whether the object has one of a parameter's types
    values: CSR  # [k], `fits` as lists
    sources: Rows  # [t], positive literals with the parameter, by earlier bindings (columns LITERAL to EXACT)
    supports: Rows  # [t], the literals of `sources` that remain incomplete, by current bindings
    checks: CSR  # [t], literals that the step completes
    first_checks: CSR  # [s], literals without parameters
    needs: CSR  # [s], positive fluent literals
    forbids: CSR  # [s], negative fluent literals
    adds: CSR  # [s], literals
    deletes: CSR  # [s]
    added: NDArray[np.bool_]  # [t], whether the step completes the last added atom
    literals: Literals
    widest: tuple[int, int, int]  # greatest numbers of parameters plus one, of added and of deleted atoms


def constant_term(number: int) -> int:
    """Return the term of an object in a literal."""
    return _CONSTANT - number


@inlined
def write_atom(terms: Ints, literal: int, bound: Ints, row: Ints) -> None:
    """Write the arguments [w] of a literal under a binding."""
    for place in range(len(row)):
        term = terms[literal, place]
        row[place] = bound[term] if term >= 0 else (_NOTHING if term == _NOTHING else _CONSTANT - term)


@inlined
def write_atoms(
    atoms: Atoms, literals: Literals, lists: CSR, schema: int, bound: Ints, new: bool, numbers: Ints, row: Ints
) -> int:
    """Write the atom numbers of a schema's literals under a binding, and return how many literals there are.

    -1 is for an atom without a number. With `new`, such atoms are numbered; the result is FULL if the table is full.
    """
    count = 0
    for literal in lists.indices[lists.indptr[schema] : lists.indptr[schema + 1]]:
        write_atom(literals.terms, literal, bound, row)
        if new:
            numbers[count] = number_of(atoms, literals.predicates[literal], row)
            if numbers[count] == FULL:
                count = FULL
                break
        else:
            numbers[count] = find_atom(atoms, literals.predicates[literal], row)
        count += 1
    return count


@inlined
def _holds(atoms: Atoms, literals: Literals, literal: int, bound: Ints, row: Ints) -> bool:
    """Whether a literal is true under a binding."""
    write_atom(literals.terms, literal, bound, row)
    predicate = literals.predicates[literal]
    if predicate == EQUATION:
        true = row[0] == row[1]
    else:
        atom = find_atom(atoms, predicate, row)
        true = atom >= 0 and has(atoms.true, atom)
    return bool(true == literals.positive[literal])


@inlined
def _adds_unseen(atoms: Atoms, forms: Forms, schemas: Schemas, schema: int, bound: Ints, row: Ints) -> int:
    """Whether an instance adds an atom with an unseen form (0 or 1); FULL if the atom table is full."""
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
    """Return the list of true atoms of a source or support under a binding; -1 for none."""
    which, term = lookups[place, FIRST], lookups[place, TERM]
    if term >= 0:
        which += bound[term]
    elif which < 0:  # unbound parameters are at argument positions without given objects
        write_atom(terms, lookups[place, LITERAL], bound, row)
        which = list_of_several(slots, keys, places, lookups[place, INDEX], row)
    return int(which)


@inlined
def _breaks_canonical_order(
    ranks: Ints, signatures: Words, bound: Ints, parameters: Ints, remaining_slots: int
) -> bool:
    """Whether interchangeable objects before the last bound one do not fit into earlier parameters.

    `parameters` are bound. Each such object must have one of the parameters before the last one: a bound parameter, or
    one of the `remaining_slots` that are bound later.
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


@kernel
def instances(
    atoms: Atoms,
    schemas: Schemas,
    ranks: Ints,
    forms: Forms,
    only_new: bool,
    change: Change,
    given: Given,
    rows: Ints2D,
    most: int,
    most_bindings: int,
    stop: StopFlag,
) -> tuple[int, Ints]:
    """Return the number of applicable instances, and the instances [at least k, 1 + p] in order.

    A row has the schema and its arguments. `ranks` [n] are the ranks of objects within their classes: there is one of
    the instances that differ only in interchangeable objects; with ranks of 0 there are all. With `only_new`, instances
    must add an atom with an unseen form. A restricted `change` selects instances. The search stops with a number above
    `most` for more instances than `most`, or for more bindings of a prefix of a schema's parameters than
    `most_bindings`. The number is FULL if the atom table is full. `rows` is a buffer, replaced if too small. The result
    is incomplete once `stop` [1] is true.
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
    fixed = np.empty(schemas.widest[0], np.int32)  # objects of the first parameters
    # Per step: the source, -1 for none; the next atom or object; and the number of the binding before it, which marks
    # the objects already given to it.
    source, following, numbers = np.empty((3, schemas.widest[0]), np.int32)
    bindings = np.zeros(schemas.widest[0] + 1, np.int64)
    restricted, base = change.restricted, len(schemas.first_checks.indptr) - 1
    for order in range(base if restricted else 0, len(schemas.schema_of) if restricted else base):
        schema, begin, steps = (
            schemas.schema_of[order],
            schemas.steps[order],
            schemas.steps[order + 1] - schemas.steps[order],
        )
        parameters, first_literal = schemas.parameters[begin : begin + steps], schemas.first_literals[order]
        holds, first_checks = True, schemas.first_checks
        for check in first_checks.indices[first_checks.indptr[schema] : first_checks.indptr[schema + 1]]:
            holds = holds and _holds(atoms, literals, check, bound, row)
        begins = 1
        if restricted:
            begins = len(change.atoms) if first_literal >= 0 else len(change.objects)
        for which_begin in range(begins if holds else 0):
            many = 0  # number of first parameters
            if restricted and first_literal >= 0:
                many = _fix(atoms, literals, first_literal, change.atoms[which_begin], fixed)
            elif restricted:
                many, fixed[0] = 1, change.objects[which_begin]
            depth, opened = 0 if many >= 0 else -1, True
            bindings[:] = 0
            while depth >= 0:
                if stop[0]:
                    return count, rows
                if depth == steps:
                    found = restricted and _has_earlier(atoms, schemas, schema, first_literal, change.atoms, bound, row)
                    if not found and is_representative(ranks, signatures, bound[:steps]):
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
                kind = schemas.kinds[step]
                if opened:
                    given.last[0] += 1
                    source[depth], following[depth], numbers[depth] = _NOTHING, value_ends[kind], given.last[0]
                    if depth < many:
                        following[depth] = 0
                    fewest = value_ends[kind + 1] - value_ends[kind]
                    for place in range(
                        source_ends[step + 1] if depth < many else source_ends[step], source_ends[step + 1]
                    ):
                        which = _list_of(slots, keys, places, terms, sources, place, bound, row)
                        size = lists[which, SIZE] if which >= 0 else np.int32(0)
                        if size <= fewest:
                            fewest, source[depth] = size, place
                            following[depth] = lists[which, HEAD] if which >= 0 else _NOTHING
                    opened = False
                given_by, exact, here = _NOTHING, True, source[depth]
                if depth < many:
                    atom, value = following[depth], fixed[depth]
                    following[depth] = _NOTHING
                elif here >= 0:
                    given_by, exact = sources[here, LITERAL], sources[here, EXACT] == 1
                    atom = following[depth]
                    if atom >= 0:
                        following[depth] = links[atom, sources[here, COLUMN], NEXT]
                        value = arguments[atom, sources[here, PLACE]]
                else:
                    atom = following[depth] if following[depth] < value_ends[kind + 1] else -1
                    if atom >= 0:
                        following[depth] += 1
                        value = values[atom]
                if atom < 0:
                    depth -= 1
                    continue
                if not fits[kind, value]:
                    continue
                if restricted and first_literal < 0 and parameter < parameters[0] and change.is_object[value]:
                    continue  # found in an earlier order
                if not exact:
                    if given.numbers[depth, value] == numbers[depth]:
                        continue
                    given.numbers[depth, value] = numbers[depth]
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


@inlined
def _fix(atoms: Atoms, literals: Literals, literal: int, atom: int, fixed: Ints) -> int:
    """Write the objects of a literal's parameters, in order, for which it is this atom, and return how many there are.

    -1 if it is not this atom, or has another truth value.
    """
    many = 0
    if atoms.predicates[atom] != literals.predicates[literal] or has(atoms.true, atom) != literals.positive[literal]:
        many = -1
    for place in range(literals.terms.shape[1] if many == 0 else 0):
        term, value = literals.terms[literal, place], atoms.arguments[atom, place]
        if term == _NOTHING:
            break
        new = term >= 0
        for before in range(place):
            if term >= 0 and literals.terms[literal, before] == term:
                new = False
                if atoms.arguments[atom, before] != value:
                    many = -1
        if many < 0 or (term < _NOTHING and _CONSTANT - term != value):
            many = -1
            break
        if new:
            fixed[many] = value
            many += 1
    return many


@inlined
def _has_earlier(
    atoms: Atoms, schemas: Schemas, schema: int, literal: int, changed: Ints, bound: Ints, row: Ints
) -> bool:
    """Whether a precondition literal before this one is a changed atom; -1 is behind all literals."""
    earlier, ended = False, False
    for lists in (schemas.needs, schemas.forbids):
        for other in lists.indices[lists.indptr[schema] : lists.indptr[schema + 1]]:
            ended = ended or other == literal
            if not ended and not earlier:
                write_atom(schemas.literals.terms, other, bound, row)
                earlier = is_in(changed, find_atom(atoms, schemas.literals.predicates[other], row))
    return earlier


@compiled
def _order(rows: Ints, objects: int) -> NDArray[np.int64]:
    """Return the sort order of rows [k, p]; all columns but the first are below `objects`."""
    order = np.arange(len(rows))
    if len(rows) < 2:
        return order
    key, size = np.zeros(len(rows), np.int64), 1
    for column in range(rows.shape[1] - 1, -1, -1):
        if size > 2**62 // (objects + 1) or column == 0:  # sort by the columns so far; the sort is stable
            order = order[np.argsort(key[order], kind="mergesort")]
            key[:], size = 0, 1
        for place in range(len(rows)):
            key[place] += size * rows[place, column]
        size *= objects + 1
    return order[np.argsort(key[order], kind="mergesort")]


@kernel
def literal_atoms(atoms: Atoms, schemas: Schemas, lists: CSR, rows: Ints2D, new: bool, without: CSR) -> tuple[int, CSR]:
    """Return the atom numbers of literals for instances [m, 1 + p], grouped as in the schemas' lists.

    -1 is for an atom without a number, or an atom in the corresponding list of `without`. With `new`, such atoms are
    numbered; the first result is then FULL if the table is full, else 0.
    """
    literals, indptr = schemas.literals, np.zeros(len(rows) + 1, np.int32)
    for place in range(len(rows)):
        schema = rows[place, 0]
        indptr[place + 1] = indptr[place] + lists.indptr[schema + 1] - lists.indptr[schema]
    indices, row = np.empty(indptr[-1], np.int32), np.empty(literals.terms.shape[1], np.int32)
    for place in range(len(rows)):
        numbers = indices[indptr[place] : indptr[place + 1]]
        if write_atoms(atoms, literals, lists, rows[place, 0], rows[place, 1:], new, numbers, row) == FULL:
            return FULL, CSR(indptr, indices)
        if len(without.indptr) > 1:
            excluded = without.indices[without.indptr[place] : without.indptr[place + 1]]
            for which in range(len(numbers)):
                if is_in(excluded, numbers[which]):
                    numbers[which] = -1
    return 0, CSR(indptr, indices)
