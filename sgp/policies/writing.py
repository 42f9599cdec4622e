"""Policies that take the action which a transformer writes, token by token.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. What was written so far is the
chain of nodes; each keeps the keys and values of its own tokens, so that nothing is computed twice. A ranking's note
tells each token with its probability, and its reason how writing failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgp.encoders.tokens import BEGIN, END, Naming, Tokens
from sgp.errors import PlanError
from sgp.models.device import Device
from sgp.models.transformer import Kept, PlanTransformer, SequenceTransformer
from sgp.planning.clock import look, looking
from sgp.planning.pddl import Action
from sgp.planning.policy import Node, Ranking, Rules
from sgp.planning.task import State, Successor, Task

How = Literal["greedy", "applicable", "regrounding", "ranked"]
MOST_TOKENS = 500  # of all that is written for a problem (symt, section 5)
_AT_ONCE = 1 << 16  # tokens behind which actions are weighed together


@dataclass(frozen=True, eq=False)
class Tail:
    """What is written up to some token: keys and values of the tokens since `before`, by layer, and what comes next.

    `context` is the model's own: what it knows of the state. `following` [tokens] has the logits of the next token,
    `length` tokens were written since the begin.
    """

    context: tuple[Kept, Tensor] | None
    kept: Sequence[Kept]
    before: Tail | None
    following: NDArray[np.float64]
    length: int

    def all_kept(self) -> list[Kept]:
        """Keys and values of all tokens from the first, by layer."""
        parts, tail = list[Sequence[Kept]](), self
        while True:
            parts.append(tail.kept)
            if tail.before is None:
                break
            tail = tail.before
        joined = [list(reversed(layer)) for layer in zip(*parts, strict=True)]
        return [
            Kept(torch.cat([each.keys for each in layer], dim=2), torch.cat([each.values for each in layer], dim=2))
            for layer in joined
        ]


class Writer(Protocol):
    """A model that reads a state and writes tokens behind it."""

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Why it cannot read a state and write behind it, or None where it can."""

    def begin(self, tokens: Tokens, task: Task, state: State, naming: Naming) -> Tail:
        """Reads a state; nothing is written."""
        ...

    def write(self, tail: Tail, row: Sequence[int]) -> Tail:
        """Writes tokens (at least one) behind others."""
        ...

    def weigh(self, tail: Tail, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The logits [n, t, tokens] behind each token of rows [n, t], each of them written behind the same others."""
        ...


@dataclass(frozen=True, eq=False)
class PlanWriter:
    """SymT-ED as a writer."""

    model: PlanTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """No state has too many atoms."""
        return None

    @torch.inference_mode()
    def begin(self, tokens: Tokens, task: Task, state: State, naming: Naming) -> Tail:
        """Encodes the state's atoms."""
        atoms = torch.as_tensor(tokens.named(tokens.state(task, state), naming), device=self.device)[None]
        real = torch.ones(atoms.shape[:2], dtype=torch.bool, device=self.device)
        context = self.model.crossed(self.model.encode(atoms, real))
        return self._written(context, None, [BEGIN], 0)

    @torch.inference_mode()
    def write(self, tail: Tail, row: Sequence[int]) -> Tail:
        """Decodes tokens behind those before."""
        return self._written(tail.context, tail, row, tail.length + len(row))

    @torch.inference_mode()
    def weigh(self, tail: Tail, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """All rows at once."""
        assert tail.context is not None
        (told, atoms), kept = tail.context, tail.all_kept()

        def logits(part: Tensor) -> Tensor:
            context = (_repeated(told, len(part)), atoms.expand(len(part), -1))
            before = [_repeated(each, len(part)) for each in kept]
            return self.model.decode(part, torch.ones_like(part, dtype=torch.bool), context, before)[0]

        return _weighed(logits, rows, kept, self.device)

    def _written(
        self, context: tuple[Kept, Tensor] | None, before: Tail | None, row: Sequence[int], length: int
    ) -> Tail:
        assert context is not None
        plans = torch.tensor([list(row)], device=self.device)
        earlier = before.all_kept() if before else []
        logits, kept = self.model.decode(plans, torch.ones_like(plans, dtype=torch.bool), context, earlier)
        return Tail(context, kept, before, logits[0, -1].double().cpu().numpy(), length)


@dataclass(frozen=True, eq=False)
class SequenceWriter:
    """PlanGPT as a writer."""

    model: SequenceTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Its positions are so many."""
        length = tokens.sequence_length(task, state)
        if length + MOST_TOKENS <= self.model.positions:
            return None
        return (
            f"state and goal have {length} tokens and a plan up to {MOST_TOKENS}, and the model "
            f"{self.model.positions} positions"
        )

    @torch.inference_mode()
    def begin(self, tokens: Tokens, task: Task, state: State, naming: Naming) -> Tail:
        """Reads state and goal."""
        return self._written(None, tokens.sequence(task, state, naming).tolist(), 0)

    @torch.inference_mode()
    def write(self, tail: Tail, row: Sequence[int]) -> Tail:
        """Goes on with the sequence."""
        return self._written(tail, row, tail.length + len(row))

    @torch.inference_mode()
    def weigh(self, tail: Tail, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """All rows at once."""
        kept = tail.all_kept()

        def logits(part: Tensor) -> Tensor:
            before = [_repeated(each, len(part)) for each in kept]
            return self.model.decode(part, torch.ones_like(part, dtype=torch.bool), before)[0]

        return _weighed(logits, rows, kept, self.device)

    def _written(self, before: Tail | None, row: Sequence[int], length: int) -> Tail:
        sequences = torch.tensor([list(row)], device=self.device)
        earlier = before.all_kept() if before else []
        logits, kept = self.model.decode(sequences, torch.ones_like(sequences, dtype=torch.bool), earlier)
        return Tail(None, kept, before, logits[0, -1].double().cpu().numpy(), length)


class _Behind(NamedTuple):
    """What a candidate's node is to go on behind: tokens of its action, where these were not written, behind others."""

    tail: Tail
    row: Sequence[int] = ()


class _Written(NamedTuple):
    """An action's tokens, the probability of each, what is behind them, and why there is no action."""

    row: list[int]
    probabilities: list[float]
    tail: Tail
    failure: str


@dataclass(frozen=True, eq=False)
class WrittenActions:
    """Costs what is written 0 and all else infinity; `ranked` costs all by their probability.

    `greedy` writes the most probable token each time, `applicable` the most probable of those that lead to an
    applicable action, both behind the whole plan so far; `regrounding` reads every state anew and writes one applicable
    action; `ranked` reads every state anew, too, and costs an action by -log of its probability among the applicable
    ones. The first three take no goal state that was not written. Names are drawn by `seed` and the problem's text.
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
        """One ranking per node, one after the other: what is computed beside would change last bits."""
        each = self._ranked if self.how == "ranked" else self._chosen
        return [each(node, choice) for node, choice in zip(nodes, choices, strict=True)]

    def sample(self, task: Task) -> dict[str, NDArray[np.float64]]:
        """The logits [tokens] of the first token of a plan, by which a run is verified."""
        naming = self.tokens.drawn_naming(task, self.seed)
        return {"logits": self.writer.begin(self.tokens, task, task.init, naming).following}

    def _ranked(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        look()
        refusal = self.writer.refuses(self.tokens, node.task, node.state)
        if refusal is not None:
            return Ranking(np.full(len(choice), np.inf), reason=refusal)
        naming = self.tokens.drawn_naming(node.task, self.seed)
        rows = self._rows(node.task, choice, naming)
        tail = self.writer.begin(self.tokens, node.task, node.state, naming)
        longest = max(map(len, rows))
        padded = np.array([row + [END] * (longest - len(row)) for row in rows], np.int64)
        first = np.broadcast_to(tail.following, (len(rows), 1, len(tail.following)))
        following = np.concatenate([first, self.writer.weigh(tail, padded)], axis=1)
        logs = following - np.logaddexp.reduce(following, axis=2)[:, :, None]
        there = np.arange(longest)[None] < np.array([len(row) for row in rows])[:, None]
        each = np.take_along_axis(logs[:, :longest], padded[:, :, None], axis=2)[:, :, 0]
        scores = (each * there).sum(axis=1)
        return Ranking(np.asarray(np.logaddexp.reduce(scores) - scores))

    def _chosen(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        task, naming = node.task, self.tokens.drawn_naming(node.task, self.seed)
        refusal = self.writer.refuses(self.tokens, task, node.state) if self.how == "regrounding" else None
        if refusal is not None:
            return Ranking(np.full(len(choice), np.inf), reason=refusal)
        objects = self.tokens.objects(task, naming)
        rows = self._rows(task, choice, naming)
        tail = self._tail(node, naming)
        written = self._write(tail, objects, None if self.how == "greedy" else rows)
        words = [self.tokens.schemas.get(token) or self.tokens.word(token, objects) for token in written.row]
        costs, reason = np.full(len(choice), np.inf), written.failure
        if not reason and written.row not in rows:
            action = Action(words[0], tuple(words[1:]))
            reason = f"{'inapplicable' if self._is_inapplicable(node, action) else 'no candidate'}: {action}"
        if not reason:
            place = rows.index(written.row)
            if self.how == "greedy" and task.is_goal(choice[place].state):
                reason = self._end(task, choice[place].state, written.tail, objects)
            if not reason:
                costs[place] = 0.0
        note = {"written": words, "probabilities": [round(each, 4) for each in written.probabilities]}
        memories = [_Behind(tail, row) for row in rows]
        if not reason:
            memories[place] = _Behind(written.tail)
        return Ranking(costs, memories=memories, note=note, reason=reason)

    def _is_inapplicable(self, node: Node, action: Action) -> bool:
        """Whether it is, or too many actions are applicable, so that another one stands for it."""
        try:
            node.task.apply(node.state, action)
        except PlanError:
            return True
        return False

    def _rows(self, task: Task, choice: Sequence[Successor], naming: Naming) -> list[list[int]]:
        """The tokens of the candidates' actions, which are one action away."""
        return [self.tokens.named(self.tokens.actions(task, each.actions), naming).tolist() for each in choice]

    def _tail(self, node: Node, naming: Naming) -> Tail:
        """What the next action is written behind."""
        behind: _Behind | None = node.memory
        if behind is None:
            return self.writer.begin(self.tokens, node.task, node.state, naming)
        if self.how == "regrounding":
            begun = self.writer.begin(self.tokens, node.task, node.state, naming)
            return replace(begun, length=behind.tail.length + len(behind.row))
        return self.writer.write(behind.tail, behind.row) if behind.row else behind.tail

    def _write(self, tail: Tail, objects: Mapping[int, str], allowed: list[list[int]] | None) -> _Written:
        """The next action: its tokens are the most probable ones, where rows are `allowed` of those of one of them."""
        row, probabilities = list[int](), list[float]()
        while True:
            look()
            if tail.length >= MOST_TOKENS:
                return _Written(row, probabilities, tail, f"the plan has more than {MOST_TOKENS} tokens")
            logits = tail.following
            if allowed is not None:
                following = sorted({each[len(row)] for each in allowed if each[: len(row)] == row})
                token = following[int(logits[following].argmax())]
            else:
                token = int(logits.argmax())
            probabilities.append(float(np.exp(logits[token] - np.logaddexp.reduce(logits))))
            failure = self._misplaced(row, token, objects)
            row.append(token)
            if failure:
                return _Written(row, probabilities, tail, failure)
            tail = self.writer.write(tail, [token])
            if len(row) == 1 + len(self.tokens.vocabulary.domain.schemas[self.tokens.schemas[row[0]]].parameters):
                return _Written(row, probabilities, tail, "")

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

    def _end(self, task: Task, state: State, tail: Tail, objects: Mapping[int, str]) -> str:
        """Why a plan that has reached the goal is none once it ends; nothing where it is one.

        Greedy writing goes on to the end, and all that it writes counts.
        """
        while int(tail.following.argmax()) != END:
            written = self._write(tail, objects, None)
            if written.failure:
                return f"the goal held, then: {written.failure}"
            schema, *arguments = written.row
            action = Action(self.tokens.schemas[schema], tuple(objects[each] for each in arguments))
            try:
                state = task.apply(state, action)
            except PlanError:
                return f"the goal held, then: inapplicable: {action}"
            tail = written.tail
        return "" if task.is_goal(state) else "the goal held, and no longer does where the plan ends"


def _weighed(
    logits: Callable[[Tensor], Tensor], rows: NDArray[np.int64], kept: Sequence[Kept], device: Device
) -> NDArray[np.float64]:
    """The logits of rows behind kept tokens, so many at a time that memory stays bounded."""
    step = max(1, _AT_ONCE // (kept[0].keys.shape[2] + rows.shape[1]))
    parts = (torch.as_tensor(rows[begin : begin + step], device=device) for begin in range(0, len(rows), step))
    return np.concatenate([logits(part).double().cpu().numpy() for part in looking(parts)])


def _repeated(kept: Kept, count: int) -> Kept:
    return Kept(kept.keys.expand(count, -1, -1, -1), kept.values.expand(count, -1, -1, -1))
