"""Coverage over size, measured until its interval is narrow."""

import json
import math
from collections import Counter
from dataclasses import replace
from statistics import fmean
from unittest.mock import DEFAULT, Mock

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
    half, mixed = [bool(number % 2) for number in range(400)], [number % 7 == 0 for number in range(300)]
    assert sufficient_count(half, 0.05, 0.1) == first_enough(half, 0.05, 0.1) == 277
    assert sufficient_count(mixed, 0.05, 0.1) == first_enough(mixed, 0.05, 0.1)
    others = ([True] * 33, [False] * 60, [])
    assert [sufficient_count(each, 0.05, 0.1) for each in others] == [None, 34, None]
    tried = [still_needed(each, 0.05, 0.1) for each in ([], [True], [False] * 33, half[:100])]
    wanted = math.ceil((student.ppf(0.95, 99) / 0.05) ** 2 * (0.25 + 1 / 100)) - 100
    assert tried == [34, 34, 8, wanted], "8 at least, where one more would do"


@pytest.fixture
def run(quick_run, home):
    return quick_run("contrastive-jumps", "gripper", "one-step")


def test_a_curve_goes_over_the_sizes_and_depends_neither_on_jobs_nor_on_interruptions(run, home, monkeypatch):
    seen = []
    curve = sgp.experiments.scaling(run.folder, QUICK, bound=40, watch=seen.append)
    assert [each.size for each in curve.points] == [5, 6, 7, 8] == [each.size for each in seen]
    assert [each.max_actions for each in curve.points] == [45, 46, 47, 48]
    assert curve.stop_reason is StopReason.LARGEST
    assert "size 8, the largest to try" in curve.note
    for each in curve.points:
        assert len(each.attempts) == first_enough([one.solved for one in each.attempts], 0.3, 0.1)
        assert all(one.size == each.size for one in each.attempts)
    assert curve.sumcov == sum(each.coverage for each in curve.points if each.size <= curve.scale)
    monkeypatch.setenv("SGP_HOME", str(home / "another"))
    assert results(sgp.experiments.scaling(run.folder, QUICK, bound=40, jobs=2)) == results(curve)
    monkeypatch.setenv("SGP_HOME", str(home / "third"))
    assert results(resumed(run, monkeypatch)) == results(curve)


def results(curve):
    return [[(one.sha256, one.outcome, one.plan) for one in each.attempts] for each in curve.points]


def resumed(run, monkeypatch):
    """An evaluation that was interrupted, and does not try anything again once it has ended."""
    tried = Mock(wraps=scaling.run_all, side_effect=[DEFAULT, DEFAULT, KeyboardInterrupt])
    monkeypatch.setattr(scaling, "run_all", tried)
    with pytest.raises(KeyboardInterrupt):
        sgp.experiments.scaling(run.folder, QUICK, bound=40)
    tried.side_effect = None
    curve = sgp.experiments.scaling(run.folder, QUICK, bound=40)
    done = tried.call_count
    assert sgp.experiments.scaling(run.folder, QUICK, bound=40) == curve
    assert tried.call_count == done, "nothing is tried again"
    return curve


def test_damaged_attempts_are_a_sentence_and_a_curve_that_ran_out_of_time_says_so(run, home):
    only = sgp.experiments.ScalingConfig(epsilon=0.3, largest=5)
    sgp.experiments.scaling(run.folder, only, bound=40)
    (file,) = home.glob("scaling/*/5.json")
    file.write_text('[{"problem": "p"}]')
    with pytest.raises(StoreError, match=r"5\.json holds no attempts .*remove it"):
        sgp.experiments.scaling(run.folder, only, bound=40)
    curve = sgp.experiments.scaling(run.folder, QUICK, hours=0)
    assert (curve.points, curve.scale, curve.sumcov, curve.stop_reason) == ((), 0, 0, StopReason.TIME)
    assert curve.note == "out of time at size 5, which is not counted"


def test_the_bound_and_the_problems_are_those_of_the_paper():
    domain = sgp.get_domain("gripper")
    assert plan_bound(domain, lambda: pytest.fail("the domain's own bound needs no training data")) == 60
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    largest = max(data.train, key=lambda each: each.task.size)
    assert plan_bound(replace(domain, scaling=None), lambda: data) == 3 * len(largest) == 69
    # Only squares in VisitAll; in Gripper any number of balls may be at the goal initially.
    visitall, gripper = (scaling.ProblemSource(sgp.get_domain(name), "untyped", 0) for name in ("visitall", "gripper"))
    assert [size for size in range(1, 50) if visitall.domain.scaled.has(size)] == [1, 4, 9, 16, 25, 36, 49]
    assert sgp.Task(visitall.problem(36, 1)).size == 36
    problems = [gripper.problem(12, number) for number in range(1, 301)]
    wanted = Counter(each.problem_pddl.split("(:goal")[0].count("rooma)") - 2 for each in problems)
    assert wanted.keys() == set(range(1, 9)), "the robot's room and the room itself are not balls"
    assert all(abs(count - 300 / 8) < 25 for count in wanted.values()), "each number alike"


def measured_curve(*coverages):
    sizes = []
    for size, coverage in enumerate(coverages, start=5):
        outcomes = [sgp.Outcome.SOLVED] * round(4 * coverage) + [sgp.Outcome.HORIZON] * round(4 - 4 * coverage)
        tried = tuple(Attempt("p", f"{size}-{n}", size, each, (), 1, 0.1) for n, each in enumerate(outcomes))
        sizes.append(scaling.CurvePoint(size, 9, tried))
    source = scaling.ProblemSource(sgp.get_domain("gripper"), "untyped", 0)
    return scaling.Curve(tuple(sizes), 0.3, StopReason.FELL, "done", source)


def test_only_failures_in_a_row_end_a_curve_and_sizes_beyond_the_scale_add_nothing_to_sumcov(monkeypatch):
    """Coverage of sizes 5, 6, ...: two below the threshold, not adjacent, then two in a row."""
    wanted = [1, 0.25, 1, 0.25, 0.5, 0.25, 0, 1]
    curves = iter(measured_curve(each).points[0] for each in wanted)
    monkeypatch.setattr(scaling, "_measure", lambda planner, source, size, *_: replace(next(curves), size=size))
    source = scaling.ProblemSource(sgp.get_domain("gripper"), "untyped", 0)
    planner = scaling.EvaluatedPlanner("nobody", "nobody", lambda *_: pytest.fail("nothing is tried here"))
    curve = scaling.scaling(planner, source, 40, sgp.experiments.ScalingConfig(fails=2))
    assert [each.coverage for each in curve.points] == wanted[:-1]
    assert curve.stop_reason is StopReason.FELL
    curve = measured_curve(1, 0.75, 0.25, 0.5, 0.25, 0)
    assert (curve.scale, curve.sumcov) == (8, 1 + 0.75 + 0.25 + 0.5), "a dip before the scale counts, what follows not"
    assert (measured_curve(0.25, 0).scale, measured_curve(0.25, 0).sumcov) == (0, 0)


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
    assert math.isclose(next(each["n"] for each in scores if each["size"] == 5), 34)
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
        sgp.experiments.scaling(run.folder, **options)
