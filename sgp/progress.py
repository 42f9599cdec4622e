"""Progress bars on standard error for anything that may take over a second."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tqdm.auto import tqdm

Item = TypeVar("Item")


def _bar(iterable: Iterable[Item] | None, description: str, total: int | None) -> tqdm[Item]:
    terminal = sys.stderr.isatty()
    return tqdm(
        iterable,
        desc=description,
        total=total,
        file=sys.stderr,
        disable=os.environ.get("SGP_PROGRESS") == "0" or threading.current_thread() is not threading.main_thread(),
        delay=1.0,  # shorter work needs no bar
        mininterval=0.2 if terminal else 5.0,
        dynamic_ncols=terminal,
        leave=not terminal,
    )


def track(iterable: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Iterate with a bar that shows the description, the progress and the remaining time."""
    yield from _bar(iterable, description, total)


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[tqdm[None]]:
    """Yield a bar of `total` units to `update`; without a total, the bar shows only the count."""
    with _bar(None, description, total) as bar:
        yield bar
