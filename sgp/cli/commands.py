"""The command `sgp`: how commands are registered, their shared options, and how errors become one sentence."""

from __future__ import annotations

import contextlib
import datetime
import errno
import functools
import logging
import math
import os
import shlex
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperGroup

from sgp.datasets.store import home
from sgp.errors import ConfigurationError, SgpError
from sgp.files import write_text

# Packages are imported inside the commands: `sgp --help` must not wait for numpy.

SOLVED, NOT_SOLVED, FAILED, UNEXPECTED, INTERRUPTED = 0, 1, 2, 70, 130  # 70: EX_SOFTWARE of sysexits.h
REPLACEMENTS = {  # of commands that are gone
    "ablate": "sgp grid --preset ablation",
    "jackknife": "sgp grid --preset jackknife",
    "learning-curve": "sgp grid --preset learning-curve",
    "select": "sgp grid --preset select",
    "diagnose": "sgp evaluate RUN --diagnose",
    "report": "sgp table --report FOLDER",
    "record": "python -m sgp.experiments.bundle rollouts",
    "ship": "python -m sgp.experiments.bundle planners",
    "experts": "python -m sgp.experiments.bundle experts",
}
Parameters = ParamSpec("Parameters")
HELP = tomllib.loads((Path(__file__).parent / "help.toml").read_text(encoding="utf-8"))  # by command and option


class _Commands(TyperGroup):
    """The commands; one that is gone names its successor."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in REPLACEMENTS:
            typer.echo(f"sgp: there is no command '{args[0]}' any more; use '{REPLACEMENTS[args[0]]}'", err=True)
            raise typer.Exit(FAILED)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Learned generalized planning: train on small problems, solve much larger ones. Begin with 'sgp demo'.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from sgp.installed import version

        typer.echo(f"sgp {version()}")
        raise typer.Exit


@app.callback()
def _every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="Log progress; twice: in detail.")] = 0,
) -> None:
    """Options of every command."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(name)s: %(message)s" if verbose else "sgp: %(message)s", level=logging.WARNING)
    logging.getLogger("sgp").setLevel(level)


def command(name: str, example: str) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Register a command with an example in its help; its errors become one sentence and an exit code."""

    def register(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        @functools.wraps(function)
        def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except (typer.Exit, typer.Abort, BrokenPipeError):  # the reader of a pipe has enough: typer ends quietly
                raise
            except Exception as error:
                known = str(error) if isinstance(error, SgpError) else sentence(f"sgp {name}", error)
                typer.echo(f"sgp: {known or report_unexpected(error)}", err=True)
                raise typer.Exit(FAILED if known else UNEXPECTED) from error
            except KeyboardInterrupt as error:
                typer.echo("sgp: interrupted; run the same command again to resume", err=True)
                raise typer.Exit(INTERRUPTED) from error

        return app.command(name, epilog=f"Example: {example}")(guarded)

    return register


def sentence(user: str, error: Exception) -> str | None:
    """The message for a library that `user` lacks and for errors of disks and paths; None for other errors."""
    if isinstance(error, ModuleNotFoundError):
        from sgp.installed import missing

        lacking = missing(user, error)
        return None if lacking is None else str(lacking)
    if not isinstance(error, OSError):
        return None
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space left on the disk; free some and run the command again"
    if error.errno == errno.EFBIG:
        return "a file is larger than this process may write; raise the limit ('ulimit -f') and run the command again"
    if error.errno == errno.ENOENT and "temporary" in str(error):  # tempfile's, which names no file
        return f"{str(error.strerror).partition(' in [')[0].lower()}; set TMPDIR to a folder that can be written"
    if error.filename is None:
        return None
    remedy = "check the path"
    with contextlib.suppress(SgpError):
        path, store = Path(os.fsdecode(error.filename)), home()
        unwritable = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
        if (unwritable and path.is_relative_to(store)) or store.is_relative_to(path):
            remedy = "set SGP_HOME to a folder that can be written"
    return f"{error.filename}: {error.strerror}; {remedy}"


def report_unexpected(error: BaseException) -> str:
    """Write the traceback of an unexpected error to a file, or to standard error; return the message for the user."""
    text = f"{shlex.join(sys.argv)}\nPython {sys.version}\n\n{''.join(traceback.format_exception(error))}"
    summary = f"{type(error).__name__}: {' '.join(str(error).split())}"
    summary = f"{summary[:200]}..." if len(summary) > 200 else summary
    name = f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}-{os.getpid()}.txt"
    places: list[Callable[[], Path]] = [lambda: home() / "errors", lambda: Path(tempfile.gettempdir(), "sgp-errors")]
    for folder_of in places:
        try:
            folder = folder_of()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        except (OSError, SgpError):
            continue
        return f"unexpected error ({summary}); the traceback is in {folder / name}: please report it"
    print(text, file=sys.stderr)
    return f"unexpected error ({summary}); the traceback is printed above: please report it"


Suite = Annotated[str, typer.Option("--suite", help="Bundled or imported suite; see 'sgp list suites'.")]
Domain = Annotated[str, typer.Option("--domain", help="Built-in domain; see 'sgp list domains'.")]
Domains = Annotated[str, typer.Option("--domains", help="Only these domains, separated by commas.")]
Splits = Annotated[str, typer.Option("--splits", help="Splits, separated by commas; default: all but train.")]
Method = Annotated[str, typer.Option("--method", help="Method; see 'sgp list methods'.")]
Variant = Annotated[str, typer.Option("--variant", help="Variant of the method; default: its first.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help=HELP["shared"]["Settings"])]
By = Annotated[str, typer.Option("--by", help=HELP["shared"]["By"])]
Run = Annotated[Path | None, typer.Option("--run", help="Folder of a trained run.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")]
DomainFile = Annotated[Path, typer.Argument(metavar="DOMAIN.pddl")]
ProblemFile = Annotated[Path, typer.Argument(metavar="PROBLEM.pddl")]
Decoding = Annotated[str, typer.Option("--decoding", help="How the run plans, with settings as in default+beam=1.")]
Decodings = Annotated[str, typer.Option("--decoding", help=HELP["shared"]["Decodings"])]
Decisions = Annotated[int | None, typer.Option("--decisions", min=1, help="Maximum decisions per problem.")]
Seconds = Annotated[float | None, typer.Option("--seconds", help=HELP["shared"]["Seconds"])]
Processor = Annotated[bool, typer.Option("--processor", help=HELP["shared"]["Processor"])]
Memory = Annotated[float | None, typer.Option("--memory", help=HELP["shared"]["Memory"])]
Detail = Annotated[str, typer.Option("--keep", help=HELP["shared"]["Detail"])]
Again = Annotated[bool, typer.Option("--again", help="Train and measure again even where results are saved.")]
Jobs = Annotated[int, typer.Option("--jobs", min=0, help="Number of processes; 0: one per core.")]
ClusterAddress = Annotated[str, typer.Option("--cluster", metavar="HOST:PORT", help=HELP["shared"]["ClusterAddress"])]
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

    for file, text in ((json, to_json), (csv, to_csv)):
        if file is not None:
            write_text(file, text(scores))
