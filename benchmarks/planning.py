"""Training and planning time of a method: `python benchmarks/planning.py --csv planning.csv` prints a table.

Times are CPU time of this process. Training is timed twice and the second time is reported, which includes data loading
and excludes compilation. Planning is timed by problem, PDDL parsing and instantiation included. Suite `harder` provides
the large problems, of which the first of each row are taken; `--large` adds 40x40 cells and 100 blocks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from statistics import median

from measuring import add_csv, note, timed, write
from rich.console import Console
from rich.table import Table

import sgp
from sgp.datasets.suite import Suite
from sgp.evaluation.scores import Score
from sgp.planning.pddl import Problem
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.progress import track

SUITE = "state-centric"
ROWS = {
    "blocksworld": ("50-blocks",),
    "gripper": ("150-159-balls",),
    "logistics": ("8-cities",),
    "visitall": ("22x22",),
}
LARGE = {"blocksworld": ("100-blocks",), "visitall": ("40x40",)}


def trained(method: str, domain: str, suite: str) -> tuple[Planner, float]:
    """Return a planner and the seconds of a second training."""
    sgp.train(method, domain, suite, again=True)
    run, seconds = timed(lambda: sgp.train(method, domain, suite, again=True))
    return sgp.load_planner(str(run.folder)), seconds


def solved(planner: Planner, problems: Sequence[Problem], words: str) -> tuple[list[float], int]:
    """Return the seconds of each problem, and the number of solved problems."""
    rollouts, seconds = zip(
        *(timed(lambda each=each: planner.solve(Task(each))) for each in track(problems, words)), strict=True
    )
    return list(seconds), sum(rollout.solved for rollout in rollouts)


def rows(
    arguments: argparse.Namespace, suite: Suite, harder: Suite, domain: str, planner: Planner
) -> Iterator[tuple[str, list[float], int]]:
    """Return name, seconds and number of solved problems of each row of a domain."""
    solved(planner, suite.problems(domain, "validation")[:1], f"{domain}, compiling")
    problems = suite.problems(domain, "extrapolation")[:: arguments.every]
    yield "extrapolation", *solved(planner, problems, domain)
    if not arguments.problems:
        return
    for row in (*ROWS.get(domain, ()), *(LARGE.get(domain, ()) if arguments.large else ())):
        yield row, *solved(planner, harder.problems(domain, row)[: arguments.problems], row)


def score(method: str, domain: str, suite: str, split: str, metric: str, value: float, count: int) -> Score:
    """Return one score."""
    subject = {"method": method, "domain": domain, "suite": suite, "split": split, "seed": 13}
    return Score(**subject, metric=metric, value=value, n=count, note=note())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="contrastive-jumps")
    parser.add_argument("--domains", default="", help="only these domains, with commas between")
    parser.add_argument("--every", type=int, default=1, help="every so many problems of the extrapolation split")
    parser.add_argument("--problems", type=int, default=3, help="problems of each row of suite harder, 0: none")
    parser.add_argument("--large", action="store_true")
    add_csv(parser)
    arguments = parser.parse_args()
    suite, harder = sgp.load_suite(SUITE), sgp.load_suite("harder")
    table = Table("domain", "row", "problems", "solved", "median ms", "mean ms", "largest ms")
    seconds_of: dict[str, float] = {}
    scores: list[Score] = []
    for domain in arguments.domains.split(",") if arguments.domains else suite.domains:
        planner, training = trained(arguments.method, domain, SUITE)
        seconds_of[domain] = training
        scores.append(score(arguments.method, domain, SUITE, "", "training_processor_seconds", training, 0))
        for name, seconds, found in rows(arguments, suite, harder, domain, planner):
            source = suite if name == "extrapolation" else harder
            spent = "median_processor_seconds", median(seconds), len(seconds)
            scores.append(score(arguments.method, domain, source.name, name, *spent))
            figures = (f"{1000 * value:.0f}" for value in (median(seconds), sum(seconds) / len(seconds), max(seconds)))
            table.add_row(domain, name, str(len(seconds)), str(found), *figures)
    write(arguments.csv, scores)
    Console().print(table)
    each = ", ".join(f"{domain} {seconds:.1f}" for domain, seconds in seconds_of.items())
    print(f"training: {each}; together {sum(seconds_of.values()):.1f} s")


if __name__ == "__main__":
    main()
