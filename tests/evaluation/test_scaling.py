"""Coverage over size, measured until its interval is narrow."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from statistics import fmean

import pytest
from scipy.stats import t as student
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.errors import ConfigurationError, StoreError
from sgp.evaluation import scaling
from sgp.evaluation.attempts import Attempt
from sgp.evaluation.scaling import ScalingConfig, least_count, still_needed, sufficient_count
from sgp.evaluation.scores import StopReason
from sgp.experiments.joint import plan_bound
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task

QUICK = ScalingConfig(epsilon=0.3, largest=8)


def first_enough(solved, epsilon, kappa):
    """The stopping rule in plain arithmetic."""
    for count in range(2, len(solved) + 1):
        rate = fmean(solved[:count])
        t = student.ppf(1 - kappa / 2, count - 1)
        if t**2 * (rate * (1 - rate) + 1 / count) / count <= epsilon**2:
            return count
    return None


def test_as_many_results_as_the_interval_needs():
    assert least_count(0.05, 0.1) == 34, "t of 33 degrees of freedom is 1.692, and 1.692 / 34 is the first below .05"
    assert sufficient_count([True] * 33, 0.05, 0.1) is None
    assert sufficient_count([False] * 60, 0.05, 0.1) == 34
    half = [bool(number % 2) for number in range(400)]
    assert sufficient_count(half, 0.05, 0.1) == first_enough(half, 0.05, 0.1) == 277
    mixed = [number % 7 == 0 for number in range(300)]
    assert sufficient_count(mixed, 0.05, 0.1) == first_enough(mixed, 0.05, 0.1)
    assert sufficient_count([], 0.05, 0.1) is None


def test_how_many_more_are_tried_at_a_time():
    assert still_needed([], 0.05, 0.1) == still_needed([True], 0.05, 0.1) == 34
    assert still_needed([False] * 33, 0.05, 0.1) == 8, "one more would do"
    half = [bool(number % 2) for number in range(100)]
    assert still_needed(half, 0.05, 0.1) == math.ceil((student.ppf(0.95, 99) / 0.05) ** 2 * (0.25 + 1 / 100)) - 100


@pytest.fixture
def run(quick_run, home):
    return quick_run("contrastive-jumps", "gripper", "one-step")


def test_a_curve_goes_over_the_sizes_and_does_not_depend_on_jobs(run, home, monkeypatch):
    seen = []
    curve = sgp.scaling(run.folder, QUICK, bound=40, watch=seen.append)
    assert [each.size for each in curve.points] == [5, 6, 7, 8] == [each.size for each in seen]
    assert [each.max_actions for each in curve.points] == [45, 46, 47, 48]
    assert curve.stop_reason is StopReason.LARGEST
    assert "size 8, the largest to try" in curve.note
    for each in curve.points:
        assert len(each.attempts) == first_enough([one.solved for one in each.attempts], 0.3, 0.1)
        assert all(one.size == each.size for one in each.attempts)
    assert curve.sumcov == sum(each.coverage for each in curve.points if each.size <= curve.scale)
    monkeypatch.setenv("SGP_HOME", str(home / "another"))
    again = sgp.scaling(run.folder, QUICK, bound=40, jobs=2)
    assert results(again) == results(curve)


def results(curve):
    return [[(one.sha256, one.outcome, one.plan) for one in each.attempts] for each in curve.points]


def test_an_interrupted_evaluation_goes_on(run, home, monkeypatch):
    whole = sgp.scaling(run.folder, QUICK, bound=40)
    monkeypatch.setenv("SGP_HOME", str(home / "another"))
    tried = []
    real = scaling.run_all

    def interrupted(works, *others):
        tried.append(works)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return real(works, *others)

    monkeypatch.setattr(scaling, "run_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sgp.scaling(run.folder, QUICK, bound=40)
    assert results(sgp.scaling(run.folder, QUICK, bound=40)) == results(whole)
    done = len(tried)
    sgp.scaling(run.folder, QUICK, bound=40)
    assert len(tried) == done, "nothing is tried again"


def test_damaged_attempts_are_a_sentence(run, home):
    only = ScalingConfig(epsilon=0.3, largest=5)
    sgp.scaling(run.folder, only, bound=40)
    (file,) = home.glob("scaling/*/5.json")
    file.write_text('[{"problem": "p"}]')
    with pytest.raises(StoreError, match=r"5\.json holds no attempts .*remove it"):
        sgp.scaling(run.folder, only, bound=40)


def test_a_curve_that_ran_out_of_time_says_so(run):
    curve = sgp.scaling(run.folder, QUICK, hours=0)
    assert curve.points == ()
    assert (curve.scale, curve.sumcov) == (0, 0)
    assert curve.stop_reason is StopReason.TIME
    assert curve.note == "out of time at size 5, which is not counted"


def test_the_bound_is_the_papers_or_three_times_what_experts_need():
    domain = sgp.get_domain("gripper")

    def never():
        raise AssertionError("the domain's own bound needs no training data")

    assert plan_bound(domain, never) == 60
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    largest = max(data.train, key=lambda each: each.task.size)
    assert plan_bound(replace(domain, scaling=None), lambda: data) == 3 * len(largest) == 69


def test_problems_are_those_of_the_paper():
    """Only squares in VisitAll; in Gripper any number of balls may be at the goal initially."""
    visitall, gripper = (scaling.ProblemSource(sgp.get_domain(name), "untyped", 0) for name in ("visitall", "gripper"))
    assert [size for size in range(1, 50) if visitall.domain.scaled.has(size)] == [1, 4, 9, 16, 25, 36, 49]
    assert Task(visitall.problem(36, 1)).size == 36
    wanted = [problem.problem_pddl.split("(:goal")[0].count("rooma)") - 2 for problem in drawn(gripper, 12, 300)]
    assert Counter(wanted).keys() == set(range(1, 9)), "the robot's room and the room itself are not balls"
    assert all(abs(count - 300 / 8) < 25 for count in Counter(wanted).values()), "each number alike"


def drawn(source, size, count):
    return [source.problem(size, number) for number in range(1, count + 1)]


def measured_curve(*coverages):
    """A curve of four problems a size from size 5 on."""
    sizes = []
    for size, coverage in enumerate(coverages, start=5):
        outcomes = [Outcome.SOLVED] * round(4 * coverage) + [Outcome.HORIZON] * round(4 - 4 * coverage)
        tried = tuple(Attempt("p", f"{size}-{n}", size, each, (), 1, 0.1) for n, each in enumerate(outcomes))
        sizes.append(scaling.CurvePoint(size, 9, tried))
    source = scaling.ProblemSource(sgp.get_domain("gripper"), "untyped", 0)
    return scaling.Curve(tuple(sizes), 0.3, StopReason.FELL, "done", source)


def test_sizes_beyond_the_scale_add_nothing_to_sumcov():
    curve = measured_curve(1, 0.75, 0.25, 0.5, 0.25, 0)
    assert (curve.scale, curve.sumcov) == (8, 1 + 0.75 + 0.25 + 0.5), "a dip before the scale counts, what follows not"
    assert (measured_curve(0.25, 0).scale, measured_curve(0.25, 0).sumcov) == (0, 0)


def test_only_failures_in_a_row_end_a_curve(monkeypatch):
    """Coverage of sizes 5, 6, ...: two below the threshold, not adjacent, then two in a row."""
    wanted = iter([1, 0.25, 1, 0.25, 0.5, 0.25, 0, 1])
    curves = iter(measured_curve(each).points[0] for each in wanted)
    monkeypatch.setattr(scaling, "_measure", lambda planner, source, size, *_: replace(next(curves), size=size))
    source = scaling.ProblemSource(sgp.get_domain("gripper"), "untyped", 0)
    planner = scaling.EvaluatedPlanner("nobody", "nobody", lambda *_: pytest.fail("nothing is tried here"))
    curve = scaling.scaling(planner, source, 40, ScalingConfig(fails=2))
    assert [each.coverage for each in curve.points] == [1, 0.25, 1, 0.25, 0.5, 0.25, 0]
    assert curve.stop_reason is StopReason.FELL


def test_the_verb_prints_and_writes_the_curve(run, tmp_path):
    file = tmp_path / "scores.json"
    words = ["scaling", "--run", str(run.folder), "--largest", "5", "--json", str(file), "--jobs", "1"]
    words += ["--html", str(tmp_path / "curve.html")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "Scale 5, SumCov 1.00; stopped after size 5, the largest to try." in said
    assert "dynamic validation: Scale 74, SumCov 53.98." in said, "the paper's, beside ours"
    page = (tmp_path / "curve.html").read_text()
    assert "Coverage over size" in page
    assert 'src="http' not in page
    scores = json.loads(file.read_text())
    assert {(each["metric"], each["size"]): each["value"] for each in scores if each["metric"] != "seconds"} == {
        ("scale", None): 5,
        ("sumcov", None): 1,
        ("ended_largest", None): 1,
        ("coverage", 5): 1,
        ("fits", 5): 1,
        ("with_plan", 5): 1,
        ("plan_length", 5): 3,
        ("plan_length_per_object", 5): 0.6,
    }
    assert math.isclose(next(each["count"] for each in scores if each["size"] == 5), 34)
    refused = CliRunner().invoke(app, ["scaling"])
    assert refused.exit_code == 2
    assert "give --domain" in refused.output


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0.0), ("kappa", 1.5), ("threshold", -1.0), ("fails", 0), ("largest", 0), ("seconds", 0.0),
     ("references", -1), ("reference_seconds", math.nan)],
)  # fmt: skip
def test_a_configuration_names_a_wrong_value(name, value):
    with pytest.raises(ConfigurationError, match=f"{name} is {value}; expected"):
        ScalingConfig(**{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1; expected 0 or more"),
        ({"bound": -1}, "bound is -1; expected 0 or more actions"),
        ({"hours": math.nan}, "hours is nan; expected 0 or more"),
        ({"config": ScalingConfig(largest=3)}, "gripper has no problem of exactly 3 objects; try 5$"),
    ],
)
def test_a_wrong_option_is_named(run, options, message):
    with pytest.raises(ConfigurationError, match=message):
        sgp.scaling(run.folder, **options)
