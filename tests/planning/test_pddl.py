"""PDDL that other planners read is read, unusual text with a warning; ambiguous PDDL is refused."""

import re

import pytest

import sgp
from sgp.errors import PddlError, PlanError, UnsupportedPddl
from sgp.planning import pddl, pddl_reading
from sgp.planning.experts import OPTIMAL, find_plan
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
from sgp.planning.pddl_syntax import Block, Source, read_sections
from sgp.planning.pddl_writing import rewritten
from sgp.planning.task import Task, checked
from sgp.planning.validation import validate
from tests.conftest import COURIER, COURIER_PROBLEM, pddl_problem, python

DOMAIN = """\
(define (domain switches)
  (:requirements :strips :typing :negative-preconditions :equality)
  (:types lamp - object)
  (:predicates (lit ?x - lamp) (wired ?x ?y - lamp))
  (:action press
    :parameters (?x ?y - lamp)
    :precondition (and (wired ?x ?y) (not (lit ?x)) (not (= ?x ?y)))
    :effect (lit ?x)))
"""
PROBLEM = """\
(define (problem two) (:domain switches)
  (:objects a b - lamp)
  (:init (wired a b) (wired b a))
  (:goal (and (lit a) (lit b))))
"""
PLAN = (Action("press", ("a", "b")), Action("press", ("b", "a")))

READ = {
    "nothing declared": ("(:requirements :strips :typing :negative-preconditions :equality)", "", None),
    "requirements of what is not used": (":equality)", ":equality :durative-actions :magic)", None),
    "object among the types": ("lamp - object", "lamp - object object", None),
    "object below itself": ("lamp - object", "lamp object - object", None),
    "a type above that is not declared": ("lamp - object", "lamp - thing", None),
    "a type above itself": ("lamp - object", "lamp - lamp", 3),
    "a type twice": ("lamp - object", "lamp thing - object lamp - thing", 3),
    "one name twice in a declaration": ("(wired ?x ?y - lamp)", "(wired ?x ?x - lamp)", 4),
    "a predicate twice": ("(lit ?x - lamp)", "(lit ?x - lamp) (lit ?y - lamp)", 4),
    "equality as a predicate": ("(lit ?x - lamp)", "(lit ?x - lamp) (= ?x ?y - lamp)", None),
    "no space before a variable": ("(wired ?x ?y) (not (lit ?x))", "(wired?x?y) (not (lit?x))", None),
    "predicates before types": (
        "  (:types lamp - object)\n  (:predicates (lit ?x - lamp) (wired ?x ?y - lamp))",
        "  (:predicates (lit ?x - lamp) (wired ?x ?y - lamp))\n  (:types lamp - object)",
        None,
    ),
    "requirements last": ("  \\(:requirements (.*?)\\)\n(.*)\\)\n$", "\\2\n(:requirements \\1))", None),
    "costs not declared": (":effect (lit ?x)", ":effect (and (lit ?x) (increase (total-cost) 1))", None),
    "functions not declared": ("(:predicates", "(:functions (total-cost) - number)\n  (:predicates", None),
    "a type named like a predicate": ("lamp", "lit", None),
    "no precondition": ("    :precondition (and (wired ?x ?y) (not (lit ?x)) (not (= ?x ?y)))\n", "", None),
}


def changed(text: str, old: str, new: str) -> str:
    found = text.replace(old, new) if old in text else re.sub(old, new, text, flags=re.DOTALL)
    assert found != text
    return found


@pytest.mark.filterwarnings("ignore:domain switches. action costs")
@pytest.mark.parametrize("case", READ)
def test_what_other_planners_read_is_read_and_odd_text_remarked_with_its_line(case):
    old, new, line = READ[case]
    problem = PROBLEM.replace("lamp", "lit") if "named like" in case else PROBLEM
    task = Task(Problem("p", changed(DOMAIN, old, new), problem, "my.pddl"))
    assert [remark.partition(": ")[0] for remark in task.domain_text.remarks] == [f"my.pddl, line {line}"] * bool(line)
    usual = Task(Problem("p", DOMAIN, PROBLEM))
    found = [[each.actions[0] for each in other.successors(other.init)] for other in (task, usual)]
    assert task.domain_text.costs == (case in ("costs not declared", "functions not declared"))
    assert ("no precondition" in case) == (found[0] != found[1])
    assert validate(task.problem, PLAN).valid


@pytest.mark.filterwarnings("ignore:domain switches. action costs")
@pytest.mark.parametrize("case", ["requirements last", "costs not declared", "no precondition"])
def test_fast_downward_plans_for_what_it_does_not_read_itself(case):
    old, new, _ = READ[case]
    plan = find_plan(Problem("p", changed(DOMAIN, old, new), PROBLEM), (OPTIMAL,)).plan
    assert plan is not None
    assert set(plan) >= {PLAN[0]} or len(plan) == 2


def test_problems_are_read_with_remarks_too():
    text = changed(PROBLEM, "(wired b a)", "(wired b a)\n (not (lit a)) (not (lit b))")
    text = changed(text, "(:domain switches)", "(:domain lights)")
    task = Task(Problem("p", DOMAIN, text, problem_source="p.pddl"))
    assert [remark.partition(": ")[0] for remark in task.text.remarks] == ["p.pddl, line 1", "p.pddl, line 4"]
    assert "(and 1 more)" in task.text.remarks[1]
    assert set(task.atoms(task.init)) == set(read_problem(PROBLEM).init)
    assert validate(task.problem, PLAN).valid


REFUSED = [
    ("(not (lit ?x)) (not", "(when (lit ?x) (lit ?y)) (not", 7, "'(when ...)' in a condition"),
    ("(lit ?x)))\n", "(not (and (lit ?x) (lit ?y)))))\n", 8, "expected '(not (predicate ...))'"),
    ("lamp - object", "lamp -object", 3, "'-object' is no name; write '- object'"),
    ("?x ?y - lamp)\n", "?x ?y- lamp)\n", 6, "'?y-' ends in '-'; write '?y - lamp'"),
    ("?x ?y - lamp)\n", "?x ?y - - lamp)\n", 6, "'-' is no name; expected the name of a type"),
    ("?x ?y - lamp)\n", "?x, ?y - lamp)\n", 6, "a comma in '?x,' is no part of PDDL; separate names by spaces: '?x'"),
    ("(:action press", "(:action press :effect (and))\n(:action press", 6, "a second action has the name 'press'"),
    ("(lit ?x - lamp)", "(lit ?x - lamp) (increase ?x)", 4, "'increase' is not supported as the name of a predicate"),
    ("(lit ?x - lamp)", "(lit ?x - lamp) (lit ?x ?y)", 4, "a second predicate has the name 'lit'"),
    ("(?x ?y - lamp)\n", "(?x ?x - lamp)\n", 6, "the parameter ?x occurs twice"),
    (":parameters (?x", ":vars (?x", 6, "found ':vars'"),
    (":effect (lit ?x)", ":effect (lit ?x) :effect (lit ?y)", 8, "a second :effect"),
    ("    :effect (lit ?x)))\n", "))", 5, "no ':effect'"),
    ("  \\(:action.*\\)\n", ")", 1, "no '(:action ...)'"),
    ("(:action press", "(:durative-action press", 5, ":durative-action"),
    ("(wired ?x ?y) (", "(forall (?z) (lit ?z)) (", 5, "forall in its precondition ranges over a problem's objects"),
    (":effect (lit ?x)", ":effect (lit ?z)", 8, "variable with name '?z' is undefined"),
    (":effect (lit ?x)", ":effect (= ?x ?y)", 8, "predicate with name '=' is undefined"),
    (":effect (lit ?x)", ":effect (decrease (fuel) 1)", 8, "numeric effects (decrease)"),
    ("(wired ?x ?y) (", "(>= (fuel ?x) 1) (", 7, "numeric conditions (>=)"),
    ("(wired ?x ?y) (", "(= (fuel ?x) 1) (", 7, "numeric conditions (=)"),
    ("lamp - object", "lamp - bulb bulb - lamp", 3, "form a cycle"),
    ("lamp - object", "lamp - (lamp)", 3, "expected a type or '(either type ...)' after '-'"),
    ("lamp - object", "lamp - number", 3, "'number' is not supported as the name of a type"),
    ("lamp - object", "object - lamp", 3, "'object' is above all types"),
    ("- lamp)\n", "- lump)\n", 6, "type 'lump' is undefined"),
    (":effect (lit ?x)", ":effect (oneof (lit ?x) (lit ?y))", 8, "nondeterministic effects (oneof)"),
    ("(:types", "(:types bulb) (:types", 3, "a second section :types"),
    ("(:predicates", "(:predicates ()", 4, "expected '(predicate ?x ...)' in :predicates"),
    ("(:predicates", "(:derived (lit ?x) (lit ?x)) (:predicates", 4, "section :derived is not supported"),
]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [(changed(DOMAIN, old, new), line, words) for old, new, line, words in REFUSED]
    + [
        ("(define (domain d)\n (:predicates (p))\n (:action a :effect (p))", 1, "never closed"),
        ("(define (domain d))\n)", 2, "')' without a '('"),
        ("hello (define (domain d))", 1, "outside of"),
        ("", 1, "expected '(define"),
        ("(define (problem p))", 1, "expected '(domain NAME)'"),
        ("(define (domain d))\n\n(define (domain e))", 3, "a second list begins after the end"),
        ("(define (domain d)\n (:types a)\n b)", 3, "expected a section '(:keyword ...)'"),
        ("(define (domain d)\n (types a))", 2, "expected a section '(:keyword ...)'"),
        ("(define)", 1, "expected '(domain NAME)' after 'define', found nothing"),
        ("(defined (domain d))", 1, "expected '(define"),
    ],
)
def test_domains_that_planners_understand_differently_are_refused_with_their_line(text, line, words):
    with pytest.raises(PddlError, match=re.escape(words)) as caught:
        read_domain(text, "my.pddl")
    assert str(caught.value).startswith(f"my.pddl, line {line}: ")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("(wired a b)", "(lit a) (not (lit a))", 3, "an atom is true and false in :init"),
        ("(wired a b)", "(= a b)", 3, "remove other equations"),
        ("(wired a b)", "(at 3 (lit a))", 3, "timed initial literals"),
        ("(wired a b)", "(wire a b)", 3, "predicate with name 'wire' is undefined"),
        ("(wired a b)", "(wired a z)", 3, "object with name 'z' is undefined"),
        ("(wired a b)", "(wired a)", 3, "arity"),
        ("(wired a b)", "(wired a, b)", 3, "a comma in 'a,'"),
        ("a b - lamp", "a b a - lamp", 2, "already been defined"),
        ("a b - lamp", "a - bulb b - lamp", 2, "type 'bulb' is undefined"),
        ("a b - lamp", "a b -", 2, "'-' is followed by no type"),
        ("a b - lamp", "a b -lamp", 2, "'-lamp' is no name"),
        ("a b - lamp", "a, b - lamp", 2, "a comma in 'a,' is no part of PDDL; separate names by spaces: 'a'"),
        ("a b - lamp", "a,b - lamp", 2, "separate names by spaces: 'a b'"),
        ("a b - lamp", "a , b - lamp", 2, "a comma in ',' is no part of PDDL; remove it"),
        ("a b - lamp", "a b ?c - lamp", 2, "found the variable '?c'; remove the '?'"),
        ("lamp\\)(.*)\\(lit b\\)", "lamp c)\\1(lit c)", 4, "'c' is no lamp, as 'lit' requires"),
        ("(and (lit a) (lit b))", "(not (and (lit a) (lit b)))", 4, "disjunctive goals to learn from are not supporte"),
        ("(and (lit a) (lit b))", "(or (not (= a a)) (not (= b b)))", 4, "the goal cannot hold in any state"),
        ("(:init", "(:constraints) (:init", 3, "section :constraints is not supported"),
        ("(:init", "(:init at", 3, "found 'at'"),
        ("(:goal", "(:gaol", 4, "section :gaol is not supported"),
        ("(:domain switches)", "(:domain)", 1, "expected '(:domain NAME)'"),
    ],
)
def test_wrong_problems_are_refused_with_their_line(old, new, line, words):
    problem = Problem("p", DOMAIN, changed(PROBLEM, old, new), problem_source="p.pddl")
    for read in (Task, checked):
        with pytest.raises(PddlError, match=re.escape(words)) as caught:
            read(problem)
        assert str(caught.value).startswith(f"p.pddl, line {line}: ")


def test_an_action_without_parameters_and_precondition_does_not_end_the_process():
    code = (
        "from sgp.planning.task import Task; from sgp.planning.pddl import Problem\n"
        "d = '(define (domain m) (:predicates (a) (b)) (:action r :parameters () :effect (b)))'\n"
        "t = Task(Problem('p', d, '(define (problem p) (:domain m) (:init (a)) (:goal (b)))'), 'lifted')\n"
        "print(*[each.actions[0] for each in t.successors(t.init)])"
    )
    assert python("-c", code).stdout == "(r)\n"


def test_costs_without_an_initial_value_are_read():
    domain = changed(DOMAIN, "  (:action", "  (:functions (total-cost) - number)\n  (:action")
    domain = changed(domain, ":effect (lit ?x)", ":effect (and (lit ?x) (increase (total-cost) 2))")
    text = changed(PROBLEM, "(lit b))))", "(lit b))) (:metric minimize (total-cost)))")
    problem = Problem("p", changed(domain, ":equality", ":equality :action-costs"), text)
    with pytest.warns(UserWarning, match="action costs are not learned"):
        task = Task(problem)
    assert len(task.successors(task.init)) == 2


@pytest.mark.parametrize("wrap", ["(and {})", "(not (not {}))"])
def test_a_formula_may_be_nested_deeper_than_python_calls(wrap):
    opening, closing = wrap.split("{}")
    deep = opening * 5_000 + "(wired ?x ?y)" + closing * 5_000
    (first, *_) = read_domain(changed(DOMAIN, "(wired ?x ?y) (", f"{deep} (")).schemas["press"].precondition
    assert str(first) == "(wired ?x ?y)"


def test_an_error_shows_the_line_cut_and_escaped_with_a_mark_under_the_place():
    with pytest.raises(PddlError) as caught:
        read_domain(changed(DOMAIN, ":effect (lit ?x)", ":effect (lit ?z)"), "my.pddl")
    assert str(caught.value).split("\n")[1:] == ["        :effect (lit ?z)))", " " * 21 + "^"]
    action, predicate = "(:action press", "(lit ?x - lamp)"
    for old, new in (
        (action, "(:action +" + "x" * 70_000),
        (action, "(:action +\x1b[31m" + "x" * 500),
        (predicate, f"{predicate} (+lit ?x)"),
    ):
        with pytest.raises(UnsupportedPddl, match="is not supported as a name") as refused:
            Task(Problem("p", changed(DOMAIN, old, new), PROBLEM, "my.pddl"))
        said = str(refused.value)
        assert len(said) < 500
        assert all(part.isprintable() for part in said.split("\n"))
        *_, shown, mark = said.split("\n")
        assert shown[mark.index("^")] == "+"


def test_written_pddl_reads_back_as_it_was():
    domain, problem = rewritten(*Problem("courier-1", COURIER, COURIER_PROBLEM).read())
    again, usual = read_domain(domain), read_domain(COURIER)
    assert (again.signature, again.schemas, again.types) == (usual.signature, usual.schemas, dict(usual.types))
    text, expected = read_problem(problem, "p", again), read_problem(COURIER_PROBLEM)
    assert (text.init, text.goal, text.remarks) == (expected.init, expected.goal, ())


TEXT = """\
; a comment (with parentheses
(define (Domain D) ; another
  (:Types van
    - thing)
  (:action))
"""


def test_a_text_is_read_as_nested_lists_whose_items_know_their_lines():
    name, (types, action) = read_sections(Source("my.pddl", TEXT), "domain")
    assert name == "d"
    assert (types, action) == ([":types", "van", "-", "thing"], [":action"])
    assert [(word, word.line) for word in Source("my.pddl", TEXT).words(types)] == [("van", 3), ("-", 4), ("thing", 4)]
    assert (types.head, types.line, action.head, action.line) == (":types", 3, ":action", 5)
    assert (Block().head, Block([Block(["a"])]).head) == ("", "")


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
    with pytest.raises(PddlError, match="the goal is no conjunction of literals"):
        read_problem(COURIER_PROBLEM.replace("(:goal (and", "(:goal (or"))


def test_plans_are_read_in_the_usual_spellings_and_written_back():
    plan = parse_plan("; found by hand\n(pick-up A)\n(STACK a b) ( unstack a\n b )\n\n")
    assert parse_plan("\ufeff0.5: (STACK a b); and so on\r\n0: (pick-up A)\r\n\r\n.75: (unstack a b) [1.000]") == plan
    assert plan == (Action("pick-up", ("a",)), Action("stack", ("a", "b")), Action("unstack", ("a", "b")))
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
    for content, words in ((b"; gr\xf6\xdfer\n(gr\xf6\xdfe)", "byte 12 is not UTF-8"), (b"\xff\xfe\x00", "not UTF-8")):
        file.write_bytes(content)
        with pytest.raises(PddlError, match=words):
            Problem.from_files(file, file)
    with pytest.raises(PddlError, match=r"No such file.*check the path"):
        Problem.from_files(tmp_path / "none.pddl", file)


def test_a_written_problem_reads_back_as_it_was(courier):
    suite = sgp.load_suite("state-centric")
    problems = [each for domain in suite.domains for each in suite.problems(domain, "validation")[:2]]
    for text in (courier.text, *(read_problem(problem.problem_pddl) for problem in problems)):
        assert read_problem(format_problem(text)) == text
    assert "v1 - van\n" in format_problem(courier.text), "without '(either ...)', which many planners do not read"


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
    found = pddl_problem(domain, "a b", "", goal).alternatives()
    assert len(calls) == read
    assert (len(found) > 1) is bool(read)
