"""Suites, problems and expert plans; training a planner, solving a problem, validating a plan."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sgp.cli import commands
from sgp.cli.commands import HELP, command, console, limit_of, overrides_of, words, workers_of
from sgp.errors import ConfigurationError, InputError, expected_one_of
from sgp.files import remove_old, write_text
from sgp.wording import counted

if TYPE_CHECKING:
    from sgp.datasets.runs import Run
    from sgp.planning.rollout import Rollout

logger = logging.getLogger(__name__)


@command("train", "sgp train --method state-centric --domain blocksworld --suite state-centric")
def train(
    domain: Annotated[str, typer.Option(help=HELP["train"]["domain"])],
    suite: commands.Suite,
    method: commands.Method = "state-centric",
    variant: commands.Variant = "",
    seed: commands.Seed = 13,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    settings: commands.Settings = None,
    by: commands.By = "none",
    again: commands.Again = False,
    jobs: commands.Jobs = 0,
    cluster: commands.ClusterAddress = "",
) -> None:
    """Train a method on a domain; missing expert plans are made first. The last line is the run's folder."""
    others = {"seed": seed, "device": device, "overrides": overrides_of(settings), "again": again}
    typer.echo(trained_run(by, method, domain, suite, variant, jobs=workers_of(jobs, cluster), **others).folder)


def trained_run(by: str, method: str, domain: str, suite: str, variant: str, **others: Any) -> Any:
    """The run of a training, or the checkpoint that a validation selects, with a table of all checkpoints."""
    from sgp import api
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
    domain: commands.DomainFile,
    problem: commands.ProblemFile,
    run: Annotated[Path | None, typer.Option(help=HELP["solve"]["run"])] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the plan here.")] = None,
    rollout: Annotated[Path | None, typer.Option(help="Write every candidate and its cost here, as JSONL.")] = None,
    seconds: commands.Seconds = None,
    processor: commands.Processor = False,
    memory: commands.Memory = None,
    decisions: commands.Decisions = None,
    horizon: Annotated[int | None, typer.Option(help="Maximum actions.")] = None,
    decoding: commands.Decoding = "default",
    html: commands.HtmlFile = None,
    keep: commands.Detail = "auto",
    redundant: Annotated[bool, typer.Option("--keep-redundant", help=HELP["solve"]["redundant"])] = False,
) -> None:
    """Solve one problem; without a limit, planning ends after 60 s.

    Exit code 0: solved, the plan accepted by VAL; 1: not solved; 2: an error.
    """
    from sgp import solving
    from sgp.datasets.runs import open_run
    from sgp.planning.clock import LimitReached
    from sgp.planning.pddl import Problem, format_plan
    from sgp.planning.planner import outcome_of
    from sgp.planning.validation import confirm

    given = Problem.from_files(domain, problem)
    limit = solving.with_default(limit_of(seconds, memory, horizon, decisions, processor))
    planner = solving.run_for(given) if run is None else open_run(run)
    if run is None:
        within = "" if limit.seconds is None else f", at most {limit.seconds:g} s"
        typer.echo(f"planning with {planner.folder}{within}", err=True)
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
        raise typer.Exit(commands.NOT_SOLVED) from error
    if solution.solved:  # written before anything that can fail, so that the plan is not lost
        found = solution.plan if redundant else solution.reduced_plan
        text = format_plan(found, solution.task.problem)
        typer.echo(text, nl=False)
        if plan is not None:
            write_text(plan, text)
    verdict = confirm(solution, reduced=not redundant)
    if rollout is not None or html is not None:
        _write_recording(solution, planner, decoding, rollout, html)
    if not verdict.valid:
        reason = f" ({solution.reason})" if solution.reason else ""
        length = counted(len(solution.plan), "action")
        typer.echo(f"not solved: {solution.outcome.value}{reason} after {length}", err=True)
        raise typer.Exit(commands.NOT_SOLVED)
    accepted = f"{verdict.judge} accepts the plan"
    fewer = len(solution.plan) - len(found)
    without = f" without {fewer} redundant {'one' if fewer == 1 else 'ones'}" if fewer else ""
    typer.echo(f"solved in {counted(len(found), 'action')}{without}, {solution.seconds:.2f} s; {accepted}", err=True)


def _write_recording(solution: Rollout, run: Run, decoding: str, rollout: Path | None, html: Path | None) -> None:
    """Write a rollout with its explanations as JSONL and as a page."""
    from sgp.api import as_recorded
    from sgp.datasets.recording import write_records
    from sgp.viewer.export import export_html

    recorded = as_recorded(solution, run, decoding)
    if rollout is not None:
        write_records(rollout, [recorded.head, *recorded.steps])
    if html is not None:
        export_html(recorded, html)


@command("validate", "sgp validate domain.pddl problem.pddl plan.txt")
def validate(
    domain: commands.DomainFile, problem: commands.ProblemFile, plan: Annotated[Path, typer.Argument(metavar="PLAN")]
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
    raise typer.Exit(commands.SOLVED if verdict.valid else commands.NOT_SOLVED)


@command("list", "sgp list runs")
def list_(
    what: Annotated[str, typer.Argument(help="suites, domains, methods, papers or runs; default: all.")] = "",
) -> None:
    """List suites, domains, methods, papers and trained runs."""
    from sgp.experiments.listing import LISTINGS

    if what and what not in LISTINGS:
        raise InputError(f"unknown listing '{what}'; {expected_one_of(LISTINGS, what)}")
    for name in [what] if what else LISTINGS:
        table = LISTINGS[name]()
        console(table).print(table)


@command("generate", "sgp generate --domain blocksworld --size 20 --count 5 --out problems")
def generate(
    domain: commands.Domain = "",
    size: Annotated[int | None, typer.Option(min=1, help="Number of objects.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of problems.")] = 1,
    model: Annotated[str, typer.Option(help="Model of the domain, if it has several; see 'sgp list domains'.")] = "",
    suite: Annotated[str, typer.Option(help="Instead: generate this bundled suite again.")] = "",
    seed: Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same files.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("problems"),
) -> None:
    """Generate problems of one size, or a whole bundled suite."""
    from sgp.datasets.generation import SUITE_SEED, generate_problems, generate_suite
    from sgp.domains import get_domain

    if suite:
        generate_suite(suite, out, SUITE_SEED if seed is None else seed)
        typer.echo(out)
        return
    if not domain or not size:
        raise ConfigurationError("nothing to generate; give --domain and --size, or --suite")
    for path in generate_problems(get_domain(domain), size, count, seed or 0, out, model):
        typer.echo(path)


@command("import", "sgp import ipc2023 --suite ipc")
def import_(
    source: Annotated[Path, typer.Argument(help="Folder of PDDL files, or an archive that 'sgp export' wrote.")],
    suite: Annotated[str, typer.Option(help="Name of the new suite of PDDL files.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an imported suite or run of this name.")] = False,
) -> None:
    """Import a folder of PDDL problems, and expert plans beside them, as a suite; or import an exported run."""
    from sgp import api
    from sgp.datasets.importing import import_folder

    if not source.exists():
        raise InputError(f"{source} does not exist; give a folder of PDDL files, or an archive that 'sgp export' wrote")
    if suite and not source.is_dir():
        raise InputError(f"{source} is no folder, and a suite is imported from one; unpack it, or give its folder")
    if not source.is_dir():
        typer.echo(api.import_run(source, replace).folder)
        return
    if not suite:
        raise ConfigurationError(f"{source} is a folder, and its suite has no name; give one with --suite")
    imported = import_folder(source, suite, overwrite=replace)
    for name, domain in imported.domains.items():
        splits = ", ".join(f"{split} {len(entries)}" for split, entries in domain.splits.items())
        typer.echo(
            f"{suite}/{name}: {splits}" + (f" (recognised as domain {domain.built_in})" if domain.built_in else "")
        )


@command("export", "sgp export RUN --out gripper.zip")
def export(
    run: Annotated[Path, typer.Argument(help="Folder of a trained run.")],
    out: Annotated[Path, typer.Option(help="Archive to write.")],
) -> None:
    """Write a run with its encoder, model and card as one archive, which 'sgp import' reads."""
    from sgp import api

    api.export(run, out)
    typer.echo(out)
