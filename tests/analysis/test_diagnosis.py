"""Diagnosis of a failure in sentences: counts by hand, and an independent count of a recorded failure on Logistics."""

from __future__ import annotations

import json

import pytest

from sgp.analysis.failures import diagnosis
from sgp.errors import StoreError
from sgp.planning.recorded import Recorded, read_recorded
from tests.recorded import recorded_file, recorded_lines

DOMAIN = """(define (domain d) (:predicates (p ?x) (q ?x) (far))
  (:action a :parameters (?x) :effect (and (p ?x) (q ?x) (far) (not (p ?x)))))"""
PROBLEM = "(define (problem it) (:domain d) (:objects x y z) (:init) (:goal (and (p x) (p y) (p z))))"


def candidate(action, cost, add=(), delete=(), *marks):
    return {"actions": [action], "cost": cost, "add": list(add), "delete": list(delete), "marks": list(marks)}


def recorded(*steps, outcome="horizon", **head):
    """Return a rollout of given candidates; the first candidate of each step is the chosen one."""
    texts = {"domain_pddl": DOMAIN, "problem_pddl": PROBLEM, "initial": [], "outcome": outcome}
    return Recorded("made", 1, {**texts, **head}, tuple({"chosen": 0, "candidates": list(step)} for step in steps))


def told(made):
    return [(each.sentence, each.steps) for each in diagnosis(made)]


def test_steps_on_which_nothing_looks_best_are_counted_open_or_shut():
    still = candidate("(a x)", 1.0, (), (), "visited")
    go = candidate("(a y)", 2.0, ["(p y)"], (), "tied")
    back = candidate("(a z)", 0.5, (), ["(p y)"], "tied")
    found = told(recorded([go, still], [back, still], [go, still]))
    sentence, steps = found[0]
    assert sentence.startswith("On 2 of 3 steps an action that changes nothing ranks first, such as '(a x)'")
    assert steps == (1, 3)


def test_circles_shut_candidates_and_ties_are_counted():
    go, back = candidate("(a x)", 1.0, ["(q x)"]), candidate("(a y)", 1.0, (), ["(q x)"])
    found = told(recorded([go], [back], [go]))
    assert found[0] == ("2 of 3 steps lead back to a visited state", (2, 3))
    shut = [candidate(f"(a {each})", cost, [f"(q {each})"], (), "visited") for each, cost in (("y", 0.1), ("z", 0.2))]
    open_ = candidate("(a z)", 0.3, ["(far)"])
    sentence, steps = told(recorded([go, *shut], [open_]))[0]
    assert sentence.startswith(
        "On 1 of 2 steps all better-ranked successors had been visited; the median rank taken was 3"
    )
    assert steps == (1,)
    tied = [candidate(f"(a {each})", 1.0, [f"(q {each})"], (), "tied") for each in "xyz"]
    found = told(recorded(tied, [open_]))
    assert (
        "On 1 of 2 steps several candidates (up to 3) had the same cost, and their order in the PDDL decided",
        (1,),
    ) in found


def test_goals_that_are_given_up_or_never_held_are_named():
    steps = (["(p x)"], ()), (["(p y)"], ()), (["(q x)"], ["(p x)"]), (["(p x)"], ["(p y)"]), ((), ["(p x)"])
    found = dict(told(recorded(*([candidate(f"(a {'xyz'[n % 3]})", 1.0, *each)] for n, each in enumerate(steps)))))
    assert found["On 3 of 5 steps a satisfied goal was undone, most often '(p x)' (2 times)"] == (3, 4, 5)
    assert found["1 of 3 goals were never satisfied: '(p z)'"] == (6,)
    assert found["The best state was after step 2, with 1 of 3 goals open; at the end 3 are open"] == (2,)


def test_leaving_the_expert_tells_what_the_model_thought_of_its_action():
    expert = ["(a x)", "(a y)"]
    first = [candidate("(a x)", 1.0, ["(q x)"])]
    second = [
        candidate("(a z)", 1.0, ["(q z)"]),
        candidate("(a x)", 2.0, ["(far)"]),
        candidate("(a y)", 3.0, ["(q y)"]),
    ]
    found = told(recorded(first, second, expert=expert))
    assert found[-1] == (
        "The rollout leaves the expert's plan at step 2; the model ranks the expert's action 3 of 3",
        (2,),
    )
    found = told(recorded(first, second[:2], expert=expert))
    assert found[-1][0].endswith("the expert's action is not among the candidates")
    assert not any("expert" in sentence for sentence, _ in told(recorded(first, expert=expert)))


def test_a_reason_comes_first_and_rejected_candidates_cost_nothing():
    rejected = candidate("(a x)", None, (), (), "rejected")
    found = told(
        recorded([candidate("(a y)", 0.0, ["(q y)"]), rejected], outcome="refused", reason="no candidate: (a z)")
    )
    assert found[0] == ("Reason of the end: no candidate: (a z)", (2,))
    assert not any("changes nothing" in sentence for sentence, _ in found)
    assert told(recorded([rejected, rejected]))[1:] == [
        ("3 of 3 goals were never satisfied: '(p x)', '(p y)', '(p z)'", (2,))
    ]


def test_the_failure_on_logistics_is_what_the_file_says():
    """The count reads the file line by line, without the classes that read records."""
    name = "logistics-state-centric-wl-xgboost-delta-*-horizon"
    head, *steps = map(json.loads, recorded_lines(name))
    idle = []
    for number, step in enumerate(steps, start=1):
        costs = [each["cost"] for each in step["candidates"] if each["cost"] is not None]
        least = [each for each in step["candidates"] if each["cost"] is not None and each["cost"] <= min(costs) + 1e-9]
        if any(not each["add"] and not each["delete"] for each in least):
            idle.append(number)
    (made,) = read_recorded(recorded_file(name))
    first, *_ = diagnosis(made)
    assert first.sentence.startswith(f"On {len(idle)} of {len(steps)} steps an action that changes nothing ranks first")
    assert first.steps == tuple(idle)
    assert "'drive t1 from l1-1 to l1-1 in c1'" in first.sentence or "drive" in first.sentence
    assert head["outcome"] == "horizon"


def test_a_damaged_record_is_told():
    with pytest.raises(StoreError, match="not a record of a rollout"):
        diagnosis(recorded([{"actions": ["(a x)"]}]))
