"""Expert plans of a suite: found by Fast Downward and saved as JSONL by the hash of the PDDL."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from sgp.datasets.store import cache_folder
from sgp.datasets.suite import Suite, load_suite
from sgp.errors import PlanError, SgpError, StoreError, UnsolvableProblem
from sgp.files import parse_json, read_json, write_json, write_text
from sgp.planning.costs import known_cost
from sgp.planning.experts import STAGES, ExpertPlan, Stage, fast_downward_driver, find_plan
from sgp.planning.pddl import Problem, parse_plan
from sgp.progress import progress

logger = logging.getLogger(__name__)

_MAKE = "python -m sgp.experiments.bundle experts"
_TEXTS = ("problem", "sha256", "planner", "configuration")  # fields of a plan
_NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # errors of invalid JSON records


def experts_file(suite: Suite, domain: str, split: str, baseline: str = "") -> Path:
    """File of the expert plans of a split, or of the plans of a baseline planner."""
    folder = suite.baselines / baseline if baseline else suite.experts
    return folder / suite.domain(domain).name / f"{suite.split(domain, split)}.jsonl"


def saved_plans(suite: Suite, domain: str, split: str, baseline: str = "") -> dict[str, ExpertPlan]:
    """Saved plans of a split by SHA-256 of the PDDL; empty if the split has no file of plans."""
    file = experts_file(suite, domain, split, baseline)
    return {plan.sha256: plan for plan in read_plans(file)} if file.is_file() else {}


def expert_lengths(suite: Suite, domain: str, split: str) -> dict[str, int]:
    """Lengths of the saved expert plans of a split, by SHA-256 of the PDDL."""
    plans = saved_plans(suite, domain, split).values()
    return {plan.sha256: len(plan.plan) for plan in plans if plan.plan is not None}


def expert_costs(suite: Suite, domain: str, split: str) -> dict[str, float]:
    """Costs of the saved expert plans of the problems with a metric in a split, by SHA-256 of the PDDL."""
    if not suite.domain_text(suite.domain(domain).name).costs:
        return {}
    plans, found = saved_plans(suite, domain, split), {}
    for problem in suite.problems(domain, split):
        plan = plans[problem.sha256].plan if problem.sha256 in plans else None
        if plan is not None and (cost := known_cost(plan, problem.costs)) is not None:
            found[problem.sha256] = cost
    return found


def read_plans(file: Path) -> list[ExpertPlan]:
    """Read the plans of a JSONL file. Raises StoreError for an invalid line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise StoreError(f"{file} is no text (byte {error.start}); remove it and run '{_MAKE}'") from error
    plans = []
    for number, line in enumerate(lines, start=1):
        try:
            plans.append(_from_record(parse_json(line)))
        except (*_NO_RECORD, PlanError) as error:
            raise StoreError(
                f"{file}, line {number}: no complete expert plan ({error!r}); remove the line and run '{_MAKE}'"
            ) from error
    return plans


def write_plans(file: Path, plans: Iterable[ExpertPlan]) -> None:
    """Write plans to a JSONL file atomically."""
    write_text(file, "".join(f"{json.dumps(_to_record(plan))}\n" for plan in plans))


def expert_plans(
    suite: Suite | str,
    domain: str,
    split: str,
    stages: Sequence[Stage] = STAGES,
    jobs: int = 1,
    retry: bool = False,
    baseline: str = "",
    patience: int = 0,
) -> dict[str, ExpertPlan]:
    """Return the plans of a split's problems by SHA-256; missing ones (`retry`: and failures) are searched.

    Each result is cached at once. After `patience` failures in a row (0: never) the rest is skipped (dynamic
    validation, appendix B). An error on one problem is raised after the other plans are saved.
    """
    suite = load_suite(suite)
    saved = saved_plans(suite, domain, split, baseline)
    problems = suite.problems(domain, split)
    missing = [
        problem for problem in problems if problem.sha256 not in saved or (retry and saved[problem.sha256].plan is None)
    ]
    if not missing:
        return saved
    title = f"{baseline or 'expert plans'} {domain} {split}"
    logger.info("%s: %d of %d are to be made", title, len(missing), len(problems))
    file, lock = experts_file(suite, domain, split, baseline), Lock()

    def save(plans: Mapping[str, ExpertPlan]) -> None:
        with lock:
            saved.update(plans)
            write_plans(file, (saved[problem.sha256] for problem in problems if problem.sha256 in saved))

    def save_found(plan: ExpertPlan) -> None:
        """Save a plan found by a retry at once, because the file still reports a failure."""
        if plan.plan is not None and file.is_file():
            save({plan.sha256: plan})

    plans, errors = plans_of(missing, stages, jobs, title, patience, save_found)
    save(plans)
    for error in errors.values():
        raise error
    return saved


def plans_of(
    problems: Sequence[Problem],
    stages: Sequence[Stage],
    jobs: int,
    title: str,
    patience: int = 0,
    watch: Callable[[ExpertPlan], None] = lambda _: None,
) -> tuple[dict[str, ExpertPlan], dict[str, SgpError]]:
    """Return plans and errors by SHA-256; after `patience` problems in a row without a plan the rest is skipped."""
    plans: dict[str, ExpertPlan] = {}
    errors: dict[str, SgpError] = {}
    if not problems:
        return plans, errors
    driver = fast_downward_driver()
    failures = 0  # in a row

    def make(problem: Problem) -> ExpertPlan:
        plan = plan_of(problem, stages, driver)
        watch(plan)
        return plan

    with ThreadPoolExecutor(max_workers=jobs) as pool, progress(title, len(problems)) as bar:
        futures = [pool.submit(make, problem) for problem in problems]
        try:
            for place, (problem, future) in enumerate(zip(problems, futures, strict=True), start=1):
                try:
                    found = plans[problem.sha256] = future.result()
                except SgpError as error:
                    errors[problem.sha256] = error
                else:
                    failures = failures + 1 if found.plan is None else 0
                bar.update()
                if patience and failures == patience:
                    pool.shutdown(wait=False, cancel_futures=True)
                    why = f"not searched: {patience} problems in a row without a plan"
                    for skipped in problems[place:]:
                        nothing = ExpertPlan(skipped.name, skipped.sha256, None, "fast-downward", why, 0.0)
                        plans[skipped.sha256] = nothing
                    break
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return plans, errors


def plan_of(problem: Problem, stages: Sequence[Stage] = STAGES, driver: Path | None = None) -> ExpertPlan:
    """Return the cached plan of a problem, or search for one; failures and proofs of unsolvability are cached too."""
    file = _cached(problem.sha256, stages)
    if file.is_file():
        return _read_cached(file)
    try:
        plan = find_plan(problem, stages, driver=driver)
    except UnsolvableProblem as error:
        write_json(file, {"unsolvable": str(error)})
        raise
    write_json(file, _to_record(plan))
    return plan


def is_cached(problem: str, stages: Sequence[Stage]) -> bool:
    """Whether the result of exactly these stages is cached for the problem of this SHA-256."""
    return _cached(problem, stages).is_file()


def cached_plans(problem: str) -> list[ExpertPlan]:
    """Cached results of the problem of this SHA-256 for any stages, without proofs of unsolvability."""
    plans = []
    for file in sorted((cache_folder() / "experts" / problem[:2]).glob(f"{problem}-*.json")):
        with suppress(UnsolvableProblem):
            plans.append(_read_cached(file))
    return plans


def _read_cached(file: Path) -> ExpertPlan:
    """Read a cached plan. Raises UnsolvableProblem for a cached proof that there is none."""
    record = read_json(file)
    try:
        if "unsolvable" in record:
            raise UnsolvableProblem(str(record["unsolvable"]))
        return _from_record(record)
    except (*_NO_RECORD, PlanError) as error:
        raise StoreError(f"{file}: no expert plan ({error!r}); remove the file") from error


def _cached(problem: str, stages: Sequence[Stage]) -> Path:
    settings = sha256(json.dumps([asdict(stage) for stage in stages]).encode()).hexdigest()[:16]
    return cache_folder() / "experts" / problem[:2] / f"{problem}-{settings}.json"


def _to_record(plan: ExpertPlan) -> dict[str, object]:
    record = {name: getattr(plan, name) for name in (*_TEXTS, "seconds")}
    return {**record, "plan": None if plan.plan is None else [str(action) for action in plan.plan]}


def _from_record(record: dict[str, Any]) -> ExpertPlan:
    plan, seconds = record["plan"], float(record["seconds"])
    if plan is not None and not isinstance(plan, list):
        raise TypeError(f"the plan is {plan!r:.60}, no list")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"the seconds are {seconds}")
    actions = None if plan is None else parse_plan("\n".join(plan))
    return ExpertPlan(**{name: str(record[name]) for name in _TEXTS}, plan=actions, seconds=seconds)
