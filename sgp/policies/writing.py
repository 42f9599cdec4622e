"""Policies that take the action which a transformer writes, token by token.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. What was written so far is the
chain of nodes. A ranking tells each token with its probability, and how writing failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.encoders.tokens import END, Tokens
from sgp.errors import PlanError
from sgp.planning.clock import look
from sgp.planning.pddl import Action
from sgp.planning.policy import Node, Ranking, Rules
from sgp.planning.task import State, Successor, Task
from sgp.policies.writers import MOST_TOKENS, Tail, Told, Writer

How = Literal["greedy", "applicable", "regrounding", "ranked"]
_NOTHING = Tail(np.empty(0), 0)  # of a state that is read anew
TIE = 1e-4  # logits that differ by so much are alike: last bits depend on what is computed beside


@dataclass(frozen=True, eq=False)
class _Met:
    """A state that was read on the way, behind so many tokens, with what came of it, and those met `before` it.

    `actions` are those of the candidates that were ranked: one alone where it was forced.
    """

    state: State
    actions: Sequence[tuple[Action, ...]]
    ranking: Ranking
    length: int
    before: _Met | None

    def find(self, state: State) -> _Met | None:
        """Where this state was met; None where it was not."""
        met: _Met | None = self
        while met is not None and met.state != state:
            met = met.before
        return met


class _Behind(NamedTuple):
    """What a candidate's node is to go on behind: tokens of its action, where these were not written, behind others.

    `met` are the states on the way, where these are read anew.
    """

    tail: Tail
    row: Sequence[int] = ()
    met: _Met | None = None

    @property
    def length(self) -> int:
        """The tokens that stand before what follows."""
        return self.tail.length + len(self.row)


@dataclass(eq=False)
class _Pen:
    """An action that is written: its tokens and what is behind them, how probable each was, and why it is none.

    Where rows are `allowed`, it becomes one of them.
    """

    tail: Tail
    objects: Mapping[int, str]
    allowed: Sequence[list[int]] | None = None
    row: list[int] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True, eq=False)
class WrittenActions:
    """Costs what is written 0 and all else infinity; `ranked` costs all by their probability.

    `greedy` writes the most probable token each time, `applicable` the most probable of those that lead to an
    applicable action, both behind the whole plan so far; `regrounding` reads every state anew and writes one applicable
    action; `ranked` reads every state anew, too, and costs an action by -log of its probability among the applicable
    ones. A state that is met again has what came of it before. The first three take no goal state that was not written.
    Names are drawn by `seed` and the problem's text.
    """

    writer: Writer
    tokens: Tokens
    how: How
    seed: int = 0

    @property
    def rules(self) -> Rules:
        """Costs add up; what was written counts alone, unless actions are ranked."""
        return Rules(additive=True, only_chosen=self.how != "ranked")

    def refuses(self, task: Task) -> str | None:
        """What tokens and writer say."""
        return self.tokens.refuses(task) or self.writer.refuses(self.tokens, task, task.init)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """One ranking per node; they are written token by token beside each other."""
        known = [
            self._again(node, choice) or self._refusal(node, choice)
            for node, choice in zip(nodes, choices, strict=True)
        ]
        ranked = self._ranked if self.how == "ranked" else self._chosen
        pairs = zip(nodes, choices, known, strict=True)
        found = iter(ranked([(node, choice) for node, choice, ranking in pairs if ranking is None]))
        return [
            self._remembered(node, choice, next(found)) if ranking is None else ranking
            for node, choice, ranking in zip(nodes, choices, known, strict=True)
        ]

    def sample(self, task: Task) -> dict[str, NDArray[np.float64]]:
        """The logits [tokens] of the first token of a plan, by which a run is verified."""
        (begun,) = self.writer.begin(self.tokens, [self._told(task, task.init)])
        return {"logits": begun.following}

    @property
    def _anew(self) -> bool:
        """Whether every state is read anew."""
        return self.how in ("regrounding", "ranked")

    def _refusal(self, node: Node, choice: Sequence[Successor]) -> Ranking | None:
        """That a state cannot be read that is read anew; None where it can."""
        reason = self.writer.refuses(self.tokens, node.task, node.state) if self._anew else None
        return None if reason is None else Ranking(np.full(len(choice), np.inf), reason=reason)

    def _again(self, node: Node, choice: Sequence[Successor]) -> Ranking | None:
        """What came of this state before on the way, where it was read and there is room to write as much again.

        None where it was not, or other candidates were ranked.
        """
        behind: _Behind | None = node.memory
        met = behind.met.find(node.state) if behind is not None and behind.met is not None else None
        if behind is None or met is None or met.actions != [each.actions for each in choice]:
            return None
        further = behind.length - met.length
        memories = [each._replace(tail=_moved(each.tail, further)) for each in met.ranking.memories or ()]
        if max((each.length for each in memories), default=0) > MOST_TOKENS:
            return None
        return replace(met.ranking, memories=[each._replace(met=behind.met) for each in memories])

    def _remembered(self, node: Node, choice: Sequence[Successor], ranking: Ranking) -> Ranking:
        """The same with the state kept for those behind it, where states are read anew."""
        if not self._anew or ranking.reason:
            return ranking
        behind: _Behind | None = node.memory
        actions = [each.actions for each in choice]
        met = _Met(node.state, actions, ranking, behind.length if behind else 0, behind.met if behind else None)
        return replace(ranking, memories=[each._replace(met=met) for each in ranking.memories or ()])

    def _told(self, task: Task, state: State) -> Told:
        return Told(task, state, self.tokens.drawn_naming(task, self.seed))

    def _ranked(self, asked: Sequence[tuple[Node, Sequence[Successor]]]) -> list[Ranking]:
        told = [self._told(node.task, node.state) for node, _ in asked]
        begun = self.writer.begin(self.tokens, told)
        rows = [self._rows(one, choice) for one, (_, choice) in zip(told, asked, strict=True)]
        behind = [tail for tail, each in zip(begun, rows, strict=True) for _ in each]
        scores = self.writer.weigh(behind, [row for each in rows for row in each])
        parts = np.split(scores, np.cumsum([len(each) for each in rows])[:-1])
        return [Ranking(np.logaddexp.reduce(part) - part, memories=[_Behind(_NOTHING)] * len(part)) for part in parts]

    def _chosen(self, asked: Sequence[tuple[Node, Sequence[Successor]]]) -> list[Ranking]:
        told = [self._told(node.task, node.state) for node, _ in asked]
        rows = [self._rows(one, choice) for one, (_, choice) in zip(told, asked, strict=True)]
        tails = self._tails([node for node, _ in asked], told)
        pens = [
            _Pen(tail, self.tokens.objects(one.task, one.naming), None if self.how == "greedy" else each)
            for tail, one, each in zip(tails, told, rows, strict=True)
        ]
        self._write(pens)
        pairs = zip(asked, pens, tails, rows, strict=True)
        return [self._ranking(node, choice, pen, tail, each) for (node, choice), pen, tail, each in pairs]

    def _ranking(
        self, node: Node, choice: Sequence[Successor], pen: _Pen, tail: Tail, rows: Sequence[list[int]]
    ) -> Ranking:
        """What is written against the candidates: `tail` is what it stands behind."""
        costs, reason, written = np.full(len(choice), np.inf), pen.failure, self._words(pen)
        memories = [_Behind(self._left(tail), row) for row in rows]
        if not reason and pen.row not in rows:
            schema, *objects = (word for word, _ in written)
            action = Action(schema, tuple(objects))
            reason = f"{'inapplicable' if self._is_inapplicable(node, action) else 'no candidate'}: {action}"
        if not reason:
            place = rows.index(pen.row)
            if self.how == "greedy" and node.task.is_goal(choice[place].state):
                reason, further = self._end(node.task, choice[place].state, pen)
                written += further
            if not reason:
                costs[place], memories[place] = 0.0, _Behind(self._left(pen.tail))
        return Ranking(costs, memories=memories, reason=reason, written=written)

    def _words(self, pen: _Pen) -> tuple[tuple[str, float], ...]:
        """The tokens of a pen in words, each with its probability."""
        words = (self.tokens.schemas.get(token) or self.tokens.word(token, pen.objects) for token in pen.row)
        return tuple(zip(words, (round(each, 4) for each in pen.probabilities), strict=True))

    def _left(self, tail: Tail) -> Tail:
        """What a node keeps of a tail: where states are read anew, its length alone."""
        return _moved(_NOTHING, tail.length) if self.how == "regrounding" else tail

    def _is_inapplicable(self, node: Node, action: Action) -> bool:
        """Whether it is, or too many actions are applicable, so that another one stands for it."""
        try:
            node.task.apply(node.state, action)
        except PlanError:
            return True
        return False

    def _rows(self, told: Told, choice: Sequence[Successor]) -> list[list[int]]:
        """The tokens of the candidates' actions, which are one action away."""
        return [
            self.tokens.named(self.tokens.actions(told.task, each.actions), told.naming).tolist() for each in choice
        ]

    def _tails(self, nodes: Sequence[Node], told: Sequence[Told]) -> list[Tail]:
        """What the next actions are written behind."""
        again = [node.memory is None or self.how == "regrounding" for node in nodes]
        begun = iter(self.writer.begin(self.tokens, [one for one, anew in zip(told, again, strict=True) if anew]))
        forced = [node.memory for node, anew in zip(nodes, again, strict=True) if not anew and node.memory.row]
        went = iter(self.writer.write([each.tail for each in forced], [each.row for each in forced]))
        tails = list[Tail]()
        for node, anew in zip(nodes, again, strict=True):
            behind: _Behind | None = node.memory
            if behind is None:
                tails.append(next(begun))
            elif anew:
                tails.append(replace(next(begun), length=behind.length))
            else:
                tails.append(next(went) if behind.row else behind.tail)
        return tails

    def _write(self, pens: Sequence[_Pen]) -> None:
        """Writes an action with every pen, a token of each at a time."""
        writing = list(pens)
        while writing:
            look()
            for pen in writing:
                self._choose(pen)
            writing = [pen for pen in writing if not pen.failure]
            tails = self.writer.write([pen.tail for pen in writing], [pen.row[-1:] for pen in writing])
            for pen, tail in zip(writing, tails, strict=True):
                pen.tail = tail
            writing = [pen for pen in writing if len(pen.row) < self._length(pen.row[0])]

    def _choose(self, pen: _Pen) -> None:
        """The most probable token of those that may follow."""
        if pen.tail.length >= MOST_TOKENS:
            pen.failure = f"the plan has more than {MOST_TOKENS} tokens"
            return
        logits, count = pen.tail.following, len(pen.row)
        possible = pen.objects if pen.row else [*self.tokens.schemas, END]  # what can stand here comes first
        order = list(dict.fromkeys([*possible, *range(len(logits))]))
        token = _most_probable(order, logits[order])
        if pen.allowed is not None:
            order = list(dict.fromkeys(each[count] for each in pen.allowed if each[:count] == pen.row))
            # What greedy writing takes stands wherever it can, so that all that it solves is solved.
            token = token if token in order else _most_probable(order, logits[order])
        pen.probabilities.append(float(np.exp(logits[token] - np.logaddexp.reduce(logits))))
        pen.failure = self._misplaced(pen.row, token, pen.objects)
        pen.row.append(token)

    def _length(self, schema: int) -> int:
        """The tokens of an action."""
        return 1 + len(self.tokens.vocabulary.domain.schemas[self.tokens.schemas[schema]].parameters)

    def _misplaced(self, row: Sequence[int], token: int, objects: Mapping[int, str]) -> str:
        """Why a token cannot stand behind an action's first ones; nothing where it can."""
        if token in (objects if row else self.tokens.schemas):
            return ""
        if token == END and not row:
            return "the plan ends before the goal holds"
        word = self.tokens.word(token, objects)
        if not row:
            return f"ill-formed: {word} stands where an action should"
        begun = " ".join([self.tokens.schemas[row[0]], *(objects[each] for each in row[1:])])
        return f"ill-formed: {word} stands where an object of ({begun} ...) should"

    def _end(self, task: Task, state: State, pen: _Pen) -> tuple[str, tuple[tuple[str, float], ...]]:
        """Why a plan that has reached the goal is none once it ends, and the tokens that say so; nothing where it is.

        Greedy writing goes on to the end, and all that it writes counts.
        """
        tail = pen.tail
        while True:
            further = _Pen(tail, pen.objects)
            self._write([further])
            if further.row == [END]:
                return ("" if task.is_goal(state) else "the goal held, and no longer does where the plan ends"), ()
            if further.failure:
                return f"the goal held, then: {further.failure}", self._words(further)
            schema, *arguments = further.row
            action = Action(self.tokens.schemas[schema], tuple(pen.objects[each] for each in arguments))
            try:
                state = task.apply(state, action)
            except PlanError:
                return f"the goal held, then: inapplicable: {action}", self._words(further)
            tail = further.tail


def _moved(tail: Tail, further: int) -> Tail:
    """The same behind so many more tokens."""
    return replace(tail, length=tail.length + further)


def _most_probable(tokens: Sequence[int], logits: NDArray[np.float64]) -> int:
    """The most probable of some tokens, of those that are alike the first."""
    return tokens[int(np.argmax(logits >= logits.max() - TIE))]
