"""Suites, problems, expert plans and archives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgp.cli import options
from sgp.cli.commands import command
from sgp.cli.options import console, processes_of, words


@command("list", "sgp list runs")
def list_(
    what: Annotated[str, typer.Argument(help="suites, domains, methods, papers or runs; default: all.")] = "",
) -> None:
    """List suites, domains, methods, papers and trained runs."""
    from sgp.errors import InputError, expected_one_of
    from sgp.experiments.listing import LISTINGS

    if what and what not in LISTINGS:
        raise InputError(f"unknown listing '{what}'; {expected_one_of(LISTINGS, what)}")
    for name in [what] if what else LISTINGS:
        table = LISTINGS[name]()
        console(table).print(table)


@command("generate", "sgp generate --domain blocksworld --size 20 --count 5 --out problems")
def generate(
    domain: options.Domain = "",
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
    from sgp.errors import ConfigurationError

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
    from sgp.errors import ConfigurationError, InputError

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
        typer.echo(f"{suite}/{name}: {splits}" + (f" (served by {domain.built_in})" if domain.built_in else ""))


@command("export", "sgp export RUN --out gripper.zip")
def export(
    run: Annotated[Path, typer.Argument(help="Folder of a trained run.")],
    out: Annotated[Path, typer.Option(help="Archive to write.")],
) -> None:
    """Write a run with its encoder, model and card as one archive, which 'sgp import' reads."""
    from sgp import api

    api.export(run, out)
    typer.echo(out)


@command("experts", "sgp experts --suite state-centric --domain logistics --splits extrapolation")
def experts(
    suite: options.Suite,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    splits: Annotated[str, typer.Option(help="Only these splits, separated by commas.")] = "",
    teacher: Annotated[
        str,
        typer.Option(
            help="Expert planners: state-centric (A* with LM-cut, then greedy search with FF), dynamic-validation "
            "(merge and shrink), lama (anytime, not optimal), or track (A* for 2 s, then LAMA's first plan)."
        ),
    ] = "state-centric",
    seconds: Annotated[
        float | None, typer.Option(min=1, help="Time limit of each search, instead of the teacher's.")
    ] = None,
    give_up: Annotated[
        int, typer.Option(min=0, help="Stop with a split after so many problems in a row without a plan; 0: never.")
    ] = 0,
    retry: Annotated[bool, typer.Option("--retry", help="Try problems again that had no plan before.")] = False,
    jobs: options.Jobs = 0,
) -> None:
    """Make missing expert plans with Fast Downward."""
    from dataclasses import replace

    from sgp.datasets.experts import expert_plans
    from sgp.datasets.suite import load_suite
    from sgp.errors import ConfigurationError, expected_one_of
    from sgp.planning.experts import TEACHERS

    if teacher not in TEACHERS:
        raise ConfigurationError(f"unknown teacher '{teacher}'; {expected_one_of(TEACHERS, teacher)}")
    stages = [stage if seconds is None else replace(stage, seconds=seconds) for stage in TEACHERS[teacher]]
    source = load_suite(suite)
    for name in [source.domain(domain).name] if domain else source.domains:
        for split in words(splits) or source.domain(name).splits:
            plans = expert_plans(source, name, split, stages, processes_of(jobs), retry, patience=give_up)
            solved = [plan for plan in plans.values() if plan.plan is not None]
            typer.echo(f"{suite}/{name}/{source.split(name, split)}: {len(solved)} of {len(plans)} with a plan")
