"""Retrieval of next states by the protocols of transition learning: every model, lesson and kind of pools.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix A.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from statistics import fmean

from sgp.api import configured, measured_here, train_lesson
from sgp.datasets.protocols import Lesson, domain_instances, lessons
from sgp.datasets.store import cache_folder
from sgp.datasets.training_data import steps_of
from sgp.datasets.walks import Instance
from sgp.errors import ConfigurationError, InputError, TextTooLong
from sgp.evaluation.confidence import abstention, calibration_error
from sgp.evaluation.retrieval import (
    KS,
    POOL,
    Pools,
    Query,
    action_ranks,
    evenly,
    followed,
    plan_hits,
    queries,
    rank,
    ranks,
    similarities,
    summary,
)
from sgp.evaluation.scores import Measurement, Score, read_scores, write_scores
from sgp.methods import get_method
from sgp.methods.configuration import has_setting
from sgp.methods.contract import PredictingMethod
from sgp.methods.loading import load_model
from sgp.methods.texts import keep_texts
from sgp.planning.subject import transferred_variant
from sgp.planning.trajectory import Trajectory
from sgp.planning.transition_model import TransitionModel
from sgp.progress import progress
from sgp.training.latent_transitions import ContrastTraining
from sgp.workers import Jobs, workers

logger = logging.getLogger(__name__)

SEEDS = (42, 123, 456)  # embedplan, appendix I.2
LEARNERS = (
    "embedplan:minilm-atoms",
    "embedplan:untrained",
    *(
        f"displacements:{kind}"
        for kind in ("copy", "grounded", "schema", "schema-bag", "ridge", "renamed", "induction")
    ),
    "wl-displacements:schema",
)


@dataclass(frozen=True)
class Asked:
    """How a model is measured: kinds of pools, candidates in each, most transitions and most plans of a domain.

    Raises ConfigurationError for numbers that cannot be.
    """

    pools: tuple[Pools, ...] = ("paper", "hard")
    size: int = POOL
    transitions: int | None = 500
    plans: int = 50

    def __post_init__(self) -> None:
        if self.size < max(KS):
            raise ConfigurationError(f"pools have {self.size} candidates; expected at least {max(KS)}, the largest k")
        if self.plans < 0 or (self.transitions is not None and self.transitions < 1):
            raise ConfigurationError(
                f"asked for {self.transitions} transitions and {self.plans} plans of a domain; expected at least 1 "
                "transition and no less than 0 plans"
            )


@dataclass(frozen=True)
class Learner:
    """What is trained and measured: a method, a variant, settings of training."""

    method: str
    variant: str
    settings: tuple[tuple[str, str], ...] = ()


def learners_of(names: Sequence[str], settings: Mapping[str, str] | None = None) -> tuple[Learner, ...]:
    """Learners by `METHOD` or `METHOD:VARIANT`, each with those of the settings that it has.

    Raises InputError for a method that makes planners, ConfigurationError for an unknown variant and for a setting that
    none has.
    """
    asked, fitting, found = dict(settings or {}), set[str](), dict[Learner, None]()
    for name in names:
        key, _, chosen = name.partition(":")
        method = get_method(key)
        if not isinstance(method, PredictingMethod):
            raise InputError(f"method {key} makes planners; expected one that predicts states, such as embedplan")
        for variant in [chosen] if chosen else method.variants:
            config = configured(key, variant, None)[2]  # what it raises
            given = {path: value for path, value in asked.items() if has_setting(config, path)}
            configured(key, variant, given)
            fitting |= given.keys()
            found[Learner(method.key, variant, tuple(given.items()))] = None
    for path in asked.keys() - fitting:
        raise ConfigurationError(
            f"no learner has the setting '{path}'; expected a field of their configurations, such as text.sentences"
        )
    return tuple(found)


def retrieve(
    suite: str,
    protocols: Sequence[str],
    learners: Sequence[Learner],
    domains: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    asked: Asked | None = None,
    most: int | None = None,
    device: str = "auto",
    jobs: Jobs = 1,
    shots: Sequence[int] = (0,),
) -> list[Score]:
    """The scores of every learner by every protocol, domain and seed; what was measured before is kept.

    `most` bounds the transitions of a domain that are learned from; `shots` are numbers of transitions of each schema
    of the domain left out that are learned from beside. What a model cannot represent is told and has no scores.
    Raises InputError for an unknown protocol and for shots in another one than leave-one-out, SuiteError for a domain
    that is not there and for instances of which there are too few, StoreError for damaged files, and what training
    raises.
    """
    works = [
        (lesson, learner, asked or Asked(), device)
        for protocol in protocols
        for seed in seeds
        for few in shots
        for lesson in lessons(suite, protocol, domains, seed, most, few)
        for learner in learners
    ]
    found: dict[int, list[Score]] = {}
    with progress(f"retrieval on {suite}", len(works)) as bar:
        for place, scores in workers(jobs).each(measure, works):
            found[place] = scores
            bar.advance()
    return [score for place in sorted(found) for score in found[place]]


def measure(lesson: Lesson, learner: Learner, asked: Asked, device: str) -> list[Score]:
    """Trains one model, or takes the one that was trained, and measures it in all domains of its lesson."""
    try:
        run = train_lesson(learner.method, lesson, learner.variant, dict(learner.settings), device)
    except TextTooLong as error:  # of one model; others go on, in this domain, too
        logger.warning("%s %s has no scores in %s: %s", learner.method, learner.variant, lesson.domain, error)
        return []
    identity = sha256(f"{run.sha256} {lesson.sha256} {lesson.measured} {asdict(asked)}".encode()).hexdigest()
    file = cache_folder() / "retrieval" / f"{identity}.json"
    if not file.is_file():
        model, note = load_model(run.folder), measured_here(run, 1)
        temperature = float(run.training.get("training", {}).get("temperature", ContrastTraining.temperature))
        found, whole = list[Score](), True
        for name in lesson.measured:
            try:
                tasks = [each.task for each in domain_instances(lesson.suite, name)]
                reason = next(filter(None, map(model.refuses, tasks)), None)
                if reason is None:
                    found += list(_of_domain(model, lesson, learner, asked, name, note, temperature))  # all or nothing
            except TextTooLong as error:
                reason = str(error)
            if reason is not None:
                logger.warning("%s %s has no scores in %s: %s", learner.method, learner.variant, name, reason)
                whole = False
        keep_texts()
        if not whole:  # nothing is kept, so that what is missing is told each time
            return found
        write_scores(file, found)
    return read_scores(file)


def _of_domain(
    model: TransitionModel,
    lesson: Lesson,
    learner: Learner,
    asked: Asked,
    domain: str,
    note: str,
    temperature: float,
) -> Iterator[Score]:
    """What is measured in a domain; probabilities are by the model's temperature, or the paper's."""
    part, of = lesson.held_out(domain), domain_instances(lesson.suite, domain)
    transitions = evenly(part.transitions, asked.transitions, lesson.seed)
    if domain in lesson.of:
        _tell_unseen(lesson, domain, frozenset(each.action.name for each in transitions))
    name = configured(learner.method, learner.variant, dict(learner.settings))[1]
    source = "" if domain in lesson.of or len(lesson.of) > 1 else lesson.domain
    count = len({each.task for each in transitions})
    subject = Measurement(
        method=learner.method,
        variant=transferred_variant(name, lesson.most, source, lesson.shots),
        domain=domain,
        suite=lesson.suite,
        split=lesson.protocol,
        seed=lesson.seed,
        note=f"{note}, at most {asked.transitions} transitions and {asked.plans} plans a domain",
    )
    walks = evenly(part.walks, asked.plans, lesson.seed)
    actions = action_ranks(model, transitions, lesson.seed)
    yield from _scores(subject, {"queries": float(len(transitions)), **summary(actions, "acc")}, count)
    for kind in asked.pools:
        across = lesson.protocol == "interpolation"
        pooled = _pools(kind)(kind, tuple(transitions), of, across, lesson.seed, asked.size, part.transitions)
        near = similarities(model, pooled)
        found = [rank(each) for each in near]
        metrics = {**summary(found), "pool": fmean(each.size for each in found)}
        metrics["abstention_auroc"] = abstention(near)
        metrics["calibration_error"] = calibration_error(near, temperature)
        metrics["merged"] = float(sum(each.merged for each in pooled))
        yield from _scores(replace(subject, decoding=kind), metrics, count)
        if walks:
            metrics = _of_plans(model, walks, of, lesson, asked, kind)
            metrics |= _followed(model, walks, of, lesson.seed) if kind == "paper" else {}
            yield from _scores(replace(subject, decoding=kind), metrics, len({each.task for each in walks}))


@cache  # every model learns from the same transitions
def _tell_unseen(lesson: Lesson, domain: str, measured: frozenset[str]) -> None:
    """Tells schemas that nobody can have learned. Where a domain is left out or not learned from, these are all."""
    tasks = {each.task for each in domain_instances(lesson.suite, domain)}
    learned = {each.action.name for each in lesson.replayed().train if each.task in tasks}
    unseen = sorted(measured - learned)
    if unseen:
        logger.warning(
            "no transition that is learned from in %s, protocol %s, seed %d, is by %s, and some that are measured are: "
            "models guess what it does; learn from more (--most), or give more instances",
            domain,
            lesson.protocol,
            lesson.seed,
            ", ".join(unseen),
        )


def _pools(kind: Pools) -> Callable[..., Sequence[Query]]:
    """What makes pools: those of all states are made at once and would fill the memory if kept."""
    return queries if kind == "all" else _kept_queries


# All models are measured in the same pools, which take longer to make than most models to rank: those of two kinds, of
# transitions and of plans, in nine domains.
_kept_queries = lru_cache(maxsize=36)(queries)


def _of_plans(
    model: TransitionModel,
    walks: Sequence[Trajectory],
    of: tuple[Instance, ...],
    lesson: Lesson,
    asked: Asked,
    kind: Pools,
) -> dict[str, float]:
    """The metrics of whole plans, the true state given before each step."""
    steps = [steps_of(walk) for walk in walks]
    flat = [step for plan in steps for step in plan]
    stream = tuple(dict.fromkeys(flat))  # plans may share steps
    found = dict(zip(stream, ranks(model, _pools(kind)(kind, stream, of, False, lesson.seed, asked.size)), strict=True))
    plans = [[found[step] for step in plan] for plan in steps]
    metrics: dict[str, float] = {"plans": float(len(plans))}
    for k in (1, 5):
        hits = plan_hits(plans, k)
        metrics |= {f"plan_mean_hit@{k}": hits.mean, f"plan_exact_hit@{k}": hits.exact}
    return metrics


def _followed(
    model: TransitionModel, walks: Sequence[Trajectory], of: Sequence[Instance], seed: int
) -> dict[str, float]:
    """Which share of plans is executed exactly where predictions are taken for the nearest state of the instance."""
    states = {each.task: each.states for each in of}
    return {"closed_loop_exact": fmean(all(followed(model, walk, states[walk.task], seed)) for walk in walks)}


def _scores(subject: Measurement, metrics: Mapping[str, float], count: int) -> Iterator[Score]:
    for metric, value in metrics.items():
        yield Score(**vars(subject), metric=metric, value=round(value, 6), count=count)
