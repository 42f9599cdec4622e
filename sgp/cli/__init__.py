"""The command line: each command is a thin call of the package, in a file by its subject."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import warnings
from functools import cache

from sgp.cli import experiments, planning, showing
from sgp.cli.commands import FAILED, app, sentence
from sgp.workers import compute_with_one_thread

__all__ = ["app", "experiments", "main", "planning", "showing"]  # the modules register their commands


class _AsciiStream(io.TextIOWrapper):
    """A stream that prints `?` for what ASCII lacks. It hides its bytes, to which typer would write UTF-8."""

    buffer = None  # type: ignore[assignment]


def print_anywhere() -> None:
    """Make standard output and standard error take every text, whatever their encoding, even where closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed: the next file that is opened would get its number
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "r+" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if number == 0 or not isinstance(stream, io.TextIOWrapper):
            continue
        encoding = codecs.lookup(stream.encoding).name
        if encoding == "ascii":
            setattr(sys, name, _AsciiStream(stream.buffer, encoding, "replace", line_buffering=stream.line_buffering))
        elif stream.errors == "strict":
            # A path may have bytes that are no UTF-8, and scripts read the output.
            stream.reconfigure(errors="surrogateescape" if encoding == "utf-8" else "replace")


def main() -> None:
    """The entry point of the command `sgp`."""
    print_anywhere()
    warnings.showwarning = lambda message, *_: _warn(str(message))
    compute_with_one_thread()
    code: str | int | None = None
    try:
        app(prog_name="sgp")
    except SystemExit as ended:
        code = ended.code
    except OSError as error:  # while help is printed, which no command does
        code = _failed(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if stream is sys.stdout and not code and not isinstance(error, BrokenPipeError):
                code = _failed(error)
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # Python flushes once more as it ends
    sys.exit(code)


@cache
def _warn(text: str) -> None:
    """Print a warning as a sentence, and equal ones from different places in the code once."""
    with contextlib.suppress(OSError):
        print(f"sgp: {text}", file=sys.stderr)


def _failed(error: OSError) -> int:
    """Print the sentence for an output that cannot be written, if it can be printed, and return the exit code."""
    with contextlib.suppress(OSError):
        print(f"sgp: {sentence('sgp', error) or error}", file=sys.stderr)
    return FAILED
