"""What people look at: the demo, recorded rollouts, maps, the dashboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sgp.cli.options import Jobs, Suite, console, processes_of
from sgp.cli.verbs import verb


@verb("demo", "sgp demo --no-serve")
def demo(
    jobs: Jobs = 0,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Never serve a dashboard at the end.")] = False,
) -> None:
    """Train on the bundled small problems of four domains, plan on the larger ones, compare with the paper.

    At its end the dashboard is served where standard output is a terminal.
    """
    from sgp.experiments.demo import run_demo
    from sgp.installed import has_dashboard
    from sgp.viewer.dashboard import free_port, serve

    run_demo(processes_of(jobs), console())
    if not has_dashboard():
        typer.echo(
            "To watch the plans: 'pip install \"sgp[dashboard]\"', then 'sgp demo' again; what is done stays done."
        )
        return
    port = free_port()
    if no_serve or not sys.stdout.isatty():
        typer.echo(f"Watch the plans: 'sgp dashboard --port {port}' serves them at http://localhost:{port}")
        return
    typer.echo(f"Watch the plans at http://localhost:{port}; Ctrl-C ends the dashboard.")
    sys.stdout.flush()
    serve(port, browser=True)


@verb("record", "sgp record")
def record(
    out: Annotated[Path | None, typer.Option(help="Folder; data/recorded of the package where left out.")] = None,
    suite: Suite = "state-centric",
    jobs: Jobs = 0,
) -> None:
    """Make the recorded rollouts that the dashboard opens with, training what is missing."""
    from sgp.datasets.suite import load_suite
    from sgp.experiments.record import record
    from sgp.experiments.tour import record_tour
    from sgp.viewer.library import recorded_folder

    for path in record(out or recorded_folder(), suite, jobs=processes_of(jobs)):
        typer.echo(path)
    typer.echo(record_tour(out or recorded_folder(), suite, next(iter(load_suite(suite).domains)), processes_of(jobs)))


@verb("ship", "sgp ship --jobs 2")
def ship(
    out: Annotated[Path | None, typer.Option(help="Folder; data/planners of the package where left out.")] = None,
    jobs: Jobs = 0,
) -> None:
    """Make the trained planners that come with the package, each measured on larger problems made for that."""
    from sgp.experiments.shipping import ship
    from sgp.methods.fitting import shipped_folder

    for path in ship(out or shipped_folder(), processes_of(jobs)):
        typer.echo(path)


@verb("map", "sgp map RUN --rollouts rollout.jsonl")
def map_(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    rollouts: Annotated[
        list[Path] | None, typer.Option(help="Also the rollouts of the run in this file; give it once a file.")
    ] = None,
) -> None:
    """Map what runs were trained on and their recorded rollouts by UMAP and PCA; the player shows the maps."""
    from sgp import api
    from sgp.datasets.runs import open_run
    from sgp.viewer.library import recorded_of

    for run in runs:
        for path in api.map_run(run, [*recorded_of(open_run(run).key), *(rollouts or ())]):
            typer.echo(path)


@verb("dashboard", "sgp dashboard --port 8501")
def dashboard(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve at.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser; print the address.")] = False,
) -> None:
    """Serve the dashboard on this machine: step through recorded plans in the browser. Ctrl-C ends it."""
    from sgp.viewer.dashboard import serve

    serve(port, browser=not no_browser)
