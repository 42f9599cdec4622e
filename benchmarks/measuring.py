"""What the programs here share: processor time, and scores with when and where they were measured."""

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

from sgp.evaluation.scores import Score, write_scores

Result = TypeVar("Result")


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Lets a program write what it measured."""
    parser.add_argument("--csv", type=Path, help="write the figures here, as those under data/measured")


def note(*libraries: str) -> str:
    """Date, cores, load, versions and command but for where the figures go.

    The load is the mean number of running processes in the last minute: well above 1, seconds on the wall tell little.
    """
    versions = ", ".join(f"{name} {version(name)}" for name in ("sgp", *libraries))
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    words = re.sub(r"--csv[ =]\S+ ?", "", " ".join(sys.argv[1:]))
    command = f"python benchmarks/{Path(sys.argv[0]).name} {words}".strip()
    return f"{date.today()}, {cores} cores, load {load:.1f}, {versions}; {command}"


def write(path: Path | None, scores: Iterable[Score]) -> None:
    """Writes the figures where a file was asked for."""
    if path is not None:
        write_scores(path, scores)


def timed(act: Callable[[], Result]) -> tuple[Result, float]:
    """What an act gives, and the seconds that this process computed for it; what else runs does not count."""
    started = time.process_time()
    return act(), time.process_time() - started


def timed_processes(act: Callable[[], Result]) -> tuple[Result, float]:
    """What an act gives, and the seconds that the processes computed which it started and which ended in it."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    started = spent()
    return act(), spent() - started
