"""Scaling evaluations of runs: where their problems come from, how long plans may be, and what is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from sgp.api import measured_here
from sgp.datasets.runs import open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.domains import all_domains, serving
from sgp.errors import ConfigurationError, InputError
from sgp.evaluation.curves import curve_scores
from sgp.evaluation.scaling import BOUND_FACTOR, PAPERS, Curve, Evaluated, Measured, ScalingConfig, Source
from sgp.evaluation.scaling import scaling as scaling_of
from sgp.evaluation.scores import Measurement, Score
from sgp.evaluation.subjects import subject_of
from sgp.methods import planning_method
from sgp.methods.configuration import configure_decoding, decoded_identity
from sgp.methods.loading import load_planner
from sgp.planning.domain import Domain
from sgp.planning.pddl import read_domain
from sgp.policies.decoding import DEFAULT
from sgp.reports.curves import curve_sheet, published_cap, published_words
from sgp.reports.papers import beside_ours
from sgp.reports.scaling_table import SPLIT, is_scaling
from sgp.reports.sheets import Sheet
from sgp.workers import Jobs


def scaling(
    run: Path | str,
    config: ScalingConfig = PAPERS,
    seed: int = 0,
    jobs: Jobs = 1,
    bound: int | None = None,
    hours: float = math.inf,
    watch: Callable[[Measured], None] = lambda measured: None,
    decoding: str = DEFAULT,
) -> Curve:
    """How far a run scales: its coverage at every size of its domain, on problems that are generated from `seed`.

    A plan for a problem of n objects may have `bound` + n actions; without one, `plan_bound` of what the run was
    trained on. After so many `hours` no more problems are tried, and the curve says so. `watch` sees every size as it
    is done. What is done is kept and not done again. `curve_scores` gives a curve's numbers, any property of its
    attempts among them. `jobs` as for `evaluate`. Source: dynamic validation, algorithm 3.
    Raises InputError for a run whose domain the house cannot generate problems of, for settings that cannot be, and for
    a generator that fails; UnsolvableProblem for a problem that is proven to have no plan where its domain promises
    one; StoreError for a damaged run or damaged attempts; ToolError where Fast Downward fails or VAL is missing; and
    ValidationDisagreement where VAL refuses a plan.
    """
    if not hours >= 0:
        raise ConfigurationError(f"hours is {hours}; expected 0 or more")
    opened = open_run(run)
    source = source_for(opened.domain_pddl, opened.key.domain, seed)
    method = planning_method(opened.key.method)
    name, _ = configure_decoding(method, decoding)
    identity = decoded_identity(method, opened.planner_sha256, opened.training, name)
    planner = Evaluated(str(opened.folder), identity, load_planner, name)
    until = time.monotonic() + 3600 * hours
    if bound is None:
        bound = plan_bound(source.domain, lambda: load_training_data(load_suite(opened.key.suite), opened.key.domain))
    return scaling_of(planner, source, bound, config, jobs, until, watch)


@dataclass(frozen=True)
class ScalingBeside:
    """A run's curve with its scores, and the published numbers beside it."""

    curve: Curve
    scores: Sequence[Score]
    sheet: Sheet
    theirs: Sequence[Score]

    def page(self) -> str:
        """The curve as a plot in one HTML page."""
        from sgp.reports.scaling_plots import scaling_curves

        text: str = scaling_curves(self.scores, theirs=self.theirs).to_html(include_plotlyjs=True)
        return text


def scaling_beside(
    run: Path | str,
    config: ScalingConfig = PAPERS,
    seed: int = 0,
    jobs: Jobs = 1,
    bound: int | None = None,
    hours: float = math.inf,
    decoding: str = DEFAULT,
) -> ScalingBeside:
    """`scaling` of a run, its scores and tables; where no largest size is given up to twice the published Scale."""
    opened, theirs = open_run(run), [score for score in beside_ours() if is_scaling(score)]
    key = opened.key
    config = replace(config, largest=config.largest or published_cap(theirs, key.domain))
    curve = scaling(run, config, seed, jobs, bound, hours, decoding=decoding)
    scores = list(curve_scores(curve, scaling_subject(run, config, jobs, decoding)))
    title = f"{subject_of(opened, decoding=decoding).planner.title} on {key.domain}, trained on {key.suite}"
    sheet = curve_sheet(curve, title, config.kappa, published_words(theirs, key.domain))
    return ScalingBeside(curve, scores, sheet, theirs)


def scaling_subject(
    run: Path | str, config: ScalingConfig = PAPERS, jobs: Jobs = 1, decoding: str = DEFAULT
) -> Measurement:
    """What the scores of a run's curve share: which run it is, when and where it is measured, with which time limit.

    Raises StoreError for a damaged run.
    """
    opened = open_run(run)
    limited = "" if config.seconds is None else f"; at most {config.seconds:g} seconds"
    return Measurement(
        **vars(subject_of(opened, split=SPLIT, decoding=decoding)), note=f"{measured_here(opened, jobs)}{limited}"
    )


def source_for(domain_pddl: str, name: str, seed: int) -> Source:
    """Where problems of a domain come from, in the words of its text.

    Raises InputError for one that the house has no generator for.
    """
    source = generator_for(domain_pddl, name, seed)
    if source is None:
        known = ", ".join(each.name for each in all_domains())
        raise InputError(f"the house has no generator for problems of {name}; choose one of {known}")
    return source


def generator_for(domain_pddl: str, name: str, seed: int, tracked: bool = False) -> Source | None:
    """As `source_for`, or None for a domain that the house has no generator for; see `Source` for `tracked`."""
    text = read_domain(domain_pddl, name)
    domain = serving(text)
    if domain is None:
        return None
    model = next(model for model, own in domain.texts.items() if own.signature == text.signature)
    return Source(domain, model, seed, tracked)


def plan_bound(domain: Domain | None, data: Callable[[], Demonstrations]) -> int:
    """L: the domain's bound, or 3N with N the mean length of the expert plans for the largest training problems.

    `data` is asked for where it is needed. Source: dynamic validation, section 2 and Table 2.
    """
    if domain is not None and domain.scaling is not None and domain.scaling.bound is not None:
        return domain.scaling.bound
    train = data().train
    largest = max(each.task.size for each in train)
    return round(BOUND_FACTOR * mean(len(each) for each in train if each.task.size == largest))
