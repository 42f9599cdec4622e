"""A state and its lookahead tree as one graph of relations, in arrays: the encodings of AIW-AD, section 5.

Each candidate is a node. It is related to the objects by the atoms in which it differs from the state (aggregated
delta, AD), or by the action that leads to it (aggregated actions, AA). One pass of a network therefore processes all
candidates, and they exchange messages. The baselines of the paper represent each candidate by copies of all objects,
which no tuple connects to the copies of another candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import Relation, RelationalEncoder, RelationalStates, concatenate, refusal_of_schemas
from sgp.errors import ConfigurationError, check_fields
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import DomainText
from sgp.planning.states import State
from sgp.planning.task import Successor, Task

Encoding = Literal["changes", "actions", "external", "internal", "internal-delta"]
_AFTER = ":after"  # suffix of a relation's name in a candidate's state
BEFORE = ":before"  # relation of depth nodes: each shallower node with each deeper node
_EDGE, _AT_DEPTH = ":edge", ":at-depth"  # candidate pairs; candidate and depth. No PDDL name has a colon
# Relation of candidate and atom, by whether the atom is added and whether it is a goal atom.
CHANGES = {(True, False): "added", (False, False): "deleted", (True, True): "added-goal", (False, True): "deleted-goal"}


@dataclass(frozen=True)
class TreeConfig:
    """Content of a tree's graph. Defaults: AD (AIW-AD, section 5); other values are its ablations (appendix C)."""

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
    """The graphs of several trees as one graph; the fields are those of `sgp.models.networks.CandidateGraphs`."""

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
    """The trees of n states, and the numbers [n] of their objects, candidates and depths; see `TreeConfig.copied`."""

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
        return self.graphs.places(weight)

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
        starts = np.cumsum(self.graphs.objects) - self.graphs.objects
        first = starts[trees[places]]  # the first object of each place's tree
        partners = first + (places - first - self.objects[trees[places]]) % width[trees[places]]
        nodes = objects, trees[objects], places, owners, partners, candidate_trees, depths, trees[depths]
        return Joined(len(kinds), *nodes, self.graphs.joined_arguments())


def concatenate_trees(parts: Sequence[Trees]) -> Trees:
    """Concatenate at least one collection of trees."""
    names = "objects", "candidates", "depths"
    objects, candidates, depths = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Trees(concatenate([part.graphs for part in parts]), objects, candidates, depths, parts[0].copied)


class TreeEncoder:
    """Encoder of states with their candidates as graphs of relations; a candidate is a node, or a copy of all objects.

    External copies have the candidate's state, and meet the state's own objects only in the readout. Internal copies
    have both states, or (internal delta) the state and the changes. A network depends on the order of `relations`.
    """

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config, self.domain = config, domain
        self._states = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._states.relations)
        if config.encoding == "actions":
            found |= {applied(name): 1 + len(schema.parameters) for name, schema in domain.schemas.items()}
        elif config.encoding == "internal":
            found |= {f"{name}{_AFTER}": arity for name, arity in self._states.relations.items()}
        elif config.encoding != "external":
            for name, arity in self._changing.items():
                width = max(arity, 1) if config.copied else 1 + arity
                found |= {f"{name}:{kind}": width for kind in CHANGES.values()}
        if not config.copied:
            found |= {_EDGE: 2} if config.edges else {}
            found |= {BEFORE: 2, _AT_DEPTH: 2} if config.depths else {}
        self.relations: Mapping[str, int] = dict(sorted(found.items()))

    def refuses(self, task: Task) -> str | None:
        """Return why the problem, or for trees of actions its set of action schemas, cannot be encoded, or None."""
        refusal = self._states.refuses(task)
        if refusal is None and self.config.encoding == "actions":
            return refusal_of_schemas(self.domain, task)
        return refusal

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """Return the tree of one state of a task, for which `refuses` returns None."""
        if self.config.copied:
            return self._encode_copies(task, state, choice)
        root = self._states.encode(task, [state])
        objects = int(root.objects[0])
        above = np.array([-1 if each.parent is None else each.parent for each in choice], np.int64)
        depth = _depths(above)
        deepest = int(depth.max(initial=0)) if self.config.depths else 0
        nodes = objects + np.arange(len(choice))
        actions = self.config.encoding == "actions"
        tuples = self._actions(task, choice) if actions else self._changes(task, state, choice)
        if self.config.edges:
            inner = above >= 0
            tuples[_EDGE] = np.stack([nodes[above[inner]], nodes[inner]], axis=1)
        if self.config.depths:
            first = objects + len(choice) - 1  # index of a depth's node minus the depth
            earlier, later = np.triu_indices(deepest, 1)
            tuples[BEFORE] = np.stack([first + 1 + earlier, first + 1 + later], axis=1)
            tuples[_AT_DEPTH] = np.stack([nodes, first + depth], axis=1)
        relations = {**root.relations, **{name: _of_one(rows) for name, rows in tuples.items()}}
        relations = {name: relations[name] for name in self.relations}
        graph = RelationalStates(root.objects + len(choice) + deepest, relations)
        return Trees(graph, root.objects, np.array([len(choice)]), np.array([deepest]))

    def _encode_copies(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """Return the graph of a state whose candidates are copies of all objects, after the state's own objects."""
        objects, count = len(task.objects), len(choice)
        alone, after = (
            self._states.encode(task, states).joined_arguments()
            for states in ([state], [each.state for each in with_limit_checks(choice)])
        )
        starts = objects * np.arange(count)[:, None, None]
        copied = {name: (starts + rows[None]).reshape(-1, rows.shape[1]) for name, rows in alone.items()}
        carried = after if self.config.encoding == "external" else copied
        found = {name: np.concatenate([alone[name], rows + objects]) for name, rows in carried.items()}
        if self.config.encoding == "internal":
            found |= {f"{name}{_AFTER}": rows + objects for name, rows in after.items()}
        elif self.config.encoding == "internal-delta":
            found |= self._changes(task, state, choice)
        relations = {name: _of_one(found[name]) for name in self.relations}
        graph = RelationalStates(np.array([objects * (1 + count)]), relations)
        return Trees(graph, np.array([objects]), np.array([count]), np.array([0]), copied=True)

    def _changes(self, task: Task, state: State, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """Return tuples of each candidate's changed atoms; a changed goal atom is in two relations."""
        numbering, objects, copied = self._states.numbering(task), len(task.objects), self.config.copied
        owners, predicates, arguments, are_added, are_wanted = numbering.atom_changes(state, choice)
        nodes, found = (objects * (1 + owners) if copied else objects + owners)[:, None], {}
        for name, arity in self._changing.items():
            if not copied:
                rows = np.hstack([nodes, arguments[:, :arity]])
            elif arity:
                rows = nodes + arguments[:, :arity]
            else:
                rows = nodes + np.arange(objects)  # an atom without objects has a tuple of every copy
            of_it = predicates == numbering.predicates[name]
            for (added, wanted), kind in CHANGES.items():
                chosen = rows[of_it & (are_added == added) & (are_wanted if wanted else True)]
                found[f"{name}:{kind}"] = chosen if arity or not copied else chosen.reshape(-1, 1)
        return found

    def _actions(self, task: Task, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """Return tuples of candidates and objects of their actions."""
        places = {item.name: place for place, item in enumerate(task.objects)}
        found: dict[str, list[list[int]]] = {name: [] for name in task.domain_text.schemas}
        for place, candidate in enumerate(choice):
            if len(candidate.actions) != 1:
                raise ConfigurationError(
                    f"a candidate of {task.name} is {len(candidate.actions)} actions away, and trees of actions "
                    "have one each; expected candidates one-step"
                )
            (action,) = candidate.actions
            found[action.name].append([len(places) + place, *(places[name] for name in action.objects)])
        return {
            applied(name): np.array(found[name], np.int32).reshape(-1, 1 + len(schema.parameters))
            for name, schema in task.domain_text.schemas.items()
        }


def tree_encoder(domain: DomainText, config: TreeConfig) -> TreeEncoder:
    """Return the encoder of a domain's lookahead trees."""
    return TreeEncoder(domain, config)


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


def _of_one(rows: NDArray[np.integer]) -> Relation:
    """Return the tuples [m, arity] as a relation of a single graph."""
    return Relation(np.array([0, len(rows)]), rows.astype(np.int32))
