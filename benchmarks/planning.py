"""How long a method trains and plans: `python benchmarks/planning.py` prints a table.

Training is timed twice and the second time is reported, data loading included and compilation excluded. Planning is
timed problem by problem, one after the other in one process, instantiation included; reading the PDDL is not in it.
Suite `harder` gives the large problems, of each row the first ones; `--large` takes 40x40 cells and 100 blocks too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

import sgp
from sgp.datasets.suite import Suite
from sgp.planning.pddl import Problem
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.progress import track

ROWS = {
    "blocksworld": ("50-blocks",),
    "gripper": ("150-159-balls",),
    "logistics": ("8-cities",),
    "visitall": ("22x22",),
}
LARGE = {"blocksworld": ("100-blocks",), "visitall": ("40x40",)}


def trained(method: str, domain: str, suite: str) -> tuple[Planner, float]:
    """A planner, and the seconds that it takes to train it again."""
    sgp.train(method, domain, suite, again=True)
    started = time.perf_counter()
    run = sgp.train(method, domain, suite, again=True)
    seconds = time.perf_counter() - started
    return sgp.load_planner(str(run.folder)), seconds


def timed(planner: Planner, problems: Sequence[Problem], words: str) -> tuple[list[float], int]:
    """Seconds of each problem, and how many were solved."""
    rollouts = (planner.solve(Task(problem)) for problem in track(problems, words))
    seconds, solved = zip(*((rollout.seconds, rollout.solved) for rollout in rollouts), strict=True)
    return list(seconds), sum(solved)


def rows(
    arguments: argparse.Namespace, suite: Suite, harder: Suite, domain: str, planner: Planner
) -> Iterator[tuple[str, list[float], int]]:
    """Name, seconds and solved problems of each row of a domain."""
    timed(planner, suite.problems(domain, "validation")[:1], f"{domain}, compiling")
    problems = suite.problems(domain, "extrapolation")[:: arguments.every]
    yield "extrapolation", *timed(planner, problems, domain)
    for row in (*ROWS.get(domain, ()), *(LARGE.get(domain, ()) if arguments.large else ())):
        yield row, *timed(planner, harder.problems(domain, row)[: arguments.problems], row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="contrastive-jumps")
    parser.add_argument("--domains", default="", help="only these domains, with commas between")
    parser.add_argument("--every", type=int, default=1, help="every so many problems of the extrapolation split")
    parser.add_argument("--problems", type=int, default=3, help="problems of each row of suite harder")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    suite, harder = sgp.load_suite("state-centric"), sgp.load_suite("harder")
    table = Table("domain", "row", "problems", "solved", "median ms", "mean ms", "largest ms")
    seconds_of: dict[str, float] = {}
    for domain in arguments.domains.split(",") if arguments.domains else suite.domains:
        planner, training = trained(arguments.method, domain, "state-centric")
        seconds_of[domain] = training
        for name, seconds, solved in rows(arguments, suite, harder, domain, planner):
            figures = (f"{1000 * value:.0f}" for value in (median(seconds), sum(seconds) / len(seconds), max(seconds)))
            table.add_row(domain, name, str(len(seconds)), str(solved), *figures)
    Console().print(table)
    each = ", ".join(f"{domain} {seconds:.1f}" for domain, seconds in seconds_of.items())
    print(f"training: {each}; together {sum(seconds_of.values()):.1f} s")


if __name__ == "__main__":
    main()
