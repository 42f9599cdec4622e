"""Choosing a method's settings by validation: on generated problems larger than training, one setting after another."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from sgp.errors import InputError, expected_one_of
from sgp.evaluation.attempts import AttemptRow
from sgp.experiments.grid import SEEDS, Results, grid_cells, run_grid
from sgp.files import whole_file
from sgp.methods import choices as choices_of
from sgp.methods import get_method, planning_method
from sgp.methods.configuration import apart, configure, configure_decoding
from sgp.reports.sheets import Sheet
from sgp.workers import Jobs

EQUAL_QUALITY = 0.005  # differences below it are noise on some tens of problems


class Reached(NamedTuple):
    """What a configuration reached: the mean over rows (domain and split) of coverage, plan quality and seconds.

    A solved problem has the quality L* / L, the length of the shortest plan that any trial found over that of its own;
    an unsolved one has 0 (the satisficing track's score of the planning competitions).
    """

    coverage: float
    quality: float
    seconds: float


@dataclass(frozen=True)
class Trial:
    """One value of a setting that was tried, and what it reached."""

    setting: str
    value: str
    reached: Reached
    rows: Mapping[str, float]  # coverage by domain and split
    chosen: bool = False


def choices(method: str, settings: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
    """The settings of a method that are chosen by validation, or those of them that are named.

    Raises InputError for a method that names none, and for a setting that it does not name.
    """
    found = choices_of(get_method(method))
    unknown = [setting for setting in settings if setting not in found]
    if unknown:
        raise InputError(
            f"method {method} does not choose setting '{unknown[0]}'; {expected_one_of(found, unknown[0])}"
        )
    return {setting: values for setting, values in found.items() if not settings or setting in settings}


def select(
    method: str,
    suite: str,
    validation: str,
    domains: Sequence[str] = (),
    settings: Sequence[str] = (),
    seed: int = SEEDS[0],
    jobs: Jobs = 1,
) -> tuple[list[Trial], Mapping[str, str]]:
    """Trials of every value of each setting, the others as chosen so far or as first listed, and the settings chosen.

    Runs are trained on `suite` and tried on all problems of `validation`. The value of the highest coverage is chosen,
    of several the one of the highest quality, of several within `EQUAL_QUALITY` the one that plans fastest. Trials that
    were made are kept, so that an interrupted selection goes on. Raises InputError for a method or setting that is not
    there, and what `run_grid` raises: InputError in all its kinds, ToolError, StoreError, ValidationDisagreement.
    """
    learner = planning_method(method)
    variant = next(iter(learner.variants))
    open_choices = choices(method, settings)
    chosen = {setting: values[0] for setting, values in open_choices.items()}
    made: dict[object, Results] = {}  # by configuration: the default under another name is not tried again
    order: list[tuple[str, str, object]] = []
    for setting, values in open_choices.items():
        tried = []
        for value in values:
            training, decoding = apart({**chosen, setting: value})
            config = configure(learner, variant, training)[1], configure_decoding(learner, decoding)[1]
            if config not in made:
                cells = grid_cells(
                    validation,
                    domains,
                    {learner.key: [variant]},
                    (seed,),
                    overrides=training,
                    trained_on=suite,
                    decodings=(decoding,),
                )
                made[config] = run_grid(cells, jobs)
            tried.append(config)
            order.append((setting, value, config))
        measured = _measured(made)
        chosen[setting] = best({value: measured[config] for value, config in zip(values, tried, strict=True)})
    measured = _measured(made)
    found = [
        Trial(setting, value, measured[config], _coverage(made[config].attempts), chosen[setting] == value)
        for setting, value, config in order
    ]
    return found, chosen


def best(tried: Mapping[str, Reached]) -> str:
    """The value to choose: by coverage, then by quality, then by seconds."""
    coverage = max(each.coverage for each in tried.values())
    quality = max(each.quality for each in tried.values() if each.coverage == coverage)
    good = {
        value: each
        for value, each in tried.items()
        if each.coverage == coverage and each.quality >= quality - EQUAL_QUALITY
    }
    return min(good, key=lambda value: good[value].seconds)


def _measured(made: Mapping[object, Results]) -> dict[object, Reached]:
    """What each configuration reached, against the shortest plans of all made so far."""
    shortest: dict[tuple[str, str, str], int] = {}
    for results in made.values():
        for row in results.attempts:
            if row.length is not None:
                problem = row.domain, row.split, row.problem
                shortest[problem] = min(row.length, shortest.get(problem, row.length))
    measured = {}
    for config, results in made.items():
        quality: dict[tuple[str, str], list[float]] = {}
        seconds: dict[tuple[str, str], list[float]] = {}
        for row in results.attempts:
            best = shortest.get((row.domain, row.split, row.problem), 0)
            share = 0.0 if row.length is None else best / row.length if row.length else 1.0
            quality.setdefault((row.domain, row.split), []).append(share)
            seconds.setdefault((row.domain, row.split), []).append(row.seconds)
        coverage = fmean(_coverage(results.attempts).values())
        measured[config] = Reached(coverage, fmean(map(fmean, quality.values())), fmean(map(fmean, seconds.values())))
    return measured


def _coverage(attempts: Sequence[AttemptRow]) -> dict[str, float]:
    rows: dict[str, list[bool]] = {}
    for row in attempts:
        rows.setdefault(f"{row.domain} {row.split}", []).append(row.solved)
    return {name: fmean(solved) for name, solved in rows.items()}


def trials_sheet(trials: Sequence[Trial], title: str) -> Sheet:
    """The trials, one a row, with the rows of the validation problems on which each fell short."""
    lines = [
        (
            trial.setting,
            f"{trial.value} (chosen)" if trial.chosen else trial.value,
            f"{trial.reached.coverage:.3f}",
            f"{trial.reached.quality:.3f}",
            f"{trial.reached.seconds:.2f}",
            ", ".join(f"{name} {value:.2f}" for name, value in trial.rows.items() if value < 1) or "none",
        )
        for trial in trials
    ]
    return Sheet.of(title, ("setting", "value", "coverage", "quality", "seconds", "not all solved"), lines)


def write_trials(path: Path, trials: Sequence[Trial]) -> None:
    """Writes the trials as CSV, a line for each trial and row of the validation problems."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("setting", "value", "chosen", "coverage", "quality", "seconds", "row", "row_coverage"))
        for each in trials:
            coverage, quality, seconds = each.reached
            head = each.setting, each.value, each.chosen, f"{coverage:.4f}", f"{quality:.4f}", f"{seconds:.3f}"
            table.writerows((*head, name, value) for name, value in each.rows.items())
