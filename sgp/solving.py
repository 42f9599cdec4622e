"""Solve a problem by a trained run. Imports only what planning needs, so that `sgp solve` starts quickly."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from sgp.datasets.runs import Run, open_run
from sgp.errors import DomainMismatch, UnsupportedPddl
from sgp.methods.loading import planner_of
from sgp.methods.run_lookup import find_run_for_domain
from sgp.planning.pddl import Problem, read_domain
from sgp.planning.planner import NO_LIMIT, Keep, Limit, read_task
from sgp.planning.rollout import Rollout
from sgp.policies.decoding import DEFAULT

logger = logging.getLogger(__name__)

RunLike = Run | Path | str  # an opened run, or its folder


def run_for(problem: Problem) -> Run:
    """A trained run for a problem's domain: one that comes with the package, or else the user's latest.

    Raises DomainMismatch if there is none.
    """
    try:
        domain = read_domain(problem.domain_pddl, problem.domain_source)
    except UnsupportedPddl:  # its actions quantify over the objects of a problem
        domain, _ = problem.alternatives()[0].read()
    return find_run_for_domain(domain, domain.name)


def solve(
    problem: Problem,
    run: RunLike | None = None,
    limit: Limit = NO_LIMIT,
    decoding: str = DEFAULT,
    keep: Keep = "auto",
) -> Rollout:
    """A rollout of one problem by a trained run; by default by the one that `run_for` finds.

    `keep`: what its steps store, all candidates ("steps"), only the chosen ones ("plan"), or all if they are few
    ("auto"). If its goal has alternatives, the rollout is that of the first that is solved.
    """
    tasks = [read_task(each, limit) for each in problem.alternatives()]
    task, trained = tasks[0], run_for(problem) if run is None else open_run(run)
    logger.info("planning for %s with %s, decoding %s", task.name, trained.folder, decoding)
    for remark in task.domain_text.remarks + task.text.remarks:
        logger.warning("%s", remark)
    if task.domain_text.signature != trained.domain_text.signature:
        raise DomainMismatch(
            f"{trained.folder} was trained on {trained.key.domain}; {problem.domain_source} "
            f"{trained.domain_text.difference(task.domain_text)}; use a run trained on this domain"
        )
    rollouts = replace(planner_of(trained, decoding), keep=keep).solve_many(tasks, limit)
    return next((each for each in rollouts if each.solved), rollouts[0])
