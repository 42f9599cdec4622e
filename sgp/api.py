"""Train, evaluate, diagnose, record and map. `import sgp` gives these names lazily."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgp.analysis import diagnostics, maps
from sgp.analysis.diagnostics import remaining_in_passing
from sgp.analysis.explanations import step_records
from sgp.datasets import training_data
from sgp.datasets.experts import expert_costs, expert_lengths
from sgp.datasets.generation import suite_of
from sgp.datasets.protocols import ProtocolSplit
from sgp.datasets.recorded import Recorded, map_file, read_recorded
from sgp.datasets.recording import records, replayed, with_distances
from sgp.datasets.runs import (
    Origin,
    Run,
    RunKey,
    export_run,
    find_run,
    held_run,
    new_run,
    open_run,
    place_run,
    receive_run,
    unpacked_run,
)
from sgp.datasets.subject import Variant
from sgp.datasets.suite import Suite, SuiteDomain, load_suite
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError, expected_one_of, names
from sgp.evaluation.attempts import Attempt, ProblemBatch, RolloutRecorder, run_all, scores, subject_of
from sgp.evaluation.scores import Measurement, Score, select, to_frame
from sgp.files import write_text
from sgp.methods import REGISTERED, get_method, list_methods, planning_method, recorded_libraries
from sgp.methods.configuration import configure, configure_decoding, decoded_identity, is_of_record, require_decodings
from sgp.methods.contract import Method, Selectable
from sgp.methods.loading import is_shipped, load_planner, require_loadable, source_of
from sgp.models.device import choose_device
from sgp.planning.experts import STAGES, Stage
from sgp.planning.pddl import Problem
from sgp.planning.planner import NO_LIMIT, Keep, Limit, Planner, check_keep
from sgp.planning.rollout import Rollout
from sgp.policies.decoding import DEFAULT
from sgp.policies.embedding import Embedding
from sgp.reports.card import save_scores, write_card
from sgp.solving import RunLike
from sgp.workers import Folder, Jobs, cores, executor, processes, run_tasks

if TYPE_CHECKING:
    import pandas as pd


logger = logging.getLogger(__name__)

LearningTexts = training_data.Texts | ProtocolSplit
PlannerLike = RunLike | Planner  # a string may also be the name of a method
DEFAULT_SEED = 13  # the first of the seeds of the published grid


def train(
    method: str,
    domain: str | Sequence[str],
    suite: Suite | str,
    variant: str | None = None,
    seed: int = DEFAULT_SEED,
    device: str = "auto",
    jobs: Jobs = 1,
    stages: Sequence[Stage] = STAGES,
    overrides: Mapping[str, Any] | None = None,
    again: bool = False,
    without: str = "",
    drawn: tuple[int, int] | None = None,
) -> Run:
    """Train a method on a domain of a suite, or return the saved run with the same configuration and data.

    Missing expert plans are made first, `jobs` at a time. With a `Cluster`, this machine makes the expert plans and a
    machine of the cluster trains. A method that learns from transitions takes several domains.

    Args:
        overrides: fields of the variant's training configuration, nested ones with dots: `{"boosting.rounds": 200}`.
        again: train even if the same run is saved.
        without: name of a training problem that is left out.
        drawn: the number of training problems, and the draw that chooses them.
    """
    learner, name, config = configured(method, variant, overrides)
    if not executor(jobs).remote:
        choose_device(device)  # fails here for a missing device, before expert plans are made
    source = load_suite(suite)
    domains = names(domain, "domain")
    data = training_data.learning_texts(learner.learns_from, source, domains, stages, processes(jobs))
    if without:
        data, name = data.without(without), str(Variant(name, left_out=without))
    if drawn is not None:
        data, name = data.drawn(*drawn), str(replace(Variant.parse(name), drawn=drawn))
    return _trained(RunKey(learner.key, name, source.name, data.domain, seed), config, data, device, jobs, again)


def train_split(
    method: str,
    split: ProtocolSplit,
    variant: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Run:
    """Train a method on the training part of a protocol's split, or return the saved run; see `retrieve`."""
    learner, name, config = configured(method, variant, overrides)
    if learner.learns_from is not training_data.Transitions:
        raise InputError(f"method {learner.key} learns from no transitions; expected one that does, such as embedplan")
    choose_device(device)
    name = str(Variant(name, protocol=split.protocol, max_transitions=split.max_transitions, shots=split.shots))
    return _trained(RunKey(learner.key, name, split.suite, split.domain, split.seed), config, split, device)


def train_on(
    method: str,
    problems: Sequence[Problem] | Path | str,
    plans: Sequence[training_data.Plan] | None = None,
    variant: str | None = None,
    seed: int = DEFAULT_SEED,
    device: str = "auto",
    jobs: int = 1,
    overrides: Mapping[str, Any] | None = None,
) -> Run:
    """Train a method on problems of one domain, or on a folder of PDDL files, or return the saved run.

    `plans` has a plan for each problem; an expert makes those that are None, `jobs` at a time. Files `*.plan` of a
    folder are the plans of its problems. The run is saved under a suite whose name has a hash of its problems.
    """
    if isinstance(problems, Path | str):
        folder = load_suite(Path(problems))
        if len(folder.domains) != 1 or plans is not None:
            raise InputError(
                f"{problems} has the domains {', '.join(folder.domains)}; expected a folder of one domain, with its "
                "plans as files; use 'sgp.train' for one of several"
            )
        return train(method, list(folder.domains), folder, variant, seed, device, jobs, overrides=overrides)
    learner, name, config = configured(method, variant, overrides)
    choose_device(device)  # fails here for a missing device, before expert plans are made
    data = training_data.given_texts(learner.learns_from, problems, plans, jobs=jobs)
    return _trained(RunKey(learner.key, name, data.suite, data.domain, seed), config, data, device)


def configured(method: str, variant: str | None, overrides: Mapping[str, Any] | None) -> tuple[Method, str, Any]:
    """Return a method, the name of its variant with the overridden settings, and the training configuration."""
    learner = get_method(method)
    name, config = configure(learner, variant, overrides)
    if isinstance(learner, Selectable):
        configure_decoding(planning_method(method), config.decoding)  # fails here for an unknown decoding
    return learner, name, config


def _trained(key: RunKey, config: Any, data: LearningTexts, device: str, jobs: Jobs = 1, again: bool = False) -> Run:
    """Return the saved run if its configuration and data are the same, else train a new one."""
    saved = None if again else _usable_run(key)
    same = saved is not None and saved.record["data"]["sha256"] == data.sha256
    if saved is not None and same and is_of_record(config, saved.training):
        logger.info("%s has this configuration and these data: nothing to train", saved.folder)
        return saved
    logger.info("training %s %s on %s of %s, seed %d", key.method, key.variant, key.domain, key.suite, key.seed)
    if (runner := executor(jobs)).remote:
        ((_, files),) = runner.map(_trained_files, [(key, config, data, device)])
        receive_run(key, files)
    else:
        _train(key, config, data, device)
    with held_run(key.folder) as run:
        write_card(run)
    return run


def _train(key: RunKey, config: Any, texts: LearningTexts, device: str, folder: Path | None = None) -> None:
    """Train a run and write it to its folder in the store, or to another folder."""
    data, learner = texts.replayed(), get_method(key.method)
    origin = Origin(asdict(config), data.domains, data.facts, choose_device(device), recorded_libraries(learner))
    with new_run(key, origin, folder) as draft:
        learner.train(config, data, draft)


def _trained_files(key: RunKey, config: Any, texts: LearningTexts, device: str) -> dict[str, bytes]:
    """Train a run on this machine and return its files, for the machine that has the store."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        _train(key, config, texts, device, folder)
        return Folder(folder).files()


def _usable_run(key: RunKey) -> Run | None:
    """Return the saved run, or None if there is none or it does not load here."""
    try:
        run = find_run(key)
        if run is not None:
            require_loadable(run)
    except StoreError:
        return None
    return run


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores, and the attempts behind them by run folder, decoding and split."""

    scores: pd.DataFrame  # see `load_scores`
    attempts: Mapping[tuple[str, str, str], Sequence[Attempt]]

    @property
    def coverage(self) -> pd.DataFrame:
        """The coverage of whole splits, with its 95 % Wilson interval: a row for each planner, domain and split."""
        names = ["planner", "domain", "split", "value", "low", "high", "n", "n_distinct"]
        return select(self.scores, metric="coverage", size=None)[names].reset_index(drop=True)

    def __repr__(self) -> str:
        return f"<Evaluation: {sum(map(len, self.attempts.values()))} attempts, {len(self.scores)} scores>"

    def _repr_html_(self) -> str:
        return str(self.coverage.to_html(index=False, float_format="%.2f"))


def evaluate(
    planners: Sequence[PlannerLike] | PlannerLike,
    suite: Suite | Path | str | Sequence[Problem],
    splits: Sequence[str] | str = (),
    jobs: Jobs = 1,
    limit: Limit = NO_LIMIT,
    rollouts: Path | str | None = None,
    decodings: Sequence[str] | str = (DEFAULT,),
    keep: Keep = "auto",
) -> Evaluation:
    """Solve every problem of the splits (default: all but `train`) by every planner, and validate the plans by VAL.

    A run is evaluated on the suite's domain with the same predicates and actions, with each of the `decodings`.

    Args:
        planners: runs, their folders, loaded planners, or names of registered policies and of methods that learn
            nothing, such as goal-count. These plan in the domains of the runs, or in all domains if there are none.
        suite: a suite, its name, a folder of PDDL files, or a list of problems of one domain.
        jobs: number of processes (1: this process), or a `Cluster`.
        rollouts: folder to which every rollout is written, one file each; the dashboard shows the rollouts in
            `own_rollouts_folder()`.
        keep: what the written rollouts store, as for `solve`.
    """
    check_keep(keep)
    if rollouts is None and keep != "auto":
        raise ConfigurationError(f"keep is '{keep}', but rollouts are not recorded; record them, or leave out keep")
    source = load_suite(suite) if isinstance(suite, Suite | Path | str) else suite_of(suite)
    batches, subjects = list[ProblemBatch](), []
    splits, decodings = names(splits, "split"), names(decodings, "decoding")
    opened = _opened(planners, decodings, source, jobs)
    for run, subject, decoding in _measurements(opened, source, splits, jobs, limit):
        recorder = None if rollouts is None else RolloutRecorder(Path(rollouts), subject, keep)
        problems = source.problems(subject.domain, subject.split)
        identity = decoded_identity(planning_method(run.key.method), run.sha256, run.training, decoding)
        batches.append(ProblemBatch(str(run.folder), identity, problems, limit, recorder, decoding))
        subjects.append(subject)
    attempts = run_all(batches, load_planner, jobs, f"evaluate on {source.name}")
    named: dict[tuple[str, str, str], Sequence[Attempt]] = {}
    scored: dict[str, list[Score]] = {}
    for batch, subject, results in zip(batches, subjects, attempts, strict=True):
        named[batch.planner, batch.decoding, subject.split] = results
        scored.setdefault(batch.planner, []).extend(scores_of(source, subject, results))
    for run, _ in opened:
        if limit == NO_LIMIT and not is_shipped(run):  # a shipped run belongs to the package
            save_scores(run, to_frame(scored[str(run.folder)]))
    return Evaluation(to_frame(chain.from_iterable(scored.values())), named)


def _opened(
    planners: Sequence[PlannerLike] | PlannerLike, decodings: Sequence[str], suite: Suite, jobs: Jobs
) -> list[tuple[Run, Iterable[str]]]:
    """Return each run once with its decodings; methods that learn nothing have a run for each domain of the others."""
    require_decodings(decodings)
    given = [planners] if isinstance(planners, Run | Planner | Path | str) else list(planners)
    found: dict[Path, tuple[Run, dict[str, None]]] = {}

    def add(run: Run, names: Sequence[str]) -> None:
        found.setdefault(run.folder, (run, {}))[1].update(dict.fromkeys(names))

    methods = [
        each
        for each in given
        if isinstance(each, str) and each in list_methods() and get_method(each).learns_from is training_data.Problems
    ]
    for each in given:
        if isinstance(each, Planner):
            folder, decoding = source_of(each)
            add(open_run(folder), [decoding])
        elif isinstance(each, str) and Path(each).name == each and each not in methods and not Path(each).exists():
            raise InputError(
                f"{each} holds no run.json and is no method that learns nothing; a method that learns is "
                f"trained first; {expected_one_of(list_methods(), each)}"
            )
        elif each not in methods:
            add(open_run(each), decodings)
    domains = dict.fromkeys(_domain_for(run, suite).name for run, _ in found.values() if methods) or suite.domains
    for method, domain in product(methods, domains):
        if method in REGISTERED and jobs != 1:
            raise InputError(f"policy {method} is registered in this process alone; evaluate it with jobs=1")
        add(train(method, domain, suite, jobs=jobs), decodings)
    return list(found.values())


def _measurements(
    runs: Sequence[tuple[Run, Iterable[str]]], suite: Suite, splits: Sequence[str], jobs: Jobs, limit: Limit
) -> Iterator[tuple[Run, Measurement, str]]:
    """Yield each run with each of its decodings on each split, and the decoding's name.

    Raises InputError for a run that was trained by a protocol on the suite: its splits have the same instances.
    """
    for run, decodings in runs:
        method, domain = planning_method(run.key.method), _domain_for(run, suite).name
        if run.key.suite == suite.name and Variant.parse(run.key.variant).protocol:
            raise InputError(
                f"{run.folder} was trained by a protocol of 'sgp retrieve' on instances of suite {suite.name}, which "
                "are also in its splits; use another suite, or a run that 'sgp train' made"
            )
        names = dict.fromkeys(configure_decoding(method, name)[0] for name in decodings)
        for name, split in product(names, suite.chosen_splits(domain, splits)):
            subject = subject_of(run, suite.name, domain, split, name)
            yield run, Measurement(**vars(subject), note=_note(run, suite, jobs, limit)), name


def export(run: RunLike, file: Path | str) -> None:
    """Write a run with its encoder, model, card and scores to one archive."""
    export_run(open_run(run), Path(file))


def import_run(file: Path | str, replace: bool = False) -> Run:
    """Copy an exported run to the store after it has loaded and reproduced its vectors."""
    with unpacked_run(Path(file)) as run:
        require_loadable(run)
        return place_run(run, replace)


def diagnose(
    runs: Sequence[PlannerLike] | PlannerLike,
    suite: Suite | str,
    splits: Sequence[str] | str = (),
    jobs: Jobs = 1,
    decodings: Sequence[str] | str = (DEFAULT,),
    renamings: int = 0,
) -> pd.DataFrame:
    """Measure how runs rank the expert's decisions on a suite's splits (metrics of `sgp.analysis.diagnostics`).

    With `renamings`, also measure the share of decisions that changes when all objects are renamed, over this number
    of random renamings (`name_sensitivity`). `jobs` and `decodings` as for `evaluate`.
    """
    source, works = load_suite(suite), []
    splits, decodings = names(splits, "split"), names(decodings, "decoding")
    opened = _opened(runs, decodings, source, jobs)
    for run, subject, _ in _measurements(opened, source, splits, jobs, NO_LIMIT):
        expert = training_data.demonstrations(source, subject.domain, subject.split, jobs=processes(jobs))
        works.append((Folder(run.folder), subject, expert, renamings))
    return to_frame(chain.from_iterable(run_tasks(jobs, _diagnose, works, f"diagnose on {source.name}")))


def _diagnose(
    folder: str, subject: Measurement, expert: Sequence[training_data.Demonstration], renamings: int
) -> list[Score]:
    planner = load_planner(folder, subject.decoding or DEFAULT)
    trajectories = [each.replayed() for each in expert]
    scores = diagnostics.diagnose(planner, subject, trajectories)
    return scores + (diagnostics.by_name(planner, subject, trajectories, renamings) if renamings else [])


def as_recorded(rollout: Rollout, run: RunLike, decoding: str = DEFAULT, planner: Planner | None = None) -> Recorded:
    """Return a rollout of a run in the form that is written to files, with an explanation of every choice.

    `planner` is the planner that made the rollout if it is not the run's own. If the state space is small, the record
    also has the distance of every state to the goal.
    """
    opened = open_run(run)
    policy = (planner or load_planner(opened, decoding)).policy
    about = subject_of(opened, decoding=decoding).record()
    made = records(rollout, about, why=step_records(rollout, policy))
    left = remaining_in_passing(rollout)
    head, *steps = made if left is None else with_distances(made, left.record())
    return Recorded(rollout.task.name, 1, head, tuple(steps))


def map_run(run: RunLike, rollouts: Sequence[Path | str] = (), neighbours: bool = True) -> list[Path]:
    """Project a run's training states, and its rollouts in the given files, to two dimensions.

    The projections are PCA and, unless `neighbours` is false, UMAP, which takes seconds. Return the written files:
    `map.json` in the run's folder, and a map beside every file of rollouts.
    """
    opened = open_run(run)
    files = {Path(file): _made_by(opened, Path(file)) for file in rollouts}
    found = [(file, recorded, rollout) for file, pairs in files.items() for recorded, rollout in pairs]
    decodings = {recorded.about.decoding or DEFAULT for _, recorded, _ in found} or {DEFAULT}
    if len(decodings) > 1:
        raise InputError(
            f"the rollouts of {opened.folder} have several decodings ({', '.join(sorted(decodings))}), which can "
            "embed differently; map those of one decoding at a time"
        )
    pairs = [(recorded, rollout) for _, recorded, rollout in found]
    ground, drawn = _projected(opened, load_planner(opened, *decodings), pairs, neighbours)
    placed: dict[Path, list[dict[str, Any]]] = {}
    for path in (opened.folder / "map.json", *map(map_file, files)):
        placed[path] = []
    for (file, recorded, _), points in zip(found, drawn, strict=True):
        entry = {"line": recorded.line, "chosen": recorded.chosen, "problem": recorded.head["name"], **points}
        placed[opened.folder / "map.json"].append(entry)
        placed[map_file(file)].append(entry)
    for path, entries in placed.items():
        write_text(path, json.dumps({**ground, "rollouts": entries}, separators=(",", ":")) + "\n")
    return list(placed)


def map_rollout(run: RunLike, recorded: Recorded, rollout: Rollout, decoding: str = DEFAULT) -> dict[str, Any]:
    """Return the map of one rollout of a run by PCA, as in the files of `map_run`."""
    opened = open_run(run)
    ground, (points,) = _projected(opened, load_planner(opened, decoding), [(recorded, rollout)], neighbours=False)
    return {**ground, "rollouts": [{"line": recorded.line, "chosen": recorded.chosen, **points}]}


def _projected(
    run: Run, planner: Planner, rollouts: Sequence[tuple[Recorded, Rollout]], neighbours: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the map of a run's training states, and the points of each rollout."""
    ground: dict[str, Any] = {"format": maps.FORMAT, "run": asdict(run.key)}
    if not isinstance(planner.policy, Embedding):
        return {**ground, "missing": maps.NO_EMBEDDING}, [{} for _ in rollouts]
    data = training_data.load_training_data(load_suite(run.key.suite), run.key.domain)
    whole, experts = [rollout for _, rollout in rollouts], [recorded.expert for recorded, _ in rollouts]
    facts, drawn = maps.make_map(planner.policy, planner.successors, data.train, whole, neighbours, experts)
    return {**ground, **facts}, drawn


def _made_by(run: Run, file: Path) -> list[tuple[Recorded, Rollout]]:
    """Return the rollouts of a file that a run made, as written and as replayed."""
    made = subject_of(run)
    names = (made.planner, made.domain, made.seed)
    pairs = [
        (recorded, replayed(recorded))
        for recorded in read_recorded(file)
        if (about := recorded.about) and (about.planner._replace(decoding=""), about.domain, about.seed) == names
    ]
    if not pairs:
        raise InputError(f"{file} has no rollout of {run.folder}; give a file that this run's 'sgp solve' wrote")
    return pairs


def scores_of(suite: Suite, subject: Measurement, attempts: Sequence[Attempt]) -> list[Score]:
    """Return the scores of attempts on a split of a suite, compared with its saved expert plans."""
    place = subject.domain, subject.split
    lengths, costs = expert_lengths(suite, *place), expert_costs(suite, *place)
    return scores(subject, attempts, lengths, suite.duplicates(*place), costs)


def _note(run: Run, suite: Suite, jobs: Jobs, limit: Limit) -> str:
    """Return the note of a measurement: date, machine, versions, training suite and limits."""
    trained_on = "" if run.key.suite == suite.name else f"; trained on {run.key.suite}"
    seconds = "CPU seconds" if limit.processor else "seconds"
    limits = {"actions": limit.actions, "decisions": limit.decisions, seconds: limit.seconds, "bytes": limit.memory}
    limited = "".join(f"; at most {most} {name}" for name, most in limits.items() if most is not None)
    return f"{measured_here(run, jobs)}{trained_on}{limited}"


def measured_here(run: Run, jobs: Jobs) -> str:
    """Return the date, the machine and the library versions of a measurement."""
    known = run.record["versions"].items()
    versions = ", ".join(f"{name} {version}" for name, version in known if name not in ("python", "numpy"))
    where = "a Ray cluster" if executor(jobs).remote else f"{cores()} cores"
    return f"{date.today()}, {where}, {versions}"


def _domain_for(run: Run, suite: Suite) -> SuiteDomain:
    """Return the suite's domain with the predicates and actions of a run's domain; prefer the one of the same name."""
    domain, text = run.key.domain, run.domain_text
    names = sorted(suite.domains, key=lambda name: name != domain)  # the same name first
    texts = {name: suite.domain_text(name) for name in names}
    for name in names:
        if texts[name].signature == text.signature:
            return suite.domains[name]
    raise DomainMismatch(
        f"{run.folder} was trained on {domain} of {run.key.suite}, and no domain of suite {suite.name} has its "
        f"predicates and actions: {names[0]} {text.difference(texts[names[0]])}; train a run on suite {suite.name}"
    )
