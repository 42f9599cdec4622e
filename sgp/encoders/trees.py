"""A state and its lookahead tree as one graph of relations, as arrays: the encodings of AIW-AD, section 5.

The state is encoded as ever. Each candidate is a node of its own, related to the objects by what tells it apart: the
atoms in which it differs from the state (aggregated delta, AD), or the action that leads to it (aggregated actions,
AA). So one pass of a network sees all candidates, and they see each other. The encodings that the paper compares these
with show each candidate by copies of all objects instead, apart from the others (`sgp.encoders.pairs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import Arguments, Relation, RelationalEncoder, RelationalStates, concatenate
from sgp.errors import ConfigurationError
from sgp.planning.candidates import parents
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Successor, Task

Told = Literal["changes", "actions", "external", "internal", "internal-delta"]
BEFORE = ":before"  # of depth nodes: every shallower one before every deeper one
_EDGE, _AT_DEPTH = ":edge", ":at-depth"  # of two candidates; of a candidate and its depth. No name of PDDL has a colon
CHANGES = {  # a predicate's relation of candidate and atom, by whether the atom was added and whether the goal has it
    (True, False): "added",
    (False, False): "deleted",
    (True, True): "added-goal",
    (False, True): "deleted-goal",
}


@dataclass(frozen=True)
class TreeConfig:
    """What of a tree stands in the graph. Defaults: AD (AIW-AD, section 5); the rest are its ablations (appendix C).

    Raises ConfigurationError for an encoding that is not known.
    """

    # What a candidate's node is related to: the atoms that change (AD), or its action's objects (AA); or none such, but
    # copies of the objects: its state (Ext), both states (Int), or the first one and what changes (ID).
    told: Told = "changes"
    depths: bool = True  # a node for each depth, an order among these, and each candidate's depth
    edges: bool = True  # which candidate was reached from which

    def __post_init__(self) -> None:
        if self.told not in get_args(Told):
            raise ConfigurationError(f"trees' told is '{self.told}'; expected one of {', '.join(get_args(Told))}")

    @property
    def copied(self) -> bool:
        """Whether a candidate is copies of the objects, and sees no other candidate."""
        return self.told not in ("changes", "actions")


class Joined(NamedTuple):
    """The graphs of trees beside each other, their nodes numbered through: `nodes` of them.

    `things` [t], `places` [p] and `depths` [d] number the nodes of each kind, tree by tree. Places are nodes of
    candidates, `owners` [p] tells of which one, and `partners` [p] which thing is the same object where they are
    copies. `thing_trees` [t], `candidate_trees` [c] and `depth_trees` [d] tell of which tree each is; `arguments`
    [m, arity] number each relation's nodes.
    """

    nodes: int
    things: NDArray[np.int64]
    thing_trees: NDArray[np.int64]
    places: NDArray[np.int64]
    owners: NDArray[np.int64]
    partners: NDArray[np.int64]
    candidate_trees: NDArray[np.int64]
    depths: NDArray[np.int64]
    depth_trees: NDArray[np.int64]
    arguments: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of n states of any tasks of one domain.

    A tree's nodes are the objects of its task, then the candidates in their order, then its depths from 1 on: so many
    of each as `things` [n], `candidates` [n] and `depths` [n] say. A candidate is one node, or with `copied` as many as
    there are objects.
    """

    graphs: RelationalStates
    things: NDArray[np.int64]
    candidates: NDArray[np.int64]
    depths: NDArray[np.int64]
    copied: bool = False

    def __len__(self) -> int:
        """n."""
        return len(self.graphs)

    def select(self, places: NDArray[np.int64]) -> Trees:
        """Some of the trees, in the order of `places`."""
        things, candidates, depths = (each[places] for each in (self.things, self.candidates, self.depths))
        return Trees(self.graphs.select(places), things, candidates, depths, self.copied)

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
        every = np.arange(len(self))
        width = self.things if self.copied else np.ones_like(self.things)  # nodes of a candidate
        counts = np.stack([self.things, self.candidates * width, self.depths], axis=1)  # [n, 3]
        kinds = np.repeat(np.tile(np.arange(3), len(self)), counts.ravel())
        trees = np.repeat(every, self.graphs.objects)
        things, places, depths = (np.flatnonzero(kinds == kind) for kind in range(3))
        candidate_trees = np.repeat(every, self.candidates)
        owners = np.repeat(np.arange(len(candidate_trees)), width[candidate_trees])
        first = (np.cumsum(self.graphs.objects) - self.graphs.objects)[trees[places]]  # each place's tree's first thing
        partners = first + (places - first - self.things[trees[places]]) % width[trees[places]]
        return Joined(
            len(kinds),
            things,
            trees[things],
            places,
            owners,
            partners,
            candidate_trees,
            depths,
            trees[depths],
            self.graphs.joined_arguments(),
        )


def concatenate_trees(parts: Sequence[Trees]) -> Trees:
    """The trees of all parts (at least one) in order."""
    return Trees(
        concatenate([part.graphs for part in parts]),
        np.concatenate([part.things for part in parts]),
        np.concatenate([part.candidates for part in parts]),
        np.concatenate([part.depths for part in parts]),
        parts[0].copied,
    )


class LookaheadEncoder(Protocol):
    """Turns states with their candidates into graphs of relations."""

    @property
    def relations(self) -> Mapping[str, int]:
        """The arities of the relations by name; their order is a network's."""

    def refuses(self, task: Task) -> str | None:
        """Why the problem cannot be encoded, or None where it can. Raises DomainMismatch for another domain's task."""

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """The tree of one state of a task, which is not refused."""
        ...


class TreeEncoder:
    """Turns states with their candidates into graphs in which a candidate is a node."""

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config, self.domain = config, domain
        self._root = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._root.relations)
        if config.told == "actions":
            found |= {applied(name): 1 + len(schema.parameters) for name, schema in domain.schemas.items()}
        else:
            found |= {
                f"{name}:{kind}": 1 + arity for name, arity in self._changing.items() for kind in CHANGES.values()
            }
        found |= {_EDGE: 2} if config.edges else {}
        found |= {BEFORE: 2, _AT_DEPTH: 2} if config.depths else {}
        self.relations = dict(sorted(found.items()))

    def refuses(self, task: Task) -> str | None:
        """What the encoder of states says, and of trees told by actions whether the actions are those of training."""
        refusal = self._root.refuses(task)
        if refusal is None and self.config.told == "actions":
            different = set(task.domain_text.schemas) ^ set(self.domain.schemas)
            if different:
                told = ", ".join(sorted(different))
                return f"actions {told} are cases of one with quantifiers, which other problems have otherwise"
        return refusal

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
        relations = {**root.relations, **{name: of_one(rows) for name, rows in told.items()}}
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
            for (added, wanted), kind in CHANGES.items():
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
            found.setdefault(applied(action.name), []).append(row)
        schemas = task.domain_text.schemas.items()
        return {
            applied(name): np.array(found.get(applied(name), []), np.int32).reshape(-1, 1 + len(schema.parameters))
            for name, schema in schemas
        }


def applied(action: str) -> str:
    """The relation of a candidate and the objects of its action, where trees are told by actions."""
    return f"{action}:applied"


def _depths(above: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many decisions of the lookahead lead to each candidate [n], from 1."""
    depth, up = np.ones(len(above), np.int64), above
    while (up >= 0).any():
        depth += up >= 0
        up = np.where(up >= 0, above[up], -1)
    return depth


def of_one(rows: NDArray[np.integer]) -> Relation:
    """The tuples [m, arity] of a relation in a single graph."""
    arguments: Arguments = rows.astype(np.int32)
    return Relation(np.array([0, len(rows)]), arguments)
