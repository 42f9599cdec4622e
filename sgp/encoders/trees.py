"""A state and its lookahead tree as one graph of relations, in arrays: the encodings of AIW-AD, section 5.

Each candidate is a node. It is related to the objects by the atoms in which it differs from the state (aggregated
delta, AD), or by the action that leads to it (aggregated actions, AA). One pass of a network therefore processes all
candidates, and they exchange messages. The baselines of the paper represent each candidate by copies of all objects,
which no tuple connects to the copies of another candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import Arguments, Relation, RelationalEncoder, RelationalStates, concatenate
from sgp.errors import ConfigurationError, check_fields
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Successor, Task

Encoding = Literal["changes", "actions", "external", "internal", "internal-delta"]
_AFTER = ":after"  # suffix of a relation's name in a candidate's state
BEFORE = ":before"  # relation of depth nodes: each shallower node with each deeper node
_EDGE, _AT_DEPTH = ":edge", ":at-depth"  # candidate pairs; candidate and depth. No PDDL name has a colon
CHANGES = {  # relation of candidate and atom, by whether the atom is added and whether it is a goal atom
    (True, False): "added",
    (False, False): "deleted",
    (True, True): "added-goal",
    (False, True): "deleted-goal",
}


@dataclass(frozen=True)
class TreeConfig:
    """Content of a tree's graph. Defaults: AD (AIW-AD, section 5); other values are its ablations (appendix C).

    Raises ConfigurationError for an unknown encoding.
    """

    RENAMED_FIELDS: ClassVar[Mapping[str, str]] = {"told": "encoding"}  # by their names in earlier versions

    # A candidate is a node related to changed atoms (AD) or to its action's objects (AA), or a copy of all objects
    # with the candidate's state (Ext), both states (Int), or the current state and the changes (ID).
    encoding: Encoding = "changes"
    depths: bool = True  # whether depths are nodes, with their order and each candidate's depth
    edges: bool = True  # whether candidates are related to their parents

    def __post_init__(self) -> None:
        check_fields(self, "trees'")

    @property
    def copied(self) -> bool:
        """Whether a candidate is a copy of all objects, without messages from other candidates."""
        return self.encoding not in ("changes", "actions")


class Joined(NamedTuple):
    """The graphs of several trees as one graph, with `nodes` nodes numbered consecutively.

    `objects` [t], `places` [p] and `depths` [d] number the nodes of each kind, tree by tree. Places are nodes of
    candidates: `owners` [p] are their candidates, and `partners` [p] the nodes of the copied objects, if they are
    copies. `object_trees` [t], `candidate_trees` [c] and `depth_trees` [d] are the trees of each. `arguments`
    [m, arity] number the nodes of each relation's tuples.
    """

    nodes: int
    objects: NDArray[np.int64]
    object_trees: NDArray[np.int64]
    places: NDArray[np.int64]
    owners: NDArray[np.int64]
    partners: NDArray[np.int64]
    candidate_trees: NDArray[np.int64]
    depths: NDArray[np.int64]
    depth_trees: NDArray[np.int64]
    arguments: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of n states of tasks of one domain.

    A tree's nodes are the objects of its task, then the candidates in their order, then the depths from 1. `objects`
    [n], `candidates` [n] and `depths` [n] are their numbers. A candidate is one node, or with `copied` one node per
    object.
    """

    graphs: RelationalStates
    objects: NDArray[np.int64]
    candidates: NDArray[np.int64]
    depths: NDArray[np.int64]
    copied: bool = False

    def __len__(self) -> int:
        """Number of trees, n."""
        return len(self.graphs)

    def select(self, places: NDArray[np.int64]) -> Trees:
        """Return the trees with the indices `places`, in this order."""
        objects, candidates, depths = (each[places] for each in (self.objects, self.candidates, self.depths))
        return Trees(self.graphs.select(places), objects, candidates, depths, self.copied)

    def parts(self, weight: int) -> list[NDArray[np.int64]]:
        """Split the indices into parts of at most `weight` arguments; a tree with more arguments is its own part."""
        cuts, total = list[int](), 0
        for place, more in enumerate(self.graphs.weights.tolist()):
            total += more
            if total > weight and place:
                cuts.append(place)
                total = more
        return np.split(np.arange(len(self)), cuts)

    def joined(self) -> Joined:
        """Return all trees as one graph."""
        every = np.arange(len(self))
        width = self.objects if self.copied else np.ones_like(self.objects)  # nodes of a candidate
        counts = np.stack([self.objects, self.candidates * width, self.depths], axis=1)  # [n, 3]
        kinds = np.repeat(np.tile(np.arange(3), len(self)), counts.ravel())
        trees = np.repeat(every, self.graphs.objects)
        objects, places, depths = (np.flatnonzero(kinds == kind) for kind in range(3))
        candidate_trees = np.repeat(every, self.candidates)
        owners = np.repeat(np.arange(len(candidate_trees)), width[candidate_trees])
        first = (np.cumsum(self.graphs.objects) - self.graphs.objects)[
            trees[places]
        ]  # the first object of each place's tree
        partners = first + (places - first - self.objects[trees[places]]) % width[trees[places]]
        return Joined(
            len(kinds),
            objects,
            trees[objects],
            places,
            owners,
            partners,
            candidate_trees,
            depths,
            trees[depths],
            self.graphs.joined_arguments(),
        )


def concatenate_trees(parts: Sequence[Trees]) -> Trees:
    """Concatenate at least one collection of trees."""
    return Trees(
        concatenate([part.graphs for part in parts]),
        np.concatenate([part.objects for part in parts]),
        np.concatenate([part.candidates for part in parts]),
        np.concatenate([part.depths for part in parts]),
        parts[0].copied,
    )


class LookaheadEncoder(Protocol):
    """An encoder of states with their candidates as graphs of relations."""

    @property
    def relations(self) -> Mapping[str, int]:
        """Arities of the relations by name; a network depends on their order."""

    def refuses(self, task: Task) -> str | None:
        """Return why the problem cannot be encoded, or None. Raises DomainMismatch for another domain's task."""

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """Return the tree of one state of a task, for which `refuses` returns None."""
        ...


class TreeEncoder:
    """Encoder of states with their candidates as graphs in which a candidate is a node."""

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config, self.domain = config, domain
        self._root = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._root.relations)
        if config.encoding == "actions":
            found |= {applied(name): 1 + len(schema.parameters) for name, schema in domain.schemas.items()}
        else:
            found |= {
                f"{name}:{kind}": 1 + arity for name, arity in self._changing.items() for kind in CHANGES.values()
            }
        found |= {_EDGE: 2} if config.edges else {}
        found |= {BEFORE: 2, _AT_DEPTH: 2} if config.depths else {}
        self.relations = dict(sorted(found.items()))

    def refuses(self, task: Task) -> str | None:
        """Return why the problem, or for trees of actions its set of action schemas, cannot be encoded, or None."""
        refusal = self._root.refuses(task)
        if refusal is None and self.config.encoding == "actions":
            different = set(task.domain_text.schemas) ^ set(self.domain.schemas)
            if different:
                names = ", ".join(sorted(different))
                return f"actions {names} are cases of one with quantifiers, which other problems have otherwise"
        return refusal

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """Return the tree of one state of a task, for which `refuses` returns None."""
        root = self._root.encode(task, [state])
        objects = int(root.objects[0])
        above = np.array([-1 if each.parent is None else each.parent for each in choice], np.int64)
        depth = _depths(above)
        deepest = int(depth.max(initial=0)) if self.config.depths else 0
        nodes = objects + np.arange(len(choice))
        tuples = (
            self._actions(task, choice) if self.config.encoding == "actions" else self._changes(task, state, choice)
        )
        if self.config.edges:
            inner = above >= 0
            tuples[_EDGE] = np.stack([nodes[above[inner]], nodes[inner]], axis=1)
        if self.config.depths:
            first = objects + len(choice) - 1  # index of a depth's node minus the depth
            earlier, later = np.triu_indices(deepest, 1)
            tuples[BEFORE] = np.stack([first + 1 + earlier, first + 1 + later], axis=1)
            tuples[_AT_DEPTH] = np.stack([nodes, first + depth], axis=1)
        relations = {**root.relations, **{name: of_one(rows) for name, rows in tuples.items()}}
        graph = replace(
            root,
            objects=root.objects + len(choice) + deepest,
            relations={name: relations[name] for name in self.relations},
        )
        return Trees(graph, root.objects, np.array([len(choice)]), np.array([deepest]))

    def _changes(self, task: Task, state: State, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """Return tuples of each candidate followed by the objects of an atom that it adds or deletes."""
        numbering = self._root.numbering(task)
        changes, found = numbering.atom_changes(state, choice), {}
        rows = np.column_stack([len(task.objects) + changes.owners, changes.arguments])
        for name, arity in self._changing.items():
            of_it = changes.predicates == numbering.predicates[name]
            for (added, wanted), kind in CHANGES.items():
                # A changed goal atom is in both relations: of all changed atoms, and of changed goal atoms.
                chosen = of_it & (changes.added == added) & (changes.wanted if wanted else True)
                found[f"{name}:{kind}"] = rows[chosen, : 1 + arity]
        return found

    def _actions(self, task: Task, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """Return tuples of candidates and objects of their actions.

        Raises ConfigurationError for multi-action jumps.
        """
        places = {item.name: place for place, item in enumerate(task.objects)}
        found: dict[str, list[list[int]]] = {}
        for place, candidate in enumerate(choice):
            if len(candidate.actions) != 1:
                raise ConfigurationError(
                    f"a candidate of {task.name} is {len(candidate.actions)} actions away, and trees of actions "
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


class PairEncoder:
    """Encoder of states with their candidates as graphs in which a candidate is a copy of all objects.

    External: the copies have the candidate's state, and are combined with the state's own objects only in the readout.
    Internal: the copies have both states. Internal delta: the copies have the current state and the changes (AIW-AD,
    section 5).
    """

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config = config
        self._states = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._states.relations)
        if config.encoding == "internal":
            found |= {f"{name}{_AFTER}": arity for name, arity in self._states.relations.items()}
        elif config.encoding == "internal-delta":
            found |= {
                f"{name}:{kind}": max(arity, 1) for name, arity in self._changing.items() for kind in CHANGES.values()
            }
        self.relations = dict(sorted(found.items()))

    def refuses(self, task: Task) -> str | None:
        """Return why the problem cannot be encoded, or None."""
        return self._states.refuses(task)

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """Return the graph of one state of a task that is not refused; the state's own objects are first."""
        objects, count = len(task.objects), len(choice)
        alone, after = (
            self._tuples(task, [state]),
            self._tuples(task, [each.state for each in with_limit_checks(choice)]),
        )
        copied = {name: _copied(rows, objects, count) for name, rows in alone.items()}
        carried = after if self.config.encoding == "external" else copied
        found = {name: np.concatenate([alone[name], rows + objects]) for name, rows in carried.items()}
        if self.config.encoding == "internal":
            found |= {f"{name}{_AFTER}": rows + objects for name, rows in after.items()}
        elif self.config.encoding == "internal-delta":
            found |= self._changes(task, state, choice)
        graph = RelationalStates(
            np.array([objects * (1 + count)]), {name: of_one(found[name]) for name in self.relations}
        )
        return Trees(graph, np.array([objects]), np.array([count]), np.array([0]), copied=True)

    def _tuples(self, task: Task, states: Sequence[State]) -> Mapping[str, NDArray[np.int64]]:
        """Return each relation's tuples in all states, with objects numbered consecutively."""
        return self._states.encode(task, states).joined_arguments()

    def _changes(self, task: Task, state: State, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """Return tuples of added and deleted atoms over candidates' copies; a nullary atom has one of every copy."""
        numbering, objects = self._states.numbering(task), len(task.objects)
        changes, found = numbering.atom_changes(state, choice), {}
        begin = objects * (1 + changes.owners[:, None])
        for name, arity in self._changing.items():
            rows = begin + (changes.arguments[:, :arity] if arity else 0)
            of_it = changes.predicates == numbering.predicates[name]
            for (added, wanted), kind in CHANGES.items():
                chosen = rows[of_it & (changes.added == added) & (changes.wanted if wanted else True)]
                found[f"{name}:{kind}"] = chosen if arity else (chosen + np.arange(objects)).reshape(-1, 1)
        return found


def tree_encoder(domain: DomainText, config: TreeConfig) -> LookaheadEncoder:
    """Return the lookahead encoder that a configuration selects."""
    return PairEncoder(domain, config) if config.copied else TreeEncoder(domain, config)


def applied(action: str) -> str:
    """Return the name of the relation of a candidate and its action's objects."""
    return f"{action}:applied"


def _depths(above: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return each candidate's depth in the lookahead tree [n], from 1."""
    depth, up = np.ones(len(above), np.int64), above
    while (up >= 0).any():
        depth += up >= 0
        up = np.where(up >= 0, above[up], -1)
    return depth


def of_one(rows: NDArray[np.integer]) -> Relation:
    """Return the tuples [m, arity] as a relation of a single graph."""
    arguments: Arguments = rows.astype(np.int32)
    return Relation(np.array([0, len(rows)]), arguments)


def _copied(rows: NDArray[np.integer], objects: int, count: int) -> NDArray[np.integer]:
    """Repeat the tuples [m, arity] for `count` copies of all objects, copy by copy [m * count, arity]."""
    starts = objects * np.arange(count)
    return (starts[:, None, None] + rows[None]).reshape(-1, rows.shape[1])
