"""What a caller of the library meets: names, short representations, and one sentence for a wrong argument."""

from __future__ import annotations

import pytest

import sgp
from sgp.errors import InputError, SgpError


def test_representations_are_short(two_blocks):
    suite = sgp.load_suite("state-centric")
    problem = suite.problems("gripper", "interpolation")[0]
    rollout = sgp.solve(problem)
    run = sgp.run_for(problem)
    for value in (suite, problem, rollout, run, sgp.load_planner(run)):
        assert len(repr(value)) < 400, type(value)
    assert "solved" in repr(rollout)


@pytest.mark.parametrize("call", [sgp.Task, sgp.solve, sgp.run_for])
def test_a_path_is_no_problem(call):
    with pytest.raises(InputError, match=r"domain.pddl.*from_files"):
        call("domain.pddl")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": "a"}, "seed is 'a'.*whole number"),
        ({"overrides": {"wl.iterations": object()}}, "wl.iterations"),
        ({"overrides": {"wl": {"iterations": 1}}}, "wl"),
        ({"domain": 3}, "3"),
        ({"suite": 3}, "suite is 3"),
        ({"method": 3}, "method is 3"),
    ],
)
def test_wrong_types_are_one_sentence(given, words, home):
    arguments = {"method": "zero-change", "domain": "gripper", "suite": "state-centric", **given}
    with pytest.raises(SgpError, match=words):
        sgp.train(**arguments)


def test_settings_are_text_or_numbers(home):
    by_text = sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": "1"})
    assert sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": 1}).folder == by_text.folder


def test_lists_have_one_naming_pattern(home):
    assert "goal-count" in sgp.list_methods()
    assert "state-centric" in sgp.list_suites()
    run = sgp.train("goal-count", "gripper", "state-centric")
    assert [each.folder for each in sgp.list_runs()] == [run.folder]
    assert sgp.__version__


def test_what_names_no_run_is_one_sentence():
    for run in ("state-centric", "/nowhere"):
        with pytest.raises(SgpError, match=rf"{run} holds no run.json"):
            sgp.evaluate(run, "state-centric")
    with pytest.raises(SgpError, match="sgp train"):
        sgp.evaluate([3], "state-centric")
