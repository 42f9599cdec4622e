"""Measuring runs: evaluation, grids of trainings, scaling, retrieval of next states."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from sgp.cli import commands
from sgp.cli.commands import HELP, command, console, overrides_of, processes_of, words, workers_of, write_scores_to
from sgp.cli.planning import trained_run
from sgp.errors import ConfigurationError, expected_one_of
from sgp.files import write_text


@command(
    "evaluate", "sgp evaluate RUN1 RUN2 --suite state-centric --splits validation,extrapolation --json scores.json"
)
def evaluate(
    runs: commands.Runs,
    suite: commands.Suite,
    splits: commands.Splits = "",
    json: commands.JsonFile = None,
    csv: commands.CsvFile = None,
    seconds: commands.Seconds = None,
    processor: commands.Processor = False,
    memory: commands.Memory = None,
    decisions: commands.Decisions = None,
    decodings: commands.Decodings = "default",
    jobs: commands.Jobs = 0,
    cluster: commands.ClusterAddress = "",
    record: Annotated[bool, typer.Option("--record", help=HELP["evaluate"]["record"])] = False,
    keep: commands.Detail = "auto",
    diagnose: Annotated[bool, typer.Option("--diagnose", help=HELP["evaluate"]["diagnose"])] = False,
    renamings: Annotated[int, typer.Option(min=0, help=HELP["evaluate"]["renamings"])] = 0,
) -> None:
    """Measure the coverage of runs, every plan validated by VAL, and show it beside the published numbers."""
    import pandas as pd

    from sgp import api
    from sgp.reports.papers import beside_ours
    from sgp.reports.tables import coverage_table, decodings_table, details_table, diagnostics_table
    from sgp.viewer.library import own_rollouts_folder

    workers = workers_of(jobs, cluster)
    if diagnose:
        diagnostics = api.diagnose(runs, suite, words(splits), workers, words(decodings), renamings)
        write_scores_to(diagnostics, json, csv)
        console().print(diagnostics_table(diagnostics).terminal())
        return
    rollouts = own_rollouts_folder() if record else None
    limit = commands.limit_of(seconds, memory, decisions=decisions, processor=processor)
    evaluation = api.evaluate(runs, suite, words(splits), workers, limit, rollouts, words(decodings), cast(Any, keep))
    scores = evaluation.scores
    write_scores_to(scores, json, csv)
    console().print(details_table(scores, f"attempts on {suite}").terminal())
    both = pd.concat([scores, beside_ours()])
    console().print(coverage_table(both, f"coverage on {suite}").terminal())
    if len(words(decodings)) > 1:
        console().print(decodings_table(scores, f"decodings on {suite}").terminal())


PRESETS = ("variants", "ablation", "jackknife", "learning-curve", "select")


@command("grid", "sgp grid --domains gripper --variants state-centric:wl-xgboost-delta,zero-change --out results")
def grid(
    preset: Annotated[str, typer.Option(help=HELP["grid"]["preset"])] = "variants",
    suite: commands.Suite = "state-centric",
    domains: commands.Domains = "",
    variants: Annotated[str, typer.Option(help=HELP["grid"]["variants"])] = "",
    seeds: Annotated[str, typer.Option(help=HELP["grid"]["seeds"])] = "",
    splits: Annotated[str, typer.Option(help=HELP["grid"]["splits"])] = "",
    baselines: Annotated[bool, typer.Option("--baselines", help=HELP["grid"]["baselines"])] = False,
    diagnostics: Annotated[bool, typer.Option("--diagnostics", help=HELP["grid"]["diagnostics"])] = False,
    settings: commands.Settings = None,
    decodings: commands.Decodings = "default",
    trained_on: Annotated[str, typer.Option(help=HELP["grid"]["trained_on"])] = "",
    most: Annotated[int, typer.Option(min=1, help="jackknife: maximum training problems to leave out.")] = 16,
    draws: Annotated[int, typer.Option(min=1, help="learning-curve: random subsets per training-set size.")] = 5,
    validation: Annotated[str, typer.Option(help="select: suite of larger problems to choose by.")] = "selection",
    choose: Annotated[str, typer.Option(help="select: only these settings, separated by commas.")] = "",
    again: commands.Again = False,
    out: Annotated[Path | None, typer.Option(help=HELP["grid"]["out"])] = None,
    json: commands.JsonFile = None,
    csv: commands.CsvFile = None,
    html: commands.HtmlFile = None,
    jobs: commands.Jobs = 0,
    cluster: commands.ClusterAddress = "",
) -> None:
    """Train and evaluate many variants, or one method under many conditions. Run again to resume."""
    from sgp.experiments import grid
    from sgp.reports import tables

    if preset not in PRESETS:
        raise ConfigurationError(f"unknown preset '{preset}'; {expected_one_of(PRESETS, preset)}")
    if html is not None and preset != "learning-curve":
        raise ConfigurationError(f"preset {preset} has no plot; use --html with --preset learning-curve")
    one_variant = preset in ("ablation", "jackknife", "select")
    default = "contrastive-jumps" if one_variant else ""
    methods = grid.parse_variants(variants or default, not one_variant) if variants or default else None
    seed_list = grid.parse_seeds(seeds) if seeds else grid.SEEDS if preset == "variants" else grid.SEEDS[:1]
    workers = workers_of(jobs, cluster)
    if preset == "select":
        _select(methods, csv, suite, validation, words(domains), words(choose), seed_list[0], workers)
        return
    chosen_splits = words(splits or ("extrapolation" if preset in ("jackknife", "learning-curve") else ""))
    options_of_cells = overrides_of(settings), trained_on, words(decodings)
    cells = grid.grid_cells(suite, words(domains), methods, seed_list, chosen_splits, *options_of_cells)
    table: Any = None
    if preset == "ablation":
        cells, table = grid.ablation_cells(cells), tables.coverage_table
    elif preset == "jackknife":
        cells, table = grid.jackknife_cells(cells, most), tables.spread_table
    elif preset == "learning-curve":
        cells, table = grid.learning_cells(cells, draws), tables.learning_table
    results = grid.run_grid(cells, workers, again, diagnostics)
    if baselines:
        names = sorted({cell.domain for cell in cells})
        results += grid.baseline_results(suite, names, words(splits), processes_of(jobs))
    write_scores_to(results.scores, json, csv)
    if html is not None:
        from sgp.reports.plots import learning_curves

        write_text(html, learning_curves(results.scores).to_html(include_plotlyjs=True))
    if out is not None or preset == "variants":
        for path in results.write(out or Path("results")):
            typer.echo(path)
    if table is not None:
        console().print(table(results.scores, f"{preset} on {suite}").terminal())


def _select(methods: Any, csv: Path | None, suite: str, validation: str, *others: Any) -> None:
    """Choose the settings of each method, print the trials, and the options that select the chosen settings."""
    from sgp.experiments import grid
    from sgp.methods.configuration import apart
    from sgp.policies.decoding import DEFAULT

    for method in methods:
        trials, chosen = grid.select(method, suite, validation, *others)
        if csv is not None:
            grid.write_trials(csv, trials)
        title = f"{method}, trained on {suite}, chosen on {validation}"
        console().print(grid.trials_table(trials, title).terminal())
        training, decoding = apart(chosen)
        if training:
            typer.echo(" ".join(f"--set {setting}={value}" for setting, value in training.items()))
        if decoding != DEFAULT:
            typer.echo(f"--decoding {decoding}")


@command("scaling", "sgp scaling --method contrastive-jumps --domain blocksworld --json scaling.json")
def scaling(
    domain: commands.Domain = "",
    method: commands.Method = "contrastive-jumps",
    variant: commands.Variant = "",
    suite: commands.Suite = "scaling",
    by: commands.By = "dynamic",
    run: Annotated[Path | None, typer.Option(help="A trained run, instead of method, domain and suite.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the generated problems.")] = 0,
    bound: Annotated[int | None, typer.Option(min=1, help=HELP["scaling"]["bound"])] = None,
    largest: Annotated[int | None, typer.Option(min=1, help=HELP["scaling"]["largest"])] = None,
    decoding: commands.Decoding = "default",
    hours: Annotated[float, typer.Option(min=0, help="Begin no more problems after so many hours.")] = math.inf,
    seconds: commands.Seconds = None,
    references: Annotated[int, typer.Option("--reference", min=0, help=HELP["scaling"]["references"])] = 0,
    reference_seconds: Annotated[float, typer.Option(help="Maximum seconds of each search of LAMA.")] = 10.0,
    json: commands.JsonFile = None,
    csv: commands.CsvFile = None,
    html: commands.HtmlFile = None,
    jobs: commands.Jobs = 0,
    cluster: commands.ClusterAddress = "",
) -> None:
    """Measure coverage at every size, on as many generated problems as the interval needs. Run again to resume."""
    import pandas as pd

    from sgp.datasets.runs import open_run
    from sgp.evaluation.scaling import ScalingConfig
    from sgp.experiments.joint import scaling_beside

    if run is None and not domain:
        raise ConfigurationError("nothing to measure; give --domain, or --run with a trained run")
    if run is not None and domain:
        raise ConfigurationError(f"--run {run} was trained on a domain already; leave out --domain {domain}, or --run")
    workers = workers_of(jobs, cluster)
    trained = open_run(run) if run else trained_run(by, method, domain, suite, variant, jobs=workers)
    config = ScalingConfig(largest=largest, seconds=seconds, references=references, reference_seconds=reference_seconds)
    scores, table, published = scaling_beside(trained, config, seed, workers, bound, hours, decoding)
    write_scores_to(scores, json, csv)
    if html is not None:
        from sgp.reports.plots import scaling_curves

        both = pd.concat([scores, published])
        write_text(html, scaling_curves(both).to_html(include_plotlyjs=True))
    console().print(table.terminal())


@command("retrieve", "sgp retrieve --protocol interpolation --domains ferry --seeds 42 --pools paper,hard")
def retrieve(
    suite: commands.Suite = "acpbench",
    protocol: Annotated[str, typer.Option(help=HELP["retrieve"]["protocol"])] = "",
    pools: Annotated[str, typer.Option(help=HELP["retrieve"]["pools"])] = "paper,hard",
    variants: Annotated[str, typer.Option(help=HELP["retrieve"]["variants"])] = "",
    domains: commands.Domains = "",
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "42,123,456",
    settings: commands.Settings = None,
    transitions: Annotated[int, typer.Option(min=1, help="Maximum test transitions of a domain.")] = 500,
    plans: Annotated[int, typer.Option(min=0, help="Maximum test plans of a domain.")] = 50,
    size: Annotated[int, typer.Option(min=10, help="Candidates in a pool.")] = 128,
    most: Annotated[int | None, typer.Option(min=2, help="Maximum training transitions of a domain.")] = None,
    shots: Annotated[str, typer.Option(help=HELP["retrieve"]["shots"])] = "0",
    record: Annotated[bool, typer.Option("--record", help=HELP["retrieve"]["record"])] = False,
    json: commands.JsonFile = None,
    csv: commands.CsvFile = None,
    jobs: commands.Jobs = 0,
    cluster: commands.ClusterAddress = "",
) -> None:
    """Measure how well models that predict the next state find it among candidate states. Run again to resume."""
    from sgp.datasets.protocols import OF_SEVERAL, PROTOCOLS
    from sgp.evaluation.retrieval import pools_of
    from sgp.experiments import retrieval
    from sgp.experiments.grid import parse_seeds
    from sgp.experiments.retrieval import record_retrievals
    from sgp.reports.tables import retrieval_table
    from sgp.viewer.retrieved import own_retrieved_folder

    learners = retrieval.learners_of(words(variants) or retrieval.LEARNERS, overrides_of(settings))
    protocols = words(protocol) or [name for name in PROTOCOLS if len(words(domains)) != 1 or name not in OF_SEVERAL]
    config = retrieval.RetrievalConfig(pools_of(words(pools)), size, transitions, plans)
    seed_list, shot_list = parse_seeds(seeds), parse_seeds(shots, "shots")
    splits = suite, protocols, learners, words(domains)
    workers = workers_of(jobs, cluster)
    scores = retrieval.retrieve(*splits, seed_list, config, most, jobs=workers, shots=shot_list)
    write_scores_to(scores, json, csv)
    console().print(retrieval_table(scores, f"retrieval on {suite}").terminal())
    if record:
        for path in record_retrievals(own_retrieved_folder(), *splits, seed_list[0], config, most, shots=shot_list):
            typer.echo(path)
