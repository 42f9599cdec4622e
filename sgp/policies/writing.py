"""Policies that take the action that a transformer writes, token by token.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 5. A ranking reports each written
token with its probability, and why no action was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgp.encoders.tokens import BEGIN, END, Naming, Tokens
from sgp.errors import PlanError
from sgp.models.device import Device
from sgp.models.transformer import (
    KeyValues,
    PastKeyValues,
    PlanTransformer,
    SequenceTransformer,
    TransformerShape,
    padded,
)
from sgp.planning.clock import check_limits
from sgp.planning.pddl import Action
from sgp.planning.policy import Node, Ranking, Rules
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, TaskCache

MOST_TOKENS = 500  # maximum number of tokens written for a problem (symt, section 5)
_BYTES = 1 << 28  # of keys, values and scores computed at once
_COPIES = 6  # of scores that exist at once


class DecoderInput(NamedTuple):
    """A state of a task with names for the objects."""

    task: Task
    state: State
    naming: Naming


@dataclass(frozen=True, eq=False)
class Prefix:
    """Tokens written so far: logits [tokens] of the next token, number of tokens, and the decoder's state."""

    logits: NDArray[np.float64]
    length: int
    state: Any = None


class KVCache:
    """A buffer [layers, 2, heads, capacity, d_k] of keys and values; the first `used` tokens are filled."""

    def __init__(self, buffer: Tensor, used: int):
        self.buffer, self.used = buffer, used


@dataclass(frozen=True, eq=False)
class _DecoderState:
    """The first `length` tokens of a cache; the encoder's keys and values [2, heads, atoms, d_k] (maybe 0 atoms)."""

    encoded: Tensor
    cache: KVCache
    length: int

    @property
    def key_values(self) -> Tensor:
        return self.cache.buffer[:, :, :, : self.length]

    def appended(self, new: Tensor) -> _DecoderState:
        """Append tokens, in the same cache unless it is full or already continues differently."""
        length, cache = self.length + new.shape[3], self.cache
        if cache.used != self.length or cache.buffer.shape[3] < length:
            cache = KVCache(new.new_empty((*new.shape[:3], 2 * length, new.shape[4])), self.length)
            cache.buffer[:, :, :, : self.length] = self.key_values
        cache.buffer[:, :, :, self.length : length] = new
        cache.used = length
        return _DecoderState(self.encoded, cache, length)


@dataclass(frozen=True, eq=False)
class Writer:
    """A network that reads states and writes tokens after them, for many rows at once, each after its own prefix."""

    model: PlanTransformer | SequenceTransformer
    device: Device

    def refuses(self, tokens: Tokens, task: Task, state: State) -> str | None:
        """Return why the model has too few positions to read a state and write after it, or None."""
        length = tokens.sequence_length(task, state) + MOST_TOKENS
        if isinstance(self.model, PlanTransformer) or length <= self.model.positions:
            return None
        return (
            f"state and goal have {length - MOST_TOKENS} tokens and a plan up to {MOST_TOKENS}, and the model "
            f"{self.model.positions} positions; train with positions={length} or more"
        )

    @torch.inference_mode()
    def begin(self, tokens: Tokens, inputs: Sequence[DecoderInput]) -> list[Prefix]:
        """Read states and goals and return their prefixes without written tokens."""
        shape = self.model.shape
        if not isinstance(self.model, PlanTransformer):
            rows = [tokens.sequence(each.task, each.state, each.naming).tolist() for each in inputs]
            none = self._empty(torch.empty((2, shape.heads, 0, shape.width), device=self.device))
            return self._append([none] * len(rows), rows, [0] * len(rows))
        named = [tokens.named(tokens.state(each.task, each.state), each.naming) for each in inputs]
        states = dict[int, _DecoderState]()
        for places in _batches([_size(shape, len(row), len(row)) for row in named]):
            atoms, real = padded([named[place] for place in places], self.device)
            encoded = torch.stack(list(self.model.crossed(self.model.encode(atoms, real))))
            for number, place in enumerate(places):
                states[place] = self._empty(encoded[:, number, :, : len(named[place])].clone())
        begun = [states[place] for place in range(len(named))]
        return self._append(begun, [[BEGIN]] * len(begun), [0] * len(begun))

    def write(self, prefixes: Sequence[Prefix], rows: Sequence[Sequence[int]]) -> list[Prefix]:
        """Append all rows in batches."""
        lengths = [prefix.length + len(row) for prefix, row in zip(prefixes, rows, strict=True)]
        return self._append([prefix.state for prefix in prefixes], rows, lengths)

    @torch.inference_mode()
    def log_probs(self, prefixes: Sequence[Prefix], rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the log probabilities of all rows, computed in batches."""
        found = np.empty(len(rows))
        for place, after, _ in self._decode_rows([prefix.state for prefix in prefixes], rows):
            logits = np.vstack([prefixes[place].logits, after[:-1]])
            logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
            found[place] = logs[np.arange(len(logs)), rows[place]].sum()
        return found

    @torch.inference_mode()
    def _append(
        self, states: Sequence[_DecoderState], rows: Sequence[Sequence[int]], lengths: Sequence[int]
    ) -> list[Prefix]:
        """Append a row to each state and return the prefixes, of the given lengths."""
        prefixes = {
            place: Prefix(logits[-1], lengths[place], states[place].appended(new))
            for place, logits, new in self._decode_rows(states, rows)
        }
        return [prefixes[place] for place in range(len(rows))]

    def _decode_rows(
        self, states: Sequence[_DecoderState], rows: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, NDArray[np.float64], Tensor]]:
        """Yield each row's index, the logits after each of its tokens, and its keys and values."""
        read = [each.encoded.shape[2] + each.length + len(row) for each, row in zip(states, rows, strict=True)]
        for places in _batches([_size(self.model.shape, len(row), of) for row, of in zip(rows, read, strict=True)]):
            tokens, present = padded([np.array(rows[place], np.int64) for place in places], self.device)
            some = [states[place] for place in places]
            if all(each is some[0] for each in some):  # true for the candidates of one node
                some = some[:1]
            encoded, real = _stacked([each.encoded for each in some], len(places))
            layers, cached = _stacked([each.key_values for each in some], len(places))
            past = PastKeyValues([KeyValues(*layer) for layer in layers], cached) if cached.shape[1] else None
            logits, caches = self._decode(tokens, present, (KeyValues(*encoded), real), past)
            new = torch.stack([torch.stack(list(each)) for each in caches])
            for number, place in enumerate(places):
                length = len(rows[place])
                yield place, logits[number, :length].double().cpu().numpy(), new[:, :, number, :, :length]

    def _decode(
        self, tokens: Tensor, present: Tensor, encoded: tuple[KeyValues, Tensor], past: PastKeyValues | None
    ) -> tuple[Tensor, Sequence[KeyValues]]:
        """Return the logits after tokens [b, t], masked by `present` [b, t], and their keys and values by layer."""
        if isinstance(self.model, PlanTransformer):
            return self.model.decode(tokens, present, encoded, past)
        return self.model.decode(tokens, present, past)

    def _empty(self, encoded: Tensor) -> _DecoderState:
        """Return a state without tokens."""
        shape = self.model.shape
        return _DecoderState(encoded, KVCache(encoded.new_empty((shape.layers, 2, shape.heads, 0, shape.width)), 0), 0)


def _size(shape: TransformerShape, count: int, read: int) -> int:
    """Return the bytes needed by `count` tokens that attend to `read` tokens."""
    return 4 * read * (2 * shape.layers * shape.hidden + _COPIES * shape.heads * count)


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices of rows to compute together, small rows first: at most `_BYTES` when padded, or one row."""
    places = list[int]()
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        if places and (len(places) + 1) * sizes[place] > _BYTES:
            check_limits()
            yield places
            places = []
        places.append(place)
    check_limits()
    if places:
        yield places


def _stacked(parts: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """Stack parts [..., heads, n, d_k] (or broadcast one) to [..., count, heads, n, d_k], with their mask."""
    longest = max(each.shape[-2] for each in parts)
    *first, heads, _, width = parts[0].shape
    table = parts[0].new_zeros((*first, len(parts), heads, longest, width))
    for number, each in enumerate(parts):
        table[..., number, :, : each.shape[-2], :] = each
    lengths = torch.tensor([each.shape[-2] for each in parts], device=table.device)
    real = torch.arange(longest, device=table.device)[None] < lengths[:, None]
    return table.expand(*first, count, heads, longest, width), real.expand(count, -1)


How = Literal["greedy", "applicable", "regrounding", "ranked"]
_Key = tuple[State, tuple[tuple[Action, ...], ...]]
_EMPTY = Prefix(np.empty(0), 0)  # placeholder for states that are read again
TIE = 1e-4  # logits within this are equal, because the last bits depend on the batch


class _NodeState(NamedTuple):
    """Memory of a node: the prefix, and the tokens of its action if not yet written."""

    prefix: Prefix
    row: Sequence[int] = ()

    @property
    def length(self) -> int:
        """The number of tokens before the next action."""
        return self.prefix.length + len(self.row)


@dataclass(eq=False)
class Hypothesis:
    """An action being written (with `allowed`: one of these rows), and the reason of a failure."""

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
    applicable actions. The ranking of a state read earlier is reused. The first three take no goal state that was not
    written. Names are drawn by `seed` and the problem's text.
    """

    writer: Writer
    tokens: Tokens
    how: How
    seed: int = 0
    # A cache of rankings by state and candidates, with the number of tokens before: dropping it costs only time.
    known: TaskCache[dict[_Key, tuple[Ranking, int]]] = field(default_factory=TaskCache)

    @property
    def rules(self) -> Rules:
        """The rules for the planner: costs add up; only the written action counts, unless actions are ranked."""
        return Rules(additive=True, only_chosen=self.how != "ranked")

    def refuses(self, task: Task) -> str | None:
        """Return why the tokens or the writer cannot read the problem, or None."""
        return self.tokens.refuses(task) or self.writer.refuses(self.tokens, task, task.init)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; the actions of all nodes are written together, token by token."""
        known: dict[int, Ranking] = {}
        pairs = list(zip(nodes, choices, strict=True))
        for place, (node, choice) in enumerate(pairs if self._reads_anew else ()):
            if ranking := self._known(node, choice):
                known[place] = ranking
            elif reason := self.writer.refuses(self.tokens, node.task, node.state):
                known[place] = Ranking(np.full(len(choice), np.inf), reason=reason)
        waiting = [place for place in range(len(pairs)) if place not in known]
        rank = self._ranked if self.how == "ranked" else self._chosen
        rankings = rank([pairs[place] for place in waiting]) if waiting else []
        for place, ranking in zip(waiting, rankings, strict=True):
            known[place] = ranking
            if self._reads_anew and not ranking.reason:
                self.known.setdefault(nodes[place].task, {})[_key(*pairs[place])] = ranking, _length(nodes[place])
        return [known[place] for place in range(len(pairs))]

    def sample(self, task: Task) -> dict[str, NDArray[np.float64]]:
        """Return the logits [tokens] of the first token of a plan, used to verify a run."""
        (prefix,) = self.writer.begin(self.tokens, [self._input(task, task.init)])
        return {"logits": prefix.logits}

    @property
    def _reads_anew(self) -> bool:
        """Whether every state is read again."""
        return self.how in ("regrounding", "ranked")

    def _known(self, node: Node, choice: Sequence[Successor]) -> Ranking | None:
        """Return the earlier ranking of a state that would be read again, or None; its tokens must fit the limit."""
        ranking, length = self.known.get(node.task, {}).get(_key(node, choice), (None, 0))
        if ranking is None:
            return None
        further = _length(node) - length
        memories = [each._replace(prefix=_moved(each.prefix, further)) for each in ranking.memories or ()]
        if max((each.length for each in memories), default=0) > MOST_TOKENS:
            return None
        return replace(ranking, memories=memories)

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
        self, node: Node, choice: Sequence[Successor], hypothesis: Hypothesis, prefix: Prefix, rows: Sequence[list[int]]
    ) -> Ranking:
        """Compare the written action with the candidates' rows; `prefix` is the prefix before the action."""
        costs, reason, written = np.full(len(choice), np.inf), hypothesis.failure, self._words(hypothesis)
        memories = [_NodeState(self._stored(prefix), row) for row in rows]
        if not reason and hypothesis.row not in rows:
            schema, *objects = (word for word, _ in written)
            action = Action(schema, tuple(objects))
            try:
                node.task.apply(node.state, action)
                reason = f"no candidate: {action}"
            except PlanError:
                reason = f"inapplicable: {action}"
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
        """Return why a plan that reached the goal fails before its end token, and the tokens that show it."""
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


def _key(node: Node, choice: Sequence[Successor]) -> _Key:
    return node.state, tuple(each.actions for each in choice)


def _length(node: Node) -> int:
    """Return the number of tokens before a node's action."""
    return node.memory.length if node.memory else 0


def _moved(prefix: Prefix, further: int) -> Prefix:
    """Return the prefix shifted by `further` tokens."""
    return replace(prefix, length=prefix.length + further)


def _most_probable(tokens: Sequence[int], logits: NDArray[np.float64]) -> int:
    """Return the most probable token; of equal ones the first."""
    return tokens[int(np.argmax(logits >= logits.max() - TIE))]
