"""PDDL that other planners read is read, unusual text with a warning; ambiguous PDDL is refused."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from sgp.errors import PddlError, UnsupportedPddl
from sgp.planning.experts import OPTIMAL, find_plan
from sgp.planning.pddl import Action, Problem, read_domain, read_problem
from sgp.planning.pddl_syntax import Block, Source, read_sections
from sgp.planning.pddl_writing import rewritten
from sgp.planning.task import Task, check
from sgp.planning.validation import validate
from tests.conftest import COURIER, COURIER_PROBLEM

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
    "requirements last": (
        "  \\(:requirements (.*?)\\)\n(.*)\\)\n$",
        "\\2\n(:requirements \\1))",
        None,
    ),
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
    ("(lit ?x - lamp)", "(lit ?x - lamp) (2lit ?x - lamp)", 4, "'2lit' is not supported as a name"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), REFUSED)
def test_what_planners_understand_differently_is_refused_by_name(old, new, line, words):
    with pytest.raises(PddlError, match=re.escape(words)) as caught:
        Task(Problem("p", changed(DOMAIN, old, new), PROBLEM, "my.pddl"))
    assert str(caught.value).startswith(f"my.pddl, line {line}: ")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("(wired a b)", "(lit a) (not (lit a))", "true and false in :init"),
        ("(wired a b)", "(= a b)", "remove other equations"),
        ("(wired a b)", "(at 3 (lit a))", "timed initial literals"),
        ("a b - lamp", "a b -lamp", "'-lamp' is no name"),
        ("a b - lamp", "a, b - lamp", "a comma in 'a,' is no part of PDDL; separate names by spaces: 'a'"),
        ("a b - lamp", "a,b - lamp", "separate names by spaces: 'a b'"),
        ("a b - lamp", "a , b - lamp", "a comma in ',' is no part of PDDL; remove it"),
        ("(wired a b)", "(wired a, b)", "a comma in 'a,'"),
        ("a b - lamp", "a b ?c - lamp", "found the variable '?c'; remove the '?'"),
        ("a b - lamp", "a b - lamp c", "'c' is no lamp, as 'lit' requires"),
        ("(and (lit a) (lit b))", "(not (and (lit a) (lit b)))", "disjunctive goals to learn from are not supported"),
        ("(and (lit a) (lit b))", "(or (not (= a a)) (not (= b b)))", "the goal cannot hold in any state"),
        ("(:init", "(:constraints) (:init", "section :constraints is not supported"),
    ],
)
def test_problems_are_refused_by_name_too(old, new, words):
    text = changed(PROBLEM, old, new).replace("(lit b)", "(lit c)" if "lamp c" in new else "(lit b)")
    with pytest.raises(PddlError, match=re.escape(words)):
        check(Problem("p", DOMAIN, text))


def test_an_action_without_parameters_and_precondition_does_not_end_the_process():
    code = (
        "from sgp.planning.task import Task; from sgp.planning.pddl import Problem\n"
        "d = '(define (domain m) (:predicates (a) (b)) (:action r :parameters () :effect (b)))'\n"
        "t = Task(Problem('p', d, '(define (problem p) (:domain m) (:init (a)) (:goal (b)))'), 'lifted')\n"
        "print(*[each.actions[0] for each in t.successors(t.init)])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "(r)\n")


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
    for name in ("x" * 70_000, "\x1b[31m" + "x" * 500):
        with pytest.raises(UnsupportedPddl) as refused:
            Task(Problem("p", changed(DOMAIN, "(:action press", f"(:action +{name}"), PROBLEM, "my.pddl"))
        said = str(refused.value)
        assert len(said) < 500
        assert all(part.isprintable() for part in said.split("\n"))
        *_, shown, mark = said.split("\n")
        assert shown[mark.index("^")] == "+"


def test_what_pymimir_is_handed_reads_back_as_it_was():
    domain, problem = rewritten(*Problem("courier-1", COURIER, COURIER_PROBLEM).read())
    again, usual = read_domain(domain), read_domain(COURIER)
    assert (again.signature, again.schemas, again.types) == (usual.signature, usual.schemas, dict(usual.types))
    text = read_problem(problem, "p", again)
    assert (text.init, text.goal, text.remarks) == (
        read_problem(COURIER_PROBLEM).init,
        read_problem(COURIER_PROBLEM).goal,
        (),
    )


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
    assert [(word, word.line) for word in Source("my.pddl", TEXT).words(types)] == [
        ("van", 3),
        ("-", 4),
        ("thing", 4),
    ]
    assert (types.head, types.line, action.head, action.line) == (":types", 3, ":action", 5)
    assert (Block().head, Block([Block(["a"])]).head) == ("", "")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
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
def test_a_text_of_another_form_is_refused_with_its_line(text, line, words):
    with pytest.raises(PddlError) as caught:
        read_sections(Source("my.pddl", text), "domain")
    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"my.pddl, line {line}: ")
