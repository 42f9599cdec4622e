"""Grids of trainings and measurements: which cells there are, and their runner, which is resumable and parallel."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sgp.api import diagnose, evaluate, scores_of, train
from sgp.datasets.experts import expert_costs, expert_lengths, expert_plans
from sgp.datasets.store import home
from sgp.datasets.suite import Suite, load_suite
from sgp.datasets.training_data import Demonstrations, Problems, learning_texts
from sgp.errors import ConfigurationError, InputError, StoreError, expected_one_of
from sgp.evaluation.attempts import Attempt, attempt_rows, attempts_frame, write_attempts
from sgp.evaluation.known_plans import BASELINES, FAST_DOWNWARD, baseline_attempts
from sgp.evaluation.scores import Measurement, Score, load_scores, select, to_frame, to_json, write_scores
from sgp.files import read_json, write_json
from sgp.methods import ablations, get_method, planning_method
from sgp.methods.configuration import apart, configure, configure_decoding, has_decoding, has_setting, require_decodings
from sgp.policies.decoding import DEFAULT
from sgp.progress import progress
from sgp.workers import Executor, Jobs, executor, processes

SEEDS = (13, 14, 15)  # the seeds of the published grid
FACTS = {  # of runs, by the names of metrics: what Table 3 of the paper lists, and how long training took
    "dimension": "dimension",
    "parameters": "parameters",
    "nodes": "nodes",
    "training_seconds": "seconds",
    "training_processor_seconds": "processor_seconds",
    "copied": "copied",
    "validation_loss": "validation_loss",
}
DEFAULT_METHODS = ("contrastive-jumps", "state-centric", "contrastive-delta", "zero-change", "random-successor")


@dataclass(frozen=True)
class Cell:
    """One training and how it is measured."""

    method: str
    variant: str
    domain: str
    seed: int
    suite: str  # of the problems that are measured on
    splits: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...] = ()
    trained_on: str = ""  # the suite of the training problems, where it is another
    without: str = ""  # a training problem that is left out
    decodings: tuple[str, ...] = (DEFAULT,)
    drawn: tuple[int, int] | None = None  # number of training problems and the draw that chooses them; None: all

    @property
    def training_suite(self) -> str:
        """The suite that the run is trained on."""
        return self.trained_on or self.suite


def result_files(cells: Sequence[Cell]) -> dict[Cell, Path]:
    """The file of each cell's results: another one for other problems, expert plans, configurations or decodings."""
    names = dict.fromkeys(name for cell in cells for name in (cell.suite, cell.training_suite))
    suites = {name: load_suite(name) for name in names}
    expert_hashes = {
        (suite, domain): [
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((suites[suite].experts / domain).glob("*.jsonl"))
        ]
        for suite, domain in {(name, cell.domain) for cell in cells for name in (cell.suite, cell.training_suite)}
    }
    files = {}
    for cell in cells:
        method, used = planning_method(cell.method), list(dict.fromkeys((cell.suite, cell.training_suite)))
        identity = [
            {name: value for name, value in asdict(cell).items() if value is not None},
            asdict(configure(method, cell.variant, dict(cell.overrides))[1]),
            [asdict(configure_decoding(method, name)[1]) for name in cell.decodings],
            [suites[name].manifest_sha256 for name in used],
            [expert_hashes[name, cell.domain] for name in used],
        ]
        key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
        name = f"{cell.method}-{cell.variant}-seed{cell.seed}-{key}.json"
        files[cell] = home() / "grid" / cell.suite / cell.domain / name
    return files


@dataclass(frozen=True)
class Results:
    """Scores, and the attempts behind them."""

    scores: pd.DataFrame  # see `load_scores`
    attempts: pd.DataFrame  # see `load_attempts`

    @classmethod
    def of(cls, scores: Iterable[Score], attempts: Iterable[dict[str, Any]]) -> Results:
        """The results of these scores and attempts."""
        return cls(to_frame(scores), attempts_frame(attempts))

    def __add__(self, other: Results) -> Results:
        scores, attempts = (self.scores, other.scores), (self.attempts, other.attempts)
        return Results(pd.concat(scores, ignore_index=True), pd.concat(attempts, ignore_index=True))

    def write(self, folder: Path) -> list[Path]:
        """Writes `scores-SUITE.csv` and `attempts-SUITE.csv` for each suite; their paths."""
        paths = []
        for suite, scores in self.scores.groupby("suite", sort=False):
            paths += [folder / f"scores-{suite}.csv", folder / f"attempts-{suite}.csv"]
            write_scores(paths[-2], scores)
            write_attempts(paths[-1], self.attempts[self.attempts["suite"] == suite])
        return paths


def parse_variants(text: str, every: bool = True) -> dict[str, list[str]]:
    """`METHOD` or `METHOD:VARIANT`, separated by commas, as `grid_cells` takes them.

    A method without a variant means all its variants, or only its first one unless `every`.
    """
    chosen: dict[str, list[str]] = {}
    for word in filter(None, text.split(",")):
        name, _, variant = word.partition(":")
        method, names = planning_method(name).key, list(planning_method(name).variants)
        if variant and variant not in names:
            raise InputError(f"method {method} has no variant '{variant}'; {expected_one_of(names, variant)}")
        variants = chosen.setdefault(method, [])
        wanted = [variant] if variant else names if every else names[:1]
        variants += [name for name in wanted if name not in variants]
    if not chosen:
        raise InputError(f"variants are '{text}'; expected METHOD or METHOD:VARIANT, separated by commas")
    return chosen


def parse_seeds(text: str, what: str = "seeds") -> tuple[int, ...]:
    """Seeds or other whole numbers, separated by commas."""
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
    """A cell for every variant, domain and seed; deterministic methods have one, with the first seed.

    `methods` maps a method to its variants (none: all). `overrides` and `decodings` go to the methods that have such a
    setting or decoding. Runs are trained on the suite itself, or on `trained_on`, whose domains have the same names.
    """
    source = load_suite(suite)
    chosen: Mapping[str, Sequence[str]] = dict.fromkeys(DEFAULT_METHODS, ()) if methods is None else methods
    settings = overrides or {}
    require_decodings(decodings)
    cells: list[Cell] = []
    known_decodings: set[str] = set()
    for domain in dict.fromkeys(source.domain(name).name for name in domains or source.domains):
        named = source.chosen_splits(domain, splits)
        for key, variants in chosen.items():
            method = planning_method(key)
            own_decodings = tuple(name for name in decodings if has_decoding(method, name))
            known_decodings.update(own_decodings)
            for variant in (variants or method.variants) if own_decodings else ():
                config = configure(method, variant)[1]
                own = {name: value for name, value in settings.items() if has_setting(config, name)}
                config = configure(method, variant, own)[1]
                for seed in (seeds[0], *(() if method.deterministic(config) else seeds[1:])):
                    cell = Cell(
                        method.key, variant, domain, seed, source.name, named, tuple(sorted(own.items())), trained_on
                    )
                    cells.append(replace(cell, decodings=own_decodings))
    if set(decodings) - known_decodings:
        raise ConfigurationError(f"no method of the grid has the decoding '{min(set(decodings) - known_decodings)}'")
    used = {name for cell in cells for name, _ in cell.overrides}
    if set(settings) - used:
        raise ConfigurationError(f"no method of the grid has the setting '{min(set(settings) - used)}'")
    return cells


def ablation_cells(cells: Sequence[Cell]) -> list[Cell]:
    """The same cells, then each with one ingredient of its method changed at a time."""
    varied = []
    for cell in cells:
        decodings: dict[tuple[tuple[str, str], ...], list[str]] = {}  # by overrides of training
        for training, decoding in map(apart, ({}, *ablations(get_method(cell.method)))):
            decodings.setdefault(tuple(sorted(training.items())), []).append(decoding)
        for overrides, names in decodings.items():
            configure(planning_method(cell.method), cell.variant, dict(overrides))  # raises for an unknown setting
            varied.append(replace(cell, overrides=overrides, decodings=tuple(names)))
    return varied


def jackknife_cells(cells: Sequence[Cell], most: int = 16) -> list[Cell]:
    """The same cells without one training problem, each in turn; evenly chosen where there are more than `most`."""
    varied = []
    for cell in cells:
        names = [entry.name for entry in load_suite(cell.training_suite).domain(cell.domain).splits["train"]]
        places = dict.fromkeys(round(number * (len(names) - 1) / max(most - 1, 1)) for number in range(most))
        varied += [replace(cell, without=names[place]) for place in places]
    return varied


def learning_cells(cells: Sequence[Cell], draws: int = 5) -> list[Cell]:
    """The same cells with 1, 2, 4, half and all training problems, `draws` random subsets of each number but the last.

    Problems are drawn from those that a method learns from. All draws of a domain are the same for every method that
    learns from plans, and those of one draw contain those of fewer problems.
    """
    if draws < 1:
        raise ConfigurationError(f"draws is {draws}; expected at least 1")
    varied = []
    numbers: dict[tuple[str, str, str], int] = {}  # of problems to draw from, by kind of data, suite and domain
    for cell in cells:
        kind = get_method(cell.method).learns_from
        key = kind.__name__, cell.training_suite, cell.domain
        if key not in numbers:
            numbers[key] = learning_texts(kind, load_suite(cell.training_suite), [cell.domain]).drawable
        for count in subset_sizes(numbers[key]):
            varied += [replace(cell, drawn=(count, draw)) for draw in range(draws if count < numbers[key] else 1)]
    return varied


def subset_sizes(problems: int) -> list[int]:
    """1, 2, 4, half and all of so many training problems, each number once."""
    return sorted({count for count in (1, 2, 4, -(-problems // 2), problems) if count <= problems})


def run_grid(cells: Sequence[Cell], jobs: Jobs = 1, again: bool = False, diagnostics: bool = False) -> Results:
    """The results of all cells, measured where they are not saved yet. Each cell is saved as soon as it is done.

    Killed at any point, the grid resumes there and ends with the same scores. With `diagnostics` the first seed of each
    variant is diagnosed too. Missing expert plans are made before, on this machine.
    """
    first = {(cell.method, cell.variant, cell.domain): cell for cell in reversed(cells)}
    diagnosed = set(first.values()) if diagnostics else set()
    _make_experts(cells, diagnosed, processes(jobs))
    files = result_files(cells)
    waiting = [cell for cell in cells if again or not _is_done(_read(files[cell]), cell in diagnosed)]
    # The longest first, so that no process is left alone with one at the end.
    waiting.sort(key=_expected_work, reverse=True)
    with progress(f"grid on {', '.join(dict.fromkeys(cell.suite for cell in cells))}", len(cells)) as bar:
        bar.update(len(cells) - len(waiting))
        for _ in executor(jobs).map_nested(_run, [(cell, files[cell], again, cell in diagnosed) for cell in waiting]):
            bar.update()
    scores: list[Score] = []
    attempts: list[dict[str, Any]] = []
    for cell in cells:
        record = _read(files[cell])
        if record is None:
            raise StoreError(f"{files[cell]} is gone; run the grid again")
        source = load_suite(cell.suite)
        for metric, value in record["facts"].items():
            scores.append(Score(**vars(_subject(cell, record)), metric=metric, value=float(value), count=0))
        for decoding, split, records in record["attempts"]:
            subject = _subject(cell, record, split, decoding)
            measured_attempts = [Attempt.from_record(each) for each in records]
            scores += [score for score in scores_of(source, subject, measured_attempts) if score.size is None]
            attempts += _rows(source, subject, measured_attempts)
        scores += (Score(**found) for found in record.get("diagnostics", ()))
    return Results.of(scores, attempts)


def baseline_results(suite: str, domains: Sequence[str] = (), splits: Sequence[str] = (), jobs: int = 1) -> Results:
    """The classical planners on the same problems, from saved results; what is missing is measured."""
    source = load_suite(suite)
    scores: list[Score] = []
    rows: list[dict[str, Any]] = []
    for domain in [source.domain(name).name for name in domains or source.domains]:
        for variant in BASELINES:
            for split in source.chosen_splits(domain, splits):
                attempts = baseline_attempts(source, domain, split, variant, jobs)
                subject = Measurement(
                    method=FAST_DOWNWARD,
                    variant=variant,
                    domain=domain,
                    suite=source.name,
                    split=split,
                    note="saved results of Fast Downward",
                )
                scores += scores_of(source, subject, attempts)
                rows += _rows(source, subject, attempts)
    return Results.of(scores, rows)


def _expected_work(cell: Cell) -> tuple[float, int]:
    """The longest training of the variant that was measured, unknown ones before all, then problems to try."""
    source = load_suite(cell.suite)
    problems = sum(len(source.domain(cell.domain).splits[source.split(cell.domain, split)]) for split in cell.splits)
    return _measured_training().get((cell.method, cell.variant), math.inf), problems


@cache
def _measured_training() -> Mapping[tuple[str, str], float]:
    """Seconds of the longest committed training of each method and variant."""
    trainings = select(load_scores(), metric="training_seconds")
    return dict(trainings.groupby(["method", "variant"])["value"].max())


def _make_experts(cells: Sequence[Cell], diagnosed: Iterable[Cell], jobs: int) -> None:
    """Make the expert plans that cells would miss, once, and not in each cell at the same time."""
    taught = [cell for cell in cells if get_method(cell.method).learns_from is not Problems]
    for domain, suite in dict.fromkeys((cell.domain, cell.training_suite) for cell in taught):
        learning_texts(Demonstrations, load_suite(suite), [domain], jobs=jobs)
    for suite, domain, splits in dict.fromkeys((cell.suite, cell.domain, cell.splits) for cell in diagnosed):
        for split in splits:
            expert_plans(load_suite(suite), domain, split, jobs=jobs)


def _run(cell: Cell, file: Path, again: bool, diagnosed: bool, runner: Executor) -> None:
    record = None if again else _read(file)
    if _is_done(record, diagnosed):
        return  # meanwhile, by another process on the same store
    run = train(
        cell.method,
        cell.domain,
        cell.training_suite,
        cell.variant,
        cell.seed,
        jobs=runner,
        overrides=dict(cell.overrides),
        without=cell.without,
        drawn=cell.drawn,
    )
    if record is None:
        found = evaluate([run.folder], cell.suite, cell.splits, runner, decodings=cell.decodings)
        (note,), facts = set(found.scores["note"]), run.record["facts"]
        record = {
            "run": run.sha256,
            "note": note,
            "variant": run.key.variant,
            "facts": {metric: facts[name] for metric, name in FACTS.items() if name in facts},
            "attempts": [
                [decoding, split, [each.to_record() for each in known_decodings]]
                for (_, decoding, split), known_decodings in found.attempts.items()
            ],
        }
        write_json(file, record)
    if diagnosed:
        found = diagnose([run.folder], cell.suite, cell.splits, runner, cell.decodings)
        record["diagnostics"] = json.loads(to_json(found))
        write_json(file, record)


def _is_done(record: Mapping[str, Any] | None, diagnosed: bool) -> bool:
    return record is not None and (not diagnosed or "diagnostics" in record)


def _read(file: Path) -> dict[str, Any] | None:
    """The saved results of a cell, or None where it is still to be run."""
    if not file.is_file():
        return None
    record = read_json(file)
    return record if isinstance(record, dict) and "attempts" in record else None


def _subject(cell: Cell, record: Mapping[str, Any], split: str = "", decoding: str = DEFAULT) -> Measurement:
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


def _rows(suite: Suite, subject: Measurement, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    place = subject.domain, subject.split
    return attempt_rows(
        subject, attempts, expert_lengths(suite, *place), suite.likes(*place), expert_costs(suite, *place)
    )
