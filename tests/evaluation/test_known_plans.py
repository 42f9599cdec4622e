"""Curves over size of a walker: known plans, unsolvable problems, properties of attempts, dynamic validation."""

import math
import re
from dataclasses import replace
from statistics import fmean
from unittest.mock import Mock

import pytest

import sgp
from sgp.errors import ConfigurationError, InputError, StoreError, UnsolvableProblem
from sgp.evaluation import known_plans
from sgp.evaluation import scaling as module
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource, ScalingConfig, curve_scores, samples, scaling
from sgp.evaluation.scores import Measurement
from sgp.experiments import joint
from sgp.planning.pddl import Problem, parse_plan
from sgp.reports.scaling_tables import curve_table
from tests.evaluation.walking import ANYWHERE, PDDL, SOMETIMES_CLOSED, WALKERS, corridor, start_of, walking

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
    asked = Mock(wraps=known_plans.plans_of)
    monkeypatch.setattr(known_plans, "plans_of", asked)
    config = ScalingConfig(**FEW, largest=5, references=1)
    curve = scaling(WALKERS["wrong"], source(ANYWHERE), 0, config)
    assert max(len(call.args[0]) for call in asked.call_args_list) == 1
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
    assert told[4].n == len(curve.points[-1].attempts) + told[4].value
    total = sum(each.unsolvable for each in curve.points)
    assert f"{total} problems have no plan" in curve_table(curve, "t", 0.1).caption
    assert scaling(WALKERS["right"], source(SOMETIMES_CLOSED), 9, config, jobs=2) == curve


def test_a_proof_against_a_promise_and_a_size_of_unsolvable_problems_alone_are_errors(home):
    def closed(**options):
        return source(walking(lambda rng, rooms: corridor(rooms, 1, closed=True), **options))

    words = r"walking-2-\d+ is proven to have no plan, but its domain promises one; mend"
    with pytest.raises(UnsolvableProblem, match=words):
        scaling(WALKERS["wrong"], closed(), 9, ALL)
    with pytest.raises(InputError, match=r"problems of walking with 2 objects and seed 0 are all proven unsolvable"):
        scaling(WALKERS["right"], closed(solvable=False), 9, ALL)


def test_a_generator_that_fails_or_changes_is_a_sentence_and_sources_share_no_attempts(home):
    for tracked in (False, True):
        other = replace(source(ANYWHERE), tracked=tracked)
        scaling(WALKERS["right"], other, 9, sgp.experiments.ScalingConfig(**FEW, largest=2))
    assert len(list(home.glob("scaling/*/2.json"))) == 2

    def failing(rng, rooms):
        raise KeyError("door")

    with pytest.raises(InputError, match=r"generator of walking failed on problem 1 of 2 objects with seed 3 .*mend"):
        scaling(WALKERS["right"], source(walking(failing), seed=3), 9, ALL)
    curve = scaling(WALKERS["wrong"], source(ANYWHERE), 0, sgp.experiments.ScalingConfig(**FEW, largest=3))
    changed = source(walking(lambda rng, rooms: corridor(rooms, 1, closed=True)))
    words = r"walking-3-\d+ is generated differently now than when it was evaluated; remove"
    with pytest.raises(StoreError, match=words):
        changed.again(curve.points[-1].attempts[0])


@pytest.mark.parametrize("variant", known_plans.BASELINES)
def test_a_classical_planner_attempts_every_problem_of_a_split(variant, home):
    suite = sgp.load_suite("state-centric")
    problems = suite.problems("gripper", "validation")
    attempts = known_plans.baseline_attempts(suite, "gripper", "validation", variant)
    assert [(tried.problem, tried.sha256) for tried in attempts] == [(each.name, each.sha256) for each in problems]
    for problem, tried in zip(problems, attempts, strict=True):
        assert tried.solved
        assert sgp.validate(problem, parse_plan("\n".join(tried.plan))).valid


CONFIG = ScalingConfig(epsilon=0.3, fails=9, largest=4)


@pytest.fixture
def curve(home):
    return scaling(WALKERS["wrong"], ProblemSource(ANYWHERE, "untyped", 0), 9, CONFIG)


def scored(curve, properties):
    return {(each.metric, each.size): each for each in curve_scores(curve, SUBJECT, properties)}


def test_properties_are_means_over_the_attempts_that_have_them_and_nothing_is_tried_again(curve, monkeypatch):
    monkeypatch.setattr(module, "run_all", lambda *others: pytest.fail("tried again"))
    assert scaling(WALKERS["wrong"], source(ANYWHERE), 9, CONFIG) == curve

    def rests(sample):
        states = sample.trajectory.states if sample.solved else ()
        tired = [any(atom.predicate == "tired" for atom in sample.trajectory.task.atoms(state)) for state in states]
        return sum(tired) if sample.solved else None

    own = {"rests": rests, "start": lambda sample: start_of(sample.problem), "never": lambda sample: None}
    found = scored(curve, own)
    for each in curve.points:
        plans = [len(one.plan) for one in each.attempts if one.solved]
        length, relative = found["plan_length", each.size], found["plan_length_per_object", each.size]
        assert (length.value, length.n) == (fmean(plans), len(plans))
        assert relative.value == pytest.approx(length.value / each.size)
        assert found["seconds", each.size].n == found["start", each.size].n == len(each.attempts)
        assert found["rests", each.size].value == fmean((plan + 1) // 2 for plan in plans), "tired after every walk"
        assert ("never", each.size) not in found
    unsolved = next(each for each in samples(curve, curve.points[-1]) if not each.solved)
    assert unsolved.trajectory is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("odd", math.nan, r"property 'odd' of walking-2-\d+ is nan; expected a finite number"),
        ("word", "long", r"property 'word' .* is 'long'; expected a finite number"),
        ("coverage", 1.0, "property 'coverage' has the name of a metric"),
    ],
)
def test_a_property_that_is_none_is_a_sentence(name, value, words, curve):
    with pytest.raises(ConfigurationError, match=words):
        scored(curve, {name: lambda sample: value})


BOUND = 12


def walk(rooms, start):
    return Problem("walk", PDDL, corridor(rooms, start))


GRIPPER = ProblemSource(sgp.get_domain("gripper"), "untyped", joint.VALIDATION_SEED)


@pytest.fixture
def planner(quick_run):
    run = quick_run("contrastive-jumps", "gripper", "one-step")
    return EvaluatedPlanner(str(run.folder), run.planner_sha256, sgp.load_planner)


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
    found = joint.dynamic_coverage(planner, GRIPPER, 8, BOUND, joint.DynamicConfig(5, threshold), jobs)
    assert found.sizes == expected(5, threshold)
    assert len(found.sizes) > 1
    assert [size for size, value in found.sizes.items() if value <= threshold] == [max(found.sizes)]
    for size, lengths in found.lengths.items():
        known = [shortest(GRIPPER.problem(size, number)) for number in range(1, 6)]
        assert lengths == tuple(length if length <= BOUND else 0 for length in known)


def test_sizes_leap_and_seconds_bound_where_that_is_asked(planner):
    rules = joint.DynamicConfig(2, multiples=(1.5, 2, 2.05, 4), seconds=60)
    found = joint.dynamic_coverage(planner, GRIPPER, 8, 1, rules)
    assert list(found.sizes) == [12, 16, 32], "no group twice"
    assert set(found.sizes.values()) == {1}, "whatever the bound on actions"
    for size, lengths in found.lengths.items():
        assert lengths == tuple(shortest(GRIPPER.problem(size + number, number + 1)) for number in (0, 1))
    squares = joint.DynamicConfig(2, multiples=(2, 3)).groups(sgp.get_domain("visitall").scaled, 10)
    assert list(squares) == [(25, 36), (36, 49)], "the next sizes that have problems"


def test_given_problems_are_grouped_by_size_and_a_problem_that_is_drawn_twice_counts_twice(monkeypatch):
    """Coverage counts the problems drawn (algorithm 2, m of a size); each distinct one is solved once."""
    given = [walk(4, 1), walk(4, 3), walk(6, 1)]
    found = joint.coverage_of_given(WALKERS["wrong"], given, 10, sgp.experiments.DynamicConfig())
    assert (found.sizes, found.lengths) == ({4: 1 / 2, 6: 0.0}, {4: (0, 1), 6: (0,)})
    assert found.milliseconds > 0
    doors = {1: 1, 2: 3, 3: 1, 4: 1, 5: 2}  # initial room of the walker in a corridor of four rooms, by number
    monkeypatch.setattr(ProblemSource, "problem", lambda self, size, number: walk(size, min(doors[number], size - 1)))
    tried = Mock(wraps=joint.run_all)
    monkeypatch.setattr(joint, "run_all", tried)
    one = source(walking(lambda rng, rooms: corridor(rooms, 1)))
    found = joint.dynamic_coverage(WALKERS["wrong"], one, 3, 10, sgp.experiments.DynamicConfig(5, 0.3))
    assert found.sizes == {4: 1 / 5}, "walking away from the goal, it gets there from next door alone: once in five"
    assert [len(work.problems) for call in tried.call_args_list for work in call.args[0]] == [3]
