"""Trained planners against LAMA's first plan: solved problems, CPU time and plan length, by problem size.

    python benchmarks/against_lama.py --csv data/measured/against-lama.csv
    python benchmarks/against_lama.py --suites track --runs RUN... --csv data/measured/against-lama.csv

Each domain uses the first of `--runs` that fits it, else the planner shipped with the package. Each problem is solved
three times in sequence: by this warm process, by a new process of `sgp solve` (timed from its start to its end, VAL's
verdict included), and by Fast Downward with the first iteration of LAMA. Our plans are those of `sgp solve`, without
redundant actions; LAMA's are as found. Seconds are CPU time. VAL judges every plan. The file is written after each
problem, and problems already in it are not measured again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measuring import note, timed, timed_processes
from rich.console import Console

import sgp
from sgp.datasets.runs import Run, open_run
from sgp.datasets.suite import Entry, Suite
from sgp.errors import DomainMismatch
from sgp.evaluation.attempts import subject_of
from sgp.planning.clock import LimitReached
from sgp.planning.experts import LAMA_FIRST, find_plan
from sgp.planning.pddl import Problem
from sgp.planning.validation import confirm
from sgp.progress import track
from sgp.reports.table import Table
from sgp.reports.tables import pivot

SUITES = "state-centric:extrapolation,harder"
PLACE = ("suite", "domain", "split", "problem")
SAME = (*PLACE, "sha256", "run", "limit", "method", "variant", "decoding", "selected_by")  # of one measurement
FIGURES = ("length", "seconds", "start_seconds", "lama_length", "lama_seconds")  # plan lengths; CPU seconds
SIZES = ["below 50", "50 to 99", "100 to 199", "200 to 499", "from 500"]  # number of objects


def lama_table(rows: pd.DataFrame) -> Table:
    """Table by suite, domain and size class: problems, solved by planner, ratios where both solved."""

    def ratio(own: str, lama: str) -> Callable[[pd.DataFrame], str]:
        def of(line: pd.DataFrame) -> str:
            ratios = (line[own] / line[lama]).dropna()
            return f"{ratios.median():.2f} [{ratios.min():.2f}, {ratios.max():.2f}]" if len(ratios) else ""

        return of

    def middle(name: str) -> Callable[[pd.DataFrame], str]:
        return lambda line: f"{line[name].median():.2f}" if line[name].notna().any() else ""

    extra: dict[str, Callable[[pd.DataFrame], str]] = {
        "n": lambda line: str(len(line)),
        "solved": lambda line: str(line["length"].notna().sum()),
        "LAMA solved": lambda line: str(line["lama_length"].notna().sum()),
        "seconds": middle("start_seconds"),
        "LAMA's seconds": middle("lama_seconds"),
        "ratio of seconds": ratio("start_seconds", "lama_seconds"),
        "without start": ratio("seconds", "lama_seconds"),
        "ratio of lengths": ratio("length", "lama_length"),
    }
    limits = " and ".join(f"{limit:g}" for limit in sorted(set(rows["limit"])))
    both = rows.dropna(subset=["length", "lama_length"])
    caption = (
        f"Within {limits} s a problem by the clock; plans that VAL accepts. Seconds: of processors, median; ours with "
        "the start of a process, LAMA's first plan with its translator. Ratios: ours over LAMA's where both solved, "
        "median [least, most]."
    )
    if len(both):
        means = [f"{suite} {mean_ratio(found)}" for suite, found in both.groupby("suite", sort=False)]
        caption += f" Geometric mean of the ratio of lengths: {', '.join(means)}, all {mean_ratio(both)}."
    sizes = pd.cut(rows["size"], [0, 50, 100, 200, 500, 10**9], right=False, labels=SIZES)
    rows = rows.assign(objects=sizes.astype(str), order=sizes.cat.codes).sort_values(["domain", "order"], kind="stable")
    title = "A trained planner against LAMA's first plan"
    return pivot(rows, ("domain", "objects"), "objects", str, title, caption, (), section="suite", extra=extra)


def mean_ratio(rows: pd.DataFrame) -> str:
    """Return the geometric mean of the ratio of plan lengths, its 95 % interval (normal, of the logarithms) and n."""
    logs = np.log(rows["length"].astype(float) / rows["lama_length"].astype(float))
    interval = ""
    if len(logs) > 1:
        low, high = np.exp(logs.mean() + 1.96 * logs.sem() * np.array([-1, 1]))
        interval = f" [{low:.2f}, {high:.2f}]"
    return f"{np.exp(logs.mean()):.2f}{interval} (n = {len(logs)})"


def read(file: Path | None) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the measured rows of a file, by problem."""
    if file is None or not file.is_file():
        return {}
    rows = pd.read_csv(file).astype(object)
    texts = rows[["decoding", "selected_by"]].fillna("")
    records = rows.where(rows.notna(), None).assign(**texts).to_dict("records")
    return {tuple(row[name] for name in PLACE): row for row in records}


def write(file: Path, rows: Mapping[tuple[str, ...], dict[str, Any]]) -> None:
    """Write rows as CSV."""
    frame = pd.DataFrame(list(rows.values()))
    frame[["length", "lama_length"]] = frame[["length", "lama_length"]].astype("Int64")
    frame.to_csv(file, index=False)


def chosen(suite: Suite, domain: str, split: str, most: int) -> list[tuple[Entry, Problem]]:
    """Return the problems of a split with their entries, by size; `most` evenly spaced ones unless it is 0."""
    entries = suite.domains[domain].splits[split]
    found = sorted(zip(entries, suite.problems(domain, split), strict=True), key=lambda pair: pair[0].size)
    places = np.linspace(0, len(found) - 1, min(most or len(found), len(found))).round().astype(int)
    return [found[place] for place in places]


def run_for(suite: Suite, domain: str, problem: Problem, runs: Sequence[Run]) -> Run:
    """Return the run that plans in a domain; raise DomainMismatch where there is none."""
    signature = suite.domain_text(domain).signature
    return next((each for each in runs if each.domain_text.signature == signature), None) or sgp.run_for(problem)


def ours(problem: Problem, run: Run, seconds: float, decoding: str) -> tuple[int, float] | None:
    """Return the plan length and seconds in this process, or None where no plan was found."""

    def solved() -> int | None:
        try:
            rollout = sgp.solve(problem, run.folder, sgp.Limit(seconds=seconds), decoding, keep="plan")
        except (LimitReached, MemoryError):  # limit reached while reading the problem
            return None
        return len(rollout.reduced_plan) if confirm(rollout, reduced=True).valid else None

    length, spent = timed(solved)
    return None if length is None else (length, round(spent, 4))


def ours_started(problem: Problem, run: Run, seconds: float, decoding: str) -> float | None:
    """Return the CPU seconds of a new process that solves the problem, or None where it finds no plan."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        for file, text in zip(files, (problem.domain_pddl, problem.problem_pddl), strict=True):
            file.write_text(text, encoding="utf-8")
        words = ["--run", str(run.folder), "--seconds", f"{seconds:g}", "--decoding", decoding, "--keep", "plan"]
        command = [sys.executable, "-m", "sgp", "solve", *map(str, files), *words]
        done, spent = timed_processes(lambda: subprocess.run(command, capture_output=True, text=True))
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return round(spent, 4) if done.returncode == 0 else None


def lama(problem: Problem, seconds: float) -> tuple[int, float] | None:
    """Return the length of LAMA's first plan and its CPU seconds, or None where none is found in time."""
    stage = replace(LAMA_FIRST, seconds=seconds)
    found, spent = timed_processes(lambda: find_plan(problem, (stage,), strict=True))
    if found.plan is None or not sgp.validate(problem, found.plan).valid:
        return None
    return len(found.plan), round(spent, 4)


def measured(row: dict[str, Any], problem: Problem, run: Run, decoding: str) -> dict[str, Any]:
    """Return a row with the results of all three planners."""
    own = ours(problem, run, row["limit"], decoding)
    start = ours_started(problem, run, row["limit"], decoding) if own else None
    figures = (*(own or (None, None)), start, *(lama(problem, row["limit"]) or (None, None)))
    return {**row, **dict(zip(FIGURES, figures, strict=True)), "note": note("up-fast-downward")}


def asked(arguments: argparse.Namespace) -> Iterator[tuple[dict[str, Any], Problem, Run]]:
    """Yield an unmeasured row for each problem, with the problem and the run that solves it."""
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
                    about |= {"run": run.sha256, "limit": arguments.seconds}
                    yield {**subject.record(), **about}, problem, run


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
    if not arguments.seconds >= 2:  # the driver counts whole seconds, so one second leaves no time for search
        parser.error(f"--seconds is {arguments.seconds:g}; expected at least 2")
    rows, work = read(arguments.csv), []
    for row, problem, run in asked(arguments):
        place = tuple(row[name] for name in PLACE)
        if place not in rows or any(rows[place][name] != row[name] for name in SAME):
            work.append((place, row, problem, run))
    warm: set[str] = set()
    for place, row, problem, run in track(work, "against LAMA"):
        if run.sha256 not in warm:  # warm-up: load the kernels and the run
            ours(problem, run, row["limit"], arguments.decoding)
            warm.add(run.sha256)
        rows[place] = measured(row, problem, run, arguments.decoding)
        if arguments.csv:
            write(arguments.csv, rows)
    if rows:
        shown = lama_table(pd.DataFrame(list(rows.values())))
        Console(width=max(Console().width, 150)).print(shown.terminal())


if __name__ == "__main__":
    main()
