"""The applicable instances of action schemas, found by a join over the true atoms, compiled.

Parameters are bound one after the other: each from the shortest list of true atoms that a literal of the precondition
leaves it, whatever else of the literal is bound, or from all objects of its types where these are fewer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, inlined
from sgp.planning.atom_table import FULL, HEAD, NEXT, SIZE, Atoms, number_of, slot_of_atom, slot_of_list
from sgp.planning.clock import Flag
from sgp.planning.novelty_forms import abstract_form, whole_form
from sgp.planning.operators import Ints, Lists, Words, has

EQUATION = -1  # the predicate of "="
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
    """Rows of numbers, one after the other: those of list i are `rows[first[i] : first[i + 1]]`."""

    first: Ints
    rows: Ints


class Schemas(NamedTuple):
    """Action schemas; those of one have a step for each parameter, in the order in which they are bound."""

    steps: Ints  # [s + 1], where those of each schema begin
    parameters: Ints  # [t], which one a step binds
    slack: Ints  # [t], how many of its types come before it and are bound behind it
    fits: NDArray[np.bool_]  # [t, n], which objects are of its types
    values: Lists  # [t], the same as lists
    sources: Rows  # [t], the positive literals in which it stands, by what is bound before (columns LITERAL to EXACT)
    supports: Rows  # [t], those of them that are not complete with it, by what is bound with it
    checks: Lists  # [t], literals that are complete with it
    first_checks: Lists  # [s], literals without parameters
    adds: Lists  # [s], literals
    deletes: Lists  # [s]
    added: NDArray[np.bool_]  # [t], whether all that is added is known from here on, and was not before
    literals: Literals
    widest: Ints  # [1], one more than the most parameters


class Forms(NamedTuple):
    """What stands for each atom in a search for novel states, and in which search each form was seen last."""

    numbers: Ints  # [c, w], -1 in the first place where it was not asked for yet, else behind the last one
    hashes: Words  # [c w]
    slots: Ints  # a hash table of them
    met: Ints  # [1]
    seen: Ints  # [c w]
    search: Ints  # [1], the number of the present search
    types: Ints  # [n]
    whole: int  # atoms with a smaller number stand for themselves


def constant_term(thing: int) -> int:
    """What stands for an object in a literal's terms."""
    return _CONSTANT - thing


def no_forms(atoms: Atoms, types: Ints, whole: int) -> Forms:
    """Of no atom it is known what stands for it."""
    room = atoms.arguments.size
    slots = 16
    while slots < 2 * room:
        slots *= 2
    return Forms(
        np.full(atoms.arguments.shape, _NOTHING, np.int32),
        np.empty(room, np.uint64),
        np.full(slots, _NOTHING, np.int32),
        np.zeros(1, np.int32),
        np.zeros(room, np.int32),
        np.zeros(1, np.int32),
        types,
        whole,
    )


@compiled
def _learn(forms: Forms, atoms: Atoms, atom: int) -> None:
    """Finds what stands for an atom: itself, or a form for each of its arguments."""
    arity = 0
    while arity < atoms.arguments.shape[1] and atoms.arguments[atom, arity] >= 0:
        arity += 1
    own = atoms.arguments[atom, :arity]
    whole = atom < forms.whole or arity == 0
    for kept in range(1 if whole else arity):
        form = whole_form(atom) if whole else abstract_form(atoms.predicates[atom], own, forms.types, kept)
        slot = np.int64(form & np.uint64(len(forms.slots) - 1))
        while forms.slots[slot] >= 0 and forms.hashes[forms.slots[slot]] != form:
            slot = (slot + 1) & (len(forms.slots) - 1)
        if forms.slots[slot] < 0:
            forms.slots[slot] = forms.met[0]
            forms.hashes[forms.met[0]] = form
            forms.met[0] += 1
        forms.numbers[atom, kept] = forms.slots[slot]


@inlined
def is_unseen(forms: Forms, atoms: Atoms, atom: int) -> bool:
    """Whether a form of an atom was not seen in the present search."""
    if forms.numbers[atom, 0] < 0:
        _learn(forms, atoms, atom)
    unseen = False
    for place in range(forms.numbers.shape[1]):
        form = forms.numbers[atom, place]
        unseen = unseen or (form >= 0 and forms.seen[form] != forms.search[0])
    return unseen


@inlined
def see(forms: Forms, atoms: Atoms, atom: int) -> None:
    """Notes the forms of an atom."""
    if forms.numbers[atom, 0] < 0:
        _learn(forms, atoms, atom)
    for place in range(forms.numbers.shape[1]):
        form = forms.numbers[atom, place]
        if form >= 0:
            forms.seen[form] = forms.search[0]


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
        atom = atoms.slots[slot_of_atom(atoms.slots, atoms.predicates, atoms.arguments, predicate, row)]
        true = atom >= 0 and has(atoms.true, atom)
    return bool(true == literals.positive[literal])


@compiled
def _all_hold(atoms: Atoms, literals: Literals, checks: Lists, which: int, bound: Ints, row: Ints) -> bool:
    """Whether all literals of a list hold."""
    for place in range(checks.first[which], checks.first[which + 1]):
        if not _holds(atoms, literals, checks.values[place], bound, row):
            return False
    return True


@inlined
def adds_unseen(atoms: Atoms, forms: Forms, schemas: Schemas, schema: int, bound: Ints, row: Ints) -> int:
    """Whether an instance adds an atom with a form that was not seen, 0 or 1; FULL where an atom has no room."""
    adds, literals, found = schemas.adds, schemas.literals, 0
    for literal in adds.values[adds.first[schema] : adds.first[schema + 1]]:
        write_atom(literals.terms, literal, bound, row)
        atom = number_of(atoms, literals.predicates[literal], row)
        if atom == FULL:
            found = FULL
            break
        if is_unseen(forms, atoms, atom):
            found = 1
            break
    return found


@compiled
def _hashed_list(
    slots: Ints,
    lists: Ints,
    arguments: Ints,
    places: NDArray[np.bool_],
    terms: Ints,
    literal: int,
    index: int,
    bound: Ints,
    row: Ints,
) -> int:
    """The list with the true atoms of a literal, by what an index of several places gives; -1 where there is none."""
    write_atom(terms, literal, bound, row)  # parameters that are not bound stand in places that are not given
    return int(slots[slot_of_list(slots, lists, arguments, places, index, row)])


@inlined
def _too_late(ranks: Ints, told_by: Words, thing: int, bound: Ints, parameters: Ints, slack: int) -> bool:
    """Whether objects like this one, which come before it, cannot all be used by parameters that come before its own.

    `parameters` are bound, the last one to it.
    """
    missing = ranks[thing] - slack
    if missing > 0:
        for place in range(len(parameters) - 1):
            other = bound[parameters[place]]
            if parameters[place] < parameters[-1] and told_by[other] == told_by[thing]:
                missing -= 1
                for before in range(place):  # one that is used twice counts once
                    if parameters[before] < parameters[-1] and bound[parameters[before]] == other:
                        missing += 1
                        break
    return bool(missing > 0)


@compiled
def _in_order(ranks: Ints, told_by: Words, bound: Ints, count: int) -> bool:
    """Whether the arguments take the members of each class in their order, the first one first."""
    for place in range(count):
        thing, used = bound[place], -1
        if ranks[thing] == 0:
            continue
        for before in range(place):
            if told_by[bound[before]] == told_by[thing]:
                used = max(used, ranks[bound[before]])
        if ranks[thing] > used + 1:
            return False
    return True


@compiled
def instances(
    atoms: Atoms, schemas: Schemas, ranks: Ints, forms: Forms, only_new: bool, rows: Ints, most: int, stop: Flag
) -> tuple[int, Ints]:
    """How many instances are applicable, and they [at least k, 1 + p] in order, each a schema and its arguments.

    Of those that differ in interchangeable objects alone one, where `ranks` [n] has the places of objects in their
    classes. With `only_new` those that add an atom with a form that was not seen. Gives up with `most` and one more.
    FULL instead of the number where an atom has no room. `rows` is room for instances, which may be replaced.

    Leaves the rest as it comes once `stop` [1] is true.
    """
    count = 0
    literals, told_by, fits, terms = schemas.literals, atoms.told_by, schemas.fits, schemas.literals.terms
    slots, lists, links, arguments = atoms.list_slots, atoms.lists, atoms.links, atoms.arguments
    places = atoms.indexes.places
    sources_first, sources = schemas.sources.first, schemas.sources.rows
    supports_first, supports = schemas.supports.first, schemas.supports.rows
    values_first, values = schemas.values.first, schemas.values.values
    checks_first, checks = schemas.checks.first, schemas.checks.values
    bound, row = np.zeros(schemas.widest[0], np.int32), np.empty(terms.shape[1], np.int32)
    # Of each step the source, -1 for none; which atom or object is next; and its own number, by which it knows the
    # objects that it was given.
    source, following, numbers = np.empty((3, schemas.widest[0]), np.int32)
    given, number = np.zeros((schemas.widest[0], len(ranks)), np.int32), 0
    for schema in range(len(schemas.steps) - 1):
        begin, steps = schemas.steps[schema], schemas.steps[schema + 1] - schemas.steps[schema]
        parameters, depth, opened = schemas.parameters[begin : begin + steps], 0, True
        if not _all_hold(atoms, literals, schemas.first_checks, schema, bound, row):
            continue
        while depth >= 0:
            if stop[0]:
                return count, rows
            if depth == steps:
                if _in_order(ranks, told_by, bound, steps):
                    if count == len(rows):
                        rows = taller_rows(rows)
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
                source[depth], following[depth], numbers[depth] = _NOTHING, values_first[step], number
                fewest = values_first[step + 1] - values_first[step]
                for place in range(sources_first[step], sources_first[step + 1]):
                    which, term = sources[place, FIRST], sources[place, TERM]
                    if term >= 0:
                        which += bound[term]
                    elif which < 0:
                        literal, index = sources[place, LITERAL], sources[place, INDEX]
                        which = _hashed_list(slots, lists, arguments, places, terms, literal, index, bound, row)
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
                    thing = arguments[atom, sources[here, PLACE]]
            else:
                atom = following[depth] if following[depth] < values_first[step + 1] else -1
                if atom >= 0:
                    following[depth] += 1
                    thing = values[atom]
            if atom < 0:
                depth -= 1
                continue
            if not fits[step, thing]:
                continue
            if not exact:
                if given[depth, thing] == numbers[depth]:
                    continue
                given[depth, thing] = numbers[depth]
            if _too_late(ranks, told_by, thing, bound, parameters[: depth + 1], schemas.slack[step]):
                continue
            bound[parameter] = thing
            holds = True
            for check in checks[checks_first[step] : checks_first[step + 1]]:
                holds = holds and ((exact and check == given_by) or _holds(atoms, literals, check, bound, row))
            for place in range(supports_first[step], supports_first[step + 1]):
                if holds and supports[place, LITERAL] != given_by:
                    which, term = supports[place, FIRST], supports[place, TERM]
                    if term >= 0:
                        which += bound[term]
                    elif which < 0:
                        literal, index = supports[place, LITERAL], supports[place, INDEX]
                        which = _hashed_list(slots, lists, arguments, places, terms, literal, index, bound, row)
                    holds = which >= 0 and lists[which, SIZE] > 0
            if holds and only_new and schemas.added[step]:
                unseen = adds_unseen(atoms, forms, schemas, schema, bound, row)
                if unseen == FULL:
                    return FULL, rows
                holds = unseen == 1
            if holds:
                depth += 1
                opened = True
    rows[:count] = rows[_order(rows[:count], len(ranks))]
    return count, rows


@compiled
def taller_rows(table: Ints) -> Ints:
    """A copy with room for twice as many rows."""
    grown = np.empty((2 * len(table), table.shape[1]), np.int32)
    grown[: len(table)] = table
    return grown


@compiled
def _order(rows: Ints, objects: int) -> NDArray[np.int64]:
    """The order of rows [k, p] of numbers, all but the first column below `objects`."""
    found = np.arange(len(rows))
    if len(rows) < 2:
        return found
    key, size = np.zeros(len(rows), np.int64), 1
    for column in range(rows.shape[1] - 1, -1, -1):
        if size > 2**62 // (objects + 1) or column == 0:  # sorted by what stands behind; the sort is stable
            found = found[np.argsort(key[found], kind="mergesort")]
            key[:], size = 0, 1
        for place in range(len(rows)):
            key[place] += size * rows[place, column]
        size *= objects + 1
    return found[np.argsort(key[found], kind="mergesort")]
