"""A trained planner against LAMA's first plan: who solves what, in which time, by how many actions, over size.

    python benchmarks/against_lama.py --csv data/measured/against-lama.csv
    python benchmarks/against_lama.py --suites track --runs RUN... --csv data/measured/against-lama.csv

A domain is planned in by the first of the `--runs` that fits it, else by the planner that comes with the package. Each
problem is solved three times, one after the other: by this process, which has planned before, by `sgp solve`, from its
start to VAL's verdict and its end, and by Fast Downward with LAMA's first iteration. Seconds are processor time, and
VAL judges every plan. The file is written after each problem, and what stands in it is not measured again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import note, timed, timed_processes
from rich.console import Console

import sgp
from sgp.datasets.runs import Run, open_run
from sgp.datasets.suite import Entry, Suite
from sgp.errors import DomainMismatch
from sgp.evaluation.subjects import subject_of
from sgp.planning.clock import LimitReached
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.pddl import Problem
from sgp.planning.validation import confirm
from sgp.progress import track
from sgp.reports.against_lama import AgainstLama, against_lama_sheet, read_against, write_against

SUITES = "state-centric:extrapolation,harder"


def chosen(suite: Suite, domain: str, split: str, most: int) -> list[tuple[Entry, Problem]]:
    """The problems of a split with their entries, by size; `most` of them, evenly, where it is not 0."""
    entries = suite.domains[domain].splits[split]
    found = sorted(zip(entries, suite.problems(domain, split), strict=True), key=lambda pair: pair[0].size)
    places = np.linspace(0, len(found) - 1, min(most or len(found), len(found))).round().astype(int)
    return [found[place] for place in places]


def run_for(suite: Suite, domain: str, problem: Problem, runs: Sequence[Run]) -> Run:
    """The run that plans in a domain. Raises DomainMismatch where there is none."""
    signature = suite.domain_text(domain).signature
    return next((each for each in runs if each.domain_text.signature == signature), None) or sgp.fitting(problem)


def ours(problem: Problem, run: Run, seconds: float, decoding: str) -> tuple[int, float] | None:
    """Actions and seconds in this process; None where no plan was found."""

    def solved() -> int | None:
        try:
            rollout = sgp.solve(problem, run.folder, sgp.Limit(seconds=seconds), decoding, keep="plan")
        except (LimitReached, MemoryError):  # before the problem was read
            return None
        return len(rollout.plan) if confirm(rollout).valid else None

    length, spent = timed(solved)
    return None if length is None else (length, round(spent, 4))


def ours_started(problem: Problem, run: Run, seconds: float, decoding: str) -> float | None:
    """Seconds of a process that solves the problem; None where it did not. Raises CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        for file, text in zip(files, (problem.domain_pddl, problem.problem_pddl), strict=True):
            file.write_text(text, encoding="utf-8")
        words = ["--run", str(run.folder), "--seconds", f"{seconds:g}", "--decoding", decoding, "--keep", "plan"]
        command = [sys.executable, "-m", "sgp.cli", "solve", *map(str, files), *words]
        done, spent = timed_processes(lambda: subprocess.run(command, capture_output=True, text=True))
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return round(spent, 4) if done.returncode == 0 else None


def lama(problem: Problem, seconds: float) -> tuple[int, float] | None:
    """Actions of LAMA's first plan and seconds of its processes; None where there is none in time."""
    stage = replace(LAMA_FIRST, seconds=seconds)
    found, spent = timed_processes(lambda: find_plan(problem, (stage,), strict=True))
    if found.plan is None or not sgp.validate(problem, found.plan).valid:
        return None
    return len(found.plan), round(spent, 4)


def measured(row: AgainstLama, problem: Problem, run: Run, decoding: str) -> AgainstLama:
    """A row with what all three did."""
    own = ours(problem, run, row.limit, decoding)
    start = ours_started(problem, run, row.limit, decoding) if own else None
    theirs = lama(problem, row.limit)
    length, seconds = own or (None, None)
    lama_length, lama_seconds = theirs or (None, None)
    return replace(
        row,
        length=length,
        seconds=seconds,
        start_seconds=start,
        lama_length=lama_length,
        lama_seconds=lama_seconds,
        note=note("up-fast-downward"),
    )


def asked(arguments: argparse.Namespace) -> Iterator[tuple[AgainstLama, Problem, Run]]:
    """A row without figures for each problem, and which run is to solve it."""
    runs = [open_run(folder) for folder in arguments.runs]
    for name, _, splits in (each.partition(":") for each in arguments.suites.split(",")):
        suite = sgp.load_suite(name)
        for domain in arguments.domains.split(",") if arguments.domains else suite.domains:
            for split in suite.chosen_splits(domain, splits.split("+") if splits else ()):
                problems = chosen(suite, domain, split, arguments.problems)
                try:
                    run = run_for(suite, domain, problems[0][1], runs)
                except DomainMismatch as error:
                    print(f"{domain} of suite {name} is left out: {error}", file=sys.stderr)
                    break
                subject = subject_of(run, name, domain, split, arguments.decoding)
                for entry, problem in problems:
                    about = {"problem": problem.name, "sha256": problem.sha256, "size": entry.size}
                    about |= {"run": run.sha256, "limit": arguments.seconds, "note": ""}
                    figures = dict.fromkeys(("length", "seconds", "start_seconds", "lama_length", "lama_seconds"))
                    yield AgainstLama(**subject.record(), **about, **figures), problem, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", default=SUITES, help="suites with commas between, each with splits as in A:B+C")
    parser.add_argument("--domains", default="", help="only these domains, with commas between")
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="folders of trained runs")
    parser.add_argument("--decoding", default="default")
    parser.add_argument("--problems", type=int, default=0, help="problems of each split, evenly by size; 0: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a problem, for each of both")
    parser.add_argument("--csv", type=Path, help="keep the rows here, as data/measured/against-lama.csv")
    arguments = parser.parse_args()
    if arguments.problems < 0:
        parser.error(f"--problems is {arguments.problems}; expected at least 0, which takes all")
    if not arguments.seconds >= 2:  # of one second the driver leaves nothing to the search: it counts whole ones
        parser.error(f"--seconds is {arguments.seconds:g}; expected at least 2")
    rows = {row.place: row for row in read_against(arguments.csv)} if arguments.csv and arguments.csv.is_file() else {}
    work = [each for each in asked(arguments) if each[0].place not in rows or not rows[each[0].place].is_of(each[0])]
    warm: set[str] = set()
    for row, problem, run in track(work, "against LAMA"):
        if run.sha256 not in warm:  # kernels are loaded, and the run
            ours(problem, run, row.limit, arguments.decoding)
            warm.add(run.sha256)
        rows[row.place] = measured(row, problem, run, arguments.decoding)
        if arguments.csv:
            write_against(arguments.csv, rows.values())
    if rows:
        Console(width=max(Console().width, 150)).print(against_lama_sheet(list(rows.values())).terminal())


if __name__ == "__main__":
    main()
