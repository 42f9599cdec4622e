"""Retrieval of next states by the protocols of transition learning, for every model, split and kind of pools.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix A.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from statistics import fmean

import pandas as pd

from sgp.api import configured, measured_here, train_split
from sgp.datasets.protocols import ProtocolSplit, domain_instances, protocol_splits
from sgp.datasets.store import cache_folder
from sgp.datasets.training_data import steps_of
from sgp.datasets.walks import Instance
from sgp.errors import ConfigurationError, InputError, TextTooLong
from sgp.evaluation import retrieval
from sgp.evaluation.scores import Measurement, Score, read_scores, to_frame, write_scores
from sgp.methods import get_method
from sgp.methods.configuration import has_setting
from sgp.methods.contract import PredictingMethod
from sgp.methods.loading import load_model
from sgp.methods.state_encoders import save_sentence_vectors
from sgp.planning.policy import TransitionModel
from sgp.planning.subject import Variant
from sgp.planning.trajectory import Trajectory
from sgp.training.latent_transitions import ContrastTraining
from sgp.workers import Jobs, run_tasks

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
class RetrievalConfig:
    """How a model is measured: kinds of pools, candidates in each, maximum test transitions and plans of a domain."""

    pools: tuple[retrieval.Pools, ...] = ("paper", "hard")
    size: int = retrieval.POOL
    transitions: int | None = 500
    plans: int = 50

    def __post_init__(self) -> None:
        if self.size < max(retrieval.KS):
            raise ConfigurationError(
                f"pools have {self.size} candidates; expected at least {max(retrieval.KS)}, the largest k"
            )
        if self.plans < 0 or (self.transitions is not None and self.transitions < 1):
            raise ConfigurationError(
                f"{self.transitions} transitions and {self.plans} plans of a domain requested; expected at least 1 "
                "transition and no less than 0 plans"
            )


@dataclass(frozen=True)
class Learner:
    """A method, a variant and training settings, to be trained and measured."""

    method: str
    variant: str
    settings: tuple[tuple[str, str], ...] = ()


def learners_of(names: Sequence[str], settings: Mapping[str, str] | None = None) -> tuple[Learner, ...]:
    """Learners by `METHOD` or `METHOD:VARIANT`; each gets those of the settings that it has."""
    overrides, used, learners = dict(settings or {}), set[str](), dict[Learner, None]()
    for name in names:
        key, _, chosen = name.partition(":")
        method = get_method(key)
        if not isinstance(method, PredictingMethod):
            raise InputError(f"method {key} makes planners; expected one that predicts states, such as embedplan")
        for variant in [chosen] if chosen else method.variants:
            config = configured(key, variant, None)[2]  # what it raises
            given = {path: value for path, value in overrides.items() if has_setting(config, path)}
            configured(key, variant, given)
            used |= given.keys()
            learners[Learner(method.key, variant, tuple(given.items()))] = None
    for path in overrides.keys() - used:
        raise ConfigurationError(
            f"no learner has the setting '{path}'; expected a field of their configurations, such as text.sentences"
        )
    return tuple(learners)


def retrieve(
    suite: str,
    protocols: Sequence[str],
    learners: Sequence[Learner],
    domains: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    config: RetrievalConfig | None = None,
    most: int | None = None,
    device: str = "auto",
    jobs: Jobs = 1,
    shots: Sequence[int] = (0,),
) -> pd.DataFrame:
    """The scores of every learner by every protocol, domain and seed; results are cached.

    Args:
        most: maximum training transitions of a domain.
        shots: numbers of training transitions of each schema of the domain that is left out.

    A model that cannot represent a domain is reported and has no scores there.
    """
    works = [
        (split, learner, config or RetrievalConfig(), device)
        for protocol in protocols
        for seed in seeds
        for few in shots
        for split in protocol_splits(suite, protocol, domains, seed, most, few)
        for learner in learners
    ]
    return pd.concat([to_frame([]), *run_tasks(jobs, measure, works, f"retrieval on {suite}")], ignore_index=True)


def measure(split: ProtocolSplit, learner: Learner, config: RetrievalConfig, device: str) -> pd.DataFrame:
    """Train one model, or load it, and measure it in all test domains of its split."""
    try:
        run = train_split(learner.method, split, learner.variant, dict(learner.settings), device)
    except TextTooLong as error:  # of one model; others go on, in this domain, too
        logger.warning("%s %s has no scores in %s: %s", learner.method, learner.variant, split.domain, error)
        return to_frame([])
    identity = sha256(f"{run.sha256} {split.sha256} {split.test_domains} {asdict(config)}".encode()).hexdigest()
    file = cache_folder() / "retrieval" / f"{identity}.json"
    if not file.is_file():
        model, note = load_model(run.folder), measured_here(run, 1)
        temperature = float(run.training.get("training", {}).get("temperature", ContrastTraining.temperature))
        found, whole = list[Score](), True
        for name in split.test_domains:
            try:
                tasks = [each.task for each in domain_instances(split.suite, name)]
                reason = next(filter(None, map(model.refuses, tasks)), None)
                if reason is None:
                    found += list(_of_domain(model, split, learner, config, name, note, temperature))  # all or nothing
            except TextTooLong as error:
                reason = str(error)
            if reason is not None:
                logger.warning("%s %s has no scores in %s: %s", learner.method, learner.variant, name, reason)
                whole = False
        save_sentence_vectors()
        if not whole:  # nothing is cached, so that what is missing is reported each time
            return to_frame(found)
        write_scores(file, to_frame(found))
    return read_scores(file)


def _of_domain(
    model: TransitionModel,
    split: ProtocolSplit,
    learner: Learner,
    config: RetrievalConfig,
    domain: str,
    note: str,
    temperature: float,
) -> Iterator[Score]:
    """The scores in a domain; probabilities use the model's temperature, or the paper's."""
    part, of = split.held_out(domain), domain_instances(split.suite, domain)
    transitions = retrieval.evenly(part.transitions, config.transitions, split.seed)
    if domain in split.train_domains:
        _warn_of_unseen(split, domain, frozenset(each.action.name for each in transitions))
    name = configured(learner.method, learner.variant, dict(learner.settings))[1]
    source = "" if domain in split.train_domains or len(split.train_domains) > 1 else split.domain
    count = len({each.task for each in transitions})
    subject = Measurement(
        method=learner.method,
        variant=str(Variant(name, max_transitions=split.max_transitions, shots=split.shots, source=source)),
        domain=domain,
        suite=split.suite,
        split=split.protocol,
        seed=split.seed,
        note=f"{note}, at most {config.transitions} transitions and {config.plans} plans a domain",
    )
    walks = retrieval.evenly(part.walks, config.plans, split.seed)
    actions = retrieval.action_ranks(model, transitions, split.seed)
    yield from _scores(subject, {"queries": float(len(transitions)), **retrieval.summary(actions, "acc")}, count)
    for kind in config.pools:
        across = split.protocol == "interpolation"
        pooled = _pools(kind)(kind, tuple(transitions), of, across, split.seed, config.size, part.transitions)
        near = retrieval.similarities(model, pooled)
        found = [retrieval.rank(each) for each in near]
        metrics = {**retrieval.summary(found), "pool": fmean(each.size for each in found)}
        metrics["abstention_auroc"] = retrieval.abstention(near)
        metrics["calibration_error"] = retrieval.calibration_error(near, temperature)
        metrics["merged"] = float(sum(each.merged for each in pooled))
        yield from _scores(replace(subject, decoding=kind), metrics, count)
        if walks:
            metrics = _of_plans(model, walks, of, split, config, kind)
            if (
                kind == "paper"
            ):  # plans that are executed exactly where each prediction is replaced by the nearest state
                states = {instance.task: instance.states for instance in of}
                exact = (all(retrieval.followed(model, walk, states[walk.task], split.seed)) for walk in walks)
                metrics["closed_loop_exact"] = fmean(exact)
            yield from _scores(replace(subject, decoding=kind), metrics, len({each.task for each in walks}))


@cache  # every model learns from the same transitions
def _warn_of_unseen(split: ProtocolSplit, domain: str, measured: frozenset[str]) -> None:
    """Warn of action schemas that occur in test transitions and in no training transition of the domain."""
    tasks = {each.task for each in domain_instances(split.suite, domain)}
    learned = {each.action.name for each in split.replayed().train if each.task in tasks}
    unseen = sorted(measured - learned)
    if unseen:
        logger.warning(
            "no transition that is learned from in %s, protocol %s, seed %d, is by %s, and some that are measured are: "
            "models guess what it does; learn from more (--most), or give more instances",
            domain,
            split.protocol,
            split.seed,
            ", ".join(unseen),
        )


def _pools(kind: retrieval.Pools) -> Callable[..., Sequence[retrieval.Query]]:
    """The function that makes pools, cached but for pools of all states, which would fill the memory."""
    return retrieval.queries if kind == "all" else _cached_queries


# All models are measured in the same pools, which take longer to make than most models to rank: those of two kinds, of
# transitions and of plans, in nine domains.
_cached_queries = lru_cache(maxsize=36)(retrieval.queries)


def _of_plans(
    model: TransitionModel,
    walks: Sequence[Trajectory],
    of: tuple[Instance, ...],
    split: ProtocolSplit,
    config: RetrievalConfig,
    kind: retrieval.Pools,
) -> dict[str, float]:
    """Metrics of whole plans, with the true state given before each step."""
    steps = [steps_of(walk) for walk in walks]
    flat = [step for plan in steps for step in plan]
    stream = tuple(dict.fromkeys(flat))  # plans may share steps
    found = dict(
        zip(stream, retrieval.ranks(model, _pools(kind)(kind, stream, of, False, split.seed, config.size)), strict=True)
    )
    plans = [[found[step] for step in plan] for plan in steps]
    metrics: dict[str, float] = {"plans": float(len(plans))}
    for k in (1, 5):
        hits = retrieval.plan_hits(plans, k)
        metrics |= {f"plan_mean_hit@{k}": hits.mean, f"plan_exact_hit@{k}": hits.exact}
    return metrics


def _scores(subject: Measurement, metrics: Mapping[str, float], count: int) -> Iterator[Score]:
    for metric, value in metrics.items():
        yield Score(**vars(subject), metric=metric, value=round(value, 6), count=count)
