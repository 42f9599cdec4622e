"""Scaling evaluation: coverage at every size, on as many generated problems as its interval needs.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 3, algorithm 3. Its loop condition is printed the wrong way round: problems are drawn while the interval is
wider than epsilon.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import mean
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from sgp.datasets.store import home
from sgp.errors import ConfigurationError, StoreError
from sgp.evaluation.coverage import Attempt, Subject
from sgp.evaluation.parallel import Work, run_all
from sgp.evaluation.scores import Score
from sgp.evaluation.sheets import Sheet
from sgp.files import read_json, write_json
from sgp.planning.domain import Domain
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Outcome
from sgp.workers import Jobs

MOST_AT_ONCE = 128  # problems between two looks at the interval
MOST_EMPTY = 200  # sizes in a row without a problem, after which no larger one is looked for
BOUND_FACTOR = 3  # L = 3N + n, N the mean length of the teacher's plans for the largest training problems (section 2)


@dataclass(frozen=True)
class ScalingConfig:
    """How sure a coverage has to be, and when to stop (dynamic validation, appendix A).

    With confidence 1 - `kappa` a coverage is within `epsilon`. The evaluation ends after `fails` sizes in a row below
    `threshold`, or after size `largest`. `seconds` bounds the time for one problem. The last two are not the paper's.
    Raises ConfigurationError for values that cannot be.
    """

    epsilon: float = 0.05
    kappa: float = 0.1
    threshold: float = 0.3
    fails: int = 2
    largest: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "kappa", "threshold"):
            if not 0 < getattr(self, name) < 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected a number between 0 and 1")
        for name in ("fails", "largest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}; expected at least 1")


PAPERS = ScalingConfig()


def enough(solved: Sequence[bool], epsilon: float, kappa: float) -> int | None:
    """How many results suffice: the first n with t^2 (s^2 + 1/n) / n <= epsilon^2; None where more are needed.

    s^2 is the variance of the first n results, t the quantile of Student's distribution for n - 1 degrees of freedom
    at 1 - kappa/2 (Chow and Robbins 1965; the term 1/n keeps two equal results from being enough).
    """
    places = np.arange(1, len(solved) + 1)
    rate = np.cumsum(np.asarray(solved, dtype=np.float64)) / places
    narrow = np.flatnonzero(half_width(rate, places, kappa) <= epsilon)
    return int(narrow[0]) + 1 if len(narrow) else None


def half_width(rate: NDArray[np.float64], count: NDArray[np.int64], kappa: float) -> NDArray[np.float64]:
    """Half the width of the intervals [n] of rates [n] after `count` results each; infinite after one."""
    t = _quantiles(kappa, int(count.max(initial=0)))[count - 1]
    return np.asarray(t * np.sqrt((rate * (1 - rate) + 1 / count) / count))


@cache
def _quantiles(kappa: float, most: int) -> NDArray[np.float64]:
    """The quantiles for 1 to `most` results."""
    degrees = np.arange(0, most)
    return np.where(degrees > 0, student.ppf(1 - kappa / 2, np.maximum(degrees, 1)), np.inf)


@cache
def least(epsilon: float, kappa: float) -> int:
    """How many equal results are enough: no fewer ever are."""
    count = 1
    while (found := enough([True] * count, epsilon, kappa)) is None:
        count *= 2
    return found


@dataclass(frozen=True)
class Measured:
    """One size: the bound on actions, and the attempts at its problems, as many as the interval needed."""

    size: int
    bound: int
    attempts: tuple[Attempt, ...]

    @property
    def coverage(self) -> float:
        """The share that was solved within the bound."""
        return mean(each.solved for each in self.attempts)

    def mean_of(self, property_: Callable[[Attempt], float | None]) -> float | None:
        """The mean of any property of the attempts over those that have it, or None."""
        found = [value for each in self.attempts if (value := property_(each)) is not None]
        return mean(found) if found else None


@dataclass(frozen=True)
class Curve:
    """Coverage over size, and why the evaluation ended there."""

    sizes: tuple[Measured, ...]
    threshold: float
    ended: str

    @property
    def scale(self) -> int:
        """The largest size at which coverage reached the threshold, 0 where none did."""
        return max((each.size for each in self.sizes if each.coverage >= self.threshold), default=0)

    @property
    def sumcov(self) -> float:
        """The sum of coverages up to `scale`."""
        return sum(each.coverage for each in self.sizes if each.size <= self.scale)


@dataclass(frozen=True)
class Source:
    """Where problems of a size come from: a domain's generator, one random stream for each problem.

    `model` is the one of the domain's models that the problems are for; `seed` chooses the streams.
    """

    domain: Domain
    model: str
    seed: int

    @property
    def pddl(self) -> str:
        """The domain's text."""
        return self.domain.models[self.model]

    def problem(self, size: int, number: int) -> Problem:
        """Problem `number` (from 1) of a size, its arguments uniform over the solutions of the size equation."""
        rng = np.random.default_rng([self.seed, crc32(self.domain.name.encode()), size, number])
        text = self.domain.translated(self.domain.generate_size(rng, size), self.model)
        return Problem(f"{self.domain.name}-{size}-{number}", self.pddl, text)


@dataclass(frozen=True)
class Evaluated:
    """A planner, by its folder (`name`) and what identifies it, and how a folder is loaded in any process."""

    name: str
    identity: str
    load: Callable[[str], Planner]


def scaling(
    planner: Evaluated,
    source: Source,
    bound: int,
    config: ScalingConfig,
    jobs: Jobs = 1,
    until: float = math.inf,
    watch: Callable[[Measured], None] = lambda measured: None,
) -> Curve:
    """The curve of a planner over the sizes of a domain, from size 1 on (algorithm 3).

    A plan for a problem of n objects may have `bound` + n actions. What is done is kept in the store, so that an
    evaluation that was interrupted goes on; results do not depend on `jobs`. `until` is when to begin no other batch,
    by `time.monotonic`. `watch` sees every size as it is done.
    """
    kept = home() / "scaling" / _key(planner, source, bound, config)
    sizes: list[Measured] = []
    fails = size = empty = 0
    while fails < config.fails:
        size += 1
        if config.largest is not None and size > config.largest:
            return Curve(tuple(sizes), config.threshold, f"stopped after size {config.largest}, as asked")
        if not source.domain.sizes.has(size):
            empty += 1
            if empty == MOST_EMPTY:
                return Curve(tuple(sizes), config.threshold, f"{source.domain.name} has no larger problems")
            continue
        empty = 0
        found = _measure(planner, source, size, bound + size, config, jobs, until, kept / f"{size}.json")
        if found is None:
            return Curve(tuple(sizes), config.threshold, f"out of time at size {size}, which is not counted")
        sizes.append(found)
        watch(found)
        fails = fails + 1 if found.coverage < config.threshold else 0
    return Curve(tuple(sizes), config.threshold, f"below {config.threshold:g} at {config.fails} sizes in a row")


def _measure(
    planner: Evaluated,
    source: Source,
    size: int,
    bound: int,
    config: ScalingConfig,
    jobs: Jobs,
    until: float,
    file: Path,
) -> Measured | None:
    """One size, or None where time ran out."""
    tried = _kept(file)
    known = {each.sha256: each for each in tried}
    while (count := enough([each.solved for each in tried], config.epsilon, config.kappa)) is None:
        if time.monotonic() >= until:
            return None
        problems = [source.problem(size, len(tried) + place) for place in range(1, _missing(tried, config) + 1)]
        new = {each.sha256: each for each in problems if each.sha256 not in known}  # small sizes have few problems
        work = Work(planner.name, planner.identity, tuple(new.values()), Limit(bound, config.seconds))
        if new:
            (found,) = run_all([work], planner.load, jobs, f"{source.domain.name}, {size} objects")
            known |= {each.sha256: each for each in found}
        tried += [known[each.sha256] for each in problems]
        write_json(file, [each.to_record() for each in tried])
    return Measured(size, bound, tuple(tried[:count]))


def _kept(file: Path) -> list[Attempt]:
    """The attempts at a size that were made before, in order."""
    if not file.is_file():
        return []
    try:
        return [Attempt.from_record(record) for record in read_json(file)]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no attempts ({error!r}); remove it, and they are made again") from error


def _missing(tried: Sequence[Attempt], config: ScalingConfig) -> int:
    """How many more results the interval needs, as far as those known tell."""
    if not tried:
        return least(config.epsilon, config.kappa)
    rate = mean(each.solved for each in tried)
    t = float(_quantiles(config.kappa, len(tried))[-1])
    needed = (t / config.epsilon) ** 2 * (rate * (1 - rate) + 1 / len(tried))
    return min(MOST_AT_ONCE, max(8, math.ceil(needed) - len(tried)))


def _key(planner: Evaluated, source: Source, bound: int, config: ScalingConfig) -> str:
    """Names what is kept: everything that an attempt depends on, and not when to stop."""
    facts = [planner.identity, source.domain.name, source.pddl, source.seed, bound, config.seconds]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def curve_scores(curve: Curve, subject: Subject) -> Iterator[Score]:
    """`scale` and `sumcov`, and for each size coverage, plan_length (of solved problems) and seconds."""

    def score(metric: str, value: float, count: int, size: int | None = None) -> Score:
        return Score(**asdict(subject), size=size, metric=metric, value=value, count=count)

    count = sum(len(each.attempts) for each in curve.sizes)
    yield score("scale", curve.scale, count)
    yield score("sumcov", curve.sumcov, count)
    for each in curve.sizes:
        yield score("coverage", each.coverage, len(each.attempts), each.size)
        solved = [attempt for attempt in each.attempts if attempt.solved]
        if solved:
            yield score("plan_length", mean(len(one.plan) for one in solved), len(solved), each.size)
        yield score("seconds", mean(one.seconds for one in each.attempts), len(each.attempts), each.size)


def published_words(theirs: Sequence[Score], domain: str) -> str:
    """What the paper's planners reach in a domain (its table 1), one after the other; empty where it has none."""
    found: dict[str, dict[str, float]] = {}
    for each in theirs:
        if each.domain == domain and each.metric in ("scale", "sumcov"):
            found.setdefault(f"{each.method}, {each.variant} validation", {})[each.metric] = each.value
    words = [f"{name}: Scale {each['scale']:g}, SumCov {each['sumcov']:g}" for name, each in found.items()]
    return f"Published: {'; '.join(words)}." if words else ""


def curve_sheet(curve: Curve, title: str, kappa: float, theirs: str = "") -> Sheet:
    """The curve as a table, with a bar for each coverage; `theirs` is what to compare it with."""
    rows = []
    for each in curve.sizes:
        wide = half_width(np.array([each.coverage]), np.array([len(each.attempts)]), kappa)[0]
        length = each.mean_of(lambda attempt: len(attempt.plan) if attempt.solved else None)
        rows.append(
            (
                str(each.size),
                f"{each.coverage:.2f} ±{wide:.2f}",
                "█" * round(20 * each.coverage),
                str(len(each.attempts)),
                str(each.bound),
                "" if length is None else f"{length:.1f}",
                f"{mean(attempt.seconds for attempt in each.attempts):.3f}",
            )
        )
    late = sum(attempt.outcome is Outcome.TIMEOUT for each in curve.sizes for attempt in each.attempts)
    capped = f" {late} attempts ran out of their seconds and count as not solved." if late else ""
    words = f"Scale {curve.scale}, SumCov {curve.sumcov:.2f}; {curve.ended}.{capped} {theirs}".strip()
    headings = ("objects", "coverage", "", "problems", "most actions", "mean actions", "mean s")
    return Sheet.of(title, headings, rows, words)
