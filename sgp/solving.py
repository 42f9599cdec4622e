"""Solve a problem by a trained run. Imports only what planning needs, so that `sgp solve` starts quickly."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sgp.datasets.runs import Run, open_run
from sgp.errors import DomainMismatch, UnsupportedPddl, require
from sgp.methods.loading import find_run_for_domain, load_planner, shipped_folders
from sgp.planning.declarations import DomainText
from sgp.planning.pddl import Problem, read_domain, require_problem
from sgp.planning.planner import NO_LIMIT, Keep, Limit, read_task
from sgp.planning.rollout import Rollout
from sgp.policies.decoding import DEFAULT

logger = logging.getLogger(__name__)

RunLike = Run | Path | str  # an opened run, or its folder
DEFAULT_SECONDS = 60.0  # where no limit is given; measured coverage has the papers' limit on actions instead


def with_default(limit: Limit) -> Limit:
    """Return a limit on a problem of one's own: `DEFAULT_SECONDS` where nothing else ends a rollout."""
    require(limit, Limit, "limit", "one as in sgp.Limit(seconds=60)")
    return limit if limit.ends or limit.actions is not None else replace(limit, seconds=DEFAULT_SECONDS)


def run_for(problem: Problem) -> Run:
    """Return a trained run for a problem's domain: one shipped with the package, or else the user's latest.

    Without a run for its predicates and actions, it is a shipped one for an equivalent domain (`stated_for`).
    """
    require_problem(problem)
    domain = _domain_of(problem)
    try:
        return find_run_for_domain(domain, domain.name)
    except DomainMismatch:
        for run in map(open_run, shipped_folders()):
            with suppress(DomainMismatch):
                stated_for(problem, run)
                return run
        raise


def stated_for(problem: Problem, run: Run) -> Problem:
    """Return the problem as a run's planner reads it: translated if its domain is equivalent to the run's.

    Names, the order of arguments, and types in place of static predicates may differ; plans have the problem's own
    actions. Raises DomainMismatch for another domain.
    """
    domain = _domain_of(problem)
    if domain.signature == run.domain_text.signature:
        return problem
    stated = replace(problem, model_pddl=run.domain_pddl)
    ours, theirs = (
        sorted(len(each.parameters) for each in text.schemas.values()) for text in (run.domain_text, domain)
    )
    try:
        equivalent = ours == theirs and bool(stated.alternatives()[0].read())  # large problems take seconds to read
    except DomainMismatch:
        equivalent = False
    if not equivalent:
        raise DomainMismatch(
            f"{run.folder} was trained on {run.key.domain}; {problem.domain_source} "
            f"{run.domain_text.difference(domain)}; use a run trained on this domain"
        )
    return stated


def _domain_of(problem: Problem) -> DomainText:
    try:
        return read_domain(problem.domain_pddl, problem.domain_source)
    except UnsupportedPddl:  # its actions quantify over the objects of a problem
        return problem.alternatives()[0].read()[0]


def solve(
    problem: Problem, run: RunLike | None = None, limit: Limit = NO_LIMIT, decoding: str = DEFAULT, keep: Keep = "auto"
) -> Rollout:
    """Solve one problem by a trained run, by default the one that `run_for` finds, and return the rollout.

    `keep` says what the steps store: all candidates ("steps"), only the chosen ones ("plan"), or all candidates if
    they are few ("auto"). Without a limit on actions, decisions or seconds, planning ends after `DEFAULT_SECONDS`.
    For a disjunctive goal, return the rollout of the first disjunct that is solved.
    """
    require_problem(problem)
    limit = with_default(limit)
    trained = run_for(problem) if run is None else open_run(run)
    stated = stated_for(problem, trained)
    if stated is not problem:
        logger.info("the problem is translated to the equivalent domain %s of the planner", trained.key.domain)
    tasks = [read_task(alternative, limit) for alternative in stated.alternatives()]
    task = tasks[0]
    logger.info("planning for %s with %s, decoding %s", task.name, trained.folder, decoding)
    for remark in task.domain_text.remarks + task.text.remarks:
        logger.warning("%s", remark)
    rollouts = replace(load_planner(trained, decoding), keep=keep).solve_many(tasks, limit)
    return next((rollout for rollout in rollouts if rollout.solved), rollouts[0])
