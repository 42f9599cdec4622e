"""Selection of a method's settings, one after another, by validation on generated problems larger than training."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from sgp.errors import InputError, expected_one_of
from sgp.experiments.grid import SEEDS, Results, grid_cells, run_grid
from sgp.files import whole_file
from sgp.methods import choices as choices_of
from sgp.methods import get_method, planning_method
from sgp.methods.configuration import apart, configure, configure_decoding
from sgp.reports.table import Table
from sgp.workers import Jobs

EQUAL_QUALITY = 0.005  # differences below it are noise on some tens of problems


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
            candidates.append(config)
            order.append((setting, value, config))
        measured = _measured(made)
        chosen[setting] = best({value: measured[config] for value, config in zip(values, candidates, strict=True)})
    measured = _measured(made)
    found = [
        Trial(setting, value, measured[config], _coverage(made[config].attempts), chosen[setting] == value)
        for setting, value, config in order
    ]
    return found, chosen


def best(candidates: Mapping[str, Reached]) -> str:
    """The value to choose: by coverage, then by quality, then by seconds."""
    coverage = max(each.coverage for each in candidates.values())
    quality = max(each.quality for each in candidates.values() if each.coverage == coverage)
    good = {
        value: each
        for value, each in candidates.items()
        if each.coverage == coverage and each.quality >= quality - EQUAL_QUALITY
    }
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


def _coverage(attempts: pd.DataFrame) -> dict[str, float]:
    groups = attempts.groupby(["domain", "split"], sort=False)["solved"]
    return {f"{domain} {split}": fmean(solved) for (domain, split), solved in groups}


def trials_table(trials: Sequence[Trial], title: str) -> Table:
    """The trials, one a row, with the domains and splits in which some problem was not solved."""
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
