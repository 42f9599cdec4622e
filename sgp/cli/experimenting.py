"""Many trainings and measurements in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgp.cli.options import (
    ClusterAddress,
    CsvFile,
    Decodings,
    Jobs,
    JsonFile,
    Splits,
    Suite,
    console,
    crew,
    overrides_of,
    processes_of,
    words,
    write_scores_to,
)
from sgp.cli.verbs import verb


@verb("grid", "sgp grid --domains gripper --variants state-centric:wl-xgboost-delta,zero-change --out results")
def grid(
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    variants: Annotated[
        str,
        typer.Option(
            help="Methods, or METHOD:VARIANT, separated by commas; where left out every variant of contrastive-jumps, "
            "state-centric, contrastive-delta and the trivial ones."
        ),
    ] = "",
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas; deterministic variants take the first.")] = "",
    splits: Splits = "",
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also the classical planners, whose results are kept.")
    ] = False,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Also how each run ranks the expert's successors.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting of every run, such as boosting.rounds=200.")
    ] = None,
    decodings: Decodings = "default",
    trained_on: Annotated[
        str, typer.Option(help="Suite whose training problems are used, where it is another; domains by its names.")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Try problems again where results are kept.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the scores and attempts.")] = Path("results"),
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train and evaluate every variant on every domain with every seed; goes on where it was interrupted."""
    from sgp.experiments import grid

    cells = grid.grid_cells(
        suite,
        words(domains),
        grid.parse_variants(variants) if variants else None,
        grid.parse_seeds(seeds) if seeds else grid.SEEDS,
        words(splits),
        overrides_of(settings),
        trained_on,
        words(decodings),
    )
    results = grid.run_grid(cells, crew(jobs, cluster), again, diagnostics)
    if baselines:
        results += grid.baseline_results(
            suite, sorted({cell.domain for cell in cells}), words(splits), processes_of(jobs)
        )
    for path in results.write(out):
        typer.echo(path)


@verb("ablate", "sgp ablate --suite state-centric --splits extrapolation")
def ablate(
    method: Annotated[str, typer.Option(help="Method that describes its ablations.")] = "contrastive-jumps",
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    splits: Splits = "",
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Show what each ingredient of a method contributes; goes on where it was interrupted."""
    from sgp.experiments import grid
    from sgp.reports.tables import coverage_sheet

    cells = grid.ablation_cells(suite, method, words(domains), seed, words(splits))
    results = grid.run_grid(cells, crew(jobs, cluster))
    write_scores_to(results.scores, json, csv)
    console().print(coverage_sheet(results.scores, (), f"ablation of {method} on {suite}").terminal())


@verb("jackknife", "sgp jackknife --domains logistics --splits extrapolation")
def jackknife(
    method: Annotated[str, typer.Option(help="Method whose default variant is trained.")] = "contrastive-jumps",
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    splits: Splits = "extrapolation",
    most: Annotated[int, typer.Option(min=1, help="At most so many training problems of a domain.")] = 16,
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train with each training problem left out in turn; does the result hang on one of them?"""
    from sgp.experiments import grid
    from sgp.reports.tables import spread_sheet

    results = grid.run_grid(
        grid.jackknife_cells(suite, method, words(domains), seed, words(splits), most), crew(jobs, cluster)
    )
    write_scores_to(results.scores, json, csv)
    console().print(spread_sheet(results.scores, f"{method} on {suite}, one training problem left out").terminal())


@verb("learning-curve", "sgp learning-curve --domains gripper --variants contrastive-jumps:aiw --html curve.html")
def learning_curve(
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    variants: Annotated[
        str, typer.Option(help="Methods, or METHOD:VARIANT, separated by commas; where left out those of the grid.")
    ] = "",
    draws: Annotated[int, typer.Option(min=1, help="Draws of each number of training problems.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the training.")] = 13,
    splits: Splits = "extrapolation",
    json: JsonFile = None,
    csv: CsvFile = None,
    html: Annotated[Path | None, typer.Option(help="Write the curves here as a plot in one HTML page.")] = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train on 1, 2, 4, half and all training problems, several draws each; goes on where it was interrupted."""
    from sgp.experiments import grid
    from sgp.experiments.learning_curve import learning_cells
    from sgp.files import write_text
    from sgp.reports.learning_table import learning_sheet

    methods = grid.parse_variants(variants) if variants else None
    cells = learning_cells(suite, words(domains), methods, draws, seed, words(splits))
    scores = grid.run_grid(cells, crew(jobs, cluster)).scores
    write_scores_to(scores, json, csv)
    if html is not None:
        from sgp.reports.learning_plots import learning_figure

        write_text(html, learning_figure(scores).to_html(include_plotlyjs=True))
    console().print(learning_sheet(scores, f"coverage of {suite} by the number of training problems").terminal())


@verb("select", "sgp select --validation selection --csv selection.csv")
def select(
    method: Annotated[str, typer.Option(help="Method that names settings to choose.")] = "contrastive-jumps",
    suite: Suite = "state-centric",
    validation: Annotated[str, typer.Option(help="Suite of larger problems to choose by.")] = "selection",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    settings: Annotated[str, typer.Option(help="Choose only these settings, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Choose a method's settings by validation on problems larger than training; goes on where it was interrupted."""
    from sgp.experiments import selection
    from sgp.methods.configuration import apart
    from sgp.policies.decoding import DEFAULT

    trials, chosen = selection.select(
        method, suite, validation, words(domains), words(settings), seed, crew(jobs, cluster)
    )
    if csv is not None:
        selection.write_trials(csv, trials)
    title = f"{method}, trained on {suite}, chosen on {validation}"
    console().print(selection.trials_sheet(trials, title).terminal())
    training, decoding = apart(chosen)
    if training:
        typer.echo(" ".join(f"--set {setting}={value}" for setting, value in training.items()))
    if decoding != DEFAULT:
        typer.echo(f"--decoding {decoding}")
