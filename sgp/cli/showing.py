"""Tables and reports, the demo, maps, the dashboard and a static site."""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import sgp
from sgp.cli import commands
from sgp.cli.commands import HELP, command, console, processes_of, words, write_scores_to
from sgp.datasets.store import home
from sgp.errors import ConfigurationError, InputError, MissingLibrary
from sgp.files import write_text
from sgp.installed import bundled, lacking

logger = logging.getLogger(__name__)


@command("table", "sgp table state-centric 1 --splits extrapolation")
def table(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PAPER NUMBER]", help=HELP["table"]["names"])] = None,
    scores: Annotated[list[Path] | None, typer.Option(help=HELP["table"]["scores"])] = None,
    splits: Annotated[str, typer.Option(help="Only these splits of a coverage table, separated by commas.")] = "",
    suite: Annotated[str, typer.Option("--suite", help=HELP["table"]["suite"])] = "",
    notes: Annotated[bool, typer.Option("--notes", help=HELP["table"]["notes"])] = False,
    json: commands.JsonFile = None,
    csv: commands.CsvFile = None,
    svg: Annotated[Path | None, typer.Option("--svg", help=HELP["table"]["svg"])] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    report: Annotated[Path | None, typer.Option("--report", help=HELP["table"]["report"])] = None,
    attempts: Annotated[list[Path] | None, typer.Option(help="With --report: attempts that 'sgp grid' wrote.")] = None,
) -> None:
    """Show a table of a paper, our measurements beside the published numbers; or write a report of all tables."""
    import pandas as pd

    from sgp.evaluation.scores import read_scores
    from sgp.reports.papers import table_inputs

    given = pd.concat(map(read_scores, scores), ignore_index=True) if scores else None
    if report is not None:
        typer.echo(_write_report(report, given, attempts, suite or "state-centric"))
        return
    inputs = table_inputs(names or (), given, suite, words(splits))
    if svg is not None:
        write_text(svg, inputs.drawing())
    write_scores_to(inputs.scores, json, csv)
    for part in [inputs.table(), *([inputs.paper.notes()] if notes else [])]:
        if markdown:
            typer.echo(part.markdown(), nl=False)
        else:
            console().print(part.terminal())


def _write_report(folder: Path, given: Any, attempts: list[Path] | None, suite: str) -> Path:
    """Write a report on the scores of a suite and on all curves; return its page."""
    import pandas as pd

    from sgp.evaluation.attempts import attempts_frame, load_attempts, read_attempts
    from sgp.evaluation.scores import TRANSITION_METRICS, load_scores, select
    from sgp.reports.papers import beside_ours, of_suite
    from sgp.reports.report import write_report
    from sgp.reports.scaling_tables import SPLIT

    if given is None and not attempts:
        rows = load_attempts()
    else:
        rows = pd.concat([attempts_frame([]), *map(read_attempts, attempts or ())], ignore_index=True)
    ours = pd.concat([load_scores(), load_scores("measured/scaling")], ignore_index=True) if given is None else given
    rows, curves = select(rows, suite=suite), ours["split"] == SPLIT
    planners = of_suite(ours[~curves & ~ours["metric"].isin(TRANSITION_METRICS)], suite)
    if planners.empty and rows.empty and not curves.any():
        raise InputError("there is nothing to report: no scores of planners, no attempts, no curves; see 'sgp table'")
    return write_report(folder, pd.concat([planners, ours[curves]]), rows, beside_ours())


@command("demo", "sgp demo --no-serve")
def demo(
    jobs: commands.Jobs = 0,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Do not serve the dashboard at the end.")] = False,
) -> None:
    """Train on the bundled small problems of four domains, plan on the larger ones, compare with the paper.

    At its end the dashboard is served if standard output is a terminal.
    """
    from sgp.experiments.record import run_demo
    from sgp.installed import has_dashboard

    run_demo(processes_of(jobs), console())
    if not has_dashboard():
        typer.echo(
            "To watch the plans: 'pip install \"sgp-planning[dashboard]\"', then 'sgp demo' again, which reuses these "
            "results."
        )
        return
    port = free_port()
    if no_serve or not sys.stdout.isatty():
        typer.echo(f"Watch the plans: 'sgp dashboard --port {port}' serves them at http://localhost:{port}")
        return
    typer.echo(f"Watch the plans at http://localhost:{port}; Ctrl-C stops the dashboard.")
    sys.stdout.flush()
    serve(port, browser=True)


@command("map", "sgp map RUN --rollouts rollout.jsonl")
def map_(
    runs: commands.Runs, rollouts: Annotated[list[Path] | None, typer.Option(help=HELP["map"]["rollouts"])] = None
) -> None:
    """Map the training states of runs and their recorded rollouts by UMAP and PCA, for the player."""
    from sgp import api
    from sgp.datasets.runs import open_run
    from sgp.viewer.library import recorded_of

    for run in map(open_run, runs):
        for path in api.map_run(run, [*recorded_of(run.key), *(rollouts or ())]):
            typer.echo(path)


@command("site", "sgp site --out site --most 20")
def site(
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    domain: Annotated[str, typer.Option(help="Only rollouts of this domain.")] = "",
    most: Annotated[int | None, typer.Option(min=1, help=HELP["site"]["most"])] = None,
    rollouts: Annotated[Path | None, typer.Option(help=HELP["site"]["rollouts"])] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=HELP["site"]["overwrite"])] = False,
) -> None:
    """Write player, gallery, coverage and tour as HTML files, which any host serves and a browser opens."""
    from sgp.reports.site import choose_rollouts, write_site
    from sgp.viewer.library import recorded_folder, recorded_rollouts

    found = recorded_rollouts(rollouts or recorded_folder())
    for problem in found.damaged:
        logger.warning("%s", problem)
    chosen = choose_rollouts(found.rollouts, domain, most)
    typer.echo(write_site(out, chosen, overwrite))
    megabytes = sum(file.stat().st_size for file in out.rglob("*.html")) / 1e6
    typer.echo(f"{len(chosen)} rollout{'s' * (len(chosen) > 1)}, {megabytes:.1f} MB", err=True)


def server_command(port: int, browser: bool) -> list[str]:
    """The server's command; further settings are in `dashboard/.streamlit/config.toml`."""
    if importlib.util.find_spec("streamlit") is None:
        raise MissingLibrary(lacking("the dashboard", "streamlit"))
    options = {"server.port": port, "server.headless": str(not browser).lower()}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(bundled("dashboard") / "server.py"), *flags]


def free_port(first: int = 8501) -> int:
    """The first free port of a hundred from `first` on; `first` if all are taken."""
    for port in range(first, first + 100):
        with socket.socket() as trial:
            if trial.connect_ex(("localhost", port)) != 0:
                return port
    return first


def serve(port: int, browser: bool) -> NoReturn:
    """Replace this process by the server."""
    arguments, store, free = server_command(port, browser), home(), free_port(port)
    if free != port:
        raise ConfigurationError(f"port {port} is taken; choose another one with --port, such as {free}")
    paths = [str(Path(sgp.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        Path.home()
    except RuntimeError:  # Streamlit looks there for its settings
        environment["HOME"] = str(store)
    os.execve(arguments[0], arguments, environment)


@command("dashboard", "sgp dashboard --port 8501")
def dashboard(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve at.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
) -> None:
    """Serve the dashboard on this machine: step through recorded plans in the browser. Ctrl-C stops it."""
    serve(port, browser=not no_browser)
