"""The engine on unified-planning's test problems: `python benchmarks/engine.py --csv data/measured/engine.csv`.

For every problem of `unified_planning.test.examples`, the table reports whether the engine supports its kind and
whether the package reads it. Problems of a supported kind are solved by few-shot learning: contrastive jumps learn from
up to five variants of the problem, with initial states that random walks reach from the problem's own, that are not
goals and have a plan. If fewer than two variants are found, the planner learns from the problem itself, and the table
marks this: a solution then shows that problem and plan convert correctly and nothing about generalization. Plans are
judged by VAL within the engine and by unified-planning's validator here. One random seed, default settings.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table
from unified_planning.engines import SequentialPlanValidator, UPSequentialSimulator
from unified_planning.exceptions import UPException
from unified_planning.io import PDDLWriter
from unified_planning.model import Problem
from unified_planning.shortcuts import OneshotPlanner, get_environment
from unified_planning.test.examples import get_example_problems

import sgp
from sgp.engine import SgpEngine, register
from sgp.errors import InputError, PddlError, UnsolvableProblem
from sgp.files import write_text
from sgp.installed import DISTRIBUTION
from sgp.progress import track

VARIANTS, WALKS, LONGEST_WALK = 5, 60, 12


@dataclass(frozen=True)
class Line:
    """Result for one problem; the fields after `learned_from` are empty if its kind is not supported."""

    problem: str
    promised: bool
    read: bool
    learned_from: str = ""  # number of variants, or the problem itself
    status: str = ""
    actions: int | None = None
    valid: bool | None = None  # by the validator of unified-planning
    seconds: float | None = None  # of planning, without training
    why: str = ""  # reason for no training or no plan
    note: str = ""


def is_read(problem: Problem) -> bool:
    """Return whether the package reads the problem."""
    if type(problem) is not Problem:  # hierarchical and scheduling problems cannot be written as PDDL actions
        return False
    try:
        writer = PDDLWriter(problem)
        for each in sgp.Problem("example", writer.get_domain(), writer.get_problem()).alternatives():
            sgp.Task(each)
    except (PddlError, NotImplementedError, UPException):
        return False
    return True


def variants(problem: Problem, rng: random.Random) -> list[Problem]:
    """Variants of the problem with other initial states that have a plan."""
    simulator = UPSequentialSimulator(problem)
    first = simulator.get_initial_state()
    names = list(problem.initial_values)
    met, found = [[first.get_value(name) for name in names]], []
    for _ in range(WALKS):
        state = first
        for _ in range(rng.randint(1, LONGEST_WALK)):
            moves = sorted(simulator.get_applicable_actions(state), key=str)
            if not moves:
                break
            state = simulator.apply(state, *rng.choice(moves))
        values = [state.get_value(name) for name in names]
        if values in met or simulator.is_goal(state):
            continue
        met.append(values)
        other = problem.clone()
        other.name = f"{problem.name}_{len(met)}"
        for name, value in zip(names, values, strict=True):
            other.set_initial_value(name, value)
        if has_plan(other):
            found.append(other)
        if len(found) == VARIANTS:
            break
    return found


def has_plan(problem: Problem) -> bool:
    """Return whether the expert finds a plan."""
    writer = PDDLWriter(problem)
    try:
        return sgp.data.plan_of(sgp.Problem(problem.name, writer.get_domain(), writer.get_problem())).plan is not None
    except UnsolvableProblem:
        return False


def lines() -> Iterator[Line]:
    """Return a row for every test problem of the library."""
    versions = f"unified-planning {version('unified_planning')}, sgp {version(DISTRIBUTION)}"
    note = f"{date.today()}, {os.cpu_count()} cores, {versions}"
    for name, case in track(sorted(get_example_problems().items()), "examples"):
        problem = case.problem
        line = Line(name, SgpEngine.supports(problem.kind), is_read(problem), note=note)
        yield planned(line, problem) if line.promised else line


def planned(line: Line, problem: Problem) -> Line:
    """Return a row with the result of planning."""
    others = variants(problem, random.Random(13))
    few = others if len(others) > 1 else [problem]
    learned_from = "itself" if few == [problem] else f"{len(few)} variants"
    try:
        engine = OneshotPlanner(name="sgp", params={"problems": few})
    except InputError as error:
        return replace(line, learned_from=learned_from, status="NOT_LEARNED", why=str(error).splitlines()[0])
    started = time.perf_counter()
    result = engine.solve(problem)
    seconds = round(time.perf_counter() - started, 3)
    plan = result.plan
    return Line(
        line.problem,
        line.promised,
        line.read,
        learned_from,
        result.status.name,
        None if plan is None else len(plan.actions),
        None if plan is None else bool(SequentialPlanValidator().validate(problem, plan)),
        seconds,
        "" if plan is not None else result.log_messages[0].message,
        line.note,
    )


def main() -> None:
    """Print the table, and write it to `--csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, help="write the table here")
    chosen = parser.parse_args()
    get_environment().credits_stream = None
    register()
    found = list(lines())
    names = [each.name for each in fields(Line)]
    table = Table(*names[:-1], title="unified_planning.test.examples")
    for line in found:
        table.add_row(*("" if value is None else str(value) for value in list(asdict(line).values())[:-1]))
    Console(width=140).print(table)
    if chosen.csv is not None:
        text = io.StringIO()
        rows = csv.DictWriter(text, names, lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(line) for line in found)
        write_text(chosen.csv, text.getvalue())


if __name__ == "__main__":
    main()
