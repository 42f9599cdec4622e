"""Colour refinement node by node, for people to look at: slow and plain, with names for nodes and colours.

The kernels count the same colours (a test holds it); they do not keep which node has which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sgp.encoders.kernels.wl_histogram import UNSEEN
from sgp.encoders.wl_vocabulary import OBJECT_COLOUR, Vocabulary, predicate_colour
from sgp.planning.pddl import Atom
from sgp.planning.task import State, Task


@dataclass(frozen=True)
class ColouredGraph:
    """The instance learning graph of a state and its nodes' colours after every round.

    `kinds` are "object", "true", "goal, true" and "goal, open" ("not" stands before a negated goal). An edge is (atom,
    object, position of the argument from 1), nodes by their places. `colours[r][n]` is the column of the histogram
    that node n counts in after r rounds, -1 where training never met the colour. `names` tells what each colour here
    stands for, from the second round on by the numbers of the colours before.
    """

    nodes: tuple[str, ...]
    kinds: tuple[str, ...]
    edges: tuple[tuple[int, int, int], ...]
    colours: tuple[tuple[int, ...], ...]
    names: Mapping[int, str]


def coloured_graph(vocabulary: Vocabulary, task: Task, state: State) -> ColouredGraph:
    """The graph of a state, static atoms included, coloured as the vocabulary counts it."""
    objects = [each.name for each in task.objects]
    signs = {literal.atom: literal.positive for literal in task.goal}
    true = set(task.atoms(state))
    atoms = sorted(true) + sorted(set(signs) - true)
    kinds = ["object"] * len(objects) + [_kind(signs.get(atom), atom in true) for atom in atoms]
    first = [vocabulary.initial(OBJECT_COLOUR)] * len(objects)
    ordered = sorted(task.domain_text.predicates, key=lambda name: f"{name}/{task.domain_text.predicates[name]}")
    first += [vocabulary.initial(predicate_colour(ordered.index(a.predicate), signs.get(a), a in true)) for a in atoms]
    edges = tuple(_edges(objects, atoms, signs))
    colours = [tuple(first)]
    named: list[Atom | None] = [*([None] * len(objects)), *atoms]
    names = {colour: _first_name(kind, atom) for colour, kind, atom in zip(first, kinds, named, strict=True)}
    for level in range(1, vocabulary.iterations + 1):
        colours.append(_refined(vocabulary, level, colours[-1], edges, names))
    nodes = (*objects, *map(str, atoms))
    return ColouredGraph(nodes, tuple(kinds), edges, tuple(colours), names)


def _kind(sign: bool | None, true: bool) -> str:
    if sign is None:
        return "true"
    return f"{'goal' if sign else 'not goal'}, {'true' if true is sign else 'open'}"


def _edges(objects: list[str], atoms: list[Atom], signs: Mapping[Atom, bool]) -> Iterator[tuple[int, int, int]]:
    for number, atom in enumerate(atoms, start=len(objects)):
        if signs.get(atom) is not False:  # wlplan gives negated goals no edges
            for position, name in enumerate(atom.objects, start=1):
                yield number, objects.index(name), position


def _refined(
    vocabulary: Vocabulary,
    level: int,
    colours: tuple[int, ...],
    edges: tuple[tuple[int, int, int], ...],
    names: dict[int, str],
) -> tuple[int, ...]:
    """The colours after one more round, whose names are added."""
    known = {(own, tuple(sorted(members))): column for own, members, column in vocabulary.neighbourhoods(level)}
    around: list[Counter[tuple[int, int]]] = [Counter() for _ in colours]
    for atom, thing, position in edges:
        around[atom][position - 1, colours[thing]] += 1
        around[thing][position - 1, colours[atom]] += 1

    def called(colour: int) -> str:
        return names[colour] if level == 1 else f"colour {colour}"

    found = []
    for own, neighbours in zip(colours, around, strict=True):
        times = neighbours if vocabulary.multiset else Counter(set(neighbours))
        members = tuple(sorted((label, colour, count) for (label, colour), count in times.items()))
        column = known.get((own, members), UNSEEN)
        found.append(column)
        if column != UNSEEN:
            listed = "; ".join(
                f"{f'{count} x ' if count > 1 else ''}{called(colour)} at argument {label + 1}"
                for label, colour, count in members
            )
            names[column] = f"{called(own)} with [{listed or 'nothing around'}]"
    return tuple(found)


def _first_name(kind: str, atom: Atom | None) -> str:
    return kind if atom is None else f"{atom.predicate} ({kind})"
