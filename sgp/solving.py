"""Solve a problem by a trained run. Imports only what planning needs, so that `sgp solve` starts quickly."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from sgp.datasets.runs import Run, open_run
from sgp.errors import DomainMismatch, UnsupportedPddl, require
from sgp.methods.loading import find_run_for_domain, load_planner
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
    """Return a trained run for a problem's domain: one shipped with the package, or else the user's latest."""
    require_problem(problem)
    try:
        domain = read_domain(problem.domain_pddl, problem.domain_source)
    except UnsupportedPddl:  # its actions quantify over the objects of a problem
        domain, _ = problem.alternatives()[0].read()
    return find_run_for_domain(domain, domain.name)


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
    tasks = [read_task(alternative, limit) for alternative in problem.alternatives()]
    task, trained = tasks[0], run_for(problem) if run is None else open_run(run)
    logger.info("planning for %s with %s, decoding %s", task.name, trained.folder, decoding)
    for remark in task.domain_text.remarks + task.text.remarks:
        logger.warning("%s", remark)
    if task.domain_text.signature != trained.domain_text.signature:
        raise DomainMismatch(
            f"{trained.folder} was trained on {trained.key.domain}; {problem.domain_source} "
            f"{trained.domain_text.difference(task.domain_text)}; use a run trained on this domain"
        )
    rollouts = replace(load_planner(trained, decoding), keep=keep).solve_many(tasks, limit)
    return next((rollout for rollout in rollouts if rollout.solved), rollouts[0])
