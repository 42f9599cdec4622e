"""The command `sgp`: how verbs are registered, and how errors become one sentence and an exit code."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from sgp.errors import SgpError

# The facade's rooms are imported inside the verbs: `sgp --help` must not wait for numpy.

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Learned generalized planning: train on small problems, solve much larger ones. Begin with 'sgp demo'.",
)
Parameters = ParamSpec("Parameters")


def _print_version(asked: bool) -> None:
    if asked:
        from sgp.installed import version

        typer.echo(f"sgp {version()}")
        raise typer.Exit


@app.callback()
def _every_verb(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Log what is done; twice: in detail.")
    ] = 0,
) -> None:
    """What holds for every verb."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(name)s: %(message)s" if verbose else "sgp: %(message)s", level=logging.WARNING)
    logging.getLogger("sgp").setLevel(level)


_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
SOLVED, NOT_SOLVED, FAILED, UNFORESEEN, INTERRUPTED = 0, 1, 2, 70, 130  # 70: EX_SOFTWARE of sysexits.h


def verb(name: str, example: str) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Registers a verb with an example in its help, and turns errors into one sentence and an exit code."""

    def register(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        @functools.wraps(function)
        def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except SgpError as error:
                typer.echo(f"sgp: {error}", err=True)
                raise typer.Exit(FAILED) from error
            except (typer.Exit, typer.Abort):
                raise
            except Exception as error:
                if isinstance(error, BrokenPipeError):  # the reader of the output has enough: typer ends quietly
                    raise
                known = sentence(f"sgp {name}", error)
                if known is not None:
                    typer.echo(f"sgp: {known}", err=True)
                    raise typer.Exit(FAILED) from error
                from sgp.cli.unforeseen import written

                typer.echo(f"sgp: {written(error)}", err=True)
                raise typer.Exit(UNFORESEEN) from error
            except KeyboardInterrupt as error:
                typer.echo("sgp: interrupted; the same command goes on where it stopped", err=True)
                raise typer.Exit(INTERRUPTED) from error

        return app.command(name, epilog=f"Example: {example}")(guarded)

    return register


def sentence(what: str, error: Exception) -> str | None:
    """The sentence for a library that `what` lacks and for what the system says of disks and paths; None for others."""
    if isinstance(error, ModuleNotFoundError):
        from sgp.installed import missing

        lacking = missing(what, error)
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
    return f"{error.filename}: {error.strerror}; {_remedy(error)}"


def _remedy(error: OSError) -> str:
    """What helps where a path cannot be used, which the user may not have chosen."""
    from sgp.datasets.store import home

    with contextlib.suppress(SgpError):
        if error.errno in _UNWRITABLE and Path(os.fsdecode(error.filename)).is_relative_to(home()):
            return "set SGP_HOME to a folder that can be written"
    return "check the path"
