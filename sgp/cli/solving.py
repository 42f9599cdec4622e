"""Solving a problem, and judging a plan."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from sgp.cli.options import Decisions, DomainFile, KeepOption, Memory, ProblemFile, Processor, Seconds, limit_of
from sgp.cli.verbs import NOT_SOLVED, SOLVED, verb

logger = logging.getLogger(__name__)


@verb("solve", "sgp solve domain.pddl problem.pddl --plan plan.txt")
def solve(
    domain: DomainFile,
    problem: ProblemFile,
    run: Annotated[
        Path | None, typer.Option(help="Folder of a trained run; the one that fits the domain where left out.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the plan here.")] = None,
    rollout: Annotated[Path | None, typer.Option(help="Write every candidate and its cost here, as JSONL.")] = None,
    seconds: Seconds = None,
    processor: Processor = False,
    memory: Memory = None,
    decisions: Decisions = None,
    horizon: Annotated[int | None, typer.Option(help="Most actions; max(100, 10 x objects) without any limit.")] = None,
    decoding: Annotated[str, typer.Option(help="How the run plans, with settings as in default+beam=1.")] = "default",
    html: Annotated[Path | None, typer.Option(help="Write a page here that plays the rollout in a browser.")] = None,
    keep: KeepOption = "auto",
) -> None:
    """Solve one problem. Exit code 0: solved, the plan accepted by VAL; 1: not solved; 2: an error."""
    from sgp import api
    from sgp.errors import InputError
    from sgp.files import remove_old, write_text
    from sgp.planning.clock import LimitReached
    from sgp.planning.pddl import Problem, format_plan
    from sgp.planning.planner import ENDINGS
    from sgp.planning.recording import write_records
    from sgp.planning.validation import confirm
    from sgp.viewer.page import export_html

    asked, limit = Problem.from_files(domain, problem), limit_of(seconds, memory, horizon, decisions, processor)
    if run is None:
        run = api.fitting(asked).folder
        typer.echo(f"planning with {run}", err=True)
    for out in filter(None, (plan, rollout, html)):
        if any(os.path.exists(out) and os.path.samefile(out, given) for given in (domain, problem)):
            raise InputError(f"{out} is read and would be overwritten; give another file to write")
        remove_old(out)
    try:
        found = api.solve(asked, run, limit, decoding, cast(Any, keep))
    except (LimitReached, MemoryError) as error:
        typer.echo(f"not solved: {ENDINGS[type(error)].value} before the problem was read", err=True)
        raise typer.Exit(NOT_SOLVED) from error
    if found.solved:  # written before it is judged and before anything that can fail: what was found is not lost
        text = format_plan(found.plan, found.task.problem)
        typer.echo(text, nl=False)
        if plan is not None:
            write_text(plan, text)
    verdict = confirm(found)
    if rollout is not None or html is not None:
        recorded = api.as_recorded(found, run, decoding)
    if rollout is not None:
        write_records(rollout, [recorded.head, *recorded.steps])
    if html is not None:
        export_html(recorded, html)
    if not verdict.valid:
        reason = f" ({found.reason})" if found.reason else ""
        typer.echo(f"not solved: {found.outcome.value}{reason} after {len(found.plan)} actions", err=True)
        raise typer.Exit(NOT_SOLVED)
    accepted = f"{verdict.judge} accepts the plan"
    typer.echo(f"solved in {len(found.plan)} actions, {found.seconds:.2f} s; {accepted}", err=True)


@verb("validate", "sgp validate domain.pddl problem.pddl plan.txt")
def validate(domain: DomainFile, problem: ProblemFile, plan: Annotated[Path, typer.Argument(metavar="PLAN")]) -> None:
    """Have our simulator and VAL judge a plan. Exit code 0: valid; 1: not valid; 2: an error."""
    from sgp.planning.pddl import Problem, read_plan, read_text
    from sgp.planning.validation import VAL, validate

    asked = Problem.from_files(domain, problem)
    actions, lines = read_plan(read_text(plan), str(plan))
    verdict = validate(asked, actions, source=str(plan), lines=lines)
    for remark in verdict.remarks:
        logger.warning("%s", remark)
    if not verdict.valid:
        typer.echo(f"not valid: {verdict.reason}")
    else:
        typer.echo(verdict.report.strip() if verdict.judge == VAL else f"Plan valid: {verdict.judge} accepts it")
    raise typer.Exit(SOLVED if verdict.valid else NOT_SOLVED)
