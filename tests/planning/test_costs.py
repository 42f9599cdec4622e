import json
import re
import warnings

import pytest

from sgp.datasets.experts import expert_costs, expert_lengths, expert_plans
from sgp.datasets.importing import import_folder
from sgp.errors import PddlError, UnsupportedPddl
from sgp.evaluation.attempts import (
    Attempt,
    attempt_rows,
    attempts_frame,
    plan_and_expert,
    read_attempts,
    scores,
    write_attempts,
)
from sgp.evaluation.scores import Measurement
from sgp.planning.costs import LARGEST, known_cost
from sgp.planning.experts import OPTIMAL, find_plan
from sgp.planning.pddl import Action, Problem, format_plan, parse_plan
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.planning.validation import validate
from tests.planning.test_adl import adl_problem

pytestmark = pytest.mark.filterwarnings("ignore:domain .* action costs")
INCREASE = "(increase (total-cost) (len ?a ?b))"
DOMAIN = f"""(define (domain walks) (:requirements :strips :typing :action-costs) (:types poi)
  (:predicates (at ?p - poi) (road ?a ?b - poi)) (:functions (len ?a ?b - poi) - number (total-cost) - number)
  (:action move :parameters (?a ?b - poi) :precondition (and (at ?a) (road ?a ?b))
    :effect (and (at ?b) (not (at ?a)) {INCREASE})))"""
METRIC = "(:metric minimize (total-cost))"


def walk(*lengths, direct=None, metric=METRIC, domain=DOMAIN):
    """Places in a row, `lengths` apart, and a direct road from the first to the last."""
    roads = {(n, n + 1): length for n, length in enumerate(lengths)}
    if direct is not None:
        roads[0, len(lengths)] = direct
    init = " ".join(f"(road k{a} k{b}) (= (len k{a} k{b}) {length})" for (a, b), length in roads.items())
    places = " ".join(f"k{n}" for n in range(len(lengths) + 1))
    return Problem(
        "walk",
        domain,
        f"(define (problem w) (:domain walks) (:objects {places} - poi) (:init (at k0) (= (total-cost) 0) {init})"
        f" (:goal (at k{len(lengths)})) {metric})",
    )


def last_line(problem):
    return format_plan(find_plan(problem, (OPTIMAL,)).plan, problem).splitlines()[-1]


@pytest.mark.parametrize(
    ("problem", "comment"),
    [
        (walk(25, 25, 25, 25), "100 (general cost)"),
        (walk(1, 1, 1, direct=100), "3 (general cost)"),
        (walk(1, 1, 1, direct=100, metric=""), "1 (unit cost)"),
        (walk(1, 1, 1), "3 (unit cost)"),
        (walk(5, 5, domain=DOMAIN.replace(INCREASE, "")), "0 (general cost)"),
        (walk(5, 5, domain=DOMAIN.replace(INCREASE, "(increase (total-cost) 1)")), "2 (unit cost)"),
    ],
)
def test_the_comment_is_that_of_fast_downward(problem, comment, monkeypatch):
    written = []
    monkeypatch.setattr("sgp.planning.experts.parse_plan", lambda text, _: written.append(text) or parse_plan(text))
    assert last_line(problem) == f"; cost = {comment}"
    assert written[0].splitlines()[-1] == f"; cost = {comment}"


@pytest.mark.parametrize(
    ("problem", "cost"),
    [
        (walk("2.5", "2.5", "2.5", "2.5"), "10"),
        (walk("0.1", "0.2", direct="0.3000001"), "0.3"),
        (walk("0.1", "0.2", direct="0.2999999"), "0.2999999"),
        (walk("2.", "3.0"), "5"),
        (walk(3 * 10**9, 10**9, direct=5 * 10**9), str(4 * 10**9)),
        (walk("7", domain=DOMAIN.replace(INCREASE, "(increase (total-cost) 0.75)")), "0.75"),
    ],
)
def test_costs_that_fast_downward_refuses_are_scaled_exactly(problem, cost):
    assert last_line(problem) == f"; cost = {cost} (general cost)"


def test_numbers_that_no_metric_counts_change_nothing():
    assert last_line(walk("2.5", "2.5", metric="")) == "; cost = 2 (unit cost)"
    domain = DOMAIN.replace(INCREASE, f"{INCREASE} (increase (fuel) 9)").replace("- number)", "- number (fuel))")
    problem = walk(3, 4, domain=domain)
    text = problem.problem_pddl.replace("(at k0)", "(at k0) (= (fuel) 0.0000000001)")
    for each in (problem, Problem("fuel", domain, text)):
        assert last_line(each) == "; cost = 7 (general cost)"
    assert validate(problem, find_plan(problem).plan).valid


def test_what_fast_downward_reads_stays_as_it_is():
    for problem in (walk(25, LARGEST), walk(25, 25, metric="")):
        assert problem.with_whole_costs() == problem


@pytest.mark.parametrize(
    ("lengths", "number"),
    [(("0.0000000001", 5), "cost 5 "), (("-3", 5), "cost -3 "), ((LARGEST + 1, 1), str(LARGEST + 1))],
)
def test_costs_that_cannot_be_used_are_named_by_the_import_and_the_search(home, tmp_path, lengths, number):
    problem = walk(*lengths)
    with pytest.raises(PddlError, match=number):
        find_plan(problem)
    (tmp_path / "domain.pddl").write_text(problem.domain_pddl)
    (tmp_path / "p.pddl").write_text(problem.problem_pddl)
    with pytest.raises(PddlError, match=rf"p\.pddl, line 1: .*{number}"):
        import_folder(tmp_path, "walks")
    assert list((home / "suites").glob("[!.]*")) == []


def with_effect(effect):
    return walk(1, domain=DOMAIN.replace(INCREASE, effect))


def with_value(value):
    return Problem("p", DOMAIN, walk(1).problem_pddl.replace("(at k0)", f"(at k0) (= {value} 2)"))


@pytest.mark.parametrize(
    ("problem", "error", "words"),
    [
        *((walk(number), PddlError, "no number") for number in (".5", "1e2", "+3", "abc", "(+ 1 2)")),  # as VAL reads
        (with_effect("(increase (total-cost) (+ 1 (len ?a ?b)))"), UnsupportedPddl, "a number or"),
        (with_effect("(increase (total-cost) 1) (increase (total-cost) 2)"), UnsupportedPddl, "second cost"),
        (with_effect("(when (at ?a) (increase (total-cost) 1))"), UnsupportedPddl, "second cost"),
        (with_effect("(increase (total-cost) (way ?a ?b))"), PddlError, "'way'"),
        (with_effect("(increase (total-cost) (len ?a ?c))"), PddlError, r"'\?c'"),
        (with_effect("(increase (total-cost) (len ?a))"), PddlError, "'len' has arity 2, found 1"),
        (with_value("(way k0)"), PddlError, "problem, line 1: .*'way'"),
        (with_value("(len k0 k9)"), PddlError, "problem, line 1: .*'k9'"),
        (with_value("(len k0 k1 k1)"), PddlError, "problem, line 1: .*arity 2, found 3"),
        (with_value("(len k0 k1)"), PddlError, "second value"),
    ],
)
def test_costs_that_are_no_sum_of_defined_numbers_are_refused(problem, error, words):
    with pytest.raises(error, match=words):
        problem.read()


def test_costs_of_compiled_actions_are_those_of_the_file():
    problem = adl_problem("costs", "p1")
    task = Task(problem)
    plan = (Action("buy", ()), Action("go", ("a", "c")))
    assert task.costs.of_plan(plan) == 4
    assert [task.costs.of(each.actions[0]) for each in task.successors(task.init)] == [
        task.costs.of(task.original(each.actions[0])) for each in task.successors(task.init)
    ]
    assert last_line(problem) == "; cost = 4 (general cost)"


def test_a_plan_whose_cost_has_no_value_is_kept_and_its_cost_unknown():
    bare = Problem("p", DOMAIN, walk(1).problem_pddl.replace("(= (len k0 k1) 1)", ""))
    plan = parse_plan("(move k0 k1)")
    assert validate(bare, plan).valid
    assert re.search(r"\(move k0 k1\)\n; cost unknown: .*\(len k0 k1\) has no value", format_plan(plan, bare))
    assert known_cost(plan, bare.costs) is None


@pytest.mark.filterwarnings("error")
def test_the_warning_says_what_is_done():
    with pytest.warns(UserWarning, match="experts minimise the cost"):
        Task(walk(2, 2))
    with pytest.warns(UserWarning, match="ignored.*costs 1"):
        Task(walk(2, 2, metric=""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Task(walk(1, 1))  # costs are lengths


def test_plans_are_compared_with_the_experts_by_cost(home, tmp_path):
    problem = walk(1, 1, 1, direct=100)
    (tmp_path / "domain.pddl").write_text(problem.domain_pddl)
    for name, text in (("metric", problem.problem_pddl), ("plain", walk(1, 1, 1, direct=100, metric="").problem_pddl)):
        (tmp_path / f"{name}.pddl").write_text(text)
    suite = import_folder(tmp_path, "walks")
    (domain,) = suite.domains
    place = (suite, domain, "problems")
    costly, plain = suite.problems(domain, "problems")
    assert {len(each.plan) for each in expert_plans(*place).values()} == {1, 3}
    assert expert_costs(*place) == {costly.sha256: 3.0}
    subject = Measurement(method="m", variant="v", domain=domain, suite="walks", split="problems", seed=1)
    tried = [
        Attempt(each.name, each.sha256, 4, Outcome.SOLVED, ("(move k0 k3)",), 1, 0.1, cost=cost)
        for each, cost in ((costly, 100.0), (plain, None))
    ]
    assert [Attempt.from_record(json.loads(json.dumps(each.to_record()))) for each in tried] == tried
    lengths, costs = expert_lengths(*place), expert_costs(*place)
    found = {each.metric: each.value for each in scores(subject, tried, lengths, expert_costs=costs)}
    assert found["plan_length_ratio"] == pytest.approx((100 / 3 + 1) / 2)
    assert (found["plan_length"], found["plan_cost"]) == (1.0, 100.0)
    rows = attempt_rows(subject, tried, lengths, {}, costs)
    numbers = [[row[name] for name in ("length", "expert_length", "cost", "expert_cost")] for row in rows]
    assert [plan_and_expert(*each) for each in numbers] == [(100.0, 3.0), (1, 1)]
    write_attempts(tmp_path / "rows.csv", attempts_frame(rows))
    assert list(read_attempts(tmp_path / "rows.csv").expert_cost.fillna(0)) == [3.0, 0.0]
    before = Attempt(costly.name, costly.sha256, 4, Outcome.SOLVED, ("(move k0 k3)",), 1, 0.1)  # by an earlier version
    assert not [each for each in scores(subject, [before], lengths, expert_costs=costs) if "ratio" in each.metric]
    assert plan_and_expert(1, lengths[costly.sha256], None, 3.0) is None
