"""A state and its lookahead tree as one graph of relations, as arrays: the encodings of AIW-AD, section 5.

The state is encoded as ever. Each candidate is a node of its own, related to the objects by what tells it apart: the
atoms in which it differs from the state (aggregated delta, AD), or the action that leads to it (aggregated actions,
AA). So one pass of a network sees all candidates, and they see each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import Arguments, Relation, RelationalEncoder, RelationalStates, concatenate
from sgp.errors import ConfigurationError
from sgp.planning.candidates import parents
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Successor, Task

Told = Literal["changes", "actions"]
BEFORE = ":before"  # of depth nodes: every shallower one before every deeper one
_EDGE, _AT_DEPTH = ":edge", ":at-depth"  # of two candidates; of a candidate and its depth. No name of PDDL has a colon
_CHANGES = {  # a predicate's relation of candidate and atom, by whether the atom was added and whether the goal has it
    (True, False): "added",
    (False, False): "deleted",
    (True, True): "added-goal",
    (False, True): "deleted-goal",
}


@dataclass(frozen=True)
class TreeConfig:
    """What of a tree stands in the graph. Defaults: AD (AIW-AD, section 5); the rest are its ablations (appendix C)."""

    told: Told = "changes"  # what a candidate's node is related to: the atoms that change, or its action's objects
    depths: bool = True  # a node for each depth, an order among these, and each candidate's depth
    edges: bool = True  # which candidate was reached from which

    def __post_init__(self) -> None:
        if self.told not in get_args(Told):
            raise ConfigurationError(f"trees' told is '{self.told}'; expected one of {', '.join(get_args(Told))}")


class Joined(NamedTuple):
    """The graphs of trees beside each other, their nodes numbered through: `nodes` of them.

    `things` [t], `candidates` [c] and `depths` [d] number the nodes of each kind, tree by tree; `thing_trees`,
    `candidate_trees` and `depth_trees` tell of which tree each is; `arguments` [m, arity] number each relation's nodes.
    """

    nodes: int
    things: NDArray[np.int64]
    thing_trees: NDArray[np.int64]
    candidates: NDArray[np.int64]
    candidate_trees: NDArray[np.int64]
    depths: NDArray[np.int64]
    depth_trees: NDArray[np.int64]
    arguments: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of n states of any tasks of one domain.

    A tree's nodes are the objects of its task, then the candidates in their order, then its depths from 1 on: so many
    of each as `things` [n], `candidates` [n] and `depths` [n] say.
    """

    graphs: RelationalStates
    things: NDArray[np.int64]
    candidates: NDArray[np.int64]
    depths: NDArray[np.int64]

    def __len__(self) -> int:
        """n."""
        return len(self.graphs)

    def select(self, places: NDArray[np.int64]) -> Trees:
        """Some of the trees, in the order of `places`."""
        counts = (each[places] for each in (self.things, self.candidates, self.depths))
        return Trees(self.graphs.select(places), *counts)

    def parts(self, weight: int) -> list[NDArray[np.int64]]:
        """The places of the trees in order, cut so that each part has at most `weight` arguments of tuples; a tree
        that has more stands alone.
        """
        cuts, total = list[int](), 0
        for place, more in enumerate(self.graphs.weights.tolist()):
            total += more
            if total > weight and place:
                cuts.append(place)
                total = more
        return np.split(np.arange(len(self)), cuts)

    def joined(self) -> Joined:
        """All trees as one graph."""
        ends = np.cumsum(self.graphs.objects)
        counts = np.stack([self.things, self.candidates, self.depths], axis=1)  # [n, 3]
        kinds = np.repeat(np.tile(np.arange(3), len(self)), counts.ravel())
        trees = np.repeat(np.arange(len(self)), self.graphs.objects)
        things, candidates, depths = (np.flatnonzero(kinds == kind) for kind in range(3))
        nodes = int(ends[-1]) if len(ends) else 0
        marked = (things, trees[things], candidates, trees[candidates], depths, trees[depths])
        return Joined(nodes, *marked, self.graphs.joined_arguments())


def concatenate_trees(parts: Sequence[Trees]) -> Trees:
    """The trees of all parts (at least one) in order."""
    counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("things", "candidates", "depths"))
    return Trees(concatenate([part.graphs for part in parts]), *counts)


class TreeEncoder:
    """Turns states with their candidates into graphs of relations."""

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config = config
        self._root = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._root.relations)
        if config.told == "actions":
            found |= {_applied(name): 1 + len(schema.parameters) for name, schema in domain.schemas.items()}
        else:
            found |= {
                f"{name}:{kind}": 1 + arity for name, arity in self._changing.items() for kind in _CHANGES.values()
            }
        found |= {_EDGE: 2} if config.edges else {}
        found |= {BEFORE: 2, _AT_DEPTH: 2} if config.depths else {}
        self.relations: Mapping[str, int] = dict(sorted(found.items()))  # their arities; the order is a network's

    def refuses(self, task: Task) -> str | None:
        """Why the problem cannot be encoded, or None where it can. Raises DomainMismatch for another domain's task."""
        return self._root.refuses(task)

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """The tree of one state of a task, which is not refused."""
        root = self._root.encode(task, [state])
        things = int(root.objects[0])
        above = parents(choice)
        depth = _depths(above)
        deepest = int(depth.max(initial=0)) if self.config.depths else 0
        nodes = things + np.arange(len(choice))
        told = self._actions(task, choice) if self.config.told == "actions" else self._changes(task, state, choice)
        if self.config.edges:
            inner = above >= 0
            told[_EDGE] = np.stack([nodes[above[inner]], nodes[inner]], axis=1)
        if self.config.depths:
            first = things + len(choice) - 1  # a depth's node, less the depth
            earlier, later = np.triu_indices(deepest, 1)
            told[BEFORE] = np.stack([first + 1 + earlier, first + 1 + later], axis=1)
            told[_AT_DEPTH] = np.stack([nodes, first + depth], axis=1)
        relations = {**root.relations, **{name: _of_one(rows) for name, rows in told.items()}}
        graph = replace(
            root,
            objects=root.objects + len(choice) + deepest,
            relations={name: relations[name] for name in self.relations},
        )
        return Trees(graph, root.objects, np.array([len(choice)]), np.array([deepest]))

    def _changes(self, task: Task, state: State, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """The atoms that candidates add and delete, each behind its candidate."""
        numbering = self._root.numbering(task)
        changes, found = numbering.changes(state, choice), {}
        rows = np.column_stack([len(task.objects) + changes.owners, changes.arguments])
        for name, arity in self._changing.items():
            of_it = changes.predicates == numbering.predicates[name]
            for (added, wanted), kind in _CHANGES.items():
                # What the goal wants stands in both: as an atom that changes, and as one of the goal.
                chosen = of_it & (changes.added == added) & (changes.wanted if wanted else True)
                found[f"{name}:{kind}"] = rows[chosen, : 1 + arity]
        return found

    def _actions(self, task: Task, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """The objects of each candidate's action behind it. Raises ConfigurationError for a jump of several actions."""
        places = {thing.name: place for place, thing in enumerate(task.objects)}
        found: dict[str, list[list[int]]] = {}
        for place, candidate in enumerate(choice):
            if len(candidate.actions) != 1:
                raise ConfigurationError(
                    f"a candidate of {task.name} is {len(candidate.actions)} actions away, and trees told by actions "
                    "have one each; expected candidates one-step"
                )
            (action,) = candidate.actions
            row = [len(places) + place, *(places[name] for name in action.objects)]
            found.setdefault(_applied(action.name), []).append(row)
        schemas = task.domain_text.schemas.items()
        return {
            _applied(name): np.array(found.get(_applied(name), []), np.int32).reshape(-1, 1 + len(schema.parameters))
            for name, schema in schemas
        }


def _applied(action: str) -> str:
    return f"{action}:applied"


def _depths(above: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many decisions of the lookahead lead to each candidate [n], from 1."""
    depth, up = np.ones(len(above), np.int64), above
    while (up >= 0).any():
        depth += up >= 0
        up = np.where(up >= 0, above[up], -1)
    return depth


def _of_one(rows: NDArray[np.integer]) -> Relation:
    arguments: Arguments = rows.astype(np.int32)
    return Relation(np.array([0, len(rows)]), arguments)
