"""Makes what comes with the package anew: `python -m sgp.experiments.bundle planners` or `... rollouts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgp.datasets.suite import load_suite
from sgp.experiments.record import record
from sgp.experiments.shipping import ship
from sgp.experiments.tour import record_tour
from sgp.methods.run_lookup import shipped_folder
from sgp.viewer.library import recorded_folder
from sgp.workers import cores

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def planners(out: Annotated[Path | None, typer.Option()] = None, jobs: Annotated[int, typer.Option()] = 0) -> None:
    """Train a planner for every domain with bundled training problems and measure it on larger ones."""
    for path in ship(out or shipped_folder(), jobs or cores()):
        typer.echo(path)


@app.command()
def rollouts(
    out: Annotated[Path | None, typer.Option()] = None,
    suite: Annotated[str, typer.Option()] = "state-centric",
    jobs: Annotated[int, typer.Option()] = 0,
) -> None:
    """Record the rollouts and the tour that the dashboard shows, training what is missing."""
    folder = out or recorded_folder()
    for path in record(folder, suite, jobs=jobs or cores()):
        typer.echo(path)
    typer.echo(record_tour(folder, suite, next(iter(load_suite(suite).domains)), jobs or cores()))


if __name__ == "__main__":
    app()
