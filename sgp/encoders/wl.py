"""Weisfeiler-Leman features of states (state-centric, appendix E).

wlplan collects the vocabulary; kernels of our own compute the histograms, equal to wlplan's.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.instance_graph import InstanceGraph
from sgp.encoders.kernels.wl_histogram import histograms
from sgp.encoders.kernels.wl_recolouring import candidate_histograms
from sgp.encoders.wl_vocabulary import Vocabulary
from sgp.encoders.wl_words import ColourWords
from sgp.errors import ConfigurationError, StoreError
from sgp.files import write_text
from sgp.planning import pddl
from sgp.planning.clock import look, stop
from sgp.planning.silence import native_output_silenced
from sgp.planning.task import State, Successor, Task

Hash = Literal["multiset", "set"]
Pruning = Literal["none", "a-m", "i-g", "i-m", "i-f", "i-mf"]


@dataclass(frozen=True)
class WLConfig:
    """How colours are refined and collected. Defaults: state-centric, appendix E.4.

    Raises ConfigurationError for a setting out of range.
    """

    iterations: int = 2  # k, rounds of colour refinement
    hash: Hash = "multiset"  # whether a neighbourhood counts how often a colour occurs
    pruning: Pruning = "none"  # wlplan's removal of duplicate features

    def __post_init__(self) -> None:
        if not 0 <= self.iterations <= 10:
            raise ConfigurationError(f"WL iterations are {self.iterations}; expected 0 to 10")
        for name, kind in (("hash", Hash), ("pruning", Pruning)):
            if getattr(self, name) not in get_args(kind):
                raise ConfigurationError(f"WL {name} is '{getattr(self, name)}'; expected one of {get_args(kind)}")


class WLEncoder:
    """Histograms of WL colours over the instance learning graph of a state, static atoms included.

    The vocabulary is collected once from training states; colours outside of it are dropped. The goal's embedding is
    that of the goal atoms taken as a state, without static atoms.
    """

    def __init__(self, vocabulary: Vocabulary, domain_text: pddl.DomainText, static: bool = True):
        self.vocabulary, self.domain_text = vocabulary, domain_text
        self.static = static  # whether states have their static atoms
        # The graphs of the tasks met; a memo, not a state: dropping it changes nothing but time.
        self._graphs: weakref.WeakKeyDictionary[Task, InstanceGraph] = weakref.WeakKeyDictionary()

    @classmethod
    def fit(cls, config: WLConfig, states: Iterable[tuple[Task, Sequence[State]]]) -> WLEncoder:
        """Collects the vocabulary from states of training tasks, all of one domain, by wlplan.

        Raises ConfigurationError without a task, and StoreError for a vocabulary of another wlplan.
        """
        gathered = list(states)
        if not gathered:
            raise ConfigurationError("a WL vocabulary needs at least one training task; there is none")
        return cls(Vocabulary(_collect(config, gathered)), gathered[0][0].domain_text)

    def without_static(self) -> WLEncoder:
        """The same features of states that lack their static atoms, as the published implementation decodes."""
        return WLEncoder(self.vocabulary, self.domain_text, static=False)

    @property
    def dimension(self) -> int:
        """D, the number of colours."""
        return self.vocabulary.dimension

    def refuses(self, task: Task) -> str | None:
        """Never: every state of the domain has an embedding. Raises DomainMismatch for another domain's task."""
        task.require_domain(self.domain_text)
        return None

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.float32]:
        """Histograms [n, D] of the states of one task."""
        graph = self._graph(task)
        return self._histograms(graph, *graph.fluent_atoms(states), with_static=self.static)

    def embed_candidates(
        self, task: Task, states: Sequence[State], choices: Sequence[Sequence[Successor]]
    ) -> NDArray[np.float32]:
        """Histograms [n, D] of the candidates of one task's states, all of the first state, then of the second.

        They are those of `embed`, recoloured from each state's own graph, of which a candidate changes little.
        """
        graph, words = self._graph(task), self.vocabulary
        changes = graph.changes(states, choices)
        rows = np.empty((len(changes.first_change) - 1, self.dimension), np.float32)
        candidate_histograms(
            graph.layout, words.table, words.multiset, graph.colouring(self.static), *changes, rows, stop()
        )
        look()
        return rows

    def embed_goal(self, task: Task) -> NDArray[np.float32]:
        """The goal's histogram [D]."""
        graph = self._graph(task)
        first = np.array([0, len(graph.goal_atoms)], np.int64)
        rows = self._histograms(graph, first, graph.goal_atoms, with_static=False)
        return rows.reshape(self.dimension)

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """The neighbourhoods that some columns count."""
        return self._words.of(columns)

    @cached_property
    def _words(self) -> ColourWords:
        return ColourWords(self.vocabulary, dict(self.domain_text.predicates))

    def unseen(self, task: Task, states: Sequence[State]) -> NDArray[np.float64]:
        """The share [n] of each state's colours, counted with their multiplicity, that the vocabulary lacks."""
        graph = self._graph(task)
        first, atoms = graph.fluent_atoms(states)
        seen = self._histograms(graph, first, atoms, with_static=self.static).sum(axis=1)
        colours = graph.count_nodes(first, atoms, self.static) * (self.vocabulary.iterations + 1)
        return np.asarray(1.0 - seen / np.maximum(colours, 1))

    def save(self, path: Path) -> None:
        """Writes the vocabulary as wlplan's JSON. Raises StoreError where it cannot be written."""
        write_text(path, self.vocabulary.text)

    @classmethod
    def load(cls, path: Path, domain_text: pddl.DomainText) -> WLEncoder:
        """Reads a vocabulary that `save` wrote for this domain.

        Raises StoreError for one that is damaged or of another wlplan.
        """
        return cls(Vocabulary(path.read_text(encoding="utf-8")), domain_text)

    def _graph(self, task: Task) -> InstanceGraph:
        graph = self._graphs.get(task)
        if graph is None:
            graph = self._graphs[task] = InstanceGraph(task, self.vocabulary)
        return graph

    def _histograms(
        self, graph: InstanceGraph, first: NDArray[np.int64], atoms: NDArray[np.int32], with_static: bool
    ) -> NDArray[np.float32]:
        rows = np.zeros((len(first) - 1, self.dimension), np.float32)
        words = self.vocabulary
        histograms(
            graph.layout,
            words.table,
            words.iterations,
            words.multiset,
            graph.max_arity,
            with_static,
            first,
            atoms,
            rows,
        )
        return rows


@dataclass(frozen=True)
class WL:
    """The kind of encoder that `WLEncoder` is, with the configuration by which it is made."""

    config: WLConfig = field(default_factory=WLConfig)
    key: str = "wl"
    title: str = "Weisfeiler-Leman features"
    libraries: Sequence[str] = ("wlplan",)
    invariant: bool = True  # colours know no names

    def fit(self, states: Sequence[tuple[Task, Sequence[State]]], largest: int) -> WLEncoder:
        """An encoder of the colours of these states. Raises what `WLEncoder.fit` raises."""
        return WLEncoder.fit(self.config, states)

    def save(self, encoder: WLEncoder, path: Path) -> None:
        """Writes the vocabulary. Raises StoreError where it cannot be written."""
        encoder.save(path)

    def load(self, path: Path, domain_text: pddl.DomainText, largest: int) -> WLEncoder:
        """Reads the vocabulary. Raises StoreError for one that is damaged or of another wlplan."""
        return WLEncoder.load(path, domain_text)


def _collect(config: WLConfig, gathered: Sequence[tuple[Task, Sequence[State]]]) -> str:
    """wlplan's JSON of the colours of all states."""
    from wlplan.data import DomainDataset, ProblemDataset
    from wlplan.feature_generator import init_feature_generator
    from wlplan.planning import Atom, Domain, Predicate, Problem, Schema
    from wlplan.planning import State as WlState

    text = gathered[0][0].domain_text
    predicates = {name: Predicate(name, arity) for name, arity in text.predicates.items()}
    schemas = [Schema(name, len(schema.parameters)) for name, schema in text.schemas.items()]
    constants = sorted(constant.name for constant in text.constants)
    domain = Domain(text.name, sorted(predicates.values(), key=repr), [], sorted(schemas, key=repr), constants)

    def atoms(found: Iterable[pddl.Atom]) -> list[Atom]:
        return [Atom(predicates[atom.predicate], list(atom.objects)) for atom in found]

    data = []
    for task, states in gathered:
        goals = [atoms(atom for atom, positive in task.goal if positive is sign) for sign in (True, False)]
        things = sorted(thing.name for thing in task.objects if thing.name not in constants)
        data.append(
            ProblemDataset(Problem(domain, things, *goals), [WlState(atoms(task.atoms(state))) for state in states])
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
    if not vocabulary.rstrip().endswith("}"):  # wlplan does not look at what the system says
        raise StoreError(f"no space left while writing {path}; free some, or set TMPDIR to another folder")
    return vocabulary
