"""Training a planner, solving a problem, validating a plan."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sgp.cli import options
from sgp.cli.commands import NOT_SOLVED, SOLVED, command
from sgp.cli.options import console, limit_of, overrides_of, words, workers_of

if TYPE_CHECKING:
    from sgp.datasets.runs import Run
    from sgp.planning.rollout import Rollout

logger = logging.getLogger(__name__)


@command("train", "sgp train --method state-centric --domain blocksworld --suite state-centric")
def train(
    domain: Annotated[
        str, typer.Option(help="Domain of the suite; several, separated by commas, if the method learns across them.")
    ],
    suite: options.Suite,
    method: options.Method = "state-centric",
    variant: options.Variant = "",
    seed: options.Seed = 13,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    settings: options.Settings = None,
    by: options.By = "none",
    again: options.Again = False,
    jobs: options.Jobs = 0,
    cluster: options.ClusterAddress = "",
) -> None:
    """Train a method on a domain; missing expert plans are made first. The last line is the run's folder."""
    others = {"seed": seed, "device": device, "overrides": overrides_of(settings), "again": again}
    typer.echo(trained_run(by, method, domain, suite, variant, jobs=workers_of(jobs, cluster), **others).folder)


def trained_run(by: str, method: str, domain: str, suite: str, variant: str, **others: Any) -> Any:
    """The run of a training, or the checkpoint that a validation selects, with a table of all checkpoints."""
    from sgp import api
    from sgp.errors import ConfigurationError, expected_one_of
    from sgp.experiments.joint import VALIDATIONS, joint_table, train_jointly

    if by == "none":
        return api.train(method, words(domain), suite, variant or None, **others)
    if by not in VALIDATIONS:
        raise ConfigurationError(f"validation is '{by}'; {expected_one_of((*VALIDATIONS, 'none'), by)}")
    domains = words(domain)
    if len(domains) != 1:
        raise ConfigurationError(f"--domain is '{domain}'; --by {by} selects in one domain, so name one")
    trained = train_jointly(method, domains[0], suite, variant or None, **others)
    title = f"{method} on {domain}, trained on {suite}: checkpoints and their validation"
    console().print(joint_table(trained, title).terminal())
    return trained.runs[by]


@command("solve", "sgp solve domain.pddl problem.pddl --plan plan.txt")
def solve(
    domain: options.DomainFile,
    problem: options.ProblemFile,
    run: Annotated[
        Path | None, typer.Option(help="Folder of a trained run; default: one trained on this domain.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the plan here.")] = None,
    rollout: Annotated[Path | None, typer.Option(help="Write every candidate and its cost here, as JSONL.")] = None,
    seconds: options.Seconds = None,
    processor: options.Processor = False,
    memory: options.Memory = None,
    decisions: options.Decisions = None,
    horizon: Annotated[
        int | None, typer.Option(help="Maximum actions; default, if there is no other limit: max(100, 10 x objects).")
    ] = None,
    decoding: options.Decoding = "default",
    html: options.HtmlFile = None,
    keep: options.Detail = "auto",
) -> None:
    """Solve one problem. Exit code 0: solved, the plan accepted by VAL; 1: not solved; 2: an error."""
    from sgp import solving
    from sgp.datasets.runs import open_run
    from sgp.errors import InputError
    from sgp.files import remove_old, write_text
    from sgp.planning.clock import LimitReached
    from sgp.planning.pddl import Problem, format_plan
    from sgp.planning.planner import outcome_of
    from sgp.planning.validation import confirm

    given = Problem.from_files(domain, problem)
    limit = limit_of(seconds, memory, horizon, decisions, processor)
    planner = solving.run_for(given) if run is None else open_run(run)
    if run is None:
        typer.echo(f"planning with {planner.folder}", err=True)
    outputs = [out for out in (plan, rollout, html) if out is not None]
    files = [os.path.realpath(out) for out in outputs if os.path.isfile(out) or not os.path.exists(out)]
    if len(set(files)) < len(files):
        raise InputError("--plan, --rollout and --html name the same file; give each a file of its own")
    for out in outputs:
        if any(os.path.exists(out) and os.path.samefile(out, read) for read in (domain, problem)):
            raise InputError(f"{out} is read and would be overwritten; give another file to write")
        remove_old(out)
    try:
        solution = solving.solve(given, planner, limit, decoding, cast(Any, keep))
    except (LimitReached, MemoryError) as error:
        typer.echo(f"not solved: {outcome_of(error).value} before the problem was read", err=True)
        raise typer.Exit(NOT_SOLVED) from error
    if solution.solved:  # written before anything that can fail, so that the plan is not lost
        text = format_plan(solution.plan, solution.task.problem)
        typer.echo(text, nl=False)
        if plan is not None:
            write_text(plan, text)
    verdict = confirm(solution)
    if rollout is not None or html is not None:
        _write_recording(solution, planner, decoding, rollout, html)
    if not verdict.valid:
        reason = f" ({solution.reason})" if solution.reason else ""
        typer.echo(f"not solved: {solution.outcome.value}{reason} after {len(solution.plan)} actions", err=True)
        raise typer.Exit(NOT_SOLVED)
    accepted = f"{verdict.judge} accepts the plan"
    typer.echo(f"solved in {len(solution.plan)} actions, {solution.seconds:.2f} s; {accepted}", err=True)


def _write_recording(solution: Rollout, run: Run, decoding: str, rollout: Path | None, html: Path | None) -> None:
    """Write a rollout with its explanations as JSONL and as a page."""
    from sgp.api import as_recorded
    from sgp.planning.recording import write_records
    from sgp.viewer.page import export_html

    recorded = as_recorded(solution, run, decoding)
    if rollout is not None:
        write_records(rollout, [recorded.head, *recorded.steps])
    if html is not None:
        export_html(recorded, html)


@command("validate", "sgp validate domain.pddl problem.pddl plan.txt")
def validate(
    domain: options.DomainFile, problem: options.ProblemFile, plan: Annotated[Path, typer.Argument(metavar="PLAN")]
) -> None:
    """Validate a plan by our simulator and VAL. Exit code 0: valid; 1: not valid; 2: an error."""
    from sgp.planning.pddl import Problem, read_plan, read_text
    from sgp.planning.validation import VAL, validate

    given = Problem.from_files(domain, problem)
    actions, lines = read_plan(read_text(plan), str(plan))
    verdict = validate(given, actions, source=str(plan), lines=lines)
    for remark in verdict.remarks:
        logger.warning("%s", remark)
    if not verdict.valid:
        typer.echo(f"not valid: {verdict.reason}")
    else:
        typer.echo(verdict.report.strip() if verdict.judge == VAL else f"Plan valid: {verdict.judge} accepts it")
    raise typer.Exit(SOLVED if verdict.valid else NOT_SOLVED)
