"""The vocabulary of a WL encoder: its collection, wlplan's JSON, the hash table for the kernels, and descriptions."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.kernels.hashing import HashTable, make_table
from sgp.encoders.kernels.wl import UNSEEN, neighbour_hash, start_hash
from sgp.errors import StoreError
from sgp.planning.clock import with_limit_checks
from sgp.planning.states import State
from sgp.planning.task import Task

WLPLAN_VERSION = "2.1.0"  # of the format of the JSON

# wlplan's initial colours of the instance learning graph: 0 for every object (domain constants have no colour of
# their own), then five for each predicate in the order of their printed names.
OBJECT_COLOUR = 0
_COLOURS_A_PREDICATE = 5
_KINDS = {(True, True): 1, (True, False): 2, (False, True): 3, (False, False): 4}  # by sign in the goal and truth
_NO_GOAL = 5
_GOAL_WORDS = {
    (None, True): "",
    (True, True): "a goal that holds",
    (True, False): "an open goal",
    (False, True): "a goal not to be, and true",
    (False, False): "a goal not to be, and false",
}
_LISTED = 4  # maximal number of neighbours in a description


@dataclass(frozen=True)
class Vocabulary:
    """Colours by level of refinement. A colour is a column of the histogram."""

    text: str

    def __post_init__(self) -> None:
        version = self._data.get("package_version")
        if version != WLPLAN_VERSION:
            raise StoreError(
                f"the WL vocabulary was written by wlplan {version}, this package reads that of {WLPLAN_VERSION}; "
                "train the run again"
            )
        if self._data.get("feature_name") != "wl" or self._data.get("graph_representation") != "ilg":
            raise StoreError("the WL vocabulary is not of 'wl' features on the graph 'ilg'; train the run again")

    @cached_property
    def _data(self) -> dict[str, Any]:
        try:
            data = json.loads(self.text)
        except ValueError as error:
            raise StoreError(f"the WL vocabulary is no complete JSON ({error}); train the run again") from error
        if not isinstance(data, dict):
            raise StoreError("the WL vocabulary is no JSON object; train the run again")
        return data

    @property
    def iterations(self) -> int:
        """Rounds of refinement; pruning can leave fewer than configured."""
        return len(self._data["colour_hash"]) - 1

    @property
    def multiset(self) -> bool:
        """Whether a neighbourhood counts the occurrences of a colour."""
        return bool(self._data["multiset_hash"])

    @cached_property
    def dimension(self) -> int:
        """Number of colours, D."""
        return sum(map(len, self._data["colour_hash"]))

    def initial(self, code: int) -> int:
        """Return the column of one of wlplan's initial colours, or UNSEEN if training had no such colour."""
        return int(self._data["colour_hash"][0].get(str(code), UNSEEN))

    def neighbourhoods(self, level: int) -> Iterator[tuple[int, list[tuple[int, int, int]], int]]:
        """Yield the neighbourhoods of a level: own colour, (label, colour, count) of the neighbours, column."""
        for key, column in self._data["colour_hash"][level].items():
            *members, own = map(int, key.split("."))
            yield own, list(zip(members[::3], members[1::3], members[2::3], strict=True)), int(column)

    @cached_property
    def table(self) -> HashTable:
        """Hash table from the neighbourhoods of all levels to columns."""
        hashes, columns = list[int](), list[int]()
        for level in range(1, self.iterations + 1):
            for own, members, column in self.neighbourhoods(level):
                neighbours = sum(count * int(neighbour_hash(label, colour)) for label, colour, count in members)
                hashes.append((int(start_hash(level, own)) + neighbours) % 2**64)
                columns.append(column)
        if len(set(hashes)) < len(hashes):
            raise StoreError("two neighbourhoods of the WL vocabulary share a hash; report this vocabulary")
        return make_table(np.array(hashes, np.uint64), np.array(columns, np.int32))


def collect_vocabulary(gathered: Sequence[tuple[Task, Sequence[State]]], iterations: int, multiset: bool) -> Vocabulary:
    """Return the colours of the instance learning graphs of all states, numbered as by wlplan without pruning.

    Levels follow each other; colours of a level are in the order of their first nodes. The nodes of a state's graph are
    the objects by name, constants first, then the goal's positive and negated atoms, then the other true atoms.
    """
    text = gathered[0][0].domain_text
    initial, edges = array("q"), array("q")  # the nodes' initial colours; (node, neighbour, label) of the edges
    for task, states in gathered:
        _add_graphs(task, states, initial, edges)
    nodes, neighbours, labels = np.array(edges, np.int64).reshape(-1, 3).T
    numbers = dict[int, int]()
    colours = [numbers.setdefault(code, len(numbers)) for code in initial]
    levels = [{str(code): column for code, column in numbers.items()}]
    total = len(numbers)
    for _ in range(iterations):
        span = total * max((1, *text.predicates.values()))  # of numbers for pairs of a label and a colour
        members = nodes * span + labels * total + np.array(colours, np.int64)[neighbours]
        members = np.sort(members) if multiset else np.unique(members)
        first = np.searchsorted(members, np.arange(len(colours) + 1) * span)
        pairs = (members % span).astype(np.int64).tobytes()
        found = dict[tuple[int, bytes], int]()
        colours = [
            found.setdefault((own, pairs[8 * begin : 8 * end]), total + len(found))
            for own, (begin, end) in zip(colours, pairwise(first.tolist()), strict=True)
        ]
        levels.append({_key(own, np.frombuffer(around, np.int64), total): new for (own, around), new in found.items()})
        total += len(found)
    parameters = {name: len(schema.parameters) for name, schema in text.schemas.items()}
    data = {
        "colour_hash": levels,
        "colour_to_layer": [(column, place) for place, level in enumerate(levels) for column in level.values()],
        "domain": {
            "constant_objects": sorted(constant.name for constant in text.constants),
            "functions": [],
            "name": text.name,
            "predicates": [(name, text.predicates[name]) for name in predicate_places(text.predicates)],
            "schemata": [(name, parameters[name]) for name in predicate_places(parameters)],
        },
        "feature_name": "wl",
        "graph_representation": "ilg",
        "iterations": iterations,
        "multiset_hash": multiset,
        "package_version": WLPLAN_VERSION,
        "pruning": "none",
        "weights": [],
    }
    return Vocabulary(json.dumps(data, indent=4, sort_keys=True))


def _add_graphs(task: Task, states: Sequence[State], initial: array[int], edges: array[int]) -> None:
    """Append the initial colours of the nodes of each state's graph, and the edges in both directions."""
    constants = {constant.name for constant in task.domain_text.constants}
    names = sorted((item.name for item in task.objects), key=lambda name: (name not in constants, name))
    objects = {name: place for place, name in enumerate(names)}
    places = predicate_places(task.domain_text.predicates)
    signs = {literal.atom: literal.positive for literal in sorted(task.goal, key=lambda each: not each.positive)}
    for state in with_limit_checks(states):
        start, true = len(initial), dict.fromkeys(task.atoms(state))
        initial.extend([OBJECT_COLOUR] * len(objects))
        for atom in signs | true:
            sign, node = signs.get(atom), len(initial)
            initial.append(predicate_colour(places[atom.predicate], sign, atom in true))
            if sign is not False:  # wlplan gives negated goals no edges
                for label, name in enumerate(atom.objects):
                    edges.extend((node, start + objects[name], label, start + objects[name], node, label))


def _key(own: int, pairs: NDArray[np.int64], total: int) -> str:
    """Return wlplan's name of a neighbourhood: label, colour and count of neighbours, then the own colour."""
    members = ((*divmod(pair, total), count) for pair, count in Counter(pairs.tolist()).items())
    return ".".join(map(str, (*chain.from_iterable(members), own)))


def predicate_places(predicates: Mapping[str, int]) -> dict[str, int]:
    """Return the index of each predicate, given with arities, in wlplan's order (that of printed names)."""
    return {name: place for place, name in enumerate(sorted(predicates, key=lambda name: f"{name}/{predicates[name]}"))}


def predicate_colour(place: int, goal: bool | None, true: bool) -> int:
    """Return wlplan's initial colour of an atom; `goal` is its sign in the goal, None for other atoms."""
    return _COLOURS_A_PREDICATE * place + (_NO_GOAL if goal is None else _KINDS[goal, true])


class _Colour(NamedTuple):
    """Meaning of a colour: a predicate (None: an object), its role in the goal, and the neighbours."""

    predicate: str | None
    arity: int
    goal: str
    neighbours: tuple[tuple[int, int, int], ...] = ()  # position, colour, count


class ColourWords:
    """Descriptions of a vocabulary's colours. Predicates are given with their arities."""

    def __init__(self, vocabulary: Vocabulary, predicates: Mapping[str, int]):
        self._colours: dict[int, _Colour] = {vocabulary.initial(OBJECT_COLOUR): _Colour(None, 0, "")}
        for name, place in predicate_places(predicates).items():
            for (goal, true), words in _GOAL_WORDS.items():
                column = vocabulary.initial(predicate_colour(place, goal, true))
                self._colours[column] = _Colour(name, predicates[name], words)
        for level in range(1, vocabulary.iterations + 1):
            for own, members, column in vocabulary.neighbourhoods(level):
                if own in self._colours:  # pruning removes colours
                    self._colours[column] = self._colours[own]._replace(neighbours=tuple(members))

    def of(self, columns: Sequence[int]) -> list[str]:
        """Describe what the columns of an embedding count."""
        return [self._node(self._colours[column]) if column in self._colours else "a colour" for column in columns]

    def _node(self, colour: _Colour) -> str:
        if colour.predicate is None:
            return f"objects x with {self._neighbours(colour)}" if colour.neighbours else "objects"
        names = "xyzuvw"[: colour.arity] if colour.arity <= 6 else [f"x{place}" for place in range(colour.arity)]
        atom = ", ".join(filter(None, (f"atoms ({' '.join((colour.predicate, *names))})", colour.goal)))
        arguments = [
            f"{names[position]} with {self._neighbours(self._colours[column], names[position])}"
            for position, column, _ in sorted(colour.neighbours)
            if column in self._colours and self._colours[column].neighbours and position < colour.arity
        ]
        return "; ".join((atom, *arguments))

    def _neighbours(self, colour: _Colour, name: str = "x") -> str:
        """List the atoms around an object of some name, goals first."""
        members = [(position, self._colours[column], count) for position, column, count in colour.neighbours]
        members.sort(key=lambda member: (not member[1].goal, member[1].predicate or "", member[0]))
        words = []
        for position, atom, count in members:
            arguments = [name if place == position else "·" for place in range(atom.arity)]
            printed = f"({' '.join((atom.predicate or '', *arguments))})"
            words.append(f"{f'{count} of ' if count > 1 else ''}{printed}{f', {atom.goal}' if atom.goal else ''}")
        hidden = len(words) - _LISTED
        more = f", and {hidden} more {'kind' if hidden == 1 else 'kinds'} of atoms" if hidden > 0 else ""
        return (", ".join(words[:_LISTED]) or "nothing") + more


@dataclass(frozen=True)
class ColouredGraph:
    """The instance learning graph of a state with its nodes' colours after every round, for display.

    `kinds` are "object", "true", "goal, true", "goal, open" (prefix "not" for a negated goal). An edge is (atom,
    object, position from 1). `colours[r][n]` is the column of node n after r rounds, -1 if unseen in training; `names`
    describes them.
    """

    nodes: tuple[str, ...]
    kinds: tuple[str, ...]
    edges: tuple[tuple[int, int, int], ...]
    colours: tuple[tuple[int, ...], ...]
    names: Mapping[int, str]


def coloured_graph(vocabulary: Vocabulary, task: Task, state: State) -> ColouredGraph:
    """Return a state's graph, static atoms included, with the vocabulary's colours; slow, for display."""
    objects = [item.name for item in task.objects]
    signs = {literal.atom: literal.positive for literal in task.goal}
    true = set(task.atoms(state))
    atoms = sorted(true) + sorted(set(signs) - true)
    kinds = ["object"] * len(objects) + [_kind(signs.get(atom), atom in true) for atom in atoms]
    places = predicate_places(task.domain_text.predicates)
    first = [vocabulary.initial(OBJECT_COLOUR)] * len(objects)
    first += [
        vocabulary.initial(predicate_colour(places[atom.predicate], signs.get(atom), atom in true)) for atom in atoms
    ]
    edges = tuple(
        (number, objects.index(name), position)
        for number, atom in enumerate(atoms, start=len(objects))
        if signs.get(atom) is not False  # wlplan gives negated goals no edges
        for position, name in enumerate(atom.objects, start=1)
    )
    colours = [tuple(first)]
    names = {first[0]: "object"} if objects else {}
    for number, atom in enumerate(atoms, start=len(objects)):
        names[first[number]] = f"{atom.predicate} ({kinds[number]})"
    for level in range(1, vocabulary.iterations + 1):
        colours.append(_refined(vocabulary, level, colours[-1], edges, names))
    return ColouredGraph((*objects, *map(str, atoms)), tuple(kinds), edges, tuple(colours), names)


def _kind(sign: bool | None, true: bool) -> str:
    if sign is None:
        return "true"
    return f"{'goal' if sign else 'not goal'}, {'true' if true is sign else 'open'}"


def _refined(
    vocabulary: Vocabulary,
    level: int,
    colours: tuple[int, ...],
    edges: tuple[tuple[int, int, int], ...],
    names: dict[int, str],
) -> tuple[int, ...]:
    """Return the colours after one more round, and add their descriptions to `names`."""
    columns = {(own, tuple(sorted(members))): column for own, members, column in vocabulary.neighbourhoods(level)}
    around: list[Counter[tuple[int, int]]] = [Counter() for _ in colours]
    for atom, item, position in edges:
        around[atom][position - 1, colours[item]] += 1
        around[item][position - 1, colours[atom]] += 1

    def name(colour: int) -> str:
        return names[colour] if level == 1 else f"colour {colour}"

    refined = []
    for own, neighbours in zip(colours, around, strict=True):
        counts = neighbours if vocabulary.multiset else Counter(set(neighbours))
        members = tuple(sorted((label, colour, count) for (label, colour), count in counts.items()))
        column = columns.get((own, members), UNSEEN)
        refined.append(column)
        if column != UNSEEN:
            listed = "; ".join(
                f"{f'{count} x ' if count > 1 else ''}{name(colour)} at argument {label + 1}"
                for label, colour, count in members
            )
            names[column] = f"{name(own)} with [{listed or 'nothing around'}]"
    return tuple(refined)
