"""Retrieval of next states by the protocols of transition learning, for every model, split and kind of pools.

A recording has a few steps of a domain, with the states that models rank highest, for the dashboard.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix A.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgp.analysis.maps import FEWEST, evenly_spaced, project_linearly, project_neighbours
from sgp.api import configured, measured_here, train_split
from sgp.datasets.protocols import ProtocolSplit, domain_instances, protocol_splits
from sgp.datasets.runs import Run
from sgp.datasets.store import cache_folder
from sgp.datasets.subject import Variant
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Transition, steps_of
from sgp.datasets.walks import Instance
from sgp.errors import ConfigurationError, InputError, TextTooLong
from sgp.evaluation import retrieval
from sgp.evaluation.retrieval import Candidate, Pools, Query, by_task, evenly, predictions, queries, rank, similarities
from sgp.evaluation.scores import Measurement, Score, read_scores, to_frame, write_scores
from sgp.files import write_text
from sgp.methods import get_method
from sgp.methods.configuration import has_setting
from sgp.methods.contract import PredictingMethod
from sgp.methods.embedplan import ContrastTraining
from sgp.methods.loading import load_model
from sgp.methods.state_encoders import save_sentence_vectors
from sgp.planning.task import Trajectory
from sgp.policies.embedding import SeenFromAction, TransitionModel
from sgp.progress import track
from sgp.viewer.retrieved import FORMAT
from sgp.workers import Jobs, run_tasks

logger = logging.getLogger(__name__)

SEEDS = (42, 123, 456)  # embedplan, appendix I.2
MOST, NEAREST = 12, 10  # recorded steps in a file; candidates of a step
_RANKED = 100  # steps from which these are chosen
_GROUND = 300  # known states on a map
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

    @property
    def title(self) -> str:
        """The variant with its settings."""
        return configured(self.method, self.variant, dict(self.settings))[1]


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
    transitions = evenly(part.transitions, config.transitions, split.seed)
    if domain in split.train_domains:
        _warn_of_unseen(split, domain, frozenset(transition.action.name for transition in transitions))
    source = "" if domain in split.train_domains or len(split.train_domains) > 1 else split.domain
    variant = Variant(learner.title, max_transitions=split.max_transitions, shots=split.shots, source=source)
    count = len({transition.task for transition in transitions})
    subject = Measurement(
        **{"method": learner.method, "variant": str(variant), "domain": domain, "suite": split.suite},
        split=split.protocol,
        seed=split.seed,
        note=f"{note}, at most {config.transitions} transitions and {config.plans} plans a domain",
    )
    walks = evenly(part.walks, config.plans, split.seed)
    actions = retrieval.action_ranks(model, transitions, split.seed)
    yield from _scores(subject, {"queries": float(len(transitions)), **retrieval.summary(actions, "acc")}, count)
    for kind in config.pools:
        across = split.protocol == "interpolation"
        pooled = _queries(kind, tuple(transitions), of, across, split.seed, config.size, part.transitions)
        near = similarities(model, pooled)
        ranks = list(map(rank, near))
        metrics = {**retrieval.summary(ranks), "pool": fmean(each.size for each in ranks)}
        metrics["abstention_auroc"] = retrieval.abstention(near)
        metrics["calibration_error"] = retrieval.calibration_error(near, temperature)
        metrics["merged"] = float(sum(query.merged for query in pooled))
        yield from _scores(subject, metrics, count, kind)
        if walks:
            metrics = _of_plans(model, walks, of, split, config, kind)
            if kind == "paper":  # plans that are executed exactly if each prediction is replaced by the nearest state
                states = {instance.task: instance.states for instance in of}
                exact = (all(retrieval.followed(model, walk, states[walk.task], split.seed)) for walk in walks)
                metrics["closed_loop_exact"] = fmean(exact)
            yield from _scores(subject, metrics, len({walk.task for walk in walks}), kind)


@cache  # every model learns from the same transitions
def _warn_of_unseen(split: ProtocolSplit, domain: str, measured: frozenset[str]) -> None:
    """Warn of action schemas that occur in test transitions and in no training transition of the domain."""
    tasks = {instance.task for instance in domain_instances(split.suite, domain)}
    learned = {transition.action.name for transition in split.replayed().train if transition.task in tasks}
    if unseen := sorted(measured - learned):
        logger.warning(
            "no transition that is learned from in %s, protocol %s, seed %d, is by %s, and some that are measured are: "
            "models guess what it does; learn from more (--most), or give more instances",
            *(domain, split.protocol, split.seed, ", ".join(unseen)),
        )


# All models are measured in the same pools, which take longer to make than most models to rank: those of two kinds, of
# transitions and of plans, in nine domains.
_cached_queries = lru_cache(maxsize=36)(queries)


def _queries(kind: Pools, *arguments: Any) -> Sequence[Query]:
    """The queries of `queries`, cached but for pools of all states, which would fill the memory."""
    return (queries if kind == "all" else _cached_queries)(kind, *arguments)


def _of_plans(
    model: TransitionModel,
    walks: Sequence[Trajectory],
    of: tuple[Instance, ...],
    split: ProtocolSplit,
    config: RetrievalConfig,
    kind: Pools,
) -> dict[str, float]:
    """Metrics of whole plans, with the true state given before each step."""
    steps = [steps_of(walk) for walk in walks]
    stream = tuple(dict.fromkeys(step for plan in steps for step in plan))  # plans may share steps
    ranks = retrieval.ranks(model, _queries(kind, stream, of, False, split.seed, config.size))
    rank_of = dict(zip(stream, ranks, strict=True))
    plans = [[rank_of[step] for step in plan] for plan in steps]
    metrics: dict[str, float] = {"plans": float(len(plans))}
    for k in (1, 5):
        metrics[f"plan_mean_hit@{k}"], metrics[f"plan_exact_hit@{k}"] = retrieval.plan_hits(plans, k)
    return metrics


def _scores(subject: Measurement, metrics: Mapping[str, float], count: int, pool: str = "") -> Iterator[Score]:
    for metric, value in metrics.items():
        yield Score(**vars(subject), metric=metric, value=round(value, 6), pool=pool, n=count)


def record_retrievals(
    folder: Path,
    suite: str,
    protocols: Sequence[str],
    learners: Sequence[Learner],
    domains: Sequence[str] = (),
    seed: int = 42,
    config: RetrievalConfig | None = None,
    most: int | None = None,
    device: str = "auto",
    shots: Sequence[int] = (0,),
) -> list[Path]:
    """Write a file of steps for each split and domain of the protocols; missing runs are trained."""
    config = config or RetrievalConfig()
    if set(config.pools) <= {"all"}:
        raise InputError(f"pools are {', '.join(config.pools)}; expected paper, batch or hard, to record some of")
    works = [
        (split, name)
        for protocol in protocols
        for few in shots
        for split in protocol_splits(suite, protocol, domains, seed, most, few)
        for name in split.test_domains
    ]
    files = []
    for split, name in track(works, f"record retrieval on {suite}", len(works)):
        recorded = _recorded(split, name, learners, config, device)
        if recorded is not None:
            files.append(folder / f"{_stem(split, name)}.json")
            write_text(files[-1], json.dumps(recorded) + "\n")
    return files


def _stem(split: ProtocolSplit, domain: str) -> str:
    """A file's name, from everything that distinguishes recordings."""
    parts = [split.suite, domain, split.protocol, str(split.seed)]
    parts += [f"most{split.max_transitions}"] if split.max_transitions else []
    parts += [f"shots{split.shots}"] if split.shots else []
    if domain not in split.train_domains:
        parts.append(f"from-{'several' if len(split.train_domains) > 1 else split.domain}")
    return "-".join(parts)


Similar = dict[Pools, list[NDArray[np.float64]]]  # of each query of each kind of pools
Nearest = dict[Pools, list[tuple[Candidate, float]]]  # the candidates most similar to the prediction of a step


def _models(
    split: ProtocolSplit,
    learners: Sequence[Learner],
    pools: Mapping[Pools, Sequence[Query]],
    of: Sequence[Instance],
    device: str,
) -> Iterator[tuple[Learner, Run, TransitionModel, Similar]]:
    """The models that can read these instances, with their runs and their similarities in all pools."""
    for learner in learners:
        try:
            run = train_split(learner.method, split, learner.variant, dict(learner.settings), device)
            model = load_model(run.folder)
            reason = next(filter(None, (model.refuses(instance.task) for instance in of)), None)
            if reason is None:
                yield learner, run, model, {kind: similarities(model, pool) for kind, pool in pools.items()}
                continue
        except TextTooLong as error:
            reason = str(error)
        logger.warning("%s %s is not recorded in %s: %s", learner.method, learner.variant, of[0].domain, reason)


def _recorded(
    split: ProtocolSplit, domain: str, learners: Sequence[Learner], config: RetrievalConfig, device: str
) -> dict[str, Any] | None:
    """Content of a file; None if no model can read these instances."""
    part, of = split.held_out(domain), domain_instances(split.suite, domain)
    looked_at = evenly(part.transitions, _RANKED, split.seed)
    across = split.protocol == "interpolation"
    kinds: list[Pools] = [kind for kind in config.pools if kind != "all"]
    pools = {kind: queries(kind, looked_at, of, across, split.seed, config.size, part.transitions) for kind in kinds}
    models = list(_models(split, learners, pools, of, device))
    if not models:
        return None
    (_, run, _, near), *_ = models
    missed = [any(rank(near[kind][place]).better for kind in kinds) for place in range(len(looked_at))]
    places = _some(missed)
    steps = [looked_at[place] for place in places]
    numbers: dict[Candidate, int] = {}  # of states, in order of first use

    def number(candidate: Candidate) -> int:
        return numbers.setdefault(candidate, len(numbers))

    ground = _evenly([Candidate(instance.task, state) for instance in of for state in instance.states], _GROUND)
    listed = []
    for learner, _, model, similar in models:
        nearest: list[Nearest] = [
            {kind: _nearest(pools[kind][place], similar[kind][place]) for kind in kinds} for place in places
        ]
        points, predicted, explained = _charted(model, ground, steps, nearest)
        known = [[number(candidate), points[candidate]] for candidate in ground if points]
        results = []
        for order, (place, step) in enumerate(zip(places, steps, strict=True)):
            shown = {}
            if points:
                before, after = (points[Candidate(step.task, state)] for state in (step.before, step.after))
                shown = {"state": before, "predicted": predicted[order], "true": after}
            found = {}
            for kind in kinds:
                near_ones = [[number(near), round(value, 4), points.get(near)] for near, value in nearest[order][kind]]
                found[kind] = {**rank(similar[kind][place])._asdict(), "nearest": near_ones}
            results.append({"points": shown, "pools": found})
        facts = {"method": learner.method, "variant": learner.title}
        listed.append({**facts, "ground": known, "explained": list(explained), "steps": results})
    step_records = [
        {
            "before": number(Candidate(step.task, step.before)),
            "action": str(step.action),
            "after": number(Candidate(step.task, step.after)),
        }
        for step in steps
    ]
    tasks = {instance.task: place for place, instance in enumerate(of)}
    atoms: dict[str, int] = {}
    states = [
        [tasks[task], [atoms.setdefault(str(task.fluent(fluent)), len(atoms)) for fluent in task.fluents(state)]]
        for task, state in numbers
    ]
    return {
        "format": FORMAT,
        "suite": split.suite,
        "protocol": split.protocol,
        "seed": split.seed,
        "domain": domain,
        "learned_from": split.domain,
        "most": split.max_transitions,
        "shots": split.shots,
        "about": f"Of {len(looked_at)} steps, the first model missed {sum(missed)} in at least one pool; "
        f"{sum(missed[place] for place in places)} of these are among the {len(places)} that are shown. "
        f"{measured_here(run, 1)}",
        "domain_pddl": load_suite(split.suite).domain_pddl(domain),
        "problems": [{"name": task.name, "pddl": task.problem.problem_pddl} for task in tasks],
        "states": states,
        "atoms": list(atoms),
        "pools": kinds,
        "steps": step_records,
        "models": listed,
    }


def _some(missed: Sequence[bool]) -> list[int]:
    """Places of at most `MOST` steps in their order, about half of them misses if there are enough."""
    misses, hits = ([place for place, miss in enumerate(missed) if miss is wanted] for wanted in (True, False))
    count = min(len(misses), max(MOST // 2, MOST - len(hits)))
    return sorted([*_evenly(misses, count), *_evenly(hits, MOST - count)])


def _evenly(some: Sequence[Any], most: int) -> list[Any]:
    return [some[place] for place in evenly_spaced(len(some), most)]


def _nearest(query: Query, similar: NDArray[np.float64]) -> list[tuple[Candidate, float]]:
    """The candidates most similar to the prediction; equal ones in the order of the pool."""
    order = np.argsort(-similar, kind="stable")[:NEAREST]
    return [(query.pool[place], float(similar[place])) for place in order]


def _charted(
    model: TransitionModel, ground: Sequence[Candidate], steps: Sequence[Transition], nearest: Sequence[Nearest]
) -> tuple[dict[Candidate, list[int]], list[list[int]], tuple[float, float]]:
    """Coordinates on a model's map: of all states that are shown, and of the predictions; shares of variance by PCA."""
    if isinstance(model, SeenFromAction):
        return {}, [], (0.0, 0.0)
    near = (candidate for pools in nearest for pool in pools.values() for candidate, _ in pool)
    ends = (Candidate(step.task, state) for step in steps for state in (step.before, step.after))
    shown = list(dict.fromkeys([*ground, *ends, *near]))
    embedded = by_task(
        [each.task for each in shown], lambda task, places: model.embed(task, [shown[place].state for place in places])
    )
    rows = np.vstack([embedded, predictions(model, steps)]).astype(np.float32)
    linear, explained = project_linearly(rows[: len(ground)], rows)
    points = np.hstack([linear, project_neighbours(rows)]) if len(rows) >= FEWEST else linear
    return dict(zip(shown, points.tolist(), strict=False)), points[len(shown) :].tolist(), explained
