"""Retrieval: where the true state after an action ranks among others by a model of transitions.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix B.3. Of equal
similarities the expected value counts, so that an order that says nothing earns nothing; states with one text are one
candidate.
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

from sgp.datasets.training_data import Transition, told_apart
from sgp.datasets.walks import Instance
from sgp.domains import words_of
from sgp.errors import ConfigurationError, InputError, expected_one_of
from sgp.planning.pddl import Action
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory
from sgp.planning.transition_model import SeenFromAction, TransitionModel, unit
from sgp.planning.words import Words

logger = logging.getLogger(__name__)

Pools = Literal["paper", "batch", "hard", "all"]
POOLS: tuple[Pools, ...] = get_args(Pools)
POOL = 128  # candidates, the true one among them (embedplan, section 3)
KS = (1, 5, 10)
_BINS = 10  # of probabilities
TIED = 1e-6  # distances no further apart are equal: single precision leaves a tenth of it


OfTask = TypeVar("OfTask", Transition, Trajectory)


class Candidate(NamedTuple):
    """A state that may be the one after an action; its task may be of another instance of the domain."""

    task: Task
    state: State


@dataclass(frozen=True, eq=False)
class Query:
    """A transition, and the candidates for the state after, the true one first, no two with one text."""

    transition: Transition
    pool: tuple[Candidate, ...]
    merged: int = 0  # candidates that were left out because another one has their text


class Rank(NamedTuple):
    """How many candidates are more similar than the true one, how many are as similar, and how many there are."""

    better: int
    tied: int
    size: int

    def hit(self, k: int) -> float:
        """The probability that the true one is among the first k where ties are broken at random."""
        return float(np.clip((k - self.better) / (self.tied + 1), 0.0, 1.0))

    def worst_hit(self, k: int) -> float:
        """Whether it is among the first k where ties are broken against it."""
        return float(self.better + self.tied < k)

    def chance(self, k: int) -> float:
        """The probability where nothing is known."""
        return min(k / self.size, 1.0)


def pools_of(names: Sequence[str]) -> tuple[Pools, ...]:
    """Kinds of pools by name, each once. Raises InputError with those there are."""
    for name in names:
        if name not in POOLS:
            raise InputError(f"unknown pools '{name}'; {expected_one_of(POOLS, name)}")
    return tuple(each for each in POOLS if each in names)


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

    `paper` draws them uniformly from the states of the transition's instance, or where `across` of all instances of
    the domain; `batch` takes the states after of the transitions that follow in `stream`, the first behind the last,
    as the paper's implementation does, or in the transitions themselves where there is none;
    `hard` takes the state before, all its successors, then what lies further away, breadth first; `all` is every known
    state of the domain, whatever the size asked for, as the paper's implementation ranks the steps of plans.
    """
    rng, said = np.random.default_rng([seed, POOLS.index(kind)]), _Said()
    states = {each.task: [Candidate(each.task, state) for state in each.states] for each in of}
    everything = [candidate for found in states.values() for candidate in found]
    asked, stream = [], stream or transitions
    places = {each: place for place, each in enumerate(stream)}
    for transition in transitions:
        match kind:
            case "paper":
                source = everything if across else states[transition.task]
                others: Iterator[Candidate] = (source[each] for each in rng.permutation(len(source)))
            case "batch":
                here = places[transition]
                others = (Candidate(each.task, each.after) for each in (*stream[here + 1 :], *stream[:here]))
            case "hard":
                others = (Candidate(transition.task, state) for state in around(transition.task, transition.before))
            case _:
                others = iter(everything)
        asked.append(_query(transition, others, len(everything) + 1 if kind == "all" else size, said))
    if kind != "all":
        _tell_small(asked, size)
    for domain in dict.fromkeys(each.transition.task.domain_text.name for each in asked if each.merged):
        _tell_merged(domain)
    return asked


def around(task: Task, state: State) -> Iterator[State]:
    """A state, its successors, theirs and so on, each once."""
    met, waiting = {state: None}, [state]
    yield state
    while waiting:
        nearer, waiting = waiting, []
        for each in nearer:
            for successor in task.successors(each):
                if successor.state not in met:
                    met[successor.state] = None
                    waiting.append(successor.state)
                    yield successor.state


def _query(transition: Transition, others: Iterable[Candidate], size: int, said: _Said) -> Query:
    true = Candidate(transition.task, transition.after)
    pool, merged = {said(true): true}, 0
    for candidate in others:
        if len(pool) == size:
            break
        text = said(candidate)
        merged += text in pool and candidate != pool[text]
        pool.setdefault(text, candidate)
    return Query(transition, tuple(pool.values()), merged)


class _Said:
    """What is said of candidates, sentence by sentence; each is said once."""

    def __init__(self) -> None:
        self._states: dict[Candidate, frozenset[str]] = {}
        self._atoms: dict[tuple[Task, int], str] = {}
        self._words: dict[Task, Words] = {}

    def __call__(self, candidate: Candidate) -> frozenset[str]:
        if candidate not in self._states:
            numbers = candidate.task.fluents(candidate.state)
            self._states[candidate] = frozenset(self._sentence(candidate.task, number) for number in numbers)
        return self._states[candidate]

    def _sentence(self, task: Task, number: int) -> str:
        if (task, number) not in self._atoms:
            if task not in self._words:
                self._words[task] = words_of(task.domain_text)
            self._atoms[task, number] = self._words[task].sentence(task.fluent(number))
        return self._atoms[task, number]


def _tell_small(asked: Sequence[Query], size: int) -> None:
    least: dict[str, int] = {}
    for query in asked:
        if len(query.pool) < size:
            name = f"{query.transition.task.name} of {query.transition.task.domain_text.name}"
            least[name] = min(len(query.pool), least.get(name, size))
    for name, count in least.items():
        _tell_once(name, count, size)


@cache  # every model is measured in the same pools
def _tell_once(name: str, count: int, size: int) -> None:
    logger.warning(
        "instance %s has pools of %d candidates where %d were asked for, because there are no more of this kind; "
        "chance is higher there: give larger instances, or ask for pools that all can fill (--size)",
        name,
        count,
        size,
    )


@cache
def _tell_merged(domain: str) -> None:
    logger.warning(
        "states of domain %s read alike, as those of instances with the same objects do: in pools those with one text "
        "are one candidate, and metric merged counts the others; where they should be told apart, give the domain "
        "words that do",
        domain,
    )


def similarities(model: TransitionModel, asked: Sequence[Query]) -> list[NDArray[np.float64]]:
    """The cosine similarities [candidates] of each pool with what is predicted (embedplan, eq. 2)."""
    rows_of = _rows(model, [candidate for query in asked for candidate in query.pool])
    predicted = predictions(model, [query.transition for query in asked])
    return [rows_of(query.pool, query.transition.action) @ row for query, row in zip(asked, predicted, strict=True)]


def ranks(model: TransitionModel, asked: Sequence[Query]) -> list[Rank]:
    """Where the true states rank by similarity with what is predicted."""
    return [rank(each) for each in similarities(model, asked)]


def rank(similarity: NDArray[np.floating[Any]]) -> Rank:
    """Where the first of some similarities [n] ranks. Raises ConfigurationError for one that is no number."""
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

    They order as cosines do and tell near states apart: with some fifty objects a state's neighbours are within a
    millionth of cosine, but a thousandth of distance.
    """
    return np.sqrt(np.maximum(2.0 - 2.0 * np.asarray(similarity, float), 0.0))


def action_ranks(model: TransitionModel, transitions: Sequence[Transition], seed: int) -> list[Rank]:
    """Where the action taken ranks among those applicable, by how near its prediction is to the state after.

    Source: embedplan, eq. 33, which has all actions of the domain; here, as in its loss of actions, those applicable,
    of which `MOST_ACTIONS` at most are drawn, the one taken among them.
    """
    rng = np.random.default_rng([seed, len(POOLS)])
    rivals = [[each._replace(action=action) for action in told_apart(each, rng)] for each in transitions]
    predicted = iter(predictions(model, [each for group in rivals for each in group]))
    rows_of = _rows(model, [Candidate(each.task, each.after) for each in transitions])
    found = []
    for group in rivals:
        near = [rows_of([Candidate(each.task, each.after)], each.action)[0] @ next(predicted) for each in group]
        found.append(rank(np.array(near)))
    return found


def predictions(model: TransitionModel, transitions: Sequence[Transition]) -> NDArray[np.float64]:
    """The predicted embeddings [n, D], of length 1, task by task."""
    found: dict[int, NDArray[np.float64]] = {}
    of: dict[Task, list[int]] = {}
    for place, each in enumerate(transitions):
        of.setdefault(each.task, []).append(place)
    for task, places in of.items():
        steps = [transitions[place] for place in places]
        rows = model.predict(task, [each.before for each in steps], [each.action for each in steps])
        found.update(zip(places, unit(rows), strict=True))
    return np.array([found[place] for place in range(len(transitions))])


Rows = Callable[[Sequence[Candidate], Action], NDArray[np.float64]]


def _rows(model: TransitionModel, candidates: Sequence[Candidate]) -> Rows:
    """Gives candidates' embeddings [n, D], of length 1, as they are compared with what is predicted of an action."""
    if isinstance(model, SeenFromAction):
        return lambda pool, action: _seen(model, pool, action)
    of: dict[Task, dict[State, int]] = {}
    for task, state in candidates:
        places = of.setdefault(task, {})
        places.setdefault(state, len(places))
    rows = {task: unit(model.embed(task, list(places))) for task, places in of.items()}
    return lambda pool, _: np.array([rows[task][of[task][state]] for task, state in pool])


def _seen(model: SeenFromAction, pool: Sequence[Candidate], action: Action) -> NDArray[np.float64]:
    of: dict[Task, list[int]] = {}
    for place, candidate in enumerate(pool):
        of.setdefault(candidate.task, []).append(place)
    found: dict[int, NDArray[np.float64]] = {}
    for task, places in of.items():
        found.update(
            zip(places, unit(model.embed_seen(task, [pool[each].state for each in places], action)), strict=True)
        )
    return np.array([found[place] for place in range(len(pool))])


@dataclass(frozen=True)
class PlanHits:
    """Of plans: the mean share of steps whose true state is among the first k, and whether that holds in all steps."""

    mean: float
    exact: float


def plan_hits(plans: Sequence[Sequence[Rank]], k: int) -> PlanHits:
    """Plans by the ranks of their steps, the true state given before each (embedplan, section 4, teacher forcing)."""
    hits = [[each.hit(k) for each in plan] for plan in plans]
    return PlanHits(*(float(np.mean([over(each) for each in hits])) for over in (np.mean, np.prod)))


def followed(model: TransitionModel, walk: Trajectory, states: Sequence[State], seed: int = 0) -> list[bool]:
    """Whether each step of a plan leads to the true state where every prediction is taken for the nearest state.

    The states after the first are those that were predicted, of equally near ones one at random; where the next action
    is not applicable in one, the plan ends and all further steps are wrong.
    """
    pool = [Candidate(walk.task, state) for state in states]
    rng = np.random.default_rng(seed)
    rows_of = _rows(model, pool)
    found, here = list[bool](), walk.states[0]
    for action, true in zip(walk.actions, walk.states[1:], strict=False):
        if action not in walk.task.applicable(here):
            break
        (row,) = predictions(model, [Transition(walk.task, here, action, true)])
        away = distances(rows_of(pool, action) @ row)
        here = states[int(rng.choice(np.flatnonzero(away <= away.min() + TIED)))]
        found.append(here == true)
    return found + [False] * (len(walk) - len(found))


def evenly(those: Sequence[OfTask], most: int | None, seed: int) -> list[OfTask]:
    """At most so many transitions or plans, drawn in turn from each task's so that small instances are not lost."""
    rng = np.random.default_rng([seed, 17])
    of: dict[Task, list[OfTask]] = {}
    for each in those:
        of.setdefault(each.task, []).append(each)
    shuffled = [[found[place] for place in rng.permutation(len(found))] for found in of.values()]
    turns = max(map(len, shuffled), default=0)
    drawn = (found[turn] for turn in range(turns) for found in shuffled if turn < len(found))
    return list(islice(drawn, most))


def summary(found: Sequence[Rank], name: str = "hit", ks: Sequence[int] = KS) -> Mapping[str, float]:
    """Means over queries by metric: hits, chance, and what is left where ties are broken against the true one."""
    metrics = {f"{name}@{k}": [each.hit(k) for each in found] for k in ks}
    metrics |= {f"chance_{name}@{k}": [each.chance(k) for each in found] for k in ks}
    metrics |= {f"worst_{name}@{k}": [each.worst_hit(k) for each in found] for k in ks}
    return {metric: float(np.mean(values)) for metric, values in metrics.items()} if found else {}


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive is above a negative, equal ones by half; both [n], at least one of each."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def abstention(found: Sequence[NDArray[np.floating[Any]]]) -> float:
    """How well the greatest similarity tells pools that have the true state from the same ones without it, as AUROC.

    At 0.5 it tells nothing, so that no threshold makes the model abstain where the truth is missing.
    """
    return auroc([float(each.max()) for each in found], [float(each[1:].max(initial=-1.0)) for each in found])


def calibration_error(found: Sequence[NDArray[np.floating[Any]]], temperature: float) -> float:
    """The expected calibration error of the candidate that is most similar, over ten bins of its probability.

    Probabilities are a softmax of similarities over `temperature`, as in the loss that they were learned by; among
    equally similar candidates it counts by which share of them is right.
    """
    sure, right = np.empty(len(found)), np.empty(len(found))
    for place, each in enumerate(found):
        weights = np.exp((each - each.max()) / temperature)
        best = each == each.max()
        sure[place], right[place] = weights.max() / weights.sum(), float(best[0]) / best.sum()
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float((sure - right)[bins == each].sum())) for each in range(_BINS)]
    return sum(gaps) / len(found)
