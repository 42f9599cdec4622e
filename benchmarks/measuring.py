"""CPU time, and scores with the date and machine of their measurement, for the benchmarks."""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from sgp.evaluation.scores import Score, to_frame, write_scores
from sgp.installed import DISTRIBUTION

Result = TypeVar("Result")


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Add the option `--csv`, the file of the measured scores."""
    parser.add_argument("--csv", type=Path, help="write the figures here, as those under data/measured")


def note(*libraries: str) -> str:
    """Return the date, number of cores, load, versions and command of a measurement.

    The command omits the output file. The load is the mean number of running processes in the last minute; well above
    1, wall-clock times are unreliable.
    """
    versions = ", ".join(f"{name} {version(name)}" for name in (DISTRIBUTION, *libraries))
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    words = re.sub(r"--csv[ =]\S+ ?", "", " ".join(sys.argv[1:]))
    command = f"python benchmarks/{Path(sys.argv[0]).name} {words}".strip()
    return f"{date.today()}, {cores} cores, load {load:.1f}, {versions}; {command}"


def write(path: Path | None, scores: Iterable[Score]) -> None:
    """Write the scores if a file was given."""
    if path is not None:
        write_scores(path, to_frame(scores))


def timed(act: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of `act` and the CPU seconds of this process for it."""
    started = time.process_time()
    return act(), time.process_time() - started


def timed_processes(act: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of `act` and the CPU seconds of the child processes that started and ended in it."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    started = spent()
    return act(), spent() - started
