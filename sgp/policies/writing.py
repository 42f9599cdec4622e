"""Policies that take the action that a transformer writes, token by token.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. A ranking reports each written
token with its probability, and why no action was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.tokens import END, Tokens
from sgp.errors import PlanError
from sgp.planning.clock import check_limits
from sgp.planning.pddl import Action
from sgp.planning.policy import Node, Ranking, Rules
from sgp.planning.task import State, Successor, Task
from sgp.policies.writers import MOST_TOKENS, DecoderInput, Prefix, Writer

How = Literal["greedy", "applicable", "regrounding", "ranked"]
_EMPTY = Prefix(np.empty(0), 0)  # placeholder for states that are read again
TIE = 1e-4  # logits within this are equal, because the last bits depend on the batch


@dataclass(frozen=True, eq=False)
class VisitedState:
    """A state read earlier on the path, after `length` tokens, with its ranking and the previous visited state.

    `actions` are those of the ranked candidates.
    """

    state: State
    actions: Sequence[tuple[Action, ...]]
    ranking: Ranking
    length: int
    previous: VisitedState | None

    def find(self, state: State) -> VisitedState | None:
        """Return the earlier visit of this state, or None."""
        visited: VisitedState | None = self
        while visited is not None and visited.state != state:
            visited = visited.previous
        return visited


class _NodeState(NamedTuple):
    """Memory of a node: the prefix, the tokens of its action if not yet written, and the visited states."""

    prefix: Prefix
    row: Sequence[int] = ()
    visited: VisitedState | None = None

    @property
    def length(self) -> int:
        """The number of tokens before the next action."""
        return self.prefix.length + len(self.row)


@dataclass(eq=False)
class Hypothesis:
    """An action being written: its tokens, their probabilities, the prefix with them, and the reason of a failure.

    With `allowed` the action becomes one of these rows.
    """

    prefix: Prefix
    objects: Mapping[int, str]
    allowed: Sequence[list[int]] | None = None
    row: list[int] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True, eq=False)
class WrittenActions:
    """Policy that costs the written action 0 and all others infinity; `ranked` costs all actions by probability.

    `greedy` writes the most probable token at each step; `applicable` writes the most probable token that leads to an
    applicable action. Both continue the whole plan so far. `regrounding` reads every state again and writes one
    applicable action. `ranked` also reads every state again, and costs an action by -log of its probability among the
    applicable actions. A revisited state keeps its earlier ranking. The first three take no goal state that was not
    written. Names are drawn by `seed` and the problem's text.
    """

    writer: Writer
    tokens: Tokens
    how: How
    seed: int = 0

    @property
    def rules(self) -> Rules:
        """The rules for the planner: costs add up; only the written action counts, unless actions are ranked."""
        return Rules(additive=True, only_chosen=self.how != "ranked")

    def refuses(self, task: Task) -> str | None:
        """Return why the tokens or the writer cannot read the problem, or None."""
        return self.tokens.refuses(task) or self.writer.refuses(self.tokens, task, task.init)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; the actions of all nodes are written together, token by token."""
        pairs = list(zip(nodes, choices, strict=True))
        known = [self._known(node, choice) or self._refusal(node, choice) for node, choice in pairs]
        ranked = self._ranked if self.how == "ranked" else self._chosen
        new = iter(ranked([pair for pair, ranking in zip(pairs, known, strict=True) if ranking is None]))
        return [
            self._remembered(node, choice, next(new)) if ranking is None else ranking
            for (node, choice), ranking in zip(pairs, known, strict=True)
        ]

    def sample(self, task: Task) -> dict[str, NDArray[np.float64]]:
        """Return the logits [tokens] of the first token of a plan, used to verify a run."""
        (prefix,) = self.writer.begin(self.tokens, [self._input(task, task.init)])
        return {"logits": prefix.logits}

    @property
    def _reads_anew(self) -> bool:
        """Whether every state is read again."""
        return self.how in ("regrounding", "ranked")

    def _refusal(self, node: Node, choice: Sequence[Successor]) -> Ranking | None:
        """Return the ranking that refuses a state that cannot be read again; None where it can be read."""
        reason = self.writer.refuses(self.tokens, node.task, node.state) if self._reads_anew else None
        return None if reason is None else Ranking(np.full(len(choice), np.inf), reason=reason)

    def _known(self, node: Node, choice: Sequence[Successor]) -> Ranking | None:
        """Return the earlier ranking of this state if its tokens still fit the limit.

        None where the state was not visited, or other candidates were ranked.
        """
        memory: _NodeState | None = node.memory
        visited = memory.visited.find(node.state) if memory is not None and memory.visited is not None else None
        if memory is None or visited is None or visited.actions != [each.actions for each in choice]:
            return None
        further = memory.length - visited.length
        memories = [
            each._replace(prefix=_moved(each.prefix, further), visited=memory.visited)
            for each in visited.ranking.memories or ()
        ]
        if max((each.length for each in memories), default=0) > MOST_TOKENS:
            return None
        return replace(visited.ranking, memories=memories)

    def _remembered(self, node: Node, choice: Sequence[Successor], ranking: Ranking) -> Ranking:
        """Return the ranking with this state added to the visited states, where states are read again."""
        if not self._reads_anew or ranking.reason:
            return ranking
        memory: _NodeState | None = node.memory
        length, previous = (memory.length, memory.visited) if memory else (0, None)
        visited = VisitedState(node.state, [each.actions for each in choice], ranking, length, previous)
        return replace(ranking, memories=[each._replace(visited=visited) for each in ranking.memories or ()])

    def _input(self, task: Task, state: State) -> DecoderInput:
        return DecoderInput(task, state, self.tokens.drawn_naming(task, self.seed))

    def _ranked(self, pairs: Sequence[tuple[Node, Sequence[Successor]]]) -> list[Ranking]:
        inputs = [self._input(node.task, node.state) for node, _ in pairs]
        prefixes = self.writer.begin(self.tokens, inputs)
        rows = [self._rows(one, choice) for one, (_, choice) in zip(inputs, pairs, strict=True)]
        repeated = [prefix for prefix, each in zip(prefixes, rows, strict=True) for _ in each]
        logs = self.writer.log_probs(repeated, [row for each in rows for row in each])
        parts = np.split(logs, np.cumsum([len(each) for each in rows])[:-1])
        return [Ranking(np.logaddexp.reduce(part) - part, memories=[_NodeState(_EMPTY)] * len(part)) for part in parts]

    def _chosen(self, pairs: Sequence[tuple[Node, Sequence[Successor]]]) -> list[Ranking]:
        inputs = [self._input(node.task, node.state) for node, _ in pairs]
        rows = [self._rows(one, choice) for one, (_, choice) in zip(inputs, pairs, strict=True)]
        prefixes = self._prefixes([node for node, _ in pairs], inputs)
        hypotheses = [
            Hypothesis(prefix, self.tokens.objects(one.task, one.naming), None if self.how == "greedy" else allowed)
            for prefix, one, allowed in zip(prefixes, inputs, rows, strict=True)
        ]
        self._write(hypotheses)
        return [
            self._ranking(node, choice, hypothesis, prefix, some)
            for (node, choice), hypothesis, prefix, some in zip(pairs, hypotheses, prefixes, rows, strict=True)
        ]

    def _ranking(
        self,
        node: Node,
        choice: Sequence[Successor],
        hypothesis: Hypothesis,
        prefix: Prefix,
        rows: Sequence[list[int]],
    ) -> Ranking:
        """Compare the written action with the candidates' rows; `prefix` is the prefix before the action."""
        costs, reason, written = np.full(len(choice), np.inf), hypothesis.failure, self._words(hypothesis)
        memories = [_NodeState(self._stored(prefix), row) for row in rows]
        if not reason and hypothesis.row not in rows:
            schema, *objects = (word for word, _ in written)
            action = Action(schema, tuple(objects))
            reason = f"{'inapplicable' if self._is_inapplicable(node, action) else 'no candidate'}: {action}"
        if not reason:
            place = rows.index(hypothesis.row)
            if self.how == "greedy" and node.task.is_goal(choice[place].state):
                reason, further = self._end(node.task, choice[place].state, hypothesis)
                written += further
            if not reason:
                costs[place], memories[place] = 0.0, _NodeState(self._stored(hypothesis.prefix))
        return Ranking(costs, memories=memories, reason=reason, written=written)

    def _words(self, hypothesis: Hypothesis) -> tuple[tuple[str, float], ...]:
        """Return the tokens of an action in words, each with its probability."""
        schemas, objects = self.tokens.schemas, hypothesis.objects
        words = (schemas.get(token) or self.tokens.word(token, objects) for token in hypothesis.row)
        return tuple(zip(words, (round(each, 4) for each in hypothesis.probabilities), strict=True))

    def _stored(self, prefix: Prefix) -> Prefix:
        """Return the part of a prefix that a node stores: only its length where states are read again."""
        return _moved(_EMPTY, prefix.length) if self.how == "regrounding" else prefix

    def _is_inapplicable(self, node: Node, action: Action) -> bool:
        """Return whether the action is inapplicable; False means that it is applicable but not among the candidates."""
        try:
            node.task.apply(node.state, action)
        except PlanError:
            return True
        return False

    def _rows(self, one: DecoderInput, choice: Sequence[Successor]) -> list[list[int]]:
        """Return the tokens of the candidates' actions; each candidate is one action away."""
        return [self.tokens.named(self.tokens.actions(one.task, each.actions), one.naming).tolist() for each in choice]

    def _prefixes(self, nodes: Sequence[Node], inputs: Sequence[DecoderInput]) -> list[Prefix]:
        """Return the prefixes that the next actions continue."""
        anew = [node.memory is None or self.how == "regrounding" for node in nodes]
        begun = iter(self.writer.begin(self.tokens, [one for one, new in zip(inputs, anew, strict=True) if new]))
        forced = [node.memory for node, new in zip(nodes, anew, strict=True) if not new and node.memory.row]
        extended = iter(self.writer.write([each.prefix for each in forced], [each.row for each in forced]))
        prefixes = list[Prefix]()
        for node, new in zip(nodes, anew, strict=True):
            memory: _NodeState | None = node.memory
            if memory is None:
                prefixes.append(next(begun))
            elif new:
                prefixes.append(replace(next(begun), length=memory.length))
            else:
                prefixes.append(next(extended) if memory.row else memory.prefix)
        return prefixes

    def _write(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Write an action to each hypothesis, one token of each at a time."""
        active = list(hypotheses)
        while active:
            check_limits()
            for each in active:
                self._choose(each)
            active = [each for each in active if not each.failure]
            prefixes = self.writer.write([each.prefix for each in active], [each.row[-1:] for each in active])
            for each, prefix in zip(active, prefixes, strict=True):
                each.prefix = prefix
            active = [each for each in active if len(each.row) < self._length(each.row[0])]

    def _choose(self, hypothesis: Hypothesis) -> None:
        """Append the most probable of the possible next tokens."""
        row, objects, logits = hypothesis.row, hypothesis.objects, hypothesis.prefix.logits
        if hypothesis.prefix.length >= MOST_TOKENS:
            hypothesis.failure = f"the plan has more than {MOST_TOKENS} tokens"
            return
        possible = objects if row else [*self.tokens.schemas, END]  # of equal tokens a valid one is taken
        order = list(dict.fromkeys([*possible, *range(len(logits))]))
        token = _most_probable(order, logits[order])
        if hypothesis.allowed is not None:
            order = list(dict.fromkeys(each[len(row)] for each in hypothesis.allowed if each[: len(row)] == row))
            # Take the greedy token where allowed, so that this decoding solves all that greedy decoding solves.
            token = token if token in order else _most_probable(order, logits[order])
        hypothesis.probabilities.append(float(np.exp(logits[token] - np.logaddexp.reduce(logits))))
        hypothesis.failure = self._misplaced(row, token, objects)
        row.append(token)

    def _length(self, schema: int) -> int:
        """Return the number of tokens of an action."""
        return 1 + len(self.tokens.vocabulary.domain.schemas[self.tokens.schemas[schema]].parameters)

    def _misplaced(self, row: Sequence[int], token: int, objects: Mapping[int, str]) -> str:
        """Return why a token cannot follow an action's first tokens; empty where it can."""
        if token in (objects if row else self.tokens.schemas):
            return ""
        if token == END and not row:
            return "the plan ends before the goal holds"
        word = self.tokens.word(token, objects)
        if not row:
            return f"ill-formed: {word} in the place of an action"
        begun = " ".join([self.tokens.schemas[row[0]], *(objects[each] for each in row[1:])])
        return f"ill-formed: {word} in the place of an object of ({begun} ...)"

    def _end(self, task: Task, state: State, hypothesis: Hypothesis) -> tuple[str, tuple[tuple[str, float], ...]]:
        """Return why a plan that reached the goal fails before its end token, and the tokens that show it; else empty.

        Greedy decoding continues to the end token, and everything it writes counts.
        """
        prefix = hypothesis.prefix
        while True:
            further = Hypothesis(prefix, hypothesis.objects)
            self._write([further])
            if further.row == [END]:
                return ("" if task.is_goal(state) else "the goal held, and no longer does where the plan ends"), ()
            if further.failure:
                return f"the goal held, then: {further.failure}", self._words(further)
            schema, *arguments = further.row
            action = Action(self.tokens.schemas[schema], tuple(hypothesis.objects[each] for each in arguments))
            try:
                state = task.apply(state, action)
            except PlanError:
                return f"the goal held, then: inapplicable: {action}", self._words(further)
            prefix = further.prefix


def _moved(prefix: Prefix, further: int) -> Prefix:
    """Return the prefix shifted by `further` tokens."""
    return replace(prefix, length=prefix.length + further)


def _most_probable(tokens: Sequence[int], logits: NDArray[np.float64]) -> int:
    """Return the most probable token; of equal ones the first."""
    return tokens[int(np.argmax(logits >= logits.max() - TIE))]
