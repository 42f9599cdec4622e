"""Compiled joins over true atoms that find the applicable instances of action schemas.

Parameters are bound one after the other. Each takes its candidates from the shortest list of true atoms that a
precondition literal allows under the current binding, or from all objects of its kind if these are fewer. The kind is
given by types, and by static predicates of the parameter alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined, kernel
from sgp.planning.atom_table import FULL, HEAD, NEXT, SIZE, Atoms, find_atom, list_of_several, number_of
from sgp.planning.clock import StopFlag
from sgp.planning.hash_table import Ints, Ints2D, Mask, Mask2D, Words
from sgp.planning.novelty_forms import Forms, learn_forms
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
    remaining_slots: Ints  # [t], number of earlier parameters of its kind that are bound later
    kinds: Ints  # [t], row of `fits`
    fits: Mask2D  # [k, n], whether the object has one of a parameter's types, and its static predicates of one argument
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
    atom_slots: Ints,
    atom_keys: Words,
    predicates: Ints,
    terms: Ints,
    ends: Ints,
    indices: Ints,
    schema: int,
    bound: Ints,
    numbers: Ints,
    row: Ints,
) -> int:
    """Write the atom numbers of a schema's literals under a binding, and return how many literals there are.

    -1 is for an atom without a number; `number_atoms` numbers these.
    """
    begin, end = ends[schema], ends[schema + 1]
    for place in range(begin, end):
        write_atom(terms, indices[place], bound, row)
        numbers[place - begin] = find_atom(atom_slots, atom_keys, predicates[indices[place]], row)
    return int(end - begin)


@compiled
def number_atoms(
    atoms: Atoms, literals: Literals, lists: CSR, schema: int, bound: Ints, numbers: Ints, row: Ints
) -> bool:
    """Write the numbers of the atoms that have none yet; return whether the table has space for all of them."""
    begin = lists.indptr[schema]
    for place in range(begin, lists.indptr[schema + 1]):
        if numbers[place - begin] < 0:
            literal = lists.indices[place]
            write_atom(literals.terms, literal, bound, row)
            numbers[place - begin] = number_of(atoms, literals.predicates[literal], row)
            if numbers[place - begin] == FULL:
                return False
    return True


@inlined
def _holds(
    atom_slots: Ints,
    atom_keys: Words,
    true: Words,
    predicates: Ints,
    positive: NDArray[np.bool_],
    terms: Ints,
    literal: int,
    bound: Ints,
    row: Ints,
) -> bool:
    """Whether a literal is true under a binding."""
    write_atom(terms, literal, bound, row)
    if predicates[literal] == EQUATION:
        holds = row[0] == row[1]
    else:
        atom = find_atom(atom_slots, atom_keys, predicates[literal], row)
        holds = atom >= 0 and has(true, atom)
    return bool(holds == positive[literal])


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
    ranks: Ints, signatures: Words, bound: Ints, parameters: Ints, begin: int, depth: int, remaining_slots: int
) -> bool:
    """Whether interchangeable objects before the last bound one do not fit into earlier parameters.

    The parameters from `begin` to `begin + depth`, the last one, are bound. Each such object must have one of the
    parameters before the last one: a bound parameter, or one of the `remaining_slots` that are bound later.
    """
    last = parameters[begin + depth]
    number = bound[last]
    missing = ranks[number] - remaining_slots
    if missing > 0:
        for place in range(begin, begin + depth):
            other = bound[parameters[place]]
            if parameters[place] < last and signatures[other] == signatures[number]:
                missing -= 1
                for before in range(begin, place):  # an object that is used twice counts once
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
    count = _write_instances(atoms, schemas, ranks, forms, only_new, change, given, rows, most, most_bindings, stop)
    while len(rows) < count <= most:
        rows = np.empty((2 * count, rows.shape[1]), np.int32)
        count = _write_instances(atoms, schemas, ranks, forms, only_new, change, given, rows, most, most_bindings, stop)
    if 0 < count <= most and not stop[0]:
        rows[:count] = rows[row_order(rows[:count], len(ranks))]
    return count, rows


@compiled
def _write_instances(
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
) -> int:
    """Write the instances of `instances`, unordered, as far as the buffer has space, and return their number."""
    # Arrays in variables, and none that is replaced in the loops: each of these would count references.
    count = 0
    literals, signatures, fits = schemas.literals, atoms.signatures, schemas.fits
    lists, links, arguments, terms = atoms.lists, atoms.links, atoms.arguments, literals.terms
    atom_slots, atom_keys, true = atoms.slots, atoms.keys, atoms.true
    predicates, positive = literals.predicates, literals.positive
    slots, keys, places = atoms.list_slots, atoms.list_keys, atoms.indexes.places
    source_ends, sources = schemas.sources.indptr, schemas.sources.rows
    support_ends, supports = schemas.supports.indptr, schemas.supports.rows
    value_ends, values = schemas.values.indptr, schemas.values.indices
    check_ends, checks = schemas.checks.indptr, schemas.checks.indices
    schema_of, step_ends, first_literals = schemas.schema_of, schemas.steps, schemas.first_literals
    parameters, kinds, remaining_slots, added = (
        schemas.parameters,
        schemas.kinds,
        schemas.remaining_slots,
        schemas.added,
    )
    first_ends, first_checks = schemas.first_checks.indptr, schemas.first_checks.indices
    add_ends, adds = schemas.adds.indptr, schemas.adds.indices
    need_ends, needs = schemas.needs.indptr, schemas.needs.indices
    forbid_ends, forbids = schemas.forbids.indptr, schemas.forbids.indices
    forms_of, seen, search = forms.numbers, forms.seen, forms.search[0]
    atom_predicates = atoms.predicates
    changed, objects, is_object = change.atoms, change.objects, change.is_object
    given_numbers, given_last = given.numbers, given.last
    bound, row = np.zeros(schemas.widest[0], np.int32), np.empty(terms.shape[1], np.int32)
    fixed = np.empty(schemas.widest[0], np.int32)  # objects of the first parameters
    # Per step: the source, -1 for none; the next atom or object; and the number of the binding before it, which marks
    # the objects already given to it.
    source, following, numbers = np.empty((3, schemas.widest[0]), np.int32)
    bindings = np.zeros(schemas.widest[0] + 1, np.int64)
    restricted, base = change.restricted, len(first_ends) - 1
    for order in range(base if restricted else 0, len(schema_of) if restricted else base):
        schema, begin, first_literal = schema_of[order], step_ends[order], first_literals[order]
        steps, holds, in_needs = step_ends[order + 1] - begin, True, False
        for which in range(need_ends[schema], need_ends[schema + 1]):
            in_needs = in_needs or needs[which] == first_literal
        for which in range(first_ends[schema], first_ends[schema + 1]):
            holds = holds and _holds(
                atom_slots, atom_keys, true, predicates, positive, terms, first_checks[which], bound, row
            )
        begins = 1
        if restricted:
            begins = len(changed) if first_literal >= 0 else len(objects)
        for which_begin in range(begins if holds else 0):
            many = 0  # number of first parameters
            if restricted and first_literal >= 0:
                many = _fix(
                    atom_predicates,
                    arguments,
                    true,
                    predicates,
                    positive,
                    terms,
                    first_literal,
                    changed[which_begin],
                    fixed,
                )
            elif restricted:
                many, fixed[0] = 1, objects[which_begin]
            depth, opened = 0 if many >= 0 else -1, True
            bindings[:] = 0
            while depth >= 0:
                if stop[0]:
                    return count
                if depth == steps:
                    found = restricted and _has_earlier(
                        atom_slots,
                        atom_keys,
                        predicates,
                        terms,
                        need_ends,
                        needs,
                        schema,
                        first_literal,
                        changed,
                        bound,
                        row,
                    )
                    if restricted and not found and not in_needs:
                        found = _has_earlier(
                            atom_slots,
                            atom_keys,
                            predicates,
                            terms,
                            forbid_ends,
                            forbids,
                            schema,
                            first_literal,
                            changed,
                            bound,
                            row,
                        )
                    if not found and is_representative(ranks, signatures, bound[:steps]):
                        if count < len(rows):
                            rows[count, 0], rows[count, steps + 1 :] = schema, 0
                            for place in range(steps):
                                rows[count, place + 1] = bound[place]
                        count += 1
                        if count > most:
                            return count
                    depth -= 1
                    opened = False
                    continue
                step = begin + depth
                parameter, kind = parameters[step], kinds[step]
                if opened:
                    given_last[0] += 1
                    source[depth], following[depth], numbers[depth] = _NOTHING, value_ends[kind], given_last[0]
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
                if restricted and first_literal < 0 and parameter < parameters[begin] and is_object[value]:
                    continue  # found in an earlier order
                if not exact:
                    if given_numbers[depth, value] == numbers[depth]:
                        continue
                    given_numbers[depth, value] = numbers[depth]
                bound[parameter] = value
                if _breaks_canonical_order(ranks, signatures, bound, parameters, begin, depth, remaining_slots[step]):
                    continue
                holds = True
                for place in range(check_ends[step], check_ends[step + 1]):
                    check = checks[place]
                    if holds and not (exact and check == given_by):
                        holds = _holds(atom_slots, atom_keys, true, predicates, positive, terms, check, bound, row)
                for place in range(support_ends[step], support_ends[step + 1]):
                    if holds and supports[place, LITERAL] != given_by:
                        which = _list_of(slots, keys, places, terms, supports, place, bound, row)
                        holds = which >= 0 and lists[which, SIZE] > 0
                if holds and only_new and added[step]:
                    holds = False
                    for place in range(add_ends[schema], add_ends[schema + 1]):
                        if holds:
                            break
                        predicate = predicates[adds[place]]
                        write_atom(terms, adds[place], bound, row)
                        new = find_atom(atom_slots, atom_keys, predicate, row)
                        if new < 0:
                            new = number_of(atoms, predicate, row)
                            if new == FULL:
                                return FULL
                        if forms_of[new, 0] < 0:
                            learn_forms(forms, predicate, row, new)
                        for column in range(forms_of.shape[1]):
                            form = forms_of[new, column]
                            holds = holds or (form >= 0 and seen[form] != search)
                if holds:
                    depth += 1
                    opened = True
                    bindings[depth] += 1
                    if bindings[depth] > most_bindings:
                        return most + 1
    return count


@inlined
def _fix(
    atom_predicates: Ints,
    arguments: Ints2D,
    true: Words,
    predicates: Ints,
    positive: NDArray[np.bool_],
    terms: Ints2D,
    literal: int,
    atom: int,
    fixed: Ints,
) -> int:
    """Write the objects of a literal's parameters, in order, for which it is this atom, and return how many there are.

    -1 if it is not this atom, or has another truth value.
    """
    many = 0
    if atom_predicates[atom] != predicates[literal] or has(true, atom) != positive[literal]:
        many = -1
    for place in range(terms.shape[1] if many == 0 else 0):
        term, value = terms[literal, place], arguments[atom, place]
        if term == _NOTHING:
            break
        new = term >= 0
        for before in range(place):
            if term >= 0 and terms[literal, before] == term:
                new = False
                if arguments[atom, before] != value:
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
    atom_slots: Ints,
    atom_keys: Words,
    predicates: Ints,
    terms: Ints2D,
    ends: Ints,
    indices: Ints,
    schema: int,
    literal: int,
    changed: Ints,
    bound: Ints,
    row: Ints,
) -> bool:
    """Whether a precondition literal in a schema's list is a changed atom, before `literal` if this is in the list."""
    earlier = False
    for place in range(ends[schema], ends[schema + 1]):
        if earlier or indices[place] == literal:
            break
        write_atom(terms, indices[place], bound, row)
        earlier = is_in(changed, find_atom(atom_slots, atom_keys, predicates[indices[place]], row))
    return earlier


@compiled
def row_order(rows: Ints, objects: int) -> NDArray[np.int64]:
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
            key[place] += size * np.int64(rows[place, column])
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
        write_atoms(
            atoms.slots,
            atoms.keys,
            literals.predicates,
            literals.terms,
            lists.indptr,
            lists.indices,
            rows[place, 0],
            rows[place, 1:],
            numbers,
            row,
        )
        if new and not number_atoms(atoms, literals, lists, rows[place, 0], rows[place, 1:], numbers, row):
            return FULL, CSR(indptr, indices)
        if len(without.indptr) > 1:
            excluded = without.indices[without.indptr[place] : without.indptr[place + 1]]
            for which in range(len(numbers)):
                if is_in(excluded, numbers[which]):
                    numbers[which] = -1
    return 0, CSR(indptr, indices)
