"""Coverage on problems of growing size, up to the stopping threshold."""

from __future__ import annotations

import re
from statistics import fmean

import pytest

from sgp.domains import get_domain
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource
from sgp.experiments import joint
from sgp.experiments.joint import (
    VALIDATION_SEED,
    DynamicConfig,
    DynamicCoverage,
    coverage_of_given,
    dynamic_coverage,
)
from sgp.methods.loading import load_planner
from sgp.planning.pddl import Problem
from tests.analysis.walking import PDDL, WALKERS, corridor, walking

BOUND = 12


def walk(rooms, start):
    return Problem("walk", PDDL, corridor(rooms, start))


GRIPPER = ProblemSource(get_domain("gripper"), "untyped", VALIDATION_SEED)


@pytest.fixture
def planner(quick_run):
    run = quick_run("contrastive-jumps", "gripper", "one-step")
    return EvaluatedPlanner(str(run.folder), run.planner_sha256, load_planner)


def shortest(problem):
    """Length of the shortest plan: each ball is picked and dropped, two a trip, with no way back after the last."""
    init = problem.problem_pddl.split("(:goal")[0]
    wanted = len(re.findall(r"\(at \S+ rooma\)", init))
    return 2 * wanted + 2 * -(-wanted // 2) - 1


def expected(problems, threshold):
    found = {}
    for size in range(9, 100):
        lengths = [shortest(GRIPPER.problem(size, number)) for number in range(1, problems + 1)]
        found[size] = sum(length <= BOUND for length in lengths) / problems
        if found[size] <= threshold:
            return found
    raise AssertionError("the bound ends it")


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("threshold", [0.3, 0.6])
def test_sizes_grow_until_coverage_is_at_most_the_threshold(planner, jobs, threshold):
    """A planner of shortest plans solves exactly the problems whose shortest plan is within the bound."""
    found = dynamic_coverage(planner, GRIPPER, 8, BOUND, DynamicConfig(5, threshold), jobs)
    assert found.sizes == expected(5, threshold)
    assert len(found.sizes) > 1
    assert [size for size, value in found.sizes.items() if value <= threshold] == [max(found.sizes)]
    problems = [GRIPPER.problem(size, number) for size in found.sizes for number in range(1, 6)]
    lengths = [shortest(each) for each in {each.sha256: each for each in problems}.values()]
    assert found.actions == pytest.approx(fmean(length for length in lengths if length <= BOUND))


def test_sizes_leap_and_seconds_bound_where_that_is_asked(planner):
    rules = DynamicConfig(2, multiples=(1.5, 2, 2.05, 4), seconds=60)
    found = dynamic_coverage(planner, GRIPPER, 8, 1, rules)
    assert list(found.sizes) == [12, 16, 32], "no size twice"
    assert set(found.sizes.values()) == {1}, "whatever the bound on actions"
    squares = DynamicConfig(multiples=(2, 3)).sizes(get_domain("visitall").scaled, 10)
    assert list(squares) == [25, 36], "the next sizes that have problems"


def test_given_problems_are_grouped_by_size():
    found = coverage_of_given(WALKERS["wrong"], [walk(4, 1), walk(4, 3), walk(6, 1)], 10, DynamicConfig())
    assert found == DynamicCoverage({4: 1 / 2, 6: 0.0}, 1)


def test_a_problem_that_is_drawn_twice_counts_twice(monkeypatch):
    """Coverage counts the problems drawn (algorithm 2, m of a size); each distinct one is solved once."""
    doors = {1: 1, 2: 3, 3: 1, 4: 1, 5: 2}  # initial room of the walker in a corridor of four rooms, by number
    source = ProblemSource(walking(lambda rng, rooms: corridor(rooms, 1)), "untyped", 0)
    monkeypatch.setattr(ProblemSource, "problem", lambda self, size, number: walk(size, min(doors[number], size - 1)))
    tried, real = [], joint.run_all
    monkeypatch.setattr(joint, "run_all", lambda works, *others: tried.extend(works) or real(works, *others))
    found = dynamic_coverage(WALKERS["wrong"], source, 3, 10, DynamicConfig(5, 0.3))
    assert found.sizes == {4: 1 / 5}, "walking away from the goal, it gets there from next door alone: once in five"
    assert [len(work.problems) for work in tried] == [3]
