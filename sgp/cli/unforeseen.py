"""Errors that nobody foresaw: one sentence, and the whole traceback in a file."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from sgp.datasets.store import home
from sgp.errors import SgpError

_LONGEST = 200  # characters of the error in its sentence


def written(error: BaseException) -> str:
    """The sentence for an error that nobody foresaw, once its traceback is written, under `SGP_HOME` where it can be.

    A place that cannot be written is passed over for the next, and standard error is the last.
    """
    text = f"{shlex.join(sys.argv)}\nPython {sys.version}\n\n{''.join(traceback.format_exception(error))}"
    what = f"{type(error).__name__}: {' '.join(str(error).split())}"
    what = f"{what[:_LONGEST]}..." if len(what) > _LONGEST else what
    name = f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}-{os.getpid()}.txt"
    places: list[Callable[[], Path]] = [
        lambda: home() / "errors",
        lambda: Path(tempfile.gettempdir(), "sgp-errors"),
    ]
    for place in places:
        try:
            folder = place()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        except (OSError, SgpError):
            continue
        return f"an error that nobody foresaw ({what}); the whole traceback is in {folder / name}: please report it"
    print(text, file=sys.stderr)
    return f"an error that nobody foresaw ({what}); the whole traceback stands above: please report it"
