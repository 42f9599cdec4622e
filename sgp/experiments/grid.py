"""The grid of an experiment: every variant on every domain with every seed, resumable and parallel."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sgp.api import diagnose, evaluate, scores_of, train
from sgp.datasets.experts import expert_costs, expert_lengths, expert_plans
from sgp.datasets.runs import Run
from sgp.datasets.store import home
from sgp.datasets.suite import Suite, load_suite
from sgp.datasets.training_data import Problems, training_texts
from sgp.errors import ConfigurationError, InputError, StoreError, expected_one_of
from sgp.evaluation.attempts import AttemptRow, write_attempts
from sgp.evaluation.baselines import BASELINES, METHOD, baseline_attempts
from sgp.evaluation.coverage import Attempt
from sgp.evaluation.scores import Measurement, Score, read_score, write_scores
from sgp.files import read_json, write_json
from sgp.methods import ablations, get_method, planning_method
from sgp.methods.configuration import apart, configure, configure_decoding, has_decoding, has_setting, require_decodings
from sgp.policies.decoding import DEFAULT
from sgp.progress import progress
from sgp.reports.tables import measured
from sgp.workers import Jobs, Workers, processes, workers

SEEDS = (13, 14, 15)  # the seeds of the published grid
FACTS = {  # of runs, by the names of metrics
    "dimension": "dimension",
    "parameters": "parameters",
    "nodes": "nodes",
    "training_seconds": "seconds",
    "training_processor_seconds": "processor_seconds",
    "copied": "copied",
    "validation_loss": "validation_loss",
}
Tried = Mapping[tuple[str, str], Sequence[Attempt]]  # by decoding and split
DEFAULT_METHODS = ("contrastive-jumps", "state-centric", "contrastive-delta", "zero-change", "random-successor")


@dataclass(frozen=True)
class Cell:
    """One run of the grid and where it is tried."""

    method: str
    variant: str
    domain: str
    seed: int
    suite: str
    splits: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...] = ()
    trained_on: str = ""  # the suite whose training problems are used, where it is another
    without: str = ""  # a training problem that is left out
    decodings: tuple[str, ...] = (DEFAULT,)  # by which the one run is tried
    drawn: tuple[int, int] | None = None  # so many of the training problems, by which draw; None: all

    @property
    def training_suite(self) -> str:
        """The suite that the run is trained on."""
        return self.trained_on or self.suite


def kept_files(cells: Sequence[Cell]) -> dict[Cell, Path]:
    """Where the results of each cell are kept once it is done.

    Other problems, expert plans or settings under the same names have another file. Raises StoreError, SuiteError or
    ConfigurationError for what does not exist.
    """
    names = dict.fromkeys(name for cell in cells for name in (cell.suite, cell.training_suite))
    suites = {name: load_suite(name) for name in names}
    plans: dict[tuple[str, str], list[str]] = {}  # hashes of the expert plans of a suite's domain
    for cell in cells:
        for name in (cell.suite, cell.training_suite):
            if (name, cell.domain) not in plans:
                experts = sorted((suites[name].experts / cell.domain).glob("*.jsonl"))
                plans[name, cell.domain] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in experts]
    return {cell: _kept_file(cell, suites, plans) for cell in cells}


def _kept_file(cell: Cell, suites: Mapping[str, Suite], plans: Mapping[tuple[str, str], Sequence[str]]) -> Path:
    method = planning_method(cell.method)
    config = asdict(configure(method, cell.variant, dict(cell.overrides))[1])
    decodings = [asdict(configure_decoding(method, name)[1]) for name in cell.decodings]
    used = list(dict.fromkeys((cell.suite, cell.training_suite)))
    manifests, hashes = [suites[name].manifest_sha256 for name in used], [plans[name, cell.domain] for name in used]
    own = {name: value for name, value in asdict(cell).items() if value is not None}
    identity = json.dumps([own, config, decodings, manifests, hashes], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return home() / "grid" / cell.suite / cell.domain / f"{cell.method}-{cell.variant}-seed{cell.seed}-{key}.json"


@dataclass(frozen=True)
class Results:
    """Scores, and the attempts behind them."""

    scores: tuple[Score, ...]
    attempts: tuple[AttemptRow, ...]

    def __add__(self, other: Results) -> Results:
        return Results(self.scores + other.scores, self.attempts + other.attempts)

    def write(self, folder: Path) -> list[Path]:
        """Writes `scores-SUITE.csv` and `attempts-SUITE.csv` for each suite; their paths."""
        paths = []
        for suite in dict.fromkeys(score.suite for score in self.scores):
            paths += [folder / f"scores-{suite}.csv", folder / f"attempts-{suite}.csv"]
            write_scores(paths[-2], [score for score in self.scores if score.suite == suite])
            write_attempts(paths[-1], [row for row in self.attempts if row.suite == suite])
        return paths


def parse_variants(text: str) -> dict[str, list[str]]:
    """`METHOD` or `METHOD:VARIANT`, separated by commas, as `grid_cells` takes them. Raises InputError."""
    found: dict[str, list[str]] = {}
    for word in filter(None, text.split(",")):
        name, _, variant = word.partition(":")
        method, names = planning_method(name).key, planning_method(name).variants
        if variant and variant not in names:
            raise InputError(f"method {method} has no variant '{variant}'; {expected_one_of(names, variant)}")
        known = found.setdefault(method, [])
        known += [name for name in ([variant] if variant else names) if name not in known]
    if not found:
        raise InputError(f"variants are '{text}'; expected METHOD or METHOD:VARIANT, separated by commas")
    return found


def parse_seeds(text: str, what: str = "seeds") -> tuple[int, ...]:
    """Seeds or other whole numbers, separated by commas. Raises InputError for what is no number."""
    try:
        return tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError as error:
        raise InputError(
            f"{what} are '{text}'; expected whole numbers separated by commas, such as 13,14,15"
        ) from error


def grid_cells(
    suite: str,
    domains: Sequence[str] = (),
    methods: Mapping[str, Sequence[str]] | None = None,
    seeds: Sequence[int] = SEEDS,
    splits: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    trained_on: str = "",
    decodings: Sequence[str] = (DEFAULT,),
) -> list[Cell]:
    """The cells of a grid; deterministic methods have one, with the first seed.

    `methods` maps a method to its variants (none: all). `overrides` and `decodings` go to the methods that have such a
    setting or decoding. Runs are trained on the suite itself, or on `trained_on`, whose domains then have the same
    names.
    Raises InputError or ConfigurationError for what does not exist, StoreError where the package's data are missing.
    """
    source = load_suite(suite)
    chosen: Mapping[str, Sequence[str]] = dict.fromkeys(DEFAULT_METHODS, ()) if methods is None else methods
    settings = overrides or {}
    require_decodings(decodings)
    cells: list[Cell] = []
    tried: set[str] = set()
    for domain in dict.fromkeys(source.domain(name).name for name in domains or source.domains):
        named = source.chosen_splits(domain, splits)
        for key, variants in chosen.items():
            method = planning_method(key)
            own_decodings = tuple(name for name in decodings if has_decoding(method, name))
            tried.update(own_decodings)
            for variant in (variants or method.variants) if own_decodings else ():
                config = configure(method, variant)[1]
                own = {name: value for name, value in settings.items() if has_setting(config, name)}
                config = configure(method, variant, own)[1]
                for seed in (seeds[0], *(() if method.deterministic(config) else seeds[1:])):
                    cell = Cell(
                        method.key, variant, domain, seed, source.name, named, tuple(sorted(own.items())), trained_on
                    )
                    cells.append(replace(cell, decodings=own_decodings))
    if set(decodings) - tried:
        raise ConfigurationError(f"no method of the grid has the decoding '{min(set(decodings) - tried)}'")
    used = {name for cell in cells for name, _ in cell.overrides}
    if set(settings) - used:
        raise ConfigurationError(f"no method of the grid has the setting '{min(set(settings) - used)}'")
    return cells


def ablation_cells(
    suite: str, method: str, domains: Sequence[str] = (), seed: int = SEEDS[0], splits: Sequence[str] = ()
) -> list[Cell]:
    """A method's default variant as it is, then with one ingredient changed at a time.

    Raises InputError, ConfigurationError or SuiteError for what does not exist, StoreError where the data are missing.
    """
    learner = get_method(method)
    default = {learner.key: [next(iter(learner.variants))]}
    decodings: dict[tuple[tuple[str, str], ...], list[str]] = {}  # of each training
    for training, decoding in map(apart, ({}, *ablations(learner))):
        decodings.setdefault(tuple(training.items()), []).append(decoding)
    return [
        cell
        for settings, names in decodings.items()
        for cell in grid_cells(suite, domains, default, (seed,), splits, dict(settings), decodings=names)
    ]


def jackknife_cells(
    suite: str,
    method: str,
    domains: Sequence[str] = (),
    seed: int = SEEDS[0],
    splits: Sequence[str] = (),
    most: int = 16,
) -> list[Cell]:
    """A method's default variant with one training problem left out, each in turn, evenly up to `most` a domain."""
    learner = get_method(method)
    cells = []
    for cell in grid_cells(suite, domains, {learner.key: [next(iter(learner.variants))]}, (seed,), splits):
        names = [each.name for each in load_suite(suite).domain(cell.domain).splits["train"]]
        places = dict.fromkeys(round(at * (len(names) - 1) / max(most - 1, 1)) for at in range(most))
        cells += [replace(cell, without=names[place]) for place in places]
    return cells


def run_grid(cells: Sequence[Cell], jobs: Jobs = 1, again: bool = False, diagnostics: bool = False) -> Results:
    """The results of all cells, made where they are not kept. Each cell is kept as soon as it is done.

    A run that was trained is not trained again, a chunk of problems that was tried is not tried again: killed at any
    point, the grid goes on from there and ends with the same scores. With `diagnostics` the first seed of each variant
    is diagnosed too. `jobs` cells are done at a time, or as many as a `Cluster` does; missing expert plans are made
    before, on this machine.
    Raises what `train` and `evaluate` raise: InputError (its kinds ConfigurationError, DomainMismatch, PddlError,
    PlanError, SuiteError among them), ToolError, StoreError, ValidationDisagreement.
    """
    first = {(cell.method, cell.variant, cell.domain): cell for cell in reversed(cells)}
    diagnosed = set(first.values()) if diagnostics else set()
    _make_experts(cells, diagnosed, processes(jobs))
    files = kept_files(cells)
    waiting = [cell for cell in cells if again or not _is_done(_read(files[cell]), cell in diagnosed)]
    # The longest first, so that no process is left alone with one at the end.
    waiting.sort(key=_expected_work, reverse=True)
    with progress(f"grid on {', '.join(dict.fromkeys(cell.suite for cell in cells))}", len(cells)) as bar:
        bar.advance(len(cells) - len(waiting))
        for _ in workers(jobs).delegate(_run, [(cell, files[cell], again, cell in diagnosed) for cell in waiting]):
            bar.advance()
    scores: list[Score] = []
    attempts: list[AttemptRow] = []
    for cell in cells:
        record = _read(files[cell])
        if record is None:
            raise StoreError(f"{files[cell]} is gone; run the grid again")
        tried = {
            (decoding, split): [Attempt.from_record(each) for each in found]
            for decoding, split, found in record["attempts"]
        }
        scores += _scores(cell, record, tried)
        attempts += _rows(cell, record, tried)
    return Results(tuple(scores), tuple(attempts))


def baseline_results(suite: str, domains: Sequence[str] = (), splits: Sequence[str] = (), jobs: int = 1) -> Results:
    """The classical planners on the same problems, from kept results; what is missing is made.

    Raises SuiteError or ConfigurationError for what does not exist, PddlError or PlanError for a text that cannot be
    used, ToolError where Fast Downward fails or VAL is missing, StoreError for a damaged file, and
    ValidationDisagreement where VAL refuses a plan that our simulator accepts.
    """
    source = load_suite(suite)
    scores: list[Score] = []
    rows: list[AttemptRow] = []
    for domain in [source.domain(name).name for name in domains or source.domains]:
        for variant in BASELINES:
            for split in source.chosen_splits(domain, splits):
                tried = baseline_attempts(source, domain, split, variant, jobs)
                subject = Measurement(
                    method=METHOD,
                    variant=variant,
                    domain=domain,
                    suite=source.name,
                    split=split,
                    note="kept results of Fast Downward",
                )
                scores += scores_of(source, subject, tried)
                rows += _of(source, subject, tried)
    return Results(tuple(scores), tuple(rows))


def _expected_work(cell: Cell) -> tuple[float, int]:
    """The longest training of the variant that was measured, unknown ones before all, then problems to try."""
    source = load_suite(cell.suite)
    problems = sum(len(source.domain(cell.domain).splits[source.split(cell.domain, split)]) for split in cell.splits)
    return _measured_training().get((cell.method, cell.variant), math.inf), problems


@cache
def _measured_training() -> Mapping[tuple[str, str], float]:
    """Seconds of the longest committed training of each method and variant."""
    seconds: dict[tuple[str, str], float] = {}
    for score in measured():
        if score.metric == "training_seconds":
            name = score.method, score.variant
            seconds[name] = max(score.value, seconds.get(name, 0.0))
    return seconds


def _make_experts(cells: Sequence[Cell], diagnosed: Iterable[Cell], jobs: int) -> None:
    """Makes the expert plans that cells would miss, once, and not in each cell at the same time."""
    taught = [cell for cell in cells if get_method(cell.method).learns_from is not Problems]
    for domain, suite in dict.fromkeys((cell.domain, cell.training_suite) for cell in taught):
        training_texts(load_suite(suite), domain, jobs=jobs)
    for suite, domain, splits in dict.fromkeys((cell.suite, cell.domain, cell.splits) for cell in diagnosed):
        for split in splits:
            expert_plans(load_suite(suite), domain, split, jobs=jobs)


def _run(cell: Cell, file: Path, again: bool, diagnosed: bool, crew: Workers) -> None:
    record = None if again else _read(file)
    if _is_done(record, diagnosed):
        return  # meanwhile, by another process on the same store
    run = train(
        cell.method,
        cell.domain,
        cell.training_suite,
        cell.variant,
        cell.seed,
        jobs=crew,
        overrides=dict(cell.overrides),
        without=cell.without,
        drawn=cell.drawn,
    )
    if record is None:
        found = evaluate([run.folder], cell.suite, cell.splits, crew, decodings=cell.decodings)
        (note,) = {score.note for score in found.scores}
        record = {
            "run": run.sha256,
            "note": note,
            "variant": run.key.variant,
            "facts": _facts(run),
            "attempts": [
                [decoding, split, [each.to_record() for each in tried]]
                for (_, decoding, split), tried in found.attempts.items()
            ],
        }
        write_json(file, record)
    if diagnosed:
        record["diagnostics"] = [
            asdict(score) for score in diagnose([run.folder], cell.suite, cell.splits, crew, cell.decodings)
        ]
        write_json(file, record)


def _is_done(record: Mapping[str, Any] | None, diagnosed: bool) -> bool:
    return record is not None and (not diagnosed or "diagnostics" in record)


def _facts(run: Run) -> dict[str, float]:
    """What Table 3 of the paper lists, and how long training took."""
    facts = run.record["facts"]
    return {metric: facts[name] for metric, name in FACTS.items() if name in facts}


def _read(file: Path) -> dict[str, Any] | None:
    """The kept results of a cell, or None where it is still to be run."""
    if not file.is_file():
        return None
    record = read_json(file)
    return record if isinstance(record, dict) and "attempts" in record else None


def _subject(cell: Cell, record: Mapping[str, Any], split: str, decoding: str = DEFAULT) -> Measurement:
    return Measurement(
        method=cell.method,
        variant=record["variant"],
        decoding=decoding,
        domain=cell.domain,
        suite=cell.suite,
        split=split,
        seed=cell.seed,
        note=record["note"],
    )


def _scores(cell: Cell, record: Mapping[str, Any], tried: Tried) -> Iterator[Score]:
    source = load_suite(cell.suite)
    for metric, value in record["facts"].items():
        yield Score(**vars(_subject(cell, record, "")), metric=metric, value=float(value), count=0)
    for (decoding, split), found in tried.items():
        subject = _subject(cell, record, split, decoding)
        yield from (score for score in scores_of(source, subject, found) if score.size is None)
    yield from (read_score(found) for found in record.get("diagnostics", ()))


def _rows(cell: Cell, record: Mapping[str, Any], tried: Tried) -> Iterable[AttemptRow]:
    source = load_suite(cell.suite)
    for (decoding, split), found in tried.items():
        yield from _of(source, _subject(cell, record, split, decoding), found)


def _of(suite: Suite, subject: Measurement, tried: Sequence[Attempt]) -> list[AttemptRow]:
    place = subject.domain, subject.split
    return AttemptRow.of(
        subject, tried, expert_lengths(suite, *place), suite.likes(*place), expert_costs(suite, *place)
    )
