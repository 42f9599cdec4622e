"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Suite = Annotated[str, typer.Option("--suite", help="Bundled or imported suite; see 'sgp list suites'.")]
Domain = Annotated[str, typer.Option("--domain", help="Built-in domain; see 'sgp list domains'.")]
Domains = Annotated[str, typer.Option("--domains", help="Only these domains, separated by commas.")]
Splits = Annotated[str, typer.Option("--splits", help="Splits, separated by commas; default: all but train.")]
Method = Annotated[str, typer.Option("--method", help="Method; see 'sgp list methods'.")]
Variant = Annotated[str, typer.Option("--variant", help="Variant of the method; default: its first.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Override a training setting, such as boosting.rounds=200.")
]
By = Annotated[
    str,
    typer.Option(
        "--by", help="Validation that selects a checkpoint: dynamic, coverage or loss; none: the method's own training."
    ),
]
Run = Annotated[Path | None, typer.Option("--run", help="Folder of a trained run.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")]
DomainFile = Annotated[Path, typer.Argument(metavar="DOMAIN.pddl")]
ProblemFile = Annotated[Path, typer.Argument(metavar="PROBLEM.pddl")]
Decoding = Annotated[str, typer.Option("--decoding", help="How the run plans, with settings as in default+beam=1.")]
Decodings = Annotated[
    str, typer.Option("--decoding", help="Decodings of the run, separated by commas, such as default,default+beam=1.")
]
Decisions = Annotated[int | None, typer.Option("--decisions", min=1, help="Maximum decisions per problem.")]
Seconds = Annotated[
    float | None, typer.Option("--seconds", help="Maximum seconds per problem, including the time to read it.")
]
Processor = Annotated[
    bool, typer.Option("--processor", help="Count CPU seconds, which do not depend on how busy the machine is.")
]
Memory = Annotated[
    float | None,
    typer.Option("--memory", help="Maximum GB of memory per process; default: its share of 80 % of the free memory."),
]
Detail = Annotated[
    str,
    typer.Option(
        "--keep", help="What a rollout stores: 'steps' all candidates, 'plan' only the chosen ones, 'auto' all if few."
    ),
]
Again = Annotated[bool, typer.Option("--again", help="Train and measure again even where results are saved.")]
Jobs = Annotated[int, typer.Option("--jobs", min=0, help="Number of processes; 0: one per core.")]
ClusterAddress = Annotated[
    str, typer.Option("--cluster", metavar="HOST:PORT", help="Head of a Ray cluster that does the work instead.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the scores here as JSON.")]
CsvFile = Annotated[Path | None, typer.Option("--csv", help="Write the scores here as CSV.")]
HtmlFile = Annotated[Path | None, typer.Option("--html", help="Write an HTML page with a plot or player here.")]


def processes_of(chosen: int) -> int:
    """The number of processes given by `--jobs`."""
    from sgp.workers import cores

    return chosen or cores()


def workers_of(chosen: int, cluster: str) -> Any:
    """The processes of this machine, or the cluster, given by `--jobs` and `--cluster`."""
    from sgp.workers import Cluster

    return Cluster(cluster) if cluster else processes_of(chosen)


def console(table: Any = None) -> Any:
    """A console as wide as the terminal; in a file at least 140 columns, or as wide as `table`."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console()
    return Console(width=140 if table is None else max(140, Console(width=10_000).measure(table).maximum))


def words(text: str) -> list[str]:
    """The parts of a text between commas."""
    return [word for word in text.split(",") if word]


def overrides_of(settings: list[str] | None) -> dict[str, str]:
    """The settings of `--set NAME=VALUE`."""
    from sgp.errors import ConfigurationError

    overrides = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigurationError(f"setting '{setting}' has no '='; expected NAME=VALUE")
        overrides[name] = value
    return overrides


def limit_of(
    seconds: float | None,
    memory: float | None,
    horizon: int | None = None,
    decisions: int | None = None,
    processor: bool = False,
) -> Any:
    """The limit of planning; `memory` is in GB."""
    from sgp.planning.planner import Limit

    bytes_: Any = None if memory is None else memory * 1e9
    if memory is not None and math.isfinite(memory):  # `Limit` refuses what is not finite
        bytes_ = int(bytes_)
    return Limit(horizon, seconds, bytes_, decisions, processor)


def write_scores_to(scores: Any, json: Path | None, csv: Path | None) -> None:
    """Write scores to the files of `--json` and `--csv`."""
    from sgp.evaluation.scores import to_csv, to_json
    from sgp.files import write_text

    for file, text in ((json, to_json), (csv, to_csv)):
        if file is not None:
            write_text(file, text(scores))
