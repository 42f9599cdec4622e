"""Scaling evaluation: coverage at every size, on as many generated problems as its interval needs.

Source: "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic validation),
section 3, algorithm 3. A sample is large enough by the sequential interval of Chow and Robbins (1965) with Student's t.
The loop condition is printed the wrong way round there: problems are drawn while the interval is wider than epsilon.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from statistics import mean
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from sgp.datasets.store import home
from sgp.domains.domain import Arguments, Domain, Sizes
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.evaluation.attempts import Attempt, PlannerLoader, ProblemBatch, run_all, saved_attempts
from sgp.evaluation.known_plans import Reference, proven_unsolvable, shortest_known
from sgp.evaluation.scores import Measurement, Score, StopReason
from sgp.files import write_json
from sgp.planning.declarations import ProblemText
from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.planner import Limit
from sgp.planning.task import Task, Trajectory
from sgp.policies.decoding import DEFAULT
from sgp.workers import Jobs, processes

MOST_AT_ONCE = 128  # problems evaluated between two tests of the interval
MOST_UNSOLVABLE = 200  # problems of a size; if all are proven unsolvable, the generator is wrong
MOST_EXAMPLES = 12  # smaller problems from which problems grow
MOST_SOLUTIONS = 20_000  # of the size equation, of which MOST_COMPARED are compared with a smaller problem
MOST_COMPARED = 500
MIN_BATCH = 8  # problems evaluated at a time, even if the interval may need only one more
BOUND_FACTOR = 3  # L = 3N + n, N the mean length of the expert's plans for the largest training problems (section 2)


@dataclass(frozen=True)
class ScalingConfig:
    """The confidence of a coverage, and when to stop (dynamic validation, appendix A).

    With confidence 1 - `kappa` a measured coverage is within `epsilon` of the true one. The evaluation ends after
    `fails` sizes in a row below `threshold`, or after size `largest`. `seconds` limits the time of one problem.

    Coverage is at most the share of problems that have a plan within the bound. To estimate it, Fast Downward searches
    for plans of the first `references` unsolved problems of a size, for `reference_seconds` each; it has the same time
    to prove that a problem is unsolvable, if the generator may make such problems. The fields from `largest` on are not
    in the paper.
    """

    epsilon: float = 0.05
    kappa: float = 0.1
    threshold: float = 0.3
    fails: int = 2
    largest: int | None = None
    seconds: float | None = None
    references: int = 0
    reference_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "kappa", "threshold"):
            if not 0 < getattr(self, name) < 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected a number between 0 and 1")
        for name in ("fails", "largest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}; expected at least 1")
        if self.references < 0:
            raise ConfigurationError(f"references is {self.references}; expected 0, for none, or more")
        for name in ("seconds", "reference_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{name} is {value}; expected a positive number")


DEFAULT_CONFIG = ScalingConfig()


@dataclass(frozen=True)
class CurvePoint:
    """One size: the most actions of a plan, and the attempts at as many problems as the interval needed.

    `known` maps the SHA-256 of an unsolved problem to the length of the shortest plan that another planner found.
    `unsolvable` is the number of problems that were proven to have no plan and are not counted.
    """

    size: int
    max_actions: int
    attempts: tuple[Attempt, ...]
    known: Mapping[str, int] = field(default_factory=dict)
    unsolvable: int = 0

    @property
    def coverage(self) -> float:
        """The share of problems solved within the bound."""
        return mean(attempt.solved for attempt in self.attempts)

    @property
    def within_bound(self) -> float:
        """The share of problems with a known plan within the bound.

        A lower bound of the share with any such plan, which bounds the coverage of every planner.
        """
        return mean(
            evaluated.solved or self.known.get(evaluated.sha256, math.inf) <= self.max_actions
            for evaluated in self.attempts
        )

    @property
    def with_plan(self) -> float:
        """The share of problems with a known plan of any length."""
        return mean(attempt.solved or attempt.sha256 in self.known for attempt in self.attempts)


@dataclass(frozen=True)
class Curve:
    """Coverage over size, why the evaluation stopped (`note`: in words), and the source of the problems."""

    points: tuple[CurvePoint, ...]
    threshold: float
    stop_reason: StopReason
    note: str
    source: ProblemSource

    @property
    def scale(self) -> int:
        """The largest size at which coverage reached the threshold, 0 where none did."""
        return max((point.size for point in self.points if point.coverage >= self.threshold), default=0)

    @property
    def sumcov(self) -> float:
        """The sum of coverages up to `scale`."""
        return sum(point.coverage for point in self.points if point.size <= self.scale)


@dataclass(frozen=True)
class ProblemSource:
    """Generates problems of a size by a domain's generator, with one random stream for each problem.

    `model` names the domain model of the problems, or is the PDDL of an equivalent domain; `seed` chooses the streams.
    With `tracked` the problems are like those of the IPC 2023 learning track, else like those of the scaling
    evaluation. Problems grow from one of the `examples`, the generator's arguments of smaller problems, if there are
    any.
    """

    domain: Domain
    model: str
    seed: int
    tracked: bool = False
    examples: tuple[Arguments, ...] = ()

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigurationError(f"seed is {self.seed}; expected 0 or more")

    @property
    def pddl(self) -> str:
        """The domain's text."""
        return self.domain.models.get(self.model, self.model)

    @property
    def sizes(self) -> Sizes:
        """The sizes of the domain's problems."""
        return self.domain.tracked if self.tracked else self.domain.scaled

    def problem(self, size: int, number: int) -> Problem:
        """Problem `number` (from 1) of one of the `sizes`. Raises InputError if the generator raises any exception."""
        rng = np.random.default_rng([self.seed, crc32(self.domain.name.encode()), size, number])
        smaller = self.examples[int(rng.integers(len(self.examples)))] if self.examples else None
        text = self._generated(number, size, partial(self.domain.generate_scaled, rng, size, self.tracked, smaller))
        name = f"{self.domain.name}-{size}-{number}"
        if self.model in self.domain.models:
            return Problem(name, self.pddl, self.domain.translated(text, self.model))
        return Problem(name, self.domain.pddl, text, model_pddl=self.model).in_model

    def like(self, problems: Iterable[Problem]) -> ProblemSource:
        """Return the source of problems that grow from the largest of the given ones, which have the same model.

        Those that cannot be translated to the domain, because of unusual types, are left out.
        """
        own, read = self.model in self.domain.models, list[ProblemText]()
        for problem in problems:
            with suppress(DomainMismatch):
                read.append((problem if own else replace(problem, model_pddl=self.domain.pddl)).read()[1])
        read = sorted(read, key=lambda problem: len(problem.objects))[-MOST_EXAMPLES:]
        solutions = {size: self._solutions(size) for size in {self._size(problem) for problem in read}}
        examples = [_nearest(_counts(problem), solutions[self._size(problem)]) for problem in read]
        return replace(self, examples=tuple(examples))

    def _size(self, problem: ProblemText) -> int:
        return self.sizes.nearest(len(problem.objects))

    def _solutions(self, size: int) -> list[tuple[Arguments, Counter[str]]]:
        """Some of the first solutions of the size equation, evenly chosen, with the counts of a problem of each."""
        solutions = list(islice(self.sizes.solutions(size), MOST_SOLUTIONS))
        rng = np.random.default_rng(self.seed)
        given = self.domain.scaling.given if self.domain.scaling else {}
        compared: list[tuple[Arguments, Counter[str]]] = []
        for number, arguments in enumerate(solutions[:: math.ceil(len(solutions) / MOST_COMPARED)], start=1):
            text = self._generated(number, size, partial(self.domain.generate, rng, **arguments, **given))
            if self.model in self.domain.models:
                problem = Problem("", self.pddl, self.domain.translated(text, self.model))
            else:
                problem = Problem("", self.domain.pddl, text)
            compared.append((arguments, _counts(problem.read()[1])))
        return compared

    def _generated(self, number: int, size: int, generate: Callable[[], str]) -> str:
        """The text that the generator makes. Raises InputError if it raises any exception."""
        try:
            return generate()
        except Exception as error:
            raise InputError(
                f"the generator of {self.domain.name} failed on problem {number} of {size} objects with seed "
                f"{self.seed} ({error!r}); mend it, or exclude its arguments from the domain's sizes"
            ) from error

    def again(self, attempt: Attempt) -> Problem:
        """The problem of an attempt. Raises StoreError where the generator makes another one today."""
        size, number = map(int, attempt.problem.split("-")[-2:])
        problem = self.problem(size, number)
        if problem.sha256 != attempt.sha256:
            raise StoreError(
                f"{attempt.problem} is generated differently now than when it was evaluated; remove the folders of "
                f"{home() / 'scaling'} that contain it, and their problems are evaluated again"
            )
        return problem


def _counts(problem: ProblemText) -> Counter[str]:
    """The numbers of objects of each type, and of atoms of each predicate in the initial state and in the goal."""
    counts = Counter(f"- {name}" for _, types in problem.objects for name in types)
    counts.update(atom.predicate for atom in problem.init)
    counts.update(f"goal {literal.atom.predicate}" for literal in problem.goal)
    return counts


def _nearest(counts: Counter[str], solutions: Iterable[tuple[Arguments, Counter[str]]]) -> Arguments:
    """The arguments whose counts differ least from the given ones."""
    distances = ((((counts - other) + (other - counts)).total(), arguments) for arguments, other in solutions)
    return min(distances, key=itemgetter(0))[1]


@dataclass(frozen=True)
class EvaluatedPlanner:
    """A planner: its folder (`name`), the hash of contents and decoding (`identity`), its decoding, and its loader."""

    name: str
    identity: str
    load: PlannerLoader
    decoding: str = DEFAULT

    def batch(self, problems: tuple[Problem, ...], limit: Limit) -> ProblemBatch:
        """Return the problems as a batch for this planner."""
        return ProblemBatch(self.name, self.identity, problems, limit, decoding=self.decoding)


def scaling(
    planner: EvaluatedPlanner,
    source: ProblemSource,
    bound: int,
    config: ScalingConfig,
    jobs: Jobs = 1,
    until: float = math.inf,
    watch: Callable[[CurvePoint], None] = lambda measured: None,
) -> Curve:
    """The curve of a planner over the sizes of a domain, from size 1 on (algorithm 3).

    A plan for a problem of n objects may have `bound` + n actions. Attempts are saved in the store, so that an
    interrupted evaluation resumes; results do not depend on `jobs`. No batch starts after the time `until`
    (`time.monotonic`). `watch` receives every finished size. Raises ConfigurationError where no size is small enough.
    """
    if bound < 0:
        raise ConfigurationError(f"bound is {bound}; expected 0 or more actions, beside one for each object")
    facts = [planner.identity, source.domain.name, source.pddl, source.seed, bound, config.seconds]
    facts += ["tracked"] if source.tracked else []  # other problems of the same sizes and numbers
    folder = home() / "scaling" / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    points: list[CurvePoint] = []
    fails = 0
    reason, note = StopReason.EXHAUSTED, f"{source.domain.name} has no larger problems"
    for size in source.sizes.above(0):
        if config.largest is not None and size > config.largest:
            if not points:
                source.domain.check_size(config.largest)  # names the known sizes
            reason, note = StopReason.LARGEST, f"stopped after size {config.largest}, the largest to try"
            break
        point = _measure(planner, source, size, bound + size, config, jobs, until, folder / f"{size}.json")
        if point is None:
            reason, note = StopReason.TIME, f"out of time at size {size}, which is not counted"
            break
        points.append(point)
        watch(point)
        fails = fails + 1 if point.coverage < config.threshold else 0
        if fails == config.fails:
            reason, note = StopReason.FELL, f"below {config.threshold:g} at {config.fails} sizes in a row"
            break
    return Curve(tuple(points), config.threshold, reason, note, source)


def _measure(
    planner: EvaluatedPlanner,
    source: ProblemSource,
    size: int,
    max_actions: int,
    config: ScalingConfig,
    jobs: Jobs,
    until: float,
    file: Path,
) -> CurvePoint | None:
    """One size; None if time ran out."""
    title = f"{source.domain.name}, size {size}" + (f" of at most {config.largest}" if config.largest else "")
    seconds, solvable = config.reference_seconds, source.domain.solvable
    reference = Reference(config.references, seconds, processes(jobs), until, solvable, title)
    evaluated = saved_attempts(file)
    known = {attempt.sha256: attempt for attempt in evaluated}
    while True:
        unsolved = [attempt for attempt in evaluated if not attempt.solved]
        unsolvable = proven_unsolvable(unsolved, source.again, reference)
        places = [place for place, attempt in enumerate(evaluated) if attempt.sha256 not in unsolvable]
        solved = [evaluated[place].solved for place in places]
        count = sufficient_count(solved, config.epsilon, config.kappa)
        if count is not None:
            break
        if not solved and len(evaluated) >= MOST_UNSOLVABLE:
            raise InputError(
                f"the first {len(evaluated)} problems of {source.domain.name} with {size} objects and seed "
                f"{source.seed} are all proven unsolvable; mend the generator, or exclude the size from the "
                f"domain's sizes"
            )
        if time.monotonic() >= until:
            return None
        more = min(MOST_AT_ONCE, still_needed(solved, config.epsilon, config.kappa))
        problems = [source.problem(size, len(evaluated) + number) for number in range(1, more + 1)]
        new = {problem.sha256: problem for problem in problems if problem.sha256 not in known}
        if new:  # small sizes have few distinct problems
            work = planner.batch(tuple(new.values()), Limit(max_actions, config.seconds))
            known |= {attempt.sha256: attempt for attempt in run_all([work], planner.load, jobs, title)[0]}
        evaluated += [known[problem.sha256] for problem in problems]
        write_json(file, [attempt.to_record() for attempt in evaluated])
    attempts = tuple(evaluated[place] for place in places[:count])
    unsolved = [attempt for attempt in attempts if not attempt.solved]
    shortest = shortest_known(unsolved, source.again, size, max_actions, reference)
    return (
        None if shortest is None else CurvePoint(size, max_actions, attempts, shortest, places[count - 1] + 1 - count)
    )


def sufficient_count(solved: Sequence[bool], epsilon: float, kappa: float) -> int | None:
    """The number of results that suffice: the first n with t^2 (s^2 + 1/n) / n <= epsilon^2; None if more are needed.

    s^2 is the variance of the first n results, t the quantile of Student's distribution for n - 1 degrees of freedom
    at 1 - kappa/2. Without the term 1/n two equal results would suffice.
    """
    places = np.arange(1, len(solved) + 1)
    rate = np.cumsum(np.asarray(solved, dtype=np.float64)) / places
    narrow = np.flatnonzero(half_width(rate, places, kappa) <= epsilon)
    return int(narrow[0]) + 1 if len(narrow) else None


def half_width(rate: NDArray[np.float64], count: NDArray[np.int64], kappa: float) -> NDArray[np.float64]:
    """Half the widths [n] of the intervals of rates [n] after `count` [n] results each; infinite after one."""
    t = _quantiles(kappa, int(count.max(initial=0)))[count - 1]
    return np.asarray(t * np.sqrt((rate * (1 - rate) + 1 / count) / count))


@cache
def _quantiles(kappa: float, most: int) -> NDArray[np.float64]:
    """The quantiles for 1 to `most` results."""
    degrees = np.arange(0, most)
    return np.where(degrees > 0, student.ppf(1 - kappa / 2, np.maximum(degrees, 1)), np.inf)


@cache
def least_count(epsilon: float, kappa: float) -> int:
    """The number of equal results that suffice: fewer results never do."""
    count = 1
    while (sufficient := sufficient_count([True] * count, epsilon, kappa)) is None:
        count *= 2
    return sufficient


def still_needed(solved: Sequence[bool], epsilon: float, kappa: float) -> int:
    """The estimated number of further results that the interval needs, given those known."""
    known = len(solved)
    if known < 2:
        return least_count(epsilon, kappa)
    rate = mean(solved)
    t = float(_quantiles(kappa, known)[-1])
    return max(MIN_BATCH, math.ceil((t / epsilon) ** 2 * (rate * (1 - rate) + 1 / known)) - known)


OWN_METRICS = ("scale", "sumcov", *(each.metric for each in StopReason), "coverage", "fits", "with_plan", "unsolvable")


@dataclass(frozen=True)
class Sample:
    """One problem of a curve and its attempt, the argument of a property."""

    attempt: Attempt
    size: int
    bound: int
    source: ProblemSource

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found within the bound."""
        return self.attempt.solved

    @cached_property
    def problem(self) -> Problem:
        """The problem, generated again."""
        return self.source.again(self.attempt)

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The plan with its states; None if the problem was not solved."""
        plan = parse_plan("\n".join(self.attempt.plan))
        return Trajectory.of(Task(self.problem), plan) if self.solved else None


Property = Callable[[Sample], float | None]  # None: not defined for the sample, which is left out of the mean


def plan_length(sample: Sample) -> float | None:
    """Actions of the plan of a solved problem."""
    return len(sample.attempt.plan) if sample.solved else None


def plan_length_per_object(sample: Sample) -> float | None:
    """Actions of the plan of a solved problem, divided by its objects."""
    return len(sample.attempt.plan) / sample.size if sample.solved else None


def seconds(sample: Sample) -> float:
    """Seconds of the attempt, solved or not."""
    return sample.attempt.seconds


PROPERTIES: Mapping[str, Property] = {
    function.__name__: function for function in (plan_length, plan_length_per_object, seconds)
}


def samples(curve: Curve, point: CurvePoint) -> list[Sample]:
    """The samples of one size of a curve."""
    return [Sample(attempt, point.size, point.max_actions, curve.source) for attempt in point.attempts]


def property_values(curve: Curve, point: CurvePoint, name: str, property_: Property) -> list[float]:
    """The values of a property over the samples of one size that have it."""
    values = []
    for sample in samples(curve, point):
        value = property_(sample)
        if value is None:
            continue
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ConfigurationError(
                f"property '{name}' of {sample.attempt.problem} is {value!r}; expected a finite number, or None where "
                f"the problem does not have it"
            )
        values.append(float(value))
    return values


def curve_scores(
    curve: Curve, subject: Measurement, properties: Mapping[str, Property] | None = None
) -> Iterator[Score]:
    """The scores of a curve: `scale`, `sumcov` and `ended_X` (the stop reason, also in the note), then those by size.

    By size: `coverage`; `fits` and `with_plan` (see `CurvePoint`); `unsolvable`, a number of problems; and means of
    properties.
    """
    wanted = {**PROPERTIES, **(properties or {})}
    for name in wanted:
        if name in OWN_METRICS:
            raise ConfigurationError(f"property '{name}' has the name of a metric; choose another name")

    def score(metric: str, value: float, count: int, size: int | None = None) -> Score:
        return Score(**vars(subject), size=size, metric=metric, value=value, n=count)

    count = sum(len(point.attempts) for point in curve.points)
    note = "; ".join(filter(None, (subject.note, curve.note)))
    for metric, value in (("scale", curve.scale), ("sumcov", curve.sumcov), (curve.stop_reason.metric, 1)):
        yield replace(score(metric, value, count), note=note)
    for point in curve.points:
        shares = {"coverage": point.coverage, "fits": point.within_bound, "with_plan": point.with_plan}
        for metric, share in shares.items():
            yield score(metric, share, len(point.attempts), point.size)
        if point.unsolvable:
            yield score("unsolvable", point.unsolvable, len(point.attempts) + point.unsolvable, point.size)
        for name, property_ in wanted.items():
            values = property_values(curve, point, name, property_)
            if values:
                yield score(name, mean(values), len(values), point.size)
