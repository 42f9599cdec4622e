"""How good runs are, how far they scale, and why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from sgp.cli.options import (
    By,
    ClusterAddress,
    CsvFile,
    Decisions,
    Decodings,
    Jobs,
    JsonFile,
    KeepOption,
    Memory,
    Processor,
    Seconds,
    Splits,
    Suite,
    console,
    crew,
    limit_of,
    overrides_of,
    words,
    write_scores_to,
)
from sgp.cli.training import trained_run
from sgp.cli.verbs import verb


@verb("evaluate", "sgp evaluate RUN1 RUN2 --suite state-centric --splits validation,extrapolation --json scores.json")
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    suite: Suite,
    splits: Splits = "",
    json: JsonFile = None,
    csv: CsvFile = None,
    seconds: Seconds = None,
    processor: Processor = False,
    memory: Memory = None,
    decisions: Decisions = None,
    decodings: Decodings = "default",
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
    record: Annotated[
        bool, typer.Option("--record", help="Keep every rollout under SGP_HOME/recorded, where the dashboard shows it.")
    ] = False,
    keep: KeepOption = "auto",
) -> None:
    """Try every problem with every run, have VAL judge the plans, and show coverage beside the published numbers."""
    from sgp import api
    from sgp.reports.decodings import decodings_sheet
    from sgp.reports.papers import beside_ours
    from sgp.reports.tables import coverage_sheet, details_sheet
    from sgp.viewer.library import own_rollouts_folder

    rollouts = own_rollouts_folder() if record else None
    limit = limit_of(seconds, memory, decisions=decisions, processor=processor)
    found = api.evaluate(
        runs, suite, words(splits), crew(jobs, cluster), limit, rollouts, words(decodings), cast(Any, keep)
    )
    write_scores_to(found.scores, json, csv)
    console().print(details_sheet(found.scores, f"attempts on {suite}").terminal())
    console().print(coverage_sheet(found.scores, beside_ours(), f"coverage on {suite}").terminal())
    if len(words(decodings)) > 1:
        console().print(decodings_sheet(found.scores, f"decodings on {suite}").terminal())


@verb("diagnose", "sgp diagnose RUN1 RUN2 --suite state-centric --splits extrapolation")
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    suite: Suite,
    splits: Splits = "",
    decodings: Decodings = "default",
    renamings: Annotated[
        int, typer.Option(min=0, help="Rename all objects so often, and tell which share of decisions changes.")
    ] = 0,
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Show why runs work or fail: how they rank the expert's successors, and what their features cannot see."""
    from sgp import api
    from sgp.reports.diagnostics_table import diagnostics_sheet

    scores = api.diagnose(runs, suite, words(splits), crew(jobs, cluster), words(decodings), renamings)
    write_scores_to(scores, json, csv)
    console().print(diagnostics_sheet(scores).terminal())


@verb("retrieve", "sgp retrieve --protocol interpolation --domains ferry --seeds 42 --pools paper,hard")
def retrieve(
    suite: Suite = "acpbench",
    protocol: Annotated[
        str,
        typer.Option(
            help="What is held out, separated by commas: interpolation (transitions), plan-variant (plans), "
            "extrapolation (instances), multi-domain, cross-domain, leave-one-out; all where left out."
        ),
    ] = "",
    pools: Annotated[
        str, typer.Option(help="Kinds of candidates, separated by commas: paper, batch, hard, all.")
    ] = "paper,hard",
    variants: Annotated[
        str,
        typer.Option(
            help="Methods, or METHOD:VARIANT, separated by commas; where left out EmbedPlan, and floors and ceilings."
        ),
    ] = "",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "42,123,456",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting of training, such as training.epochs=50.")
    ] = None,
    transitions: Annotated[int, typer.Option(min=1, help="Most transitions of a domain to measure on.")] = 500,
    plans: Annotated[int, typer.Option(min=0, help="Most plans of a domain to follow.")] = 50,
    size: Annotated[int, typer.Option(min=10, help="Candidates in a pool.")] = 128,
    most: Annotated[int | None, typer.Option(min=2, help="Most transitions of a domain to learn from.")] = None,
    shots: Annotated[
        str,
        typer.Option(
            help="Numbers of transitions of each schema of the domain left out that are learned from beside, separated "
            "by commas; of leave-one-out alone."
        ),
    ] = "0",
    record: Annotated[
        bool,
        typer.Option("--record", help="Keep some steps by the first seed under SGP_HOME/retrieved for the dashboard."),
    ] = False,
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Measure how well next states are found among others, by models that predict them; goes on where it stopped."""
    from sgp.datasets.protocols import OF_SEVERAL, PROTOCOLS
    from sgp.evaluation.retrieval import pools_of
    from sgp.experiments import retrieval
    from sgp.experiments.grid import parse_seeds
    from sgp.experiments.retrieval_record import record_retrievals
    from sgp.reports.retrieval_table import retrieval_sheet
    from sgp.viewer.retrieved import own_retrieved_folder

    learners = retrieval.learners_of(words(variants) or retrieval.LEARNERS, overrides_of(settings))
    protocols = words(protocol) or [each for each in PROTOCOLS if len(words(domains)) != 1 or each not in OF_SEVERAL]
    asked = retrieval.Asked(pools_of(words(pools)), size, transitions, plans)
    scores = retrieval.retrieve(
        suite,
        protocols,
        learners,
        words(domains),
        parse_seeds(seeds),
        asked,
        most,
        jobs=crew(jobs, cluster),
        shots=parse_seeds(shots, "shots"),
    )
    write_scores_to(scores, json, csv)
    console().print(retrieval_sheet(scores, f"retrieval on {suite}").terminal())
    if record:
        folder, first, few = own_retrieved_folder(), parse_seeds(seeds)[0], parse_seeds(shots, "shots")
        for path in record_retrievals(
            folder, suite, protocols, learners, words(domains), first, asked, most, shots=few
        ):
            typer.echo(path)


@verb("scaling", "sgp scaling --method contrastive-jumps --domain blocksworld --json scaling.json")
def scaling(
    domain: Annotated[str, typer.Option(help="Domain of the house.")] = "",
    method: Annotated[str, typer.Option(help="Method; see 'sgp list methods'.")] = "contrastive-jumps",
    variant: Annotated[str, typer.Option(help="Variant of the method; its first where left out.")] = "",
    suite: Suite = "scaling",
    by: By = "dynamic",
    run: Annotated[Path | None, typer.Option(help="A trained run, instead of method, domain and suite.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the generated problems.")] = 0,
    bound: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most actions, beside one for each object; where left out the paper's, or 3 times the experts' mean.",
        ),
    ] = None,
    largest: Annotated[
        int | None, typer.Option(min=1, help="Largest size to try; twice the published Scale where there is one.")
    ] = None,
    decoding: Annotated[str, typer.Option(help="How the run plans, with settings as in default+beam=1.")] = "default",
    hours: Annotated[float, typer.Option(min=0, help="Begin no more problems after so many hours.")] = math.inf,
    seconds: Seconds = None,
    references: Annotated[
        int, typer.Option("--reference", min=0, help="Ask LAMA about so many problems of a size that are not solved.")
    ] = 0,
    reference_seconds: Annotated[float, typer.Option(help="Most seconds for each search of LAMA.")] = 10.0,
    json: JsonFile = None,
    csv: CsvFile = None,
    html: Annotated[Path | None, typer.Option(help="Write the curve here as a plot in one HTML page.")] = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Measure coverage at every size, on as many generated problems as the interval needs; goes on where it stopped."""
    from sgp.datasets.runs import open_run
    from sgp.errors import ConfigurationError
    from sgp.evaluation.scaling import ScalingConfig
    from sgp.experiments.scaling_runs import scaling_beside
    from sgp.files import write_text

    if run is None and not domain:
        raise ConfigurationError("nothing to measure; give --domain, or --run with a trained run")
    if run is not None and domain:
        raise ConfigurationError(f"--run {run} was trained on a domain already; leave out --domain {domain}, or --run")
    workers = crew(jobs, cluster)
    trained = open_run(run) if run else trained_run(by, method, domain, suite, variant, jobs=workers)
    config = ScalingConfig(largest=largest, seconds=seconds, references=references, reference_seconds=reference_seconds)
    found = scaling_beside(trained.folder, config, seed, workers, bound, hours, decoding)
    write_scores_to(found.scores, json, csv)
    if html is not None:
        write_text(html, found.page())
    console().print(found.sheet.terminal())
