"""The marked transition embedding: features of the graph of a state, a candidate and the goal near the change.

An embedding of the pair (s, s') has three groups of features, each present (1) or absent (0):

- *colours*: set-aggregated Weisfeiler-Leman colours of the marked graph; at each level, those that differ from the
  node's colour without the change;
- *tokens*: the changed atoms and their objects, coloured in the graph of only these;
- *walks*: from every object of a changed atom over unchanged atoms: short open walks, and closed walks that end at such
  an object. A closed walk detects cycles, such as "the package's goal lies in this location's city", which colours do
  not. With `passed_atoms`, it includes the unary atoms of each object on it: "by an instrument that is calibrated".

Two numbers follow the features: log2 of the number of actions, and whether the candidate is a goal state.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from itertools import chain
from operator import or_
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.encoders.kernels.hashing import HashTable, make_table
from sgp.encoders.kernels.marked_features import measured_rows, transition_features
from sgp.encoders.kernels.marked_graph import EdgeGroups, MarkedLayout, Recolouring, StateGraph, state_graph
from sgp.encoders.kernels.marked_reduction import Interchangeable, argument_marks, reduced
from sgp.encoders.marked_words import SCALARS_IN_WORDS, TransitionWords, Walked
from sgp.encoders.relations import AtomNumbers, Changes
from sgp.errors import ConfigurationError, StoreError, check_fields
from sgp.files import whole_file
from sgp.planning.clock import check_limits, stop_flag, with_limit_checks
from sgp.planning.hash_table import Ints
from sgp.planning.pddl import Atom, DomainText
from sgp.planning.states import State
from sgp.planning.symmetry import signatures_of
from sgp.planning.task import Candidates, Successor, Task, TaskCache, parts, rows_as_bytes

_SCALARS = len(SCALARS_IN_WORDS)
_FEWEST_REDUCED = 100  # interchangeable objects from which the reduction of a graph takes less time than it saves
_DECISIONS_WHOLE = 100  # decisions without reduction after one that left out less than half of the objects
_AT_A_TIME = 8192  # candidates per batch: about 100 MB; shared parts are computed once per batch


Coloured: TypeAlias = tuple[StateGraph, Recolouring, EdgeGroups]


@dataclass(frozen=True)
class MarkedConfig:
    """Selection of features. Defaults were chosen on generated problems, never on a test split."""

    iterations: int = 2  # rounds of colour refinement
    open_atoms: int = 1  # maximal atoms of an open walk; 0: no open walks
    closed_atoms: int = 3  # maximal atoms of a closed walk; 0: no closed walks
    passed_atoms: bool = False  # whether walks include the unary atoms of the objects within
    lengths: bool = True  # whether the number of actions is a feature
    counted: bool = False  # whether features are counts instead of presences
    walk_degree: int = 16  # static predicates with more atoms on one training object are excluded from walks
    # Walks do not enter a static atom at an argument position whose maximal number of atoms on one object grows by more
    # than this factor, plus one, from the smallest quarter of the training problems to the largest; 0: no such limit.
    walk_growth: float = 0.0

    def __post_init__(self) -> None:
        most = {"iterations": 10, "open_atoms": 6, "closed_atoms": 6}
        check_fields(self, "marked", [], most, walk_degree=1, walk_growth=0, **dict.fromkeys(most, 0))


class Embedded(NamedTuple):
    """Sparse embeddings [b, D]: the sorted columns of each row i (n times for the value n), and two numbers [b, 2]."""

    first: NDArray[np.int64]  # [b + 1]
    columns: NDArray[np.int64]
    scalars: NDArray[np.float64]

    def measured(self, weights: NDArray[np.float64]) -> Measured:
        """Return products with a weight vector [D], norms and keys, as decoding requires."""
        products, squares, names = measured_rows(self.first, self.columns, self.scalars, weights)
        return Measured(products, squares, rows_as_bytes(names))

    def dense(self, dimension: int) -> NDArray[np.float64]:
        """Return the embeddings as a dense array [b, D]."""
        rows = np.zeros((len(self.scalars), dimension))
        np.add.at(rows, (np.repeat(np.arange(len(rows)), np.diff(self.first)), self.columns), 1)
        rows[:, -self.scalars.shape[1] :] = self.scalars
        return rows


class Measured(NamedTuple):
    """Products of b embeddings with a vector, squared norms, and keys, which are equal for equal embeddings."""

    products: NDArray[np.float64]  # [b]
    squared_norms: NDArray[np.float64]  # [b]
    keys: list[Hashable]


class MarkedTransitionEncoder:
    """Encoder of transitions by training features; `walked` has the argument positions where walks may enter."""

    def __init__(self, config: MarkedConfig, text: DomainText, hashes: NDArray[np.uint64], walked: Walked):
        self.config, self.domain_text, self.hashes, self.walked = config, text, hashes, walked
        self._vocabulary = _table(hashes)
        self._graphs: TaskCache[_Graph] = TaskCache()  # a cache

    @classmethod
    def fit(
        cls,
        config: MarkedConfig,
        transitions: Sequence[tuple[Task, State, Sequence[Successor]]],
        tasks: Sequence[Task] = (),
    ) -> tuple[MarkedTransitionEncoder, list[Embedded]]:
        """Collect and embed the features of training transitions; positions of walks are chosen over all `tasks`."""
        if not transitions:
            raise ConfigurationError("a transition embedding needs at least one training transition; there is none")
        tasks = tasks or list(dict.fromkeys(task for task, _, _ in transitions))
        walked = _walked(tasks, config)
        blank = cls(config, tasks[0].domain_text, np.empty(0, np.uint64), walked)
        features = [blank._features(*transition, blank._vocabulary) for transition in transitions]
        hashes, columns = np.unique(np.concatenate([found for _, found in features]), return_inverse=True)
        ends = np.cumsum([len(found) for _, found in features])
        embedded = [
            Embedded(first, known, _scalars(config, Candidates.of(task, state, choice)))
            for (task, state, choice), (first, _), known in zip(
                transitions, features, np.split(columns, ends[:-1]), strict=True
            )
        ]
        return cls(config, tasks[0].domain_text, hashes, walked), embedded

    @property
    def dimension(self) -> int:
        """Length D of an embedding: the number of training features plus two."""
        return len(self.hashes) + _SCALARS

    @property
    def class_size(self) -> int | None:
        """The size of a class of interchangeable objects from which more change no embedding of an action, or None."""
        if self.config.counted:
            return None
        touched = max((len(schema.parameters) for schema in self.domain_text.schemas.values()), default=0)
        return touched + _members(self.config, self.domain_text)

    def refuses(self, task: Task) -> str | None:
        """Return None: every transition has an embedding. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain_text)
        return None

    def embed(self, task: Task, state: State, choice: Sequence[Successor]) -> Embedded:
        """Return the embeddings of the transitions from a state to its candidates."""
        first, columns = self._features(task, state, choice, self._vocabulary)
        return Embedded(first, columns.astype(np.int64), _scalars(self.config, Candidates.of(task, state, choice)))

    def measure(self, task: Task, state: State, choice: Sequence[Successor], weights: NDArray[np.float64]) -> Measured:
        """Return `Embedded.measured` for a weight vector [D], computing embeddings in batches without storing them."""
        measured = [self.embed(task, state, part).measured(weights) for part in parts(choice, _AT_A_TIME)]
        products, squared_norms, keys = zip(*measured, strict=True)
        return Measured(np.concatenate(products), np.concatenate(squared_norms), list(chain.from_iterable(keys)))

    def in_words(self, task: Task, state: State, choice: Sequence[Successor], columns: Sequence[int]) -> list[str]:
        """Describe columns in words, each by the first transition that has the feature."""
        config, graph = self.config, self._graph(task)
        transitions = TransitionWords(config, task, state, graph.object_colours, graph.kind, self.walked)
        words: dict[int, str] = {}
        for successor in choice:
            words = transitions.of(successor.state) | words
        known = len(self.hashes)
        return [
            words[int(self.hashes[column])] if column < known else SCALARS_IN_WORDS[column - known]
            for column in columns
        ]

    def unseen(self, task: Task, state: State, choice: Sequence[Successor]) -> float:
        """Return the fraction of the transitions' features that are not training features."""
        _, found = self._features(task, state, choice, _table(self.hashes[:0]))
        return float(1 - np.isin(found, self.hashes).mean()) if len(found) else 0.0

    def save(self, path: Path) -> None:
        """Write the features as safetensors. Raises StoreError if writing fails."""
        with whole_file(path) as temporary:
            save_file({"hashes": self.hashes}, temporary)

    @classmethod
    def load(cls, path: Path, config: MarkedConfig, text: DomainText, walked: Walked) -> MarkedTransitionEncoder:
        """Read features that `save` wrote. Raises StoreError for a file without features."""
        try:
            return cls(config, text, load_file(path)["hashes"], walked)
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{path} holds no features of transitions; train the run again") from error

    def _features(
        self, task: Task, state: State, choice: Sequence[Successor], vocabulary: HashTable
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        graph, config = self._graph(task), self.config
        changes = graph.changes([state], [choice])
        few = None if config.counted else graph.reduced(_members(config, self.domain_text), changes)
        layout, atoms, first, changed = few or (graph.layout, changes.atoms, changes.first_change, changes.changed)

        def found(coloured: Coloured) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
            return transition_features(
                layout, *coloured, config.open_atoms, config.closed_atoms, config.passed_atoms, config.counted,
                atoms, first, changed, vocabulary, stop_flag(),
            )  # fmt: skip

        if few is not None:
            features = found(state_graph(layout, config.iterations, atoms, changed, True))
        else:
            coloured = graph.take_state_graph(config.iterations, atoms)
            features = found(coloured)
            if not len(features[0]):  # no space for the atoms of this state
                coloured = state_graph(layout, config.iterations, atoms, changed, False)
                features = found(coloured)
            graph.return_state_graph(coloured)
        check_limits()
        return features

    def _graph(self, task: Task) -> _Graph:
        return self._graphs.of(task, lambda: _Graph(task, self.walked))


def _members(config: MarkedConfig, text: DomainText) -> int:
    """Return how many untouched objects of a class one walk can involve, at least 1; see `marked_reduction`."""
    if max(text.predicates.values(), default=0) > 2:  # further arguments of the walk's atoms
        return max(1, config.open_atoms, config.closed_atoms)
    return max(1, (max(config.open_atoms, config.closed_atoms - 1) + 1) // 2)  # no two are neighbours on a walk


def _table(hashes: NDArray[np.uint64]) -> HashTable:
    """Return the hash table from features to columns."""
    return make_table(hashes, np.arange(len(hashes), dtype=np.int32))


def _scalars(config: MarkedConfig, choice: Candidates) -> NDArray[np.float64]:
    """Return each candidate's log2 of the number of actions (0 if disabled) and whether it is a goal state [b, 2]."""
    scalars = np.zeros((len(choice), _SCALARS))
    if config.lengths:
        scalars[:, 0] = np.log2(choice.lengths)
    scalars[:, 1] = choice.goals
    return scalars


def _walked(tasks: Sequence[Task], config: MarkedConfig) -> Walked:
    """Return the argument positions where walks enter: all of fluents, those of bounded degree of static predicates."""
    degrees = [_degrees(task) for task in sorted(tasks, key=lambda task: task.size)]
    quarter = -(-len(tasks) // 4)
    most, first, last = (
        reduce(or_, some, Counter[tuple[str, int]]()) for some in (degrees, degrees[:quarter], degrees[-quarter:])
    )
    crowded = {predicate for (predicate, _), degree in most.items() if degree > config.walk_degree}
    growth = config.walk_growth or math.inf
    grown = {entry for entry, degree in last.items() if entry in first and degree > growth * first[entry] + 1}
    return {
        name: [place for place in range(arity) if name not in crowded and (name, place) not in grown]
        for name, arity in tasks[0].domain_text.predicates.items()
    }


def _degrees(task: Task) -> Counter[tuple[str, int]]:
    """Return the maximal number of atoms on one object, for each argument position of static predicates."""
    counts = Counter(
        (atom.predicate, place, name) for atom in task.static_atoms for place, name in enumerate(atom.objects)
    )
    largest = Counter[tuple[str, int]]()
    for (predicate, place, _), count in counts.items():
        largest[predicate, place] = max(largest[predicate, place], count)
    return largest


class _Graph(AtomNumbers):
    """A task's objects and atoms as arrays for the kernel."""

    def __init__(self, task: Task, walked: Walked):
        super().__init__(task)
        self._walked = walked
        self._goal = {literal.atom: literal.positive for literal in task.goal}
        constants = {constant.name: constant.name for constant in task.domain_text.constants}
        unary: dict[str, list[str]] = {}
        for atom in task.static_atoms:
            if len(atom.objects) == 1:
                unary.setdefault(atom.objects[0], []).append(atom.predicate)
        colours = [
            _hash("object", *sorted(types), "", *sorted(unary.get(name, ())), "", constants.get(name, ""))
            for name, types in task.objects
        ]
        self._object_colour = np.array(colours, np.uint64)
        self._kind, self._walkable = array("Q"), array("b")
        self._kinds: dict[tuple[str, str], int] = {}  # a cache
        self._layout: MarkedLayout | None = None
        self.interchangeable: Interchangeable | None = None
        """The arrays of `marked_reduction` for the present layout; None for few interchangeable objects."""
        self._decisions_whole = 0  # next decisions without reduction
        self._state_graphs: list[Coloured] = []  # that no thread uses
        self._marked = 0  # number of atoms with marks
        if len(task.objects) >= _FEWEST_REDUCED and (found := task.symmetric_objects)[0].sum() >= _FEWEST_REDUCED:
            symmetric, kinds = found
            self.interchangeable = Interchangeable(symmetric, signatures_of(kinds), np.empty(0, np.uint64))
        static = [self.number(atom) for atom in with_limit_checks(task.static_atoms) if len(atom.objects) > 1]
        self._static = np.array(static, np.int32)
        self._goals = np.array([self.number(atom) for atom in self._goal], np.int32)

    @property
    def layout(self) -> MarkedLayout:
        """The arrays of all atoms numbered so far."""
        if self._layout is None:
            self._layout = MarkedLayout(
                object_colour=self._object_colour,
                static_atoms=self._static,
                goal_atoms=self._goals,
                first_argument=np.array(self.first_argument, np.int32),
                arguments=np.array(self.arguments, np.int32),
                kind=np.array(self._kind, np.uint64),
                walkable=np.array(self._walkable, np.bool_),
            )
            if self.interchangeable is not None:
                symmetric, kinds, marks = self.interchangeable
                new = argument_marks(self._layout, symmetric, self._marked)
                self.interchangeable = Interchangeable(symmetric, kinds, np.concatenate([marks, new]))
                self._marked = len(self._kind)
        return self._layout

    def reduced(self, members: int, changes: Changes) -> tuple[MarkedLayout, Ints, NDArray[np.int64], Ints] | None:
        """Return a reduced graph, its state, and the changes of candidates; None if the whole graph takes less time."""
        layout = self.layout
        if self.interchangeable is None:
            return None
        if self._decisions_whole:
            self._decisions_whole -= 1
            return None
        few = reduced(layout, self.interchangeable, members, changes.atoms, changes.first_change, changes.changed)
        if 2 * len(few[0].object_colour) > len(layout.object_colour):
            self._decisions_whole = _DECISIONS_WHOLE
        return few

    def take_state_graph(self, iterations: int, atoms: Ints) -> Coloured:
        """Return the coloured graph of a state before, or one of the state with these true fluents.

        Another thread takes another one. After an exception it must not be used again, so that it is lost then.
        """
        with suppress(IndexError):
            coloured = self._state_graphs.pop()
            if len(self.layout.kind) <= len(coloured[0].holds):
                return coloured
        return state_graph(self.layout, iterations, atoms, np.empty(0, np.int32), False)

    def return_state_graph(self, coloured: Coloured) -> None:
        """Keep a graph for the next state."""
        self._state_graphs.append(coloured)

    @property
    def object_colours(self) -> dict[str, int]:
        """Initial colours of the objects by name."""
        return dict(zip(self.objects, self._object_colour.tolist(), strict=True))

    def kind(self, atom: Atom) -> int:
        """Return the hash of an atom's predicate and its sign in the goal."""
        key = atom.predicate, str(self._goal.get(atom))
        known = self._kinds.get(key)
        if known is None:
            known = self._kinds[key] = _hash("atom", *key)
        return known

    def describe(self, atom: Atom) -> Sequence[str]:
        """Add a new atom's kind, and the positions where walks enter it, to the layout."""
        self._kind.append(self.kind(atom))
        entered = self._walked.get(atom.predicate, ())  # a goal's "=" is not a predicate of the domain
        self._walkable.extend([place in entered for place in range(len(atom.objects))])
        self._layout = None
        return atom.objects


def _hash(*words: str) -> int:
    return int.from_bytes(blake2b("\0".join(words).encode(), digest_size=8).digest(), "little")
