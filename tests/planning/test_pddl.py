import re

import pytest

import sgp
from sgp.errors import PddlError, PlanError
from sgp.planning import pddl, pddl_reading
from sgp.planning.pddl import (
    OBJECT,
    Action,
    Atom,
    Problem,
    format_plan,
    format_problem,
    parse_plan,
    read_domain,
    read_plan,
    read_problem,
    read_text,
)
from tests.conftest import COURIER, COURIER_PROBLEM


def test_a_domain_is_read_with_types_constants_and_signature():
    text = read_domain(COURIER)
    assert text.types["van"] == ("vehicle",)
    assert text.supertypes("van") == {"van", "vehicle", "thing", "object"}
    assert [constant.name for constant in text.constants] == ["depot"]
    assert text.predicates == {"at": 2, "in": 2, "closed": 1, "road": 2}
    assert text.fluent_predicates == {"at", "in"}
    assert text.signature[1] == (("drive", 3), ("load", 3), ("unload", 3))


def test_a_problem_is_read_with_negative_goals_and_case_is_ignored():
    text = read_problem(COURIER_PROBLEM.upper())
    assert [(literal.atom.predicate, literal.positive) for literal in text.goal] == [("at", True), ("in", False)]
    assert Atom("road", ("depot", "mill")) in text.init
    assert [thing.types for thing in text.objects][:2] == [("van",), ("bike",)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("(define (domain d)\n\n (:durative-action a))", 3, ":durative-action"),
        ("(define (domain d)\n (:action a :parameters (?x)\n  :effect (when (p) (q))))", 3, "'p' is undefined"),
        (
            "(define (domain d) (:predicates (p ?x) (q))\n (:action a :precondition (forall (?x) (p ?x)) :effect (q)))",
            2,
            "forall in its precondition ranges over a problem's objects",
        ),
        ("(define (domain d)\n (:action a :precondition (p)))", 2, "no ':effect'"),
        ("(define (domain d) (:predicates (p)))", 1, "no '(:action ...)'"),
    ],
)
def test_a_wrong_domain_is_refused_with_its_line(text, line, words):
    with pytest.raises(PddlError) as caught:
        read_domain(text, "my.pddl")
    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"my.pddl, line {line}: ")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("(:goal", "(:gaol", "section :gaol is not supported"),
        ("(:init", "(:init (not (at v1 depot))", "an atom is true and false in :init"),
        ("(:domain courier)", "(:domain)", "expected '(:domain NAME)'"),
        ("(:init (at v1 depot)", "(:init at", "found 'at'"),
        ("shop mill - place", "shop mill -", "'-' is followed by no type"),
        ("(:goal (and (at q1 shop)", "(:goal (or (at q1 shop)", "the goal is no conjunction of literals"),
    ],
)
def test_a_wrong_problem_is_refused(old, new, words):
    assert old in COURIER_PROBLEM
    with pytest.raises(PddlError, match=re.escape(words)):
        read_problem(COURIER_PROBLEM.replace(old, new))


def test_plans_are_read_in_the_usual_spellings_and_written_back():
    plan = parse_plan("; found by hand\n(pick-up A)\n(STACK a b) ( unstack a\n b )\n\n")
    assert parse_plan("\ufeff0.5: (STACK a b); and so on\r\n0: (pick-up A)\r\n\r\n.75: (unstack a b) [1.000]") == plan
    assert plan == (
        Action("pick-up", ("a",)),
        Action("stack", ("a", "b")),
        Action("unstack", ("a", "b")),
    )
    assert parse_plan(format_plan(plan)) == plan
    assert ";" not in format_plan(plan), "what no problem says is not written"


def test_a_wrong_plan_is_refused_with_its_line():
    with pytest.raises(PlanError, match=r"my\.plan, line 2: expected '\(action object \.\.\.\)', found 'stack a b'"):
        parse_plan("(pick-up a)\nstack a b\n", "my.plan")
    for text, words in (
        ("(pick-up a) (stack a b", "line 1: expected"),
        ("1: (pick-up a)\n(stack a b)", r"line 2: \(stack a b\) has no time stamp"),
        ("1: (pick-up a)\n2: (stack a b)\n1.0: (pick-up c)", "line 3: .* has the time 1.0 of line 1"),
    ):
        with pytest.raises(PlanError, match=words):
            parse_plan(text)


def test_actions_of_a_plan_have_the_lines_of_their_file():
    text = ";\n2: (stack a b)\n\n0: (pick-up\na) 1: (wait)"
    assert read_plan(text) == (parse_plan("(pick-up a) (wait) (stack a b)"), (4, 5, 2))


def test_comments_may_be_in_another_encoding_and_names_may_not(tmp_path):
    file = tmp_path / "d.pddl"
    file.write_bytes(b"\xef\xbb\xbf; gr\xf6\xdfer\r\n(define\r\n)")
    assert read_text(file).split("\n")[1:] == ["(define", ")"]
    file.write_bytes(b"; gr\xf6\xdfer\n(gr\xf6\xdfe)")
    with pytest.raises(PddlError, match="byte 12 is not UTF-8"):
        read_text(file)


def test_a_binary_file_is_no_pddl(tmp_path):
    (tmp_path / "d.pddl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PddlError, match="not UTF-8"):
        Problem.from_files(tmp_path / "d.pddl", tmp_path / "d.pddl")
    with pytest.raises(PddlError, match=r"No such file.*check the path"):
        Problem.from_files(tmp_path / "none.pddl", tmp_path / "d.pddl")


@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_a_written_problem_reads_back_as_it_was(domain):
    for problem in sgp.load_suite("state-centric").problems(domain, "validation")[:2]:
        text = read_problem(problem.problem_pddl)
        assert read_problem(format_problem(text)) == text


def test_types_and_negative_goals_are_written_too(courier):
    text = format_problem(courier.text)
    assert read_problem(text) == courier.text
    assert "v1 - van\n" in text, "one type needs no '(either ...)', which many planners do not read"


def test_a_parameter_of_either_type_gets_a_type_above_both():
    text = """(define (domain d) (:requirements :typing) (:types van bike) (:predicates (at ?x))
      (:action go :parameters (?x - (either van bike)) :precondition (at ?x) :effect (not (at ?x))))"""
    domain = read_domain(text)
    (parameter,) = domain.schemas["go"].parameters
    assert domain.types == {"van": parameter.types, "bike": parameter.types, parameter.types[0]: (OBJECT,)}


@pytest.mark.parametrize(
    ("goal", "read"),
    [
        ("(and (p a) (not (p b)))", 0),
        ("(or (p a) (p b))", 1),
        ("( ; a comment\n OR (p a) (p b))", 1),
        ("(not (and (p a) (p b)))", 1),
        ("(imply (p a) (p b))", 1),
        ("(exists (?x) (p ?x))", 1),
    ],
)
def test_a_problem_is_read_for_its_alternatives_only_where_its_goal_can_have_some(goal, read, monkeypatch):
    calls = []
    monkeypatch.setattr(pddl, "read_both", lambda *words: calls.append(1) or pddl_reading.read_both(*words))
    domain = "(define (domain d) (:predicates (p ?x)) (:action a :parameters (?x) :effect (p ?x)))"
    problem = Problem("one", domain, f"(define (problem one) (:domain d) (:objects a b) (:init) (:goal {goal}))")
    found = problem.alternatives()
    assert len(calls) == read
    assert (len(found) > 1) is bool(read)
