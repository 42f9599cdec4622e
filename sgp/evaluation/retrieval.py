"""Retrieval: the rank of the true next state among candidates by a model of transitions.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix B.3. Ties count by their
expected value; states with one text are one candidate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.training_data import Transition, contrasted_actions
from sgp.datasets.walks import Instance
from sgp.domains import words_of
from sgp.errors import ConfigurationError, InputError, expected_one_of
from sgp.planning.pddl import Action
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory
from sgp.policies.embedding import SeenFromAction, TransitionModel, unit

logger = logging.getLogger(__name__)

Pools = Literal["paper", "batch", "hard", "all"]
POOLS: tuple[Pools, ...] = get_args(Pools)
POOL = 128  # candidates, the true one among them (embedplan, section 3)
KS = (1, 5, 10)
_BINS = 10  # of probabilities
TIED = 1e-6  # distances no further apart are equal: single precision leaves a tenth of it


OfTask = TypeVar("OfTask", Transition, Trajectory)


class Candidate(NamedTuple):
    """A state among which the next one is ranked; its task may be another instance of the domain."""

    task: Task
    state: State


@dataclass(frozen=True, eq=False)
class Query:
    """A transition, and the candidates for the next state, the true one first, no two with one text."""

    transition: Transition
    pool: tuple[Candidate, ...]
    merged: int = 0  # candidates that were left out because another one has their text


class Rank(NamedTuple):
    """Number of candidates that are more similar than the true one, as similar, and in all."""

    better: int
    tied: int
    size: int

    def hit(self, k: int) -> float:
        """The probability that the true one is among the first k if ties are broken at random."""
        return float(np.clip((k - self.better) / (self.tied + 1), 0.0, 1.0))

    def worst_hit(self, k: int) -> float:
        """1 if it is among the first k with ties broken against it, else 0."""
        return float(self.better + self.tied < k)

    def chance(self, k: int) -> float:
        """The probability under a random order."""
        return min(k / self.size, 1.0)


def pools_of(names: Sequence[str]) -> tuple[Pools, ...]:
    """The kinds of pools with these names, each once. Raises InputError with the known names."""
    for name in names:
        if name not in POOLS:
            raise InputError(f"unknown pools '{name}'; {expected_one_of(POOLS, name)}")
    return tuple(kind for kind in POOLS if kind in names)


def queries(
    kind: Pools,
    transitions: Sequence[Transition],
    of: Sequence[Instance],
    across: bool,
    seed: int,
    size: int = POOL,
    stream: Sequence[Transition] = (),
) -> list[Query]:
    """A query for each transition, with `size` candidates or as many as there are.

    `paper` draws them uniformly from the states of the transition's instance, or with `across` of all instances.
    `batch` takes the next states of the following transitions in `stream` (default: in `transitions`), the first behind
    the last, as the paper's implementation does. `hard` takes the state before, all its successors, then further
    states, breadth first. `all` takes every known state of the domain, whatever the size, as the paper's implementation
    ranks the steps of plans.
    """
    rng, text_of = np.random.default_rng([seed, POOLS.index(kind)]), _text_function()
    states = {instance.task: [Candidate(instance.task, state) for state in instance.states] for instance in of}
    everything = [candidate for candidates in states.values() for candidate in candidates]
    size_of_pool = len(everything) + 1 if kind == "all" else size
    result, stream = [], stream or transitions
    places = {transition: place for place, transition in enumerate(stream)}
    for transition in transitions:
        match kind:
            case "paper":
                source = everything if across else states[transition.task]
                others: Iterator[Candidate] = (source[place] for place in rng.permutation(len(source)))
            case "batch":
                here = places[transition]
                others = (Candidate(other.task, other.after) for other in (*stream[here + 1 :], *stream[:here]))
            case "hard":
                others = (Candidate(transition.task, state) for state in around(transition.task, transition.before))
            case _:
                others = iter(everything)
        result.append(_query(transition, others, size_of_pool, text_of))
    smallest: dict[str, int] = {}
    for query in result:
        task = query.transition.task
        if query.merged:
            _warn_once(MERGED, task.domain_text.name)
        if len(query.pool) < size and kind != "all":
            name = f"{task.name} of {task.domain_text.name}"
            smallest[name] = min(len(query.pool), smallest.get(name, size))
    for name, count in smallest.items():
        _warn_once(SMALL, name, count, size)
    return result


SMALL = (
    "instance %s has pools of %d candidates where %d were requested, because there are no more of this kind; chance is "
    "higher there: give larger instances, or request pools that all can fill (--size)"
)
MERGED = (
    "states of domain %s have equal texts, as those of instances with the same objects do: in pools, those with one "
    "text are one candidate, and metric merged counts the others; to distinguish them, give the domain other templates"
)


@cache  # every model is measured in the same pools
def _warn_once(message: str, *arguments: object) -> None:
    logger.warning(message, *arguments)


def around(task: Task, state: State) -> Iterator[State]:
    """A state, its successors, theirs and so on, each once."""
    reached, layer = {state}, [state]
    yield state
    while layer:
        previous, layer = layer, []
        for parent in previous:
            for successor in task.successors(parent):
                if successor.state not in reached:
                    reached.add(successor.state)
                    layer.append(successor.state)
                    yield successor.state


Text = frozenset[str]  # the sentences of a state


def _query(
    transition: Transition, others: Iterable[Candidate], size: int, text_of: Callable[[Candidate], Text]
) -> Query:
    true = Candidate(transition.task, transition.after)
    pool, merged = {text_of(true): true}, 0
    for candidate in others:
        if len(pool) == size:
            break
        text = text_of(candidate)
        merged += text in pool and candidate != pool[text]
        pool.setdefault(text, candidate)
    return Query(transition, tuple(pool.values()), merged)


def _text_function() -> Callable[[Candidate], Text]:
    """A function from a candidate to its text that computes every text once."""
    words = cache(lambda task: words_of(task.domain_text))
    sentence = cache(lambda task, number: words(task).sentence(task.fluent(number)))

    @cache
    def text(candidate: Candidate) -> Text:
        task, state = candidate
        return frozenset(sentence(task, number) for number in task.fluents(state))

    return text


def similarities(model: TransitionModel, requests: Sequence[Query]) -> list[NDArray[np.float64]]:
    """The cosine similarities [candidates] of each pool with the prediction (embedplan, eq. 2)."""
    rows_of = _rows(model, [candidate for query in requests for candidate in query.pool])
    predicted = predictions(model, [query.transition for query in requests])
    return [rows_of(query.pool, query.transition.action) @ row for query, row in zip(requests, predicted, strict=True)]


def ranks(model: TransitionModel, requests: Sequence[Query]) -> list[Rank]:
    """The ranks of the true states by similarity with the prediction."""
    return list(map(rank, similarities(model, requests)))


def rank(similarity: NDArray[np.floating[Any]]) -> Rank:
    """The rank of the first of some similarities [n]. Raises ConfigurationError for one that is no number."""
    if not np.isfinite(similarity).all():
        raise ConfigurationError(
            f"a model gives {int((~np.isfinite(similarity)).sum())} of {len(similarity)} similarities that are no "
            "numbers; expected finite embeddings: train it with a lower rate"
        )
    further = distances(similarity[1:]) - distances(similarity[:1])
    better = int((further < -TIED).sum())
    return Rank(better, int((further <= TIED).sum()) - better, len(similarity))


def distances(similarity: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The distances between vectors of length one by their cosines [n].

    They have the order of cosines, and distinguish near states in single precision.
    """
    return np.sqrt(np.maximum(2.0 - 2.0 * np.asarray(similarity, float), 0.0))


def action_ranks(model: TransitionModel, transitions: Sequence[Transition], seed: int) -> list[Rank]:
    """The rank of the action taken among the applicable ones, by the similarity of its prediction to the next state.

    Source: embedplan, eq. 33, which has all actions of the domain; here, as in its loss of actions, the applicable
    ones, of which at most `MOST_ACTIONS` are drawn, the one taken among them.
    """
    rng = np.random.default_rng([seed, len(POOLS)])
    groups = [[step._replace(action=action) for action in contrasted_actions(step, rng)] for step in transitions]
    predicted = iter(predictions(model, [rival for group in groups for rival in group]))
    rows_of = _rows(model, [Candidate(step.task, step.after) for step in transitions])
    return [
        rank(
            np.array(
                [rows_of([Candidate(rival.task, rival.after)], rival.action)[0] @ next(predicted) for rival in group]
            )
        )
        for group in groups
    ]


def predictions(model: TransitionModel, transitions: Sequence[Transition]) -> NDArray[np.float64]:
    """The predicted embeddings [n, D], of length 1, task by task."""

    def rows(task: Task, places: list[int]) -> NDArray[Any]:
        steps = [transitions[place] for place in places]
        return model.predict(task, [step.before for step in steps], [step.action for step in steps])

    return by_task([step.task for step in transitions], rows)


def by_task(tasks: Sequence[Task], rows: Callable[[Task, list[int]], NDArray[Any]]) -> NDArray[np.float64]:
    """Rows [n, D] of length 1; `rows` computes those of one task at these places."""
    places: dict[Task, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault(task, []).append(place)
    result: dict[int, NDArray[np.float64]] = {}
    for task, of_task in places.items():
        result.update(zip(of_task, unit(rows(task, of_task)), strict=True))
    return np.array([result[place] for place in range(len(tasks))])


Rows = Callable[[Sequence[Candidate], Action], NDArray[np.float64]]


def _rows(model: TransitionModel, candidates: Sequence[Candidate]) -> Rows:
    """A function from candidates and an action to the embeddings [n, D], of length 1, to compare predictions with."""
    if isinstance(model, SeenFromAction):
        return lambda pool, action: by_task(
            [candidate.task for candidate in pool],
            lambda task, places: model.embed_seen(task, [pool[place].state for place in places], action),
        )
    distinct = {candidate: place for place, candidate in enumerate(dict.fromkeys(candidates))}
    states = [candidate.state for candidate in distinct]
    rows = by_task(
        [candidate.task for candidate in distinct],
        lambda task, places: model.embed(task, [states[place] for place in places]),
    )
    return lambda pool, _: rows[[distinct[candidate] for candidate in pool]]


def plan_hits(plans: Sequence[Sequence[Rank]], k: int) -> tuple[float, float]:
    """Means over plans: the share of steps whose true state is among the first k, and of plans where all are.

    Each step starts from the true state before (embedplan, section 4, teacher forcing).
    """
    hits = [[step.hit(k) for step in plan] for plan in plans]
    return float(np.mean(list(map(np.mean, hits)))), float(np.mean(list(map(np.prod, hits))))


def followed(model: TransitionModel, walk: Trajectory, states: Sequence[State], seed: int = 0) -> list[bool]:
    """Whether each step of a plan leads to the true state if each prediction is replaced by the nearest state.

    Each step starts in the state of the previous prediction; of equally near states one is drawn. If the next action is
    not applicable in it, all further steps are wrong.
    """
    pool = [Candidate(walk.task, state) for state in states]
    rng = np.random.default_rng(seed)
    rows_of = _rows(model, pool)
    correct, here = list[bool](), walk.states[0]
    for action, true in zip(walk.actions, walk.states[1:], strict=False):
        if action not in walk.task.applicable(here):
            break
        (row,) = predictions(model, [Transition(walk.task, here, action, true)])
        away = distances(rows_of(pool, action) @ row)
        here = states[int(rng.choice(np.flatnonzero(away <= away.min() + TIED)))]
        correct.append(here == true)
    return correct + [False] * (len(walk) - len(correct))


def evenly(items: Sequence[OfTask], most: int | None, seed: int) -> list[OfTask]:
    """At most `most` transitions or plans, drawn from each task in turn, so that small instances are represented."""
    rng = np.random.default_rng([seed, 17])
    of: dict[Task, list[OfTask]] = {}
    for item in items:
        of.setdefault(item.task, []).append(item)
    shuffled = [[group[place] for place in rng.permutation(len(group))] for group in of.values()]
    turns = max(map(len, shuffled), default=0)
    return list(islice((group[turn] for turn in range(turns) for group in shuffled if turn < len(group)), most))


def summary(results: Sequence[Rank], name: str = "hit", ks: Sequence[int] = KS) -> Mapping[str, float]:
    """Means over queries by metric: hits, chance, and hits with ties broken against the true state."""
    kinds = {name: Rank.hit, f"chance_{name}": Rank.chance, f"worst_{name}": Rank.worst_hit}
    return {
        f"{title}@{k}": float(np.mean([value(result, k) for result in results]))
        for title, value in kinds.items()
        for k in ks
        if results
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive is above a negative, equal ones by half; both [n], at least one of each."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def abstention(pools: Sequence[NDArray[np.floating[Any]]]) -> float:
    """The AUROC of the largest similarity between pools with the true state and the same pools without it."""
    return auroc([float(pool.max()) for pool in pools], [float(pool[1:].max(initial=-1.0)) for pool in pools])


def calibration_error(pools: Sequence[NDArray[np.floating[Any]]], temperature: float) -> float:
    """The expected calibration error of the most similar candidate, over ten bins of its probability.

    Probabilities are a softmax of similarities over `temperature`, as in the loss of training.
    """
    sure, right = np.empty(len(pools)), np.empty(len(pools))
    for place, pool in enumerate(pools):
        weights = np.exp((pool - pool.max()) / temperature)
        best = pool == pool.max()
        sure[place], right[place] = weights.max() / weights.sum(), float(best[0]) / best.sum()
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    return sum(abs(float((sure - right)[bins == number].sum())) for number in range(_BINS)) / len(pools)
