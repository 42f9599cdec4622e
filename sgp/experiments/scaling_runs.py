"""Scaling evaluations of runs: where their problems come from, how long plans may be, and what is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean

import pandas as pd

from sgp.api import measured_here
from sgp.datasets.runs import open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.domains import all_domains, serving
from sgp.errors import ConfigurationError, InputError
from sgp.evaluation import scaling as curves
from sgp.evaluation.attempts import subject_of
from sgp.evaluation.curve_scores import curve_scores
from sgp.evaluation.scores import Measurement, select, to_frame
from sgp.methods import planning_method
from sgp.methods.configuration import configure_decoding, decoded_identity
from sgp.methods.loading import load_planner
from sgp.planning.domain import Domain
from sgp.planning.pddl import read_domain
from sgp.policies.decoding import DEFAULT
from sgp.reports.papers import beside_ours
from sgp.reports.scaling_tables import SPLIT, curve_table, published_scales
from sgp.reports.table import Table
from sgp.solving import RunLike
from sgp.workers import Jobs


def scaling(
    run: RunLike,
    config: curves.ScalingConfig = curves.DEFAULT_CONFIG,
    seed: int = 0,
    jobs: Jobs = 1,
    bound: int | None = None,
    hours: float = math.inf,
    watch: Callable[[curves.CurvePoint], None] = lambda measured: None,
    decoding: str = DEFAULT,
) -> curves.Curve:
    """How far a run scales: its coverage at every size of its domain, on problems generated from `seed`.

    A plan for a problem of n objects may have `bound` + n actions; the default bound is `plan_bound` of the training
    data. After so many `hours` no problem is begun, and the curve reports it. `watch` sees every size as it is
    done. Results are saved, so that the same call resumes. `curve_scores` gives a curve's numbers. `jobs` as for
    `evaluate`. Source: dynamic validation, algorithm 3.
    """
    if not hours >= 0:
        raise ConfigurationError(f"hours is {hours}; expected 0 or more")
    opened = open_run(run)
    source = generator_for(opened.domain_pddl, opened.key.domain, seed)
    if source is None:
        known = ", ".join(each.name for each in all_domains())
        raise InputError(f"there is no built-in generator for problems of {opened.key.domain}; choose one of {known}")
    method = planning_method(opened.key.method)
    name, _ = configure_decoding(method, decoding)
    identity = decoded_identity(method, opened.planner_sha256, opened.training, name)
    planner = curves.EvaluatedPlanner(str(opened.folder), identity, load_planner, name)
    until = time.monotonic() + 3600 * hours
    if bound is None:
        bound = plan_bound(source.domain, lambda: load_training_data(load_suite(opened.key.suite), opened.key.domain))
    return curves.scaling(planner, source, bound, config, jobs, until, watch)


@dataclass(frozen=True)
class ScalingBeside:
    """A run's curve with its scores, and the published numbers beside it."""

    curve: curves.Curve
    scores: pd.DataFrame
    table: Table
    published: pd.DataFrame


def scaling_beside(
    run: RunLike,
    config: curves.ScalingConfig = curves.DEFAULT_CONFIG,
    seed: int = 0,
    jobs: Jobs = 1,
    bound: int | None = None,
    hours: float = math.inf,
    decoding: str = DEFAULT,
) -> ScalingBeside:
    """`scaling` of a run, its scores and table; the default largest size is twice the published Scale."""
    opened = open_run(run)
    key, published = opened.key, select(beside_ours(), split=SPLIT)
    words, largest = published_scales(published, key.domain)
    config = replace(config, largest=config.largest or largest)
    curve = scaling(run, config, seed, jobs, bound, hours, decoding=decoding)
    scores = to_frame(curve_scores(curve, scaling_subject(run, config, jobs, decoding)))
    title = f"{subject_of(opened, decoding=decoding).planner.title} on {key.domain}, trained on {key.suite}"
    return ScalingBeside(curve, scores, curve_table(curve, title, config.kappa, words), published)


def scaling_subject(
    run: RunLike, config: curves.ScalingConfig = curves.DEFAULT_CONFIG, jobs: Jobs = 1, decoding: str = DEFAULT
) -> Measurement:
    """What all scores of a run's curve have in common: the run, when and where it is measured, and the time limit."""
    opened = open_run(run)
    limited = "" if config.seconds is None else f"; at most {config.seconds:g} seconds"
    return Measurement(
        **vars(subject_of(opened, split=SPLIT, decoding=decoding)), note=f"{measured_here(opened, jobs)}{limited}"
    )


def generator_for(domain_pddl: str, name: str, seed: int, tracked: bool = False) -> curves.ProblemSource | None:
    """Generator of problems of a domain with the names of its PDDL; None for a domain without a built-in generator."""
    text = read_domain(domain_pddl, name)
    domain = serving(text)
    if domain is None:
        return None
    model = next(model for model, own in domain.texts.items() if own.signature == text.signature)
    return curves.ProblemSource(domain, model, seed, tracked)


def plan_bound(domain: Domain | None, data: Callable[[], Demonstrations]) -> int:
    """L (dynamic validation, section 2): the domain's, or 3N, N the mean plan of the largest training problems."""
    if domain is not None and domain.scaling is not None and domain.scaling.bound is not None:
        return domain.scaling.bound
    train = data().train
    largest = max(each.task.size for each in train)
    return round(curves.BOUND_FACTOR * mean(len(each) for each in train if each.task.size == largest))
