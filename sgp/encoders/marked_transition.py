"""The marked transition embedding: what is present in the graph of a state, a candidate and the goal, near the change.

An embedding of the pair (s, s'), in three parts, all of features that are present (1) or not (0):

- *colours*: set-aggregated Weisfeiler-Leman colours of the marked graph, at each level those that differ from the
  colour that the node would have without the change;
- *tokens*: the changed atoms and their objects, coloured on the graph of these alone;
- *walks*: from every changed object over unchanged atoms, open ones of a few atoms and closed ones that end on a
  changed object. A closed walk sees cycles, such as "the package's goal lies in this location's city", which colours
  do not, and where it is asked to what holds of each object within it alone: "by an instrument that is calibrated".

Two numbers stand behind them: log2 of the number of actions, and whether the candidate is a goal.
"""

from __future__ import annotations

import math
import weakref
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.encoders.fluent_numbers import Change, FluentNumbers
from sgp.encoders.kernels.marked_features import transition_features
from sgp.encoders.kernels.marked_graph import MarkedLayout
from sgp.encoders.kernels.marked_sets import Vocabulary, make_vocabulary
from sgp.encoders.kernels.sparse_rows import measured_rows
from sgp.encoders.marked_words import SCALARS_IN_WORDS, Depths, TransitionWords, Walked
from sgp.errors import ConfigurationError, StoreError
from sgp.files import whole_file
from sgp.planning.candidates import goals, lengths, parts, rows_as_bytes
from sgp.planning.clock import look, looking, stop
from sgp.planning.pddl import Atom, DomainText
from sgp.planning.task import State, Successor, Task

_SCALARS = len(SCALARS_IN_WORDS)
_AT_A_TIME = 8192  # candidates that are embedded together: some 100 MB, and what all share is computed once


@dataclass(frozen=True)
class MarkedConfig:
    """Which features are computed. Chosen on generated problems, never on a test split.

    Raises ConfigurationError for a setting out of range.
    """

    iterations: int = 2  # rounds of colour refinement
    open_atoms: int = 1  # most atoms of an open walk; 0: none
    closed_atoms: int = 3  # most atoms of a closed walk; 0: none
    passed_atoms: bool = False  # objects within a walk show the atoms of them alone
    lengths: bool = True  # the number of actions is told
    counted: bool = False  # how often a feature occurs, instead of whether it does
    walk_degree: int = 16  # a static predicate with more atoms on one object in training stays out of the walks
    # Nor do walks enter a static atom at a place where the most atoms on one object grow by more than this factor, and
    # one, from the smallest quarter of the training problems to the largest; 0: whatever they do.
    walk_growth: float = 0.0

    def __post_init__(self) -> None:
        for name, most in (("iterations", 10), ("open_atoms", 6), ("closed_atoms", 6)):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigurationError(f"marked {name} is {getattr(self, name)}; expected 0 to {most}")
        if self.walk_degree < 1:
            raise ConfigurationError(f"marked walk_degree is {self.walk_degree}; expected at least 1")
        if not 0 <= self.walk_growth < math.inf:
            raise ConfigurationError(f"marked walk_growth is {self.walk_growth}; expected a number from 0")


class Embedded(NamedTuple):
    """Embeddings [b, D] of transitions, sparse: the columns of row i, ascending, and the row's two numbers [b, 2].

    A column that stands n times in a row has the value n there.
    """

    first: NDArray[np.int64]  # [b + 1]
    columns: NDArray[np.int64]
    scalars: NDArray[np.float64]

    def measured(self, weights: NDArray[np.float64]) -> Measured:
        """What decoding asks, with a vector [D]."""
        products, squares, names = measured_rows(self.first, self.columns, self.scalars, weights)
        return Measured(products, squares, rows_as_bytes(names))

    def dense(self, dimension: int) -> NDArray[np.float64]:
        """The rows [b, D] with their zeros."""
        rows = np.zeros((len(self.scalars), dimension))
        np.add.at(rows, (np.repeat(np.arange(len(rows)), np.diff(self.first)), self.columns), 1)
        rows[:, -self.scalars.shape[1] :] = self.scalars
        return rows


class Measured(NamedTuple):
    """Of b embeddings the products with a vector, the squared norms, and a key each: equal where they are equal."""

    products: NDArray[np.float64]  # [b]
    squared_norms: NDArray[np.float64]  # [b]
    keys: list[Hashable]


class MarkedTransitionEncoder:
    """Embeds transitions with the features of training; others are dropped. `walked` says where walks enter atoms."""

    def __init__(self, config: MarkedConfig, text: DomainText, hashes: NDArray[np.uint64], walked: Walked):
        self.config, self.domain_text, self.hashes, self.walked = config, text, hashes, walked
        self._vocabulary = make_vocabulary(hashes)
        self._graphs: weakref.WeakKeyDictionary[Task, _Graph] = weakref.WeakKeyDictionary()  # a memo

    @classmethod
    def fit(
        cls,
        config: MarkedConfig,
        transitions: Sequence[tuple[Task, State, Sequence[Successor]]],
        tasks: Sequence[Task] = (),
    ) -> tuple[MarkedTransitionEncoder, list[Embedded]]:
        """Collects the features of the transitions from training states to their candidates, and embeds them.

        Where walks enter is decided over all `tasks`, by default those of the transitions. Raises ConfigurationError
        where there are no transitions.
        """
        if not transitions:
            raise ConfigurationError("a transition embedding needs at least one training transition; there is none")
        tasks = tasks or list(dict.fromkeys(task for task, _, _ in transitions))
        walked = _walked(tasks, config)
        blank = cls(config, tasks[0].domain_text, np.empty(0, np.uint64), walked)
        features = [blank._features(*transition, blank._vocabulary) for transition in transitions]
        hashes, columns = np.unique(np.concatenate([found for _, found in features]), return_inverse=True)
        ends = np.cumsum([len(found) for _, found in features])
        embedded = [
            Embedded(first, known, _scalars(config, task, choice))
            for (task, _, choice), (first, _), known in zip(
                transitions, features, np.split(columns, ends[:-1]), strict=True
            )
        ]
        return cls(config, tasks[0].domain_text, hashes, walked), embedded

    @property
    def dimension(self) -> int:
        """D: the features of training and the two numbers."""
        return len(self.hashes) + _SCALARS

    def refuses(self, task: Task) -> str | None:
        """Never: every transition has an embedding. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain_text)
        return None

    def embed(self, task: Task, state: State, choice: Sequence[Successor]) -> Embedded:
        """The embeddings of the transitions from a state to its candidates."""
        first, columns = self._features(task, state, choice, self._vocabulary)
        return Embedded(first, columns.astype(np.int64), _scalars(self.config, task, choice))

    def measure(self, task: Task, state: State, choice: Sequence[Successor], weights: NDArray[np.float64]) -> Measured:
        """What decoding asks of the embeddings, with a vector [D]; they are made for some at a time and not kept."""
        measured = [self.embed(task, state, part).measured(weights) for part in parts(choice, _AT_A_TIME)]
        return measured[0] if len(measured) == 1 else Measured(*map(_joined, zip(*measured, strict=True)))

    def in_words(self, task: Task, state: State, choice: Sequence[Successor], columns: Sequence[int]) -> list[str]:
        """What some columns stand for, told of the first of the transitions that has the feature."""
        config, graph = self.config, self._graph(task)
        depths = Depths(config.iterations, config.open_atoms, config.closed_atoms, config.passed_atoms)
        transitions = TransitionWords(depths, task, state, graph.object_colours, graph.kind, self.walked)
        said: dict[int, str] = {}
        for successor in choice:
            said = transitions.of(successor.state) | said
        known = len(self.hashes)
        return [
            said[int(self.hashes[column])] if column < known else SCALARS_IN_WORDS[column - known] for column in columns
        ]

    def unseen(self, task: Task, state: State, choice: Sequence[Successor]) -> float:
        """The share of the transitions' features that training never saw."""
        _, found = self._features(task, state, choice, make_vocabulary(self.hashes[:0]))
        return float(1 - np.isin(found, self.hashes).mean()) if len(found) else 0.0

    def save(self, path: Path) -> None:
        """Writes the features as safetensors. Raises StoreError where they cannot be written."""
        with whole_file(path) as temporary:
            save_file({"hashes": self.hashes}, temporary)

    @classmethod
    def load(cls, path: Path, config: MarkedConfig, text: DomainText, walked: Walked) -> MarkedTransitionEncoder:
        """Reads features that `save` wrote. Raises StoreError for a file that holds none."""
        try:
            return cls(config, text, load_file(path)["hashes"], walked)
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{path} holds no features of transitions; train the run again") from error

    def _features(
        self, task: Task, state: State, choice: Sequence[Successor], vocabulary: Vocabulary
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        graph = self._graph(task)
        found, config = graph.change(state, choice), self.config
        features = transition_features(
            graph.layout,
            config.iterations,
            config.open_atoms,
            config.closed_atoms,
            config.passed_atoms,
            config.counted,
            found.atoms,
            found.first,
            found.changed,
            vocabulary,
            stop(),
        )
        look()
        return features

    def _graph(self, task: Task) -> _Graph:
        graph = self._graphs.get(task)
        if graph is None:
            graph = self._graphs[task] = _Graph(task, self.walked)
        return graph


def _joined(pieces: Sequence[Any]) -> Any:
    """Arrays, or lists, one after the other."""
    return np.concatenate(pieces) if isinstance(pieces[0], np.ndarray) else list(chain.from_iterable(pieces))


def _scalars(config: MarkedConfig, task: Task, choice: Sequence[Successor]) -> NDArray[np.float64]:
    """Of each candidate log2 of the number of actions, 0 where it is not told, and whether it is a goal [b, 2]."""
    scalars = np.zeros((len(choice), _SCALARS))
    if config.lengths:
        scalars[:, 0] = np.log2(lengths(choice))
    scalars[:, 1] = goals(task, choice)
    return scalars


def _walked(tasks: Sequence[Task], config: MarkedConfig) -> Walked:
    """Where walks enter atoms: at all places of fluents, and of static predicates of a degree that stays small."""
    degrees = [_degrees(task) for task in sorted(tasks, key=lambda task: task.size)]
    quarter = -(-len(tasks) // 4)
    most, first, last = (_largest(some) for some in (degrees, degrees[:quarter], degrees[-quarter:]))
    crowded = {predicate for (predicate, _), degree in most.items() if degree > config.walk_degree}
    growth = config.walk_growth or math.inf
    grown = {entry for entry, degree in last.items() if entry in first and degree > growth * first[entry] + 1}
    return {
        name: [place for place in range(arity) if name not in crowded and (name, place) not in grown]
        for name, arity in tasks[0].domain_text.predicates.items()
    }


def _degrees(task: Task) -> dict[tuple[str, int], int]:
    """Of each static predicate's places the most atoms that one object has there."""
    counts = Counter(
        (atom.predicate, place, name) for atom in task.static_atoms for place, name in enumerate(atom.objects)
    )
    return _largest({(predicate, place): count} for (predicate, place, _), count in counts.items())


def _largest(found: Iterable[Mapping[tuple[str, int], int]]) -> dict[tuple[str, int], int]:
    """The largest number that stands beside each predicate's place."""
    largest: dict[tuple[str, int], int] = {}
    for place, number in chain.from_iterable(each.items() for each in found):
        largest[place] = max(largest.get(place, 0), number)
    return largest


class _Graph:
    """Numbers a task's objects and atoms, atoms as they are met, and lays them out for the kernel."""

    def __init__(self, task: Task, walked: Walked):
        self._fluents = FluentNumbers(task)
        self._walked = walked
        self._objects = {thing.name: place for place, thing in enumerate(task.objects)}
        self._goal = {literal.atom: literal.positive for literal in task.goal}
        constants = {thing.name for thing in task.domain_text.constants}
        unary: dict[str, list[str]] = {}
        for atom in task.static_atoms:
            if len(atom.objects) == 1:
                unary.setdefault(atom.objects[0], []).append(atom.predicate)
        self._object_colour = [
            _hash(
                "object",
                *sorted(thing.types),
                "",
                *sorted(unary.get(thing.name, ())),
                "",
                thing.name if thing.name in constants else "",
            )
            for thing in task.objects
        ]
        self._numbers: dict[Atom, int] = {}
        # Typed, so that what grows over a rollout is copied fast.
        self._first, self._arguments = array("i", [0]), array("i")
        self._kind, self._walkable = array("Q"), array("b")
        self._kinds: dict[tuple[str, str], int] = {}  # a memo
        self._static = [self._number(atom) for atom in looking(task.static_atoms) if len(atom.objects) > 1]
        self._goals = [self._number(atom) for atom in self._goal]
        self._layout: MarkedLayout | None = None

    @property
    def layout(self) -> MarkedLayout:
        """The arrays of all atoms met so far."""
        if self._layout is None:
            self._layout = MarkedLayout(
                object_colour=np.array(self._object_colour, np.uint64),
                static_atoms=np.array(self._static, np.int32),
                goal_atoms=np.array(self._goals, np.int32),
                first_argument=np.array(self._first, np.int32),
                arguments=np.array(self._arguments, np.int32),
                kind=np.array(self._kind, np.uint64),
                walkable=np.array(self._walkable, np.bool_),
            )
        return self._layout

    @property
    def object_colours(self) -> dict[str, int]:
        """Every object's first colour."""
        return dict(zip(self._objects, self._object_colour, strict=True))

    def kind(self, atom: Atom) -> int:
        """The hash of an atom's predicate and its place in the goal."""
        key = atom.predicate, str(self._goal.get(atom))
        known = self._kinds.get(key)
        if known is None:
            known = self._kinds[key] = _hash("atom", *key)
        return known

    def change(self, state: State, choice: Sequence[Successor]) -> Change:
        """The fluent atoms true in a state, and those in which its candidates differ."""
        return self._fluents.change(state, choice, self._number)

    def _number(self, atom: Atom) -> int:
        known = self._numbers.get(atom)
        if known is None:
            known = self._numbers[atom] = len(self._numbers)
            self._kind.append(self.kind(atom))
            entered = self._walked.get(atom.predicate, ())  # "=" of a goal is no predicate of the domain
            self._walkable.extend([place in entered for place in range(len(atom.objects))])
            self._arguments.extend([self._objects[name] for name in atom.objects])
            self._first.append(len(self._arguments))
            self._layout = None
        return known


def _hash(*words: str) -> int:
    return int.from_bytes(blake2b("\0".join(words).encode(), digest_size=8).digest(), "little")
