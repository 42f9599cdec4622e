"""Weisfeiler-Leman features of states (state-centric, appendix E), equal to those of wlplan."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.kernels.wl import ABSENT, Colouring, GraphLayout, candidate_histograms, start_colouring
from sgp.encoders.relations import AtomNumbers, Changes
from sgp.encoders.wl_vocabulary import (
    OBJECT_COLOUR,
    WLPLAN_VERSION,
    ColourWords,
    Vocabulary,
    collect_vocabulary,
    predicate_colour,
    predicate_places,
)
from sgp.errors import ConfigurationError, MissingLibrary, StoreError, check_fields
from sgp.files import write_text
from sgp.planning import pddl
from sgp.planning.clock import check_limits, stop_flag, with_limit_checks
from sgp.planning.native import native_output_silenced
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, TaskCache

Hash = Literal["multiset", "set"]
Pruning = Literal["none", "a-m", "i-g", "i-m", "i-f", "i-mf"]


@dataclass(frozen=True)
class WLConfig:
    """Parameters of colour refinement and collection. Defaults: state-centric, appendix E.4."""

    iterations: int = 2  # k, rounds of colour refinement
    hash: Hash = "multiset"  # "multiset": neighbourhoods count the occurrences of a colour
    pruning: Pruning = "none"  # removal of duplicate features, by wlplan

    def __post_init__(self) -> None:
        check_fields(self, "WL", [], {"iterations": 10}, iterations=0)


class InstanceGraph(AtomNumbers):
    """The instance learning graph of a task (Chen, Trevizan and Thiebaux 2024), as arrays for the kernels."""

    def __init__(self, task: Task, vocabulary: Vocabulary):
        super().__init__(task)
        self._vocabulary = vocabulary
        self._predicates = predicate_places(task.domain_text.predicates)
        self._max_arity = max(task.domain_text.predicates.values(), default=0)
        self._object_colour = [vocabulary.initial(OBJECT_COLOUR)] * task.size
        self._goal_sign = {literal.atom: literal.positive for literal in task.goal}
        self._true, self._false = list[int](), list[int]()
        self._static = [self.number(atom) for atom in with_limit_checks(task.static_atoms)]
        self._goal = [self.number(atom) for atom in self._goal_sign]
        self.goal_atoms = np.array([self.number(atom) for atom in dict.fromkeys(task.goal_atoms)], np.int32)
        if task.model is not None:
            for atom in with_limit_checks(task.model.fluents):  # later atoms would invalidate the caches
                self.number(atom)
        self._layout: GraphLayout | None = None
        self._colouring: Colouring | None = None

    @property
    def layout(self) -> GraphLayout:
        """The arrays of all atoms numbered so far."""
        if self._layout is None:
            parts = self._object_colour, self._static, self._goal, self.first_argument, self.arguments
            self._layout = GraphLayout(*(np.array(part, np.int32) for part in (*parts, self._true, self._false)))
        return self._layout

    def start_colouring(self, with_static: bool) -> Colouring:
        """Return a colouring of the graph in which no fluent atom is true."""
        vocabulary = self._vocabulary
        known = vocabulary.table, vocabulary.iterations, vocabulary.multiset
        return start_colouring(self.layout, *known, self._max_arity, with_static, vocabulary.dimension)

    def colouring(self, with_static: bool) -> Colouring:
        """Return the cached colouring, of any state, which kernels move from state to state."""
        if self._colouring is None:
            self._colouring = self.start_colouring(with_static)
        return self._colouring

    def count_nodes(self, first: NDArray[np.int64], atoms: NDArray[np.int32], with_static: bool) -> NDArray[np.int64]:
        """Count the nodes [b] of the states' graphs: objects, true atoms, and goal atoms that are not true."""
        static = self._static if with_static else []
        open_goals = [
            len(set(self._goal) - set(static) - set(atoms[start:end].tolist())) for start, end in pairwise(first)
        ]
        return np.asarray(len(self._object_colour) + len(static) + np.diff(first) + open_goals)

    def describe(self, atom: pddl.Atom) -> Sequence[str]:
        """Add a new atom's initial colours to the layout; wlplan gives negated goals no edges."""
        place, sign = self._predicates[atom.predicate], self._goal_sign.get(atom)
        true, false = (self._vocabulary.initial(predicate_colour(place, sign, holds)) for holds in (True, False))
        self._true.append(true)
        self._false.append(ABSENT if sign is None else false)
        self._layout = self._colouring = None
        return () if sign is False else atom.objects


class WLEncoder:
    """Encoder of states as histograms of WL colours of training states; the goal is a state without static atoms."""

    def __init__(self, vocabulary: Vocabulary, domain_text: pddl.DomainText, static: bool = True):
        self.vocabulary, self.domain_text = vocabulary, domain_text
        self.static = static  # whether states include static atoms
        # A cache of the tasks' graphs: clearing it changes only the time.
        self._graphs: TaskCache[InstanceGraph] = TaskCache()

    @classmethod
    def fit(cls, config: WLConfig, states: Iterable[tuple[Task, Sequence[State]]]) -> WLEncoder:
        """Collect the vocabulary from states of training tasks of one domain; pruning needs wlplan."""
        gathered = list(states)
        if not gathered:
            raise ConfigurationError("a WL vocabulary needs at least one training task; there is none")
        vocabulary = (
            collect_vocabulary(gathered, config.iterations, config.hash == "multiset")
            if config.pruning == "none"
            else collect_with_wlplan(config, gathered)
        )
        return cls(vocabulary, gathered[0][0].domain_text)

    def without_static(self) -> WLEncoder:
        """Return the same encoder for states without static atoms, as the published implementation uses in decoding."""
        return WLEncoder(self.vocabulary, self.domain_text, static=False)

    @property
    def dimension(self) -> int:
        """Length D of an embedding, the number of colours."""
        return self.vocabulary.dimension

    def refuses(self, task: Task) -> str | None:
        """Return None: every state of the domain has an embedding. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain_text)
        return None

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.float32]:
        """Return the histograms [n, D] of states of one task."""
        graph = self._graph(task)
        first, atoms = graph.of(states)
        return self._histograms(graph, graph.colouring(self.static), _unchanged(first, atoms))

    def embed_candidates(
        self, task: Task, states: Sequence[State], choices: Sequence[Sequence[Successor]]
    ) -> NDArray[np.float32]:
        """Return the histograms [n, D] of all candidates, ordered by state, computed incrementally from the state's."""
        graph = self._graph(task)
        changes = graph.changes(states, choices)
        return self._histograms(graph, graph.colouring(self.static), changes)

    def embed_goal(self, task: Task) -> NDArray[np.float32]:
        """Return the goal's histogram [D]."""
        graph = self._graph(task)
        goal = _unchanged(np.array([0, len(graph.goal_atoms)], np.int64), graph.goal_atoms)
        return self._histograms(graph, graph.start_colouring(with_static=False), goal).reshape(self.dimension)

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """Describe the neighbourhoods that the columns count."""
        return self._words.of(columns)

    @cached_property
    def _words(self) -> ColourWords:
        return ColourWords(self.vocabulary, dict(self.domain_text.predicates))

    def unseen(self, task: Task, states: Sequence[State]) -> NDArray[np.float64]:
        """Return the fraction [n] of each state's colours, with multiplicity, that the vocabulary lacks."""
        graph = self._graph(task)
        first, atoms = graph.of(states)
        seen = self.embed(task, states).sum(axis=1)
        colours = graph.count_nodes(first, atoms, self.static) * (self.vocabulary.iterations + 1)
        return np.asarray(1.0 - seen / np.maximum(colours, 1))

    def save(self, path: Path) -> None:
        """Write the vocabulary as wlplan's JSON. Raises StoreError if writing fails."""
        write_text(path, self.vocabulary.text)

    @classmethod
    def load(cls, path: Path, domain_text: pddl.DomainText) -> WLEncoder:
        """Read a vocabulary; raises StoreError for a damaged file or one of another version of wlplan."""
        return cls(Vocabulary(path.read_text(encoding="utf-8")), domain_text)

    def _graph(self, task: Task) -> InstanceGraph:
        return self._graphs.of(task, lambda: InstanceGraph(task, self.vocabulary))

    def _histograms(self, graph: InstanceGraph, colouring: Colouring, changes: Changes) -> NDArray[np.float32]:
        vocabulary = self.vocabulary
        rows = np.empty((len(changes.first_change) - 1, self.dimension), np.float32)
        candidate_histograms(
            graph.layout, vocabulary.table, vocabulary.multiset, colouring, *changes, rows, stop_flag()
        )
        check_limits()
        return rows


@dataclass(frozen=True)
class WL:
    """Factory of `WLEncoder` objects with one configuration."""

    config: WLConfig = field(default_factory=WLConfig)
    key: str = "wl"
    title: str = "Weisfeiler-Leman features"
    libraries: Sequence[str] = ()
    invariant: bool = True  # colours do not depend on names

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> WLEncoder:
        """Fit an encoder to these states; see `WLEncoder.fit`."""
        return WLEncoder.fit(self.config, states)

    def save(self, encoder: WLEncoder, path: Path) -> None:
        """Write the vocabulary. Raises StoreError if writing fails."""
        encoder.save(path)

    def load(self, path: Path, domain_text: pddl.DomainText, largest: int) -> WLEncoder:
        """Read the vocabulary. Raises StoreError for a file that is damaged or of another version of wlplan."""
        return WLEncoder.load(path, domain_text)


def _unchanged(first: NDArray[np.int64], atoms: NDArray[np.int32]) -> Changes:
    """Return states, where state i has `atoms[first[i] : first[i + 1]]`, each with itself as the only candidate."""
    count = len(first)
    return Changes(first, atoms, np.arange(count), np.zeros(count, np.int64), np.empty(0, np.int32))


def collect_with_wlplan(config: WLConfig, gathered: Sequence[tuple[Task, Sequence[State]]]) -> Vocabulary:
    """Return wlplan's vocabulary of the colours of all states. Raises MissingLibrary where wlplan is not installed."""
    try:
        from wlplan.data import DomainDataset, ProblemDataset
        from wlplan.feature_generator import init_feature_generator
        from wlplan.planning import Atom, Domain, Predicate, Problem, Schema
        from wlplan.planning import State as WlState
    except ModuleNotFoundError as error:
        raise MissingLibrary(
            f"pruning '{config.pruning}' of WL features needs the library wlplan, which is not installed; install it "
            f"with 'pip install wlplan=={WLPLAN_VERSION}' (Python 3.11 or 3.12) or train with pruning 'none'"
        ) from error

    text = gathered[0][0].domain_text
    predicates = {name: Predicate(name, arity) for name, arity in text.predicates.items()}
    schemas = [Schema(name, len(schema.parameters)) for name, schema in text.schemas.items()]
    constants = sorted(constant.name for constant in text.constants)
    domain = Domain(text.name, sorted(predicates.values(), key=repr), [], sorted(schemas, key=repr), constants)

    def atoms(found: Iterable[pddl.Atom]) -> list[Atom]:
        return [Atom(predicates[atom.predicate], list(atom.objects)) for atom in found]

    data = []
    for task, states in gathered:
        goals = [
            atoms(atom for atom, positive in dict.fromkeys(task.goal) if positive is sign) for sign in (True, False)
        ]
        names = sorted(item.name for item in task.objects if item.name not in constants)
        data.append(
            ProblemDataset(Problem(domain, names, *goals), [WlState(atoms(task.atoms(state))) for state in states])
        )
    features = init_feature_generator(
        feature_algorithm="wl",
        domain=domain,
        graph_representation="ilg",
        iterations=config.iterations,
        pruning=config.pruning,
        multiset_hash=config.hash == "multiset",
    )
    with native_output_silenced(), tempfile.TemporaryDirectory() as folder:
        features.collect(DomainDataset(domain, data))
        path = Path(folder, "vocabulary.json")
        features.save(str(path))
        vocabulary = path.read_text(encoding="utf-8")
    if not vocabulary.rstrip().endswith("}"):  # wlplan ignores errors of writing
        raise StoreError(f"no space left while writing {path}; free some, or set TMPDIR to another folder")
    return Vocabulary(vocabulary)
