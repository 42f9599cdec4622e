"""Which problems are known to have a plan within the bound, and which have no plan."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from sgp.datasets.suite import load_suite
from sgp.errors import InputError, StoreError, UnsolvableProblem
from sgp.evaluation import known_plans
from sgp.evaluation.scaling import ProblemSource, ScalingConfig, curve_scores, scaling
from sgp.evaluation.scores import Measurement
from sgp.planning.pddl import parse_plan
from sgp.planning.validation import validate
from sgp.reports.scaling_tables import curve_table
from tests.analysis.walking import ANYWHERE, SOMETIMES_CLOSED, WALKERS, corridor, start_of, walking

FEW = {"epsilon": 0.3, "fails": 9}
ALL = ScalingConfig(**FEW, largest=5, references=99)
SUBJECT = Measurement(method="m", variant="v", domain="walking", suite="s", split="scaling")


def source(domain, seed=0):
    return ProblemSource(domain, "untyped", seed)


def needed(curve, attempt, size):
    """Number of actions of the only plan of a corridor."""
    return 2 * (size - start_of(curve.source.again(attempt))) - 1


def test_a_problem_fits_where_its_shortest_plan_is_within_the_bound(home):
    curve = scaling(WALKERS["wrong"], source(ANYWHERE), 0, ALL)
    assert [each.size for each in curve.points] == [2, 3, 4, 5]
    for each in curve.points:
        lengths = [needed(curve, one, each.size) for one in each.attempts]
        easy = (1, 3) if each.size == 3 else (1,)  # unless next door, the walker turns back where it can
        assert [one.solved for one in each.attempts] == [length in easy for length in lengths]
        assert each.within_bound == fmean(length <= each.max_actions for length in lengths) >= each.coverage
        assert each.with_plan == 1
    assert curve.points[0].coverage == curve.points[1].within_bound == 1
    assert 0 < curve.points[3].coverage < curve.points[3].within_bound < 1


def test_plans_of_other_planners_count_and_nothing_is_asked_without_being_told_to(home, monkeypatch):
    monkeypatch.setattr("sgp.datasets.experts.find_plan", lambda *others, **more: pytest.fail("Fast Downward is asked"))
    config = ScalingConfig(**FEW, largest=4)
    alone = scaling(WALKERS["wrong"], source(ANYWHERE), 0, config)
    assert [each.within_bound for each in alone.points] == [each.coverage for each in alone.points]
    scaling(WALKERS["right"], source(ANYWHERE), 9, config)
    beside = scaling(WALKERS["wrong"], source(ANYWHERE), 0, config)
    assert all(each.with_plan == 1 for each in beside.points)
    size_4 = beside.points[-1]
    assert size_4.within_bound == fmean(needed(beside, one, 4) <= 4 for one in size_4.attempts) > size_4.coverage
    assert [each.coverage for each in beside.points] == [each.coverage for each in alone.points]


def test_so_many_problems_of_a_size_are_asked_and_none_twice(home, monkeypatch):
    asked = []
    real = known_plans.plans_of
    monkeypatch.setattr(
        known_plans, "plans_of", lambda problems, *others: asked.append(len(problems)) or real(problems, *others)
    )
    config = ScalingConfig(**FEW, largest=5, references=1)
    curve = scaling(WALKERS["wrong"], source(ANYWHERE), 0, config)
    assert max(asked) == 1
    assert curve.points[-1].with_plan < 1, "one of four starts is known"
    known = known_plans.cached_plans(next(iter(curve.points[-1].known)))
    assert {plan.configuration for plan in known} <= {"lama-first 10s", "lama 10s"}
    monkeypatch.setattr("sgp.datasets.experts.find_plan", lambda *others, **more: pytest.fail("asked again"))
    again = scaling(WALKERS["wrong"], source(ANYWHERE), 0, config, until=0)
    assert again == curve, "also after the time is up"


def test_unsolvable_problems_are_replaced_and_counted_apart(home):
    config = ScalingConfig(**FEW, largest=4)
    curve = scaling(WALKERS["right"], source(SOMETIMES_CLOSED), 9, config)
    for each in curve.points:
        assert each.coverage == 1, "no unsolvable problem is a failed plan"
        assert each.unsolvable > 0
        drawn = [curve.source.problem(each.size, n + 1) for n in range(len(each.attempts) + each.unsolvable)]
        doors = [problem.problem_pddl.count("(door") for problem in drawn]
        assert doors.count(2 * each.size - 2) == len(each.attempts), "those with all doors are counted"
    told = {score.size: score for score in curve_scores(curve, SUBJECT) if score.metric == "unsolvable"}
    assert [told[each.size].value for each in curve.points] == [each.unsolvable for each in curve.points]
    assert told[4].count == len(curve.points[-1].attempts) + told[4].value
    total = sum(each.unsolvable for each in curve.points)
    assert f"{total} problems have no plan" in curve_table(curve, "t", 0.1).caption
    assert scaling(WALKERS["right"], source(SOMETIMES_CLOSED), 9, config, jobs=2) == curve


def test_a_proof_against_a_generators_promise_is_an_error(home):
    broken = source(walking(lambda rng, rooms: corridor(rooms, 1, closed=True)))
    with pytest.raises(
        UnsolvableProblem, match=r"walking-2-\d+ is proven to have no plan, but its domain promises one; mend"
    ):
        scaling(WALKERS["wrong"], broken, 9, ALL)


def test_a_size_of_unsolvable_problems_alone_is_an_error(home):
    closed = walking(lambda rng, rooms: corridor(rooms, 1, closed=True), solvable=False)
    with pytest.raises(InputError, match=r"problems of walking with 2 objects and seed 0 are all proven unsolvable"):
        scaling(WALKERS["right"], source(closed), 9, ALL)


def test_sources_with_other_problems_share_no_attempts(home):
    for tracked in (False, True):
        other = replace(source(ANYWHERE), tracked=tracked)
        scaling(WALKERS["right"], other, 9, ScalingConfig(**FEW, largest=2))
    assert len(list(home.glob("scaling/*/2.json"))) == 2


def test_a_generator_that_fails_or_changes_is_a_sentence(home):
    def failing(rng, rooms):
        raise KeyError("door")

    with pytest.raises(InputError, match=r"generator of walking failed on problem 1 of 2 objects with seed 3 .*mend"):
        scaling(WALKERS["right"], source(walking(failing), seed=3), 9, ALL)
    curve = scaling(WALKERS["wrong"], source(ANYWHERE), 0, ScalingConfig(**FEW, largest=3))
    changed = source(walking(lambda rng, rooms: corridor(rooms, 1, closed=True)))
    with pytest.raises(
        StoreError, match=r"walking-3-\d+ is generated differently now than when it was evaluated; remove"
    ):
        changed.again(curve.points[-1].attempts[0])


@pytest.mark.parametrize("variant", known_plans.BASELINES)
def test_a_classical_planner_attempts_every_problem_of_a_split(variant, home):
    suite = load_suite("state-centric")
    problems = suite.problems("gripper", "validation")
    attempts = known_plans.baseline_attempts(suite, "gripper", "validation", variant)
    assert [(tried.problem, tried.sha256) for tried in attempts] == [(each.name, each.sha256) for each in problems]
    for problem, tried in zip(problems, attempts, strict=True):
        assert tried.solved
        assert validate(problem, parse_plan("\n".join(tried.plan))).valid
