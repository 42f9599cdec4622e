"""Options that several verbs share, and what is made of them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Suite = Annotated[str, typer.Option("--suite", help="Bundled or imported suite; see 'sgp list'.")]
Jobs = Annotated[int, typer.Option("--jobs", min=0, help="Processes at a time; 0 means one per core.")]
By = Annotated[
    str,
    typer.Option(
        help="Which validation selects among the planners of one training: dynamic, coverage or loss; none: the method "
        "trains as it does alone."
    ),
]
ClusterAddress = Annotated[
    str, typer.Option("--cluster", metavar="HOST:PORT", help="Head of the Ray cluster that does the work instead.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the scores here as JSON.")]
CsvFile = Annotated[Path | None, typer.Option("--csv", help="Write the scores here as CSV.")]
Decisions = Annotated[int | None, typer.Option("--decisions", min=1, help="Most decisions per problem.")]
Decodings = Annotated[
    str,
    typer.Option("--decoding", help="Decodings of the same training, separated by commas, as default,default+beam=1."),
]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Most seconds per problem, reading included.")]
Processor = Annotated[
    bool, typer.Option("--processor", help="Seconds of the processor, on which a busy machine has no influence.")
]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory",
        help="Most GB of memory per process; where left out its share of 80 % of what the machine has free.",
    ),
]
Splits = Annotated[str, typer.Option("--splits", help="Splits, separated by commas; all but train where left out.")]
DomainFile = Annotated[Path, typer.Argument(metavar="DOMAIN.pddl")]
ProblemFile = Annotated[Path, typer.Argument(metavar="PROBLEM.pddl")]

_ANY = 10_000  # columns: of a table that is printed to a file


def processes_of(chosen: int) -> int:
    """How many processes `--jobs` asks for."""
    from sgp.workers import cores

    return chosen or cores()


def crew(chosen: int, cluster: str) -> Any:
    """Who does the work: processes of this machine, or a cluster."""
    from sgp.workers import Cluster

    return Cluster(cluster) if cluster else processes_of(chosen)


def console(table: Any = None) -> Any:
    """Where tables are printed: as wide as the terminal, or 140 columns, or more where `table` needs more."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console()
    return Console(width=140 if table is None else max(140, Console(width=_ANY).measure(table).maximum))


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word for word in text.split(",") if word]


def overrides_of(settings: list[str] | None) -> dict[str, str]:
    """The settings of `--set NAME=VALUE`. Raises ConfigurationError for one without a value."""
    from sgp.errors import ConfigurationError

    found = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigurationError(f"setting '{setting}' has no '='; expected NAME=VALUE")
        found[name] = value
    return found


KeepOption = Annotated[
    str,
    typer.Option(
        "--keep",
        help="What a rollout has: 'steps' all candidates, 'plan' those chosen alone, 'auto' all unless too many.",
    ),
]


def limit_of(
    seconds: float | None,
    memory: float | None,
    horizon: int | None = None,
    decisions: int | None = None,
    processor: bool = False,
) -> Any:
    """When planning gives up, memory in GB."""
    from sgp.planning.planner import Limit

    bytes_: Any = None if memory is None else memory * 1e9
    if memory is not None and math.isfinite(memory):  # what is not finite the limit refuses
        bytes_ = int(bytes_)
    return Limit(horizon, seconds, bytes_, decisions, processor)


def write_scores_to(scores: Any, json: Path | None, csv: Path | None) -> None:
    """Writes scores where `--json` and `--csv` say."""
    from sgp.evaluation.scores import to_csv, to_json
    from sgp.files import write_text

    for file, text in ((json, to_json), (csv, to_csv)):
        if file is not None:
            write_text(file, text(scores))
