"""Slowdown of a training and an evaluation beside busy processes: `python benchmarks/busy.py` prints a table.

Each job runs alone and then beside busy loops, in alternation, because the load of a shared machine varies over time. A
job of w processes beside b busy loops gets w / (w + b) of the cores, and at most w cores when it runs alone. Beside
busy loops, the slowdown should be at most 1.5 times the one that follows from the smaller share. The table has
wall-clock seconds, which measure the share, and CPU seconds, which grow where threads spin.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from rich.console import Console
from rich.table import Table

GOAL = 1.5
RUN = "state-centric/wl-xgboost-delta/state-centric/{domain}/seed13"


def expected(workers: int, loops: int, cores: int) -> float:
    """Expected slowdown beside busy loops if every process gets the same share of the cores."""
    alone = min(workers, cores)
    return alone / min(workers, cores * workers / (workers + loops))


def measured(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a command, its child processes included."""
    started, before = time.perf_counter(), os.times()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, spent


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run `loops` processes that compute without a pause."""
    running = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(loops)]
    for each in running:
        each.start()
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.join()


def _spin() -> None:
    while True:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="gripper")
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes of the evaluation")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="setting of the environment, NAME=VALUE")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    table = Table("work", "processes", "alone s", "busy s", "times longer", "share allows", "over share", "processor s")
    with tempfile.TemporaryDirectory() as home:
        extra = dict(each.split("=", 1) for each in arguments.set)
        environment = {**os.environ, "SGP_HOME": home, "SGP_PROGRESS": "0", **extra}
        sgp = [sys.executable, "-m", "sgp"]
        train = [*sgp, "train", "--suite", "state-centric", "--method", "state-centric", "--domain", arguments.domain]
        train += ["--variant", "wl-xgboost-delta", "--again"]
        evaluate = [*sgp, "evaluate", f"{home}/{RUN.format(domain=arguments.domain)}", "--suite", "state-centric"]
        evaluate += ["--jobs", str(arguments.jobs)]
        measured(train, environment)  # warm-up: compile kernels, read files
        measured(evaluate, environment)
        for name, command, workers in (("train", train, 1), ("evaluate", evaluate, arguments.jobs)):
            alone, beside = [], []
            for _ in range(arguments.pairs):
                alone.append(measured(command, environment))
                with busy(arguments.loops):
                    beside.append(measured(command, environment))
            ratio = median(b[0] / a[0] for a, b in zip(alone, beside, strict=True))
            allowed = expected(workers, arguments.loops, cores)
            table.add_row(
                name,
                str(workers),
                f"{median(each[0] for each in alone):.1f}",
                f"{median(each[0] for each in beside):.1f}",
                f"{ratio:.2f}",
                f"{allowed:.2f}",
                f"{ratio / allowed:.2f}",
                f"{median(each[1] for each in alone):.1f}, {median(each[1] for each in beside):.1f}",
            )
    Console(width=120).print(table)
    print(f"{arguments.loops} busy loops on {cores} cores; the goal is at most {GOAL} times over the share")


if __name__ == "__main__":
    main()
