"""Grids of trainings and measurements: which cells there are, and their runner, which is resumable and parallel.

Settings of a method are selected one after another, by validation on generated problems larger than training.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from sgp.api import diagnose, evaluate, scores_of, train
from sgp.datasets.experts import expert_costs, expert_lengths, expert_plans
from sgp.datasets.store import home
from sgp.datasets.suite import Suite, load_suite
from sgp.datasets.training_data import Demonstrations, Problems, learning_texts
from sgp.errors import ConfigurationError, InputError, StoreError, expected_one_of
from sgp.evaluation.attempts import Attempt, attempt_rows, attempts_frame, write_attempts
from sgp.evaluation.known_plans import BASELINES, FAST_DOWNWARD, baseline_attempts
from sgp.evaluation.scores import Measurement, Score, load_scores, to_frame, to_json, write_scores
from sgp.files import read_json, whole_file, write_json
from sgp.methods import ablations, get_method, planning_method
from sgp.methods import choices as choices_of
from sgp.methods.configuration import apart, configure, configure_decoding, has_decoding, has_setting, require_decodings
from sgp.policies.decoding import DEFAULT
from sgp.progress import progress
from sgp.reports.table import Table
from sgp.workers import Executor, Jobs, executor, processes

SEEDS = (13, 14, 15)  # the seeds of the published grid
EQUAL_QUALITY = 0.005  # differences of quality below it are noise on some tens of problems
FACTS = {  # of runs, by the names of metrics: what Table 3 of the paper lists, and how long training took
    "dimension": "dimension",
    "parameters": "parameters",
    "nodes": "nodes",
    "training_seconds": "seconds",
    "training_processor_seconds": "processor_seconds",
    "copied": "copied",
    "validation_loss": "validation_loss",
}
DEFAULT_METHODS = (
    "contrastive-jumps",
    "state-centric",
    "contrastive-delta",
    "goal-count",
    "zero-change",
    "random-successor",
)


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
    pairs = dict.fromkeys((name, cell.domain) for cell in cells for name in (cell.suite, cell.training_suite))
    suites = {name: load_suite(name) for name, _ in pairs}
    plans = {pair: sorted((suites[pair[0]].experts / pair[1]).glob("*.jsonl")) for pair in pairs}
    expert_hashes = {
        pair: [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths] for pair, paths in plans.items()
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
        expected = "expected whole numbers separated by commas, such as 13,14,15"
        raise InputError(f"{what} are '{text}'; {expected}") from error


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
                    cell = Cell(method.key, variant, domain, seed, source.name, named, tuple(sorted(own.items())))
                    cells.append(replace(cell, trained_on=trained_on, decodings=own_decodings))
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
            scores.append(Score(**vars(_subject(cell, record)), metric=metric, value=float(value), n=0))
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
                place: dict[str, Any] = {"domain": domain, "suite": source.name, "split": split}
                note = "saved results of Fast Downward"
                subject = Measurement(method=FAST_DOWNWARD, variant=variant, **place, note=note)
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
    measured = load_scores()
    trainings = measured[measured["metric"] == "training_seconds"]
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
    identity = cell.method, cell.domain, cell.training_suite, cell.variant, cell.seed
    overrides = dict(cell.overrides)
    run = train(*identity, jobs=runner, overrides=overrides, without=cell.without, drawn=cell.drawn)
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
    facts: dict[str, Any] = {name: getattr(cell, name) for name in ("method", "domain", "suite", "seed")}
    return Measurement(**facts, variant=record["variant"], decoding=decoding, split=split, note=record["note"])


def _rows(suite: Suite, subject: Measurement, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    place = subject.domain, subject.split
    lengths, costs = expert_lengths(suite, *place), expert_costs(suite, *place)
    return attempt_rows(subject, attempts, lengths, suite.duplicates(*place), costs)


class Reached(NamedTuple):
    """Result of a configuration: means over domains and splits of coverage, plan quality and seconds.

    The quality of a solved problem is L* / L, the length of the shortest plan of all trials over that of its own plan;
    of an unsolved one 0 (the score of the satisficing track of the planning competitions).
    """

    coverage: float
    quality: float
    seconds: float


@dataclass(frozen=True)
class Trial:
    """A value of a setting, and its result."""

    setting: str
    value: str
    reached: Reached
    rows: Mapping[str, float]  # coverage by domain and split
    chosen: bool = False


def choices(method: str, settings: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
    """The settings of a method that validation chooses, or those of them that are named, with their values."""
    known = choices_of(get_method(method))
    for setting in settings:
        if setting not in known:
            raise InputError(f"method {method} does not choose setting '{setting}'; {expected_one_of(known, setting)}")
    return {setting: values for setting, values in known.items() if not settings or setting in settings}


def select(
    method: str,
    suite: str,
    validation: str,
    domains: Sequence[str] = (),
    settings: Sequence[str] = (),
    seed: int = SEEDS[0],
    jobs: Jobs = 1,
) -> tuple[list[Trial], Mapping[str, str]]:
    """Try every value of each setting, the others as chosen so far; return the trials and the chosen settings.

    The value of the highest coverage is chosen; of several the one of the highest quality; of several within
    `EQUAL_QUALITY` the fastest. Trials are saved, so that the same call resumes.
    """
    learner = planning_method(method)
    variant = next(iter(learner.variants))
    open_choices = choices(method, settings)
    chosen = {setting: values[0] for setting, values in open_choices.items()}
    made: dict[object, Results] = {}  # by configuration, so that the default under another name is not evaluated again
    order: list[tuple[str, str, object]] = []
    for setting, values in open_choices.items():
        candidates = []
        for value in values:
            training, decoding = apart({**chosen, setting: value})
            config = configure(learner, variant, training)[1], configure_decoding(learner, decoding)[1]
            if config not in made:
                methods = {learner.key: [variant]}
                cells = grid_cells(validation, domains, methods, (seed,), (), training, suite, (decoding,))
                made[config] = run_grid(cells, jobs)
            candidates.append(config)
            order.append((setting, value, config))
        measured = _measured(made)
        chosen[setting] = best({value: measured[config] for value, config in zip(values, candidates, strict=True)})
    measured = _measured(made)
    trials = []
    for setting, value, key in order:
        groups = made[key].attempts.groupby(["domain", "split"], sort=False)["solved"]
        rows = {f"{domain} {split}": fmean(solved) for (domain, split), solved in groups}
        trials.append(Trial(setting, value, measured[key], rows, chosen[setting] == value))
    return trials, chosen


def best(candidates: Mapping[str, Reached]) -> str:
    """The value to choose: by coverage, then by quality, then by seconds."""
    coverage, quality, _ = max(candidates.values())
    good = {value: result for value, result in candidates.items() if result.coverage == coverage}
    good = {value: result for value, result in good.items() if result.quality >= quality - EQUAL_QUALITY}
    return min(good, key=lambda value: good[value].seconds)


def _measured(made: Mapping[object, Results]) -> dict[object, Reached]:
    """Result of each configuration, its quality relative to the shortest plans of all so far."""
    attempts = pd.concat([each.attempts.assign(place=place) for place, each in enumerate(made.values())])
    shortest = attempts.groupby(["domain", "split", "problem"])["length"].transform("min")
    ratios = (shortest / attempts["length"]).where((attempts["length"] > 0).fillna(False), 1.0)
    attempts = attempts.assign(quality=ratios.where(attempts["length"].notna(), 0.0).astype(float))
    reached = {}
    for place, config in enumerate(made):
        groups = attempts[attempts["place"] == place].groupby(["domain", "split"])
        means = (fmean(map(fmean, (part[name] for _, part in groups))) for name in ("solved", "quality", "seconds"))
        reached[config] = Reached(*means)
    return reached


def trials_table(trials: Sequence[Trial], title: str) -> Table:
    """The trials, one a row, with the domains and splits in which some problem was not solved."""
    lines = []
    for trial in trials:
        reached = trial.reached
        numbers = f"{reached.coverage:.3f}", f"{reached.quality:.3f}", f"{reached.seconds:.2f}"
        missed = ", ".join(f"{name} {value:.2f}" for name, value in trial.rows.items() if value < 1) or "none"
        lines.append((trial.setting, f"{trial.value} (chosen)" if trial.chosen else trial.value, *numbers, missed))
    return Table.of(title, ("setting", "value", "coverage", "quality", "seconds", "not all solved"), lines)


def write_trials(path: Path, trials: Sequence[Trial]) -> None:
    """Write the trials as CSV, a line for each trial, domain and split."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("setting", "value", "chosen", "coverage", "quality", "seconds", "row", "row_coverage"))
        for each in trials:
            coverage, quality, seconds = each.reached
            head = each.setting, each.value, each.chosen, f"{coverage:.4f}", f"{quality:.4f}", f"{seconds:.3f}"
            table.writerows((*head, name, value) for name, value in each.rows.items())
