"""A state and each of its candidates apart, as graphs of relations: the encodings that AIW-AD compares its own with.

Each candidate is copies of the task's objects, and no tuple joins those of two candidates: a network computes each by
itself. External: the copies carry the candidate's state, and meet the state's own objects in the readout alone.
Internal: they carry both states. Internal delta: they carry the state, and what changes (AIW-AD, section 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import RelationalEncoder, RelationalStates
from sgp.encoders.trees import CHANGES, LookaheadEncoder, TreeConfig, TreeEncoder, Trees, of_one
from sgp.planning.clock import looking
from sgp.planning.pddl import DomainText
from sgp.planning.task import State, Successor, Task

_AFTER = ":after"  # behind the name of a relation that holds in a candidate's state


class PairEncoder:
    """Turns states with their candidates into graphs in which a candidate is copies of the objects."""

    def __init__(self, domain: DomainText, config: TreeConfig):
        self.config = config
        self._states = RelationalEncoder(domain)
        self._changing = {name: arity for name, arity in domain.predicates.items() if name in domain.fluent_predicates}
        found = dict(self._states.relations)
        if config.told == "internal":
            found |= {f"{name}{_AFTER}": arity for name, arity in self._states.relations.items()}
        elif config.told == "internal-delta":
            found |= {
                f"{name}:{kind}": max(arity, 1) for name, arity in self._changing.items() for kind in CHANGES.values()
            }
        self.relations = dict(sorted(found.items()))

    def refuses(self, task: Task) -> str | None:
        """What the encoder of states says."""
        return self._states.refuses(task)

    def encode(self, task: Task, state: State, choice: Sequence[Successor]) -> Trees:
        """The pairs of one state of a task, which is not refused; the state's own objects come first."""
        things, count = len(task.objects), len(choice)
        alone, after = self._tuples(task, [state]), self._tuples(task, [each.state for each in looking(choice)])
        copied = {name: _copied(rows, things, count) for name, rows in alone.items()}
        carried = after if self.config.told == "external" else copied
        found = {name: np.concatenate([alone[name], rows + things]) for name, rows in carried.items()}
        if self.config.told == "internal":
            found |= {f"{name}{_AFTER}": rows + things for name, rows in after.items()}
        elif self.config.told == "internal-delta":
            found |= self._changes(task, state, choice)
        graph = RelationalStates(
            np.array([things * (1 + count)]), {name: of_one(found[name]) for name in self.relations}
        )
        return Trees(graph, np.array([things]), np.array([count]), np.array([0]), copied=True)

    def _tuples(self, task: Task, states: Sequence[State]) -> Mapping[str, NDArray[np.int64]]:
        """Each relation's tuples in all states, whose objects are numbered one state after the other."""
        return self._states.encode(task, states).joined_arguments()

    def _changes(self, task: Task, state: State, choice: Sequence[Successor]) -> dict[str, NDArray[np.integer]]:
        """The atoms that each candidate adds and deletes, over its copies; one without objects over all of them."""
        numbering, things = self._states.numbering(task), len(task.objects)
        changes, found = numbering.changes(state, choice), {}
        begin = things * (1 + changes.owners[:, None])
        for name, arity in self._changing.items():
            rows = begin + (changes.arguments[:, :arity] if arity else 0)
            of_it = changes.predicates == numbering.predicates[name]
            for (added, wanted), kind in CHANGES.items():
                chosen = rows[of_it & (changes.added == added) & (changes.wanted if wanted else True)]
                found[f"{name}:{kind}"] = chosen if arity else (chosen + np.arange(things)).reshape(-1, 1)
        return found


def tree_encoder(domain: DomainText, config: TreeConfig) -> LookaheadEncoder:
    """What makes graphs of states with their candidates as a configuration says."""
    return PairEncoder(domain, config) if config.copied else TreeEncoder(domain, config)


def _copied(rows: NDArray[np.integer], things: int, count: int) -> NDArray[np.integer]:
    """The tuples [m, arity] for so many copies of all objects, one copy after the other [m * count, arity]."""
    starts = things * np.arange(count)
    return (starts[:, None, None] + rows[None]).reshape(-1, rows.shape[1])
