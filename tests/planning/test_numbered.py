from __future__ import annotations

import pytest

from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.pddl_reading import read_as_written
from sgp.planning.pddl_writing import Numbered
from sgp.planning.simulation import first_fault
from sgp.planning.validation import VAL, _run, val_program, validate

WORDS = ["after", "at-most-once", "define", "duration", "is-violated", "minimize", "name", "problem", "total-time"]
MEANT = ["and", "decrease", "either", "forall", "not", "number", "preference", "when"]  # neither types nor predicates

# Types that are no tree, a variable of a supertype, quantifiers over types, a constant, conditional effects.
DOMAIN = """(define (domain name) (:requirements :adl)
  (:types TYPE box - thing big - (either box TYPE)) (:constants CONSTANT - TYPE)
  (:predicates (PREDICATE ?x - TYPE) (seen ?x - thing) (near ?x - thing ?y - thing))
  (:action ACTION :parameters (?VARIABLE - thing ?y - (either TYPE box))
    :precondition (and (PREDICATE ?VARIABLE) (not (= ?VARIABLE CONSTANT))
      (forall (?z - box) (imply (near ?z ?y) (exists (?u - TYPE) (near ?u ?z)))))
    :effect (and (not (PREDICATE ?VARIABLE)) (seen ?y)
      (forall (?z - (either box big)) (when (not (near ?z ?VARIABLE)) (seen ?z)))))
  (:action rest :effect (seen CONSTANT)))"""
PROBLEM = """(define (problem p) (:domain name) (:objects OBJECT x - TYPE b c - box d - big)
  (:init (PREDICATE OBJECT) (PREDICATE CONSTANT) (near b OBJECT) (near x b) (near c x) (near c OBJECT) (near x c))
  (:goal (and (forall (?z - box) (or (seen ?z) (= ?z c) (= ?z b))) (exists (?t - TYPE) (not (PREDICATE ?t))))))"""
PLACES = ["TYPE", "CONSTANT", "PREDICATE", "ACTION", "VARIABLE", "OBJECT"]


def named(place, word):
    def text(given):
        for each in PLACES:
            given = given.replace(each, word if each == place else each.lower()[:5])
        return given

    return Problem("p", text(DOMAIN), text(PROBLEM)), text


@pytest.mark.parametrize(
    ("word", "place"),
    [(word, PLACES[(number + more) % 6]) for number, word in enumerate(WORDS) for more in (0, 3)]
    + [(word, ["CONSTANT", "ACTION", "VARIABLE", "OBJECT"][number % 4]) for number, word in enumerate(MEANT)],
)
def test_val_judges_whatever_words_of_its_own_are_names(word, place):
    problem, text = named(place, word)
    for plan, valid in (("(ACTION OBJECT b)", True), ("(rest)", False), ("(ACTION x b)", False)):
        verdict = validate(problem, parse_plan(text(plan)))
        assert (verdict.valid, verdict.judge) == (valid, VAL)


def test_the_text_means_the_same_to_our_reader_and_reports_have_the_old_names():
    problem, text = named("ACTION", "go")
    numbered = Numbered(problem.as_written())
    written = read_as_written((numbered.domain_pddl, "d"), (numbered.problem_pddl, "p"))
    assert {name: len(each.parameters) for name, each in written.actions.items()} == {"action0": 2, "action1": 0}
    plan = parse_plan(text("(ACTION OBJECT b)"))
    assert first_fault(written, numbered.plan(plan)) is None
    assert "is not met" in first_fault(written, ()).reason
    report = _run(numbered.domain_pddl, numbered.problem_pddl, numbered.plan(plan), val_program()).report
    assert "Adding (seen b)" in numbered.restored(report)
    assert numbered.restored("(action0 object3) object-1 object99") == "(go b) object-1 object99"
