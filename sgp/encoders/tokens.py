"""States, goals and plans as tokens of named objects: input and output of a transformer.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 4. Every atom is one token, made of
its predicate and the names of its objects. Goal atoms have predicates of their own; static atoms and types are
included. A plan is a sequence of action schemas, each followed by the names of its objects. Names are from a fixed
vocabulary; a `Naming` maps a problem's objects, given by their indices in the task, to distinct names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.relations import refusal_of_goal, refusal_of_schemas, supertypes
from sgp.errors import check_fields
from sgp.planning.pddl import Action, Atom, DomainText
from sgp.planning.states import State
from sgp.planning.task import Task, TaskCache

Numbers = NDArray[np.int64]
Naming = Numbers  # [objects]: the name of each object of a task, numbered from 0
PAD, BEGIN, END = 0, 1, 2  # BEGIN precedes the first action, END follows the last
START, GOAL = 3, 4  # in a single sequence, START precedes the state and GOAL the goal
_SPECIAL = 5
_SPECIAL_WORDS = {PAD: "nothing", BEGIN: "the begin", END: "the end", START: "a state", GOAL: "a goal"}


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a domain, among them its constants, which all problems have, then the names."""

    domain: DomainText
    names: int = 128

    def __post_init__(self) -> None:
        check_fields(self, "the vocabulary's", names=1)

    @cached_property
    def domain_tokens(self) -> list[str]:
        """Descriptions of the domain tokens, which follow the special tokens, in their order."""
        return [
            *self.domain.predicates,
            *(f"{name}:goal" for name in self.domain.predicates),
            *(f"{name}:type" for name in sorted(supertypes(self.domain, self.domain.types))),
            *(f"{name}:schema" for name in self.domain.schemas),
            *(f"{item.name}:constant" for item in self.domain.constants),
        ]

    def __len__(self) -> int:
        """Number of all tokens."""
        return self.first_name + self.names

    @cached_property
    def first_name(self) -> int:
        """Token of name 0."""
        return _SPECIAL + len(self.domain_tokens)

    @property
    def arity(self) -> int:
        """Maximal number of objects of an atom, at least 1."""
        return max([1, *self.domain.predicates.values()])


class Tokens:
    """Encoder of states, goals and plans as tokens; the object with index i in the task is `-1 - i` until named."""

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._numbers = {what: number for number, what in enumerate(vocabulary.domain_tokens, _SPECIAL)}
        self.schemas = {self._numbers[f"{name}:schema"]: name for name in vocabulary.domain.schemas}
        goals = [number for what, number in self._numbers.items() if what.endswith(":goal")]
        self._goals = range(min(goals, default=0), max(goals, default=-1) + 1)
        self._constants = {item.name: self._numbers[f"{item.name}:constant"] for item in vocabulary.domain.constants}
        self._places: TaskCache[dict[str, int]] = TaskCache()
        self._fixed: TaskCache[list[list[int]]] = TaskCache()

    def refuses(self, task: Task) -> str | None:
        """Return why the problem cannot be encoded, or None."""
        task.require_domain(self.vocabulary.domain)
        refusal = refusal_of_schemas(self.vocabulary.domain, task)
        if refusal is not None:
            return refusal
        named = len(self._of(task))
        if named > self.vocabulary.names:
            return (
                f"the problem has {named} objects to name, and the vocabulary {self.vocabulary.names} names; train "
                f"with names={named} or more"
            )
        return refusal_of_goal(task, "tokens")

    def naming(self, task: Task, random: np.random.Generator) -> Naming:
        """Return random names for the objects of a task, for which `refuses` returns None."""
        return random.permutation(self.vocabulary.names)[: len(self._of(task))]

    def drawn_naming(self, task: Task, seed: int = 0) -> Naming:
        """Return names drawn with a seed and the problem's text, which are the same on every call."""
        return self.naming(task, np.random.default_rng((seed, int(task.problem.sha256[:15], 16))))

    def named(self, rows: Numbers, naming: Naming) -> Numbers:
        """Replace objects in an array [...] of tokens by their names."""
        if not len(naming):
            return rows
        return np.where(rows < 0, self.vocabulary.first_name + naming[np.maximum(-1 - rows, 0)], rows)

    def state(self, task: Task, state: State) -> Numbers:
        """Return a padded row [n, 1 + arity] of predicate and objects for each atom of a state and of the goal."""
        fixed = self._fixed.of(task, lambda: self._fixed_rows(task))
        fluents = [self._atom(task, task.fluent(index)) for index in task.fluents(state)]
        return np.array([*fluents, *fixed], np.int64).reshape(-1, 1 + self.vocabulary.arity)

    def sequence(self, task: Task, state: State, naming: Naming) -> Numbers:
        """Return state and goal as one row of tokens [t], each sorted: the input of PlanGPT (symt, section 2)."""
        rows = self.named(self.state(task, state), naming)
        shift = self._goals.start - _SPECIAL
        wanted = (rows[:, 0] >= self._goals.start) & (rows[:, 0] < self._goals.stop)
        parts = []
        for mark, part in ((START, rows[~wanted]), (GOAL, rows[wanted] - [shift, *[0] * self.vocabulary.arity])):
            ordered = part[np.lexsort(part.T[::-1])].ravel()
            parts += [[mark], ordered[ordered != PAD]]
        return np.concatenate([*parts, [BEGIN]])

    def sequence_length(self, task: Task, state: State) -> int:
        """Return the length of `sequence`, which does not depend on the naming."""
        return int((self.state(task, state) != PAD).sum()) + 3  # START, GOAL and BEGIN

    def actions(self, task: Task, plan: Sequence[Action]) -> Numbers:
        """Return the tokens [t] of successive actions."""
        tokens = list[int]()
        for action in plan:
            tokens += [self._numbers[f"{action.name}:schema"], *(self._object(task, name) for name in action.objects)]
        return np.array(tokens, np.int64)

    def objects(self, task: Task, naming: Naming) -> dict[int, str]:
        """Return the objects of a task by their tokens under a naming."""
        names = {self.vocabulary.first_name + int(naming[place]): name for name, place in self._of(task).items()}
        return {token: name for name, token in self._constants.items()} | names

    def word(self, token: int, objects: Mapping[int, str]) -> str:
        """Return a readable description of a token."""
        if token in objects:
            return objects[token]
        if token >= self.vocabulary.first_name:
            return f"name {token - self.vocabulary.first_name}"
        return _SPECIAL_WORDS.get(token) or self.vocabulary.domain_tokens[token - _SPECIAL].replace(":", " as ")

    def _fixed_rows(self, task: Task) -> list[list[int]]:
        """Return the rows that are the same in every state: goal, static atoms, types."""
        wanted = [
            atom for atom in dict.fromkeys(task.goal_atoms) if atom.predicate in self.vocabulary.domain.predicates
        ]
        goals = [self._atom(task, atom, ":goal") for atom in wanted]  # an equation between objects is always true
        static = [self._atom(task, atom) for atom in task.static_atoms]
        kinds = [
            self._row(self._numbers[f"{kind}:type"], [self._object(task, item.name)])
            for item in task.objects
            for kind in sorted(supertypes(task.domain_text, item.types))
            if f"{kind}:type" in self._numbers  # the same domain may be written with different types
        ]
        return [*goals, *static, *kinds]

    def _atom(self, task: Task, atom: Atom, suffix: str = "") -> list[int]:
        return self._row(
            self._numbers[f"{atom.predicate}{suffix}"], [self._object(task, name) for name in atom.objects]
        )

    def _row(self, predicate: int, objects: list[int]) -> list[int]:
        return [predicate, *objects, *[PAD] * (self.vocabulary.arity - len(objects))]

    def _object(self, task: Task, name: str) -> int:
        constant = self._constants.get(name)
        return -1 - self._of(task)[name] if constant is None else constant

    def _of(self, task: Task) -> dict[str, int]:
        """Return the indices of a task's objects that need names."""
        constants = self._constants
        return self._places.of(
            task, lambda: dict(zip((name for name, _ in task.objects if name not in constants), count(), strict=False))
        )
